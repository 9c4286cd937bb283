/*
 * time.c - stamps of the ring buffer → ns, in the order of trace-cmd's timestamp_calc()
 *
 *     stamp ── guest to host (TIME_SHIFT) ── cycles to ns (TSC2NSEC) ── + DATE + OFFSET ── ns
 *
 * DATE + OFFSET is the clock's origin, which --offset may have moved. Products are exact:
 * trace-cmd's may wrap at 64 bits, these do not.
 */
#include "engine/ftrace/ftrace_internal.h"

#include "engine/base/search.h"

enum { FLAG_INTERPOLATE = 1 };

void stamp_clock_of(const struct stream *stream, struct stamp_clock *out)
{
	const struct ftrace_file *file = ftrace_own(stream)->file;
	const struct timebase zero = {.frequency = 1000000000};
	const struct timebase *base =
		stream->clock >= 0 ? &file->trace->clocks[stream->clock].base : &zero;

	*out = (struct stamp_clock){.mult = file->tsc_mult, .shift = file->tsc_shift};
	out->origin = (__int128)base->offset_s * 1000000000 + base->offset_cycles;
	if (stream->cpu >= 0 && (uint32_t)stream->cpu < file->shift.ncpus &&
	    file->shift.cpus[stream->cpu].count) {
		out->guest = &file->shift.cpus[stream->cpu];
		out->guest_flags = file->shift.flags;
	}
	out->plain = !out->mult && !out->guest && timebase_is_plain(base, &out->plain_origin);
}

/* Returns the index of the last sample not later than `stamp` that has a successor; at least 0. */
static uint32_t sample_for(const struct shift_cpu *cpu, uint64_t stamp)
{
	return search_first(i, 1, cpu->count - 1, cpu->samples[i].time <= stamp) - 1;
}

/* Clamps to ±2^120, far beyond all times, so that sums of a few such do not overflow. */
static __int128 bounded(__int128 value)
{
	const __int128 most = (__int128)1 << 120;

	return value > most ? most : value < -most ? -most : value;
}

static __int128 to_host(const struct stamp_clock *clock, uint64_t stamp)
{
	const struct shift_cpu *cpu = clock->guest;

	if (cpu->count == 1)
		return (__int128)stamp + cpu->samples[0].offset;
	const struct shift_sample *from = &cpu->samples[sample_for(cpu, stamp)], *to = from + 1;
	__int128 offset = from->offset;
	if (clock->guest_flags & FLAG_INTERPOLATE) {
		__int128 length = (__int128)to->time - from->time;
		__int128 rise = (__int128)to->offset - from->offset;
		__int128 into = (__int128)stamp - from->time, part;
		if (__builtin_mul_overflow(into, rise, &part))
			part = 0; /* 2^127 ns² away from its sample: not a time */
		offset += (bounded(part) + length / 2) / length;
	}
	return bounded((__int128)stamp * from->scaling >> from->fraction) + offset;
}

static __int128 convert(const struct stamp_clock *clock, uint64_t stamp)
{
	__int128 value = clock->guest ? to_host(clock, stamp) : (__int128)stamp;

	if (clock->mult && __builtin_mul_overflow(value, (__int128)clock->mult, &value))
		return value < 0 ? (__int128)NSTIME_MIN : (__int128)NSTIME_MAX;
	if (clock->mult)
		value >>= clock->shift;
	return value + clock->origin;
}

bool stamp_to_ns(const struct stamp_clock *clock, uint64_t stamp, nstime *out)
{
	__int128 ns = convert(clock, stamp);

	if (ns <= NSTIME_MIN || ns >= NSTIME_MAX)
		return false;
	*out = (nstime)ns;
	return true;
}

nstime stamp_to_ns_clamped(const struct stamp_clock *clock, uint64_t stamp)
{
	return nstime_clamp(convert(clock, stamp));
}
