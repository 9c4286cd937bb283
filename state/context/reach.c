/* reach.c - see reach.h */
#include "state/context/reach.h"

#include "engine/timetext.h"

enum {
	WINDOW_PACKETS = 64, /* packets of all streams on either side; of each stream: */
	PACKETS_LEAST = 2,
	PACKETS_MOST = 16
};

enum { PASS_VISITS = 1 << 16 };
enum { PASS_ROUNDS = 64 /* rounds of a backward pass; the horizon limits what they read */ };
#define PASS_BYTES ((size_t)1 << 30)

uint64_t reach_packets(const struct state *state, uint64_t packets)
{
	uint64_t streams = state->event_source->trace->nstreams;
	uint64_t each = WINDOW_PACKETS / (streams ? streams : 1);

	packets = packets ? packets : state->lists_packets;
	if (packets)
		return packets;
	return each < PACKETS_LEAST ? PACKETS_LEAST : each > PACKETS_MOST ? PACKETS_MOST : each;
}

uint64_t reach_visits(const struct state *state)
{
	return state->window_visits ? state->window_visits : PASS_VISITS;
}

bool reach_begin(struct state *state, nstime begin, nstime end, uint64_t packets,
		 struct state_reach *reach, struct error *err)
{
	char texts[4][TIME_TEXT_MAX];

	if (!horizon_find(state->event_source, begin, end, packets, &reach->horizon, err)) {
		horizon_release(&reach->horizon);
		return false;
	}
	debug_note(&state->options.notices, DEBUG_STATE,
		   "state: window from %s to %s, read back to %s and on to %s",
		   time_raw(begin, texts[0]), time_raw(end, texts[1]),
		   time_raw(reach->horizon.floor, texts[2]),
		   time_raw(reach->horizon.ceil, texts[3]));
	reach->limits = state->limits;
	state->horizon = &reach->horizon;
	state->event_source->fills_from = &reach->horizon.floor;
	state->limits = (struct backward_limits){.visits = UINT32_MAX,
						 .pendings = UINT32_MAX,
						 .questions = UINT32_MAX,
						 .rounds = PASS_ROUNDS,
						 .bytes = PASS_BYTES};
	return true;
}

void reach_end(struct state *state, struct state_reach *reach)
{
	state->limits = reach->limits;
	state->horizon = NULL;
	state->event_source->fills_from = NULL;
	horizon_release(&reach->horizon);
}
