/*
 * timeline_follow.h - `timeline --follow`: the last while, drawn again in its place as time passes
 *
 *     |──────── the last 10 s ────────|
 *      columns that are over           next: not drawn before all of it is final
 */
#ifndef REPL_COMMANDS_TIMELINE_FOLLOW_H
#define REPL_COMMANDS_TIMELINE_FOLLOW_H

#include "repl/session.h"
#include "repl/sink.h"

struct timeline_choices { /* options of `timeline` alone */
	const char *svg;
	uint64_t width; /* characters, or pixels of an SVG */
	bool has_width;
};

/* --begin -SPAN says how long that while is. */
MUST_CHECK bool timeline_follow(struct session *session, const struct options *options,
				struct sink *sink, struct error *err);
/*
 * How many columns a drawing has (cmd_timeline.c): what a width of the terminal or --width leaves
 * beside labels of at most *most_label characters. *named: rows of threads have room for names.
 */
uint32_t timeline_columns(const struct options *options, size_t *most_label, bool *named);

#endif
