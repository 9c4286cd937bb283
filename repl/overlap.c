/*
 * overlap.c - do the traces that --with merges have a common clock and overlap in time?
 *
 * Traces are merged by their clocks. If one clock counts from the Unix epoch and another since
 * boot, their events would lie years apart: the user must give the offset.
 */
#include "repl/session.h"

#include "engine/clocks.h"

struct time_span {
	nstime first, last; /* first > last: no packet has a time */
	bool one;           /* its clock has the UUID of the first trace's clock */
};

static bool add_stream_span(struct session *session, const struct stream *stream,
			    struct time_span *span)
{
	struct packet_info info;
	struct table *table;
	struct error ignored;

	span->one |= session->trace->clocks[stream->clock].relation == CLOCK_SAME_UUID;
	if (!index_table(session->index, stream, &table, &ignored))
		return false;
	for (int end = 0; end < 2 && table_count(table); end++) {
		if (!table_get(table, end ? table_count(table) - 1 : 0, &info, &ignored))
			return false;
		if (info.rec.flags & (PACKET_BEFORE_ALL | PACKET_EMPTY))
			continue;
		span->first = info.rec.min < span->first ? info.rec.min : span->first;
		span->last = info.rec.max > span->last ? info.rec.max : span->last;
	}
	return true;
}

/* Finds the range of path 0, TRACE, or of a further path, that of a --with. */
static bool find_span(struct session *session, size_t path, struct time_span *out)
{
	const struct trace *trace = session->trace;

	*out = (struct time_span){.first = NSTIME_MAX, .last = NSTIME_MIN};
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		if (stream->has_time && stream->clock >= 0 &&
		    trace->clocks[stream->clock].path == path &&
		    !add_stream_span(session, stream, out))
			return false;
	}
	return out->first <= out->last;
}

static void add_seconds(nstime t, struct buf *out)
{
	struct times times;

	times_init(&times, TIME_SECONDS, true, false, NSTIME_MIN, NSTIME_MIN);
	time_add_buf(&times, t, out);
}

static void add_range(const struct time_span *span, struct buf *out)
{
	add_seconds(span->first, out);
	buf_add_text(out, " s to ");
	add_seconds(span->last, out);
	buf_add_text(out, " s");
}

/* Appends the --offset with which the other trace begins when the first one does. */
static void add_offset(const char *path, const struct time_span *first,
		       const struct time_span *other, struct buf *out)
{
	nstime offset;

	if (__builtin_sub_overflow(first->first, other->first, &offset))
		return;
	buf_printf(out, "; to let them begin together: --offset %s=%s", path,
		   offset < 0 ? "-" : "+");
	add_seconds(offset < 0 ? -offset : offset, out);
	buf_add_text(out, "s");
}

static void overlap_note(struct session *session, const char *path, const struct time_span *first,
			 const struct time_span *other)
{
	struct buf text = {0};

	buf_printf(&text, "--with %s: it has no time in common with %s: ", path, session->path);
	add_range(other, &text);
	buf_add_text(&text, ", and ");
	add_range(first, &text);
	add_offset(path, first, other, &text);
	session_note(session, "%s", buf_text(&text));
	buf_release(&text);
}

/* The first clock that the trace's streams use. */
static const struct clock *first_clock(const struct trace *trace)
{
	for (size_t i = 0; i < trace->nclocks; i++)
		if (trace->clocks[i].relation == CLOCK_FIRST)
			return &trace->clocks[i];
	return NULL;
}

static void overlap_add_clock(const struct clock *clock, struct buf *out)
{
	buf_printf(out, "'%s' (%s%s%s)", clock->name, clock->description,
		   *clock->description ? "; " : "",
		   clock->epoch ? "from the Unix epoch" : "no epoch");
}

static bool overlap_refuse(struct session *session, const struct clock *clock, struct error *err)
{
	const char *path = session->options->with.items[clock->path - 1];
	struct time_span first, other;
	struct buf text = {0};

	buf_printf(&text, "--with %s: its clock ", path);
	overlap_add_clock(clock, &text);
	buf_printf(&text, " has no known relation to %s's, ", session->path);
	overlap_add_clock(first_clock(session->trace), &text);
	buf_printf(&text, ": say it by --offset %s=+-TIME, +0s where they are the same", path);
	if (find_span(session, 0, &first) && find_span(session, clock->path, &other))
		add_offset(path, &first, &other, &text);
	error_set(err, ERR_QUERY, "%s", buf_text(&text));
	buf_release(&text);
	return false;
}

bool overlap_check(struct session *session, struct error *err)
{
	const struct words *with = &session->options->with;
	const struct clock *unrelated = clocks_unrelated(session->trace);
	struct time_span first, other;

	if (unrelated)
		return overlap_refuse(session, unrelated, err);
	if (!with->count || session->options->quiet || !find_span(session, 0, &first))
		return true;
	for (size_t i = 0; i < with->count; i++)
		if (find_span(session, i + 1, &other) && !other.one &&
		    (other.first > first.last || other.last < first.first))
			overlap_note(session, with->items[i], &first, &other);
	return true;
}
