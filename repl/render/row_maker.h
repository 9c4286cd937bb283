/*
 * row_maker.h - what a thread needs to make rows of events beside those that are written already
 *
 * For event_workers.c and event_windows.c: times and a writer of its own, which writes no head.
 */
#ifndef REPL_RENDER_ROW_MAKER_H
#define REPL_RENDER_ROW_MAKER_H

#include "repl/render/render.h"

struct row_maker { /* stays where it is: its writer points into it */
	struct times times;
	struct event_writer *writer;
	struct sink nowhere; /* of the writer, between two event_writer_sink() */
};

/*
 * `times` as the row before leaves them, copied; `classes` as of event_writer_new_of(), borrowed;
 * `color` as the sink of all rows has it.
 */
void row_maker_init(struct row_maker *maker, const struct trace *trace, enum format format,
		    const uint64_t *classes, const struct times *times, bool color);
void row_maker_release(struct row_maker *maker);

#endif
