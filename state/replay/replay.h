/*
 * replay.h - forward evaluation: every event in order, from the start or from a stored position
 *
 * It keeps the whole state, calls functions for each change, and counts failing statements. With
 * `by_tree` it is the slow and simple reference. Otherwise it evaluates plain forms of lines, all
 * of an event at once where possible (chosen.h); tests compare both.
 */
#ifndef STATE_REPLAY_REPLAY_H
#define STATE_REPLAY_REPLAY_H

#include "state/events/event_source.h"
#include "state/program/program.h"
#include "state/replay/cells.h"

struct replay;

struct change {
	uint32_t attr;
	const struct cell *before, *after;
	bool fill;          /* a `was`: `after` holds since after->since, before the event */
	nstime time;        /* of the event */
	struct order order; /* of the event */
	const struct event_item *item; /* the event */
};

enum replay_lines {
	REPLAY_LEFT,    /* nothing was written: evaluate the lines one by one */
	REPLAY_WRITTEN, /* the lines were written; moment() need not be called next */
	REPLAY_DUE      /* the lines were written; moment() must be called next */
};

struct replay_options {
	struct event_source *event_source;
	struct program *program;
	struct helper *helper; /* as in struct event_source_range */
	bool by_tree; /* evaluate no line by its plain form (plain.h): the reference for tests */
	/*
	 * Cells keep only what rules see: value, since, named. Writes of values call put(); fills
	 * and deletes still call change(). For builds.
	 */
	bool brief;
	/* brief: called in place of change() for a write of a value. */
	void (*put)(void *arg, uint32_t attr, const struct value *value, nstime time);
	/*
	 * brief: called before put() if there is no cell yet; cells_get() has the old value. May be
	 * NULL.
	 */
	void (*absent)(void *arg, uint32_t attr);
	/* Called for each change; may be NULL. */
	void (*change)(void *arg, const struct change *change);
	/*
	 * Bit per statement: its values call change(). NULL: all do. Fills and deletes always call
	 * it.
	 */
	const uint64_t *heard;
	/*
	 * Called for each `was` whose value differs from the known one. attr ATTR_ABSENT: for each
	 * loss inferred from what two events say of the thread on the stream's CPU. May be NULL.
	 */
	void (*contradiction)(void *arg, uint32_t attr, const struct value *had,
			      const struct value *says, const struct event_item *item);
	/* Called for each `delete` and `unknown`, after its changes; may be NULL. */
	void (*bury)(void *arg, const struct pattern *pattern, enum value_kind kind, nstime time);
	/* Called before the first event of a later time; false stops the replay. */
	bool (*moment)(void *arg, nstime next);
	/* Evaluates and writes all lines of an event, in place of put() for each; may be NULL. */
	enum replay_lines (*lines)(void *arg, const struct plain *plain, struct env *env,
				   nstime time);
	/*
	 * Set if the cells at the start are not the whole state: an attribute without a cell is not
	 * known. missing() is called when a line reads such an attribute, or would fill it. The
	 * line is then open, and the cells that it may write become open (value_open(), with
	 * change()). Not with `brief`. NULL: an attribute without a cell was never written.
	 */
	void (*missing)(void *arg, uint32_t attr);
	/*
	 * With missing(): sets the value of section/x of a stream that nothing wrote yet. False:
	 * not known.
	 */
	bool (*missing_section)(void *arg, uint32_t stream, uint32_t section, struct value *out,
				bool *written);
	/*
	 * True: keep the attribute's cell when it is deleted, so that change() hears of all later
	 * changes.
	 */
	bool (*keeps)(void *arg, uint32_t attr);
	void *arg;
};

struct replay *replay_new(const struct replay_options *options);
void replay_free(struct replay *replay); /* NULL is fine */
/* The present state. Fill it before replay_run() to start from a checkpoint. */
struct cells *replay_cells(struct replay *replay);

/*
 * To be called from moment(): it need not be called again before `time` and so many events
 * (replay_events()), unless change() or put() is called.
 */
void replay_rests(struct replay *replay, nstime time, uint64_t events);

/* For options.lines: applies the write of one line as the replay itself does. */
struct write;
void replay_apply(struct replay *replay, struct write *write);

/*
 * Evaluates all events in [from, to), unless moment() ends it earlier. `from` is order_before(t) of
 * a checkpoint at t, or order_before(NSTIME_MIN).
 */
MUST_CHECK bool replay_run(struct replay *replay, const struct order *from, const struct order *to,
			   struct error *err);
/*
 * Applies what another evaluation recorded, with `brief`: the present state is that behind all
 * events up to log->after. If the log is full, the state is then that behind all events up to
 * log->time. `before`: events that the log counts and this replay did not evaluate itself, as it
 * was resumed.
 */
struct write_log;
MUST_CHECK bool replay_logged(struct replay *replay, const struct write_log *log, uint64_t before,
			      struct error *err);
nstime replay_time(const struct replay *replay); /* of the newest event */
/* Is it at an event or a loss, and not at @start or @end? */
bool replay_at_event(const struct replay *replay);
/*
 * May a later `was` fill time `at`? A `was` under @end may: it belongs to no stream, so no loss
 * limits how far back it reaches.
 */
bool replay_may_fill(const struct replay *replay, nstime at);
uint64_t replay_events(const struct replay *replay); /* number of events evaluated so far */
/* Statements that failed: counts[id * FAILURE_COUNT + failure]. */
const uint64_t *replay_failures(const struct replay *replay);
/* Number of `was` values that differed from the known value. */
uint64_t replay_contradictions(const struct replay *replay);

#endif
