/*
 * thread.c - --tid, --pid, --comm and names as conditions
 *
 * The thread then running is the event's own, if its class has a context tid, pid or procname or a
 * perf sample, or that of its stream; else the state of the event's CPU just before it. Each
 * candidate is guarded by has(), which is constant per class:
 *
 *     has(context/tid) && (context/tid in (42)) || !has(context/tid) && (...)
 */
#include "state/filter/where.h"

#include "engine/base/buf.h"

#include <inttypes.h>

static const char *const own_tid[] = {"context/tid", "context/vtid", "field/perf_tid", NULL};
static const char *const own_pid[] = {"context/pid", "context/vpid", "field/perf_pid", NULL};
static const char *const own_comm[] = {"context/procname", "field/perf_comm", NULL};

struct thread_test { /* a test for one of several values */
	const struct where_range *ranges;
	const char *const *globs; /* NULL: ranges */
	size_t count;
};

static void add_ranges(struct buf *out, const char *value, const struct thread_test *test)
{
	size_t singles = 0, n = 0;

	for (size_t i = 0; i < test->count; i++) {
		if (test->ranges[i].low != test->ranges[i].high)
			continue;
		if (singles++)
			buf_add_text(out, ", ");
		else
			buf_printf(out, "%s in (", value);
		buf_add_u64(out, test->ranges[i].low);
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

/* Converts a shell glob to one of rules: \x becomes [x]. */
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

static void add_globs(struct buf *out, const char *value, const struct thread_test *test)
{
	for (size_t i = 0; i < test->count; i++) {
		buf_printf(out, "%s%s ~ \"", i ? " || " : "", value);
		add_glob(out, test->globs[i]);
		buf_add_char(out, '"');
	}
}

static void add_test(struct buf *out, const char *value, const struct thread_test *test)
{
	buf_add_char(out, '(');
	if (test->globs)
		add_globs(out, value, test);
	else
		add_ranges(out, value, test);
	buf_add_char(out, ')');
}

/* Appends a test of `value` for classes that have `name`; others use what is appended next. */
static void add_guarded(struct buf *out, const char *name, const char *value,
			const struct thread_test *test)
{
	buf_printf(out, "(has(%s) && ", name);
	add_test(out, value, test);
	buf_printf(out, " || !has(%s) && ", name);
}

/*
 * Appends tests of the stream's value (NULL: none), the event's own, else the state's; `what` is
 * the attribute of the thread, NULL: its id.
 */
static void add_of_thread(struct buf *out, const char *stream, const char *const *own,
			  const char *what, const struct thread_test *test)
{
	struct buf path = {0};
	size_t open = stream != NULL;

	if (stream)
		add_guarded(out, stream, stream, test);
	for (size_t i = 0; own[i]; i++, open++)
		add_guarded(out, own[i], own[i], test);
	for (size_t i = 0; what && own_tid[i]; i++, open++) {
		buf_clear(&path);
		buf_printf(&path, "thread[%s]/%s", own_tid[i], what);
		add_guarded(out, own_tid[i], buf_text(&path), test);
	}
	buf_clear(&path);
	if (what)
		buf_printf(&path, "thread[cpu[cpu]/thread]/%s", what);
	else
		buf_add_text(&path, "cpu[cpu]/thread");
	add_test(out, buf_text(&path), test);
	while (open-- > 0)
		buf_add_char(out, ')');
	buf_release(&path);
}

void where_tid_text(const struct where_range *ranges, size_t count, bool streams, struct buf *out)
{
	const struct thread_test test = {.ranges = ranges, .count = count};

	add_of_thread(out, streams ? "section/tid" : NULL, own_tid, NULL, &test);
}

void where_pid_text(const struct where_range *ranges, size_t count, bool streams, struct buf *out)
{
	const struct thread_test test = {.ranges = ranges, .count = count};

	add_of_thread(out, streams ? "section/pid" : NULL, own_pid, "process", &test);
}

void where_comm_text(const char *const *globs, size_t count, struct buf *out)
{
	const struct thread_test test = {.globs = globs, .count = count};

	add_of_thread(out, NULL, own_comm, "name", &test);
}

void where_name_text(const char *glob, struct buf *out)
{
	buf_add_text(out, "(name ~ \"");
	add_glob(out, glob);
	buf_add_text(out, "\" || name ~ \"*:");
	add_glob(out, glob);
	buf_add_text(out, "\")");
}
