/*
 * state_internal.h - a struct state, and what its ways of answering share
 *
 *     state.c ─ planner.c ─┬─ forward.c    runs from the start or a checkpoint
 *                          ├─ ask.c        the backward pass; look.c: what a later `was` fills
 *                          └─ intervals.c  values over a range; intervals_near.c: without a run
 *     run.c: a run of replay, and what it leaves behind
 *     wanted.c: queries → attributes and lists     answers.c: records → sorted answers
 */
#ifndef STATE_STATE_INTERNAL_H
#define STATE_STATE_INTERNAL_H

#include "engine/base/arena.h"
#include "state/backward.h"
#include "state/checkpoint.h"
#include "state/contradictions.h"
#include "state/replay.h"
#include "state/sieve.h"
#include "state/state.h"

enum force {
	FORCE_NONE,
	FORCE_REPLAY,
	FORCE_CHECKPOINT,
	FORCE_BACKWARD,
	FORCE_SLICES
}; /* for tests */

struct run_cost { /* of a run: events that rules name, events that were decoded, bytes read */
	uint64_t events, heads, bytes;
};

struct state {
	struct index *index; /* NULL: a feed of the caller's */
	struct feed *feed;
	struct state_options options;
	struct program *program;
	struct attrs *attrs;
	struct arena *scratch; /* of fact_compute(), which may call itself; NULL: in use */
	struct catalog *catalog;
	struct gaps *gaps;
	struct contradictions *found; /* between events; NULL: the rules have no mirror */
	struct checkpoints *checkpoints;
	struct sketches *sketches; /* of packets, once a pass wanted some; NULL: none */
	uint64_t patience;  /* packets read for nothing before sketches are made; 0: sieve.h's */
	uint64_t *failures; /* of the run that saw most */
	uint64_t failures_events;
	uint64_t contradictions;
	const char *evaluation;
	enum force force;
	uint64_t spacing;       /* ns of replay between checkpoints at least, as estimated, */
	uint64_t share;         /* and bytes of the trace for each byte of a checkpoint */
	nstime checkpoint_time; /* of the run: the newest one it left or met, */
	struct run_cost checkpoint_cost; /* and what it had cost up to there */
	uint64_t checkpoint_due;         /* events that the run is to see before the next look */
	size_t checkpoint_size;          /* of the last one that was left */
	struct runs *runs;
	struct stored *stored; /* timelines; NULL: none, once they were looked for */
	bool stored_looked;
	uint8_t *looked; /* by attribute: lookup_path() found it, and there was nothing to say */
	uint32_t nlooked;
	const char *timelines;    /* where they are; NULL: beside the index. Borrowed; for tests */
	uint32_t timelines_least; /* likewise: of timelines_part */
	uint64_t stretch; /* bytes of trace, see stretches.c; 0: as many as is usual. For tests */
	struct backward_limits limits;
	struct cells *floor; /* the checkpoint that a pass read last */
	nstime floor_time;
	struct backward_statistics last_pass;
	uint64_t last_run; /* events that the last forward run saw */
	uint64_t handed;   /* runs of which something else read what reached over their ranges */
	uint64_t changes_read; /* of timelines, for values over ranges */
};

/* As state_open(), over any feed (borrowed). */
bool state_over_feed(struct feed *feed, const struct state_options *options, struct state **out,
		     struct error *err);

/*
 * Asking once more. An event that is given after a later one means that what was read so far was out
 * of order. Cursors remember why, so that the next reading has it in its place: what an event means
 * is what its time says, in whatever order its packet has it. Timelines that turn out to be damaged
 * are dropped, and the trace is asked.
 */
struct again {
	uint64_t disorder;
	unsigned tries;
};
struct again again_begin(const struct state *state);
/* After an attempt, before anything of it is given: true when it does not count. */
bool again_wanted(struct state *state, struct again *again);

/* ---- wanted.c ---- */

struct wanted {
	uint32_t *attrs; /* asked for by name: always answered; without repetition */
	size_t nattrs, capacity;
	uint8_t *named; /* by attribute: it is among them */
	uint32_t nnamed;
	const struct query *const *queries; /* all of them */
	size_t nqueries;
	bool lists;       /* some query has wildcards, or there is none: the whole state */
	uint8_t *matches; /* by attribute: 0 not looked at, 1 no, 2 yes */
	uint32_t nmatches;
};

void wanted_init(struct state *state, const struct query *const *queries, size_t nqueries,
		 struct wanted *out);
void wanted_release(struct wanted *wanted);
/* One more by name. */
void wanted_add(struct wanted *wanted, uint32_t attr);
bool wanted_by_name(const struct wanted *wanted, uint32_t attr);
/* Does a query with wildcards (or the whole state) name it? */
bool wanted_lists(struct state *state, struct wanted *wanted, uint32_t attr);
bool wanted_lists_shape(struct state *state, const struct wanted *wanted, uint32_t shape);
struct listed {
	uint32_t attr;
	uint32_t source; /* of a computed one: what must be listed for it; else ATTR_ABSENT */
};
/*
 * All attributes that its lists may name, when they can be told without reading: keys that are
 * constants, in the rules or in the query, or section/cpu. False: they cannot. *out is to be freed.
 */
bool wanted_enumerate(struct state *state, struct wanted *wanted, struct listed **out,
		      size_t *count, struct error *err);

/* ---- answers.c ---- */

struct record {
	uint32_t moment; /* as asked */
	uint32_t attr;
	struct fact fact;
};

struct records {
	struct record *items;
	size_t count, capacity;
};

void records_add(struct records *records, uint32_t moment, uint32_t attr, const struct fact *fact);
/* Sorts, copies what must outlive the evaluation, and frees the records. */
void records_finish(struct state *state, struct records *records, const struct moment *moments,
		    bool why, struct answers *out);
void fact_of_cell(const struct cell *cell, struct fact *out);

/* Gives what a stored attribute is at the moment in question; false: not known yet. */
typedef bool get_fact(void *arg, uint32_t attr, struct fact *out);
struct view_result {
	bool open;         /* some read was not known yet */
	bool read_unknown; /* some operand was unknown */
};
/* The attribute, stored or computed. */
struct view_result fact_compute(struct state *state, uint32_t attr, get_fact *get, void *arg,
				struct fact *out);

/* Where a list finds values of the variable; false: nowhere. */
bool view_source(const struct view *view, uint32_t variable, uint32_t *shape, uint32_t *atom);
/* The attribute that the view is for these values of its variables. */
uint32_t view_attr(struct attrs *attrs, const struct view *view, const struct value *values);

/* ---- run.c ---- */

struct runs *runs_new(struct index *index, const uint64_t identity[2]);
void runs_free(struct runs *runs); /* NULL is fine */
void runs_forget(struct runs *runs); /* what it left behind */
/* A replay whose state is the newest checkpoint at or before t, or empty. */
struct replay *run_begin(struct state *state, const struct replay_options *options, nstime t,
			 struct order *from);
void run_end(struct state *state, struct replay *replay); /* counts failures, frees */
/* To be called from moment(): leaves checkpoints behind. */
void run_passes(struct state *state, struct replay *replay, nstime next);
/* To be called from change(): remembers fills. */
void run_changes(struct state *state, const struct change *change);
/* No event that the run has not seen fills what is at or before t. */
void run_seals(struct state *state, nstime t);
/* The first time behind t of which it is stored what later events fill; NSTIME_MAX: none. */
nstime run_told(struct state *state, nstime t);
/* What events at such a time or later fill from before it; to be freed. */
bool run_fills(struct state *state, nstime t, struct cells **out);

/* ---- forward.c ---- */

bool forward_at(struct state *state, const struct moment *moments, size_t nmoments,
		struct wanted *wanted, struct records *out, struct error *err);

/* ---- ask.c ---- */

/* Roots are the wanted attributes and those listed (see wanted_enumerate()). */
enum outcome ask_at(struct state *state, const struct closure *closure,
		    const struct moment *moments, size_t nmoments, struct wanted *wanted,
		    const struct listed *listed, size_t nlisted, struct records *out,
		    struct error *err);
struct ask_place {
	struct moment moment;
	uint32_t attr; /* not a computed one */
};
/* What each is at its own moment; facts[i] of places[i], its text kept. */
enum outcome ask_places(struct state *state, const struct closure *closure,
			const struct ask_place *places, size_t count, struct fact *facts,
			struct error *err);
struct order moment_order(const struct moment *moment);
/* A pass for questions at t and later. */
struct backward *pass_over(struct state *state, const struct closure *closure, nstime t);

/* Of packets, by the rules' key fields; NULL: there is no index. */
struct sketches *state_sketches(struct state *state);
/* A sieve for events that the closure's lines look at; the caller's. */
struct sieve *state_sieve(struct state *state, const struct closure *closure);

/* ---- look.c ---- */

struct looker;
/* For moments at `earliest` and later. */
struct looker *looker_new(struct state *state, const struct closure *closure, nstime earliest);
void looker_free(struct looker *looker);
/*
 * *fact is unknown at the moment (borrowed). True: *fact is what a later `was` says, or still
 * unknown. False: look_run() must look first.
 */
bool look_answer(struct looker *looker, uint32_t attr, const struct moment *moment,
		 struct fact *fact);
enum outcome look_run(struct looker *looker, struct error *err);

/* ---- planner.c ---- */

struct choice {
	bool backward;
	const char *reason;
	struct listed *listed; /* to be freed, as is the closure */
	size_t nlisted;
	struct closure *closure;
};
bool choose_at(struct state *state, struct wanted *wanted, struct choice *out, struct error *err);
void choice_release(struct choice *choice);
/* Can each line that may write them be decided by looking back? */
bool looks_back(const struct closure *closure);

#endif
