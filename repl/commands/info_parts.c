/*
 * info_parts.c - prints classes, clocks and names of a trace for `info`
 *
 * Event classes with one part and stream id have the same contexts: they form a stream class.
 */
#include "repl/commands/info.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "repl/render/render.h"

#include <string.h>

struct shown_class {
	const struct event_class *class; /* one of its event classes */
	const char *section;             /* common section of its streams; "": none */
};

static int by_class(const void *a, const void *b)
{
	const struct stream *left = *(const struct stream *const *)a;
	const struct stream *right = *(const struct stream *const *)b;

	if (left->part != right->part)
		return left->part < right->part ? -1 : 1;
	return left->id < right->id ? -1 : left->id > right->id;
}

/* The streams of a trace, sorted by stream class. The caller frees the table. */
static const struct stream **sorted_streams(const struct trace *trace)
{
	const struct stream **out = mem_new_array(trace->nstreams + 1, sizeof(struct stream *));

	for (size_t i = 0; i < trace->nstreams; i++)
		out[i] = trace->streams[i];
	qsort(out, trace->nstreams, sizeof(struct stream *), by_class);
	return out;
}

/* The section of all `count` streams of the class, sorted; "": there is none, or several. */
static const char *section_of(const struct stream *const *streams, size_t count,
			      const struct event_class *class)
{
	const struct stream wanted = {.part = class->part, .id = class->stream_id};
	const struct stream *key = &wanted;
	const char *found = NULL;

	for (size_t low = search_first(i, 0, count, by_class(&streams[i], &key) < 0);
	     low < count && by_class(&streams[low], &key) == 0; low++) {
		if (found && strcmp(found, streams[low]->section))
			return "";
		found = streams[low]->section;
	}
	return found ? found : "";
}

/* Lists stream classes, whose event classes must be adjacent. The caller frees the table. */
static struct shown_class *stream_classes(const struct trace *trace, size_t *count)
{
	struct shown_class *out = mem_new_array(trace->nclasses + 1, sizeof *out);
	const struct stream **streams = sorted_streams(trace);

	*count = 0;
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		const struct event_class *last = *count ? out[*count - 1].class : NULL;
		if (last && last->part == class->part && last->stream_id == class->stream_id)
			continue;
		const struct field_class *packet = class->scope[SCOPE_PACKET_CONTEXT];
		const struct field_class *context = class->scope[SCOPE_STREAM_EVENT_CONTEXT];
		if ((packet && packet->nmembers) || (context && context->nmembers))
			out[(*count)++] = (struct shown_class){
				class, section_of(streams, trace->nstreams, class)};
	}
	mem_free(streams);
	return out;
}

static void json_members(const struct field_class *class, struct sink *out)
{
	sink_char(out, '[');
	for (uint32_t m = 0, n = 0; class && m < class->nmembers; m++) {
		if (class->members[m].hidden)
			continue;
		sink_text(out, n++ ? "," : "");
		json_text(out, class->members[m].name);
	}
	sink_char(out, ']');
}

void info_json_stream_classes(const struct trace *trace, struct sink *out)
{
	size_t count;
	struct shown_class *classes = stream_classes(trace, &count);

	sink_text(out, ",\"stream_classes\":[");
	for (size_t i = 0; i < count; i++) {
		const struct event_class *class = classes[i].class;
		sink_printf(out, "%s{\"id\":%llu,\"section\":", i ? "," : "",
			    (unsigned long long)class->stream_id);
		json_text(out, *classes[i].section ? classes[i].section : NULL);
		sink_text(out, ",\"packet\":");
		json_members(class->scope[SCOPE_PACKET_CONTEXT], out);
		sink_text(out, ",\"context\":");
		json_members(class->scope[SCOPE_STREAM_EVENT_CONTEXT], out);
		sink_char(out, '}');
	}
	sink_char(out, ']');
	mem_free(classes);
}

void info_json_classes(const struct trace *trace, struct sink *out)
{
	sink_text(out, ",\"classes\":[");
	for (size_t i = 0, n = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		if (class->unlisted)
			continue;
		sink_printf(out, "%s{\"id\":%llu,\"name\":", n++ ? "," : "",
			    (unsigned long long)class->id);
		json_text(out, class->name);
		sink_text(out, ",\"fields\":");
		json_members(class->scope[SCOPE_PAYLOAD], out);
		sink_char(out, '}');
	}
	sink_char(out, ']');
}

static void text_members(const struct field_class *class, const char *what, struct sink *out)
{
	if (!class || !class->nmembers)
		return;
	sink_text(out, what);
	for (uint32_t m = 0, n = 0; m < class->nmembers; m++) {
		if (class->members[m].hidden)
			continue;
		sink_text(out, n++ ? ", " : "");
		sink_name(out, class->members[m].name);
	}
	sink_char(out, '\n');
}

void info_text_stream_classes(const struct trace *trace, struct sink *out)
{
	size_t count;
	struct shown_class *classes = stream_classes(trace, &count);

	if (count)
		sink_printf(out, "\n%zu stream class%s\n", count, count == 1 ? "" : "es");
	for (size_t i = 0; i < count; i++) {
		const struct event_class *class = classes[i].class;
		sink_printf(out, "%llu ", (unsigned long long)class->stream_id);
		sink_name(out, classes[i].section);
		sink_char(out, '\n');
		text_members(class->scope[SCOPE_PACKET_CONTEXT], "  packets: ", out);
		text_members(class->scope[SCOPE_STREAM_EVENT_CONTEXT], "  events: ", out);
	}
	mem_free(classes);
}

void info_text_classes(const struct trace *trace, struct sink *out)
{
	size_t listed = trace_listed_classes(trace);

	sink_printf(out, "\n%zu event class%s\n", listed, listed == 1 ? "" : "es");
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		const struct field_class *payload = class->scope[SCOPE_PAYLOAD];
		if (class->unlisted)
			continue;
		sink_name(out, class->name);
		for (uint32_t m = 0, n = 0; payload && m < payload->nmembers; m++) {
			if (payload->members[m].hidden)
				continue;
			sink_text(out, n++ ? ", " : ": ");
			sink_name(out, payload->members[m].name);
		}
		sink_char(out, '\n');
	}
}

/* ---- names and clocks ---- */

void info_json_uuid(bool has, const uint8_t uuid[16], struct sink *out)
{
	char text[UUID_TEXT];

	json_member_text(out, ",\"uuid\":", has ? uuid_put(uuid, text) : NULL);
}

void info_json_full_name(const char *key, const struct full_name *name, struct sink *out)
{
	const char *const words[] = {"namespace", "name", "uid"};
	const char *const texts[] = {name->space, name->name, name->uid};
	bool more = false;

	for (unsigned i = 0; i < 3; i++) {
		if (!texts[i])
			continue;
		if (!more)
			sink_printf(out, ",\"%s\":{", key);
		sink_printf(out, "%s\"%s\":", more ? "," : "", words[i]);
		json_text(out, texts[i]);
		more = true;
	}
	if (more)
		sink_char(out, '}');
}

void info_text_full_name(const char *label, const struct full_name *name, struct sink *out)
{
	const char *const words[] = {"namespace", "name", "uid"};
	const char *const texts[] = {name->space, name->name, name->uid};
	bool more = false;

	for (unsigned i = 0; i < 3; i++) {
		if (!texts[i] || !texts[i][0])
			continue;
		if (more)
			sink_printf(out, ", %s ", words[i]);
		else
			sink_printf(out, "%-11s%s ", label, words[i]);
		text_string(out, texts[i], strlen(texts[i]));
		more = true;
	}
	if (more)
		sink_char(out, '\n');
}

/* Writes how the clock is related to the first trace's. */
static void json_relation(const struct clock *clock, struct sink *out)
{
	static const char *const words[] = {NULL,          "same UUID", "same clock, same host",
					    "same origin", "offset",    "none"};

	if (clock->counter) {
		json_member_text(out, ",\"counter\":", clock->counter);
	}
	if (words[clock->relation])
		sink_printf(out, ",\"relation\":\"%s\"", words[clock->relation]);
	if (clock->same_as >= 0)
		sink_printf(out, ",\"same_as\":%d", (int)clock->same_as);
	if (clock->relation)
		sink_printf(out, ",\"aligned\":%s", clock->moved ? "true" : "false");
}

void info_json_clocks(const struct trace *trace, struct sink *out)
{
	sink_text(out, ",\"clocks\":[");
	for (size_t i = 0; i < trace->nclocks; i++) {
		const struct clock *clock = &trace->clocks[i];
		sink_text(out, i ? ",{\"name\":" : "{\"name\":");
		json_text(out, clock->name);
		json_member_text(out, ",\"description\":", clock->description);
		info_json_uuid(clock->has_uuid, clock->uuid, out);
		sink_printf(out,
			    ",\"frequency\":%llu,\"offset_s\":%lld,\"offset\":%lld,"
			    "\"precision\":%llu,\"epoch\":%s",
			    (unsigned long long)clock->base.frequency,
			    (long long)clock->base.offset_s, (long long)clock->base.offset_cycles,
			    (unsigned long long)clock->precision, clock->epoch ? "true" : "false");
		info_json_full_name("identity", &clock->full_name, out);
		info_json_full_name("origin", &clock->origin, out);
		json_relation(clock, out);
		if (clock->accuracy)
			sink_printf(out, ",\"accuracy\":%llu", (unsigned long long)clock->accuracy);
		sink_char(out, '}');
	}
	sink_char(out, ']');
}

static void text_relation(const struct trace *trace, const struct clock *clock, struct sink *out)
{
	const struct clock *same = clock->same_as >= 0 ? &trace->clocks[clock->same_as] : NULL;

	switch (clock->relation) {
	case CLOCK_SAME_UUID:
		sink_printf(out, "%-11sthe clock '%s' above: same UUID", "relation", same->name);
		break;
	case CLOCK_SAME_COUNTER:
		sink_printf(out,
			    "%-11sthe clock '%s' above: both are %s of one host; that it was one "
			    "boot is not told, but assumed",
			    "relation", same->name, clock->counter);
		break;
	case CLOCK_SAME_ORIGIN:
		sink_printf(out, "%-11scounts from the same origin as the first trace's",
			    "relation");
		break;
	case CLOCK_SHIFTED:
		sink_printf(out, "%-11sas --offset says", "relation");
		break;
	case CLOCK_FIRST:
	case CLOCK_UNRELATED: /* was refused */
		return;
	}
	sink_text(out, clock->moved ? "; it has that one's origin\n" : "\n");
}

void info_text_clocks(const struct trace *trace, struct sink *out)
{
	for (size_t i = 0; i < trace->nclocks; i++) {
		const struct clock *clock = &trace->clocks[i];
		sink_printf(out, "%-11s%s, %llu Hz, ", i ? "" : "clocks",
			    clock->name[0] ? clock->name : "(no name)",
			    (unsigned long long)clock->base.frequency);
		sink_printf(out, "origin %lld s + %lld cycles%s", (long long)clock->base.offset_s,
			    (long long)clock->base.offset_cycles,
			    clock->epoch ? " after the Unix epoch" : ", no epoch");
		if (clock->description[0])
			sink_printf(out, " (%s)", clock->description);
		if (clock->accuracy)
			sink_printf(out, ", accurate to %llu cycles",
				    (unsigned long long)clock->accuracy);
		sink_char(out, '\n');
		info_text_full_name("origin", &clock->origin, out);
		text_relation(trace, clock, out);
	}
}
