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

#include "index/events.h"
#include "oneliner/bind.h"
#include "oneliner/outlet.h"
#include "state/state.h"

struct program;
struct symbols;

struct oneliner_work {
	const struct bound *bound;
	struct index *index;
	/* The range and the filters; `classes` may be NULL. Losses, order and values are set here.
	 */
	struct events_options events;
	/* One for each thread of a sweep, else one; NULL: all events pass. */
	struct where_pass *(*pass_new)(void *arg);
	/* Asked in order, of each event; NULL: nothing reads the state. */
	bool (*passes)(void *arg, struct events *events, bool *pass, struct error *err);
	void *filter;            /* of both */
	struct state *state;     /* of programs that read it; else NULL */
	struct program *program; /* of the rules of this state */
	struct symbols *symbols;
	nstime start, end; /* `elapsed` and interval count from the start; END is at the end */
	bool (*progress)(void *arg, uint64_t done, uint64_t all); /* of a sweep */
	void *progress_arg;
	struct outlet *outlet;
};

struct oneliner_result {
	bool swept;
	uint64_t losses, unknown;
};

/* BEGIN, the events, END, and all maps that have something. False: *err, and the maps were not
   printed. */
MUST_CHECK bool oneliner_run(const struct oneliner_work *work, struct oneliner_result *out,
			     struct error *err);

#endif
