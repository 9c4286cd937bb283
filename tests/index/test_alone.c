/*
 * test_alone.c - real traces: each packet decoded alone, in random order, and sorted, is the cursor
 *
 * YORE_CORPUS names the folder of traces; without it these tests are skipped.
 */
#include "tests/harness.h"

#include "engine/base/mem.h"
#include "index/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct alone {
	nstime time;
	uint64_t offset;
	uint32_t stream, source, index, class_index;
};

struct all {
	struct alone *events;
	size_t count, capacity;
};

static int by_place(const void *a, const void *b)
{
	const struct alone *p = a, *q = b;

	if (p->time != q->time)
		return p->time < q->time ? -1 : 1;
	if (p->stream != q->stream)
		return p->stream < q->stream ? -1 : 1;
	if (p->source != q->source)
		return p->source < q->source ? -1 : 1;
	if (p->offset != q->offset)
		return p->offset < q->offset ? -1 : 1;
	return p->index < q->index ? -1 : p->index > q->index;
}

static void decode_alone(const struct stream *stream, const struct reader *reader,
			 const struct packet_info *info, struct all *all)
{
	struct decoder *decoder = reader->decoder_new(stream);
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	struct error err;

	assert_true(reader->decoder_open(decoder, info, &err));
	batch->capacity = 1 + (uint32_t)rand() % BATCH_MAX;
	while (reader->decoder_next(decoder, batch, &err) == STEP_ITEM)
		for (uint32_t i = 0; i < batch->count; i++) {
			all->events = mem_grow(all->events, all->count, &all->capacity,
					       sizeof *all->events);
			all->events[all->count++] = (struct alone){
				batch->time[i],   info->rec.off,    stream->index,
				info->rec.source, batch->first + i, batch->class_index[i]};
		}
	reader->decoder_free(decoder);
	batch_free(batch);
}

static void decode_all_alone(struct index *index, struct all *all)
{
	const struct trace *trace = index_trace(index);
	struct packet_info info;
	struct table *table;
	struct error err;

	for (size_t s = 0; s < trace->nstreams; s++) {
		const struct stream *stream = trace->streams[s];
		assert_true(index_table(index, stream, &table, &err));
		uint64_t n = table_count(table), step = 7919; /* a prime: visits each once */
		if (n % step == 0)
			step = 1;
		for (uint64_t k = 0, i = 0; k < n; k++, i = (i + step) % n) {
			assert_true(table_get(table, i, &info, &err));
			if (!(info.rec.flags & PACKET_EMPTY))
				decode_alone(stream, trace->parts[stream->part]->reader, &info,
					     all);
		}
	}
	qsort(all->events, all->count, sizeof *all->events, by_place);
}

static void check_order(struct index *index, const struct all *all, bool backward)
{
	struct events_options options = {
		.begin = NSTIME_MIN, .end = NSTIME_MAX, .backward = backward};
	struct events *events;
	struct event event;
	struct error err;

	assert_true(events_open(index, &options, &events, &err));
	for (size_t i = 0; i < all->count; i++) {
		const struct alone *alone = &all->events[backward ? all->count - 1 - i : i];
		assert_int_equal(events_next(events, &event, &err), STEP_ITEM);
		assert_true(event.time == alone->time);
		assert_int_equal(event.position.stream, alone->stream);
		assert_int_equal(event.position.source, alone->source);
		assert_true(event.position.offset == alone->offset);
		assert_int_equal(event.position.index, alone->index);
		assert_int_equal(event.class->index, alone->class_index);
	}
	assert_int_equal(events_next(events, &event, &err), STEP_END);
	events_close(events);
}

static uint64_t sum_of(const struct fields *fields)
{
	uint64_t sum = 0;

	for (int s = SCOPE_STREAM_EVENT_CONTEXT; s < SCOPE_COUNT; s++) {
		struct field scope;
		struct field_iter iter;
		if (!fields_scope(fields, (enum scope)s, &scope))
			continue;
		field_iter_begin(&iter, &scope);
		while (field_iter_next(&iter)) {
			const struct field *item = &iter.item;
			if (item->class->kind == FIELD_INT)
				sum = sum * 31 + item->slot.u;
			else if (item->class->kind == FIELD_STRING)
				sum = sum * 31 + item->slot.n + item->slot.bytes[0];
			else
				sum = sum * 31 + item->slot.n;
		}
		field_iter_end(&iter);
	}
	return sum;
}

/* Values that come with the heads are those decoded alone, also where classes are left out. */
static void check_values(struct index *index, const uint64_t *classes, bool backward)
{
	struct events_options options = {
		.begin = NSTIME_MIN, .end = NSTIME_MAX, .backward = backward, .classes = classes};
	struct events *plain, *with;
	struct event event, same;
	struct fields fields;
	struct error err;

	assert_true(events_open(index, &options, &plain, &err));
	options.values = true;
	assert_true(events_open(index, &options, &with, &err));
	while (events_next(plain, &event, &err) == STEP_ITEM) {
		assert_int_equal(events_next(with, &same, &err), STEP_ITEM);
		assert_true(event.position.offset == same.position.offset);
		assert_int_equal(event.position.index, same.position.index);
		assert_true(events_fields(plain, &event, &fields, &err));
		uint64_t sum = sum_of(&fields);
		assert_true(events_fields(with, &same, &fields, &err));
		assert_true(sum == sum_of(&fields));
	}
	assert_int_equal(events_next(with, &same, &err), STEP_END);
	events_close(plain);
	events_close(with);
}

static void equals_cursor(void **state)
{
	const char *corpus = getenv("YORE_CORPUS");
	struct index_options index_options = {.none = true};
	char path[4096];
	const char *paths = path;
	struct trace_options options = {.paths = &paths, .npaths = 1};
	struct all all = {0};
	struct trace *trace;
	struct index *index;
	struct error err;

	snprintf(path, sizeof path, "%s/ctf/real/%s", corpus ? corpus : "", (const char *)*state);
	if (!corpus || access(path, R_OK) != 0)
		skip();
	assert_true(trace_open(&options, &trace, &err));
	assert_true(index_open(trace, &index_options, &index, &err));
	decode_all_alone(index, &all);
	assert_true(all.count > 0);
	check_order(index, &all, false);
	check_order(index, &all, true);
	uint64_t *some = mem_new_array(trace->nclasses / 64 + 1, sizeof *some);
	for (size_t i = 0; i < trace->nclasses; i += 3)
		some[i / 64] |= UINT64_C(1) << i % 64;
	for (int backward = 0; backward < 2; backward++) {
		check_values(index, NULL, backward);
		check_values(index, some, backward);
	}
	mem_free(some);
	mem_free(all.events);
	index_close(index);
	trace_close(trace);
}

int main(void)
{
	static const char *names[] = {"bug446190",
				      "cyg-profile/glxgears-cyg-profile",
				      "many-threads",
				      "flipping-endianness",
				      "ros2",
				      "synctraces/scp_src",
				      "synctraces/scp_dest"};
	struct CMUnitTest tests[COUNT(names)];

	for (size_t i = 0; i < COUNT(names); i++)
		tests[i] = (struct CMUnitTest){names[i], equals_cursor, NULL, NULL,
					       (void *)(uintptr_t)names[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
