/*
 * names.h - names beside values: of threads, the last that was known at the time of the value, and
 * of functions whose addresses are on stacks
 *
 * A row shows a thread when its value is one, that of an attribute whose path ends in /thread, or
 * when its path begins with thread[T].
 */
#ifndef REPL_RENDER_NAMES_H
#define REPL_RENDER_NAMES_H

#include "repl/session.h"
#include "state/comms.h"

struct named { /* one row, and the names that were found for it */
	nstime t;
	nstime until; /* names over a range: else the first that it takes before; 0: of `t` alone */
	const char *path;
	struct value value;
	bool of_path;         /* also where the path alone shows the thread */
	const char *name;     /* NULL: no thread, or its name is not known; in the arena */
	const char *function; /* NULL: no address, or its function is not known; in the arena */
};

/* What had been read of the trace before the rows were asked for. */
struct names_since {
	uint64_t packets, bytes; /* decoded, read */
};

/*
 * Of values at moments, which are all `before` or none. The names are looked for in a few packets
 * of each stream, or in a part of as many as the values cost since `since`; --names goes on, and so
 * does NULL as `since`.
 */
MUST_CHECK bool names_at(struct session *session, struct named *items, size_t count, bool before,
			 const struct names_since *since, struct arena *arena, struct error *err);
/* Does some row show a thread whose name was not found yet? */
bool names_wanted(const struct named *items, size_t count);
/*
 * Of rows over the command's range, each at its own time. `told` (may be NULL) has names of the
 * range; where that is a window, the others are looked for as far as its lists are.
 */
MUST_CHECK bool names_in(struct session *session, struct named *items, size_t count,
			 const struct spells *told, struct arena *arena, struct error *err);

/* The names of all threads over a range, for rows that come in many chunks. NULL: *err. */
MUST_CHECK struct spells *names_range_new(struct session *session, nstime begin, nstime end,
					       struct error *err);
void names_range_free(struct spells *range); /* NULL is fine */
/* The same from intervals that come along with others: all of COMMS_LIST. */
struct spells *names_range_begin(void);
bool names_range_add(void *range, const struct interval *interval);
MUST_CHECK bool names_range_end(struct session *session, struct spells *range,
				struct error *err); /* all were added */
/* Names of threads live as long as the range, those of functions as long as the arena. */
MUST_CHECK bool names_range_put(struct session *session, const struct spells *range,
				struct named *items, size_t count, struct arena *arena,
				struct error *err);

/* The name of what the value is, a thread or an address; NULL: of none, or not known. */
const char *named_value(const struct named *named);
/*
 * A value as a cell: text as text_value() with its name behind it; CSV bare, none empty, without a
 * name.
 */
void named_add(struct sink *out, enum format format, const struct named *named);
/* `,"comm":"NAME"`, `,"symbol":"NAME"`; nothing without a name. */
void named_add_json(struct sink *out, const struct named *named);

/*
 * functions.c: functions beside addresses on stacks of the state. Rules push addresses as texts:
 * thread[T]/stack[1] and so on are those of LTTng-UST's cyg-profile. Which function is there goes
 * by what the thread's process had loaded.
 */
/* Is the value of such a path an address, as in thread[7]/stack[2]? */
bool functions_is_address(const char *path, const struct value *value);
/*
 * Finds the functions of items that are addresses, each at its time: "leaf", "leaf+0x4", or of a
 * file without symbols "[libx.so]".
 */
MUST_CHECK bool functions_put(struct session *session, struct named *items, size_t count,
			      struct arena *arena, struct error *err);

#endif
