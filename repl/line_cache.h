/*
 * line_cache.h - what lines of one class, CPU and thread have in common, as ready-made text
 *
 *     TIME| cpu 0 [32022 demo-w0] page-faults: {id = 12502, ip = |<ip>|, pid = 32020, tid = 32022,
 *      addr = |<addr>|, data_src = 0x1e05080021}|...
 *
 * Most numbers of an event's context say the same in one line after another: threads, ids, periods.
 * Texts around those that do not are kept per thread, so that a line is a few copies and numbers.
 * Which numbers differ too often to be kept is learned from the lines; with many threads of
 * few lines each nothing is kept.
 */
#ifndef REPL_LINE_CACHE_H
#define REPL_LINE_CACHE_H

#include "repl/render_event_internal.h"

enum {
	LINE_CACHE_NUMBERS = 16,
	LINE_CACHE_TEXT = 512,
	LINE_CACHE_ROOM = LINE_CACHE_TEXT + LINE_CACHE_NUMBERS * NUMBER_ROOM + COPY_PAD
};

struct line_cache; /* of a class */

/*
 * For lines as those of `plan`, which had its first ones. NULL: their context is not all numbers.
 */
struct line_cache *line_cache_new(const struct class_plan *plan);
void line_cache_free(struct line_cache *lines); /* NULL is fine */
/*
 * Writes what follows the time to `to`, where LINE_CACHE_ROOM bytes are: CPU, thread, name and
 * context. NULL: the line is none of those that are kept.
 */
char *line_cache_put(struct line_cache *lines, struct event_writer *writer,
		     const struct class_plan *plan, const struct stream_plan *at,
		     const struct fields *fields, char *to);

#endif
