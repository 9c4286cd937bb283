/*
 * walk.h - rules over events in order: what every forward evaluation does with its events
 *
 *     event source ── runs ──> event ── section lines ──> lines ── writes ──> the walk's own state
 *
 * An event has two phases. Section lines run first, in order, each seeing the ones before. Then all
 * event lines are evaluated against the state before the event, and only then what they write is
 * applied: first `was` lines, then the others in file order.
 */
#ifndef STATE_REPLAY_WALK_H
#define STATE_REPLAY_WALK_H

#include "state/events/event_source.h"
#include "state/replay/cells.h"
#include "state/replay/writes.h"

/* What its owner does, of which the walk is the first member: `arg` is the owner. */
struct walk_ops {
	/* As struct env has them. */
	enum eval (*read)(void *arg, uint32_t attr, struct value *out);
	enum eval (*section)(void *arg, uint32_t section, struct value *out, bool *written);
	/* A section line of the event that is not FAIL: VALUE sets *value, OPEN does not. */
	void (*set_section)(void *arg, const struct line *line, enum eval eval,
			    struct value *value);
	/* ---- what verbs do, by walk_apply() ---- */
	/* A value, from the event on. The value may be changed: text is interned. */
	void (*set)(void *arg, const struct write *write, uint32_t attr, struct value *value);
	void (*was)(void *arg, const struct write *write);
	void (*bury)(void *arg, const struct write *write, const struct pattern *pattern,
		     enum value_kind kind);
	/* The write, or what it reads, is open. NULL: nothing ever is. */
	void (*defer)(void *arg, const struct write *write);
	/*
	 * Evaluates and applies all event lines at once, where it can; false: it cannot, and wrote
	 * nothing. NULL: it never can.
	 */
	bool (*lines)(void *arg, const struct plain *plain);
	/* After the lines of a loss. */
	void (*loss)(void *arg, const struct event *loss);
	/* Before the first event of a later time than the last; false: stop here. */
	bool (*moment)(void *arg, nstime next);
};

struct walk {
	struct event_source *event_source;
	struct program *program;
	const struct walk_ops *ops;
	struct helper *helper; /* as in struct event_source_range; NULL after walk_init() */
	struct env env;
	struct writes writes;
	uint64_t events; /* seen so far */
	/* of the event that is being evaluated; walk_item() for its place */
	const struct stream *stream; /* NULL: @start, @end */
	nstime time;
	/* the walk's own */
	struct event_pass pass;
	struct run run;
	uint32_t entry; /* of run, when run.count is not 0 */
	struct event_item item;
	uint64_t first; /* event of this run */
	bool scratched; /* env.scratch may hold something */
	bool calm;      /* the next moment need not be told; only ops->lines says so, */
	nstime rests;   /* and only of those before that */
	bool placed;    /* `item` has its order */
	bool has_writer;
	struct writer writer;
};

/* Event source, program and ops are borrowed. */
void walk_init(struct walk *walk, struct event_source *event_source, struct program *program,
	       const struct walk_ops *ops);
void walk_release(struct walk *walk);
MUST_CHECK bool walk_run(struct walk *walk, const struct order *from, const struct order *to,
			 struct error *err);
/* Does what a line of the event writes; for ops->lines. */
void walk_apply(struct walk *walk, struct write *write);

/* Streams know nothing of the time before they begin: as if it were lost. */
MUST_CHECK bool streams_begin(struct event_source *event_source, struct cells *cells,
			      struct error *err);
/*
 * Since when a `was` of the event holds of what has been unknown since then: no longer than the
 * stream's last loss, its begin, or its first event of that class allows.
 */
nstime walk_fill_begin(const struct walk *walk, const struct cells *cells, nstime since);

/* The event that is being evaluated, with its place. */
const struct event_item *walk_item(struct walk *walk);
/* The writer: a line of that event. */
const struct writer *walk_writer(struct walk *walk, const struct line *line);
/* The same, where many are written: with no copy of what was just written. */
static inline void walk_put_writer(struct walk *walk, const struct line *line, struct writer *out)
{
	const struct run *run = &walk->run;

	if (!run->count) {
		*out = *walk_writer(walk, line);
		return;
	}
	out->order.time = run->batch->time[walk->entry];
	out->order.rank = run->stream->index + 1;
	out->order.source = run->packet->rec.source;
	out->order.offset = run->packet->rec.off;
	out->order.index = run_index(run, walk->entry);
	out->order.slot = 0;
	out->at = run->batch->at[walk->entry];
	out->class_index = run->batch->class_index[walk->entry];
	out->line = line->id;
}

#endif
