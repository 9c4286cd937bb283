/*
 * thread.c - --tid, --pid, --comm and names as conditions
 *
 * "The thread then running" is what the event itself says, where its class has a context tid, pid
 * or procname, or perf's sample beside it, or what its stream is of; else what the rules know of the event's CPU just before
 * it. The language has no choice between values, so each candidate is guarded by has(), which the
 * class decides when it is compiled:
 *
 *     has(context/tid) && (context/tid in (42)) || !has(context/tid) && (...)
 */
#include "state/filter/where.h"

#include "engine/base/buf.h"

#include <inttypes.h>

static const char *const own_tid[] = {"context/tid", "context/vtid", "field/perf_tid", NULL};
static const char *const own_pid[] = {"context/pid", "context/vpid", "field/perf_pid", NULL};
static const char *const own_comm[] = {"context/procname", "field/perf_comm", NULL};

struct test { /* of one value: it is one of these */
	const struct where_range *ranges;
	const char *const *globs; /* NULL: ranges */
	size_t count;
};

static void add_ranges(struct buf *out, const char *value, const struct test *test)
{
	size_t singles = 0, n = 0;

	for (size_t i = 0; i < test->count; i++) {
		if (test->ranges[i].low != test->ranges[i].high)
			continue;
		buf_printf(out, "%s%" PRIu64, singles++ ? ", " : "", test->ranges[i].low);
	}
	if (singles)
		buf_add_char(out, ')');
	for (size_t i = 0; i < test->count; i++) {
		if (test->ranges[i].low == test->ranges[i].high)
			continue;
		buf_printf(out, "%s%s >= %" PRIu64 " && %s <= %" PRIu64,
			   singles || n++ ? " || " : "", value, test->ranges[i].low, value,
			   test->ranges[i].high);
	}
}

/* A backslash takes what follows literally, as in a shell; in rules [x] does. */
static void add_glob(struct buf *out, const char *glob)
{
	for (; *glob; glob++) {
		bool literal = *glob == '\\' && glob[1];
		glob += literal;
		if (literal)
			buf_add_char(out, '[');
		if (*glob == '"' || *glob == '\\')
			buf_add_char(out, '\\');
		buf_add_char(out, *glob);
		if (literal)
			buf_add_char(out, ']');
	}
}

static void add_globs(struct buf *out, const char *value, const struct test *test)
{
	for (size_t i = 0; i < test->count; i++) {
		buf_printf(out, "%s%s ~ \"", i ? " || " : "", value);
		add_glob(out, test->globs[i]);
		buf_add_char(out, '"');
	}
}

static bool has_single(const struct test *test)
{
	for (size_t i = 0; i < test->count && !test->globs; i++)
		if (test->ranges[i].low == test->ranges[i].high)
			return true;
	return false;
}

static void add_test(struct buf *out, const char *value, const struct test *test)
{
	buf_add_char(out, '(');
	if (has_single(test))
		buf_printf(out, "%s in (", value);
	if (test->globs)
		add_globs(out, value, test);
	else
		add_ranges(out, value, test);
	buf_add_char(out, ')');
}

/* A class that has `name` is tested by `value`; all others by what comes behind. */
static void add_guarded(struct buf *out, const char *name, const char *value,
			const struct test *test)
{
	buf_printf(out, "(has(%s) && ", name);
	add_test(out, value, test);
	buf_printf(out, " || !has(%s) && ", name);
}

/* The event's own value, else what the rules say of its thread. */
static void add_of_thread(struct buf *out, const char *const *own, const char *what,
			  const struct test *test)
{
	struct buf path = {0};
	size_t open = 0;

	for (; own[open]; open++)
		add_guarded(out, own[open], own[open], test);
	for (size_t i = 0; own_tid[i]; i++, open++) {
		buf_clear(&path);
		buf_printf(&path, "thread[%s]/%s", own_tid[i], what);
		add_guarded(out, own_tid[i], buf_text(&path), test);
	}
	buf_clear(&path);
	buf_printf(&path, "thread[cpu[cpu]/thread]/%s", what);
	add_test(out, buf_text(&path), test);
	while (open-- > 0)
		buf_add_char(out, ')');
	buf_release(&path);
}

void where_tid_text(const struct where_range *ranges, size_t count, bool streams, struct buf *out)
{
	const struct test test = {.ranges = ranges, .count = count};
	size_t open = 0;

	if (streams)
		add_guarded(out, "section/tid", "section/tid", &test);
	for (; own_tid[open]; open++)
		add_guarded(out, own_tid[open], own_tid[open], &test);
	add_test(out, "cpu[cpu]/thread", &test);
	for (open += streams; open-- > 0;)
		buf_add_char(out, ')');
}

void where_pid_text(const struct where_range *ranges, size_t count, bool streams, struct buf *out)
{
	const struct test test = {.ranges = ranges, .count = count};

	if (streams)
		add_guarded(out, "section/pid", "section/pid", &test);
	add_of_thread(out, own_pid, "process", &test);
	if (streams)
		buf_add_char(out, ')');
}

void where_comm_text(const char *const *globs, size_t count, struct buf *out)
{
	add_of_thread(out, own_comm, "name", &(struct test){.globs = globs, .count = count});
}

void where_name_text(const char *glob, struct buf *out)
{
	buf_add_text(out, "(name ~ \"");
	add_glob(out, glob);
	buf_add_text(out, "\" || name ~ \"*:");
	add_glob(out, glob);
	buf_add_text(out, "\")");
}

void where_literal(const char *text, struct buf *out)
{
	buf_add_char(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_add_char(out, '\\');
		buf_add_char(out, *text);
	}
	buf_add_char(out, '"');
}
