/* test_library_columns.c - events as columns: types, nulls, batches, errors, lifetimes, against a
 * cursor */
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yore.h>

#define DEMO "fixtures/golden/sched-demo"

static char *demo_path(void)
{
	const char *top = getenv("srcdir");
	char *path;

	assert_true(asprintf(&path, "%s/" DEMO, top ? top : ".") > 0);
	return path;
}

static struct yore *open_demo(void)
{
	struct yore_options options = {.size = sizeof options, .no_index = 1};
	struct yore_error err;
	struct yore *yore;
	char *path = demo_path();

	assert_int_equal(yore_open(path, &options, &yore, &err), 0);
	free(path);
	return yore;
}

static int column(const struct ArrowSchema *schema, const char *name)
{
	for (int64_t i = 0; i < schema->n_children; i++)
		if (!strcmp(schema->children[i]->name, name))
			return (int)i;
	return -1;
}

static void open_columns(struct yore *yore, struct yore_columns_options *options, const char *name,
			 struct ArrowArrayStream *stream, struct ArrowSchema *schema)
{
	struct yore_error err;

	assert_int_equal(yore_columns_open(yore, name, options, stream, &err), 0);
	assert_int_equal(stream->get_schema(stream, schema), 0);
	assert_string_equal(schema->format, "+s");
}

/* Every value of a batch is what a cursor gives, one event after the other. */
static void compare(const struct ArrowSchema *schema, const struct ArrowArray *batch,
		    struct yore_events *events)
{
	const int ts = column(schema, "ts"), cpu = column(schema, "cpu"),
		  pid = column(schema, "next_pid"), comm = column(schema, "next_comm"),
		  stream = column(schema, "stream"), state = column(schema, "prev_state");
	struct yore_error err;

	for (int64_t i = 0; i < batch->length; i++) {
		assert_int_equal(yore_events_next(events, &err), 1);
		const int64_t *times = batch->children[ts]->buffers[1];
		const int32_t *cpus = batch->children[cpu]->buffers[1];
		const int32_t *pids = batch->children[pid]->buffers[1];
		const int64_t *states = batch->children[state]->buffers[1];
		const int32_t *ends = batch->children[comm]->buffers[1];
		const char *text = batch->children[comm]->buffers[2];
		const int32_t *stream_ends = batch->children[stream]->buffers[1];
		const char *name = yore_stream_name(yore_event_stream(events));
		assert_int_equal(times[i], yore_event_time(events));
		assert_int_equal(cpus[i], yore_event_cpu(events));
		assert_int_equal(pids[i],
				 yore_field_int(yore_event_field(events, "next_pid", &err)));
		assert_int_equal(states[i],
				 yore_field_int(yore_event_field(events, "prev_state", &err)));
		size_t len;
		const char *right =
			yore_field_text(yore_event_field(events, "next_comm", &err), &len);
		assert_int_equal(ends[i + 1] - ends[i], len);
		assert_memory_equal(text + ends[i], right, len);
		assert_int_equal(stream_ends[i + 1] - stream_ends[i], strlen(name));
	}
}

static void check_values(size_t rows)
{
	const char *const names[] = {"sched_switch"};
	struct yore_columns_options options = YORE_COLUMNS_ALL;
	struct yore_events_options same = YORE_EVENTS_ALL;
	struct yore *yore = open_demo();
	struct ArrowArrayStream stream;
	struct yore_events *events;
	struct ArrowSchema schema;
	struct ArrowArray batch;
	struct yore_error err;
	int64_t count = 0;

	options.rows = rows;
	same.names = names;
	same.nnames = 1;
	assert_int_equal(yore_events_open(yore, &same, &events, &err), 0);
	open_columns(yore, &options, "sched_switch", &stream, &schema);
	assert_string_equal(schema.children[column(&schema, "ts")]->format, "tDn");
	assert_string_equal(schema.children[column(&schema, "prev_state")]->format, "l");
	while (assert_int_equal(stream.get_next(&stream, &batch), 0), batch.release) {
		assert_true(!rows || batch.length <= (int64_t)rows);
		compare(&schema, &batch, events);
		count += batch.length;
		batch.release(&batch);
		assert_null(batch.release);
	}
	assert_int_equal(count, 261);
	assert_int_equal(yore_events_next(events, &err), 0);
	schema.release(&schema);
	stream.release(&stream);
	yore_events_close(events);
	yore_close(yore);
}

static void values_are_those_of_a_cursor(void **state)
{
	(void)state;
	check_values(0);
}

static void batches_of_any_size_are_the_same(void **state)
{
	(void)state;
	check_values(1);
	check_values(7);
	check_values(260);
	check_values(261);
}

static void only_the_columns_asked_for(void **state)
{
	const char *const names[] = {"NEXT_PID", "ts"};
	struct yore_columns_options options = YORE_COLUMNS_ALL;
	struct yore *yore = open_demo();
	struct ArrowArrayStream stream;
	struct ArrowSchema schema;
	struct ArrowArray batch;

	(void)state;
	options.columns = names;
	options.ncolumns = 2;
	options.begin = 2120797386430;
	options.end = 2120797628967;
	open_columns(yore, &options, "sched:sched_switch", &stream, &schema);
	assert_int_equal(schema.n_children, 2);
	assert_string_equal(schema.children[0]->name, "ts");
	assert_string_equal(schema.children[1]->name, "next_pid");
	assert_int_equal(stream.get_next(&stream, &batch), 0);
	assert_int_equal(batch.length, 2);
	assert_int_equal(((const int64_t *)batch.children[0]->buffers[1])[0], 2120797386430);
	batch.release(&batch);
	assert_int_equal(stream.get_next(&stream, &batch), 0);
	assert_null(batch.release);
	assert_int_equal(stream.get_next(&stream, &batch), 0); /* the end stays the end */
	assert_null(batch.release);
	schema.release(&schema);
	stream.release(&stream);
	yore_close(yore);
}

static void no_columns_are_rows_alone(void **state)
{
	const char *const none[] = {NULL};
	struct yore_columns_options options = YORE_COLUMNS_ALL;
	struct yore *yore = open_demo();
	struct ArrowArrayStream stream;
	struct ArrowSchema schema;
	struct ArrowArray batch;

	(void)state;
	options.columns = none;
	open_columns(yore, &options, "sched_switch", &stream, &schema);
	assert_int_equal(schema.n_children, 0);
	assert_int_equal(stream.get_next(&stream, &batch), 0);
	assert_int_equal(batch.length, 261);
	batch.release(&batch);
	schema.release(&schema);
	stream.release(&stream);
	yore_close(yore);
}

static void a_stream_outlives_the_trace(void **state)
{
	struct yore_columns_options options = YORE_COLUMNS_ALL;
	struct yore *yore = open_demo();
	struct ArrowArrayStream stream;
	struct ArrowSchema schema;
	struct ArrowArray batch;

	(void)state;
	open_columns(yore, &options, "sched_switch", &stream, &schema);
	yore_close(yore);
	assert_int_equal(stream.get_next(&stream, &batch), 0);
	stream.release(&stream);
	assert_null(stream.release);
	assert_int_equal(batch.length, 261);         /* and a batch the stream */
	struct ArrowArray kept = *batch.children[0]; /* and a child the batch, when it was moved */
	batch.children[0]->release = NULL;
	batch.release(&batch);
	assert_int_equal(((const int64_t *)kept.buffers[1])[0], 2120797362975);
	kept.release(&kept);
	schema.release(&schema);
}

static void what_is_not_there_is_an_error(void **state)
{
	const char *const names[] = {"ts", "next_pdi"};
	struct yore_columns_options options = YORE_COLUMNS_ALL;
	struct yore *yore = open_demo();
	struct ArrowArrayStream stream;
	struct yore_error err;

	(void)state;
	assert_int_equal(yore_columns_open(yore, "sched_swich", NULL, &stream, &err), -1);
	assert_string_equal(err.text, "the trace has no events called 'sched_swich'");
	assert_null(stream.release);
	options.columns = names;
	options.ncolumns = 2;
	assert_int_equal(yore_columns_open(yore, "sched_switch", &options, &stream, &err), -1);
	assert_string_equal(err.text, "sched_switch has no column 'next_pdi'");
	assert_int_equal(err.kind, YORE_ERROR_QUERY);
	yore_close(yore);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_those_of_a_cursor),
		cmocka_unit_test(batches_of_any_size_are_the_same),
		cmocka_unit_test(only_the_columns_asked_for),
		cmocka_unit_test(no_columns_are_rows_alone),
		cmocka_unit_test(a_stream_outlives_the_trace),
		cmocka_unit_test(what_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
