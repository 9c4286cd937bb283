/* timeline_svg.h - the file that `timeline --svg` writes */
#ifndef REPL_PICTURES_TIMELINE_SVG_H
#define REPL_PICTURES_TIMELINE_SVG_H

#include "repl/asked.h"
#include "repl/session.h"

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
