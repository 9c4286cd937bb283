/* info_clocks.c - see info_clocks.h */
#include "repl/commands/info_clocks.h"

#include "repl/render/render.h"

#include <string.h>

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

/* How it is known to be on one line of time with the first trace's. */
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
