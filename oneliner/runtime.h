/*
 * runtime.h - a program at work: the event that it looks at, its maps, its variables
 *
 * One belongs to one thread. A sweep has several, whose maps are joined at the end.
 */
#ifndef ONELINER_RUNTIME_H
#define ONELINER_RUNTIME_H

#include "engine/symbols/symbols.h"
#include "oneliner/bind.h"
#include "oneliner/maps.h"
#include "oneliner/outlet.h"
#include "state/program/expr.h"
#include "state/reading.h"

enum decoded { DECODED_NOT, DECODED_YES, DECODED_DAMAGED };

struct runtime {
	const struct bound *bound;
	struct map *maps;
	size_t nmaps;
	uint64_t map_bytes; /* of all of them */
	struct value *variables;
	struct outlet *outlet;      /* NULL: in a sweep, where nothing is printed */
	struct symbols *symbols;    /* NULL: stacks are addresses */
	struct reading **readings;  /* of the state, by number; NULL: nothing reads it */
	struct interval_window *window; /* likewise: what they read */
	nstime start; /* `elapsed` counts from it */
	bool utc;

	/* where it is */
	bool has_event;
	nstime time; /* NSTIME_MIN: it has none */
	const struct run *run;
	uint32_t entry;
	uint64_t events; /* that stand for this one, see bound_class.is_uniform */
	const struct bound_class *class;
	const struct bound_probe *probe;
	struct value tid; /* of the event, once has_tid */
	bool has_tid;
	enum decoded decoded;
	struct fields fields;

	struct env env; /* of expressions */
	struct regex_room *regex_room;
	struct arena *texts; /* of the event */
	struct buf line;
	uint64_t unknown; /* statements and predicates left out, for want of a value */
	const struct ast *lack; /* what had none: the leftmost that one was left out for */
	bool exits;
	bool failed;
	struct error error;
};

/* Borrows all but what it makes itself; ended by runtime_free(). */
struct runtime *runtime_new(const struct bound *bound);
void runtime_free(struct runtime *rt); /* NULL is fine */
/* Moves its maps out, which are the caller's from now on; it runs nothing any more. */
struct map *runtime_take_maps(struct runtime *rt);

/* False: it failed, or exit() was called, or nobody reads what it prints. */
bool runtime_is_open(const struct runtime *rt);

/*
 * All probes of the run's entry, for so many events of its class, more than one of a uniform class.
 * False: rt->failed, rt->exits or the outlet is closed.
 */
bool runtime_event(struct runtime *rt, const struct run *run, uint32_t entry, uint64_t events);
/* BEGIN, END, and one probe of interval. */
bool runtime_plain(struct runtime *rt, const struct clause *probe, nstime t);

/* So many statements or predicates are left out, since rt->env.lacking has no value. */
void runtime_leave_out(struct runtime *rt, uint64_t count);

/* eval.c */
struct value eval(struct runtime *rt, const struct expr *expr);
/* Counts what is not known, which is neither YES nor NO. */
enum logic eval_condition(struct runtime *rt, const struct expr *expr);
struct value runtime_host(void *rt, const struct expr *expr);
/* The keys of a map; false: some value of them is not known. */
bool eval_keys(struct runtime *rt, const struct expr *const *exprs, uint32_t nkeys,
	       struct value *keys);
/* As in C, of two numbers; else it is unknown. */
struct value operate(enum op op, const struct value *a, const struct value *b);

/* event.c: what the event says */
struct value event_field(struct runtime *rt, uint32_t number);
struct value event_label(struct runtime *rt, uint32_t number); /* of a field's value */
struct value event_builtin(struct runtime *rt, enum builtin builtin);
struct value event_reading(struct runtime *rt, uint32_t reading);
/* The function at an address, else the address as a text. */
struct value event_symbol(struct runtime *rt, bool kernel, struct value address);
struct value event_stack(struct runtime *rt, bool kernel, int64_t most);

#endif
