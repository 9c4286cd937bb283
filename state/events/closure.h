/*
 * closure.h - what a set of questions may need: shapes, the lines that write them, their classes
 *
 * A question about a shape needs every line that may write it, and these lines' reads in turn. What
 * is outside this closure is never looked at, not even decoded.
 */
#ifndef STATE_EVENTS_CLOSURE_H
#define STATE_EVENTS_CLOSURE_H

#include "engine/base/bitset.h"
#include "state/events/event_source.h"
#include "state/program/program.h"

/* Slots of the order inside one event; @start and @end run several programs one after the other. */
enum {
	SLOT_SECTION = 0,
	SLOT_READ = 1 << 18,
	SLOT_WAS = 1 << 19,
	SLOT_LINE = 1 << 20,
	SLOT_PROGRAM = 1 << 22
};

/* Every program of a class on a kind of stream, once; made once per compiled program. */
struct catalog;

struct catalog *catalog_new(struct program *program, const struct trace *trace);
void catalog_free(struct catalog *catalog); /* NULL is fine */
struct program *catalog_program(const struct catalog *catalog);
/* The attribute that stands for section/x of a stream, and its shape. */
uint32_t catalog_section(const struct catalog *catalog, uint32_t stream, uint32_t section);
/* The reverse; false: it is an attribute of the state. */
bool catalog_section_of(const struct catalog *catalog, uint32_t attr, uint32_t *stream,
			uint32_t *section);
/* May a `was` write attributes of the shape; and some attribute? */
bool catalog_was(const struct catalog *catalog, uint32_t shape);
bool catalog_has_was(const struct catalog *catalog);
/* May a line of some class give attributes of the shape a value? */
bool catalog_given(const struct catalog *catalog, uint32_t shape);
/* Every line of every class, event and section lines. */
void catalog_lines(const struct catalog *catalog, void (*each)(void *arg, const struct line *line),
		   void *arg);

#define NO_CLASS UINT32_MAX /* of events */

struct step_of { /* one line of a plan */
	const struct line *line;
	uint32_t slot, read_slot;
	uint32_t class_index; /* NO_CLASS: of a loss, @start, @end */
	uint32_t nwrites;
	const uint32_t *writes; /* the shapes that it may write, by their bits; rising */
};

struct class_steps { /* the lines of one class that count, highest slot first */
	const struct step_of *steps;
	uint32_t base; /* slot of its first section line */
	uint32_t class_index;
	uint32_t nsteps, nevent; /* steps before nevent are event lines, the others section lines */
	uint64_t *writes;        /* of all steps */
};

struct closure {
	const struct catalog *catalog;
	struct arena *arena;
	uint32_t *number; /* shape → its bit; ATTR_ABSENT: outside */
	uint32_t nnumber;
	uint32_t *shapes; /* bit → shape */
	uint32_t nshapes, nwords;
	uint32_t *marked, nmarked; /* while a step is made: what it writes */
	struct class_steps *plans; /* by number in the catalog */
	struct step_of *steps;     /* of all plans, one behind the other */
	size_t nsteps;
	uint64_t *classes; /* bit per class with a plan */
	bool losses, start, end;
	bool infers;             /* contradictions matter */
	bool cumulative, cyclic; /* some line is */
	uint32_t depth;          /* deepest nested read */
	/*
	 * By bit: the depth at which an attribute of the shape has the key section/cpu in every
	 * line that writes it; 0: no line does; CLOSURE_ANY_CPU: one does without that key.
	 */
	uint32_t *cpu_depth;
	uint64_t *valued; /* by bit: some line gives such attributes a value, or none */
	/*
	 * No shape has CLOSURE_ANY_CPU, no line reads state and none sets section values: then a
	 * question concerns the streams of its CPU alone, and so does all that it rests on.
	 */
	bool by_cpu;
};
#define CLOSURE_ANY_CPU UINT32_MAX

struct closure *closure_new(const struct catalog *catalog, const uint32_t *roots, size_t nroots);
void closure_free(struct closure *closure); /* NULL is fine */

/* Bit of a shape; ATTR_ABSENT when it is outside. */
uint32_t closure_bit(const struct closure *closure, uint32_t shape);
/* The CPU whose streams alone can write the attribute; -1: all may, or none. */
int32_t closure_cpu(const struct closure *closure, const struct attrs *attrs, uint32_t attr);
bool step_writes(const struct step_of *step, uint32_t bit);
/* Does it write a shape that is set in `bits`, which has a bit for each of the closure? */
static inline bool step_writes_some(const struct step_of *step, const uint64_t *bits)
{
	for (uint32_t i = 0; i < step->nwrites; i++)
		if (bitset_has(bits, step->writes[i]))
			return true;
	return false;
}
/* Classes with lines that may write one of the shapes whose bits are set. */
void closure_writers(const struct closure *closure, const uint64_t *bits, uint64_t *classes);
/* A bit for each statement that counts, of events, losses, start and end; to be freed. */
uint64_t *closure_statements(const struct closure *closure);
/* Has it nine of ten lines of all rules, or more? */
bool closure_is_most(const struct closure *closure);
/* The program with the lines of these alone; see program_subset(). */
struct program *closure_program(const struct closure *closure);
/* The plans of an item, the last to be applied first; NULL steps where there is nothing to do. */
const struct class_steps *closure_plan(const struct closure *closure, const struct event_item *item,
				       size_t i); /* i from 0; NULL: no more */

#endif
