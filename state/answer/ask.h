/* ask.h - answers by the backward pass */
#ifndef STATE_ANSWER_ASK_H
#define STATE_ANSWER_ASK_H

#include "state/context/answers.h"
#include "state/context/wanted.h"
#include "state/events/event_filter.h"

/* Roots are the wanted attributes and those listed (see wanted_enumerate()). */
MUST_CHECK enum outcome ask_at(struct state *state, const struct closure *closure,
			       const struct moment *moments, size_t nmoments, struct wanted *wanted,
			       const struct listed *listed, size_t nlisted, struct records *out,
			       struct error *err);
/*
 * What each stored attribute is at its own moment; facts[i] of places[i], its text kept. Without
 * `fills` it is as lines that are evaluated there read it: without what later events fill.
 */
MUST_CHECK enum outcome ask_places(struct state *state, const struct closure *closure,
				   const struct state_place *places, size_t count, bool fills,
				   struct fact *facts, struct error *err);
/*
 * ask_places() several times, each time at earlier moments, none before t: what was read for one is
 * not read again for the next.
 */
struct answering;
struct answering *ask_series(struct state *state, const struct closure *closure, nstime t);
MUST_CHECK enum outcome ask_next(struct answering *asking, const struct state_place *places,
				 size_t count, struct fact *facts, struct error *err);
void ask_series_free(struct answering *asking);
struct order moment_order(const struct moment *moment);
/* A pass for questions at t and later. */
struct backward *pass_over(struct state *state, const struct closure *closure, nstime t);

/* Of packets, by the rules' key fields; NULL: there is no index. */
struct packet_filters *state_packet_filters(struct state *state);
/* An event filter for events that the closure's lines look at; the caller's. */
struct event_filter *state_event_filter(struct state *state, const struct closure *closure);

#endif
