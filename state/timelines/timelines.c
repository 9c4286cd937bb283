/*
 * timelines.c - paths of timelines, and building, opening and removing them
 *
 *     INDEX.timelines-<rules>       the store, if it is of one part
 *     INDEX.timelines-<rules>.<i>   shard i, with the files of shard_files.c beside it
 */
#include "state/timelines/timelines.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "index/tables/identity.h"
#include "index/tables/location.h"
#include "state/slices/build.h"
#include "state/timelines/grown.h"
#include "state/timelines/shards.h"
#include "state/timelines/stored.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { SHARD_BYTES = 2 << 20, SHARDS_LEAST = 4 };

uint64_t timelines_extent(const struct trace *trace, uint64_t *bytes)
{
	uint64_t extent = trace->nsources;

	*bytes = 0;
	for (size_t i = 0; i < trace->nsources; i++) {
		uint64_t both[2] = {extent, source_size(trace->sources[i])};

		*bytes += both[1];
		extent = XXH3_64bits(both, sizeof both);
	}
	return extent;
}

struct timelines_key timelines_key_of(const struct rules *rules, const struct trace *trace)
{
	struct timelines_key key;

	rules_identity(rules, key.rules);
	key.rules[0] ^= TIMELINES_FORMAT;
	key.extent = timelines_extent(trace, &key.bytes);
	return key;
}

/* ---- of a state ---- */

char *timelines_path(struct state *state, const struct timelines_key *key)
{
	const char *index = state->index ? index_path(state->index) : NULL;
	struct buf path = {0};

	if (state->timelines)
		return mem_strdup(state->timelines);
	if (!index)
		return NULL;
	buf_printf(&path, "%s.timelines-%016" PRIx64, index, key->rules[0]);
	return path.data;
}

/*
 * The key of a mark in the index, whose values are dropped when the trace changes: without the mark
 * a store may be of an earlier trace.
 */
static struct buf mark_of(const struct state *state)
{
	struct timelines_key key =
		timelines_key_of(state->options.rules, state->event_source->trace);
	struct buf mark = {0};

	buf_add_text(&mark, "timelines");
	buf_add(&mark, key.rules, sizeof key.rules);
	return mark;
}

bool timelines_prepared(struct state *state)
{
	void *value = NULL;
	struct buf mark;
	size_t size;
	bool any;

	if (!state->index || state->timelines)
		return true;
	mark = mark_of(state);
	any = index_get(state->index, mark.data, mark.len, &value, &size);
	if (any)
		mem_free(value);
	buf_release(&mark);
	return any;
}

bool timelines_prepare(struct state *state, const char *path, struct error *err)
{
	struct buf mark;
	bool ok;

	stored_close(state->stored);
	state->stored = NULL;
	state->stored_looked = false;
	if (timelines_prepared(state))
		return true;
	mark = mark_of(state);
	ok = timelines_remove(path, err) &&
	     index_put(state->index, mark.data, mark.len, "", 1, err);
	buf_release(&mark);
	return ok;
}

/*
 * How many shards are worth it: two threads can build one part (see struct timelines_part), three
 * shards gain nothing over that, and each shard costs a merge.
 */
static uint32_t shards_for(uint64_t bytes, unsigned threads)
{
	uint64_t most = bytes / SHARD_BYTES;
	uint32_t n = most < threads ? (uint32_t)most : threads;

	return n < SHARDS_LEAST ? 1 : n;
}

bool timelines_build(struct state *state, unsigned threads, struct timelines_built *out,
		     struct error *err)
{
	struct timelines_part part = {.event_source = state->event_source,
				      .program = state->program,
				      .of = 1,
				      .begin = NSTIME_MIN,
				      .end = NSTIME_MAX,
				      .thread = threads > 1,
				      .least = state->timelines_least};
	struct shards_plan plan;
	bool planned, ok;

	planned = shards_plan_stored(state, &plan) && timelines_prepared(state);
	part.path = plan.path;
	part.key = plan.key;
	uint32_t shards = shards_for(plan.key.bytes, threads);
	if (!plan.path)
		ok = error_set(err, ERR_IO, "timelines need an index that is kept");
	else if (planned || (shards > 1 && !store_exists(plan.path)))
		ok = shards_build_all(state, planned ? 0 : shards, out, err);
	else
		ok = timelines_prepare(state, plan.path, err) &&
		     grown_drop_unfit(state, plan.path, err) &&
		     timelines_build_part(&part, out, err);
	shards_plan_release(&plan);
	return ok;
}

/* ---- opening ---- */

/* May fail while another process writes the store: that one finds the damage itself. */
static void drop_store(const char *path)
{
	struct error ignored;

	MAY_FAIL(store_remove(path, &ignored));
}

/* Opens one shard. False: it cannot be used; sets stored->damaged if it is damaged. */
static bool add_shard(struct stored *stored, const char *path, nstime begin, uint64_t extent)
{
	struct timelines_built built;
	struct stored_shard shard = {.begin = begin};
	struct error ignored;
	bool remade, ok;

	if (!store_exists(path))
		return false;
	if (!store_open(path, &shard.store, &remade, &ignored)) {
		stored->damaged = true;
		return false;
	}
	ok = !remade && timelines_complete(shard.store, extent, &built);
	if (ok &&
	    !shard_open(shard.store, built.slices, stored->state->attrs, &shard.shard, &ignored)) {
		stored->damaged = true;
		ok = false;
	}
	if (!ok) {
		stored->damaged |= remade || store_damaged(shard.store);
		store_close(shard.store);
		if (stored->damaged)
			drop_store(path);
		return false;
	}
	timelines_tell_damage(shard.store, stored->state->event_source);
	shard.path = mem_strdup(path);
	stored->items = mem_resize(stored->items, stored->count + 1, sizeof *stored->items);
	stored->items[stored->count++] = shard;
	return true;
}

/* Opens the shards if all are built, else the store of one part. */
static bool add_all(struct stored *stored, const struct shards_plan *plan, bool planned)
{
	struct timelines_built ignored;
	bool ok = true;

	if (!planned || !shards_built(plan, &ignored) || shards_strayed(plan))
		return add_shard(stored, plan->path, NSTIME_MIN, plan->key.extent);
	for (uint32_t i = 0; i < plan->n && ok; i++) {
		char *path = shards_path(plan, i);

		ok = add_shard(stored, path, plan->cuts[i], plan->key.extent);
		mem_free(path);
	}
	return ok;
}

/*
 * Damaged stores are removed when damage is found, except damage that only readers of slices see.
 */
static void drop(struct stored *stored)
{
	notice(&stored->state->options.notices, NOTICE_INFO,
	       "%s: was damaged, the trace is asked instead; 'yore index --timelines' makes it "
	       "anew",
	       stored->path);
	for (size_t i = 0; i < stored->count; i++)
		if (stored->items[i].shard && stored->items[i].shard->damaged)
			drop_store(stored->items[i].path);
	stored_close(stored);
}

bool stored_drop_damaged(struct state *state)
{
	struct stored *stored = state->stored;

	if (!stored || !stored->damaged)
		return false;
	state->stored = NULL;
	drop(stored);
	return true;
}

struct stored *stored_of(struct state *state)
{
	struct shards_plan plan;
	struct stored *stored;
	bool planned, usable;

	if (state->stored_looked)
		return state->stored;
	state->stored_looked = true;
	planned = shards_plan_stored(state, &plan);
	if (!planned && !(plan.path && store_exists(plan.path))) {
		shards_plan_release(&plan);
		return NULL;
	}
	stored = mem_new(sizeof *stored);
	stored->state = state;
	usable = timelines_prepared(state) &&
		 (state->index && index_is_kept(state->index) && !planned
			  ? grown_open(stored, plan.path, &plan.key)
			  : add_all(stored, &plan, planned));
	stored->path = plan.path;
	plan.path = NULL;
	if (usable)
		state->stored = stored;
	else if (stored->damaged)
		drop(stored);
	else
		stored_close(stored);
	shards_plan_release(&plan);
	return state->stored;
}

bool timelines_there(struct state *state)
{
	return stored_of(state) != NULL;
}

void stored_close(struct stored *stored)
{
	if (!stored)
		return;
	for (size_t i = 0; i < stored->count; i++) {
		mem_free(stored->items[i].path);
		shard_close(stored->items[i].shard);
		if (stored->items[i].txn)
			store_read_end(stored->items[i].txn);
		store_close(stored->items[i].store);
	}
	grown_close(stored);
	mem_free(stored->items);
	mem_free(stored->path);
	mem_free(stored);
}

bool stored_begin(struct stored *stored, struct error *err)
{
	for (size_t i = 0; i < stored->count; i++)
		if (!shard_begin(stored->items[i].shard, err)) {
			while (i-- > 0)
				shard_end(stored->items[i].shard);
			stored->damaged = true;
			return false;
		}
	return true;
}

void stored_end(struct stored *stored)
{
	for (size_t i = 0; i < stored->count; i++)
		stored->damaged |= !shard_end(stored->items[i].shard);
}

size_t stored_shard_at(const struct stored *stored, nstime t)
{
	return nstime_last(stored->items, stored->count, sizeof *stored->items, t);
}

/* ---- removing ---- */

/* Removes everything whose path begins with `path`. */
bool timelines_remove(const char *path, struct error *err)
{
	return store_remove_all(path, err);
}

bool timelines_drop(struct trace *trace, const struct index_options *options, struct error *err)
{
	char name[IDENTITY_NAME];
	struct buf prefix = {0};
	char *path;
	bool ok = true;

	identity_name(trace, name);
	path = index_location(options, name);
	if (path) {
		buf_printf(&prefix, "%s.timelines-", path);
		ok = timelines_remove(prefix.data, err);
	}
	buf_release(&prefix);
	mem_free(path);
	return ok;
}
