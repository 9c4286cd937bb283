/*
 * plain_load.h - inputs and tests of plain lines, and loading them for an event
 *
 * Order of loading: values of the event, reads (chosen.h), tests, then the maps and trees that
 * lines need whose tests are true. Tests are of values of the event only.
 */
#ifndef STATE_PROGRAM_PLAIN_LOAD_H
#define STATE_PROGRAM_PLAIN_LOAD_H

#include "engine/columns/ranges.h"
#include "state/program/plain.h"

enum input_kind {
	INPUT_INT,
	INPUT_STRING,
	INPUT_BYTES,
	INPUT_SECTION, /* a section value of the stream, except the CPU */
	INPUT_CPU,
	INPUT_GAP,
	INPUT_READ,
	INPUT_MAP,
	INPUT_TREE /* only as right side of a line, not as key, or in tests and maps */
};

enum { MEMO_BITS = 4, TEST_VALUES = 4 };

struct memo { /* cache of a map's result for a number */
	bool set;
	uint64_t key;
	struct value result; /* its text is the attribute table's */
};

struct plain_integer { /* the most frequent kind: loaded in one loop */
	uint32_t slot; /* of the event's slots */
	uint8_t input;
	bool is_signed;
};

struct plain_input {
	enum input_kind kind;
	uint8_t i;    /* its number */
	uint8_t of;   /* MAP: operand, no map; READ: key, no text or map; or PLAIN_NONE */
	uint8_t with; /* MAP: its operand is `of == with`; PLAIN_NONE: it is `of` */
	bool unlike;  /* MAP: its operand is `of != with` */
	bool is_signed;
	uint32_t slot; /* SECTION: its number */
	const struct path *path;
	const struct number_map *keys; /* of path; */
	uint32_t base;                 /* likewise */
	const struct map_def *map;
	const struct expr *tree;
	struct memo *memos; /* 1 << MEMO_BITS */
};

struct plain_test { /* is a masked integer in one of these ranges? */
	struct range ranges[TEST_VALUES];
	uint64_t mask;
	uint8_t input;
	uint8_t n;
};

struct plain_loaded { /* the inputs and tests of one event */
	struct value values[PLAIN_INPUTS];
	uint32_t had; /* bit per input: it has a value */
	uint32_t yes; /* bit per test: it holds */
};

/* Loads fields, section values, CPU and gap bits of an event; resets `had` and `yes`. */
void plain_load_event(const struct plain *plain, struct env *env, struct plain_loaded *out);
/* Loads the maps among the `wanted` inputs (a bit each); their operands must be loaded. */
void plain_load_maps(const struct plain *plain, uint32_t wanted, struct env *env,
		     struct plain_loaded *out);

/* Evaluates the trees among the `wanted` inputs; values may live in env->scratch. */
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
