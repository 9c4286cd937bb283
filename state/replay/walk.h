/*
 * walk.h - evaluates rules over events in order: the base of every forward evaluation
 *
 *     event source ── runs ──> event ── section lines ──> lines ── writes ──> the owner's state
 *
 * Each event has two phases. Section lines run first, in order; each sees the writes of those
 * before. Then all event lines are evaluated against the state before the event, and after that
 * their writes are applied: first `was` lines, then the others in file order.
 */
#ifndef STATE_REPLAY_WALK_H
#define STATE_REPLAY_WALK_H

#include "state/events/event_source.h"
#include "state/replay/cells.h"
#include "state/replay/writes.h"

/* Functions of the owner, whose first member is the walk: `arg` points to the owner. */
struct walk_ops {
	/* As in struct env. */
	enum eval (*read)(void *arg, uint32_t attr, struct value *out);
	enum eval (*section)(void *arg, uint32_t section, struct value *out, bool *written);
	/* Called for each section line that does not fail; *value is set if eval is EVAL_VALUE. */
	void (*set_section)(void *arg, const struct line *line, enum eval eval,
			    struct value *value);
	/* ---- called by walk_apply(), by verb ---- */
	/* The value holds from the event on. *value may be changed, to intern its text. */
	void (*set)(void *arg, const struct write *write, uint32_t attr, struct value *value);
	void (*was)(void *arg, const struct write *write);
	void (*bury)(void *arg, const struct write *write, const struct pattern *pattern,
		     enum value_kind kind);
	/* Called if the write, or what it reads, is open. NULL: nothing is ever open. */
	void (*defer)(void *arg, const struct write *write);
	/*
	 * Evaluates and applies all event lines at once; false: it cannot, and wrote nothing. May
	 * be NULL.
	 */
	bool (*lines)(void *arg, const struct plain *plain);
	/* After the lines of a loss. */
	void (*loss)(void *arg, const struct event *loss);
	/* Called before the first event of a later time; false stops the walk. */
	bool (*moment)(void *arg, nstime next);
};

struct walk {
	struct event_source *event_source;
	struct program *program;
	const struct walk_ops *ops;
	struct helper *helper; /* as in struct event_source_range; NULL after walk_init() */
	struct env env;
	struct writes writes;
	uint64_t events; /* number of events so far */
	/* of the event that is being evaluated; walk_item() for its place */
	const struct stream *stream; /* NULL: @start, @end */
	nstime time;
	/* the walk's own */
	struct event_pass pass;
	struct run run;
	uint32_t entry; /* of run, when run.count is not 0 */
	struct event_item item;
	uint64_t first; /* number of events at the start of this walk_run() */
	bool scratched; /* env.scratch may be in use */
	bool calm;      /* moment() need not be called; set by ops->lines only, */
	nstime rests;   /* for times before this */
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
/* Applies the write of a line; for ops->lines. */
void walk_apply(struct walk *walk, struct write *write);

/* Sets each stream's loss to end where the stream begins: before that nothing is known. */
MUST_CHECK bool streams_begin(struct event_source *event_source, struct cells *cells,
			      struct error *err);
/*
 * Where a fill by a `was` of the present event begins, if the attribute has been unknown since
 * `since`: not before the stream's last loss, its begin, or its first event of that class.
 */
nstime walk_fill_begin(const struct walk *walk, const struct cells *cells, nstime since);
/* Since when the stream has events of the present one's class. */
nstime walk_class_begin(const struct walk *walk);

/* The present event, with its place. */
const struct event_item *walk_item(struct walk *walk);
/* The line and the present event, as a writer. */
const struct writer *walk_writer(struct walk *walk, const struct line *line);
/* The same, into *out without a copy, for code that makes many. */
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
