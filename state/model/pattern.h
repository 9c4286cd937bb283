/*
 * pattern.h - paths with wildcards or keys that are not known yet
 *
 *     thread[*]/state     thread[42]/state     cpu[3]/thread
 *
 * A pattern is the target of a rule line as far as its keys are known, or the PATH of a question.
 */
#ifndef STATE_MODEL_PATTERN_H
#define STATE_MODEL_PATTERN_H

#include "state/model/value_bytes.h"

enum { PATH_ATOMS = 64 /* of a path at most */ };

struct pattern {
	uint32_t natoms;
	bool below;
	bool open;     /* some atom is OPEN */
	bool any;      /* some atom is ANY */
	uint32_t attr; /* the attribute, when neither open nor any; else ATTR_ABSENT */
	struct pattern_atom {
		enum { PATTERN_NAME, PATTERN_KEY, PATTERN_ANY, PATTERN_OPEN } kind;
		struct value value; /* text lives as long as the attribute table */
	} atoms[PATH_ATOMS];
};

enum cover { COVER_NO, COVER_YES, COVER_MAYBE /* an OPEN atom decides */ };
/*
 * Does the pattern match `attr` (subtree false), or `attr` or an ancestor of it (subtree true)? For
 * the node of a shape: may it match an attribute of the shape?
 */
enum cover pattern_covers(const struct pattern *pattern, const struct attrs *attrs, uint32_t attr,
			  bool subtree);
/* The one attribute that it matches (interned); ATTR_ABSENT: several, or a key is not known. */
uint32_t pattern_attr(const struct pattern *pattern, struct attrs *attrs);
bool pattern_equal(const struct pattern *a, const struct pattern *b);
/* Index of the first equal pattern among `count` items; `count`: there is none. */
size_t pattern_find(const struct pattern *items, size_t count, const struct pattern *wanted);
/* Reads or writes the atoms of a pattern with ANY. `below` is not stored; reading clears it. */
void io_pattern(struct io *io, struct pattern *pattern);

#endif
