/*
 * closure.h - what a set of questions may need: shapes, the lines that write them, event classes
 *
 * A question about a shape needs every line that may write it, and in turn what these lines read.
 * Events and lines outside of this closure are never evaluated, nor decoded.
 */
#ifndef STATE_EVENTS_CLOSURE_H
#define STATE_EVENTS_CLOSURE_H

#include "engine/base/bitset.h"
#include "state/events/event_source.h"
#include "state/program/program.h"

/* Slots order the steps inside one event; @start and @end run several programs in sequence. */
enum {
	SLOT_SECTION = 0,
	SLOT_READ = 1 << 18,
	SLOT_WAS = 1 << 19,
	SLOT_LINE = 1 << 20,
	SLOT_PROGRAM = 1 << 22
};

/* The lines of all event classes, losses, @start and @end of a compiled program. */
struct catalog;

struct catalog *catalog_new(struct program *program, const struct trace *trace);
void catalog_free(struct catalog *catalog); /* NULL is fine */
struct program *catalog_program(const struct catalog *catalog);
/* The attribute that represents section/x of a stream. */
uint32_t catalog_section(const struct catalog *catalog, uint32_t stream, uint32_t section);
/* The stream and section of such an attribute; false: `attr` is of the state. */
bool catalog_section_of(const struct catalog *catalog, uint32_t attr, uint32_t *stream,
			uint32_t *section);
/* May a `was` line write attributes of the shape; any attribute? */
bool catalog_was(const struct catalog *catalog, uint32_t shape);
bool catalog_has_was(const struct catalog *catalog);
/* May a line of some class give attributes of the shape a value? */
bool catalog_given(const struct catalog *catalog, uint32_t shape);
/* Calls `each` for all lines, event and section lines. */
void catalog_lines(const struct catalog *catalog, void (*each)(void *arg, const struct line *line),
		   void *arg);

#define NO_CLASS UINT32_MAX /* of events */

struct step_of { /* one line of a plan */
	const struct line *line;
	uint32_t slot, read_slot;
	uint32_t class_index; /* NO_CLASS: a loss, @start or @end */
	uint32_t nwrites;
	const uint32_t *writes; /* bits of the shapes that it may write, ascending */
};

struct class_steps { /* the lines of one class in the closure, highest slot first */
	const struct step_of *steps;
	uint32_t base; /* slot of its first section line */
	uint32_t class_index;
	uint32_t nsteps, nevent; /* steps before nevent are event lines, the others section lines */
	uint64_t *writes;        /* of all steps */
};

struct closure {
	const struct catalog *catalog;
	struct arena *arena;
	uint32_t *number; /* shape → bit; ATTR_ABSENT: not in the closure */
	uint32_t nnumber;
	uint32_t *shapes; /* bit → shape */
	uint32_t nshapes, nwords;
	uint32_t *marked, nmarked; /* scratch: what the step being made writes */
	struct class_steps *plans; /* by entry of the catalog */
	struct step_of *steps;     /* of all plans, one behind the other */
	size_t nsteps;
	uint64_t *classes; /* bit per class with a plan */
	bool losses, start, end;
	bool infers;             /* inferred losses (contradictions) matter */
	bool cumulative, cyclic; /* some line has that flag */
	uint32_t depth;          /* deepest nested read */
	/*
	 * By bit: the depth of the key section/cpu, if every line that writes the shape has it as
	 * key; 0: no line writes it; CLOSURE_ANY_CPU: some line has no such key.
	 */
	uint32_t *cpu_depth;
	uint64_t *valued; /* by bit: some line sets such attributes to a value or none */
	/*
	 * No shape has CLOSURE_ANY_CPU, and no line reads state or sets section values: then a
	 * question needs only the streams of its CPU.
	 */
	bool by_cpu;
};
#define CLOSURE_ANY_CPU UINT32_MAX

struct closure *closure_new(const struct catalog *catalog, const uint32_t *roots, size_t nroots);
/*
 * What statements (a bit each) need: what they read, previous values that they change, and all that
 * a `delete`, `unknown`, push or pop covers.
 */
struct closure *closure_below(const struct catalog *catalog, const uint64_t *statements);
void closure_free(struct closure *closure); /* NULL is fine */

/* The bit of a shape; ATTR_ABSENT: not in the closure. */
uint32_t closure_bit(const struct closure *closure, uint32_t shape);
/* The only CPU whose streams can write the attribute; -1: none, or not only one. */
int32_t closure_cpu(const struct closure *closure, const struct attrs *attrs, uint32_t attr);
bool step_writes(const struct step_of *step, uint32_t bit);
/* May the step write a shape that is set in `bits` (bits of the closure)? */
static inline bool step_writes_some(const struct step_of *step, const uint64_t *bits)
{
	for (uint32_t i = 0; i < step->nwrites; i++)
		if (bitset_has(bits, step->writes[i]))
			return true;
	return false;
}
/* Adds the classes with lines that may write one of the shapes in `bits`. */
void closure_writers(const struct closure *closure, const uint64_t *bits, uint64_t *classes);
/* A bit per statement in the closure, of events, losses, @start and @end; to be freed. */
uint64_t *closure_statements(const struct closure *closure);
/* Has it at least nine tenths of all lines? */
bool closure_is_most(const struct closure *closure);
/* A program with only the closure's statements; see program_subset(). */
struct program *closure_program(const struct closure *closure);
/* Plan i of an item; the one that is applied last comes first. `steps` NULL: no lines. */
const struct class_steps *closure_plan(const struct closure *closure, const struct event_item *item,
				       size_t i); /* i from 0; NULL: no more */

#endif
