/*
 * replay.h - forward evaluation: every event in order, from the start or from a stored position
 *
 * It keeps the whole state, tells a watcher about each change, and counts the statements that fail.
 * With `by_tree` it is the oracle, obvious and slow. Questions use the plain forms of lines, all of
 * an event at once where that can be done (chosen.h); tests that ask in all ways compare both.
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
	bool fill;          /* a `was`: `after` holds from after->since on, before the event */
	nstime time;        /* of the event */
	struct order order; /* of the event */
	const struct event_item *item; /* the event */
};

enum replay_lines {
	REPLAY_LEFT,    /* nothing is written: they are to be evaluated one by one */
	REPLAY_WRITTEN, /* and the next moment need not be told */
	REPLAY_DUE      /* and moment() is to be called before the next */
};

struct replay_options {
	struct event_source *event_source;
	struct program *program;
	struct helper *helper; /* as in struct event_source_range */
	bool by_tree; /* no line by its plain form (plain.h): what all else is compared with */
	/*
	 * Of a cell only what rules can see is kept: value, since, named. put() is called for each
	 * write of a value; fills and deletes still go to change(). For builds.
	 */
	bool brief;
	/* In place of change(): a write of a value that is done in place. */
	void (*put)(void *arg, uint32_t attr, const struct value *value, nstime time);
	/* brief: before put(), where there is no cell yet: cells_get() says what is. May be NULL. */
	void (*absent)(void *arg, uint32_t attr);
	/* Called for each change; may be NULL. */
	void (*change)(void *arg, const struct change *change);
	/*
	 * Statements whose values change() is to hear of, as bits; NULL: all of them. It hears of all
	 * fills and deletes.
	 */
	const uint64_t *heard;
	/*
	 * Called for each `was` that says something else than what is known; attr ATTR_ABSENT: for
	 * each loss that was inferred from what two events say of the thread on the stream's CPU.
	 * May be NULL.
	 */
	void (*contradiction)(void *arg, uint32_t attr, const struct value *had,
			      const struct value *says, const struct event_item *item);
	/*
	 * Called for each `delete` and `unknown` that was applied, after its changes; may be NULL.
	 */
	void (*bury)(void *arg, const struct pattern *pattern, enum value_kind kind, nstime time);
	/* Called before the first event of a later time than the last; false: stop here. */
	bool (*moment)(void *arg, nstime next);
	/*
	 * Writes what the lines of an event say, where it can do so better than one by one with
	 * put(): to cells and wherever it goes; may be NULL.
	 */
	enum replay_lines (*lines)(void *arg, const struct plain *plain, struct env *env,
				   nstime time);
	/*
	 * The cells that it begins with are not the whole state: what has no cell is not known, and
	 * the owner hears that a line reads it, or would fill it. Such a line is open, and the cells
	 * that it may write become open (value_open()), which change() hears of. Not with `brief`.
	 * NULL: what has no cell was never written.
	 */
	void (*missing)(void *arg, uint32_t attr);
	/* With missing(): section/x of a stream that nothing wrote so far. False: not known. */
	bool (*missing_section)(void *arg, uint32_t stream, uint32_t section, struct value *out,
				bool *written);
	/* Is the attribute followed? All its changes are told then, also once it was deleted. */
	bool (*keeps)(void *arg, uint32_t attr);
	void *arg;
};

struct replay *replay_new(const struct replay_options *options);
void replay_free(struct replay *replay); /* NULL is fine */
/* The state as it is now; to be filled before replay_run() when it goes on from a checkpoint. */
struct cells *replay_cells(struct replay *replay);

/*
 * From now on a write to a cell that is there changes it in place, and options.put() hears of it
 * in place of change(): what it was before, and since when it has been equal, is not right any
 * more.
 */
void replay_in_place(struct replay *replay);

/*
 * To be called from moment(): it need not be called again before that time and so many events
 * (replay_events()), unless change() or put() was.
 */
void replay_rests(struct replay *replay, nstime time, uint64_t events);

/* For options.lines: what one line of the event writes, done as without it. */
struct write;
void replay_apply(struct replay *replay, struct write *write);

/*
 * Evaluates everything in [from, to); moment() may end it earlier. `from` is order_before(t) of a
 * checkpoint or order_before(NSTIME_MIN).
 */
MUST_CHECK bool replay_run(struct replay *replay, const struct order *from, const struct order *to,
			   struct error *err);
nstime replay_time(const struct replay *replay); /* of the newest event */
/* Are its lines those of an event or a loss, not of @start or @end? */
bool replay_at_event(const struct replay *replay);
/*
 * May a `was` of an event that is still to come hold at `at`? One under @end may: it belongs to no
 * stream, so no loss limits how far back it reaches.
 */
bool replay_may_fill(const struct replay *replay, nstime at);
uint64_t replay_events(const struct replay *replay); /* seen so far */
/* Statements that failed: counts[id * FAILURE_COUNT + failure]. */
const uint64_t *replay_failures(const struct replay *replay);
/* Writes of `was` that differed from what was known. */
uint64_t replay_contradictions(const struct replay *replay);

#endif
