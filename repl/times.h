/* times.h - times and spans of engine/timetext.h, written into a sink */
#ifndef REPL_TIMES_H
#define REPL_TIMES_H

#include "engine/timetext.h"
#include "repl/sink.h"

/* A time as text. TIME_CLOCK writes the date before it where the day changes. */
static inline void time_add(struct times *times, nstime t, struct sink *out)
{
	char *to = sink_room(out, TIME_TEXT_MAX);

	out->len += (size_t)(time_put(times, t, to) - to);
}

/* The same, appended to a buf. */
static inline void time_add_buf(struct times *times, nstime t, struct buf *out)
{
	char *end = time_put(times, t, buf_room(out, TIME_TEXT_MAX));

	*end = '\0';
	out->len = (size_t)(end - out->data);
}

/* A time, or "-" for NSTIME_MIN. */
static inline void time_add_any(struct times *times, nstime t, struct sink *out)
{
	if (t == NSTIME_MIN)
		sink_char(out, '-');
	else
		time_add(times, t, out);
}

/* A span between two such times; a plain number if times are ordinals of events. */
static inline void time_span_add(const struct times *times, __int128 span, struct sink *out)
{
	char *to = sink_room(out, TIME_TEXT_MAX);

	out->len += (size_t)(time_span_put(times, span, to) - to);
}

/* A span: 1.5 s, 20.125 us, with all digits that are not zero. */
static inline void span_add(__int128 span, struct sink *out)
{
	char *to = sink_room(out, TIME_TEXT_MAX);

	out->len += (size_t)(span_put(span, to) - to);
}

#endif
