/*
 * overlap.c - see overlap.h
 *
 * Traces of several machines are merged by their clocks. Where one counts from the Unix epoch and
 * another since boot, or one was not shifted, their events stand side by side as if years lay
 * between them, and no question has an answer from both.
 */
#include "repl/overlap.h"

#include <string.h>

struct span {
	nstime first, last;     /* first > last: no packet says a time */
	bool epoch;             /* some clock counts from the Unix epoch */
	const struct clock *of; /* a clock with a UUID; NULL none */
};

static bool is_of(const struct trace *trace, const struct stream *stream, const char *path)
{
	const char *own = trace->parts[stream->part]->path;

	return strncmp(own, path, strlen(path)) == 0;
}

static bool add_stream(struct session *session, const struct stream *stream, struct span *span)
{
	struct packet_info info;
	struct table *table;
	struct error ignored;

	if (stream->clock >= 0) {
		const struct clock *clock = &session->trace->clocks[stream->clock];
		span->epoch |= clock->epoch;
		span->of = clock->has_uuid ? clock : span->of;
	}
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

/* Of a trace by its path, as it was given. */
static bool find_span(struct session *session, const char *path, struct span *out)
{
	const struct trace *trace = session->trace;

	*out = (struct span){.first = NSTIME_MAX, .last = NSTIME_MIN};
	for (size_t i = 0; i < trace->nstreams; i++)
		if (trace->streams[i]->has_time && is_of(trace, trace->streams[i], path) &&
		    !add_stream(session, trace->streams[i], out))
			return false;
	return out->first <= out->last;
}

static void add_seconds(nstime t, struct buf *out)
{
	char text[TIME_TEXT_MAX];
	struct times times;

	times_init(&times, TIME_SECONDS, true, false, NSTIME_MIN, NSTIME_MIN);
	buf_add(out, text, (size_t)(time_put(&times, t, text) - text));
}

static void note(struct session *session, const char *path, const struct span *first,
		 const struct span *other)
{
	struct buf text = {0};
	nstime offset;

	buf_printf(&text, "--with %s: it has no time in common with %s: ", path, session->path);
	add_seconds(other->first, &text);
	buf_add_text(&text, " s to ");
	add_seconds(other->last, &text);
	buf_add_text(&text, " s, and ");
	add_seconds(first->first, &text);
	buf_add_text(&text, " s to ");
	add_seconds(first->last, &text);
	buf_add_text(&text, first->epoch != other->epoch
				    ? " s, of which one counts from the Unix epoch and the other "
				      "does not"
				    : " s");
	if (!__builtin_sub_overflow(first->first, other->first, &offset)) {
		buf_printf(&text, "; to let them begin together: --offset %s=%s", path,
			   offset < 0 ? "-" : "+");
		add_seconds(offset < 0 ? -offset : offset, &text);
		buf_add_text(&text, "s");
	}
	session_note(session, "%s", buf_text(&text));
	buf_release(&text);
}

static bool same_clock(const struct span *a, const struct span *b)
{
	return a->of && b->of && !memcmp(a->of->uuid, b->of->uuid, sizeof a->of->uuid);
}

void overlap_note(struct session *session)
{
	const struct words *with = &session->options->with;
	struct span first, other;

	if (!with->count || session->options->quiet || !find_span(session, session->path, &first))
		return;
	for (size_t i = 0; i < with->count; i++)
		if (find_span(session, with->items[i], &other) && !same_clock(&first, &other) &&
		    (other.first > first.last || other.last < first.first))
			note(session, with->items[i], &first, &other);
}
