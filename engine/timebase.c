/* timebase.c - the one place that converts cycles to nanoseconds: in 128 bits, without doubles */
#include "engine/timebase.h"

#include "engine/base/search.h"

#include <inttypes.h>
#include <string.h>

static const __int128 NS_PER_S = 1000000000;

static __int128 floor_div(__int128 a, __int128 b)
{
	return a / b - (a % b < 0);
}

static __int128 to_ns(const struct timebase *tb, uint64_t cycles)
{
	__int128 total = (__int128)cycles + tb->offset_cycles;
	__int128 whole = floor_div(total, tb->frequency);
	__int128 rest = total - whole * tb->frequency;

	return (tb->offset_s + whole) * NS_PER_S + rest * NS_PER_S / tb->frequency;
}

bool timebase_to_ns(const struct timebase *tb, uint64_t cycles, nstime *out, struct error *err)
{
	__int128 ns = to_ns(tb, cycles);

	if (ns <= NSTIME_MIN || ns >= NSTIME_MAX)
		return error_set(err, ERR_RANGE, "%" PRIu64 " cycles do not fit in nanoseconds",
				 cycles);
	*out = (nstime)ns;
	return true;
}

nstime timebase_to_ns_clamped(const struct timebase *tb, uint64_t cycles)
{
	return nstime_clamp(to_ns(tb, cycles));
}

bool timebase_is_plain(const struct timebase *tb, nstime *out)
{
	__int128 zero = (__int128)tb->offset_s * NS_PER_S + tb->offset_cycles;

	if (tb->frequency != 1000000000 || zero < -(INT64_C(1) << 61) || zero > INT64_C(1) << 61)
		return false;
	*out = (nstime)zero;
	return true;
}

void nstime_to_key(nstime t, uint8_t key[8])
{
	uint64_t biased = (uint64_t)t ^ UINT64_C(1) << 63;

	for (int i = 7; i >= 0; i--, biased >>= 8)
		key[i] = (uint8_t)biased;
}

static nstime time_at(const void *item)
{
	nstime at;

	memcpy(&at, item, sizeof at);
	return at;
}

size_t nstime_last(const void *items, size_t count, size_t size, nstime t)
{
	const char *first = items;

	return search_first(i, 1, count, time_at(first + i * size) <= t) - 1;
}
