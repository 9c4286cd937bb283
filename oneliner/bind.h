/*
 * bind.h - looks up a program's names in one trace
 *
 *     program ── oneliner_bind() ──> per event class: its probes, the places of its fields,
 *                                    and where tid, pid and comm come from
 *
 * Names are looked up once, before the first event; the result is read-only, and threads share it.
 */
#ifndef ONELINER_BIND_H
#define ONELINER_BIND_H

#include "index/filters/run_column.h"
#include "oneliner/tree.h"
#include "state/filter/where.h"

struct bound_field {
	struct field_path path; /* class NULL: looked up by names in each event */
	struct run_field column;
	bool is_text, is_signed;
	bool is_own; /* in the payload or a context of the event, not of the packet */
};

struct bound_probe { /* a probe, as bound to one event class */
	const struct clause *probe;
	const char *name;           /* for the builtin `probe` */
	struct bound_field *fields; /* element i is program->fields[first + i] */
	uint32_t first;
};

enum thread_from {
	THREAD_UNKNOWN,
	THREAD_FIELD,
	THREAD_READING /* of the state */
};

struct bound_thread {
	enum thread_from from;
	struct bound_field field;
	uint32_t reading;
};

struct bound_class {
	struct bound_probe *probes; /* in the order of the program */
	uint32_t nprobes;
	/* Its probes only count(), by keys that are equal for all events of a run: a sweep may
	   count the run's events and run the probes once. */
	bool is_uniform;
	struct bound_thread tid, pid, comm;
};

struct bound {
	struct oneliner *program;
	const struct trace *trace;
	struct arena *arena;
	struct bound_class **classes; /* by class index; NULL: no probe matches the class */
	uint64_t *bits;               /* a bit per class: set where a probe matches */
	struct reading {
		const char *text;
		struct where *where;
	} * readings; /* expressions on the state; those of program->states come first */
	size_t nreadings, capacity;
	uint64_t places;  /* bound fields of all probes and classes */
	size_t nattached; /* pairs of a probe and a class that it matches */
	bool in_order;    /* events must be read in order of time */
	bool some_uniform;
};

/*
 * The caller ends *out with oneliner_unbind(), also after false; it borrows `program` and `trace`.
 * Checks the program again, with the types of its fields. Notes globs that match no event.
 */
MUST_CHECK bool oneliner_bind(struct oneliner *program, const struct trace *trace,
			      struct bound *out, struct error *err);
void oneliner_unbind(struct bound *bound);

/* Does a spec (sched_switch, tracepoint:sched:*, kprobe:vfs_read ...) match this event name? */
bool spec_matches(const struct spec *spec, const char *event);
/* Parses one spec outside of a program, such as the pattern of `do -l`. Lives in `arena`. */
struct spec spec_of(const char *text, struct arena *arena);
/* The class' name as a probe: "tracepoint:sched:sched_switch" where the spec says so. */
const char *spec_shown(const struct spec *spec, const char *event, struct arena *arena);

#endif
