/*
 * nearest.h - "did you mean": the names that are most like one that was not found
 *
 *     nearest_begin(&nearest, "sched_swich");
 *     nearest_offer(&nearest, "sched_switch");            once per name that exists
 *     nearest_words(&nearest, text, sizeof text);         `did you mean "sched_switch"?`
 *
 * Names are compared by the optimal string alignment distance: insertions, deletions, replacements
 * and swaps of neighbours count one each, a change of case nothing. A name is like another when the
 * distance is at most a third of the longer one's length, at least one. Of a name with a colon
 * (`sched:sched_switch`) the part after the last colon is tried as well. After these come names
 * that have the wanted one as a word of theirs, the shortest first: `switch` finds `sched_switch`.
 * What tables and tracers call differently, such as `dur` and `runtime`, is always near.
 */
#ifndef ENGINE_BASE_NEAREST_H
#define ENGINE_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

enum { NEAREST_MAX = 2, NEAREST_LENGTH_MAX = 128 };

struct nearest {
	const char *wanted;
	const char *names[NEAREST_MAX]; /* the nearest first */
	size_t distances[NEAREST_MAX];
	size_t count;
};

/* Starts a search for names like `wanted`, which is borrowed. */
void nearest_begin(struct nearest *nearest, const char *wanted);
/*
 * Offers one name, borrowed until the last use of *nearest. The same text offered twice counts
 * once; of equally near names the one offered first wins. Names over NEAREST_LENGTH_MAX bytes are
 * never near.
 */
void nearest_offer(struct nearest *nearest, const char *name);
/*
 * Writes `did you mean "a"?` or `did you mean "a" or "b"?` to out, which has `size` bytes, without a
 * blank before it. Returns false, and an empty text, when no name is like the wanted one.
 */
bool nearest_words(const struct nearest *nearest, char *out, size_t size);
/* The same with a blank behind it: for a sentence that goes on. Returns out, which may be empty. */
const char *nearest_hint(const struct nearest *nearest, char *out, size_t size);
enum { NEAREST_WORDS_MAX = 320 }; /* of two names that are near, with room for the rest */

#endif
