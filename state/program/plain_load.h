/*
 * plain_load.h - inputs and tests of plain lines, and what an event gives to them
 *
 * In this order: what the event has, what is read by that (chosen.h), tests, and the maps of both
 * and trees that lines need whose tests hold. Tests are of what the event has.
 */
#ifndef STATE_PROGRAM_PLAIN_LOAD_H
#define STATE_PROGRAM_PLAIN_LOAD_H

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
	INPUT_MAP,
	INPUT_TREE /* of a right side alone: no key, test or map is made of it */
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
	uint8_t i;    /* its number */
	uint8_t of;   /* MAP: no map; READ: no text or map, the key, PLAIN_NONE: there is none */
	uint8_t with; /* MAP: of whether `of` equals this integer; PLAIN_NONE: of `of` itself */
	bool unlike;  /* ... or differs from it */
	bool is_signed;
	uint32_t slot; /* SECTION: its number */
	const struct path *path;
	const struct number_map *keys; /* of path; */
	uint32_t base;                 /* likewise */
	const struct map_def *map;
	const struct expr *tree;
	struct memo *memos; /* 1 << MEMO_BITS */
};

struct plain_test { /* an integer, masked, is in one of these */
	struct range ranges[TEST_VALUES];
	uint64_t mask;
	uint8_t input;
	uint8_t n;
};

struct plain_loaded { /* of one event */
	struct value values[PLAIN_INPUTS];
	uint32_t had; /* bit per input: it has a value */
	uint32_t yes; /* bit per test: it holds */
};

/* Fields, the CPU, whether it lies in a gap; replaces what was there. */
void plain_load_event(const struct plain *plain, struct env *env, struct plain_loaded *out);
/* The maps among the `wanted` inputs (a bit each), after what they are maps of. */
void plain_load_maps(const struct plain *plain, uint32_t wanted, struct env *env,
		     struct plain_loaded *out);

/* The trees among the `wanted` inputs; what env->scratch has may be theirs. */
void plain_load_trees(const struct plain *plain, uint32_t wanted, struct env *env,
		      struct plain_loaded *out);

static inline void plain_load_tests(const struct plain *plain, struct plain_loaded *out)
{
	for (uint32_t i = 0; i < plain->ntests; i++) {
		const struct plain_test *test = &plain->tests[i];
		uint64_t value = out->values[test->input].u & test->mask;
		bool found = false;

		for (uint8_t k = 0; k < test->n; k++)
			found |= range_has(&test->ranges[k], value);
		out->yes |= ((uint32_t)found & out->had >> test->input) << i;
	}
}

#endif
