/* info_live.c - see info_live.h */
#include "repl/commands/info_live.h"

#include "engine/base/wait.h"
#include "repl/render/render.h"

#include <string.h>
#include <sys/stat.h>

#define NS_PER_S INT64_C(1000000000)

/* When a file of the trace was written last; -1: not known. */
static int64_t last_written(const struct trace *trace)
{
	int64_t last = -1;
	struct stat st;

	for (size_t i = 0; i < trace->nsources; i++) {
		if (stat(source_name(trace->sources[i]), &st) != 0)
			continue;
		int64_t at = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
		last = at > last ? at : last;
	}
	return last;
}

static void take_earliest(struct info_live *out, const char *name, nstime until)
{
	if (until >= out->final)
		return;
	out->final = until;
	out->holds = name;
}

/* The file as streams are called. */
static const char *below(const struct session *session, const char *file)
{
	size_t above = session->path ? strlen(session->path) : 0;

	if (!above || strncmp(file, session->path, above) != 0)
		return file;
	return file + above + strspn(file + above, "/");
}

static bool take_streams(struct session *session, const struct beside *beside,
			 struct info_live *out, struct error *err)
{
	const struct trace *trace = session->trace;

	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		struct table *table;
		nstime reached;
		if (!index_table(session->index, stream, &table, err))
			return false;
		out->packets += table_count(table);
		out->bytes += stream->bytes;
		if (!watermark_counts(trace, stream))
			continue;
		take_earliest(out, stream->name,
			      watermark_of(beside, trace, stream, table, NSTIME_MIN, &reached));
		if (reached > out->reached) {
			out->reached = reached;
			out->has_wall = stream->clock >= 0 && trace->clocks[stream->clock].epoch;
		}
	}
	for (size_t i = 0; i < trace->nempties; i++)
		take_earliest(out, below(session, trace->empties[i].path),
			      watermark_of_empty(beside, trace, &trace->empties[i]));
	return true;
}

/* Streams besides the one that holds most back, that hold back, too. */
static size_t others_of(struct session *session, const struct beside *beside,
			const struct info_live *live)
{
	const struct trace *trace = session->trace;
	struct error ignored;
	size_t count = 0;

	for (size_t i = 0; i < trace->nstreams; i++) {
		struct table *table;
		nstime reached;
		if (watermark_counts(trace, trace->streams[i]) &&
		    index_table(session->index, trace->streams[i], &table, &ignored))
			count += watermark_of(beside, trace, trace->streams[i], table, NSTIME_MIN,
					      &reached) < live->reached;
	}
	for (size_t i = 0; i < trace->nempties; i++)
		count += watermark_of_empty(beside, trace, &trace->empties[i]) < live->reached;
	return count ? count - 1 : 0;
}

bool info_live_find(struct session *session, const struct beside *beside, struct info_live *out,
		    struct error *err)
{
	int64_t now = clock_ns(CLOCK_REALTIME), written;

	*out = (struct info_live){.reached = NSTIME_MIN, .final = NSTIME_MAX};
	bool ok = session_index(session, err) && take_streams(session, beside, out, err);
	if (ok) {
		/* idle streams were heard of later than any packet ends */
		if (out->final != NSTIME_MAX && out->final > out->reached)
			out->reached = out->final;
		if (out->final >= out->reached)
			out->holds = NULL;
		out->others = out->holds ? others_of(session, beside, out) : 0;
		written = last_written(session->trace);
		out->written = written < 0 || written > now ? -1 : now - written;
		out->has_wall &= out->reached != NSTIME_MIN && out->reached <= now;
		out->behind = out->has_wall ? now - out->reached : 0;
	}
	return ok;
}

void info_live_span(int64_t ns, struct sink *out)
{
	span_add(ns < 100 * NS_PER_S ? ns / 1000000 * 1000000 : ns / NS_PER_S * NS_PER_S, out);
}

void info_live_text(const struct info_live *live, struct times *times, uint64_t lost,
		    struct sink *out)
{
	sink_printf(out, "recorded   %llu packet%s, %llu bytes, %llu event%s lost",
		    (unsigned long long)live->packets, live->packets == 1 ? "" : "s",
		    (unsigned long long)live->bytes, (unsigned long long)lost,
		    lost == 1 ? "" : "s");
	if (live->written >= 0) {
		sink_text(out, "; last written ");
		info_live_span(live->written, out);
		sink_text(out, " ago");
	}
	sink_text(out, "\ncome to    ");
	time_add_any(times, live->reached, out);
	if (live->has_wall) {
		sink_text(out, ", ");
		info_live_span(live->behind, out);
		sink_text(out, " behind the wall clock");
	}
	sink_text(out, "\nfinal      ");
	if (!live->holds) {
		sink_text(out, "all of it\n");
		return;
	}
	if (live->final == NSTIME_MIN) {
		sink_text(out, "nothing: there is nothing yet of ");
	} else {
		sink_text(out, "what is before ");
		time_add_any(times, live->final, out);
		sink_text(out, ", held back ");
		span_add(time_span(live->final, live->reached), out);
		sink_text(out, " by ");
	}
	sink_name(out, live->holds);
	if (live->others)
		sink_printf(out, " and %zu other%s", live->others, live->others == 1 ? "" : "s");
	sink_char(out, '\n');
}

void info_live_json(const struct info_live *live, uint64_t lost, struct sink *out)
{
	sink_printf(out, ",\"live\":{\"packets\":%llu,\"bytes\":%llu,\"lost\":%llu",
		    (unsigned long long)live->packets, (unsigned long long)live->bytes,
		    (unsigned long long)lost);
	if (live->written >= 0)
		sink_printf(out, ",\"written\":%lld", (long long)live->written);
	json_member_time(out, ",\"reached\":", live->reached);
	if (live->has_wall)
		sink_printf(out, ",\"behind\":%lld", (long long)live->behind);
	json_member_time(out, ",\"final\":", live->holds ? live->final : live->reached);
	json_member_text(out, ",\"held_by\":", live->holds);
	sink_printf(out, ",\"holding\":%zu}", live->holds ? live->others + 1 : 0);
}
