/*
 * plain.h - lines without trees: what most lines are, told in a few numbers
 *
 *     thread[field/next]/state = "running" when field/next != 0
 *            input 1             constant       test 0: input 1 != 0
 *
 * An input is a value that lines of the class read: an integer or text of the event, the CPU, what
 * the stream is of (its thread), an attribute, a map of another input. Each is loaded once per
 * event, however many lines use it; likewise tests. A line is plain when its condition is some
 * tests and its key an input. A right side that is neither an input of another kind nor a constant
 * is one that is evaluated as a tree. Where all lines of a class are plain, those that hold are
 * listed for each outcome of the tests. Events of other classes, and those whose inputs are not
 * simply there (damaged fields, a key that is unknown, a read that has no cell), are evaluated as
 * trees.
 */
#ifndef STATE_PROGRAM_PLAIN_H
#define STATE_PROGRAM_PLAIN_H

#include "state/program/program.h"

enum { PLAIN_INPUTS = 32, PLAIN_CHOSEN = 8, PLAIN_NONE = UINT8_MAX };

struct plain_integer; /* inputs and tests: plain.c keeps their insides */
struct plain_input;
struct plain_test;

struct plain_line { /* as wide as a line of the cache */
	const struct line *line;
	const struct number_map *keys;
	struct value constant; /* its text is the attribute table's */
	uint32_t attr;
	uint32_t needs; /* bit per input */
	uint32_t tests; /* bit per test that decides, */
	uint32_t holds; /* and of these, that must hold */
	enum verb verb;
	bool interned; /* the right side's text is the attribute table's */
	uint8_t key;   /* input; PLAIN_NONE: `attr` */
	uint8_t value; /* input; PLAIN_NONE: `constant` */
};

/* Lines whose tests hold, of one outcome of all tests. */
struct plain_choice {
	const struct plain_line *lines; /* as they are applied: first `nwas` of `was` */
	uint32_t nwas, count;
	uint32_t keys;  /* bit per input that is a key of one */
	uint32_t needs; /* bit per input */
};

/*
 * What all events of a class ask for. It and what it points to stand behind one another in memory:
 * there are hundreds of classes, which take turns.
 */
enum { PLAIN_NEAR = 256 /* bytes, to be asked for early */ };

struct plain {
	const struct plain_choice *choices; /* by outcome of the tests */
	const struct plain_integer *integers;
	const struct plain_input *texts;
	const struct plain_input *sections;
	const struct plain_input *reads; /* one stands behind those that its key is made of */
	const struct plain_input *maps;
	const struct plain_input *trees;
	const struct plain_test *tests;
	uint32_t tested;       /* bit per input of tests */
	uint32_t integer_bits; /* of the inputs */
	uint8_t nintegers, ntexts, nsections, nreads, nmaps, ntrees, ntests;
	uint8_t cpu; /* input; PLAIN_NONE: not wanted */
	uint8_t gap; /* likewise: the bits of expr_gap() */
	bool fields;
};

/*
 * Of the lines of an event class, which are borrowed. NULL: one of them is not plain, or adds, or
 * there are more tests than PLAIN_CHOSEN.
 */
const struct plain *plain_new(struct arena *arena, const struct line *lines, uint32_t nlines);

#endif
