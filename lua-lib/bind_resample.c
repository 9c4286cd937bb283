/*
 * bind_resample.c - how sure a mean is: the bootstrap
 *
 *     local mean, low, high, deviation = yore.resample(numbers, 0.001, 4000, 7)
 *
 * As many numbers as there are are drawn with replacement and their mean is taken, `rounds` times.
 * `low` and `high` leave out the given part of these means, half of it on each side; `deviation` is
 * their standard deviation. The same seed gives the same result.
 */
#include "lua-lib/bind.h"

#include <math.h>
#include <stdlib.h>

enum { NUMBERS_MAX = 1 << 20, ROUNDS_MAX = 1 << 20 };

/* splitmix64 */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static double drawn_mean(const double *numbers, size_t count, uint64_t *state)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += numbers[(random_next(state) >> 32) * count >> 32];
	return sum / (double)count;
}

static double mean_of(const double *numbers, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += numbers[i];
	return sum / (double)count;
}

static double deviation_of(const double *numbers, size_t count)
{
	double mean = mean_of(numbers, count), squares = 0;

	for (size_t i = 0; i < count; i++)
		squares += (numbers[i] - mean) * (numbers[i] - mean);
	return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The list at index 1 in memory of a userdata, which is pushed. */
static double *push_numbers(lua_State *L, size_t *count)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	*count = (size_t)lua_rawlen(L, 1);
	luaL_argcheck(L, *count > 0 && *count <= NUMBERS_MAX, 1, "a list of numbers is expected");
	double *numbers = lua_newuserdatauv(L, *count * sizeof *numbers, 0);
	for (size_t i = 0; i < *count; i++) {
		lua_rawgeti(L, 1, (lua_Integer)i + 1);
		numbers[i] = luaL_checknumber(L, -1);
		lua_pop(L, 1);
	}
	return numbers;
}

/* yore.resample(numbers, left_out, rounds, seed): mean, low, high, deviation */
static int resample(lua_State *L)
{
	double left_out = luaL_checknumber(L, 2);
	lua_Integer rounds = luaL_checkinteger(L, 3);
	uint64_t state = (uint64_t)luaL_checkinteger(L, 4);
	size_t count;

	luaL_argcheck(L, left_out >= 0 && left_out < 1, 2, "a part of one is expected");
	luaL_argcheck(L, rounds > 0 && rounds <= ROUNDS_MAX, 3, "too few or too many");
	double *numbers = push_numbers(L, &count);
	double *means = lua_newuserdatauv(L, (size_t)rounds * sizeof *means, 0);
	for (lua_Integer i = 0; i < rounds; i++)
		means[i] = drawn_mean(numbers, count, &state);
	qsort(means, (size_t)rounds, sizeof *means, by_size);
	lua_Integer cut = (lua_Integer)floor(left_out / 2 * (double)rounds);
	lua_pushnumber(L, mean_of(numbers, count));
	lua_pushnumber(L, means[cut]);
	lua_pushnumber(L, means[rounds - 1 - cut]);
	lua_pushnumber(L, deviation_of(means, (size_t)rounds));
	return 4;
}

void bind_resample_register(lua_State *L)
{
	lua_pushcfunction(L, resample);
	lua_setfield(L, -2, "resample");
}
