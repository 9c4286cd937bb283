/*
 * plain.h - plain lines: simple lines, evaluated without expression trees
 *
 *     thread[field/next]/state = "running" when field/next != 0
 *            input 1             constant       test 0: input 1 != 0
 *
 * An input is a value that lines of the class read: an integer or text of the event, the CPU, a
 * section value of the stream (its thread), an attribute, a map of another input. Inputs and tests
 * are evaluated once per event, however many lines use them. A line is plain if its condition
 * consists of tests and its key is an input. Its right side may be a constant or an input; anything
 * else is an input that evaluates a tree. If all lines of a class are plain, a table lists for each
 * outcome of the tests the lines that hold. Other classes, and events with an input that cannot be
 * loaded (damaged fields, an unknown key, a read without a cell), use expression trees.
 */
#ifndef STATE_PROGRAM_PLAIN_H
#define STATE_PROGRAM_PLAIN_H

#include "state/program/program.h"

enum { PLAIN_INPUTS = 32, PLAIN_CHOSEN = 8, PLAIN_NONE = UINT8_MAX };

struct plain_integer; /* inputs and tests: see plain_load.h */
struct plain_input;
struct plain_test;

struct plain_line { /* fits a cache line */
	const struct line *line;
	const struct number_map *keys;
	struct value constant; /* its text is the attribute table's */
	uint32_t attr;
	uint32_t needs; /* bit per input */
	uint32_t tests; /* bit per test in the condition, */
	uint32_t holds; /* and per test that must be true */
	enum verb verb;
	bool interned; /* the right side's text is in the attribute table */
	uint8_t key;   /* input; PLAIN_NONE: `attr` */
	uint8_t value; /* input; PLAIN_NONE: `constant` */
};

/* The lines that hold for one outcome of all tests. */
struct plain_choice {
	const struct plain_line *lines; /* in order of application, first `nwas` of `was` */
	uint32_t nwas, count;
	uint32_t keys;  /* bit per input that is a key of a line */
	uint32_t needs; /* bit per input */
};

/*
 * Inputs, tests and lines of a class. The struct and its arrays are contiguous in memory, since
 * events of hundreds of classes alternate.
 */
enum { PLAIN_NEAR = 256 /* bytes to prefetch */ };

struct plain {
	const struct plain_choice *choices; /* by outcome of the tests */
	const struct plain_integer *integers;
	const struct plain_input *texts;
	const struct plain_input *sections;
	const struct plain_input *reads; /* a read comes behind the inputs of its key */
	const struct plain_input *maps;
	const struct plain_input *trees;
	const struct plain_test *tests;
	uint32_t tested;       /* bit per input of tests */
	uint32_t integer_bits; /* bit per integer input */
	uint8_t nintegers, ntexts, nsections, nreads, nmaps, ntrees, ntests;
	uint8_t cpu; /* input of the CPU; PLAIN_NONE: not used */
	uint8_t gap; /* likewise, of the bits of expr_gap() */
	bool fields;
};

/*
 * Compiles the lines of an event class, which are borrowed. NULL: one is not plain (or uses +=), or
 * there are more than PLAIN_CHOSEN tests.
 */
const struct plain *plain_new(struct arena *arena, const struct line *lines, uint32_t nlines);

#endif
