/* fake_state.c - see fake_state.h */
#include "tests/state/fake_state.h"

#include "state/state.h"
#include "tests/harness.h"

#include <string.h>

void fake_state_open(struct fake_trace *trace, const char *rules, struct fake_state *out)
{
	struct state_options options = {.rules = rules_new()};
	struct error err;

	out->trace = trace;
	out->rules = options.rules;
	if (!rules_add(out->rules, "test.rules", rules, strlen(rules), &err) ||
	    !state_over_source(&trace->event_source, &options, &out->state, &err))
		fail_msg("%s\n%s", err.text, rules);
}

void fake_state_random(struct gen *gen, uint64_t seed, struct fake_state *out)
{
	struct fake_event events[RANDOM_EVENTS];
	uint32_t nstreams;
	size_t count;

	*gen = (struct gen){.rng = {seed}, .cumulative = seed % 5 == 0};
	nstreams = 1 + pick(gen, 4);
	count = make_events(gen, events, nstreams);
	add_rules(gen);
	fake_state_open(fake_trace_new(nstreams, random_classes, RANDOM_CLASSES, events, count),
			buf_text(&gen->text), out);
}

void fake_state_close(struct fake_state *fake)
{
	state_close(fake->state);
	rules_free(fake->rules);
	fake_trace_free(fake->trace);
}

uint32_t fake_state_attr(const struct fake_state *fake, const char *path)
{
	struct query *query;
	struct error err;
	uint32_t attr;

	if (!query_parse(path, &query, &err))
		fail_msg("%s: %s", path, err.text);
	attr = query_attr(query, fake->state->attrs);
	assert_true(attr != ATTR_ABSENT);
	query_free(query);
	return attr;
}

size_t fake_state_attrs(const struct fake_state *fake, const char *const paths[FAKE_PATHS],
			uint32_t attrs[FAKE_PATHS])
{
	size_t count = 0;

	for (; count < FAKE_PATHS && paths[count]; count++)
		attrs[count] = fake_state_attr(fake, paths[count]);
	return count;
}
