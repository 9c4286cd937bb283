/*
 * planner.c - chooses between a backward pass and replay
 *
 * Backward, if all attributes are known before reading and a backward pass can decide each line
 * that may write one; it has limits, after which replay takes over. Else replay from the newest
 * checkpoint, which leaves more checkpoints behind.
 */
#include "state/answer/planner.h"
#include "engine/base/mem.h"

enum { MANY_ROOTS = PLACES_AT_ONCE, DEEP = 2 };

static struct closure *closure_of(struct state *state, const struct wanted *wanted,
				  const struct listed *listed, size_t nlisted)
{
	size_t count = wanted->nattrs;
	uint32_t *shapes = mem_new_array(count + 2 * nlisted, sizeof *shapes);
	struct closure *closure;

	for (size_t i = 0; i < wanted->nattrs; i++)
		shapes[i] = attr_shape(state->attrs, wanted->attrs[i]);
	for (size_t i = 0; i < nlisted; i++) {
		shapes[count++] = attr_shape(state->attrs, listed[i].attr);
		if (listed[i].source != ATTR_ABSENT)
			shapes[count++] = attr_shape(state->attrs, listed[i].source);
	}
	closure = closure_new(state->catalog, shapes, count);
	mem_free(shapes);
	return closure;
}

static bool choose(struct choice *out, bool backward, const char *reason)
{
	out->backward = backward;
	out->reason = reason;
	return true;
}

/* Why a backward pass cannot decide the closure's lines; NULL: it can. */
static const char *why_forward(const struct closure *closure)
{
	if (closure->cumulative)
		return "a line adds up, pushes or pops";
	if (closure->cyclic)
		return "lines read what they write";
	return closure->depth > DEEP ? "reads are nested too deeply" : NULL;
}

bool looks_back(const struct closure *closure)
{
	return !why_forward(closure);
}

/* Sets *out; false: *err. */
static bool find_choice(struct state *state, struct wanted *wanted, struct choice *out,
			struct error *err)
{
	const char *forward;

	*out = (struct choice){0};
	err->kind = ERR_NONE;
	if (state->options.replay_only || state->force == FORCE_REPLAY)
		return choose(out, false, "replay was asked for");
	if (state->force == FORCE_CHECKPOINT)
		return choose(out, false, "a checkpoint was asked for");
	if (wanted->lists && !wanted_enumerate(state, wanted, &out->listed, &out->nlisted, err)) {
		if (err->kind != ERR_NONE)
			return false;
		return choose(out, false, "the keys are not known before reading");
	}
	out->closure = closure_of(state, wanted, out->listed, out->nlisted);
	forward = why_forward(out->closure);
	if (forward && (out->closure->cumulative || state->force != FORCE_BACKWARD))
		return choose(out, false, forward);
	if (state->force == FORCE_BACKWARD)
		return choose(out, true, "the backward pass was asked for");
	if (wanted->nattrs + out->nlisted > MANY_ROOTS && !state->horizon)
		return choose(out, false, "many attributes at once");
	return choose(out, true, "few attributes, each decided by its last write");
}

bool choose_at(struct state *state, struct wanted *wanted, struct choice *out, struct error *err)
{
	if (!find_choice(state, wanted, out, err))
		return false;
	debug_note(&state->options.notices, DEBUG_STATE,
		   "state: %zu attributes by name, %zu listed: %s, since %s", wanted->nattrs,
		   out->nlisted, out->backward ? "a backward pass" : "a replay", out->reason);
	return true;
}

void choice_release(struct choice *choice)
{
	mem_free(choice->listed);
	closure_free(choice->closure);
	*choice = (struct choice){0};
}
