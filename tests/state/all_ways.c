/* all_ways.c - see all_ways.h */
#include "tests/state/all_ways.h"

#include "state/context/context.h"
#include "state/state.h"
#include "tests/harness.h"

#include <string.h>

static void add_answer(const struct answer *answer, struct buf *out)
{
	if (answer->value.kind <= VALUE_NONE)
		buf_add_text(out, answer->value.kind == VALUE_NONE ? "none" : "unknown");
	else
		value_add_key(&answer->value, out);
	if (answer->since != NSTIME_MIN)
		buf_printf(out, " since %lld", (long long)answer->since);
}

static void ask(struct fake_trace *trace, struct rules *rules, const struct asked *asked,
		enum force force)
{
	struct state_options options = {.rules = rules};
	struct moment moment = {asked->t, asked->before}, end = {1000, false};
	struct buf text = {0}, wanted = {0};
	struct answers answers;
	struct query *query;
	struct state *state;
	struct error err;

	assert_true(state_over_source(&trace->event_source, &options, &state, &err));
	state->spacing = state->share = 0;
	state->limits.rounds = 100;
	if (force == FORCE_CHECKPOINT || force == FORCE_NONE) { /* makes checkpoints */
		assert_true(state_at(state, &end, 1, NULL, 0, false, &answers, &err));
		answers_release(&answers);
	}
	state->force = force;
	assert_true(query_parse(asked->path, &query, &err));
	assert_true(state_at(state, &moment, 1, (const struct query *const *)&query, 1, true,
			     &answers, &err));
	assert_int_equal(answers.count, 1);
	add_answer(&answers.items[0], &text);
	buf_add_text(&wanted, asked->value);
	if (asked->since != SINCE_NEVER)
		buf_printf(&wanted, " since %lld", (long long)asked->since);
	assert_string_equal(buf_text(&text), buf_text(&wanted));
	buf_release(&text);
	buf_release(&wanted);
	answers_release(&answers);
	query_free(query);
	state_close(state);
}

void ask_all_ways(struct fake_trace *trace, struct rules *rules, const struct asked *asked)
{
	ask(trace, rules, asked, FORCE_REPLAY);
	ask(trace, rules, asked, FORCE_BACKWARD);
	ask(trace, rules, asked, FORCE_CHECKPOINT);
	ask(trace, rules, asked, FORCE_NONE);
}
