/*
 * cmd_info.c - prints what a trace has, and which questions it can answer
 *
 * Other files gather and print streams, clocks, losses and classes.
 */
#include "engine/base/nameset.h"
#include "live/mirror.h"
#include "repl/commands/cmds.h"
#include "repl/commands/info.h"
#include "repl/render/render.h"

#include <string.h>

/* Counting contradictions reads all switches; of larger traces, only `check` and `index` do. */
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

/* JSON ---------------------------------------------------------------------------------------- */

/* Writes the environment; of several parts with one name, the first part's value counts. */
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

/* The part that recorded tasks, else the first that says what it recorded; NULL: none does. */
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

/* Writes `cpu`, a number for one CPU and null for several, and `cpus`, which lists these. */
static void json_cpus(const struct cpus *cpus, struct sink *out)
{
	json_member_u64(out, ",\"cpu\":", cpus->count == 1 && !cpus->many,
			cpus->count ? (uint64_t)cpus->items[0] : 0);
	if (cpus->count < 2)
		return;
	for (size_t i = 0; i < cpus->count; i++)
		sink_printf(out, "%s%d", i ? "," : ",\"cpus\":[", cpus->items[i]);
	sink_text(out, "]");
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
		json_member_text(out, ",\"section\":", *stream->section ? stream->section : NULL);
		json_cpus(&own->cpus, out);
		sink_printf(out, ",\"packets\":%llu,\"bytes\":%llu,\"begin\":",
			    (unsigned long long)own->packets, (unsigned long long)own->bytes);
		json_time(out, own->begin);
		json_member_time(out, ",\"end\":", own->end);
		info_json_losses(stream, &info->losses[i], out);
		json_member_u64(out, ",\"contradictions\":", info->counted,
				own->contradicted.count);
		sink_char(out, '}');
	}
	sink_char(out, ']');
}

static void json_word(const struct part *part, struct sink *out)
{
	bool known = part && part->big_endian >= 0;

	json_member_text(out, ",\"byte_order\":",
			 !known             ? NULL
			 : part->big_endian ? "big"
					    : "little");
	json_member_u64(out, ",\"word_bits\":", part && part->word_bits,
			part ? part->word_bits : 0);
}

/* Calls `write` for each thing in the trace that this version does not know. */
static void each_unknown(const struct info *info, struct sink *out,
			 void (*write)(struct sink *out, size_t i, const char *text))
{
	struct buf texts = {0};
	size_t n = 0;

	trace_damages(info->session->trace, &texts);
	for (size_t at = 0; at < texts.len; at += strlen(texts.data + at) + 1)
		if (texts.data[at] == TRACE_UNKNOWN_MARK)
			write(out, n++, texts.data + at + 1);
	buf_release(&texts);
}

static void json_unknown(struct sink *out, size_t i, const char *text)
{
	sink_text(out, i ? "," : "");
	json_text(out, text);
}

static void print_json(const struct info *info, const struct capabilities *can, struct sink *out)
{
	const struct trace *trace = info->trace;
	const struct part *part = trace->nparts ? trace->parts[0] : NULL;

	json_member_text(out, "{\"format\":", part ? part->reader->format : NULL);
	json_member_text(out, ",\"version\":", part ? part->version : NULL);
	info_json_uuid(part && part->has_uuid, part ? part->uuid : NULL, out);
	json_word(part, out);
	if (part)
		info_json_full_name("identity", &part->full_name, out);
	json_member_time(out, ",\"begin\":", info->begin);
	json_member_time(out, ",\"end\":", info->end);
	info_json_clocks(trace, out);
	json_env(trace, out);
	json_recording(trace, out);
	json_streams(info, out);
	if (info->is_live)
		info_live_json(&info->live, info_lost(info), out);
	uint64_t skipped = 0;
	for (size_t i = 0; i < trace->nparts; i++)
		skipped += trace->parts[i]->skipped;
	sink_printf(out, ",\"skipped_bytes\":%llu,\"lost_untold\":%llu,\"unknown\":[",
		    (unsigned long long)skipped, (unsigned long long)info->untold);
	each_unknown(info, out, json_unknown);
	sink_char(out, ']');
	info_json_stream_classes(trace, out);
	info_json_classes(trace, out);
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

static void text_unknown(struct sink *out, size_t i, const char *text)
{
	sink_printf(out, "%-11s", i ? "" : "unknown");
	sink_name(out, text);
	sink_char(out, '\n');
}

enum { TASKS_SHOWN = 8 };

/* Writes which tasks or CPUs were recorded, and what follows; nothing if the trace does not say. */
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

static void text_parts(const struct trace *trace, struct sink *out)
{
	for (size_t i = 0; i < trace->nparts; i++) {
		const struct part *part = trace->parts[i];
		char uuid[UUID_TEXT];
		sink_printf(out, "trace      %s\nformat     %s %s\n", part->path,
			    part->reader->format, part->version ? part->version : "");
		if (part->has_uuid)
			sink_printf(out, "uuid       %s\n", uuid_put(part->uuid, uuid));
		text_word(part, out);
		info_text_full_name("named", &part->full_name, out);
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

static void text_range(struct info *info, struct sink *out)
{
	sink_text(out, "range      ");
	time_add_any(&info->times, info->begin, out);
	sink_text(out, " to ");
	time_add_any(&info->times, info->end, out);
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
	static const struct table_column columns[] = {
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
		struct sink *cpus = rows_cell(&rows);
		for (size_t k = 0; k < own->cpus.count; k++)
			sink_printf(cpus, "%s%d", k ? "," : "", own->cpus.items[k]);
		sink_text(cpus, own->cpus.many ? ",..." : "");
		sink_u64(rows_cell(&rows), own->packets);
		sink_u64(rows_cell(&rows), own->bytes);
		time_add_any(&info->times, own->begin, rows_cell(&rows));
		time_add_any(&info->times, own->end, rows_cell(&rows));
		struct sink *lost = rows_cell(&rows);
		sink_u64(lost, info->losses[i].lost);
		sink_text(lost, info->losses[i].lost_unknown ? "+?" : "");
		rows_end(&rows);
	}
	rows_finish(&rows);
}

/* Writes the first contradiction of each stream that has one. */
static void text_contradictions(struct info *info, struct sink *out)
{
	for (size_t i = 0; i < info->trace->nstreams; i++) {
		const struct contradicted *found = &info->streams[i].contradicted;

		if (!found->count)
			continue;
		sink_printf(out, "missing    events at %llu place%s of %s, not counted by the recorder, first at ",
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
	info_text_clocks(info->trace, out);
	text_range(info, out);
	if (info->is_live)
		info_live_text(&info->live, &info->times, info_lost(info), out);
	info_text_losses(info->trace, info->losses, info->untold, &info->times, out);
	text_contradictions(info, out);
	each_unknown(info, out, text_unknown);
	text_capabilities(info, can, out);
	text_streams(info, out);
	info_text_stream_classes(info->trace, out);
	info_text_classes(info->trace, out);
	sink_row(out);
}

/*
 * Opens a recording that goes on as a trace that grows, so that a packet that is being written is
 * no damage.
 */
static void open_live(struct info *info, struct beside *beside)
{
	struct session *session = info->session;
	const bool *live = session->options->own; /* --live */

	info->is_live = *live || (session->path && mirror_goes_on(session->path));
	if (!info->is_live || session->trace)
		return;
	session->follows = session->grows = true;
	beside_add(beside, session->path);
	for (size_t i = 0; i < session->options->with.count; i++)
		beside_add(beside, session->options->with.items[i]);
	beside_read(beside);
}

static bool run_info(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	struct info info = {.session = session};
	struct capabilities can = {0};
	struct beside beside = {0};
	bool ok;

	open_live(&info, &beside);
	info.index = session_index(session, err);
	info.trace = session->trace;
	ok = info.index && session_times(session, &info.times, err) && info_gather(&info, err) &&
	     gather_contradictions(&info, err) &&
	     (!info.is_live || info_live_find(session, &beside, &info.live, err)) &&
	     capabilities_find(session, &can, err);
	if (ok && options->format == FORMAT_JSON)
		print_json(&info, &can, sink);
	else if (ok)
		print_text(&info, &can, sink);
	capabilities_release(&can);
	beside_release(&beside);
	info_release(&info);
	return ok;
}

static const struct option own_options[] = {
	/* clang-format off */
	{{"--live", NULL, "how far a recording that goes on has come", 0}, TAKE_FLAG, .at = 0},
	{.info.name = NULL},
};

const struct cmd cmd_info = {
	.name = "info",
	.args = "",
	.summary = "what the trace is: format, clocks, range, streams, classes, losses",
	.help = "Prints what a trace is and which questions it can answer. Only packet headers and\n"
		"the events at both ends of each stream are read; of traces up to 64 MiB also those\n"
		"that tell what ran, to count places where events are missing untold.\n"
		"\n"
		"Of a mirror whose session has not ended, and of any recording with --live, it says\n"
		"how far it has come, how far that is behind the wall clock where the trace's clock\n"
		"counts from the epoch, which stream holds the rest back (nothing before its time is\n"
		"missing), and for how long, in the trace's time.\n"
		"\n"
		"Examples:\n"
		"  $ yore info fixtures/golden/sched-demo\n"
		"  $ yore info fixtures/golden/sched-demo --format json\n"
		"  $ yore info fixtures/golden/sched-demo --live\n",
	.options = OPT_TRACE | OPT_FORMAT | OPT_RULES,
	.own = own_options,
	.own_bytes = sizeof(bool),
	.run = run_info,
}; /* clang-format on */
