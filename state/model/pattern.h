/*
 * pattern.h - paths in which some keys are any key, or are not known yet
 *
 *     thread[*]/state     thread[42]/state     cpu[3]/thread
 *
 * What a line's target is as far as its keys are known, and what a question's PATH names.
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
 * Does it name `attr` itself (subtree false), or attr or something above it (subtree true)? Of the
 * node of a shape: may it name one of its attributes?
 */
enum cover pattern_covers(const struct pattern *pattern, const struct attrs *attrs, uint32_t attr,
			  bool subtree);
/* The one attribute that it names (interned); ATTR_ABSENT: these are several, or not known. */
uint32_t pattern_attr(const struct pattern *pattern, struct attrs *attrs);
bool pattern_equal(const struct pattern *a, const struct pattern *b);
/* The place of an equal one among `count` items; `count`: there is none. */
size_t pattern_find(const struct pattern *items, size_t count, const struct pattern *wanted);
/* Of one with ANY, as it is stored: the atoms. `below` is not among them, and not set. */
void io_pattern(struct io *io, struct pattern *pattern);

#endif
