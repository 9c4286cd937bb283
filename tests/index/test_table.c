/*
 * test_table.c - the search finds what a look at every record finds
 *
 * Oracle: the records as the test listed them, sorted with the same key by qsort, looked at one by
 * one. Tables are random: tiled, overlapping, deep, with poisoned ends, all ties, unsorted files.
 */
#include "index/index.h"

#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "index/tables/table.h"
#include "tests/harness.h"
#include "tests/index/fake_reader.h"

#include <stdlib.h>
#include <string.h>

enum kind { TILED, OVERLAPPING, DEEP, POISONED, TIES, SHUFFLED, KINDS };

static const char *const kind_names[] = {"tiled",    "overlapping", "deep",
					 "poisoned", "ties",        "shuffled"};

enum { RECORDS_MAX = 400 };

static void make_packets(struct rng *rng, enum kind kind, struct fake_packet *packets, size_t n)
{
	nstime at = -1000;

	for (size_t i = 0; i < n; i++) {
		struct fake_packet *packet = &packets[i];
		*packet = (struct fake_packet){.seq = i, .lost = PACKET_NONE, .hide_count = true};
		at += kind == TIES ? 0 : rng_below(rng, 20);
		packet->min = kind == SHUFFLED ? (nstime)rng_below(rng, 4000) : at;
		packet->max = packet->min + (kind == TIES ? 0 : rng_below(rng, 20));
		if (kind == OVERLAPPING)
			packet->max += rng_below(rng, 60);
		if (kind == DEEP && rng_once_in(rng, 3))
			packet->max += rng_below(rng, 3000);
		if (kind == POISONED && rng_once_in(rng, 40))
			packet->max = rng_once_in(rng, 2) ? INT64_MAX : INT64_C(1) << 62;
	}
}

/* One event each, so that no record counts as empty; its time does not matter here. */
static void add_events(struct fake_packet *packets, size_t n, const struct fake_event *event)
{
	for (size_t i = 0; i < n; i++) {
		packets[i].events = event;
		packets[i].nevents = 1;
	}
}

static int by_order(const void *a, const void *b)
{
	const struct fake_packet *x = a, *y = b;

	if (x->min != y->min)
		return x->min < y->min ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq; /* seq rises with the offset */
}

static struct index *open_index(struct trace *trace, const char *dir, bool none, size_t step)
{
	struct index_options options = {.dir = dir, .none = none, .scan_all = true};
	struct index *index;
	struct error err;

	if (!index_open(trace, &options, &index, &err))
		fail_msg("%s", err.text);
	index->step_records = step;
	return index;
}

static struct table *get_table(struct index *index, size_t stream)
{
	struct table *table;
	struct error err;

	if (!index_table(index, index_trace(index)->streams[stream], &table, &err))
		fail_msg("%s", err.text);
	return table;
}

static struct packet record(struct table *table, uint64_t i)
{
	struct packet_info info;
	struct error err;

	if (!table_get(table, i, &info, &err))
		fail_msg("%s", err.text);
	return info.rec;
}

/* The candidates of [begin, end] by index and by a look at all. */
static void ask(struct table *table, const struct fake_packet *sorted, size_t n, nstime begin,
		nstime end)
{
	struct error err;
	uint64_t lb, hi, reach = table_reach(table);
	bool found[RECORDS_MAX] = {false};
	size_t nwide, brute = 0;

	assert_true(table_lower_bound(table, begin, &lb, &err));
	assert_true(table_lower_bound(table, end + 1, &hi, &err));
	while (brute < n && sorted[brute].min < begin)
		brute++;
	assert_int_equal(lb, brute);
	for (uint64_t i = lb > reach ? lb - reach : 0; i < hi; i++)
		found[i] |= record(table, i).max >= begin;
	const uint64_t *wide = table_wide(table, &nwide);
	for (size_t k = 0; k < nwide; k++) {
		struct packet rec = record(table, wide[k]);
		assert_true(k == 0 || wide[k - 1] < wide[k]);
		found[wide[k]] |= rec.min <= end && rec.max >= begin;
	}
	for (size_t i = 0; i < n; i++)
		assert_int_equal(found[i], sorted[i].min <= end && sorted[i].max >= begin);
}

static void check_table(struct table *table, const struct fake_packet *sorted, size_t n,
			struct rng *rng)
{
	assert_int_equal(table_count(table), n);
	for (size_t i = 0; i < n; i++) {
		struct packet rec = record(table, i);
		assert_int_equal(rec.min, sorted[i].min);
		assert_int_equal(rec.max, sorted[i].max);
		assert_int_equal(rec.seq, sorted[i].seq);
	}
	for (int k = 0; k < 20; k++) {
		nstime begin = (nstime)rng_below(rng, 6000) - 1500;
		ask(table, sorted, n, begin, begin + (nstime)rng_below(rng, 200));
	}
}

static void search_equals_brute_force(void **state)
{
	enum kind kind = *(const enum kind *)*state;
	struct rng rng = {.state = 7 + kind};
	struct fake_event event = {0};

	for (int round = 0; round < 120; round++) {
		struct fake_packet packets[RECORDS_MAX];
		size_t n = rng_below(&rng, RECORDS_MAX);
		make_packets(&rng, kind, packets, n);
		add_events(packets, n, &event);
		struct fake_stream stream = {.name = "s", .packets = packets, .npackets = n};
		char *dir = fake_folder(), *cache = fake_folder();
		fake_write(dir, &stream, 1);
		qsort(packets, n, sizeof *packets, by_order);
		struct trace *trace = fake_open(dir, NULL);
		struct index *memory = open_index(trace, cache, true, STEP_RECORDS);
		check_table(get_table(memory, 0), packets, n, &rng);
		index_close(memory);
		/* in steps of random size, hence merged in the store */
		struct index *stored = open_index(trace, cache, false, 1 + rng_below(&rng, 90));
		check_table(get_table(stored, 0), packets, n, &rng);
		index_close(stored);
		struct index *again = open_index(trace, cache, false, STEP_RECORDS);
		check_table(get_table(again, 0), packets, n, &rng);
		index_close(again);
		trace_close(trace);
		fake_remove(dir);
		fake_remove(cache);
	}
}

static void two_poisoned_ends_cost_two_records(void **state)
{
	enum { N = 5000 };
	struct fake_packet *packets = mem_new_array(N, sizeof *packets);
	struct fake_event event = {0};

	(void)state;
	for (size_t i = 0; i < N; i++)
		packets[i] = (struct fake_packet){
			.min = (nstime)i * 10, .max = (nstime)i * 10 + 9, .seq = i};
	packets[10].max = INT64_C(1) << 62;
	packets[3000].max = INT64_MAX;
	add_events(packets, N, &event);
	struct fake_stream stream = {.name = "s", .packets = packets, .npackets = N};
	char *dir = fake_folder();
	fake_write(dir, &stream, 1);
	struct trace *trace = fake_open(dir, NULL);
	struct index *index = open_index(trace, NULL, true, STEP_RECORDS);
	struct table *table = get_table(index, 0);
	size_t nwide;
	const uint64_t *wide = table_wide(table, &nwide);
	assert_int_equal(table_reach(table), 2);
	assert_int_equal(nwide, 2);
	assert_int_equal(wide[0], 10);
	assert_int_equal(wide[1], 3000);
	index_close(index);
	trace_close(trace);
	fake_remove(dir);
	mem_free(packets);
}

/* Extents, carried bytes: what rides beside a record comes back from the store as it went in. */
static void side_list_survives(void **state)
{
	enum { EVENTS = 300, PACKETS = 700 };
	static struct fake_event events[EVENTS];
	static struct fake_packet packets[PACKETS];

	(void)state;
	for (size_t i = 0; i < EVENTS; i++)
		events[i] = (struct fake_event){.time = (nstime)i * 3};
	for (size_t i = 0; i < PACKETS; i++) {
		packets[i] = fake_packet_over(events, EVENTS);
		packets[i].extent_events = i % 3 == 0 ? 1 + (uint32_t)i % 50 : 0;
		packets[i].gap = (uint32_t)i % 300;
		packets[i].piece_events = i % 3 == 1 ? 90 : 0;
	}
	struct fake_stream stream = {
		.name = "s", .packets = packets, .npackets = PACKETS, .pieces = true};
	char *dir = fake_folder(), *cache = fake_folder();
	fake_write(dir, &stream, 1);
	struct trace *trace = fake_open(dir, NULL);
	struct index *memory = open_index(trace, NULL, true, STEP_RECORDS);
	struct index *first = open_index(trace, cache, false, 64);
	struct table *one = get_table(memory, 0), *two = get_table(first, 0);
	assert_int_equal(table_count(one), table_count(two));
	for (uint64_t i = 0; i < table_count(one); i++) {
		struct packet_info a, b;
		struct error err;
		assert_true(table_get(one, i, &a, &err));
		assert_true(table_get(two, i, &b, &err));
		assert_memory_equal(&a.rec, &b.rec, sizeof a.rec);
		assert_int_equal(a.nextents, b.nextents);
		assert_int_equal(a.ncarried, b.ncarried);
		assert_memory_equal(a.carried, b.carried, a.ncarried);
		for (uint32_t k = 0; k < a.nextents; k++) {
			assert_int_equal(a.extents[k].off, b.extents[k].off);
			assert_int_equal(a.extents[k].len, b.extents[k].len);
		}
	}
	index_close(first);
	index_close(memory);
	trace_close(trace);
	fake_remove(dir);
	fake_remove(cache);
}

enum { CORRECTED = 300 };

/* True ranges that decoding found, told one by one; then the question is asked of the true ones. */
static void corrections_are_found(void **state)
{
	struct rng rng = {.state = 5};
	struct fake_event event = {0};

	(void)state;
	for (int round = 0; round < 40; round++) {
		struct fake_packet packets[CORRECTED];
		nstime true_min[CORRECTED], true_max[CORRECTED];
		size_t wrong = 0;
		make_packets(&rng, TILED, packets, CORRECTED);
		add_events(packets, CORRECTED, &event);
		struct fake_stream stream = {
			.name = "s", .packets = packets, .npackets = CORRECTED};
		char *dir = fake_folder();
		fake_write(dir, &stream, 1);
		struct trace *trace = fake_open(dir, NULL);
		struct index *index = open_index(trace, NULL, true, STEP_RECORDS);
		struct table *table = table_own(get_table(index, 0)), *better;
		for (size_t i = 0; i < CORRECTED; i++) {
			true_min[i] = packets[i].min;
			true_max[i] = packets[i].max;
			if (rng_once_in(&rng, round % 2 ? 10 : 3)) {
				true_min[i] -= (nstime)rng_below(&rng, 100);
				true_max[i] += (nstime)rng_below(&rng, 100);
				wrong++;
			}
			assert_false(table_correct(get_table(index, 0), i, true_min[i] - 1,
						   true_max[i]));
			assert_true(table_correct(table, i, true_min[i], true_max[i]));
			assert_true(table_proved(table, i));
			assert_false(table_proved(get_table(index, 0), i));
		}
		for (int again = 0; again < 2; again++) {
			struct error ignored;
			better = again ? table_rebuilt(table, &ignored) : NULL;
			table = better ? better : table;
			for (int k = 0; k < 50; k++) {
				nstime begin = (nstime)rng_below(&rng, 3200) - 1100;
				nstime end = begin + (nstime)rng_below(&rng, 30);
				bool found[CORRECTED] = {false};
				struct error err;
				uint64_t lb, hi, reach = table_reach(table);
				size_t nwide;
				assert_true(table_lower_bound(table, begin, &lb, &err));
				assert_true(table_lower_bound(table, end + 1, &hi, &err));
				for (uint64_t i = lb > reach ? lb - reach : 0; i < hi; i++) {
					struct packet rec = record(table, i);
					if (rec.max >= begin && rec.min <= end)
						found[rec.seq] = true;
				}
				const uint64_t *wide = table_wide(table, &nwide);
				for (size_t w = 0; w < nwide; w++) {
					struct packet rec = record(table, wide[w]);
					if (rec.max >= begin && rec.min <= end)
						found[rec.seq] = true;
				}
				for (size_t i = 0; i < CORRECTED; i++)
					assert_int_equal(found[i], true_min[i] <= end &&
									   true_max[i] >= begin);
			}
		}
		table_free(table);
		index_close(index);
		trace_close(trace);
		fake_remove(dir);
	}
}

static void check_computed(bool irregular)
{
	enum { N = 200 };
	struct fake_packet packets[N];
	struct fake_event event = {0};

	for (size_t i = 0; i < N; i++)
		packets[i] = (struct fake_packet){
			.min = (nstime)i * 10, .max = (nstime)i * 10 + 9, .seq = i};
	add_events(packets, N, &event);
	if (irregular) { /* the header lies about its begin, where no sample looks */
		packets[77].min = 3;
		packets[77].max = 779;
	}
	struct fake_stream stream = {.name = "s",
				     .packets = packets,
				     .npackets = N,
				     .computed = true,
				     .packet_bytes = 4096};
	char *dir = fake_folder(), *cache = fake_folder();
	fake_write(dir, &stream, 1);
	struct trace *trace = fake_open(dir, NULL);
	struct index_options options = {.dir = cache};
	struct index *index;
	struct error err;
	assert_true(index_open(trace, &options, &index, &err));
	uint64_t before = trace_bytes_read(trace), at;
	struct table *table = get_table(index, 0);
	assert_int_equal(table_count(table), N);
	assert_true(table_lower_bound(table, 1234, &at, &err));
	assert_int_equal(at, 124);
	assert_true(trace_bytes_read(trace) - before < 40 * 128); /* headers of a few dozen */
	assert_int_equal(table_generation(table), 0);
	qsort(packets, N, sizeof *packets, by_order);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < N; i++) {
			struct packet rec = record(table, i);
			if (pass)
				assert_int_equal(rec.seq, packets[i].seq);
		}
	assert_int_equal(table_generation(table), irregular);
	index_close(index);
	trace_close(trace);
	fake_remove(dir);
	fake_remove(cache);
}

static void computed_tables_read_a_dozen_headers(void **state)
{
	(void)state;
	check_computed(false);
}

static void a_computed_table_that_falls_is_scanned(void **state)
{
	(void)state;
	check_computed(true);
}

struct shared {
	struct table *table;
	const struct fake_packet *packets;
	size_t count;
	bool wrong;
};

static void *ask_alone(void *arg)
{
	struct shared *shared = arg;
	struct rng rng = {.state = (uint64_t)(uintptr_t)&rng};

	for (int k = 0; k < 3000; k++) {
		uint64_t i = rng_below(&rng, (uint32_t)shared->count), lb;
		struct packet_info info;
		struct error err;
		size_t nwide;
		const struct fake_packet *packet = &shared->packets[i];
		shared->wrong |=
			!table_correct(shared->table, i, packet->min, packet->max + (i % 7 == 0));
		shared->wrong |= !table_get(shared->table, i, &info, &err) ||
				 info.rec.min != packet->min || !table_proved(shared->table, i);
		shared->wrong |= !table_lower_bound(shared->table, packet->min, &lb, &err) ||
				 lb > i || table_reach(shared->table) == 0;
		table_wide(shared->table, &nwide);
	}
	return NULL;
}

static void threads_share_a_table(void **state)
{
	enum { N = 3000, THREADS = 4 };
	static struct fake_packet packets[N];
	struct fake_event event = {0};
	pthread_t threads[THREADS];

	(void)state;
	for (size_t i = 0; i < N; i++)
		packets[i] = (struct fake_packet){
			.min = (nstime)i * 10, .max = (nstime)i * 10 + 9, .seq = i};
	add_events(packets, N, &event);
	struct fake_stream stream = {.name = "s", .packets = packets, .npackets = N};
	char *dir = fake_folder(), *cache = fake_folder();
	fake_write(dir, &stream, 1);
	struct trace *trace = fake_open(dir, NULL);
	struct index *index = open_index(trace, cache, false, 500);
	struct table *table = table_own(get_table(index, 0));
	struct shared shared[THREADS];
	for (size_t k = 0; k < THREADS; k++) {
		shared[k] = (struct shared){table, packets, N, false};
		assert_int_equal(pthread_create(&threads[k], NULL, ask_alone, &shared[k]), 0);
	}
	for (size_t k = 0; k < THREADS; k++) {
		pthread_join(threads[k], NULL);
		assert_false(shared[k].wrong);
	}
	table_free(table);
	index_close(index);
	trace_close(trace);
	fake_remove(dir);
	fake_remove(cache);
}

int main(void)
{
	static enum kind kinds[KINDS];
	struct CMUnitTest tests[KINDS + 6];
	size_t n = 0;

	for (; n < KINDS; n++) {
		kinds[n] = (enum kind)n;
		tests[n] = (struct CMUnitTest){kind_names[n], search_equals_brute_force, NULL, NULL,
					       &kinds[n]};
	}
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(two_poisoned_ends_cost_two_records);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(side_list_survives);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(corrections_are_found);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(computed_tables_read_a_dozen_headers);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_computed_table_that_falls_is_scanned);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(threads_share_a_table);
	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
