/*
 * row_threads.c - see row_threads.h
 *
 * Reads once, for all threads, the intervals in which each had a name, process or CPU. The key of a
 * thread is the start of its path, thread[42] or host["a"]/thread[42].
 */
#include "repl/render/row_threads.h"

#include "engine/base/mem.h"
#include "repl/filter.h"
#include "state/comms.h"
#include "state/model/spells.h"
#include "state/state.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum told { TOLD_NAME, TOLD_PROCESS, TOLD_CPU, TOLD_COUNT };

static const char *const told_names[] = {"name", "process", "cpu"};

struct test { /* one option */
	const char *option;
	const struct words *words;
	struct where_range *ranges; /* the words that are numbers or ranges */
	size_t nranges;
	uint64_t unknown; /* rows left out because the thread's value is unknown */
};

struct row_threads {
	struct session *session;
	struct arena *arena;
	struct test cpus, tids, pids, comms;
	struct spells told[TOLD_COUNT];
	nstime begin, end; /* range over which names, processes and CPUs are read */
	bool moments;      /* rows are values at moments, no intervals */
	struct buf thread; /* path of the row's thread */
};

/* ---- names, processes and CPUs of threads ---- */

static bool add_spell(void *arg, const struct interval *interval)
{
	struct spells *spells = arg;
	size_t len = (size_t)(strrchr(interval->path, '/') - interval->path);

	spells_add(spells, spells_reach(spells, interval->path, len), interval->begin,
		   &interval->value);
	return true;
}

static bool read_spells(struct row_threads *rows, enum told told, struct error *err)
{
	struct spells *spells = &rows->told[told];
	struct state *state = session_state(rows->session, err);
	static const char *const beginnings[] = {"thread[*]/", "host[*]/thread[*]/",
						 "thread[0]/" /* initial values are in no list */};
	struct query *queries[3] = {NULL, NULL, NULL};
	struct buf path = {0};
	bool ok = state != NULL;

	spells->arena = rows->arena;
	for (int i = 0; i < 3 && ok; i++) {
		buf_clear(&path);
		buf_printf(&path, "%s%s", beginnings[i], told_names[told]);
		ok = query_parse(buf_text(&path), &queries[i], err);
	}
	if (ok && rows->begin < rows->end)
		ok = state_intervals(state, rows->begin, rows->end, INTERVALS_CUT,
				     (const struct query *const *)queries, 3, add_spell, spells,
				     err);
	for (int i = 0; i < 3; i++)
		query_free(queries[i]);
	buf_release(&path);
	return ok;
}

/* ---- options ---- */

static bool parse_test(struct row_threads *rows, struct test *test, const char *option,
		       const struct words *words, bool names, struct error *err)
{
	*test = (struct test){.option = option, .words = words};
	test->ranges = arena_array(rows->arena, words->count + 1, sizeof *test->ranges);
	for (size_t i = 0; i < words->count; i++)
		if (!(names && filter_is_name(words->items[i])) &&
		    !filter_parse_range(option, words->items[i], &test->ranges[test->nranges++],
					err))
			return false;
	return true;
}

static bool row_threads_read_all(struct row_threads *rows, struct error *err)
{
	bool names = rows->comms.words->count || rows->tids.nranges < rows->tids.words->count;

	return (!names || read_spells(rows, TOLD_NAME, err)) &&
	       (!rows->pids.words->count || read_spells(rows, TOLD_PROCESS, err)) &&
	       (!rows->cpus.words->count || read_spells(rows, TOLD_CPU, err));
}

static bool asks(const struct options *options)
{
	return options->cpus.count || options->tids.count || options->pids.count ||
	       options->comms.count;
}

static bool open_in(struct session *session, const struct options *options, nstime begin,
		    nstime end, bool moments, struct row_threads **out, struct error *err)
{
	static const struct words none = {0};
	struct row_threads *rows;

	if (!filter_look_up_cpus(session, &options->cpus, err))
		return false;
	rows = mem_new(sizeof *rows);
	rows->session = session;
	rows->arena = arena_new();
	rows->begin = begin;
	rows->end = end;
	rows->moments = moments;
	if (parse_test(rows, &rows->cpus, "--cpu", &options->cpus, false, err) &&
	    parse_test(rows, &rows->tids, "--tid", &options->tids, true, err) &&
	    parse_test(rows, &rows->pids, "--pid", &options->pids, false, err) &&
	    parse_test(rows, &rows->comms, "--comm", &none, false, err)) {
		rows->comms.words = &options->comms;
		if (row_threads_read_all(rows, err)) {
			*out = rows;
			return true;
		}
	}
	row_threads_close(rows);
	return false;
}

bool row_threads_open(struct session *session, const struct options *options,
		      struct row_threads **out, struct error *err)
{
	nstime begin, end;

	*out = NULL;
	return !asks(options) || (session_range(session, &begin, &end, err) &&
				  open_in(session, options, begin, end, false, out, err));
}

/* The first ns of the interval that stands for the moment. */
static nstime row_threads_begin_of(const struct moment *moment)
{
	return moment->before && moment->t > NSTIME_MIN ? moment->t - 1 : moment->t;
}

bool row_threads_open_at(struct session *session, const struct options *options,
			 const struct moment *moments, size_t count, struct row_threads **out,
			 struct error *err)
{
	nstime begin = NSTIME_MAX, end = NSTIME_MIN;

	*out = NULL;
	for (size_t i = 0; i < count; i++) {
		nstime t = row_threads_begin_of(&moments[i]);
		begin = t < begin ? t : begin;
		end = t < NSTIME_MAX && t >= end ? t + 1 : end;
	}
	return !asks(options) || open_in(session, options, begin, end, true, out, err);
}

static void note_unknown(struct row_threads *rows, const struct test *test, const char *what)
{
	if (test->unknown)
		session_note(rows->session,
			     "%s: %llu %s were left out: the %s of their threads is not known",
			     test->option, (unsigned long long)test->unknown,
			     rows->moments ? "values" : "intervals", what);
}

void row_threads_close(struct row_threads *rows)
{
	if (!rows)
		return;
	note_unknown(rows, &rows->cpus, "CPU");
	note_unknown(rows, &rows->tids, "name");
	note_unknown(rows, &rows->pids, "process");
	note_unknown(rows, &rows->comms, "name");
	for (int i = 0; i < TOLD_COUNT; i++)
		spells_release(&rows->told[i]);
	buf_release(&rows->thread);
	arena_free(rows->arena);
	mem_free(rows);
}

/* ---- rows ---- */

static const char *behind_host(const char *path)
{
	const char *end = strncmp(path, "host[", 5) ? NULL : strstr(path, "]/");

	return end ? end + 2 : path;
}

bool row_thread(const char *path, const struct value *value, struct value *tid)
{
	const char *own = behind_host(path);

	if (!comm_is_thread(own, value))
		return comm_thread_of(own, tid);
	*tid = *value;
	return true;
}

/* Sets rows->thread and *tid to path and number of the row's thread. False: it has none. */
static bool row_threads_of(struct row_threads *rows, const struct interval *interval,
			   struct value *tid)
{
	size_t host = (size_t)(behind_host(interval->path) - interval->path);

	buf_clear(&rows->thread);
	buf_add(&rows->thread, interval->path, host);
	if (!row_thread(interval->path, &interval->value, tid))
		return false;
	buf_add_text(&rows->thread, "thread[");
	value_add_key(tid, &rows->thread);
	buf_add_char(&rows->thread, ']');
	return true;
}

static bool in_ranges(const struct test *test, const struct value *value)
{
	for (size_t i = 0; i < test->nranges && value->kind == VALUE_INT && !value->negative; i++)
		if (value->u >= test->ranges[i].low && value->u <= test->ranges[i].high)
			return true;
	return false;
}

/* The values of the row's thread over the range; NULL: unknown, which is counted. */
static const struct spells_thing *told_of(struct row_threads *rows, enum told told,
					  struct test *test)
{
	const struct spells_thing *thread =
		spells_find(&rows->told[told], buf_text(&rows->thread), rows->thread.len);

	test->unknown += !thread;
	return thread;
}

static const char *name_of(const struct value *value)
{
	return value->kind == VALUE_STRING ? value->text : "";
}

/* Has the thread at some time a name that is a word of --tid? */
static bool pass_name(struct row_threads *rows)
{
	const struct words *words = rows->tids.words;
	const struct spells_thing *thread = told_of(rows, TOLD_NAME, &rows->tids);

	for (size_t i = 0; thread && i < thread->count; i++) {
		const char *name = name_of(&thread->items[i].value);
		for (size_t k = 0; k < words->count; k++)
			if (filter_is_name(words->items[k]) && !strcmp(words->items[k], name))
				return true;
	}
	return false;
}

/* The value when the row begins, else the first one while it lasts; NULL: unknown, and counted. */
static const struct spell *told_then(struct row_threads *rows, enum told told, struct test *test,
				     const struct interval *interval)
{
	const struct spells_thing *thread = told_of(rows, told, test);
	const struct spell *spell = spell_at(thread, interval->begin, interval->end);

	test->unknown += thread && !spell;
	return spell;
}

static bool pass_comm(struct row_threads *rows, const struct interval *interval)
{
	const struct spell *spell = told_then(rows, TOLD_NAME, &rows->comms, interval);

	if (!spell)
		return false;
	const char *name = name_of(&spell->value);
	for (size_t i = 0; i < rows->comms.words->count; i++)
		if (fnmatch(rows->comms.words->items[i], name, 0) == 0)
			return true;
	return false;
}

static bool pass_process(struct row_threads *rows)
{
	const struct spells_thing *thread = told_of(rows, TOLD_PROCESS, &rows->pids);

	for (size_t i = 0; thread && i < thread->count; i++)
		if (in_ranges(&rows->pids, &thread->items[i].value))
			return true;
	return false;
}

/* Finds cpu[3] or idle[3] anywhere in the path. */
bool row_cpu(const char *path, struct value *cpu)
{
	static const char *const steps[] = {"cpu[", "idle["};

	for (const char *step = behind_host(path); step; step = strchr(step, '/') ? strchr(step, '/') + 1 : NULL)
		for (int i = 0; i < 2; i++) {
			size_t len = strlen(steps[i]);
			char *end;
			if (strncmp(step, steps[i], len) != 0)
				continue;
			*cpu = value_u64(strtoull(step + len, &end, 10));
			if (end > step + len && *end == ']')
				return true;
		}
	return false;
}

static bool pass_cpu(struct row_threads *rows, bool thread, const struct interval *interval)
{
	const struct spell *spell;
	struct value own;

	if (row_cpu(interval->path, &own))
		return in_ranges(&rows->cpus, &own);
	spell = thread ? told_then(rows, TOLD_CPU, &rows->cpus, interval) : NULL;
	return spell && in_ranges(&rows->cpus, &spell->value);
}

bool row_threads_pass(struct row_threads *rows, const struct interval *interval)
{
	bool names = rows->tids.nranges < rows->tids.words->count;
	struct value tid;
	bool thread = row_threads_of(rows, interval, &tid);

	if (!thread && (rows->tids.words->count || rows->pids.words->count ||
			rows->comms.words->count))
		return false;
	return (!rows->tids.words->count || in_ranges(&rows->tids, &tid) ||
		(names && pass_name(rows))) &&
	       (!rows->comms.words->count || pass_comm(rows, interval)) &&
	       (!rows->pids.words->count || pass_process(rows)) &&
	       (!rows->cpus.words->count || pass_cpu(rows, thread, interval));
}

bool row_threads_pass_at(struct row_threads *rows, const struct moment *moment, const char *path,
			 const struct value *value)
{
	nstime begin = row_threads_begin_of(moment);

	return row_threads_pass(rows, &(struct interval){.path = path,
							 .begin = begin,
							 .end = begin + 1,
							 .value = *value});
}
