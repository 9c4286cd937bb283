/*
 * test_build.c - a stored index equals one scan, whatever happened while it was made
 *
 * Oracle: the table in memory that one scan of the finished files gives.
 */
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "index/tables/write.h"
#include "tests/harness.h"
#include "tests/index/world.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void a_build_equals_a_scan(void **state)
{
	struct world *world = *state;
	struct error err;

	world_write(world, PACKETS);
	struct trace *trace = fake_open(world->dir, NULL);
	struct index *index = world_index(world, trace, false, 500);
	assert_true(index_build(index, &err));
	assert_true(index_writable(index));
	index_close(index);
	uint64_t before = trace_bytes_read(trace);
	index = world_index(world, trace, false, STEP_RECORDS);
	struct table *table;
	assert_true(index_table(index, trace->streams[0], &table, &err));
	assert_true(trace_bytes_read(trace) - before < 1024); /* for its name alone */
	index_close(index);
	assert_true(world_stored_is_right(world, trace, false));
	assert_string_equal(world->said, "");
	trace_close(trace);
}

static void what_one_question_scanned_is_stored_at_close(void **state)
{
	struct world *world = *state;
	struct table *table;
	struct error err;

	world_write(world, 100);
	struct trace *trace = fake_open(world->dir, NULL);
	struct index *index = world_index(world, trace, false, STEP_RECORDS);
	assert_true(index_table(index, trace->streams[1], &table, &err));
	index_close(index);
	uint64_t before = trace_bytes_read(trace);
	index = world_index(world, trace, false, STEP_RECORDS);
	assert_true(index_table(index, trace->streams[1], &table, &err));
	assert_int_equal(table_count(table), 100);
	assert_true(trace_bytes_read(trace) - before < 1024);
	index_close(index);
	assert_true(world_stored_is_right(world, trace, true));
	trace_close(trace);
}

static void growth(struct world *world, bool open_last)
{
	size_t have[STREAMS] = {0};
	bool more = true;

	for (size_t s = 0; s < STREAMS; s++)
		world->streams[s].open_last = open_last;
	world_write(world, 0);
	while (more) {
		more = false;
		for (size_t s = 0; s < STREAMS; s++) {
			size_t n = rng_below(&world->rng, 600);
			if (n > PACKETS - have[s])
				n = PACKETS - have[s];
			fake_append(world->dir, &world->streams[s], world->packets[s] + have[s], n);
			have[s] += n;
			more |= have[s] < PACKETS;
		}
		struct trace *trace = fake_open(world->dir, NULL);
		assert_true(world_stored_is_right(world, trace, rng_once_in(&world->rng, 2)));
		trace_close(trace);
	}
	assert_string_equal(world->said, "");
}

static void share(struct world *world, bool spill)
{
	for (size_t s = 0; s < STREAMS; s++) {
		world->streams[s].shared = true;
		world->streams[s].spill = spill;
	}
}

/* Streams of one file: each has its own records of it. */
static void growth_of_a_shared_file_equals_one_scan(void **state)
{
	share(*state, false);
	growth(*state, false);
}

static void growth_of_a_shared_file_with_open_packets_equals_one_scan(void **state)
{
	share(*state, false);
	growth(*state, true);
}

/* Nothing on disk has the name of a decompressed copy: its bytes tell that it is the same. */
static void growth_of_a_copy_equals_one_scan(void **state)
{
	share(*state, true);
	growth(*state, true);
}

static void a_build_of_a_copy_is_found_again(void **state)
{
	struct world *world = *state;
	struct error err;
	struct table *table;

	share(world, true);
	world_write(world, 200);
	struct trace *trace = fake_open(world->dir, NULL);
	struct index *index = world_index(world, trace, false, 50);
	assert_true(index_build(index, &err));
	index_close(index);
	trace_close(trace);
	trace = fake_open(world->dir, NULL);
	uint64_t before = trace_bytes_read(trace);
	index = world_index(world, trace, false, STEP_RECORDS);
	for (size_t s = 0; s < STREAMS; s++) {
		assert_true(index_table(index, trace->streams[s], &table, &err));
		assert_int_equal(table_count(table), 200);
	}
	/* hashes of heads and last records; a scan looks at 128 bytes of 600 packets */
	assert_true(trace_bytes_read(trace) - before < 600 * 128 / 2);
	index_close(index);
	assert_true(world_stored_is_right(world, trace, false));
	assert_string_equal(world->said, "");
	trace_close(trace);
}

static void growth_equals_one_scan(void **state)
{
	growth(*state, false);
}

static void growth_with_open_packets_equals_one_scan(void **state)
{
	growth(*state, true);
}

/* The file grew after this trace was opened, and another index knows it: not "changed". */
static void an_index_that_is_ahead_is_left_alone(void **state)
{
	struct world *world = *state;
	struct error err;

	world_write(world, 100);
	struct trace *old = fake_open(world->dir, NULL);
	for (size_t s = 0; s < STREAMS; s++)
		fake_append(world->dir, &world->streams[s], world->packets[s] + 100, 50);
	struct trace *trace = fake_open(world->dir, NULL);
	struct index *index = world_index(world, trace, false, STEP_RECORDS);
	assert_true(index_build(index, &err));
	index_close(index);
	struct index *oracle = world_index(world, old, true, STEP_RECORDS);
	index = world_index(world, old, false, STEP_RECORDS);
	assert_true(world_tables_equal(oracle, index));
	index_close(index);
	index_close(oracle);
	assert_true(world_stored_is_right(world, trace, false));
	assert_string_equal(world->said, "");
	trace_close(trace);
	trace_close(old);
}

static bool slowly(void *arg, uint64_t done, uint64_t all)
{
	(void)arg;
	return done <= all;
}

static void build_in_child(struct world *world)
{
	struct error err;
	struct trace *trace = fake_open(world->dir, NULL);
	struct index *index = world_index(world, trace, false, 40);

	index->options.progress = slowly;
	_exit(!index_build(index, &err));
}

static void killed_at_any_instant(void **state)
{
	struct world *world = *state;
	unsigned killed = 0;

	world_write(world, 1500);
	for (int round = 0; round < 50; round++) {
		pid_t child = fork();
		int status;
		if (child == 0)
			build_in_child(world);
		struct timespec nap = {0, (long)rng_below(&world->rng, 60000000)};
		nanosleep(&nap, NULL);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		killed += WIFSIGNALED(status);
		struct trace *trace = fake_open(world->dir, NULL);
		struct index_options options = {.dir = world->cache};
		struct error err;
		/* of every third, what the killed one left is gone on with by the next child */
		if (round % 3) {
			if (!world_stored_is_right(world, trace, round % 2))
				fail_msg("round %d: %s", round, world->said);
			assert_true(index_drop(trace, &options, &err));
		}
		trace_close(trace);
	}
	assert_true(killed > 10);
	assert_string_equal(world->said, "");
}

static void two_processes_at_once(void **state)
{
	struct world *world = *state;

	world_write(world, PACKETS);
	for (int round = 0; round < 5; round++) {
		pid_t children[3];
		for (size_t i = 0; i < COUNT(children); i++) {
			children[i] = fork();
			if (children[i] != 0)
				continue;
			struct trace *trace = fake_open(world->dir, NULL);
			struct index *oracle = world_index(world, trace, true, STEP_RECORDS);
			struct index *index = world_index(world, trace, false, 200);
			struct error err;
			bool good = index_build(index, &err) && world_tables_equal(oracle, index);
			index_close(index);
			_exit(!good);
		}
		for (size_t i = 0; i < COUNT(children); i++) {
			int status;
			waitpid(children[i], &status, 0);
			assert_int_equal(status, 0);
		}
		struct trace *trace = fake_open(world->dir, NULL);
		struct index_options options = {.dir = world->cache};
		struct error err;
		assert_true(world_stored_is_right(world, trace, false));
		assert_true(index_drop(trace, &options, &err));
		trace_close(trace);
	}
}

static void overwrite(const struct world *world, const char *name, off_t at, const char *bytes)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", world->dir, name);
	int fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, strlen(bytes), at), strlen(bytes));
	close(fd);
}

static void a_changed_file_is_said_and_indexed_anew(void **state)
{
	struct world *world = *state;

	world_write(world, 200);
	struct trace *trace = fake_open(world->dir, NULL);
	assert_true(world_stored_is_right(world, trace, true));
	trace_close(trace);
	/* max of packet 0 of stream 2: inside the head that is hashed */
	overwrite(world, "2.0", 64 + 16, "\x7f\x01");
	trace = fake_open(world->dir, NULL);
	assert_true(world_stored_is_right(world, trace, true));
	const char *said = strstr(world->said, ": the trace has changed since it was indexed");
	assert_non_null(said);
	assert_null(strstr(strchr(said, '\n'), "has changed")); /* once, however many streams did */
	*world->said = 0;
	assert_true(world_stored_is_right(world, trace, false));
	assert_string_equal(world->said, "");
	trace_close(trace);
}

static void a_shorter_file_is_said_and_indexed_anew(void **state)
{
	struct world *world = *state;
	char path[4096];

	world_write(world, 200);
	struct trace *trace = fake_open(world->dir, NULL);
	assert_true(world_stored_is_right(world, trace, true));
	trace_close(trace);
	snprintf(path, sizeof path, "%s/1.0", world->dir);
	assert_int_equal(truncate(path, 10000), 0);
	trace = fake_open(world->dir, NULL);
	assert_true(world_stored_is_right(world, trace, false));
	assert_non_null(strstr(world->said, ": the trace has changed since it was indexed"));
	trace_close(trace);
}

/* Neither the head nor a block of the digest is touched, and the time of change is set back. */
static void packets_that_change_places_are_found_there(void **state)
{
	struct world *world = *state;
	char path[4096];
	uint8_t a[400], b[400];
	struct stat st;

	world_write(world, PACKETS);
	struct trace *trace = fake_open(world->dir, NULL);
	struct index *index = world_index(world, trace, false, STEP_RECORDS);
	struct packet_info one, two;
	struct table *table;
	struct error err;
	uint64_t i = 100, k = 110;
	assert_true(index_build(index, &err));
	assert_true(index_table(index, trace->streams[0], &table, &err));
	do /* two of one size, whole */
		assert_true(table_get(table, i, &one, &err) && table_get(table, ++k, &two, &err));
	while (one.nextents || two.nextents || one.rec.len != two.rec.len || one.rec.len > 400);
	index_close(index);
	trace_close(trace);
	snprintf(path, sizeof path, "%s/0.0", world->dir);
	int fd = open(path, O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pread(fd, a, one.rec.len, (off_t)one.rec.off), one.rec.len);
	assert_int_equal(pread(fd, b, two.rec.len, (off_t)two.rec.off), two.rec.len);
	assert_int_equal(pwrite(fd, b, one.rec.len, (off_t)one.rec.off), one.rec.len);
	assert_int_equal(pwrite(fd, a, two.rec.len, (off_t)two.rec.off), two.rec.len);
	struct timespec times[2] = {st.st_atim, st.st_mtim};
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
	trace = fake_open(world->dir, NULL);
	assert_true(world_stored_is_right(world, trace, false));
	trace_close(trace);
}

/* The stored files of one folder take the place of another's. */
static void copy_store(const char *from, const char *to)
{
	char command[9000];

	snprintf(command, sizeof command, "rm -f %s/*.seg && cp -p %s/catalog.mdb %s/*.seg %s", to,
		 from, from, to);
	assert_int_equal(system(command), 0);
}

/* Cut, or with a flipped bit. */
static void damage(struct world *world, const char *path, unsigned round)
{
	struct buf whole = {0};

	assert_true(file_read(path, &whole));
	size_t at = rng_below(&world->rng, (uint32_t)whole.len);
	FILE *file = fopen(path, "w");
	whole.data[at] ^= (char)(1 << round % 8);
	fwrite(whole.data, 1, round % 5 ? whole.len : at, file);
	fclose(file);
	buf_release(&whole);
}

/* Tables of a damaged index are those of a scan, and what was found is said once. */
static void many_damaged_indexes_give_right_tables(void **state)
{
	struct world *world = *state;
	struct folder_names names;
	struct error err;
	unsigned said = 0, rounds = 300;

	world_write(world, PACKETS);
	struct trace *trace = fake_open(world->dir, NULL);
	struct index *oracle = world_index(world, trace, true, STEP_RECORDS);
	struct index *index = world_index(world, trace, false, STEP_RECORDS);
	assert_true(index_build(index, &err));
	char *folder = mem_strdup(index_path(index)), *saved = fake_folder();
	*strrchr(folder, '/') = 0;
	index_close(index);
	copy_store(folder, saved);
	assert_true(folder_list(saved, &names, &err));
	assert_true(names.count >= 2);
	for (unsigned round = 0; round < rounds; round++) {
		char *path = folder_join(folder, names.items[round % names.count]);
		copy_store(saved, folder);
		damage(world, path, round);
		*world->said = 0;
		index = world_index(world, trace, false, STEP_RECORDS);
		for (unsigned turn = 0; turn < 2; turn++) { /* either finds the damage */
			uint64_t differing = 1;
			if (turn == round / 8 % 2)
				assert_true(world_tables_equal(oracle, index));
			else
				assert_true(index_check(index, &differing, &err) && !differing);
		}
		index_close(index);
		const char *first = strstr(world->said, "was damaged");
		said += first != NULL;
		assert_true(!first || !strstr(first + 12, "damaged"));
		assert_int_equal(trace->damaged, 0);
		mem_free(path);
	}
	assert_true(said > rounds * 9 / 10); /* little lies between what has checksums */
	folder_release(&names);
	index_close(oracle);
	trace_close(trace);
	mem_free(folder);
	fake_remove(saved);
}

/* A copy may differ where it was not read: it has an index of its own. */
static void a_copy_is_another_trace(void **state)
{
	struct world *world = *state;
	char command[9000];

	world_write(world, PACKETS);
	struct trace *trace = fake_open(world->dir, NULL);
	assert_true(world_stored_is_right(world, trace, true));
	char *copy = fake_folder();
	snprintf(command, sizeof command, "cp -rp '%s'/. '%s'", world->dir, copy);
	assert_int_equal(system(command), 0);
	struct trace *other = fake_open(copy, NULL);
	struct index *one = world_index(world, trace, false, STEP_RECORDS);
	struct index *two = world_index(world, other, false, STEP_RECORDS);
	assert_string_not_equal(index_path(one), index_path(two));
	index_close(one);
	index_close(two);
	assert_true(world_stored_is_right(world, other, true));
	assert_string_equal(world->said, "");
	trace_close(trace);
	trace_close(other);
	fake_remove(copy);
}

static void memory_when_it_cannot_be_written(const char *dir, struct world *world)
{
	struct index_options options = {
		.dir = dir, .scan_all = true, .notices = {world_hear, world}};
	struct index *index;
	struct table *table;
	struct error err;
	void *value;
	size_t size;

	world_write(world, 50);
	struct trace *trace = fake_open(world->dir, NULL);
	assert_true(index_open(trace, &options, &index, &err));
	assert_null(index_path(index));
	assert_non_null(strstr(world->said, "the index is kept in memory"));
	assert_true(index_build(index, &err));
	assert_true(index_table(index, trace->streams[0], &table, &err));
	assert_int_equal(table_count(table), 50);
	assert_false(index_put(index, "k", 1, "v", 1, &err));
	assert_false(index_get(index, "k", 1, &value, &size));
	index_close(index);
	trace_close(trace);
}

static void no_folder_there(void **state)
{
	memory_when_it_cannot_be_written("/proc/nowhere/yore", *state);
}

static void a_folder_that_is_read_only(void **state)
{
	struct world *world = *state;
	int status;

	assert_int_equal(chmod(world->cache, 0555), 0);
	chmod(world->dir, 0777);
	/* root may write anywhere, so somebody else tries */
	pid_t child = fork();
	if (child == 0) {
		if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(0);
		memory_when_it_cannot_be_written(world->cache, world);
		_exit(0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static bool spoil_note(struct store_txn *txn, void *arg, struct error *err)
{
	const struct bytes any = {(const uint8_t *)"yore of tomorrow", 16};

	(void)arg;
	return store_put(txn, note_key, any, err);
}

static void another_version_is_said_and_indexed_anew(void **state)
{
	struct world *world = *state;
	struct error err;

	world_write(world, 200);
	struct trace *trace = fake_open(world->dir, NULL);
	assert_true(world_stored_is_right(world, trace, true));
	struct index *index = world_index(world, trace, false, STEP_RECORDS);
	assert_true(store_write(index->store, spoil_note, NULL, &err));
	index_close(index);
	assert_string_equal(world->said, "");
	assert_true(world_stored_is_right(world, trace, true));
	assert_non_null(strstr(world->said, "made by another version of yore"));
	*world->said = 0;
	assert_true(world_stored_is_right(world, trace, false));
	assert_string_equal(world->said, "");
	trace_close(trace);
}

/* Of two copies one is damaged where no hash looks: its index is not that of the other. */
static void a_damaged_copy_is_another_matter(void **state)
{
	struct world *world = *state;
	struct notices notices = {.say = world_hear, .arg = world};
	char *copy = fake_folder();
	struct table *table;
	struct error err;

	for (unsigned sound = 0; sound < 2; sound++) {
		*world->said = 0;
		world->packets[0][60].bad_magic = !sound;
		for (size_t s = 0; s < STREAMS; s++)
			world->streams[s].npackets = 100;
		fake_write(sound ? copy : world->dir, world->streams, STREAMS);
		struct trace *trace = fake_open(sound ? copy : world->dir, &notices);
		struct index *index = world_index(world, trace, false, STEP_RECORDS);
		assert_true(index_build(index, &err));
		assert_true(index_table(index, trace->streams[0], &table, &err));
		assert_int_equal(table_count(table), sound ? 100 : 60);
		assert_int_equal(trace->damaged, !sound);
		index_close(index);
		trace_close(trace);
	}
	assert_string_equal(world->said, "");
	fake_remove(copy);
}

static void damage_is_told_again(void **state)
{
	struct world *world = *state;
	struct notices notices = {.say = world_hear, .arg = world};
	struct error err;
	struct table *table;

	world->packets[0][60].bad_magic = true;
	world_write(world, 100);
	for (int round = 0; round < 4; round++) {
		*world->said = 0;
		struct trace *trace = fake_open(world->dir, &notices);
		struct index *index = world_index(world, trace, false, STEP_RECORDS);
		assert_true(round < 3 || index_build(index, &err)); /* told once all the same */
		assert_true(index_table(index, trace->streams[0], &table, &err));
		assert_int_equal(table_count(table), 60);
		assert_true(round == 0 || index_build(index, &err));
		assert_int_equal(trace->damaged, 1);
		assert_non_null(strstr(world->said, "2 0: "));
		assert_non_null(strstr(world->said, "bad packet at byte"));
		index_close(index);
		trace_close(trace);
	}
}

static bool refuse(void *arg, uint64_t done, uint64_t all)
{
	int *left = arg;

	(void)done;
	(void)all;
	return --*left > 0;
}

static void interrupted_and_gone_on_with(void **state)
{
	struct world *world = *state;
	struct error err;

	world_write(world, PACKETS);
	struct trace *trace = fake_open(world->dir, NULL);
	for (int left = 1; left < 4; left++) {
		struct index *index = world_index(world, trace, false, 100);
		int count = left;
		index->options.progress = refuse;
		index->options.progress_arg = &count;
		struct table *table;
		assert_false(index_table(index, trace->streams[0], &table, &err));
		assert_int_equal(err.kind, ERR_INTERRUPTED);
		index_close(index);
	}
	assert_true(world_stored_is_right(world, trace, true));
	trace_close(trace);
}

static void values_of_other_rooms(void **state)
{
	struct world *world = *state;
	struct error err;
	void *key, *value;
	size_t nkey, nvalue;
	uint8_t *big = mem_new(3 << 20);

	memset(big, 'x', 3 << 20);
	world_write(world, 10);
	struct trace *trace = fake_open(world->dir, NULL);
	struct index *index = world_index(world, trace, false, STEP_RECORDS);
	assert_true(index_build(index, &err));
	assert_true(index_put(index, "c/10", 4, "ten", 3, &err));
	assert_true(index_put(index, "c/20", 4, big, 3 << 20, &err));
	assert_true(index_put(index, "d/10", 4, "", 0, &err));
	assert_true(index_get_before(index, "c/25", 4, 2, &key, &nkey, &value, &nvalue));
	assert_int_equal(nkey, 4);
	assert_memory_equal(key, "c/20", 4);
	assert_int_equal(nvalue, 3 << 20);
	assert_memory_equal(value, big, 3 << 20);
	mem_free(key);
	mem_free(value);
	assert_true(index_get_before(index, "c/10", 4, 2, &key, &nkey, &value, &nvalue));
	assert_memory_equal(value, "ten", 3);
	mem_free(key);
	mem_free(value);
	assert_false(index_get_before(index, "c/05", 4, 2, &key, &nkey, &value, &nvalue));
	assert_false(index_get_before(index, "az", 2, 1, &key, &nkey, &value, &nvalue));
	assert_true(index_delete_prefix(index, "c/", 2, &err));
	assert_false(index_get(index, "c/10", 4, &value, &nvalue));
	assert_true(index_get(index, "d/10", 4, &value, &nvalue));
	assert_int_equal(nvalue, 0);
	mem_free(value);
	index_close(index);
	assert_true(world_stored_is_right(world, trace, false));
	trace_close(trace);
	mem_free(big);
}

static bool has_value(struct world *world)
{
	struct trace *trace = fake_open(world->dir, NULL);
	struct index *index = world_index(world, trace, false, STEP_RECORDS);
	void *value;
	size_t size;
	bool any = index_get(index, "k", 1, &value, &size);

	if (any)
		mem_free(value);
	index_close(index);
	trace_close(trace);
	return any;
}

/* No table is stored here: values are guarded by marks of their own. */
static void values_go_when_files_change(void **state)
{
	struct world *world = *state;
	struct error err;

	world_write(world, 100);
	assert_false(has_value(world));
	struct trace *trace = fake_open(world->dir, NULL);
	struct index *index = world_index(world, trace, false, STEP_RECORDS);
	assert_true(index_put(index, "k", 1, "v", 1, &err));
	index_close(index);
	trace_close(trace);
	assert_true(has_value(world));
	overwrite(world, "2.0", 64 + 16, "\x7f\x01");
	assert_false(has_value(world));
	assert_false(has_value(world));
}

static bool put_again(struct world *world)
{
	struct trace *trace = fake_open(world->dir, NULL);
	struct index *index = world_index(world, trace, false, STEP_RECORDS);
	struct error err;
	bool good = index_put(index, "k", 1, "v", 1, &err);

	index_close(index);
	trace_close(trace);
	return good;
}

/* What was made of events cannot be compared with them for less than it costs to make it. */
static void values_go_when_files_grow_or_change_in_secret(void **state)
{
	struct world *world = *state;
	char command[9000];

	world_write(world, 100);
	assert_true(put_again(world));
	assert_true(has_value(world));
	fake_append(world->dir, &world->streams[1], world->packets[1] + 100, 50);
	assert_false(has_value(world));
	assert_true(put_again(world));
	assert_true(has_value(world));
	snprintf(command, sizeof command,
		 "touch -r '%s/1.0' '%s/time' && printf x | dd of='%s/1.0' bs=1 seek=7000 conv=notrunc "
		 "2>/dev/null && touch -r '%s/time' '%s/1.0'",
		 world->dir, world->dir, world->dir, world->dir, world->dir);
	assert_int_equal(system(command), 0);
	assert_false(has_value(world));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, world_new, world_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(a_build_equals_a_scan),
		ROW(what_one_question_scanned_is_stored_at_close),
		ROW(growth_equals_one_scan),
		ROW(growth_with_open_packets_equals_one_scan),
		ROW(growth_of_a_shared_file_equals_one_scan),
		ROW(growth_of_a_shared_file_with_open_packets_equals_one_scan),
		ROW(growth_of_a_copy_equals_one_scan),
		ROW(a_build_of_a_copy_is_found_again),
		ROW(an_index_that_is_ahead_is_left_alone),
		ROW(killed_at_any_instant),
		ROW(two_processes_at_once),
		ROW(a_changed_file_is_said_and_indexed_anew),
		ROW(a_shorter_file_is_said_and_indexed_anew),
		ROW(a_copy_is_another_trace),
		ROW(packets_that_change_places_are_found_there),
		ROW(many_damaged_indexes_give_right_tables),
		ROW(no_folder_there),
		ROW(a_folder_that_is_read_only),
		ROW(another_version_is_said_and_indexed_anew),
		ROW(a_damaged_copy_is_another_matter),
		ROW(damage_is_told_again),
		ROW(interrupted_and_gone_on_with),
		ROW(values_of_other_rooms),
		ROW(values_go_when_files_change),
		ROW(values_go_when_files_grow_or_change_in_secret),
	};

	return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
