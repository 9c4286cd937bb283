/*
 * plain_internal.h - inputs and tests of plain lines: for plain.c, which finds them, and
 * plain_load.c, which loads them
 */
#ifndef STATE_PROGRAM_PLAIN_INTERNAL_H
#define STATE_PROGRAM_PLAIN_INTERNAL_H

#include "engine/columns/ranges.h"
#include "state/program/plain.h"

enum input_kind {
	INPUT_INT,
	INPUT_STRING,
	INPUT_BYTES,
	INPUT_SECTION, /* of the stream, but the CPU */
	INPUT_CPU,
	INPUT_GAP,
	INPUT_READ,
	INPUT_MAP
};

enum { MEMO_BITS = 4, TEST_VALUES = 4 };

struct memo { /* what a map gave for a number */
	bool set;
	uint64_t key;
	struct value result; /* its text is the attribute table's */
};

struct plain_integer { /* what most inputs are: loaded in one go */
	uint32_t slot; /* of the event's */
	uint8_t input;
	bool is_signed;
};

struct plain_input {
	enum input_kind kind;
	uint8_t i;  /* its number */
	uint8_t of; /* MAP: no map; READ: no text or map, the key, PLAIN_NONE: there is none */
	uint8_t with;   /* MAP: of whether `of` equals this integer; PLAIN_NONE: of `of` itself */
	bool unlike;    /* ... or differs from it */
	bool is_signed;
	uint32_t slot; /* SECTION: its number */
	const struct path *path;
	const struct number_map *keys; /* of path; */
	uint32_t base;                /* likewise */
	const struct map_def *map;
	struct memo *memos; /* 1 << MEMO_BITS */
};

struct plain_test { /* an integer, masked, is in one of these */
	struct range ranges[TEST_VALUES];
	uint64_t mask;
	uint8_t input;
	uint8_t n;
};

#endif
