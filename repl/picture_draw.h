/* picture_draw.h - a picture as text and as SVG, and the axis that both draw */
#ifndef REPL_PICTURE_DRAW_H
#define REPL_PICTURE_DRAW_H

#include "repl/picture.h"
#include "repl/sink.h"
#include "repl/times.h"

/* A line of text per row, at most `most_label` characters of its path in front; `times` advances.
 */
void picture_draw_text(const struct picture *picture, struct times *times, size_t most_label,
		       struct sink *out);
/* The same as a file of its own. */
void picture_draw_svg(const struct picture *picture, struct times *times, struct sink *out);

/* Round times of the axis, as far apart as their texts need. */
struct picture_tick {
	nstime t, step;
	uint32_t column;
	char text[TIME_TEXT_MAX + 1];
};
bool picture_first_tick(const struct picture *picture, struct times *times,
			struct picture_tick *out);
bool picture_next_tick(const struct picture *picture, struct times *times,
		       struct picture_tick *tick);

#endif
