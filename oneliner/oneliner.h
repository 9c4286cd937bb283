/*
 * oneliner.h - bpftrace's one-liners, asked of a recording
 *
 *     sched_switch /prev_state & 2/ { @[prev_comm] = count(); }
 *
 * Where all that events do is to be counted and summed by keys, they are swept in no order, on all
 * threads; else they are read in order of time. docs/do.md is the language.
 */
#ifndef ONELINER_ONELINER_H
#define ONELINER_ONELINER_H

#include "aggregate/partial.h"
#include "index/events.h"
#include "oneliner/bind.h"
#include "oneliner/outlet.h"

struct state;
struct program;
struct symbols;

/* A program whose names are looked up in a trace. */
struct oneliner_question {
	struct oneliner text;
	struct bound bound;
	struct state *state;     /* NULL: nothing reads it */
	struct program *program; /* of the rules of this state; likewise */
};

/* The trace is borrowed. The caller ends *out with oneliner_close(), also after false. */
MUST_CHECK bool oneliner_open(const char *text, size_t len, const struct trace *trace,
			      struct oneliner_question *out, struct error *err);
/*
 * The same program, for the trace as it is open now: what the question had of the trace before ends
 * by oneliner_unbind_trace(), which is before that is closed. False: *err; it may be tried again.
 */
MUST_CHECK bool oneliner_bind_again(struct oneliner_question *question, const struct trace *trace,
				    struct error *err);
void oneliner_unbind_trace(struct oneliner_question *question);
/* Reads the program alone; then oneliner_bind_again(). */
MUST_CHECK bool oneliner_open_text(const char *text, size_t len, struct oneliner_question *out,
				   struct error *err);
void oneliner_close(struct oneliner_question *question); /* zeroed bytes are fine */
/* Then oneliner_run() needs a state, which is borrowed. */
bool oneliner_reads_state(const struct oneliner_question *question);
MUST_CHECK bool oneliner_set_state(struct oneliner_question *question, struct state *state,
				   struct error *err);

struct oneliner_work {
	const struct oneliner_question *question;
	struct index *index;
	/*
	 * The range and the filters; `classes` may be NULL. Losses, order and values are set by
	 * oneliner_run().
	 */
	struct events_options events;
	/* One for each thread of a sweep, else one; NULL: all events pass. */
	struct where_pass *(*pass_new)(void *arg);
	/* Asked in order, of each event; NULL: nothing reads the state. */
	bool (*passes)(void *arg, struct events *events, bool *pass, struct error *err);
	void *filter; /* of both */
	struct symbols *symbols;
	nstime start, end; /* `elapsed` and interval count from the start; END is at the end */
	bool (*progress)(void *arg, uint64_t done, uint64_t all); /* of a sweep */
	void *progress_arg;
	struct outlet *outlet;
	struct partial_work *partial; /* NULL: the whole range is swept, or read in order */
	bool keeps; /* maps are not printed at the end, but are in the result */
};

/*
 * Is all that events do counted and summed, so that it can be done in parts? False: ERR_QUERY, why
 * not.
 */
MUST_CHECK bool oneliner_is_sum(const struct oneliner_work *work, struct error *err);

struct oneliner_result {
	uint64_t losses, unknown;
	char lack[64]; /* of the text, the leftmost that was not known; "": nothing */
	struct map
		*maps; /* of work->keeps: text.nmaps of them, by name; they borrow the question */
	size_t nmaps;
};

/* The times of `elapsed` and END: of the range, and where it is unbounded those of the events. */
MUST_CHECK bool oneliner_times(struct index *index, nstime begin, nstime end,
			       struct oneliner_work *out, struct error *err);
/*
 * BEGIN, the events (or what the bodies of work->partial have of them), END, and all maps that have
 * something. False: *err, and the maps were not
 * printed. The caller ends *out with oneliner_result_release(), also after false.
 */
MUST_CHECK bool oneliner_run(const struct oneliner_work *work, struct oneliner_result *out,
			     struct error *err);
/*
 * The same in parts, for a trace that grows: range after range, END and the maps at last. Work and
 * trace may be others each time, of the same question, which is bound to the trace as it is open
 * then (oneliner_bind_again()). Between two calls nothing of the trace is needed.
 */
struct oneliner_run;
struct oneliner_run *oneliner_run_new(const struct oneliner_question *question);
/* BEGIN, the first time, and the events. *open: exit() was not called, and what is printed is read.
 */
MUST_CHECK bool oneliner_run_more(struct oneliner_run *run, const struct oneliner_work *work,
				  bool *open, struct error *err);
/* END, and all maps that have something. *out is zeroed before the first call. */
MUST_CHECK bool oneliner_run_end(struct oneliner_run *run, const struct oneliner_work *work,
				 struct oneliner_result *out, struct error *err);
/* What was lost and not known so far, into *out. */
void oneliner_run_tell(struct oneliner_run *run, const struct oneliner_work *work,
		       struct oneliner_result *out);
/*
 * Sweeps work->partial's chunk alone, without BEGIN and END, and adds the maps to its body.
 * *out: what was lost and not known.
 */
MUST_CHECK bool oneliner_run_chunk(const struct oneliner_work *work, struct oneliner_result *out,
				   struct error *err);
void oneliner_run_free(struct oneliner_run *run); /* before oneliner_close(); NULL is fine */
void oneliner_result_release(struct oneliner_result *result);
/* Adds a note for the user about values that were not known; false: there is none. */
bool oneliner_result_note(const struct oneliner_result *result, struct buf *out);

#endif
