/*
 * state.h - what was true at t? The door to the room for command line, Lua and SQL
 *
 * Questions are asked of a struct state: a trace's index plus a rule set. Which of the ways of
 * evaluation answers is the planner's choice and is reported, never visible in the answer.
 */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include "index/events.h"
#include "index/index.h"
#include "state/model/moment.h"
#include "state/replay/contradictions.h"
#include "state/rules/rules.h"

struct event_source;
struct state;

struct state_options {
	struct rules *rules; /* borrowed until state_close() */
	struct notices notices;
	/* Called now and then; false: interrupted. May be NULL. */
	bool (*progress)(void *arg, nstime at, nstime first, nstime last);
	void *progress_arg;
	bool replay_only; /* the oracle of tests: forward from the start, no checkpoints */
	bool no_checkpoints;
	/*
	 * Bit per class whose events the rules do not see, or NULL: none. Borrowed while the state
	 * opens. Nothing that is stored is read then, or left behind.
	 */
	const uint64_t *without;
};

MUST_CHECK bool state_open(struct index *index, const struct state_options *options,
			   struct state **out, struct error *err);
/* As state_open(), over any source of events (borrowed). */
MUST_CHECK bool state_over_source(struct event_source *event_source,
				  const struct state_options *options, struct state **out,
				  struct error *err);
/* As state_open(), with the index, the rules and the other options of `like`. */
MUST_CHECK bool state_open_without(const struct state *like, const uint64_t *without,
				   struct state **out, struct error *err);
void state_close(struct state *state);
struct index *state_index(const struct state *state); /* both are borrowed */
struct rules *state_rules(const struct state *state);

struct answer {
	nstime t;
	const char *path;   /* canonical: cpu[3]/thread */
	struct value value; /* VALUE_UNKNOWN, VALUE_NONE or a value; strings live as long as the set */
	nstime since;	    /* of the last write; NSTIME_MIN: null */
	/*
	 * --why: the event that set it; valid only when asked for. Not asked for, place, class and
	 * time are there where the evaluation knew them, else the class is NULL.
	 */
	bool has_why;
	struct position why;
	const struct event_class *why_class; /* NULL: a loss or `initial` */
	nstime why_time;
	uint32_t why_line;    /* of the rule file */
	const char *why_file;
	enum loss_kind why_loss;          /* of a loss: how it is known */
	struct contradiction why_between; /* LOSS_INFERRED: of which events */
};

struct answers {
	struct answer *items; /* in order of t as asked, then of path (natural order) */
	size_t count;
	struct arena *arena; /* the set's strings */
};
void answers_release(struct answers *answers);

/*
 * Values at each moment (in any order; answered in that order) of all attributes that match any of
 * the queries; no queries: the whole state. A query without wildcards always gives an answer
 * (unknown when nothing is known); wildcards give what rules.md calls a list.
 */
MUST_CHECK bool state_at(struct state *state, const struct moment *moments, size_t nmoments,
			 const struct query *const *queries, size_t nqueries, bool why,
			 struct answers *out, struct error *err);
/* The same, but what wildcards give at one of the moments is answered at all of them. */
MUST_CHECK bool state_at_all(struct state *state, const struct moment *moments, size_t nmoments,
			     const struct query *const *queries, size_t nqueries,
			     struct answers *out, struct error *err);
/* The attribute that a path without wildcards and names of threads is. False: *err. */
MUST_CHECK bool state_attribute(struct state *state, const char *path, uint32_t *attr,
				struct error *err);
/*
 * May the attribute ever be anything but unknown? False, as of thread[0]/state, which no line gives
 * a value: no event needs to be read for it.
 */
bool state_may_be_known(struct state *state, uint32_t attr);
struct state_place { /* an attribute at a moment of its own */
	struct moment moment;
	uint32_t attr;
};
/*
 * Values at places, from one reading: out->items[i] is that of places[i]. They have no paths.
 * Places of one moment cost less where they stand together, and for more than PLACES_AT_ONCE
 * attributes all of the trace may be replayed. `some`: where `progress` ends a backward pass, what
 * was not found up to then is unknown.
 */
enum { PLACES_AT_ONCE = 1000 };
MUST_CHECK bool state_at_places(struct state *state, const struct state_place *places, size_t count,
				bool some, struct answers *out, struct error *err);

/*
 * What was recorded, both ends inclusive: outside all is unknown, whatever way answers. *begin >
 * *end: nothing was.
 */
MUST_CHECK bool state_recorded(struct state *state, nstime *begin, nstime *end, struct error *err);

/*
 * Where events of the stream contradict each other, so that some must be missing: calls `each` in
 * order of time. Reads of the stream what was not read for that yet.
 */
MUST_CHECK bool state_contradictions(struct state *state, const struct stream *stream,
				     void (*each)(void *arg, const struct contradiction *found),
				     void *arg, struct error *err);

enum interval_ends {
	INTERVALS_WHOLE, /* their true beginnings and ends, also outside of the range */
	/*
	 * Those that reach over the range's end end there, and those that reach over its beginning
	 * may have a part of the same value before what is given: nothing is read for true ends.
	 */
	INTERVALS_CUT
};
/*
 * Intervals that overlap [begin, end), neighbours of equal value joined; ordered by (path, begin).
 * `each` is borrowed data; false from it ends the work (state_intervals then returns true). Unknown
 * intervals are left out; none intervals too.
 */
MUST_CHECK bool state_intervals(struct state *state, nstime begin, nstime end,
				enum interval_ends ends, const struct query *const *queries,
				size_t nqueries,
				bool (*each)(void *arg, const struct interval *interval), void *arg,
				struct error *err);

/* Queries whose intervals are given before all others. */
struct intervals_first {
	size_t count; /* of the queries, from the first on */
	bool (*each)(void *arg, const struct interval *interval); /* as state_intervals() says */
	void *arg;
};
/*
 * As state_intervals(), from one reading: intervals that the first queries ask for go to
 * first->each, before the others. Of what no other query asks for they are cut as INTERVALS_CUT
 * says. What both ask for is given twice.
 */
MUST_CHECK bool state_intervals_after(struct state *state, nstime begin, nstime end,
				      enum interval_ends ends, const struct query *const *queries,
				      size_t nqueries, const struct intervals_first *first,
				      bool (*each)(void *arg, const struct interval *interval),
				      void *arg, struct error *err);
/*
 * Of a trace that grows, and is opened anew for each step: what a run leaves at the end of a step,
 * with which the next one goes on (state/context/handover.h).
 */
struct handover;
struct handover *handover_new(void);
void handover_free(struct handover *handover); /* NULL is fine */
/*
 * Intervals that overlap [begin, end), but for those of attributes that are computed late, from one
 * run that goes on where the last step ended, which is `begin` (NSTIME_MIN: it is the first): as
 * state_intervals_after() gives those of INTERVALS_CUT, with true beginnings, also where an event
 * of the step says what was before it, and those that ended at `begin` once more. `lost`: it is
 * unknown what came then, and an event to come may say it, so that the same value may go on; once
 * it is known that it stays unknown, an empty interval of no value (VALUE_NONE) comes. Of the trace
 * nothing is looked at from `end` on; NSTIME_MAX: the recording has ended, and it is read to its
 * end. Lists have all that has a value.
 */
MUST_CHECK bool state_intervals_on(struct state *state, struct handover *handover, nstime begin,
				   nstime end, const struct query *const *queries, size_t nqueries,
				   const struct intervals_first *first,
				   bool (*each)(void *arg, const struct interval *interval),
				   void *arg, struct error *err);
/*
 * All events before `end` are there: until when, `end` at most, can nothing that comes change what
 * was known, be it events that contradict it (state/replay/contradictions.h) or lines of @end? What
 * is before `least` is not looked at: *out may be earlier.
 */
MUST_CHECK bool state_settled(struct state *state, nstime least, nstime end, nstime *out,
			      struct error *err);
/*
 * Does the query name attributes that are computed from what a `was` may tell? state_intervals_on()
 * does not tell these.
 */
bool state_computes_late(struct state *state, const struct query *query);
/*
 * Is the range read whole for lists of the queries, so that one more list costs no other reading?
 * That is not so where timelines answer, nor of a window.
 */
MUST_CHECK bool state_reads_range(struct state *state, nstime begin, nstime end,
				  const struct query *const *queries, size_t nqueries,
				  bool *reads, struct error *err);

/* A question about a window of time, [begin, end). */
struct window_range {
	nstime begin, end;
	bool cut;         /* intervals end at its edges, as INTERVALS_CUT says */
	bool quiet;       /* the caller asks for what lists leave out: no note tells of it */
	uint64_t packets; /* of each stream that are read before it, and as many behind it */
};
/* As state_intervals(), whatever state_set_lists() says: lists have all that has a value. */
MUST_CHECK bool state_intervals_all(struct state *state, nstime begin, nstime end,
				    enum interval_ends ends, const struct query *const *queries,
				    size_t nqueries,
				    bool (*each)(void *arg, const struct interval *interval),
				    void *arg, struct error *err);
/*
 * What lists over a range have. LISTS_ALL, as a state does that was just opened: each attribute
 * that has a value there. LISTS_PASS: the same, and a run that reads for it from the trace's begin
 * goes on to the trace's end and leaves checkpoints, so that the next range begins near one.
 * LISTS_WINDOW: lists over at most an eighth of a large trace (LARGE_TRACE bytes) are those of
 * state_window(), which reads `packets` of each stream on either side; 0: as many as take about a
 * second. Attributes that are known by name are looked for further away there, unless that takes a
 * run.
 */
enum { LARGE_TRACE = 64 << 20 };
enum lists { LISTS_ALL, LISTS_PASS, LISTS_WINDOW };
void state_set_lists(struct state *state, enum lists lists, uint64_t packets);
/*
 * Where what is read around a window ends: before *floor nothing is, nor at or behind *ceil.
 * NSTIME_MIN, NSTIME_MAX: all of the trace is.
 */
MUST_CHECK bool state_window_reach(struct state *state, nstime begin, nstime end, nstime *floor,
				   nstime *ceil, struct error *err);
/* Would lists of the queries over [begin, end) be those of state_window()? */
MUST_CHECK bool state_lists_window(struct state *state, nstime begin, nstime end,
				   const struct query *const *queries, size_t nqueries,
				   bool *window, struct error *err);

/*
 * As state_intervals(), but what it reads grows with the window, not with the trace, whatever is
 * stored. Lists have the attributes to which an event of the window gives a value (= += push pop),
 * those whose keys are known without reading (each CPU's), and what is computed of these. What an attribute was before its first such event is looked for in
 * `packets` packets of each stream: where it is not found it is unknown, and an interval whose
 * beginning or end lies further away has NSTIME_MIN or NSTIME_MAX there. Attributes that are named
 * are found wherever their values were written. Rules that count or read what they write take a run
 * from the trace's begin.
 */
MUST_CHECK bool state_window(struct state *state, const struct window_range *window,
			     const struct query *const *queries, size_t nqueries,
			     bool (*each)(void *arg, const struct interval *interval), void *arg,
			     struct error *err);

/*
 * Does state_window() read less of the trace for a list of the query than state_intervals_all()? So
 * it is of a short part of a large trace without timelines, where the keys are not known before
 * reading.
 */
MUST_CHECK bool state_window_reads_less(struct state *state, nstime begin, nstime end,
					const struct query *query, bool *less, struct error *err);

/*
 * Looks up the names of a PATH, and with `value` (may be NULL) whether the rules can write it: as
 * lookup_path() and lookup_value() of lookup.h.
 */
MUST_CHECK bool state_lookup(struct state *state, const struct query *query,
			     const struct value *value, struct buf *note, struct error *err);

/* Has some list been one of a window, which leaves out what does not change in it? */
bool state_left_out(const struct state *state);
/* What the last question used: "backward", "replay", "checkpoint"; for --stats. */
const char *state_evaluation(const struct state *state);
/* Stored changes that were looked at so far, where timelines answered. */
uint64_t state_changes_read(const struct state *state);
/* What state_at() would do for the question, without doing it: lines of text. */
MUST_CHECK bool state_explain(struct state *state, const struct moment *moment,
			      const struct query *const *queries, size_t nqueries, bool why,
			      struct buf *out, struct error *err);
/*
 * Calls `each` for every line and reason for which it failed so far, in the order of lines: the
 * place with its line and the reason, column 1. False from `each` ends it.
 */
void state_failed_lines(const struct state *state,
			bool (*each)(void *arg, const struct rule_error *line, uint64_t count),
			void *arg);

#endif
