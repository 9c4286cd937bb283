/*
 * redraw.h - draws rows on a terminal, each time over the rows of the drawing before
 *
 *     redraw_wait()   redraw_show()   redraw_wait()   redraw_show()   ...   redraw_clear()
 */
#ifndef REPL_RENDER_REDRAW_H
#define REPL_RENDER_REDRAW_H

#include "repl/sink.h"

struct redraw { /* zero it, and set the sink */
	struct sink *sink;
	int64_t each_ms; /* least time between two drawings; 0: some times a second */
	unsigned lines;  /* of the last drawing */
	int64_t drawn;   /* clock_ms() of the last drawing; 0: there was none */
};

bool redraw_can(const struct sink *sink); /* Do rows go to a terminal that can draw over lines? */
/* Waits until it is time to draw again, or until a signal. */
void redraw_wait(const struct redraw *redraw);
unsigned redraw_room(const struct redraw *redraw); /* how many lines a drawing may have */
/*
 * Draws the rows of a sink in memory. If the terminal has too few lines, the last one counts the
 * rows left out. The lines of `above` (NULL: none) come first, and the next drawing leaves them.
 */
void redraw_show(struct redraw *redraw, const struct buf *above, const struct sink *rows);
void redraw_clear(struct redraw *redraw); /* erases the last drawing */

#endif
