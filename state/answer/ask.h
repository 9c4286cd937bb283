/* ask.h - values at moments by backward passes */
#ifndef STATE_ANSWER_ASK_H
#define STATE_ANSWER_ASK_H

#include "state/context/answers.h"
#include "state/context/wanted.h"
#include "state/events/event_filter.h"

/* Adds the values of the wanted attributes, and of those listed (wanted_enumerate()), to *out. */
MUST_CHECK enum outcome ask_at(struct state *state, const struct closure *closure,
			       const struct moment *moments, size_t nmoments, struct wanted *wanted,
			       const struct listed *listed, size_t nlisted, struct records *out,
			       struct error *err);
/*
 * Sets facts[i] to the value of the stored attribute places[i]; its text is interned. Without
 * `fills` values are as lines evaluated at that moment read them: without fills by later events.
 */
MUST_CHECK enum outcome ask_places(struct state *state, const struct closure *closure,
				   const struct state_place *places, size_t count, bool fills,
				   struct fact *facts, struct error *err);
/*
 * As ask_places(), several times: each ask_next() is for earlier moments than the one before, none
 * before t. Events read for one are not read again for the next.
 */
struct answering;
struct answering *ask_series(struct state *state, const struct closure *closure, nstime t);
MUST_CHECK enum outcome ask_next(struct answering *asking, const struct state_place *places,
				 size_t count, struct fact *facts, struct error *err);
void ask_series_free(struct answering *asking);
struct order moment_order(const struct moment *moment);
/* Makes a backward pass for questions at t and later; the caller frees it. */
struct backward *pass_over(struct state *state, const struct closure *closure, nstime t);

/* Packet filters by the rules' key fields; NULL: there is no index. Owned by the state. */
struct packet_filters *state_packet_filters(struct state *state);
/* Makes an event filter for the events that the closure's lines need; the caller frees it. */
struct event_filter *state_event_filter(struct state *state, const struct closure *closure);

#endif
