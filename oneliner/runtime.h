/*
 * runtime.h - a running program: its current event, maps and variables
 *
 * Each thread of a sweep has a runtime of its own; their maps are joined at the end.
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
	uint64_t map_bytes; /* of all maps together */
	struct value *variables;
	struct outlet *outlet;      /* NULL: in a sweep, where nothing is printed */
	struct symbols *symbols;    /* NULL: stacks are addresses */
	struct reading **readings;  /* of the state, by number; NULL: the program has none */
	struct interval_window *window; /* intervals that the readings use; NULL likewise */
	nstime start;                   /* `elapsed` counts from here */
	bool utc;

	/* the current event */
	bool has_event;
	nstime time; /* also of BEGIN, END, interval; NSTIME_MIN: none */
	const struct run *run;
	uint32_t entry;
	uint64_t events; /* how many events this one stands for, see bound_class.is_uniform */
	const struct bound_class *class;
	const struct bound_probe *probe;
	struct value tid; /* of the event, once has_tid */
	bool has_tid;
	enum decoded decoded;
	struct fields fields;

	struct env env; /* in which expressions are evaluated */
	struct regex_room *regex_room;
	struct arena *texts; /* texts that live as long as the event */
	struct buf line;
	uint64_t unknown;       /* statements and predicates left out for an unknown value */
	const struct ast *lack; /* the leftmost expression whose value was unknown */
	bool exits;
	bool failed;
	struct error error;
};

/* Borrows `bound`, and the members that the caller sets. The caller ends it with runtime_free(). */
struct runtime *runtime_new(const struct bound *bound);
void runtime_free(struct runtime *rt); /* NULL is fine */
/* Moves the maps to the caller, who frees them with maps_free(). The runtime may not run again. */
struct map *runtime_take_maps(struct runtime *rt);

/* False: the program failed or called exit(), or nobody reads its output any more. */
bool runtime_is_open(const struct runtime *rt);

/*
 * Runs all probes on an entry of the run, once for `events` events of its class: 1, or more for a
 * uniform class. False: rt->failed, rt->exits or the outlet is closed.
 */
bool runtime_event(struct runtime *rt, const struct run *run, uint32_t entry, uint64_t events);
/* Runs a probe without an event (BEGIN, END or interval) at time t. False as above. */
bool runtime_plain(struct runtime *rt, const struct clause *probe, nstime t);

/* Counts statements or predicates left out because rt->env.lacking has no value. */
void runtime_leave_out(struct runtime *rt, uint64_t count);

/* eval.c */
struct value eval(struct runtime *rt, const struct expr *expr);
/* Evaluates a condition. An unknown value is counted in rt->unknown, and is neither YES nor NO. */
enum logic eval_condition(struct runtime *rt, const struct expr *expr);
struct value runtime_host(void *rt, const struct expr *expr);
/* Evaluates the keys of a map into keys[0 .. nkeys); false: one is unknown. */
bool eval_keys(struct runtime *rt, const struct expr *const *exprs, uint32_t nkeys,
	       struct value *keys);
/* Applies an operator to two numbers, as C does; unknown if one is no number. */
struct value operate(enum op op, const struct value *a, const struct value *b);

/* event.c: values of the current event */
struct value event_field(struct runtime *rt, uint32_t number);
struct value event_label(struct runtime *rt, uint32_t number); /* label of its value */
struct value event_builtin(struct runtime *rt, enum builtin builtin);
struct value event_reading(struct runtime *rt, uint32_t reading);
/* The name of the function at an address, or the address as a text if there is none. */
struct value event_symbol(struct runtime *rt, bool kernel, struct value address);
struct value event_stack(struct runtime *rt, bool kernel, int64_t most);

#endif
