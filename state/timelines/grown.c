/* grown.c - see grown.h */
#include "state/timelines/grown.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "index/tables/identity.h"
#include "state/context/class_lines.h"
#include "state/context/context.h"
#include "state/slices/build.h"
#include "state/timelines/shards.h"

#include <errno.h>
#include <string.h>

/* ---- what ties slices to the trace ---- */

/*
 * The stored value `ties`: its end time, the number of streams, and for each stream its ID and how
 * many of its packets begin before (8 bytes each); then the lines of the classes.
 */
struct tie {
	uint64_t stream, packets;
};

static bool any_has_time(const struct trace *trace)
{
	bool any = false;

	for (size_t i = 0; i < trace->nstreams; i++)
		any = any || trace->streams[i]->has_time;
	return any;
}

/* For timelines_part: `arg` is the state. */
static bool put_ties(void *arg, nstime next, struct buf *out, struct error *err)
{
	struct state *state = arg;
	const struct trace *trace = state->event_source->trace;
	bool some = any_has_time(trace);
	uint64_t count = trace->nstreams;

	buf_add(out, &next, sizeof next);
	buf_add(out, &count, sizeof count);
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		struct tie tie = {.stream = identity_stream(stream)};
		struct table *table;

		if ((stream->has_time || !some) &&
		    (!index_table(state->index, stream, &table, err) ||
		     !table_lower_bound(table, next, &tie.packets, err)))
			return false;
		buf_add(out, &tie, sizeof tie);
	}
	class_lines_put(state->program, out);
	return true;
}

/* Do the ties say that slices up to `next` are still right? */
static bool ties_hold(struct state *state, const struct buf *ties, nstime next)
{
	size_t head =
		2 * sizeof(uint64_t) + state->event_source->trace->nstreams * sizeof(struct tie);
	struct buf now = {0};
	struct error ignored;
	bool hold = ties->len >= head && put_ties(state, next, &now, &ignored) &&
		    !memcmp(now.data, ties->data, head) &&
		    class_lines_agree(state->program, ties->data + head, ties->len - head);

	buf_release(&now);
	return hold;
}

/* ---- what is stored ---- */

struct kept { /* values of a store, read in one transaction */
	struct buf resume, ties;
	uint32_t slices;
	nstime next;
	bool any, tied; /* there are slices; `ties` are about them */
};

static void kept_release(struct kept *kept)
{
	buf_release(&kept->resume);
	buf_release(&kept->ties);
}

static bool kept_holds(struct state *state, const struct kept *kept)
{
	return kept->tied && ties_hold(state, &kept->ties, kept->next);
}

static void kept_get(struct store_txn *txn, struct kept *out)
{
	nstime tied;

	*out = (struct kept){.next = NSTIME_MIN};
	out->any = timelines_value(txn, "resume", &out->resume) &&
		   building_resume_head(&out->resume, &out->slices, &out->next) && out->slices;
	if (!out->any)
		out->next = NSTIME_MIN;
	if (!out->any || !timelines_value(txn, "ties", &out->ties) || out->ties.len < sizeof tied)
		return;
	memcpy(&tied, out->ties.data, sizeof tied);
	out->tied = tied == out->next; /* a build of the whole trace does not renew ties */
}

/* False: there are no slices. */
static bool kept_read(const char *path, struct kept *out)
{
	struct store_txn *txn;
	struct store *store;
	struct error ignored;
	bool remade, any;

	*out = (struct kept){.next = NSTIME_MIN};
	if (!store_exists(path) || !store_open(path, &store, &remade, &ignored))
		return false;
	any = store_read(store, &txn, &ignored);
	if (any) {
		kept_get(txn, out);
		store_read_end(txn);
	}
	store_close(store);
	return any && out->any;
}

bool grown_drop_unfit(struct state *state, const char *path, struct error *err)
{
	struct kept kept;
	bool ok = true;

	if (kept_read(path, &kept) && kept.tied && !ties_hold(state, &kept.ties, kept.next))
		ok = store_remove(path, err);
	kept_release(&kept);
	return ok;
}

/* ---- going on ---- */

nstime timelines_stored_until(struct state *state, bool *anew)
{
	struct shards_plan plan;
	struct kept kept = {.next = NSTIME_MIN};

	*anew = false;
	if (!shards_plan_stored(state, &plan) && plan.path && timelines_prepared(state) &&
	    kept_read(plan.path, &kept))
		*anew = !kept_holds(state, &kept);
	shards_plan_release(&plan);
	kept_release(&kept);
	return *anew ? NSTIME_MIN : kept.next;
}

/*
 * Keeps only one store of this trace whose ties hold, removes all else. *anew: ties did not hold.
 */
static bool grown_make_room(struct state *state, const struct shards_plan *plan, bool planned,
			    bool *anew, struct error *err)
{
	struct kept kept = {0};
	bool ok = true;

	*anew = false;
	if (!timelines_prepared(state))
		return timelines_prepare(state, plan->path, err);
	if (planned)
		return timelines_remove(plan->path, err);
	if (kept_read(plan->path, &kept))
		*anew = !kept_holds(state, &kept);
	if (*anew)
		ok = store_remove(plan->path, err);
	kept_release(&kept);
	return ok;
}

bool timelines_go_on(struct state *state, nstime until, struct tombstones_known *known,
		     struct timelines_built *out, nstime *next, bool *anew, struct error *err)
{
	struct timelines_part part = {.event_source = state->event_source,
				      .program = state->program,
				      .of = 1,
				      .begin = NSTIME_MIN,
				      .end = NSTIME_MAX,
				      .grows = true,
				      .until = until,
				      .tie = put_ties,
				      .tie_arg = state,
				      .known = known,
				      .least = state->timelines_least};
	struct shards_plan plan;
	struct kept kept;
	bool planned = shards_plan_stored(state, &plan), ok;

	*next = NSTIME_MIN;
	*anew = false;
	part.path = plan.path;
	part.key = plan.key;
	ok = plan.path || error_set(err, ERR_IO, "timelines need an index that is kept");
	ok = ok && grown_make_room(state, &plan, planned, anew, err);
	ok = ok && timelines_build_part(&part, out, err);
	if (ok && kept_read(plan.path, &kept))
		*next = kept.next;
	if (ok)
		kept_release(&kept);
	shards_plan_release(&plan);
	return ok;
}

/* ---- reading ---- */

static struct stored_shard *push_shard(struct stored *stored, const char *path, nstime begin,
				       struct store *store, struct store_txn *txn)
{
	stored->items = mem_resize(stored->items, stored->count + 1, sizeof *stored->items);
	stored->items[stored->count] = (struct stored_shard){
		.begin = begin, .path = mem_strdup(path), .store = store, .txn = txn};
	return &stored->items[stored->count++];
}

void grown_close(struct stored *stored)
{
	temporary_folder_end(stored->tail, stored->tail_noted);
	stored->tail = NULL;
}

/* Builds slices from the end of the stored ones to the current end of the trace. */
static bool build_tail(struct stored *stored, const struct timelines_key *key, nstime begin,
		       const struct buf *start, const char *path, struct error *err)
{
	struct state *state = stored->state;
	struct timelines_part part = {.event_source = state->event_source,
				      .program = state->program,
				      .path = path,
				      .key = *key,
				      .shard = 1,
				      .of = 2,
				      .begin = begin,
				      .end = NSTIME_MAX,
				      .start = start->data,
				      .nstart = start->len,
				      .least = state->timelines_least};
	struct timelines_built built;

	return timelines_build_part(&part, &built, err) && !built.disorderly;
}

static bool open_tail(struct stored *stored, const struct timelines_key *key,
		      const struct kept *kept, const struct buf *start, struct error *err)
{
	struct stored_shard *shard;
	struct store *store;
	char *path;
	bool ok, remade;

	stored->tail = temporary_folder(NULL, "tail", &stored->tail_noted);
	if (!stored->tail)
		return error_set(err, ERR_IO, "%s", strerror(errno));
	path = folder_join(stored->tail, "tail");
	ok = build_tail(stored, key, kept->next, start, path, err) &&
	     store_open(path, &store, &remade, err);
	if (ok) {
		shard = push_shard(stored, path, kept->next, store, NULL);
		ok = shard_open(store, UINT32_MAX, stored->state->attrs, &shard->shard, err);
	}
	mem_free(path);
	return ok;
}

/* Opens the stored slices, then the tail. Slices that cannot be opened count as damaged. */
static bool open_kept(struct stored *stored, const struct timelines_key *key, const char *path,
		      struct store *store, struct store_txn *txn, const struct kept *kept)
{
	struct state *state = stored->state;
	struct timelines_part part = {.event_source = state->event_source,
				      .program = state->program,
				      .key = *key,
				      .least = state->timelines_least};
	struct stored_shard *shard = push_shard(stored, path, NSTIME_MIN, store, txn);
	struct buf start = {0};
	struct error err;
	bool ok = building_left(&part, store, txn, &kept->resume, &start, &err) &&
		  shard_open_held(store, txn, kept->slices, state->attrs, &shard->shard, &err);

	stored->damaged |= !ok || store_damaged(store);
	ok = ok && open_tail(stored, key, kept, &start, &err);
	if (ok)
		timelines_tell_damage(store, state->event_source);
	buf_release(&start);
	return ok;
}

bool grown_open(struct stored *stored, const char *path, const struct timelines_key *key)
{
	struct store_txn *txn;
	struct store *store;
	struct error ignored;
	struct kept kept;
	bool remade, ok;

	if (!store_exists(path) || !store_open(path, &store, &remade, &ignored))
		return false;
	if (remade || !store_read(store, &txn, &ignored)) {
		store_close(store);
		return false;
	}
	kept_get(txn, &kept);
	ok = kept.any && kept_holds(stored->state, &kept);
	if (ok) {
		ok = open_kept(stored, key, path, store, txn, &kept);
	} else {
		store_read_end(txn);
		store_close(store);
	}
	kept_release(&kept);
	return ok;
}
