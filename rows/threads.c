/*
 * threads.c - the table `threads`: a row per life of a thread id
 *
 *     threads(tid, pid, comm, begin, end, parent, exec)
 *
 * A life begins when the state first has one of the attributes below. It ends when thread[T]/state
 * becomes "dead" or the rules delete the attributes; `end` is NULL if it goes on. If the kernel
 * reuses the id, the next life begins with the next value. A row has the last values of its life.
 * Rows are made once per connection, from intervals:
 *
 *     name   |-- bash --|-- make --|           |-- cc1 --|
 *     state  |--|--|--|-----|--dead|           |--|--|---|
 *     life   |--------------|                  |---------|
 */
#include "rows/row_table.h"

#include "engine/base/mem.h"
#include "state/comms.h"
#include "state/intervals/stretches.h"

#include <stdlib.h>
#include <string.h>

enum { AT_TID, AT_PID, AT_COMM, AT_BEGIN, AT_END, AT_PARENT, AT_EXEC, AT_TRACE, COLUMNS };
enum { OF_NAME, OF_PROCESS, OF_PARENT, OF_EXEC, OF_STATE, ATTRIBUTES };

static const char *const paths[ATTRIBUTES] = {"thread[*]/name", "thread[*]/process",
					      "thread[*]/parent", "thread[*]/exec",
					      "thread[*]/state"};

struct thread_telling { /* an interval of one attribute */
	struct value tid;
	nstime begin, end;
	unsigned of;
	bool dead; /* OF_STATE */
	struct value value;
};

struct tellings {
	struct arena *arena;
	struct thread_telling *items;
	size_t count, capacity;
};

struct threads {
	struct arena *arena;
	struct value *cells;
	size_t ncells;
};

void threads_free(struct threads *threads)
{
	if (!threads)
		return;
	arena_free(threads->arena);
	mem_free(threads->cells);
	mem_free(threads);
}

static unsigned attribute_of(const char *path)
{
	const char *name = strchr(path, '/') + 1;

	for (unsigned i = 0; i < ATTRIBUTES; i++)
		if (strcmp(name, strchr(paths[i], '/') + 1) == 0)
			return i;
	return ATTRIBUTES;
}

/* Joins a thread's state to the interval before it, if they touch and both are dead or both not. */
static bool joins(struct tellings *parts, const struct thread_telling *part)
{
	struct thread_telling *last = parts->count ? &parts->items[parts->count - 1] : NULL;

	if (!last || part->of != OF_STATE || last->of != OF_STATE ||
	    !value_equal(&last->tid, &part->tid) || last->dead != part->dead ||
	    last->end != part->begin)
		return false;
	last->end = part->end;
	return true;
}

static bool take_interval(void *arg, const struct interval *interval)
{
	struct tellings *parts = arg;
	struct thread_telling part = {.begin = interval->begin, .end = interval->end};

	if (!comm_thread_of(interval->path, &part.tid))
		return true;
	part.of = attribute_of(interval->path);
	part.dead = part.of == OF_STATE && value_is_text(&interval->value, "dead");
	if (part.of == ATTRIBUTES || joins(parts, &part))
		return true;
	part.value = part.of == OF_STATE ? (struct value){.kind = VALUE_NONE}
					 : value_copy(parts->arena, &interval->value);
	*mem_push(parts->items, parts->count, parts->capacity) = part;
	return true;
}

static int by_thread(const void *a, const void *b)
{
	const struct thread_telling *x = a, *y = b;
	int order = value_compare(&x->tid, &y->tid);

	if (order || x->begin != y->begin)
		return order ? order : x->begin < y->begin ? -1 : 1;
	return x->of < y->of ? -1 : x->of > y->of;
}

static bool read_parts(struct row_host *host, struct tellings *parts, struct error *err)
{
	struct query *queries[ATTRIBUTES] = {NULL};
	struct stretches todo = {0};
	struct state *state;
	bool good = row_host_state(host, &state, err);

	for (unsigned i = 0; i < ATTRIBUTES && good; i++)
		good = query_parse(paths[i], &queries[i], err);
	good = good && stretches_begin(&todo, state, NSTIME_MIN, NSTIME_MAX,
				       (const struct query *const *)queries, ATTRIBUTES, err);
	while (good && stretches_more(&todo))
		good = stretches_next(&todo, take_interval, parts, err);
	stretches_end(&todo);
	for (unsigned i = 0; i < ATTRIBUTES; i++)
		query_free(queries[i]);
	if (good && parts->count)
		qsort(parts->items, parts->count, sizeof *parts->items, by_thread);
	return good;
}

struct life {
	nstime begin, end; /* end: up to which something is known so far */
	bool dead;         /* `end` is when it died */
	const struct thread_telling *last[ATTRIBUTES];
};

static void put_life(struct row_list *list, const struct value *tid, const struct life *life)
{
	static const int columns[] = {[OF_NAME] = AT_COMM,
				      [OF_PROCESS] = AT_PID,
				      [OF_PARENT] = AT_PARENT,
				      [OF_EXEC] = AT_EXEC};
	struct value *row = row_list_add(list);

	cell_integer(&row[AT_TID], (int64_t)tid->u);
	cell_time(&row[AT_BEGIN], life->begin);
	cell_time(&row[AT_END], life->end);
	for (unsigned i = 0; i < OF_STATE; i++)
		if (life->last[i])
			row[columns[i]] = life->last[i]->value;
}

/*
 * Fills *life from part `from` on, and returns the index of the part that begins the next life: one
 * that begins after a gap, or a state other than dead after "dead". The parts are of one thread, by
 * rising begin.
 */
static size_t read_life(const struct thread_telling *parts, size_t from, size_t count,
			struct life *life)
{
	nstime until = parts[from].begin; /* something is known up to here */
	size_t i;

	*life = (struct life){.begin = parts[from].begin};
	for (i = from; i < count; i++) {
		const struct thread_telling *part = &parts[i];
		bool again = life->dead && part->of == OF_STATE && !part->dead;
		if (part->begin > until || again)
			break;
		until = part->end > until ? part->end : until;
		life->last[part->of] = part;
		if (part->dead && !life->dead) {
			life->dead = true;
			life->end = part->begin;
		}
	}
	if (!life->dead)
		life->end = until;
	return i;
}

/* Adds the lives of one thread. A value that lasts into the next life stands in both rows. */
static void put_thread(struct row_list *list, const struct thread_telling *parts, size_t count)
{
	struct life life, before = {0};

	for (size_t i = 0, next; i < count; i = next) {
		next = read_life(parts, i, count, &life);
		for (unsigned k = 0; k < OF_STATE; k++)
			if (!life.last[k] && before.last[k] && before.last[k]->end > life.begin)
				life.last[k] = before.last[k];
		put_life(list, &parts[i].tid, &life);
		before = life;
	}
}

static bool make(struct row_host *host, struct threads *threads, struct error *err)
{
	struct tellings parts = {.arena = threads->arena};
	struct row_list list = {.arena = threads->arena, .ncolumns = COLUMNS};
	bool good = read_parts(host, &parts, err);

	for (size_t from = 0, to; good && from < parts.count; from = to) {
		for (to = from + 1;
		     to < parts.count && value_equal(&parts.items[to].tid, &parts.items[from].tid);)
			to++;
		put_thread(&list, parts.items + from, to - from);
	}
	mem_free(parts.items);
	threads->cells = list.cells;
	threads->ncells = list.ncells;
	return good;
}

static bool threads_fill(struct row_host *host, struct row_list *list, struct error *err)
{
	if (!host->threads) {
		struct threads *threads = mem_new(sizeof *threads);
		threads->arena = arena_new();
		if (!make(host, threads, err)) {
			threads_free(threads);
			return false;
		}
		host->threads = threads;
	}
	for (size_t i = 0; i < host->threads->ncells; i += list->ncolumns)
		memcpy(row_list_add(list), host->threads->cells + i,
		       list->ncolumns * sizeof(struct value));
	return true;
}

static const struct row_column columns_of_threads[] = {
	{"tid", .type = ROW_INTEGER}, {"pid", .type = ROW_INTEGER},
	{"comm", .type = ROW_TEXT},   {"begin", .type = ROW_TIME},
	{"end", .type = ROW_TIME},    {"parent", .type = ROW_INTEGER},
	{"exec", .type = ROW_TEXT},   ROW_TRACE_COLUMN};
const struct row_table row_threads = {columns_of_threads, COLUMNS, .fill = threads_fill};
