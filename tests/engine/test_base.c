/* test_base.c - the rest of engine/base: cursors, arenas, searches, hash indexes, threads, inputs */
#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/cursor.h"
#include "engine/base/hash_index.h"
#include "engine/base/inputs.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "engine/base/thread_pool.h"
#include "engine/base/workers.h"

#include "tests/harness.h"
#include "fixtures/rng.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_cursor_past_the_end_stays_failed(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct cursor in = cursor_over(bytes, sizeof bytes);

	(void)state;
	assert_int_equal(cursor_u32le(&in), 0x04030201);
	assert_int_equal(cursor_u32be(&in), 0x05060708);
	assert_int_equal(cursor_u16be(&in), 0);
	assert_true(in.failed);
	assert_int_equal(cursor_u8(&in), 0);
	assert_null(cursor_bytes(&in, 0));
}

static void a_count_that_would_overflow_is_refused(void **state)
{
	static const uint8_t bytes[4];
	struct cursor in = cursor_over(bytes, sizeof bytes);

	(void)state;
	cursor_u8(&in);
	assert_null(cursor_bytes(&in, SIZE_MAX));
	assert_true(in.failed);
}

static void arena_memory_is_zero_and_aligned(void **state)
{
	struct arena *arena = arena_new();

	(void)state;
	for (size_t size = 1; size < 40000; size = size * 3 + 1) {
		uint8_t *memory = arena_alloc(arena, size);
		assert_int_equal((uintptr_t)memory % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(memory[i], 0);
		memset(memory, 0xff, size);
	}
	arena_reset(arena);
	assert_int_equal(arena_used(arena), 0);
	assert_string_equal(arena_printf(arena, "%d-%s", 7, "x"), "7-x");
	arena_free(arena);
}

/* Among 0, 2, 4 ... from every place on. */
static void a_search_finds_what_a_walk_finds(void **state)
{
	uint32_t numbers[40];

	(void)state;
	for (uint32_t i = 0; i < COUNT(numbers); i++)
		numbers[i] = 2 * i;
	for (uint32_t count = 0; count <= COUNT(numbers); count++)
		for (uint32_t from = 0; from <= count; from++)
			for (uint32_t wanted = 0; wanted < 2 * COUNT(numbers) + 2; wanted++) {
				uint32_t walk = from;
				while (walk < count && numbers[walk] < wanted)
					walk++;
				assert_int_equal(search_first(i, from, count, numbers[i] < wanted),
						 walk);
			}
	/* no sum of two places may wrap */
	const uint64_t end = UINT64_MAX, last = UINT64_MAX - 3;
	assert_true(search_first(i, UINT64_C(1) << 63, end, i <= last) == last + 1);
	assert_int_equal(search_first(i, 7, (size_t)3, true), 7);
}

/* ---- threads ---- */

struct shared_work {
	struct workers workers;
	_Atomic unsigned runs[8];
	_Atomic unsigned ticks;
	unsigned failing; /* workers from there on fail */
	bool masked;
};

static void run_one(void *arg, unsigned i)
{
	struct shared_work *work = arg;
	struct error err;
	sigset_t mask;

	work->runs[i]++;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	pthread_mutex_lock(&work->workers.lock);
	work->masked = work->masked && sigismember(&mask, SIGINT) && !sigismember(&mask, SIGBUS);
	pthread_mutex_unlock(&work->workers.lock);
	if (i >= work->failing) {
		error_set(&err, ERR_IO, "failed");
		workers_fail(&work->workers, &err);
	}
}

static void count_tick(void *arg)
{
	((struct shared_work *)arg)->ticks++;
}

static void an_index_finds_what_a_walk_finds(void **state)
{
	struct hash_index index = {0};
	struct rng seed = {5};
	uint64_t keys[2000];
	size_t count = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		/* few keys that are alike in their low bits, and often the same hash */
		uint64_t key = (rng_next(&seed) % 1500) << 40, hash = hash_number(key) & 0x3ff;
		uint32_t walked = HASH_INDEX_NONE;

		for (size_t k = 0; k < count; k++)
			walked = keys[k] == key ? (uint32_t)k : walked;
		assert_int_equal(hash_index_find(&index, hash, k, keys[k] == key), walked);
		if (walked == HASH_INDEX_NONE) {
			keys[count] = key;
			assert_int_equal(hash_index_add(&index, hash, count), count);
			count++;
		}
	}
	assert_true(count > 1000);
	hash_index_clear(&index);
	assert_int_equal(hash_index_find(&index, hash_number(keys[0]), k, true), HASH_INDEX_NONE);
	hash_index_release(&index);
}

/* Keys come and go, and stand in runs that go around the table's end. */
static void an_index_forgets_what_is_removed(void **state)
{
	enum { KEYS = 100 };
	struct hash_index index = {0};
	struct rng seed = {6};
	bool there[KEYS] = {false};

	(void)state;
	for (int i = 0; i < 20000; i++) {
		size_t key = rng_next(&seed) % KEYS;
		uint64_t hash = key % 7 * 37; /* the table has 64 to 256 slots */

		if (there[key])
			hash_index_remove(&index, hash, key);
		else
			hash_index_add(&index, hash, key);
		there[key] = !there[key];
		for (size_t n = 0; n < KEYS; n++) {
			uint32_t found = hash_index_find(&index, n % 7 * 37, k, k == n);

			assert_int_equal(found, there[n] ? n : HASH_INDEX_NONE);
		}
	}
	hash_index_release(&index);
}

/* So many slots that they go from memory to a file, where there is one. */
static void an_index_grows_into_a_file(void **state)
{
	enum { MANY = 700000 };
	struct hash_index index = {.paged = true};

	(void)state;
	for (uint64_t i = 0; i < MANY; i++)
		hash_index_add(&index, hash_number(i * i), i);
	assert_true(index.memory.file != 0);
	for (uint64_t i = 0; i < MANY; i++)
		assert_int_equal(hash_index_find(&index, hash_number(i * i), k, k == i), i);
	assert_int_equal(hash_index_find(&index, hash_number(7), k, k == 7), HASH_INDEX_NONE);
	hash_index_release(&index);
	assert_null(index.slots);
}

static void workers_run_once_each_and_tell_the_first_failure(void **state)
{
	(void)state;
	for (unsigned failing = 0; failing <= 8; failing++) {
		struct shared_work work = {.failing = failing, .masked = true};
		struct error err;

		workers_init(&work.workers);
		assert_int_equal(workers_start(&work.workers, 8, run_one, &work), 8);
		workers_watch(&work.workers, 1000, count_tick, &work);
		assert_int_equal(workers_end(&work.workers, &err), failing == 8);
		if (failing < 8)
			assert_string_equal(err.text, "failed");
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(work.runs[i], 1);
		assert_true(work.masked);
	}
}

struct in_order {
	unsigned next;
	bool ordered;
};

static struct in_order in_order;

static void take_turn(void *arg)
{
	in_order.ordered = in_order.ordered && *(unsigned *)arg == in_order.next++;
}

static void a_pool_does_all_work_in_its_order(void **state)
{
	struct thread_pool *pool = thread_pool_new(1, 3);
	unsigned turns[50];

	(void)state;
	in_order = (struct in_order){.ordered = true};
	for (unsigned i = 0; i < COUNT(turns); i++) {
		turns[i] = i;
		thread_pool_add(pool, take_turn, &turns[i]);
	}
	thread_pool_wait(pool);
	assert_true(in_order.ordered);
	assert_int_equal(in_order.next, COUNT(turns));
	thread_pool_free(pool);
	unsigned alone = COUNT(turns);
	thread_pool_add(NULL, take_turn, &alone);
	thread_pool_wait(NULL);
	thread_pool_free(NULL);
	assert_int_equal(in_order.next, COUNT(turns) + 1);
}

static void add_text(void *arg, enum notice_kind kind, const char *text)
{
	buf_printf(arg, "%d %s\n", (int)kind, text);
}

static void notices_are_kept_and_given_later(void **state)
{
	(void)state;
	struct buf said = {0};
	const struct notices to = {.say = add_text, .arg = &said, .debug = DEBUG_CURSOR};
	struct kept_notices kept = {0};

	assert_null(notices_keep(&kept));
	notice(&to, NOTICE_WARNING, "one %d", 1);
	notice(&to, NOTICE_DAMAGE, "100%% of it");
	debug_note(&to, DEBUG_CURSOR, "at once");
	assert_ptr_equal(notices_keep(NULL), &kept);
	assert_int_equal(kept.count, 2);
	assert_string_equal(buf_text(&said), "3 at once\n");
	notice(&to, NOTICE_INFO, "behind them");
	notices_tell(&kept);
	assert_string_equal(buf_text(&said), "3 at once\n0 behind them\n1 one 1\n2 100% of it\n");
	notices_tell(&kept);
	assert_int_equal(kept.count, 0);
	buf_release(&said);
}

static void an_input_is_no_output_while_it_has_a_name(void **state)
{
	char path[] = "/tmp/yore-input-XXXXXX", unnamed[] = "/tmp/yore-input-XXXXXX", proc[32];
	int fd = mkstemp(path), gone = mkstemp(unnamed);
	struct error err;

	(void)state;
	assert_true(fd >= 0 && gone >= 0 && unlink(unnamed) == 0);
	snprintf(proc, sizeof proc, "/proc/self/fd/%d", gone);
	inputs_add_fd(fd);
	assert_true(inputs_spare(path, &err)); /* nothing is remembered yet */
	inputs_record();
	inputs_add_fd(fd);
	inputs_add_fd(gone); /* its inode may be that of an output soon */
	assert_false(inputs_spare(path, &err));
	assert_int_equal(err.kind, ERR_QUERY);
	assert_true(inputs_spare(proc, &err));
	inputs_record();
	assert_true(inputs_spare(path, &err));
	unlink(path);
	close(fd);
	close(gone);
}

/* Grows an array where there is no memory for half as much again; the exit status: 0 is right. */
static void grow_near_the_limit(void)
{
	enum { MEGABYTES = 64, LEFT = 16 };
	size_t count = 0, had;
	char *array = mem_reach(NULL, (MEGABYTES << 20) / 3 * 2, &count, 1);
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	had = count;
	array[had - 1] = 7;
	if (!file || fscanf(file, "%ld", &pages) != 1)
		_exit(2);
	fclose(file);
	const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)LEFT << 20);
	if (setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) != 0)
		_exit(3);
	array = mem_reach(array, had, &count, 1);
	_exit(count <= had || count > had + had / 4 || array[had - 1] != 7 || array[count - 1]);
}

static void an_array_grows_by_less_where_memory_ends(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* its own memory is of the address space, too */
#endif
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		grow_near_the_limit();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cursor_past_the_end_stays_failed),
		cmocka_unit_test(a_count_that_would_overflow_is_refused),
		cmocka_unit_test(arena_memory_is_zero_and_aligned),
		cmocka_unit_test(a_search_finds_what_a_walk_finds),
		cmocka_unit_test(an_index_finds_what_a_walk_finds),
		cmocka_unit_test(an_index_forgets_what_is_removed),
		cmocka_unit_test(an_index_grows_into_a_file),
		cmocka_unit_test(an_array_grows_by_less_where_memory_ends),
		cmocka_unit_test(workers_run_once_each_and_tell_the_first_failure),
		cmocka_unit_test(a_pool_does_all_work_in_its_order),
		cmocka_unit_test(notices_are_kept_and_given_later),
		cmocka_unit_test(an_input_is_no_output_while_it_has_a_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
