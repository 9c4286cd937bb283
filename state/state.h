/*
 * state.h - what was true at t? The public header of the room, for command line, Lua and SQL
 *
 * A struct state is a trace's index plus a rule set; questions are functions on it. The planner
 * chooses between several ways of evaluation. They give the same answer; state_evaluation() names
 * the one that was used.
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
	/* Called now and then during evaluation; return false to interrupt it. May be NULL. */
	bool (*progress)(void *arg, nstime at, nstime first, nstime last);
	void *progress_arg;
	bool replay_only; /* for tests: always replay from the start, without checkpoints */
	bool no_checkpoints;
	/*
	 * Bit per event class: events of these classes are hidden from the rules. NULL: none is.
	 * Borrowed during state_open(). Stored results are then neither read nor written.
	 */
	const uint64_t *without;
};

MUST_CHECK bool state_open(struct index *index, const struct state_options *options,
			   struct state **out, struct error *err);
/* As state_open(), but reads events from `event_source` (borrowed) and not from an index. */
MUST_CHECK bool state_over_source(struct event_source *event_source,
				  const struct state_options *options, struct state **out,
				  struct error *err);
/* As state_open() with the index, rules and options of `like`, except for options.without. */
MUST_CHECK bool state_open_without(const struct state *like, const uint64_t *without,
				   struct state **out, struct error *err);
void state_close(struct state *state);
struct index *state_index(const struct state *state); /* both are borrowed */
struct rules *state_rules(const struct state *state);

struct answer {
	nstime t;
	const char *path;   /* canonical: cpu[3]/thread */
	struct value value; /* VALUE_UNKNOWN, VALUE_NONE or a value; strings live as long as the set */
	nstime since;       /* time of the last write; NSTIME_MIN: none, shown as null */
	/*
	 * The event that set the value (--why). Complete only if the caller passed why = true;
	 * otherwise place, class and time are filled in where the evaluation knew them, and the
	 * class is else NULL.
	 */
	bool has_why;
	struct position why;
	const struct event_class *why_class; /* NULL: a loss or `initial` */
	nstime why_time;
	uint32_t why_line;    /* of the rule file */
	const char *why_file;
	enum loss_kind why_loss;          /* if a loss set it: how that loss was detected */
	struct contradiction why_between; /* if LOSS_INFERRED: the two events that contradict */
};

struct answers {
	struct answer *items; /* in the order of the moments passed, then by path (natural order) */
	size_t count;
	struct arena *arena; /* owns all strings of `items` */
};
void answers_release(struct answers *answers);

/*
 * Values of all attributes that match any of the queries, at each of the moments (in any order);
 * with no queries, the whole state. A query without wildcards always gives an answer (VALUE_UNKNOWN
 * when nothing is known); for one with wildcards docs/rules.md defines the list. On success the
 * caller calls answers_release(out).
 */
MUST_CHECK bool state_at(struct state *state, const struct moment *moments, size_t nmoments,
			 const struct query *const *queries, size_t nqueries, bool why,
			 struct answers *out, struct error *err);
/* As state_at(), but an attribute that wildcards list at one moment is answered at all moments. */
MUST_CHECK bool state_at_all(struct state *state, const struct moment *moments, size_t nmoments,
			     const struct query *const *queries, size_t nqueries,
			     struct answers *out, struct error *err);
/*
 * Sets *attr to the attribute with this path (no wildcards, no thread names). False: syntax, in
 * *err.
 */
MUST_CHECK bool state_attribute(struct state *state, const char *path, uint32_t *attr,
				struct error *err);
/*
 * May the attribute ever have a value? False if no rule line gives it one, as with thread[0]/state:
 * then it is unknown at all times, and no event needs to be read for it.
 */
bool state_may_be_known(struct state *state, uint32_t attr);
struct state_place { /* an attribute, and the moment at which its value is wanted */
	struct moment moment;
	uint32_t attr;
};
/*
 * Values of all places in one evaluation: out->items[i] belongs to places[i] and has no path.
 * Places of one moment cost less if they are adjacent; with more than PLACES_AT_ONCE attributes the
 * whole trace may be replayed. `some`: if options.progress interrupts a backward pass, the call
 * still succeeds, and values not found by then are unknown.
 */
enum { PLACES_AT_ONCE = 1000 };
MUST_CHECK bool state_at_places(struct state *state, const struct state_place *places, size_t count,
				bool some, struct answers *out, struct error *err);

/*
 * The recorded range, both ends inclusive; *begin > *end if nothing was recorded. Outside of it all
 * values are unknown, whichever way of evaluation answers.
 */
MUST_CHECK bool state_recorded(struct state *state, nstime *begin, nstime *end, struct error *err);

/*
 * Calls `each`, in order of time, for each contradiction between events of the stream: places where
 * events must be missing. Reads the parts of the stream that were not yet checked.
 */
MUST_CHECK bool state_contradictions(struct state *state, const struct stream *stream,
				     void (*each)(void *arg, const struct contradiction *found),
				     void *arg, struct error *err);

enum interval_ends {
	INTERVALS_WHOLE, /* with their true begin and end, also outside of the range */
	/*
	 * Intervals that reach over the range's end are cut there. Those that reach over its begin
	 * start at some point where they already had the value: nothing is read to find their true
	 * begin or end.
	 */
	INTERVALS_CUT
};
/*
 * Calls `each` for all intervals that overlap [begin, end), ordered by (path, begin); adjacent
 * intervals of equal value are joined, those of VALUE_UNKNOWN and VALUE_NONE left out. The interval
 * is borrowed for the call. If `each` returns false, no more follow, and state_intervals() returns
 * true.
 */
MUST_CHECK bool state_intervals(struct state *state, nstime begin, nstime end,
				enum interval_ends ends, const struct query *const *queries,
				size_t nqueries,
				bool (*each)(void *arg, const struct interval *interval), void *arg,
				struct error *err);

/* Queries whose intervals go to a callback of their own, before all others. */
struct intervals_first {
	size_t count; /* so many queries, from the start of the array */
	bool (*each)(void *arg, const struct interval *interval); /* as state_intervals() says */
	void *arg;
};
/*
 * As state_intervals(), but intervals of the first queries go to first->each, before all others.
 * Attributes that only the first queries match are cut as with INTERVALS_CUT. Attributes that both
 * kinds of queries match are given twice. The trace is read once.
 */
MUST_CHECK bool state_intervals_after(struct state *state, nstime begin, nstime end,
				      enum interval_ends ends, const struct query *const *queries,
				      size_t nqueries, const struct intervals_first *first,
				      bool (*each)(void *arg, const struct interval *interval),
				      void *arg, struct error *err);
/*
 * For a trace that is still being written and is reopened in steps: the state at the end of one
 * step, from which the next step's run continues (state/context/handover.h).
 */
struct handover;
struct handover *handover_new(void);
void handover_free(struct handover *handover); /* NULL is fine */
/*
 * One step over a growing trace: intervals that overlap [begin, end), where `begin` is the end of
 * the last step (NSTIME_MIN: first step). Given as by state_intervals_after() with INTERVALS_CUT,
 * except: begins are the true ones, even if an event of this step says what was before it;
 * intervals that ended at `begin` come once more; attributes of state_computes_late() are left out;
 * lists have all attributes that have a value. interval.lost: the value is unknown from its end on,
 * but a later event may still say that it went on; once no event can, an empty interval with
 * VALUE_NONE follows. Nothing of the trace is read from `end` on; NSTIME_MAX: the recording has
 * ended, and it is read to its end.
 */
MUST_CHECK bool state_intervals_on(struct state *state, struct handover *handover, nstime begin,
				   nstime end, const struct query *const *queries, size_t nqueries,
				   const struct intervals_first *first,
				   bool (*each)(void *arg, const struct interval *interval),
				   void *arg, struct error *err);
/*
 * The trace is complete before `end`. Sets *out (<= end) to the time up to which later events
 * cannot change the state, neither by contradictions (state/replay/contradictions.h) nor by @end
 * lines. Nothing before `least` is read: *out may then be earlier than necessary.
 */
MUST_CHECK bool state_settled(struct state *state, nstime least, nstime end, nstime *out,
			      struct error *err);
/*
 * Does the query match views whose operands a `was` line may fill in afterwards?
 * state_intervals_on() leaves these out.
 */
bool state_computes_late(struct state *state, const struct query *query);
/*
 * Sets *reads: does a list over these queries read all events of the range, so that one more list
 * costs no further reading? False where timelines answer, or where only a window is read.
 */
MUST_CHECK bool state_reads_range(struct state *state, nstime begin, nstime end,
				  const struct query *const *queries, size_t nqueries,
				  bool *reads, struct error *err);

/* A question about a window of time, [begin, end). */
struct window_range {
	nstime begin, end;
	bool cut;         /* cut intervals at its edges, as with INTERVALS_CUT */
	bool quiet;       /* print no note on what lists leave out */
	uint64_t packets; /* packets of each stream to read before it, and after it */
};
/* As state_intervals() with LISTS_ALL, whatever state_set_lists() was called with. */
MUST_CHECK bool state_intervals_all(struct state *state, nstime begin, nstime end,
				    enum interval_ends ends, const struct query *const *queries,
				    size_t nqueries,
				    bool (*each)(void *arg, const struct interval *interval),
				    void *arg, struct error *err);
/*
 * What a query with wildcards lists over a range. LISTS_ALL (the default): each attribute that has
 * a value there. LISTS_PASS: the same, and a run that starts at the trace's begin continues to the
 * trace's end and leaves checkpoints, so that the next range starts near one. LISTS_WINDOW: if the
 * range is at most an eighth of a large trace (LARGE_TRACE bytes), lists come from state_window()
 * with `packets`; 0: as many as take about a second. Attributes without wildcards are then searched
 * further away, unless that takes a run.
 */
enum { LARGE_TRACE = 64 << 20 };
enum lists { LISTS_ALL, LISTS_PASS, LISTS_WINDOW };
void state_set_lists(struct state *state, enum lists lists, uint64_t packets);
/*
 * Sets the range [*floor, *ceil) that lists over the window [begin, end) may read. NSTIME_MIN and
 * NSTIME_MAX: no limit.
 */
MUST_CHECK bool state_window_reach(struct state *state, nstime begin, nstime end, nstime *floor,
				   nstime *ceil, struct error *err);
/* Sets *window: would state_intervals() answer lists of these queries by state_window()? */
MUST_CHECK bool state_lists_window(struct state *state, nstime begin, nstime end,
				   const struct query *const *queries, size_t nqueries,
				   bool *window, struct error *err);

/*
 * As state_intervals(), but reads an amount that grows with the window, not with the trace. Lists
 * have the attributes to which an event of the window gives a value (= += push pop), those whose
 * keys are known without reading (one per CPU), and views over these. The value before an
 * attribute's first event in the window is searched in `packets` packets of each stream: if it is
 * not there, it is unknown, and an interval that begins or ends further away has NSTIME_MIN or
 * NSTIME_MAX there. Attributes without wildcards are searched as far as necessary. Rules that
 * count, or read what they write, take a run from the trace's begin.
 */
MUST_CHECK bool state_window(struct state *state, const struct window_range *window,
			     const struct query *const *queries, size_t nqueries,
			     bool (*each)(void *arg, const struct interval *interval), void *arg,
			     struct error *err);

/*
 * Sets *less: does state_window() read less for a list of the query than state_intervals_all()? It
 * does for a short part of a large trace without timelines, if the query's keys are not known
 * before reading.
 */
MUST_CHECK bool state_window_reads_less(struct state *state, nstime begin, nstime end,
					const struct query *query, bool *less, struct error *err);

/*
 * Checks that the names in the query exist and, unless `value` is NULL, that the rules can write
 * this value: lookup_path() and lookup_value() of lookup.h.
 */
MUST_CHECK bool state_lookup(struct state *state, const struct query *query,
			     const struct value *value, struct buf *note, struct error *err);

/* Was a note given on what a list over a window leaves out, or does not know? */
bool state_left_out(const struct state *state);
/* How the last question was evaluated: "backward", "replay", "checkpoint" or "slices". */
const char *state_evaluation(const struct state *state);
/* Number of stored changes read so far from timelines. */
uint64_t state_changes_read(const struct state *state);
/* How state_at() would evaluate a question. */
struct state_plan {
	const char *evaluation; /* "backward", "forward" or "slices" */
	const char *reason;
	bool backward, stored; /* the evaluation is "backward", or "slices" */
	size_t attributes;     /* known before reading; only of "backward" */
	nstime checkpoint; /* the nearest stored state below; NSTIME_MIN: none. Not of "slices" */
};
/* Evaluates nothing. */
MUST_CHECK bool state_explain(struct state *state, const struct moment *moment,
			      const struct query *const *queries, size_t nqueries, bool why,
			      struct state_plan *out, struct error *err);
/*
 * Calls `each` for every pair of rule line and reason for failure, in the order of lines, with how
 * often it failed so far. `line` has the place (column 1), and the reason as text. False from
 * `each` ends it.
 */
void state_failed_lines(const struct state *state,
			bool (*each)(void *arg, const struct rule_error *line, uint64_t count),
			void *arg);

#endif
