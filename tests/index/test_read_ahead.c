/*
 * test_read_ahead.c - what a helper reads ahead is what the cursor gives
 *
 * The oracle is the cursor itself, without a helper: one line for each event and loss, with its
 * values, and what was said meanwhile.
 */
#include "tests/harness.h"

#include "index/cursor/read_ahead.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "tests/index/scene.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { SEEDS = 60 };

/* ---- a line for each ---- */

static void put_entry(const struct trace *trace, const struct run *run, uint32_t i, struct buf *out)
{
	struct fields fields;
	struct event event;
	struct error err;

	run_event(trace, run, i, &event);
	assert_true(run->reader->decoder_fields(run->decoder, run->batch, i, &fields, &err));
	buf_printf(out, "%lld %s %u cpu %d at %u %llu %u %llu, %llu\n", (long long)event.time,
		   event.stream->name, event.class->index, event.cpu, event.position.source,
		   (unsigned long long)event.position.offset, event.position.index,
		   (unsigned long long)event.position.at, (unsigned long long)fields.slots[0].u);
}

static void put_run(const struct trace *trace, const struct run *run, struct buf *out)
{
	if (!run->count)
		buf_printf(out, "%lld lost %llu of %s until %lld\n", (long long)run->loss.time,
			   (unsigned long long)run->loss.lost, run->loss.stream->name,
			   (long long)run->loss.until);
	for (uint32_t i = 0; i < run->count; i++)
		put_entry(trace, run, run->first + i, out);
}

struct end {
	enum step step;
	enum error_kind kind;
	unsigned damages;
};

static struct end read_plainly(struct scene *scene, const struct events_options *options,
			       struct buf *out)
{
	struct events *events;
	struct run run;
	struct error err = {0};
	struct end end;

	scene->damages = 0;
	assert_true(events_open(scene->index, options, &events, &err));
	while ((end.step = events_next_run(events, &run, &err)) == STEP_ITEM)
		put_run(scene->trace, &run, out);
	events_close(events);
	end.kind = end.step == STEP_ERROR ? err.kind : ERR_NONE;
	end.damages = scene->damages;
	return end;
}

/* ---- a helper with something else to do ---- */

struct other {
	struct duty duty;
	struct helper *helper;
	bool due;
	unsigned done;
};

static bool other_is_due(void *arg)
{
	return ((struct other *)arg)->due;
}

static void do_other(void *arg)
{
	struct other *other = arg;

	helper_unlock(other->helper);
	for (unsigned i = 0; i < 50; i++)
		sched_yield();
	helper_lock(other->helper);
	other->due = false;
	other->done++;
}

static void ask_other(struct other *other)
{
	helper_lock(other->helper);
	other->due = true;
	helper_changed(other->helper);
	helper_unlock(other->helper);
}

/* `busy`: every so many runs the helper is given something else to do, which comes first. */
static struct end read_helped(struct scene *scene, const struct events_options *options,
			      unsigned busy, struct buf *out)
{
	struct helper *helper = helper_new();
	struct other other = {.helper = helper};
	struct read_ahead *ahead;
	struct run run;
	struct error err = {0};
	struct end end;
	unsigned n = 0;

	assert_non_null(helper);
	other.duty = (struct duty){.due = other_is_due, .work = do_other, .arg = &other};
	helper_give(helper, &other.duty);
	scene->damages = 0;
	assert_true(read_ahead_open(scene->index, options, helper, &ahead, &err));
	while ((end.step = read_ahead_next_run(ahead, &run, &err)) == STEP_ITEM) {
		put_run(scene->trace, &run, out);
		if (busy && ++n % busy == 0)
			ask_other(&other);
	}
	read_ahead_close(ahead);
	helper_end(helper, &other.duty);
	helper_free(helper);
	end.kind = end.step == STEP_ERROR ? err.kind : ERR_NONE;
	end.damages = scene->damages;
	return end;
}

/* ---- tests ---- */

static void compare(struct scene *scene, const struct events_options *options)
{
	static const unsigned busy[] = {0, 1, 7, 300};
	struct buf expected = {0}, got = {0};
	struct end end = read_plainly(scene, options, &expected), other;

	for (size_t i = 0; i < COUNT(busy); i++) {
		buf_clear(&got);
		other = read_helped(scene, options, busy[i], &got);
		assert_int_equal(other.step, end.step);
		assert_int_equal(other.damages, end.damages);
		assert_int_equal(got.len, expected.len);
		assert_true(!got.len || !memcmp(got.data, expected.data, got.len));
	}
	buf_release(&expected);
	buf_release(&got);
}

static void gives_what_the_cursor_gives(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		uint64_t classes = seed % 3 ? UINT64_MAX : 0x55;
		struct events_options options = {.begin = NSTIME_MIN,
						 .end = NSTIME_MAX,
						 .losses = true,
						 .values = seed % 2,
						 .classes = &classes};
		struct scene *scene = scene_random(seed, &scene_shapes[seed % SCENE_SHAPES]);

		scene_open(scene);
		compare(scene, &options);
		options.begin = scene_random_time(scene);
		options.end = scene_random_time(scene);
		compare(scene, &options);
		scene_free(scene);
	}
}

/* More than all that is read ahead takes, and damage in the midst of it. */
static void long_ones_and_damaged_ones(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX, .losses = true};
	struct scene *scene = scene_tiled(3, 60, 700, 10, 0);

	(void)state;
	scene->packets[3].damage_after = 333;
	scene->packets[77].damage_after = 1;
	scene->packets[178].damage_after = 699;
	scene_open(scene);
	compare(scene, &options);
	scene_free(scene);
}

/* The owner looks into packets that the helper has read. */
static void bytes_are_counted_once(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX, .values = true};
	uint64_t read[2];

	(void)state;
	for (int helped = 0; helped < 2; helped++) {
		struct scene *scene = scene_tiled(3, 60, 700, 10, 0);
		struct buf got = {0};

		scene_open(scene);
		if (helped)
			read_helped(scene, &options, 0, &got);
		else
			read_plainly(scene, &options, &got);
		read[helped] = trace_bytes_read(scene->trace);
		buf_release(&got);
		scene_free(scene);
	}
	assert_int_equal(read[1], read[0]);
}

struct patience {
	unsigned left;
	pthread_t owner;
};

static bool be_patient(void *arg, nstime at, nstime first, nstime last)
{
	struct patience *patience = arg;

	(void)at;
	(void)first;
	(void)last;
	assert_true(pthread_equal(patience->owner, pthread_self()));
	return patience->left && patience->left--;
}

/* A caller that says stop gets what came before, nothing twice, and no other thread asks it. */
static void sdominant_when_it_is_told(void **state)
{
	struct scene *scene = scene_tiled(3, 60, 700, 10, 0);
	struct patience patience = {.left = UINT32_MAX, .owner = pthread_self()};
	struct events_options options = {.begin = NSTIME_MIN,
					 .end = NSTIME_MAX,
					 .progress = be_patient,
					 .progress_arg = &patience};
	struct buf expected = {0}, got = {0};

	(void)state;
	scene_open(scene);
	assert_int_equal(read_plainly(scene, &options, &expected).step, STEP_END);
	for (unsigned left = 0; left < 20; left++) {
		struct end end;

		buf_clear(&got);
		patience.left = left;
		end = read_helped(scene, &options, left % 3 * 100, &got);
		if (end.step == STEP_END)
			assert_int_equal(got.len, expected.len);
		else
			assert_int_equal(end.kind, ERR_INTERRUPTED);
		assert_true(end.step == STEP_ERROR || left);
		assert_in_range(got.len, 0, expected.len);
		assert_true(!got.len || !memcmp(got.data, expected.data, got.len));
	}
	buf_release(&expected);
	buf_release(&got);
	scene_free(scene);
}

/* Reading to the end is not required. */
static void may_be_closed_at_any_time(void **state)
{
	struct events_options options = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct scene *scene = scene_tiled(3, 60, 700, 10, 0);
	struct helper *helper = helper_new();

	(void)state;
	scene_open(scene);
	for (unsigned runs = 0; runs < 2000; runs = runs * 3 + 1) {
		struct read_ahead *ahead;
		struct run run;
		struct error err;

		assert_true(read_ahead_open(scene->index, &options, helper, &ahead, &err));
		for (unsigned i = 0; i < runs; i++)
			assert_int_equal(read_ahead_next_run(ahead, &run, &err), STEP_ITEM);
		read_ahead_close(ahead);
	}
	helper_free(helper);
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_what_the_cursor_gives),
		cmocka_unit_test(long_ones_and_damaged_ones),
		cmocka_unit_test(bytes_are_counted_once),
		cmocka_unit_test(sdominant_when_it_is_told),
		cmocka_unit_test(may_be_closed_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
