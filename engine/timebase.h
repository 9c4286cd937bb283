/* timebase.h - cycles of a clock to nanoseconds, exactly */
#ifndef ENGINE_TIMEBASE_H
#define ENGINE_TIMEBASE_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Nanoseconds since the Unix epoch when the clock says so, else since the clock's origin.
 * Negative is legal. NSTIME_MIN and NSTIME_MAX mean "unbounded" and are never an event's time.
 */
typedef int64_t nstime;
#define NSTIME_MIN INT64_MIN
#define NSTIME_MAX INT64_MAX

/*
 * Nanoseconds from `begin` to `end`; 0 when `end` is before `begin`. Use it for all differences:
 * two times may be further apart than an nstime can hold.
 */
static inline uint64_t time_span(nstime begin, nstime end)
{
	return end > begin ? (uint64_t)end - (uint64_t)begin : 0;
}

/* t + by and t - by; an overflow gives NSTIME_MAX or NSTIME_MIN. */
static inline nstime time_later(nstime t, nstime by)
{
	return __builtin_add_overflow(t, by, &t) ? NSTIME_MAX : t;
}
static inline nstime time_earlier(nstime t, nstime by)
{
	return __builtin_sub_overflow(t, by, &t) ? NSTIME_MIN : t;
}

/* `ns`, or the nearest time that an event may have. */
static inline nstime nstime_clamp(__int128 ns)
{
	if (ns <= NSTIME_MIN)
		return NSTIME_MIN + 1;
	return ns >= NSTIME_MAX ? NSTIME_MAX - 1 : (nstime)ns;
}

struct timebase {
	uint64_t frequency; /* cycles per second, never 0 */
	int64_t offset_s;
	int64_t offset_cycles;
};

/* floor((offset_s * frequency + offset_cycles + cycles) * 1e9 / frequency); ERR_RANGE on misfit. */
MUST_CHECK bool timebase_to_ns(const struct timebase *tb, uint64_t cycles, nstime *out,
			       struct error *err);
/* As above, but clamped to NSTIME_MIN + 1 and NSTIME_MAX - 1: for times in packet headers. */
nstime timebase_to_ns_clamped(const struct timebase *tb, uint64_t cycles);
/* True when a cycle is one nanosecond and `cycles` up to 2^62 cannot overflow: then a time is
   `cycles + *out`. */
bool timebase_is_plain(const struct timebase *tb, nstime *out);
/* Encodes a time so that memcmp() of keys orders as the times do. */
void nstime_to_key(nstime t, uint8_t key[8]);
/*
 * Binary search in `count` elements of `size` bytes that begin with an nstime, by which they are
 * sorted: the index of the last one at or before t; 0 when there is none.
 */
size_t nstime_last(const void *items, size_t count, size_t size, nstime t);

#endif
