/* Address spaces in time, against a naive replay of the same changes. */
#include "engine/symbols/symbols_internal.h"
#include "tests/harness.h"

#include <stdlib.h>
#include <string.h>

enum { PIDS = 6, PAGES = 24, STEPS = 400 };

struct step_of {
	enum map_event_kind kind;
	nstime t;
	int64_t pid, parent;
	uint64_t start, len;
};

/* What page of which map is at a page: by copying whole spaces, change by change. */
static void replay(const struct step_of *steps, size_t n, nstime t, int model[PIDS][PAGES])
{
	static bool old[PIDS][PAGES]; /* since the last exec */

	memset(old, 0, sizeof old);
	for (int p = 0; p < PIDS; p++)
		for (int i = 0; i < PAGES; i++)
			model[p][i] = -1;
	for (size_t s = 0; s < n && steps[s].t <= t; s++) {
		const struct step_of *step = &steps[s];
		if (step->kind == MAP_ADD)
			for (uint64_t i = 0; i < step->len; i++) {
				model[step->pid][step->start + i] = (int)(s * PAGES + i);
				old[step->pid][step->start + i] = false;
			}
		else if (step->kind == MAP_EXEC)
			for (int i = 0; i < PAGES; i++) {
				if (old[step->pid][i])
					model[step->pid][i] = -1;
				old[step->pid][i] = true;
			}
		else if (step->pid != step->parent) {
			memcpy(model[step->pid], model[step->parent], sizeof model[0]);
			memcpy(old[step->pid], old[step->parent], sizeof old[0]);
		}
	}
}

static void check_moment(struct spaces *spaces, const struct step_of *steps, nstime t)
{
	int model[PIDS][PAGES];
	const struct mapped_range *range;

	replay(steps, STEPS, t, model);
	for (int64_t p = 0; p < PIDS; p++)
		for (uint64_t page = 0; page < PAGES; page++) {
			range = spaces_find(spaces, t, p, page);
			assert_int_equal(range != NULL, model[p][page] >= 0);
			if (range)
				assert_int_equal(range->file_offset + (page - range->start),
						 model[p][page]);
		}
}

static void spaces_are_what_a_replay_says(void **state)
{
	struct step_of steps[STEPS];
	unsigned seed = 12345;
	nstime t = 0;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct spaces *spaces = spaces_new();
		t = 0;
		for (size_t s = 0; s < STEPS; s++) {
			struct step_of *step = &steps[s];
			int roll = rand_r(&seed) % 20;
			t += rand_r(&seed) % 3;
			step->t = t;
			step->kind = roll < 16 ? MAP_ADD : roll < 19 ? MAP_FORK : MAP_EXEC;
			step->pid = rand_r(&seed) % PIDS;
			step->parent = rand_r(&seed) % PIDS;
			step->start = (uint64_t)(rand_r(&seed) % PAGES);
			step->len = 1 + (uint64_t)(rand_r(&seed) % 8);
			if (step->len > PAGES - step->start)
				step->len = PAGES - step->start;
			if (step->kind == MAP_ADD)
				spaces_map(spaces, t, step->pid,
					   &(struct mapped_range){.start = step->start,
								  .end = step->start + step->len,
								  .file_offset = s * PAGES});
			else if (step->kind == MAP_FORK)
				spaces_fork(spaces, t, step->pid, step->parent);
			else
				spaces_exec(spaces, t, step->pid);
		}
		for (nstime at = -1; at <= t + 1; at += 7)
			check_moment(spaces, steps, at);
		for (int n = 0; n < 200; n++)
			check_moment(spaces, steps, rand_r(&seed) % (t + 2));
		spaces_free(spaces);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(spaces_are_what_a_replay_says),
	};

	return cmocka_run_group_tests_name("address spaces", tests, NULL, NULL);
}
