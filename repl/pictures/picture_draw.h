/* picture_draw.h - draws a picture as text, and finds ticks of the axis for text and SVG */
#ifndef REPL_PICTURES_PICTURE_DRAW_H
#define REPL_PICTURES_PICTURE_DRAW_H

#include "repl/session.h"
#include "repl/sink.h"
#include "repl/times.h"
#include "state/pictures/picture.h"

/* Writes a line per row, with at most `most_label` characters of its label. Advances `times`. */
void picture_draw_text(const struct picture *picture, struct times *times, size_t most_label,
		       struct sink *out);
struct comm_spells;
/*
 * Adds to rows' labels the last names of their threads before `end`: from `told`, or if that is
 * NULL by a search.
 */
MUST_CHECK bool picture_name_rows(struct picture *picture, struct session *session, nstime end,
				  const struct comm_spells *told, struct error *err);
/* The number of characters in a text, at most `most`; *bytes: how many bytes they take. */
size_t picture_text_width(const char *text, size_t len, size_t most, size_t *bytes);

/* A round time on the axis. Ticks are so far apart that their texts have room. */
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
/* What a drawing needs; the caller fills `lanes` and calls lanes_finish(). */
struct timeline_svg {
	struct session *session;
	struct lanes *lanes;
	size_t width; /* pixels of the static drawing, for viewers without scripts */
};

/* Adds a row of losses to `lanes`; call it before lanes_add(). */
MUST_CHECK bool timeline_svg_losses(const struct timeline_svg *svg, struct error *err);
/* Finds names of threads and functions, and writes the file; on failure, no file is left. */
MUST_CHECK bool timeline_svg_write(const struct timeline_svg *svg, const char *path,
				   struct error *err);

#endif
