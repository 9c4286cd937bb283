/*
 * cmd_info.c - what a trace is, and what it can be asked
 *
 * Stream ranges are those of events, so that they agree with `events`: one head at each end of each
 * stream is decoded. Losses come from the counters of the packet tables; no packet is read for
 * them. Stream classes are told by their event classes, which share their contexts.
 */
#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "index/tables/delivery.h"
#include "index/tables/losses.h"
#include "index/tables/recorded.h"
#include "repl/capabilities.h"
#include "repl/cmds.h"
#include "repl/contradicted.h"
#include "repl/render.h"

#include <string.h>

struct stream_info {
	uint64_t packets, bytes, lost, lost_packets, places;
	bool lost_unknown;
	struct loss *losses; /* in order of time */
	size_t nlosses, losses_capacity;
	struct delivery delivery;
	nstime begin, end; /* what was recorded, or its events; NSTIME_MIN: nothing */
	struct contradicted contradicted; /* when they are counted */
};

struct info {
	struct session *session;
	const struct trace *trace;
	struct index *index;
	struct stream_info *streams;
	bool shared; /* streams have files with others: their bytes are those of their packets */
	bool counted; /* contradictions are */
	nstime begin, end;
	struct times times;
};

/* Gathering ----------------------------------------------------------------------------------- */

static bool edge(struct info *info, const struct stream *stream, bool backward, nstime *out,
		 struct error *err)
{
	/* records without a time, which come before all others, do not count */
	struct events_options open = {.begin = NSTIME_MIN + 1,
				      .end = NSTIME_MAX,
				      .backward = backward,
				      .only = stream,
				      .progress = session_progress_time,
				      .progress_arg = info->session};
	struct events *events;
	struct event event;

	*out = NSTIME_MIN;
	if (!stream->has_time)
		return true;
	if (!events_open(info->index, &open, &events, err))
		return false;
	enum step step = events_next(events, &event, err);
	if (step == STEP_ITEM)
		*out = event.time;
	events_close(events);
	return step != STEP_ERROR;
}

static bool stream_losses(const struct stream *stream, struct table *table, struct stream_info *out,
			  struct error *err)
{
	const struct loss *loss;
	struct losses losses;

	losses_init(&losses, stream, false);
	losses.table = table;
	bool ok = losses_begin(&losses, NSTIME_MIN, NSTIME_MAX, err) &&
		  losses_read(&losses, NSTIME_MAX, err);
	while (ok && (loss = losses_head(&losses))) {
		out->places++;
		out->losses = mem_grow(out->losses, out->nlosses, &out->losses_capacity,
				       sizeof *out->losses);
		out->losses[out->nlosses++] = *loss;
		out->lost_packets += loss->lost_packets;
		out->lost_unknown = out->lost_unknown || loss->unknown;
		out->lost += loss->unknown ? 0 : loss->lost;
		losses_drop(&losses);
	}
	losses_release(&losses);
	return ok;
}

static bool packets_bytes(struct table *table, uint64_t *bytes, struct error *err)
{
	struct packet_info packet;

	*bytes = 0;
	for (uint64_t i = 0; i < table_count(table); i++) {
		if (!table_get(table, i, &packet, err))
			return false;
		*bytes += packet_bytes(&packet);
		for (uint32_t n = 0; n < packet.nextents; n++)
			*bytes += packet.extents[n].len;
	}
	return true;
}

/* What was recorded may begin before the first event and end behind the last one: see recorded.h.
 */
static bool widen(const struct info *info, const struct stream *stream, struct stream_info *out,
		  struct error *err)
{
	struct recorded recorded;

	if (!stream_recorded(info->index, stream, &recorded, err))
		return false;
	if (recorded.begin > NSTIME_MIN &&
	    (out->begin == NSTIME_MIN || recorded.begin < out->begin))
		out->begin = recorded.begin;
	if (recorded.end > out->end)
		out->end = recorded.end;
	return true;
}

static bool gather_stream(struct info *info, size_t i, struct error *err)
{
	const struct stream *stream = info->trace->streams[i];
	struct stream_info *out = &info->streams[i];
	struct table *table;

	if (!edge(info, stream, false, &out->begin, err) ||
	    !edge(info, stream, true, &out->end, err) ||
	    !widen(info, stream, out, err) || !index_table(info->index, stream, &table, err))
		return false;
	/* a table that is computed may turn out to be irregular only here */
	if (!stream_losses(stream, table, out, err) ||
	    !delivery_find(stream, table, &out->delivery, err))
		return false;
	out->packets = table_count(table) - out->delivery.doubled - out->delivery.other;
	out->bytes = stream->bytes;
	if (info->shared && !packets_bytes(table, &out->bytes, err))
		return false;
	if (out->begin != NSTIME_MIN && (info->begin == NSTIME_MIN || out->begin < info->begin))
		info->begin = out->begin;
	if (out->end != NSTIME_MIN && (info->end == NSTIME_MIN || out->end > info->end))
		info->end = out->end;
	return true;
}

/* To count contradictions, all switches are read: of larger traces `check` and `index` do that. */
enum { COUNTED_BYTES = 64 << 20 };

static bool gather_contradictions(struct info *info, struct error *err)
{
	struct state *state;

	info->counted = trace_bytes(info->trace) <= COUNTED_BYTES;
	if (!info->counted)
		return true;
	state = session_state(info->session, err);
	for (size_t i = 0; state && i < info->trace->nstreams; i++) {
		struct contradicted *found = &info->streams[i].contradicted;

		if (!contradicted_find(state, info->trace->streams[i], found, err))
			return false;
	}
	return state != NULL;
}

static bool gather(struct info *info, struct error *err)
{
	uint64_t sum = 0;
	bool ok = true;

	for (size_t i = 0; i < info->trace->nstreams; i++)
		sum += info->trace->streams[i]->bytes;
	info->shared = sum > trace_bytes(info->trace);

	info->begin = info->end = NSTIME_MIN;
	info->streams = mem_new_array(info->trace->nstreams + 1, sizeof *info->streams);
	for (size_t i = 0; i < info->trace->nstreams && ok; i++)
		ok = gather_stream(info, i, err);
	return ok;
}

/* Stream classes: event classes of one part and stream id have their contexts in common. */

struct stream_class {
	const struct event_class *class; /* any of its event classes */
	const char *section;             /* of its streams, where they agree; "" else */
};

static int by_class(const void *a, const void *b)
{
	const struct stream *left = *(const struct stream *const *)a;
	const struct stream *right = *(const struct stream *const *)b;

	if (left->part != right->part)
		return left->part < right->part ? -1 : 1;
	return left->id < right->id ? -1 : left->id > right->id;
}

/* The streams of a trace, those of one stream class together. The caller frees the table. */
static const struct stream **sorted_streams(const struct trace *trace)
{
	const struct stream **out = mem_new_array(trace->nstreams + 1, sizeof(struct stream *));

	for (size_t i = 0; i < trace->nstreams; i++)
		out[i] = trace->streams[i];
	qsort(out, trace->nstreams, sizeof(struct stream *), by_class);
	return out;
}

/* The section that all `count` streams of the class are of, sorted; "": there is none, or several. */
static const char *section_of(const struct stream *const *streams, size_t count,
			      const struct event_class *class)
{
	const struct stream wanted = {.part = class->part, .id = class->stream_id};
	const struct stream *key = &wanted;
	const char *found = NULL;
	size_t low = 0;

	for (size_t high = count; low < high;) {
		size_t middle = low + (high - low) / 2;
		if (by_class(&streams[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && by_class(&streams[low], &key) == 0; low++) {
		if (found && strcmp(found, streams[low]->section))
			return "";
		found = streams[low]->section;
	}
	return found ? found : "";
}

/* The caller frees the table. Classes of one stream class stand together, or it is listed twice. */
static struct stream_class *stream_classes(const struct trace *trace, size_t *count)
{
	struct stream_class *out = mem_new_array(trace->nclasses + 1, sizeof *out);
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
			out[(*count)++] = (struct stream_class){
				class, section_of(streams, trace->nstreams, class)};
	}
	mem_free(streams);
	return out;
}

/* JSON ---------------------------------------------------------------------------------------- */

static void uuid_text(const uint8_t uuid[16], struct sink *out)
{
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			sink_char(out, '-');
		sink_hex(out, uuid[i], 2);
	}
}

static void json_uuid(bool has, const uint8_t uuid[16], struct sink *out)
{
	if (!has) {
		sink_text(out, "null");
		return;
	}
	sink_char(out, '"');
	uuid_text(uuid, out);
	sink_char(out, '"');
}

/* What CTF 2 has for it; nothing when it has nothing. */
static void json_full_name(const char *key, const struct full_name *name, struct sink *out)
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

/* How it is known to be on one line of time with the first trace's. */
static void json_relation(const struct clock *clock, struct sink *out)
{
	static const char *const words[] = {NULL,          "same UUID", "same clock, same host",
					    "same origin", "offset",    "none"};

	if (clock->counter) {
		sink_text(out, ",\"counter\":");
		json_text(out, clock->counter);
	}
	if (words[clock->relation])
		sink_printf(out, ",\"relation\":\"%s\"", words[clock->relation]);
	if (clock->same_as >= 0)
		sink_printf(out, ",\"same_as\":%d", (int)clock->same_as);
	if (clock->relation)
		sink_printf(out, ",\"aligned\":%s", clock->moved ? "true" : "false");
}

static void json_clocks(const struct trace *trace, struct sink *out)
{
	sink_text(out, ",\"clocks\":[");
	for (size_t i = 0; i < trace->nclocks; i++) {
		const struct clock *clock = &trace->clocks[i];
		sink_text(out, i ? ",{\"name\":" : "{\"name\":");
		json_text(out, clock->name);
		sink_text(out, ",\"description\":");
		json_text(out, clock->description);
		sink_text(out, ",\"uuid\":");
		json_uuid(clock->has_uuid, clock->uuid, out);
		sink_printf(out,
			    ",\"frequency\":%llu,\"offset_s\":%lld,\"offset\":%lld,"
			    "\"precision\":%llu,\"epoch\":%s",
			    (unsigned long long)clock->base.frequency,
			    (long long)clock->base.offset_s, (long long)clock->base.offset_cycles,
			    (unsigned long long)clock->precision, clock->epoch ? "true" : "false");
		json_full_name("identity", &clock->full_name, out);
		json_full_name("origin", &clock->origin, out);
		json_relation(clock, out);
		if (clock->accuracy)
			sink_printf(out, ",\"accuracy\":%llu",
				    (unsigned long long)clock->accuracy);
		sink_char(out, '}');
	}
	sink_char(out, ']');
}

/* Of several parts the first that has a name counts; others are those of their parts. */
static void json_env(const struct trace *trace, struct sink *out)
{
	struct nameset said = {0};
	bool more = false;

	sink_text(out, ",\"env\":{");
	for (size_t p = 0; p < trace->nparts; p++)
		for (size_t e = 0; e < trace->parts[p]->nenv; e++) {
			const struct env_entry *entry = &trace->parts[p]->env[e];
			if (!nameset_add(&said, entry->name, 0))
				continue;
			sink_text(out, more ? "," : "");
			json_text(out, entry->name);
			sink_char(out, ':');
			if (entry->text)
				json_text(out, entry->text);
			else
				sink_i64(out, entry->number);
			more = true;
		}
	sink_char(out, '}');
	nameset_release(&said);
}

/* The part that is of tasks, else the first that says what it is of; NULL: none does. */
static const struct part *telling_part(const struct trace *trace)
{
	const struct part *found = NULL;

	for (size_t i = 0; i < trace->nparts; i++) {
		const struct part *part = trace->parts[i];
		if (part->recording == RECORDING_TASKS)
			return part;
		if (part->recording && !found)
			found = part;
	}
	return found;
}

static void json_recording(const struct trace *trace, struct sink *out)
{
	const struct part *part = telling_part(trace);

	sink_text(out, ",\"recording\":");
	if (!part) {
		sink_text(out, "null");
		return;
	}
	if (part->recording == RECORDING_CPUS) {
		sink_text(out, "{\"of\":\"cpus\"}");
		return;
	}
	sink_text(out, "{\"of\":\"tasks\",\"tasks\":[");
	for (size_t i = 0; i < part->ntasks; i++) {
		sink_text(out, i ? "," : "");
		sink_i64(out, part->tasks[i]);
	}
	sink_text(out, "]}");
}

/* Sequence numbers of the packets that are missing. */
static void missing_numbers(const struct stream *stream, const struct loss *loss, uint64_t *first,
			    uint64_t *last)
{
	unsigned unused = stream->seq_bits < 64 ? 64U - stream->seq_bits : 0;

	*first = (loss->after + 1) << unused >> unused;
	*last = (loss->after + loss->lost_packets) << unused >> unused;
}

static void json_loss(const struct stream *stream, const struct loss *loss, struct sink *out)
{
	uint64_t first, last;

	sink_text(out, "{\"t\":");
	json_time(out, loss->time);
	sink_text(out, ",\"until\":");
	json_time(out, loss->until);
	sink_text(out, ",\"events\":");
	if (loss->unknown)
		sink_text(out, "null");
	else
		sink_u64(out, loss->lost);
	if (loss->lost_packets) {
		missing_numbers(stream, loss, &first, &last);
		sink_printf(out, ",\"packets\":%llu,\"first\":%llu,\"last\":%llu",
			    (unsigned long long)loss->lost_packets, (unsigned long long)first,
			    (unsigned long long)last);
	}
	sink_char(out, '}');
}

static void json_streams(const struct info *info, struct sink *out)
{
	sink_text(out, ",\"streams\":[");
	for (size_t i = 0; i < info->trace->nstreams; i++) {
		const struct stream *stream = info->trace->streams[i];
		const struct stream_info *own = &info->streams[i];
		sink_printf(out, "%s{\"id\":%llu,\"name\":", i ? "," : "",
			    (unsigned long long)stream->id);
		json_text(out, stream->name);
		sink_text(out, ",\"section\":");
		json_text(out, *stream->section ? stream->section : NULL);
		sink_text(out, ",\"cpu\":");
		if (stream->cpu < 0)
			sink_text(out, "null");
		else
			sink_i64(out, stream->cpu);
		sink_printf(out, ",\"packets\":%llu,\"bytes\":%llu,\"begin\":",
			    (unsigned long long)own->packets, (unsigned long long)own->bytes);
		json_time(out, own->begin);
		sink_text(out, ",\"end\":");
		json_time(out, own->end);
		sink_text(out, ",\"lost\":");
		sink_u64(out, own->lost);
		sink_printf(out,
			    ",\"lost_packets\":%llu,\"late\":%llu,\"doubled\":%llu,"
			    "\"other_session\":%llu,\"losses\":[",
			    (unsigned long long)own->lost_packets,
			    (unsigned long long)own->delivery.late,
			    (unsigned long long)own->delivery.doubled,
			    (unsigned long long)own->delivery.other);
		for (size_t k = 0; k < own->nlosses; k++) {
			sink_text(out, k ? "," : "");
			json_loss(stream, &own->losses[k], out);
		}
		sink_text(out, "],\"contradictions\":");
		if (info->counted)
			sink_u64(out, own->contradicted.count);
		else
			sink_text(out, "null");
		sink_char(out, '}');
	}
	sink_char(out, ']');
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

static void json_stream_classes(const struct trace *trace, struct sink *out)
{
	size_t count;
	struct stream_class *classes = stream_classes(trace, &count);

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

static void json_word(const struct part *part, struct sink *out)
{
	bool known = part && part->big_endian >= 0;

	sink_text(out, ",\"byte_order\":");
	json_text(out, !known ? NULL : part->big_endian ? "big" : "little");
	sink_text(out, ",\"word_bits\":");
	if (part && part->word_bits)
		sink_u64(out, part->word_bits);
	else
		sink_text(out, "null");
}

static void json_classes(const struct trace *trace, struct sink *out)
{
	sink_text(out, ",\"classes\":[");
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		sink_printf(out, "%s{\"id\":%llu,\"name\":", i ? "," : "",
			    (unsigned long long)class->id);
		json_text(out, class->name);
		sink_text(out, ",\"fields\":");
		json_members(class->scope[SCOPE_PAYLOAD], out);
		sink_char(out, '}');
	}
	sink_char(out, ']');
}

static void print_json(const struct info *info, const struct capabilities *can, struct sink *out)
{
	const struct trace *trace = info->trace;
	const struct part *part = trace->nparts ? trace->parts[0] : NULL;

	sink_text(out, "{\"format\":");
	json_text(out, part ? part->reader->format : NULL);
	sink_text(out, ",\"version\":");
	json_text(out, part ? part->version : NULL);
	sink_text(out, ",\"uuid\":");
	json_uuid(part && part->has_uuid, part ? part->uuid : NULL, out);
	json_word(part, out);
	if (part)
		json_full_name("identity", &part->full_name, out);
	sink_text(out, ",\"begin\":");
	json_time(out, info->begin);
	sink_text(out, ",\"end\":");
	json_time(out, info->end);
	json_clocks(trace, out);
	json_env(trace, out);
	json_recording(trace, out);
	json_streams(info, out);
	json_stream_classes(trace, out);
	json_classes(trace, out);
	sink_text(out, ",\"capabilities\":[");
	for (size_t i = 0; i < can->count; i++) {
		sink_text(out, i ? ",{\"path\":" : "{\"path\":");
		json_text(out, can->items[i].path);
		sink_printf(out, ",\"known\":%s}", can->items[i].known ? "true" : "false");
	}
	sink_text(out, "]}\n");
	sink_row(out);
}

/* Text ---------------------------------------------------------------------------------------- */

static void put_time(struct info *info, struct sink *out, nstime t)
{
	if (t == NSTIME_MIN)
		sink_char(out, '-');
	else
		time_add(&info->times, t, out);
}

enum { TASKS_SHOWN = 8 };

/* Whose events it has, and what follows from that; nothing where the trace does not say it. */
static void text_recording(const struct part *part, struct sink *out)
{
	if (part->recording == RECORDING_CPUS)
		sink_text(out, "recording  of CPUs, whatever runs there\n");
	if (part->recording != RECORDING_TASKS)
		return;
	sink_text(out, part->ntasks == 1 ? "recording  of task" : "recording  of tasks");
	for (size_t i = 0; i < part->ntasks && i < TASKS_SHOWN; i++) {
		sink_text(out, i ? ", " : " ");
		sink_i64(out, part->tasks[i]);
	}
	if (part->ntasks > TASKS_SHOWN)
		sink_printf(out, " and %zu more", part->ntasks - TASKS_SHOWN);
	sink_text(out, ": what a CPU does while no recorded thread is seen to run "
		       "there is unknown\n");
}

static void text_word(const struct part *part, struct sink *out)
{
	if (part->big_endian < 0 && !part->word_bits)
		return;
	sink_text(out, "machine    ");
	if (part->big_endian >= 0)
		sink_text(out, part->big_endian ? "big-endian" : "little-endian");
	if (part->word_bits)
		sink_printf(out, "%swords of %u bits", part->big_endian >= 0 ? ", " : "",
			    part->word_bits);
	sink_char(out, '\n');
}

/* What CTF 2 calls a trace or a clock's origin; nothing when it has no name. */
static void text_full_name(const char *label, const struct full_name *name, struct sink *out)
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

static void text_parts(const struct trace *trace, struct sink *out)
{
	for (size_t i = 0; i < trace->nparts; i++) {
		const struct part *part = trace->parts[i];
		sink_printf(out, "trace      %s\nformat     %s %s\n", part->path,
			    part->reader->format, part->version ? part->version : "");
		if (part->has_uuid) {
			sink_text(out, "uuid       ");
			uuid_text(part->uuid, out);
			sink_char(out, '\n');
		}
		text_word(part, out);
		text_full_name("named", &part->full_name, out);
		if (part->offset) {
			sink_text(out, "offset     ");
			span_add(part->offset, out);
			sink_char(out, '\n');
		}
		for (size_t e = 0; e < part->nenv; e++) {
			sink_printf(out, "%-11s", e ? "" : "env");
			sink_name(out, part->env[e].name);
			sink_text(out, " = ");
			if (part->env[e].text)
				text_string(out, part->env[e].text, strlen(part->env[e].text));
			else
				sink_i64(out, part->env[e].number);
			sink_char(out, '\n');
		}
		text_recording(part, out);
	}
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

static void text_clocks(const struct trace *trace, struct sink *out)
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
		text_full_name("origin", &clock->origin, out);
		text_relation(trace, clock, out);
	}
}

static void text_range(struct info *info, struct sink *out)
{
	sink_text(out, "range      ");
	put_time(info, out, info->begin);
	sink_text(out, " to ");
	put_time(info, out, info->end);
	if (trace_has_ordinals(info->trace)) {
		sink_text(out, ", numbers of events");
	} else if (info->begin != NSTIME_MIN) {
		sink_text(out, ", ");
		span_add(time_span(info->begin, info->end), out);
	}
	sink_char(out, '\n');
}

static void text_streams(struct info *info, struct sink *out)
{
	static const struct column columns[] = {
		{"id", true},    {"name", false},  {"cpu", true},  {"packets", true},
		{"bytes", true}, {"begin", false}, {"end", false}, {"lost", true}};
	struct rows rows;

	sink_printf(out, "\n%zu stream%s\n", info->trace->nstreams,
		    info->trace->nstreams == 1 ? "" : "s");
	rows_begin(&rows, out, FORMAT_TABLE, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < info->trace->nstreams; i++) {
		const struct stream *stream = info->trace->streams[i];
		const struct stream_info *own = &info->streams[i];
		sink_u64(rows_cell(&rows), stream->id);
		rows_text(&rows, stream->name);
		if (stream->cpu < 0)
			rows_cell(&rows);
		else
			sink_i64(rows_cell(&rows), stream->cpu);
		sink_u64(rows_cell(&rows), own->packets);
		sink_u64(rows_cell(&rows), own->bytes);
		put_time(info, rows_cell(&rows), own->begin);
		put_time(info, rows_cell(&rows), own->end);
		struct sink *lost = rows_cell(&rows);
		sink_u64(lost, own->lost);
		sink_text(lost, own->lost_unknown ? "+?" : "");
		rows_end(&rows);
	}
	rows_finish(&rows);
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

/* What each stream's packets and events have in common. */
static void text_stream_classes(const struct trace *trace, struct sink *out)
{
	size_t count;
	struct stream_class *classes = stream_classes(trace, &count);

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

static void text_classes(const struct trace *trace, struct sink *out)
{
	sink_printf(out, "\n%zu event class%s\n", trace->nclasses,
		    trace->nclasses == 1 ? "" : "es");
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		const struct field_class *payload = class->scope[SCOPE_PAYLOAD];
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

enum { LOSSES_SHOWN = 20 };

static void text_loss(struct info *info, const struct stream *stream, const struct loss *loss,
		      struct sink *out)
{
	uint64_t first, last;

	sink_text(out, "           ");
	sink_name(out, stream->name);
	if (loss->unknown)
		sink_text(out, ": events, it is not known how many");
	else if (loss->lost)
		sink_printf(out, ": %llu event%s", (unsigned long long)loss->lost,
			    loss->lost == 1 ? "" : "s");
	if (loss->lost_packets) {
		missing_numbers(stream, loss, &first, &last);
		sink_printf(
			out, "%s %llu packet%s, number", loss->lost || loss->unknown ? "," : ":",
			(unsigned long long)loss->lost_packets, loss->lost_packets == 1 ? "" : "s");
		if (loss->lost_packets == 1)
			sink_printf(out, " %llu", (unsigned long long)first);
		else
			sink_printf(out, "s %llu to %llu", (unsigned long long)first,
				    (unsigned long long)last);
	}
	sink_text(out, ", ");
	put_time(info, out, loss->time);
	sink_text(out, " to ");
	put_time(info, out, loss->until);
	sink_char(out, '\n');
}

static void text_losses(struct info *info, struct sink *out)
{
	uint64_t events = 0, packets = 0, places = 0;

	for (size_t i = 0; i < info->trace->nstreams; i++) {
		events += info->streams[i].lost;
		packets += info->streams[i].lost_packets;
		places += info->streams[i].places;
	}
	if (!places) {
		sink_text(out, "losses     none\n");
		return;
	}
	sink_printf(out, "losses     %llu events, %llu packets at %llu place%s\n",
		    (unsigned long long)events, (unsigned long long)packets,
		    (unsigned long long)places, places == 1 ? "" : "s");
	uint64_t left = places < LOSSES_SHOWN ? places : LOSSES_SHOWN;
	for (size_t i = 0; i < info->trace->nstreams && left; i++)
		for (size_t k = 0; k < info->streams[i].nlosses && left; k++, left--)
			text_loss(info, info->trace->streams[i], &info->streams[i].losses[k], out);
	if (places > LOSSES_SHOWN)
		sink_printf(out, "           and %llu more: --format json lists all\n",
			    (unsigned long long)places - LOSSES_SHOWN);
}

/* Nothing where all packets came once and in their order. */
static void text_delivery(const struct info *info, struct sink *out)
{
	struct delivery sum = {0};

	for (size_t i = 0; i < info->trace->nparts; i++)
		sum.other += info->trace->parts[i]->others;
	for (size_t i = 0; i < info->trace->nstreams; i++) {
		const struct delivery *own = &info->streams[i].delivery;
		sum.late += own->late;
		sum.doubled += own->doubled;
		sum.other += own->other;
	}
	if (sum.late || sum.doubled || sum.other)
		sink_printf(out, "packets    %llu came late, %llu twice, %llu of another session\n",
			    (unsigned long long)sum.late, (unsigned long long)sum.doubled,
			    (unsigned long long)sum.other);
}

/* The first place of each stream that has any. */
static void text_contradictions(struct info *info, struct sink *out)
{
	for (size_t i = 0; i < info->trace->nstreams; i++) {
		const struct contradicted *found = &info->streams[i].contradicted;

		if (!found->count)
			continue;
		sink_printf(out, "missing    events at %llu place%s of %s that no counter tells, first at ",
			    (unsigned long long)found->count, found->count == 1 ? "" : "s",
			    info->trace->streams[i]->name);
		time_add(&info->times, found->first.claimed_at, out);
		sink_text(out, ": see 'yore check'\n");
	}
}

static void text_capabilities(const struct info *info, const struct capabilities *can,
			      struct sink *out)
{
	size_t timeless = 0;

	for (size_t i = 0; i < info->trace->nstreams; i++) {
		timeless += !info->trace->streams[i]->has_time;
	}
	sink_printf(out, "times      %s\n",
		    !info->trace->nstreams ? "none"
		    : timeless == 0        ? "every event has one, streams are ordered by them"
		    : timeless == info->trace->nstreams
			    ? info->trace->nstreams == 1
				      ? "none: events are counted, their order is all that is known"
				      : "none: events are counted, order across streams is not known"
			    : "some streams have none: their order to others is not known");
	for (size_t i = 0; i < can->count; i++) {
		sink_printf(out, "%-11s", i ? "" : "questions");
		if (can->items[i].known)
			sink_printf(out, "%s: from %s\n", can->items[i].path, can->items[i].from);
		else
			sink_printf(out, "no %s: `%s` cannot be known\n", can->items[i].needs,
				    can->items[i].path);
	}
}

static void print_text(struct info *info, const struct capabilities *can, struct sink *out)
{
	text_parts(info->trace, out);
	text_clocks(info->trace, out);
	text_range(info, out);
	text_losses(info, out);
	text_delivery(info, out);
	text_contradictions(info, out);
	text_capabilities(info, can, out);
	text_streams(info, out);
	text_stream_classes(info->trace, out);
	text_classes(info->trace, out);
	sink_row(out);
}

static bool run_info(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	struct info info = {.session = session};
	struct capabilities can = {0};
	bool ok;

	info.index = session_index(session, err);
	info.trace = session->trace;
	ok = info.index && session_times(session, &info.times, err) && gather(&info, err) &&
	     gather_contradictions(&info, err) &&
	     capabilities_find(session, &can, err);
	if (ok && options->format == FORMAT_JSON)
		print_json(&info, &can, sink);
	else if (ok)
		print_text(&info, &can, sink);
	capabilities_release(&can);
	for (size_t i = 0; info.streams && i < info.trace->nstreams; i++)
		mem_free(info.streams[i].losses);
	mem_free(info.streams);
	return ok;
}

const struct cmd cmd_info = {
	.name = "info",
	.args = "",
	.summary = "what the trace is: format, clocks, range, streams, classes, losses",
	.help = "Prints what a trace is and which questions it can answer. Only packet headers "
		"and\n"
		"the events at both ends of each stream are read; of traces up to 64 MiB also those\n"
		"that tell what ran, to count places where events are missing untold.\n"
		"\n"
		"Examples:\n"
		"  $ yore info fixtures/golden/sched-demo\n"
		"  $ yore info fixtures/golden/sched-demo --format json\n",
	.options = OPT_TRACE | OPT_FORMAT | OPT_RULES,
	.run = run_info,
};
