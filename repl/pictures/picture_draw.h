/* picture_draw.h - a picture as text, and the axis that it shares with SVG */
#ifndef REPL_PICTURES_PICTURE_DRAW_H
#define REPL_PICTURES_PICTURE_DRAW_H

#include "repl/session.h"
#include "repl/sink.h"
#include "repl/times.h"
#include "state/pictures/picture.h"

/* A line of text per row, at most `most_label` characters of its path in front; `times` advances.
 */
void picture_draw_text(const struct picture *picture, struct times *times, size_t most_label,
		       struct sink *out);
struct spells;
/* Adds to rows the names that their threads had last before `end`; NULL: they are not told yet. */
MUST_CHECK bool picture_name_rows(struct picture *picture, struct session *session, nstime end,
				  const struct spells *told, struct error *err);
/* Characters of a text, `most` at most, and the bytes that they take. */
size_t picture_text_width(const char *text, size_t len, size_t most, size_t *bytes);

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

/* The file that `timeline --svg` writes. */
struct lanes;
/* Everything that is needed to draw; the caller fills `lanes` and finishes them. */
struct timeline_svg {
	struct session *session;
	struct lanes *lanes;
	size_t width; /* pixels, where no script runs */
};

/* Adds where events were lost, before all else. */
MUST_CHECK bool timeline_svg_losses(const struct timeline_svg *svg, struct error *err);
/* Names threads, and writes the file whole or not at all. */
MUST_CHECK bool timeline_svg_write(const struct timeline_svg *svg, const char *path,
				   struct error *err);

#endif
