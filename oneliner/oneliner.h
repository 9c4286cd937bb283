/*
 * oneliner.h - runs bpftrace's one-liners over a recorded trace
 *
 *     sched_switch /prev_state & 2/ { @[prev_comm] = count(); }
 *
 * A program that only counts and sums by keys runs in a sweep: on all threads, in no order. Any
 * other program reads the events in order of time. docs/do.md describes the language.
 */
#ifndef ONELINER_ONELINER_H
#define ONELINER_ONELINER_H

#include "aggregate/partial.h"
#include "index/events.h"
#include "oneliner/bind.h"
#include "oneliner/outlet.h"
#include "state/condition.h"

struct state;
struct program;
struct symbols;

/* A parsed program and, once bound, its names as looked up in a trace. */
struct oneliner_question {
	struct oneliner text;
	struct bound bound;
	struct state *state;     /* NULL: the program does not read the state */
	struct program *program; /* the rules of `state`, compiled; NULL likewise */
};

/* The trace is borrowed. The caller ends *out with oneliner_close(), also after false. */
MUST_CHECK bool oneliner_open(const char *text, size_t len, const struct trace *trace,
			      struct oneliner_question *out, struct error *err);
/*
 * Binds the program to a trace that was opened anew. Before the old trace is closed, the caller
 * must call oneliner_unbind_trace(). False: *err; the caller may try again.
 */
MUST_CHECK bool oneliner_bind_again(struct oneliner_question *question, const struct trace *trace,
				    struct error *err);
void oneliner_unbind_trace(struct oneliner_question *question);
/* Parses the program, without a trace; oneliner_bind_again() binds it. */
MUST_CHECK bool oneliner_open_text(const char *text, size_t len, struct oneliner_question *out,
				   struct error *err);
void oneliner_close(struct oneliner_question *question); /* zeroed bytes are fine */
/* Does the bound program read the state? Then oneliner_set_state() (borrows it) before any run. */
bool oneliner_reads_state(const struct oneliner_question *question);
MUST_CHECK bool oneliner_set_state(struct oneliner_question *question, struct state *state,
				   struct error *err);

struct oneliner_work {
	const struct oneliner_question *question;
	struct index *index;
	/*
	 * The range and the filters; `classes` may be NULL. oneliner_run() sets the members on
	 * losses, classes of probes and values.
	 */
	struct events_options events;
	const struct condition *condition; /* on events, compiled; NULL: all pass */
	struct symbols *symbols;
	nstime start, end; /* `elapsed` and interval count from start; END runs at `end` */
	bool (*progress)(void *arg, uint64_t done, uint64_t all); /* of a sweep */
	void *progress_arg;
	struct outlet *outlet;
	struct partial_work *partial; /* a chunk to sweep, or bodies to join; or NULL */
	bool keeps;                   /* maps go into the result, and are not printed at the end */
};

/*
 * Does the program only count and sum, so that chunks can be evaluated apart and joined? False:
 * ERR_QUERY with the reason.
 */
MUST_CHECK bool oneliner_is_sum(const struct oneliner_work *work, struct error *err);

struct oneliner_result {
	/* places where events were lost; statements and predicates left out for an unknown value */
	uint64_t losses, unknown;
	char lack[64];    /* the leftmost unknown expression, as in the text; "": none */
	struct map *maps; /* with work->keeps: text.nmaps maps, by name, borrowing the question */
	size_t nmaps;
};

/* Sets out->start and out->end: the range's bounds, or the first or last event if unbounded. */
MUST_CHECK bool oneliner_times(struct index *index, nstime begin, nstime end,
			       struct oneliner_work *out, struct error *err);
/*
 * Runs BEGIN, the events' probes (or joins the bodies of work->partial) and END, then prints all
 * maps. False: *err, and no map was printed at the end. The caller ends *out with
 * oneliner_result_release(), also after false.
 */
MUST_CHECK bool oneliner_run(const struct oneliner_work *work, struct oneliner_result *out,
			     struct error *err);
/*
 * The same for a trace that grows, range after range; END and the maps come last. Each call may
 * pass another `work` and another opening of the trace, to which the question is then bound
 * (oneliner_bind_again()). Between two calls the trace may be closed.
 */
struct oneliner_run;
struct oneliner_run *oneliner_run_new(const struct oneliner_question *question);
/*
 * Runs BEGIN in the first call, then the events of work->events. *open false: the program called
 * exit(), or nobody reads the output any more. False: *err.
 */
MUST_CHECK bool oneliner_run_more(struct oneliner_run *run, const struct oneliner_work *work,
				  bool *open, struct error *err);
/* Runs END and prints all maps. The caller zeroes *out before the first call. False: *err. */
MUST_CHECK bool oneliner_run_end(struct oneliner_run *run, const struct oneliner_work *work,
				 struct oneliner_result *out, struct error *err);
/* Sets `losses`, `unknown` and `lack` of *out to what the run has met so far. */
void oneliner_run_tell(struct oneliner_run *run, const struct oneliner_work *work,
		       struct oneliner_result *out);
/*
 * Sweeps only the chunk of work->partial, without BEGIN and END, and appends the maps to its body.
 * *out gets `losses`, `unknown` and `lack`.
 */
MUST_CHECK bool oneliner_run_chunk(const struct oneliner_work *work, struct oneliner_result *out,
				   struct error *err);
void oneliner_run_free(struct oneliner_run *run); /* before oneliner_close(); NULL is fine */
void oneliner_result_release(struct oneliner_result *result);
/* Appends a note for the user about unknown values; false: no value was unknown. */
bool oneliner_result_note(const struct oneliner_result *result, struct buf *out);

#endif
