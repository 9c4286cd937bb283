/*
 * pair_doubts.h - could missing events have ended a pair, and begun another one of its key?
 *
 * A pair is an event that begins something and the next one of the same key that ends it: the entry
 * and the exit of a system call by one thread. It is in doubt
 *
 *   - where a stream began or ceased to lack events while it lasted: since some were lost, or it
 *     begins late, or ends early;
 *   - where a stream lacked some all the time, and the pair's thread may have been on its CPU: it
 *     left its own meanwhile, as cpu[*]/thread says;
 *   - where only the state gives the thread, and a begin and an end of the pair's classes were
 *     left out while it lasted because their thread is not known: both may be of its thread.
 *
 * If packets do not say when a stream begins (perf.data, trace.dat), it lacks events until its
 * first one; that matters only if the thread is known from the state. All code that pairs events
 * uses this file, so that the same pairs are left out everywhere.
 */
#ifndef STATE_EVENTS_PAIR_DOUBTS_H
#define STATE_EVENTS_PAIR_DOUBTS_H

#include "index/events.h"
#include "state/events/cpu_runs.h"

/* A pair, or why the end of a begun pair is not known. */
enum pair_end {
	PAIR_WHOLE,
	PAIR_OPEN,       /* no end follows */
	PAIR_OTHER,      /* the next end belongs to another pair */
	PAIR_LOST,       /* events were lost while it lasted */
	PAIR_UNRECORDED, /* a CPU was not recorded while it lasted */
	PAIR_SWITCH,     /* a switch is missing while it lasted, and its events name no thread */
	PAIR_ENDS
};

struct pair_doubts;

/* An event that begins or ends a pair. */
struct pair_event {
	nstime time;
	int32_t cpu;    /* -1: not known */
	bool named;     /* the event itself names the thread */
	uint32_t class; /* class number; the trace's nclasses: not known */
};

/*
 * For pairs in a range from `begin` on. `classes` has a bit per event class that begins or ends a
 * pair; it is not kept. The caller frees *out with pair_doubts_free(); it is NULL after an error.
 */
MUST_CHECK bool pair_doubts_new(struct index *index, const uint64_t *classes, nstime begin,
				struct pair_doubts **out, struct error *err);
void pair_doubts_free(struct pair_doubts *doubts); /* NULL is fine */
/*
 * Call for each loss of the range, in order (events_options.losses and .ends). False: it does not
 * matter, since its stream has no events of pairs, or it is inferred.
 */
bool pair_doubts_loss(struct pair_doubts *doubts, const struct event *loss);
/* Call when an event of the class is left out because its thread is not known. */
void pair_doubts_nameless(struct pair_doubts *doubts, uint32_t class, nstime t);
/*
 * Why the pair of the two events is in doubt; `end` may also be the next begin of the key. *by_run:
 * PAIR_WHOLE is right only if the thread did not leave its CPU, so call pair_doubts_by_run().
 */
enum pair_end pair_doubts_of(const struct pair_doubts *doubts, const struct pair_event *begin,
			     const struct pair_event *end, bool *by_run);
/* The same where *by_run is true; `runs` say who runs on the CPU of the end just before it. */
enum pair_end pair_doubts_by_run(const struct pair_doubts *doubts, const struct pair_event *begin,
				 const struct pair_event *end, struct cpu_runs *runs);
/* Why what lasted at `t` is not known behind it: what streams lacked; PAIR_SWITCH: nothing. */
MUST_CHECK bool pair_doubts_at(struct index *index, nstime t, enum pair_end *out,
			       struct error *err);

#endif
