/* run_internal.h - what the files of a run share */
#ifndef ONELINER_RUN_INTERNAL_H
#define ONELINER_RUN_INTERNAL_H

#include "oneliner/oneliner.h"
#include "oneliner/runtime.h"

enum { LACK_ROOM = sizeof((struct oneliner_result *)NULL)->lack };

struct ticker { /* a probe of interval */
	const struct clause *probe;
	nstime period, next;
};

/* What goes on from one range to the next. */
struct oneliner_run {
	struct runtime *rt; /* whose maps are printed */
	struct ticker *tickers;
	size_t ntickers;
	nstime next; /* of all tickers */
	uint64_t losses;
	bool begun;    /* BEGIN was run */
	bool has_lack; /* some chunk had no value for what stands in the program: */
	uint64_t lack_at;
	char lack[LACK_ROOM];
};

struct work { /* over one range */
	const struct oneliner_work *of;
	struct oneliner_run *run;
	struct runtime *rt; /* the run's */
	uint64_t *classes;  /* that are read */
	bool join_failed;
	struct error error;
};

static inline const struct bound *bound_of(const struct work *work)
{
	return &work->of->question->bound;
}

static inline const struct oneliner *program_of(const struct work *work)
{
	return &work->of->question->text;
}

/* run_partial.c: the maps of a chunk, and what was lost and not known, to work->of->partial. */
void run_add_body(const struct work *work, const struct oneliner_result *result);
/* The same of all chunks into the run. False: *err, and the partial work says which is refused. */
MUST_CHECK bool run_join_bodies(struct work *work, struct error *err);

#endif
