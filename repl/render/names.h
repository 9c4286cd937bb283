/*
 * names.h - finds names to show beside values: of threads, the last name known at the value's time,
 * and of functions, for addresses on stacks
 *
 * A row shows a thread if its path ends in /thread (its value is then the thread), or if its path
 * begins with thread[T].
 */
#ifndef REPL_RENDER_NAMES_H
#define REPL_RENDER_NAMES_H

#include "repl/session.h"
#include "state/comms.h"

struct named { /* a row, and the names that were found for it */
	nstime t;
	nstime until; /* without a name at t, take the first one before `until`; 0: only at t */
	const char *path;
	struct value value;
	bool of_path;         /* find a name also if only the path shows the thread */
	const char *name;     /* of the thread, in the arena; NULL: no thread, or unknown */
	const char *function; /* at the address, in the arena; NULL: no address, or unknown */
};

/* Packets decoded and bytes read when the search for the rows' values began. */
struct names_since {
	uint64_t packets, bytes;
};

/*
 * Finds the names for values at moments; `before`: just before the items' times. The search reads a
 * few packets of each stream, or a fifth of the packets that the values cost since `since`. It has
 * no such limit with --names, or if `since` is NULL.
 */
MUST_CHECK bool names_at(struct session *session, struct named *items, size_t count, bool before,
			 const struct names_since *since, struct arena *arena, struct error *err);
/* Does some row show a thread whose name is not found yet? */
bool names_wanted(const struct named *items, size_t count);
/*
 * Finds the names for rows over the command's range, each at its own time. `told`: names over the
 * range that the caller has, or NULL. Names that it lacks are searched for as far as lists of the
 * range are read.
 */
MUST_CHECK bool names_in(struct session *session, struct named *items, size_t count,
			 const struct comm_spells *told, struct arena *arena, struct error *err);

/* Reads the names of all threads over a range, for rows in many chunks. NULL: *err. */
MUST_CHECK struct comm_spells *names_range_new(struct session *session, nstime begin, nstime end,
					       struct error *err);
void names_range_free(struct comm_spells *range); /* NULL is fine */
/* The same, from intervals of COMMS_LIST that the caller reads anyway, and adds. */
struct comm_spells *names_range_begin(void);
bool names_range_add(void *range, const struct interval *interval);
MUST_CHECK bool names_range_end(struct session *session, struct comm_spells *range,
				struct error *err); /* after the last one */
/* Sets names in `items`: names of threads live in `range`, those of functions in `arena`. */
MUST_CHECK bool names_range_put(struct session *session, const struct comm_spells *range,
				struct named *items, size_t count, struct arena *arena,
				struct error *err);

/* The name of the thread or function that the value stands for; NULL: neither, or unknown. */
const char *named_value(const struct named *named);
/*
 * Writes a value as a cell: in text as text_value() does, with its name behind it; in CSV bare and
 * without a name, `none` as an empty cell.
 */
void named_add(struct sink *out, enum format format, const struct named *named);
/* Writes `,"comm":"NAME"` and `,"symbol":"NAME"`, each only if the name is known. */
void named_add_json(struct sink *out, const struct named *named);

/*
 * functions.c: names of functions beside addresses on stacks of the state. Rules push addresses as
 * texts, such as those of LTTng-UST's cyg-profile to thread[T]/stack[1]. The files that the
 * thread's process had mapped tell the function.
 */
/* Is the value of such a path an address, as in thread[7]/stack[2]? */
bool functions_is_address(const char *path, const struct value *value);
/*
 * Finds the functions of items that are addresses, each at its time: "leaf", "leaf+0x4", or
 * "[libx.so]" if the file has no symbol there.
 */
MUST_CHECK bool functions_put(struct session *session, struct named *items, size_t count,
			      struct arena *arena, struct error *err);

#endif
