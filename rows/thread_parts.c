/* thread_parts.c - rows from intervals of attributes of threads: see thread_rows.h */
#include "rows/comms.h"
#include "rows/thread_rows.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/comms.h"

#include <stdlib.h>
#include <string.h>

static unsigned attribute_of(const char *path, const char *main)
{
	const char *name = strchr(path, '/') + 1;

	return !strcmp(name, main)     ? OF_MAIN
	       : !strcmp(name, "cpu")  ? OF_CPU
	       : !strcmp(name, "name") ? OF_NAME
				       : OF_WAKER;
}

bool thread_rows_take_part(void *arg, const struct interval *interval)
{
	struct thread_rows *cursor = arg;
	struct segment_piece part = {.begin = interval->begin > cursor->from ? interval->begin
									     : cursor->from,
				     .end = interval->end < cursor->to ? interval->end : cursor->to,
				     .lost = interval->lost && interval->end <= cursor->to};
	struct value tid;

	if (cursor->calls)
		cpu_runs_add_part(calls_runs(cursor->calls), interval);
	if (!comm_thread_of(interval->path, &tid) || part.begin >= part.end)
		return true;
	part.tid = (int64_t)tid.u;
	part.of = attribute_of(interval->path, cursor->kind->main);
	if (part.of == OF_NAME) {
		comms_along_add(cursor->head.host, interval);
		return true;
	}
	part.value = value_copy(cursor->arena, &interval->value);
	*mem_push(cursor->parts, cursor->nparts, cursor->parts_capacity) = part;
	return true;
}

static int by_thread(const void *a, const void *b)
{
	const struct segment_piece *x = a, *y = b;

	return three_way(x->tid, y->tid) ?: three_way(x->of, y->of) ?: three_way(x->begin, y->begin);
}

void thread_rows_sort_parts(struct thread_rows *cursor)
{
	if (cursor->nparts)
		qsort(cursor->parts, cursor->nparts, sizeof *cursor->parts, by_thread);
}

/* The value at `t` in parts [from, past) of one attribute; VALUE_NONE: unknown. */
static struct value value_at(const struct segment_piece *parts, size_t from, size_t past, nstime t)
{
	size_t low = search_first(i, from, past, parts[i].begin <= t);

	return low > from && t < parts[low - 1].end ? parts[low - 1].value
						    : (struct value){.kind = VALUE_NONE};
}

/* ---- rows ---- */

struct value thread_rows_sample(const struct thread_parts *thread, unsigned of, nstime t)
{
	return value_at(thread->parts, thread->begin[of], thread->end[of], t);
}

static void copy_texts(struct arena *arena, struct thread_segment *segment)
{
	segment->value = value_copy(arena, &segment->value);
	segment->waker = value_copy(arena, &segment->waker);
}

static void add_segment(struct thread_rows *cursor, const struct open_part *part)
{
	if (cursor->kind->wakeups && !part->woken)
		return;
	struct thread_segment *row = mem_push(cursor->rows, cursor->head.count, cursor->capacity);
	*row = part->segment;
	copy_texts(cursor->arena, row); /* they may lie in cursor->carried */
}

static struct open_part begin_part(const struct thread_rows *cursor,
				   const struct thread_parts *thread,
				   const struct segment_piece *part, const struct open_part *before)
{
	/* a thread that exits still has its CPU */
	bool ran = before && before->segment.end == part->begin &&
		   (value_is_text(&before->segment.value, "running") ||
		    value_is_text(&before->segment.value, "exiting"));

	return (struct open_part){
		.segment = {.tid = part->tid,
			    .begin = part->begin,
			    .end = part->end,
			    .lost = part->lost,
			    .value = part->value,
			    .cpu = thread_rows_sample(thread, OF_CPU, part->begin),
			    .waker = thread_rows_sample(thread, OF_WAKER, part->begin)},
		.woken = value_is_text(&part->value, "ready") && !ran &&
			 part->begin > cursor->begin};
}

/* Ends the open row: `next` follows it; NULL: the attribute is unknown from there on. */
static void end_part(struct thread_rows *cursor, const struct thread_parts *thread,
		     struct open_part *open, const struct segment_piece *next)
{
	struct thread_segment *segment = &open->segment;

	if (cursor->kind->wakeups) {
		segment->ran = next && next->begin == segment->end &&
			       value_is_text(&next->value, "running");
		segment->cpu = segment->ran ? thread_rows_sample(thread, OF_CPU, next->begin)
					    : (struct value){.kind = VALUE_NONE};
	}
	add_segment(cursor, open);
}

static void carry(struct thread_rows *cursor, const struct open_part *open)
{
	*mem_push(cursor->next, cursor->nnext, cursor->next_capacity) = *open;
}

/* Makes the rows of one thread; `carried`: its open row from the last stretch, or NULL. */
static void read_thread(struct thread_rows *cursor, const struct thread_parts *thread,
			const struct open_part *carried)
{
	struct open_part open = {0};
	bool any = carried;

	if (carried)
		open = *carried;
	for (size_t i = thread->begin[OF_MAIN]; i < thread->end[OF_MAIN]; i++) {
		const struct segment_piece *part = &thread->parts[i];
		if (any && open.segment.end == part->begin &&
		    value_equal(&open.segment.value, &part->value)) {
			open.segment.end = part->end;
			open.segment.lost = part->lost;
			continue;
		}
		struct open_part begun = begin_part(cursor, thread, part, any ? &open : NULL);
		if (any)
			end_part(cursor, thread, &open, part);
		open = begun;
		any = true;
	}
	if (any && open.segment.end == cursor->to)
		carry(cursor, &open);
	else if (any)
		end_part(cursor, thread, &open, NULL);
}

size_t thread_rows_split_thread(const struct thread_rows *cursor, size_t at,
				struct thread_parts *out)
{
	const struct segment_piece *parts = cursor->parts;

	*out = (struct thread_parts){.tid = parts[at].tid, .parts = parts};
	for (unsigned of = 0; of < ATTRIBUTES; of++) {
		out->begin[of] = at;
		while (at < cursor->nparts && parts[at].tid == out->tid && parts[at].of == of)
			at++;
		out->end[of] = at;
	}
	return at;
}

/* Merges the threads that have parts in the stretch with those that have an open row. */
static void thread_parts_read_all(struct thread_rows *cursor)
{
	struct thread_parts thread;
	size_t at = 0, k = 0;

	thread_rows_sort_parts(cursor);
	cursor->nnext = 0;
	while (at < cursor->nparts || k < cursor->nopen) {
		const struct open_part *open = k < cursor->nopen ? &cursor->open[k] : NULL;
		thread = (struct thread_parts){.tid = INT64_MAX, .parts = cursor->parts};
		if (at < cursor->nparts && (!open || cursor->parts[at].tid <= open->segment.tid))
			at = thread_rows_split_thread(cursor, at, &thread);
		else
			thread.tid = open->segment.tid;
		bool carried = open && open->segment.tid == thread.tid;
		read_thread(cursor, &thread, carried ? open : NULL);
		k += carried;
	}
}

/* Makes `next` the open rows of the next stretch, and copies their texts. */
static void keep_carried(struct thread_rows *cursor)
{
	struct arena *fresh = arena_new();
	struct open_part *items = cursor->open;
	size_t capacity = cursor->open_capacity;

	cursor->open = cursor->next;
	cursor->nopen = cursor->nnext;
	cursor->open_capacity = cursor->next_capacity;
	cursor->next = items;
	cursor->next_capacity = capacity;
	for (size_t i = 0; i < cursor->nopen; i++)
		copy_texts(fresh, &cursor->open[i].segment);
	arena_free(cursor->carried);
	cursor->carried = fresh;
}

void thread_rows_read_threads(struct thread_rows *cursor, bool last)
{
	thread_parts_read_all(cursor);
	if (!last) {
		keep_carried(cursor);
		return;
	}
	for (size_t i = 0; i < cursor->nnext; i++)
		end_part(cursor, &(struct thread_parts){0}, &cursor->next[i], NULL);
	cursor->nopen = 0;
}
