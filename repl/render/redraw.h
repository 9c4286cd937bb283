/*
 * redraw.h - rows on a terminal that take the place of those that were there before
 *
 *     redraw_wait()   redraw_show()   redraw_wait()   redraw_show()   ...   redraw_clear()
 */
#ifndef REPL_RENDER_REDRAW_H
#define REPL_RENDER_REDRAW_H

#include "repl/sink.h"

struct redraw { /* zero it, and set the sink */
	struct sink *sink;
	int64_t each_ms; /* from one drawing to the next, at least; 0: some times a second */
	unsigned lines;  /* that are there */
	int64_t drawn;   /* ms on some clock; 0: nothing was */
};

bool redraw_can(const struct sink *sink); /* Do rows go to a terminal that can? */
/* Waits until it is time to draw again, or until a signal. */
void redraw_wait(const struct redraw *redraw);
unsigned redraw_room(const struct redraw *redraw); /* lines that a drawing may have */
/*
 * Shows the rows of a sink in memory; those that the terminal has no lines for are counted in the
 * last one. Whole lines of `above` (NULL: none) are for good, and come first.
 */
void redraw_show(struct redraw *redraw, const struct buf *above, const struct sink *rows);
void redraw_clear(struct redraw *redraw); /* nothing of it is there any more */

#endif
