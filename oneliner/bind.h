/*
 * bind.h - a program's names, looked up in one trace
 *
 *     program ── oneliner_bind() ──> per event class: its probes, where its fields are,
 *                                    and how thread, process and name are known
 *
 * All is found once, before the first event; then it is read-only and shared by threads.
 */
#ifndef ONELINER_BIND_H
#define ONELINER_BIND_H

#include "index/filters/run_column.h"
#include "oneliner/tree.h"
#include "state/filter/where.h"

struct bound_field {
	struct field_path path; /* class NULL: found per event, by its names */
	struct run_field column;
	bool is_text, is_signed;
	bool is_own; /* of the event's own scopes, whose values stand in a batch */
};

struct bound_probe { /* of one class */
	const struct clause *probe;
	const char *name;           /* for the builtin `probe` */
	struct bound_field *fields; /* from program->fields[first] on */
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
	/* All that its events do is count() by keys that are the same in a run: its events may be
	   counted first. */
	bool is_uniform;
	struct bound_thread tid, pid, comm;
};

struct bound {
	struct oneliner *program;
	const struct trace *trace;
	struct arena *arena;
	struct bound_class **classes; /* by class; NULL: no probe is of it */
	uint64_t *bits;               /* those that have one */
	struct reading {
		const char *text;
		struct where *where;
	} * readings; /* of the state: program->states first */
	size_t nreadings, capacity;
	uint64_t places; /* of fields */
	size_t nattached;
	bool in_order;
	bool some_uniform;
};

/*
 * The caller ends *out with oneliner_unbind(), also after false. Both are borrowed until then.
 * `program` is checked again, with the types of its fields. Globs without an event are noted.
 */
MUST_CHECK bool oneliner_bind(struct oneliner *program, const struct trace *trace,
			      struct bound *out, struct error *err);
void oneliner_unbind(struct bound *bound);

/* The events that a spec means: sched_switch, tracepoint:sched:*, kprobe:vfs_read ... */
bool spec_matches(const struct spec *spec, const char *event);
/* A name as the text of a program would have it: for lists. Borrowed from *scratch. */
struct spec spec_of(const char *text, struct arena *arena);
/* The class' name as a probe: "tracepoint:sched:sched_switch" where the spec says so. */
const char *spec_shown(const struct spec *spec, const char *event, struct arena *arena);

#endif
