/*
 * names.h - names beside threads in text: thread[T]/name at the time of the value
 *
 * Only values of attributes whose path ends in /thread are threads.
 */
#ifndef REPL_NAMES_H
#define REPL_NAMES_H

#include "repl/session.h"

struct named { /* one value, and the name that was found for it */
	nstime t;
	const char *path;
	struct value value;
	const char *name; /* NULL: no thread, or its name is not known; in the arena */
};

/* All items have times in a few moments: asks at each moment. */
bool names_at(struct session *session, struct named *items, size_t count, bool before,
	      struct arena *arena, struct error *err);
/* Items at many times of one range: asks for the names' intervals. */
bool names_in(struct session *session, struct named *items, size_t count, struct arena *arena,
	      struct error *err);

/*
 * A value as a cell: text as text_value() with the name behind it; CSV bare, none empty, without a
 * name.
 */
void named_add(struct sink *out, enum format format, const struct value *value, const char *name);

#endif
