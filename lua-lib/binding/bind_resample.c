/*
 * bind_resample.c - bootstrap: confidence intervals of means; and maxima of rank sums by chance
 *
 *     local mean, low, high, deviation = yore.resample(numbers, 0.001, 4000, 7)
 *
 * Draws as many numbers as the list has, with replacement, and takes their mean; `rounds` (4000)
 * times. The given part (0.001) of these means lies outside of `low` and `high`, half of it on each
 * side; `deviation` is their standard deviation. The same seed (7) gives the same result.
 *
 *     local difference, low, high, deviation = yore.resample_runs(a, b, 0.001, 4000, 7)
 *
 * a and b are lists of runs; a run is a list of numbers. From each side as many runs are drawn as
 * it has, and from each drawn run as many numbers as it has. The mean of a side is that of the
 * means of its runs.
 *
 *     local maxima = yore.rank_maxima(500, 20000, 7)
 *
 * Puts the numbers 1 to 500 in random order, 20,000 times. For each order, finds the t for which
 * the sum of the first t numbers is farthest from its expected value, in standard deviations.
 * Returns the list of these distances, in rising order.
 */
#include "lua-lib/binding/bind.h"

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

/* Reads the list at index i, of argument `arg`, into an array, a userdata that is pushed. */
static double *push_numbers(lua_State *L, int i_list, int arg, size_t *count)
{
	luaL_argexpected(L, lua_istable(L, i_list), arg, "list of numbers");
	*count = (size_t)lua_rawlen(L, i_list);
	luaL_argcheck(L, *count > 0 && *count <= NUMBERS_MAX, arg, "a list of numbers is expected");
	double *numbers = lua_newuserdatauv(L, *count * sizeof *numbers, 0);
	for (size_t i = 0; i < *count; i++) {
		lua_rawgeti(L, i_list, (lua_Integer)i + 1);
		numbers[i] = luaL_checknumber(L, -1);
		lua_pop(L, 1);
	}
	return numbers;
}

/* The arguments behind the numbers. */
struct resample_options {
	double left_out;
	lua_Integer rounds;
	uint64_t state;
};

static struct resample_options read_request(lua_State *L, int i)
{
	struct resample_options request = {.left_out = luaL_checknumber(L, i),
					   .rounds = luaL_checkinteger(L, i + 1),
					   .state = (uint64_t)luaL_checkinteger(L, i + 2)};

	luaL_argcheck(L, request.left_out >= 0 && request.left_out < 1, i,
		      "a part of one is expected");
	luaL_argcheck(L, request.rounds > 0 && request.rounds <= ROUNDS_MAX, i + 1,
		      "too few or too many");
	return request;
}

/* Pushes mean, low, high and deviation; sorts `means`. */
static int push_bounds(lua_State *L, double mean, double *means,
		       const struct resample_options *request)
{
	size_t rounds = (size_t)request->rounds;
	size_t cut = (size_t)floor(request->left_out / 2 * (double)rounds);

	qsort(means, rounds, sizeof *means, by_size);
	lua_pushnumber(L, mean);
	lua_pushnumber(L, means[cut]);
	lua_pushnumber(L, means[rounds - 1 - cut]);
	lua_pushnumber(L, deviation_of(means, rounds));
	return 4;
}

/* yore.resample(numbers, left_out, rounds, seed): mean, low, high, deviation */
int bind_yore_resample(lua_State *L)
{
	struct resample_options request = read_request(L, 2);
	size_t count;
	double *numbers = push_numbers(L, 1, 1, &count);
	double *means = lua_newuserdatauv(L, (size_t)request.rounds * sizeof *means, 0);

	for (lua_Integer i = 0; i < request.rounds; i++)
		means[i] = drawn_mean(numbers, count, &request.state);
	return push_bounds(L, mean_of(numbers, count), means, &request);
}

struct number_lists {
	const double **numbers;
	size_t *counts, count;
};

/* Reads the runs of argument i; pushes a list of the userdata that hold them. */
static struct number_lists push_runs(lua_State *L, int i)
{
	struct number_lists runs;

	luaL_checktype(L, i, LUA_TTABLE);
	runs.count = (size_t)lua_rawlen(L, i);
	luaL_argcheck(L, runs.count > 0 && runs.count <= NUMBERS_MAX, i,
		      "a list of runs is expected");
	lua_createtable(L, (int)runs.count + 2, 0);
	runs.numbers = lua_newuserdatauv(L, runs.count * sizeof *runs.numbers, 0);
	lua_rawseti(L, -2, (lua_Integer)runs.count + 1);
	runs.counts = lua_newuserdatauv(L, runs.count * sizeof *runs.counts, 0);
	lua_rawseti(L, -2, (lua_Integer)runs.count + 2);
	for (size_t k = 0; k < runs.count; k++) {
		lua_rawgeti(L, i, (lua_Integer)k + 1);
		runs.numbers[k] = push_numbers(L, lua_gettop(L), i, &runs.counts[k]);
		lua_rawseti(L, -3, (lua_Integer)k + 1);
		lua_pop(L, 1);
	}
	return runs;
}

static double mean_of_runs(const struct number_lists *runs)
{
	double sum = 0;

	for (size_t i = 0; i < runs->count; i++)
		sum += mean_of(runs->numbers[i], runs->counts[i]);
	return sum / (double)runs->count;
}

static double drawn_mean_of_runs(const struct number_lists *runs, uint64_t *state)
{
	double sum = 0;

	for (size_t i = 0; i < runs->count; i++) {
		size_t one = (size_t)((random_next(state) >> 32) * runs->count >> 32);

		sum += drawn_mean(runs->numbers[one], runs->counts[one], state);
	}
	return sum / (double)runs->count;
}

/* yore.resample_runs(a, b, left_out, rounds, seed): difference of b and a, low, high, deviation */
int bind_yore_resample_runs(lua_State *L)
{
	struct resample_options request = read_request(L, 3);
	struct number_lists a = push_runs(L, 1), b = push_runs(L, 2);
	double *means = lua_newuserdatauv(L, (size_t)request.rounds * sizeof *means, 0);

	for (lua_Integer i = 0; i < request.rounds; i++) {
		double of_a = drawn_mean_of_runs(&a, &request.state);

		means[i] = drawn_mean_of_runs(&b, &request.state) - of_a;
	}
	return push_bounds(L, mean_of_runs(&b) - mean_of_runs(&a), means, &request);
}

/* The greatest standardized distance of a partial sum of a random order of 1..count from its
 * expected value; scale[t - 1] is for the first t numbers. */
static double random_maximum(double *numbers, const double *scale, size_t count, uint64_t *state)
{
	double middle = ((double)count + 1) / 2, sum = 0, most = 0;

	for (size_t t = 0; t + 1 < count; t++) {
		size_t other = t + (size_t)((random_next(state) >> 32) * (count - t) >> 32);
		double drawn = numbers[other];
		numbers[other] = numbers[t];
		numbers[t] = drawn;
		sum += drawn - middle;
		double off = fabs(sum) * scale[t];
		most = off > most ? off : most;
	}
	return most;
}

/* yore.rank_maxima(count, rounds, seed): see above */
int bind_yore_rank_maxima(lua_State *L)
{
	lua_Integer count = luaL_checkinteger(L, 1), rounds = luaL_checkinteger(L, 2);
	uint64_t state = (uint64_t)luaL_checkinteger(L, 3);

	luaL_argcheck(L, count > 1 && count <= NUMBERS_MAX, 1, "too few or too many");
	luaL_argcheck(L, rounds > 0 && rounds <= ROUNDS_MAX, 2, "too few or too many");
	double *numbers = lua_newuserdatauv(L, (size_t)count * sizeof *numbers, 0);
	double *scale = lua_newuserdatauv(L, (size_t)count * sizeof *scale, 0);
	double *maxima = lua_newuserdatauv(L, (size_t)rounds * sizeof *maxima, 0);

	for (lua_Integer i = 0; i < count; i++)
		numbers[i] = (double)(i + 1);
	for (lua_Integer t = 1; t < count; t++)
		scale[t - 1] = 1 / sqrt((double)(count + 1) / 12 * (double)t * (double)(count - t));
	for (lua_Integer k = 0; k < rounds; k++)
		maxima[k] = random_maximum(numbers, scale, (size_t)count, &state);
	qsort(maxima, (size_t)rounds, sizeof *maxima, by_size);
	lua_createtable(L, (int)rounds, 0);
	for (lua_Integer k = 0; k < rounds; k++) {
		lua_pushnumber(L, maxima[k]);
		lua_rawseti(L, -2, k + 1);
	}
	return 1;
}
