/* own_timelines.c - see own_timelines.h */
#include "state/intervals/own_timelines.h"

#include "engine/base/bitset.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "state/context/wanted.h"
#include "state/events/closure.h"
#include "state/replay/contradictions.h"
#include "state/state.h"
#include "state/timelines/timelines.h"

/*
 * Builds timelines in the folder, then unlinks their files. The folder, with the catalog by which
 * they are verified, is removed when the state is closed.
 */
static bool build_in(struct state *state, const char *folder, struct error *err)
{
	char *path = folder_join(folder, "t");
	struct timelines_built built;
	struct error ignored;

	state->timelines = path;
	bool ok = timelines_build(state, index_jobs(state->index), &built, err);
	if (ok)
		timelines_there(state);
	MAY_FAIL(timelines_remove(path, &ignored));
	state->timelines = NULL;
	mem_free(path);
	return ok;
}

/* Also returns true, without timelines, if the disk has no room for them. */
static bool build_unnamed(struct state *state, struct error *err)
{
	const char *spill_dir = state->event_source->trace->spill_dir;

	temporary_folder_end(state->own_folder, state->own_noted);
	state->own_folder = temporary_folder(spill_dir, "timelines", &state->own_noted);
	return !state->own_folder || build_in(state, state->own_folder, err) || err->kind == ERR_IO;
}

/* ---- of some event classes ---- */

/* Sets state->part, in which no line of other classes runs, unless the disk has no room. */
static bool open_part(struct state *state, const uint64_t *classes, struct error *err)
{
	size_t nclasses = state->event_source->trace->nclasses;
	uint64_t *others = bitset_new(nclasses);
	struct state *part;

	for (size_t c = 0; c < nclasses; c++)
		if (!bitset_has(classes, c))
			bitset_add(others, c);
	bool ok = state_open_without(state, others, &part, err);
	mem_free(others);
	if (!ok)
		return false;
	ok = build_unnamed(part, err);
	if (ok && timelines_there(part))
		state->part = part;
	else
		state_close(part);
	return ok;
}

/* Classes with lines of the closure, and those by which losses are inferred; to be freed. */
static uint64_t *classes_of(struct state *state, const struct closure *closure)
{
	size_t nclasses = state->event_source->trace->nclasses;
	const uint64_t *telling = contradictions_telling(state->found);
	uint64_t *classes = bitset_new(nclasses);

	for (size_t c = 0; c < nclasses; c++)
		if (bitset_has(closure->classes, c) || (telling && bitset_has(telling, c)))
			bitset_add(classes, c);
	return classes;
}

/* The closure of the queries, to be freed; *classes is to be freed, too. */
static struct closure *closure_of(struct state *state, const struct query *const *queries,
				  size_t nqueries, uint64_t **classes)
{
	struct wanted wanted;

	wanted_init(state, queries, nqueries, &wanted);
	struct closure *closure = wanted_closure(state, &wanted);
	wanted_release(&wanted);
	*classes = classes_of(state, closure);
	return closure;
}

/* Is there a second state that evaluates all these classes? */
static bool has_part_of(const struct state *state, const uint64_t *classes)
{
	bool has = state->part != NULL;

	for (size_t c = 0; c < state->event_source->trace->nclasses && has; c++)
		has = !bitset_has(classes, c) || !bitset_has(state->part->without, c);
	return has;
}

bool own_timelines(struct state *state, const struct query *const *queries, size_t nqueries,
		   struct state **out, struct error *err)
{
	uint64_t *classes;
	struct closure *closure = closure_of(state, queries, nqueries, &classes);
	bool has = has_part_of(state, classes), ok = true;

	if (!has && !state->own_failed) {
		ok = state->part || closure_is_most(closure) ? build_unnamed(state, err)
							     : open_part(state, classes, err);
		has = has_part_of(state, classes);
		state->own_failed = ok && !has && !timelines_there(state);
	}
	*out = has ? state->part : state;
	mem_free(classes);
	closure_free(closure);
	return ok;
}

struct state *own_timelines_of(struct state *state, const struct query *const *queries,
			       size_t nqueries)
{
	struct state *out = state;
	uint64_t *classes;

	if (!state->part)
		return state;
	closure_free(closure_of(state, queries, nqueries, &classes));
	if (has_part_of(state, classes))
		out = state->part;
	mem_free(classes);
	return out;
}
