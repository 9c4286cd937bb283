/* line.h - verbs and flags of rule lines, for trees and compiled lines */
#ifndef STATE_RULES_LINE_H
#define STATE_RULES_LINE_H

#include <stdbool.h>
#include <stdint.h>

enum verb {
	VERB_SET, /* = */
	VERB_ADD, /* += */
	VERB_WAS,
	VERB_DELETE,  /* the path and all descendants become none */
	VERB_UNKNOWN, /* the same, but unknown */
	VERB_PUSH,    /* the path is the depth, path[1] .. path[depth] the values */
	VERB_POP
};

static inline bool verb_buries(enum verb verb) /* also all descendants of the path? */
{
	return verb == VERB_DELETE || verb == VERB_UNKNOWN;
}

static inline bool verb_stacks(enum verb verb) /* does it write the path and its values? */
{
	return verb == VERB_PUSH || verb == VERB_POP;
}

static inline bool verb_gives(enum verb verb) /* does it set a value from the event on? */
{
	return !verb_buries(verb) && verb != VERB_WAS;
}

enum atom_kind {
	ATOM_NAME,
	ATOM_KEY,     /* constant key */
	ATOM_EXPR,    /* key to be evaluated */
	ATOM_ANY,     /* `*`, any key (delete, unknown, initial, queries) */
	ATOM_VARIABLE /* ?c (views) */
};

enum line_flags {
	LINE_SECTION = 1 << 0,    /* of a section block: writes section/x, `section` says which */
	LINE_CUMULATIVE = 1 << 1, /* +=, push, pop */
	LINE_CYCLIC = 1 << 2,     /* in a cycle of statements, or reads what it writes */
	LINE_KEY_READS = 1 << 3,  /* the target's keys read state or written section values */
	LINE_WHEN_READS = 1 << 4, /* the condition reads state or written section values */
	LINE_VALUE_READS = 1 << 5,
	/* the right side may fail depending on what it reads (a path only by its keys) */
	LINE_VALUE_MAY_FAIL = 1 << 6,
	LINE_FAILS = 1 << 7, /* it always fails on this class (no such field) */
	/* the right side is constant: its text is in the attribute table */
	LINE_INTERNED = 1 << 8,
	LINE_INFERRED = 1 << 9 /* of @contradiction */
};

struct line_read {
	uint32_t shape; /* of the attribute read; ATTR_ABSENT: section value `section` */
	uint32_t section;
	uint32_t depth; /* nesting of reads in its keys; 0: the keys read nothing */
	enum { READ_BY_KEY, READ_BY_WHEN, READ_BY_VALUE } by;
};

#endif
