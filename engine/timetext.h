/*
 * timetext.h - times as people write and read them; exact decimal text, never a double
 *
 *     12:03:04.123456789          on the trace's first day; hours since the origin without an epoch
 *     2024-05-01T12:03:04.5[Z]    ISO 8601, also with a blank, a zone +02:00, or no time
 *     1714564984.123456789        seconds since the clock's origin
 *     @1714564984123456789        nanoseconds since it
 *     +1.5s  +300ms  +20us        after the trace's first event;  -200ms  before its last
 */
#ifndef ENGINE_TIMETEXT_H
#define ENGINE_TIMETEXT_H

#include "engine/base/digits.h"
#include "engine/timebase.h"

#include <stdbool.h>

enum time_style {
	TIME_CLOCK,
	TIME_ISO,
	TIME_SECONDS,
	TIME_NS,
	TIME_RELATIVE,
	TIME_ORDINAL /* there is no clock: numbers of events */
};

/* What a parsed time counts from; time_resolve() needs the trace to make it a time. */
enum time_from { FROM_ORIGIN, FROM_DAY, FROM_DATE, FROM_START, FROM_END };

struct time_word {
	enum time_from from;
	nstime ns;  /* since `from`; FROM_DATE: as if the zone were UTC */
	bool zoned; /* FROM_DATE: the word names its zone, and `ns` is UTC */
};

/* True for words that begin with '-' and are times, not options: -200ms, -1. */
bool time_looks_negative(const char *word);
MUST_CHECK bool time_parse(const char *text, struct time_word *out, struct error *err);
/* Parses an ordinal (in a trace without a clock): N, @N, +N from the first, -N from the last. */
MUST_CHECK bool ordinal_parse(const char *text, struct time_word *out, struct error *err);
/* True when time_resolve() needs the first and last event's time. */
bool time_needs_bounds(const struct time_word *word);

/* How times are read and shown, with caches for time_put(). */
struct times {
	enum time_style style;
	bool utc;           /* else the local zone */
	bool epoch;         /* times count from the Unix epoch, so that they have dates and zones */
	nstime first, last; /* of the trace */
	/* caches of time_put(): the day last shown, the zone's offset, the text of the second */
	int64_t day; /* days since the origin, local; INT64_MIN nothing shown yet */
	int64_t zone_from, zone_until; /* seconds for which `zone` is right */
	int64_t zone;                  /* seconds to add to UTC */
	int64_t second;                /* the second that `text` shows; INT64_MIN none */
	char text[40];
	uint8_t ntext;
	/* times in [begin, begin + nanos) are `text` and nine digits; nanos 0: no time is */
	nstime begin;
	uint32_t nanos;
};

void times_init(struct times *times, enum time_style style, bool utc, bool epoch, nstime first,
		nstime last);
MUST_CHECK bool time_resolve(const struct time_word *word, struct times *times, nstime *out,
			     struct error *err);
enum { TIME_TEXT_MAX = 64 };
/* Writes "@N", or "the begin" or "the end" for a time that no event can have. Returns `text`. */
const char *time_raw(nstime t, char text[TIME_TEXT_MAX]);

char *time_put_any(struct times *times, nstime t, char *to); /* time_put() without the cache */

/*
 * Writes a time to `to`, at most TIME_TEXT_MAX bytes without a zero at the end, and returns its
 * end. TIME_CLOCK puts the date in front where the day changes.
 */
static inline char *time_put(struct times *times, nstime t, char *to)
{
	uint64_t nanos = (uint64_t)t - (uint64_t)times->begin;

	if (__builtin_expect(nanos >= times->nanos, 0))
		return time_put_any(times, t, to);
	memcpy(to, times->text, 32);
	return decimal_put_nanos(to + times->ntext, (uint32_t)nanos);
}
/* Writes a length of time, ns, exactly and without trailing zeros: 1.5 s, 20.125 us. */
char *span_put(__int128 span, char *to);
/* The same of a difference of two times; in a trace with ordinals, a plain number. */
char *time_span_put(const struct times *times, __int128 span, char *to);
/* Seconds that TIME_CLOCK and TIME_ISO add to a moment; 0 without a zone. */
int64_t time_zone(struct times *times, nstime t);

#endif
