/*
 * picture_axis.c - round times for the axis of a picture
 *
 * A step is the least of 1, 2, 5, 10 ... ns, later of seconds, minutes and hours, whose texts fit
 * between two ticks. Texts have as many decimals as the step needs.
 */
#include "repl/pictures/picture_draw.h"

#include "engine/base/search.h"

#include <string.h>

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

enum { GAP = 2 };

/* The next round step after `step`; 0: there is none. */
static nstime next_step(nstime step)
{
	static const nstime coarse[] = {
		SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
		MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
		HOUR,   2 * HOUR,   6 * HOUR,   12 * HOUR,   24 * HOUR};
	nstime unit = 1;

	if (step < SECOND) {
		while (unit * 10 <= step)
			unit *= 10;
		return step < 2 * unit ? 2 * unit : step < 5 * unit ? 5 * unit : 10 * unit;
	}
	for (size_t i = 0; i < sizeof coarse / sizeof *coarse; i++)
		if (coarse[i] > step)
			return coarse[i];
	return step <= INT64_MAX / 2 ? step * 2 : 0;
}

/* Decimals of a second that a multiple of the step can have. */
static unsigned decimals(nstime step)
{
	unsigned count = 9;

	for (nstime unit = 10; count && step % unit == 0; unit *= 10)
		count--;
	return count;
}

static void tick_text(struct times *times, struct picture_tick *tick)
{
	char *end = time_put(times, tick->t, tick->text), *dot;
	unsigned keep = decimals(tick->step);

	*end = 0;
	dot = strrchr(tick->text, '.');
	if (dot && (size_t)(end - dot) > keep + (keep ? 1 : 0)) {
		char *tail = dot + 1 + strspn(dot + 1, "0123456789");
		char *cut = keep ? dot + 1 + keep : dot;
		if (cut < tail)
			memmove(cut, tail, strlen(tail) + 1);
	}
}

/* The last that begins at t or before. */
static uint32_t column_at(const struct picture *picture, nstime t)
{
	uint32_t low = search_first(i, 0, picture->columns, picture_time(picture, i) <= t);

	return low ? low - 1 : 0;
}

/* Round times count from where the shown ones do. */
static nstime origin_of(const struct times *times)
{
	return times->style == TIME_RELATIVE ? times->first : 0;
}

/* The first multiple of the step in the picture; false: none. */
static bool first_multiple(const struct picture *picture, const struct times *times, nstime step,
			   nstime *out)
{
	__int128 from = (__int128)picture->begin - origin_of(times);
	__int128 rest = from % step, t = from - rest;

	if (rest > 0)
		t += step;
	t += origin_of(times);
	if (t < picture->begin || t >= picture->end)
		return false;
	*out = (nstime)t;
	return true;
}

static bool fits(const struct picture *picture, struct times *times, nstime step)
{
	struct picture_tick tick = {.step = step};
	uint64_t span = (uint64_t)picture->end - (uint64_t)picture->begin;

	if (!first_multiple(picture, times, step, &tick.t))
		return true;
	tick_text(times, &tick);
	return (unsigned __int128)step * picture->columns / span >= strlen(tick.text) + 1 + GAP;
}

bool picture_first_tick(const struct picture *picture, struct times *times,
			struct picture_tick *out)
{
	nstime step = 1;

	while (step && !fits(picture, times, step))
		step = next_step(step);
	*out = (struct picture_tick){.step = step};
	if (!step || !first_multiple(picture, times, step, &out->t))
		return false;
	out->column = column_at(picture, out->t);
	tick_text(times, out);
	return true;
}

bool picture_next_tick(const struct picture *picture, struct times *times,
		       struct picture_tick *tick)
{
	if (__builtin_add_overflow(tick->t, tick->step, &tick->t) || tick->t >= picture->end)
		return false;
	tick->column = column_at(picture, tick->t);
	tick_text(times, tick);
	return true;
}
