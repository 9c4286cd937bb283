/*
 * test_extension.c - the extension for DuckDB, as it was built, in a host of our own
 *
 * What rows have to be is known of the recording (babeltrace2 counts its events). That DuckDB
 * itself has the same rows is compared in tests/oracle/duckdb.sh.
 */
#include "tests/duckdb/host.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EVENTS = 955, SWITCHES = 261 };
#define FIRST INT64_C(2120797350827)

static char demo[4096], extension[4096], work[] = "/tmp/yore-duckdb-XXXXXX";

static struct host_value text(const char *value)
{
	return (struct host_value){.type = DUCK_VARCHAR, .text = value};
}

static struct host_value named(const char *name, int type, const char *value, int64_t number)
{
	return (struct host_value){name, type, value, number};
}

/* ---- the file ---- */

static void has_a_footer(void **state)
{
	static const struct {
		size_t at;
		const char *text;
	} parts[] = {{0, "\0\223\004\020duckdb_signature\200\004"},
		     {22, ""},
		     {22 + 32, ""},
		     {22 + 64, ""},
		     {22 + 96, "C_STRUCT"},
		     {22 + 160, "v1.2.0"},
		     {22 + 224, "4"},
		     {22 + 256, ""}};
	FILE *file = fopen(extension, "rb");
	char footer[534], rest[256] = {0};

	(void)state;
	assert_non_null(file);
	assert_int_equal(fseek(file, -534, SEEK_END), 0);
	assert_int_equal(fread(footer, 1, sizeof footer, file), sizeof footer);
	fclose(file);
	assert_memory_equal(footer, parts[0].text, 22);
	for (size_t i = 1; i < COUNT(parts); i++)
		assert_string_equal(footer + parts[i].at, parts[i].text);
	assert_int_equal(footer[22 + 128], 'v');
	assert_int_equal(strncmp(footer + 22 + 192, "linux_", 6), 0);
	assert_memory_equal(footer + 278, rest, sizeof rest);
}

static void an_older_host_is_refused(void **state)
{
	(void)state;
	assert_false(host_load_refused(extension));
	assert_int_equal(host_alive(), 0);
}

/* ---- events ---- */

struct sums {
	int64_t first, last, sum;
	long rows, nulls, demo;
};

static void add_switch(void *arg, const struct host_call *call, size_t row)
{
	struct sums *sums = arg;
	int64_t ts = host_number(0, row);

	(void)call;
	assert_false(host_is_null(0, row));
	sums->first = !sums->rows || ts < sums->first ? ts : sums->first;
	sums->last = ts > sums->last ? ts : sums->last;
	sums->sum += host_number(1, row);
	sums->demo += !strncmp(host_text(2, row), "demo-", 5);
	assert_int_equal(strncmp(host_text(3, row), "perf_stream_", 12), 0);
	sums->rows++;
}

static void switches(void **state)
{
	static const char *const columns[] = {"ts", "next_pid", "next_comm", "stream", NULL};
	const struct host_value values[] = {text(demo), text("sched_switch"), {0}};

	(void)state;
	for (unsigned threads = 1; threads < 4; threads++) {
		struct sums sums = {0};
		const struct host_call call = {.function = "yore_events",
					       .values = values,
					       .columns = columns,
					       .threads = threads,
					       .row = add_switch,
					       .arg = &sums};
		assert_int_equal(host_run(&call), SWITCHES);
		assert_true(host_threads() >= 2); /* two streams */
		assert_int_equal(sums.rows, SWITCHES);
		assert_true(sums.first == 2120797362975);
		assert_true(sums.demo > 0 && sums.sum > 0);
	}
	assert_int_equal(host_type("ts"), DUCK_TIMESTAMP_NS);
	assert_int_equal(host_type("cpu"), DUCK_INTEGER);
	assert_int_equal(host_type("next_comm"), DUCK_VARCHAR);
	assert_int_equal(host_type("perf_ip"), DUCK_UBIGINT);
	assert_int_equal(host_type("prev_state"), DUCK_BIGINT);
	assert_int_equal(host_alive(), 0);
}

static void add_event(void *arg, const struct host_call *call, size_t row)
{
	(void)call;
	*(long *)arg += !strcmp(host_text(3, row), "sched:sched_switch");
	assert_true(host_text(4, row)[0] == '{' && host_text(5, row)[0] == '{');
}

static void all_events(void **state)
{
	static const char *const columns[] = {"ts",      "stream", "cpu", "name",
					      "context", "fields", NULL};
	const struct host_value values[] = {text(demo), text("*"), {0}};
	long found = 0;
	const struct host_call call = {.function = "yore_events",
				       .values = values,
				       .columns = columns,
				       .threads = 2,
				       .row = add_event,
				       .arg = &found};
	const struct host_call counted = {.function = "yore_events", .values = values};

	(void)state;
	assert_int_equal(host_run(&call), EVENTS);
	assert_int_equal(found, SWITCHES);
	assert_int_equal(host_run(&counted), EVENTS);
	assert_int_equal(host_alive(), 0);
}

static void ranges(void **state)
{
	static const char *const columns[] = {"ts", "cpu", NULL};
	long before = 0, behind = 0;
	(void)state;
	for (int i = 0; i < 2; i++) {
		int type = i ? DUCK_TIMESTAMP_NS : DUCK_BIGINT;
		const struct host_value until[] = {
			text(demo), text("*"), named("until", type, NULL, FIRST + 1000000), {0}};
		const struct host_value begin[] = {
			text(demo), text("*"), named("begin", type, NULL, FIRST + 1000000), {0}};
		const struct host_value words[] = {
			text(demo), text("*"), named("begin", DUCK_VARCHAR, "+1ms", 0), {0}};
		before = host_run(&(struct host_call){
			.function = "yore_events", .values = until, .columns = columns});
		behind = host_run(&(struct host_call){.function = "yore_events",
						      .values = begin,
						      .columns = columns,
						      .threads = 2});
		assert_true(before > 0 && behind > 0);
		assert_int_equal(before + behind, EVENTS);
		assert_int_equal(host_run(&(struct host_call){.function = "yore_events",
							      .values = words,
							      .columns = columns}),
				 behind);
	}
	assert_int_equal(host_alive(), 0);
}

/* ---- state ---- */

static void add_dur(void *arg, const struct host_call *call, size_t row)
{
	(void)call;
	assert_true(host_is_null(0, row) || host_is_null(1, row) || host_is_null(2, row) ||
		    host_number(1, row) - host_number(0, row) == host_number(2, row));
	assert_int_equal(strncmp(host_text(3, row), "cpu[", 4), 0);
	assert_int_equal(atoll(host_text(4, row)), host_number(5, row));
	assert_true(host_is_null(6, row) && host_is_null(7, row));
	*(long *)arg += 1;
}

static void intervals(void **state)
{
	static const char *const columns[] = {"ts",          "until",      "dur",
					      "path",        "value",      "value_int",
					      "value_float", "value_bool", NULL};
	const struct host_value values[] = {text(demo), text("cpu[*]/thread"), {0}};
	const struct host_value part[] = {text(demo),
					  text("cpu[*]/thread"),
					  named("begin", DUCK_VARCHAR, "+1ms", 0),
					  named("until", DUCK_VARCHAR, "+2ms", 0),
					  {0}};
	const struct host_value none[] = {text(demo),
					  text("cpu[*]/thread"),
					  named("begin", DUCK_BIGINT, NULL, FIRST),
					  named("until", DUCK_BIGINT, NULL, FIRST),
					  {0}};
	long rows = 0;

	(void)state;
	long all = host_run(&(struct host_call){.function = "yore_state",
						.values = values,
						.columns = columns,
						.row = add_dur,
						.arg = &rows});
	assert_true(all > 100 && all == rows);
	assert_int_equal(host_threads(), 1);
	long some = host_run(&(struct host_call){.function = "yore_state", .values = part});
	assert_true(some > 0 && some < all);
	assert_int_equal(host_run(&(struct host_call){.function = "yore_state", .values = none}),
			 0);
	assert_int_equal(host_alive(), 0);
}

static void see_value(void *arg, const struct host_call *call, size_t row)
{
	(void)call;
	if (!strcmp(host_text(0, row), "cpu[0]/thread")) {
		assert_int_equal(host_number(1, row), 10887);
		assert_true(host_number(2, row) == 2120797632407);
		assert_int_equal(host_number(3, row), 1);
	} else {
		assert_true(host_is_null(1, row));
		assert_int_equal(host_number(3, row), 0);
	}
	*(long *)arg += 1;
}

static void moments(void **state)
{
	static const char *const columns[] = {"path", "value_int", "since", "known", NULL};
	const struct host_value values[] = {text(demo), text("+1ms"), text("cpu[*]/thread"), {0}};
	long rows = 0;
	const struct host_call call = {.function = "yore_at",
				       .values = values,
				       .columns = columns,
				       .row = see_value,
				       .arg = &rows};

	(void)state;
	assert_int_equal(host_run(&call), 2);
	assert_int_equal(rows, 2);
	assert_int_equal(host_alive(), 0);
}

/* ---- tables that SQL has, too ---- */

static void add_running(void *arg, const struct host_call *call, size_t row)
{
	(void)call;
	assert_int_equal(host_number(1, row) - host_number(0, row), host_number(2, row));
	assert_true(host_number(4, row) > 0);
	if (!strcmp(host_text(3, row), "running"))
		*(long *)arg += host_number(2, row);
}

static void add_known(void *arg, const struct host_call *call, size_t row)
{
	(void)call;
	if (host_number(0, row) > 0 && !host_is_null(1, row))
		*(long *)arg += host_number(1, row);
}

/* The second question finds what the first one kept. */
static void asked_again(void **state)
{
	static const char *const columns[] = {"ts", NULL};
	const struct host_value values[] = {text(demo), text("sched_wakeup"), {0}};
	const struct host_value part[] = {text(demo),
					  text("sched_wakeup"),
					  named("begin", DUCK_VARCHAR, "+1ms", 0),
					  named("until", DUCK_VARCHAR, "+2ms", 0),
					  {0}};
	long all[3], some[3];

	(void)state;
	for (unsigned i = 0; i < COUNT(all); i++) {
		all[i] = host_run(&(struct host_call){.function = "yore_events",
						      .values = values,
						      .columns = columns,
						      .threads = i + 1});
		some[i] = host_run(&(struct host_call){
			.function = "yore_events", .values = part, .columns = columns + 1});
		assert_int_equal(all[i], all[0]);
		assert_int_equal(some[i], some[0]);
	}
	assert_true(some[0] > 0 && some[0] < all[0]);
	assert_int_equal(host_alive(), 0);
}

/* A thread runs while a CPU has it. */
static void threads_run_on_cpus(void **state)
{
	static const char *const columns[] = {"begin", "end", "dur", "state", "tid", NULL};
	static const char *const on_cpus[] = {"value_int", "dur", NULL};
	const struct host_value values[] = {text(demo), {0}};
	const struct host_value cpus[] = {text(demo), text("cpu[*]/thread"), {0}};
	const struct host_value part[] = {text(demo),
					  named("begin", DUCK_VARCHAR, "+1ms", 0),
					  named("until", DUCK_VARCHAR, "+2ms", 0),
					  {0}};
	long running = 0, known = 0;

	(void)state;
	long all = host_run(&(struct host_call){.function = "yore_thread_state",
						.values = values,
						.columns = columns,
						.row = add_running,
						.arg = &running});
	assert_int_equal(host_type("begin"), DUCK_TIMESTAMP_NS);
	assert_true(host_run(&(struct host_call){.function = "yore_state",
						 .values = cpus,
						 .columns = on_cpus,
						 .row = add_known,
						 .arg = &known}) > 0);
	assert_true(running > 0 && running <= known);
	long some = host_run(&(struct host_call){.function = "yore_thread_state", .values = part});
	assert_true(some > 0 && some < all);
	assert_int_equal(host_alive(), 0);
}

static void see_stream(void *arg, const struct host_call *call, size_t row)
{
	(void)call;
	assert_int_equal(strncmp(host_text(0, row), "perf_stream_", 12), 0);
	assert_string_equal(host_text(1, row), "perf_clock");
	*(long *)arg += 1;
}

static void small_tables(void **state)
{
	static const char *const columns[] = {"name", "clock", NULL};
	const struct host_value values[] = {text(demo), {0}};
	long rows = 0;

	(void)state;
	assert_int_equal(host_run(&(struct host_call){.function = "yore_streams",
						      .values = values,
						      .columns = columns,
						      .row = see_stream,
						      .arg = &rows}),
			 2);
	assert_int_equal(rows, 2);
	assert_true(host_run(&(struct host_call){.function = "yore_threads", .values = values}) >
		    0);
	assert_int_equal(
		host_run(&(struct host_call){.function = "yore_syscalls", .values = values}), 0);
	assert_int_equal(host_alive(), 0);
}

/* ---- what ends early, and what is wrong ---- */

static void limits_free_all(void **state)
{
	static const char *const columns[] = {"ts", NULL};
	const struct host_value values[] = {text(demo), text("*"), {0}};
	const struct host_call call = {.function = "yore_events",
				       .values = values,
				       .columns = columns,
				       .threads = 3,
				       .chunks = 1};
	const struct host_call of_state = {
		.function = "yore_state",
		.values = (const struct host_value[]){text(demo), text("**"), {0}},
		.columns = columns,
		.chunks = 1};
	const struct host_call of_wakeups = {.function = "yore_wakeups",
					     .values = (const struct host_value[]){text(demo), {0}},
					     .columns = columns,
					     .chunks = 1};

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(host_run(&of_wakeups), HOST_ROWS);
		assert_int_equal(host_run(&call), HOST_ROWS);
		assert_int_equal(host_run(&of_state), HOST_ROWS);
		assert_int_equal(host_alive(), 0);
	}
}

static const struct mistake {
	const char *name, *function, *first, *second, *third, *says;
	const char *begin, *until;
} mistakes[] = {
	{"no such trace", "yore_events", "/nowhere", "*", NULL, "No such file", NULL, NULL},
	{"no trace", "yore_events", NULL, "*", NULL, "the path of a trace is NULL", NULL, NULL},
	{"no such events", "yore_events", demo, "none", NULL, "no events called 'none'", NULL,
	 NULL},
	{"no such glob", "yore_events", demo, "no*", NULL, "no events called 'no*'", NULL, NULL},
	{"no name", "yore_events", demo, NULL, NULL, "the name of events is NULL", NULL, NULL},
	{"no time", "yore_events", demo, "*", NULL, "time 'noon'", "noon", NULL},
	{"no end", "yore_events", demo, "*", NULL, "time 'noon'", "+1ms", "noon"},
	{"ends before", "yore_events", demo, "*", NULL, "lies before its begin", "+2ms", "+1ms"},
	{"no PATH", "yore_state", demo, "cpu[", NULL, "column 5", NULL, NULL},
	{"no attribute", "yore_state", demo, "nothing", NULL, "no attribute 'nothing'", NULL, NULL},
	{"NULL as PATH", "yore_state", demo, NULL, NULL, "path of an attribute is NULL", NULL,
	 NULL},
	{"no begin of a state", "yore_state", demo, "cpu[*]/thread", NULL, "time 'x'", "x", "+1ms"},
	{"no moment", "yore_at", demo, "noon", "cpu[*]/thread", "time 'noon'", NULL, NULL},
	{"NULL as moment", "yore_at", demo, NULL, "cpu[*]/thread", "a moment is NULL", NULL, NULL},
};

static void one_error(void **state)
{
	const struct mistake *is = *state;
	const char *const words[] = {is->first, is->second, is->third};
	struct host_value values[6] = {{0}};
	size_t n = 0;

	for (size_t i = 0; i < 2u + (is->third != NULL); i++)
		values[n++] = words[i] ? text(words[i]) : named(NULL, 0, "", 0);
	if (is->begin)
		values[n++] = named("begin", DUCK_VARCHAR, is->begin, 0);
	if (is->until)
		values[n++] = named("until", DUCK_VARCHAR, is->until, 0);
	assert_int_equal(host_run(&(struct host_call){.function = is->function, .values = values}),
			 -1);
	if (!strstr(host_error(), is->says))
		fail_msg("says: %s", host_error());
	assert_int_equal(host_alive(), 0);
}

__attribute__((format(printf, 1, 2))) static void run_shell(const char *format, ...)
{
	char command[16384];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof command, format, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

static void damage_is_an_error(void **state)
{
	char cut[4096];
	const struct host_value values[] = {text(cut), text("*"), {0}};
	const struct host_value skips[] = {
		text(cut), text("*"), named("skip_damage", DUCK_BOOLEAN, NULL, 1), {0}};

	(void)state;
	snprintf(cut, sizeof cut, "%s/cut", work);
	run_shell("cp -r '%s' '%s' && chmod -R u+w '%s'", demo, cut, cut);
	for (int i = 0; i < 2; i++) /* it stays open behind these */
		assert_int_equal(
			host_run(&(struct host_call){.function = "yore_events", .values = values}),
			EVENTS);
	run_shell("cd '%s' && truncate -s -30000 \"$(ls -S | grep -v metadata | head -n 1)\"", cut);
	for (unsigned threads = 1; threads < 3; threads++) {
		assert_int_equal(host_run(&(struct host_call){.function = "yore_events",
							      .values = values,
							      .threads = threads}),
				 -1);
		assert_non_null(strstr(host_error(), "/cut/perf_stream_"));
		assert_non_null(strstr(host_error(), "offset"));
		assert_non_null(strstr(host_error(), "skip_damage := true"));
		long rows = host_run(&(struct host_call){
			.function = "yore_events", .values = skips, .threads = threads});
		assert_int_equal(rows, 666); /* as `yore events --count` says */
	}
	assert_int_equal(host_alive(), 0);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(mistakes) + 12];
	const char *top = getenv("srcdir"), *build = getenv("top_builddir");
	size_t n = 0;

	if (!mkdtemp(work))
		return 1;
	setenv("YORE_INDEX_DIR", work, 1);
	snprintf(demo, sizeof demo, "%s/fixtures/golden/sched-demo", top ? top : ".");
	snprintf(extension, sizeof extension, "%s/yore.duckdb_extension", build ? build : ".");
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(has_a_footer);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(switches);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(all_events);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(ranges);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(intervals);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(moments);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(asked_again);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(threads_run_on_cpus);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(small_tables);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(limits_free_all);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(damage_is_an_error);
	ADD_ROWS(tests, n, mistakes, one_error);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(an_older_host_is_refused);
	host_load(extension);
	int status = cmocka_run_group_tests(tests, NULL, NULL);
	run_shell("rm -rf '%s'", work);
	return status;
}
