/*
 * walk_grow.c - continues the walk of a growing trace when it is opened anew
 *
 *     one file     struct pause has the bins before their last records became packets, which are
 *                  OPEN. The copy of a compressed file continues likewise (spill.c): between its
 *                  compressed records the file itself has only round marks
 *     in turns     struct pause has the state behind the last turn that has ended. Packets of the
 *                  turn behind it are OPEN, and the next step walks that turn anew
 *
 * The next step's walk takes over bins, firm packets, and position.
 */
#include "engine/base/mem.h"
#include "engine/perf/walk_internal.h"

#include <string.h>

void perf_bins_free(struct bin *bins, size_t count)
{
	for (size_t i = 0; bins && i < count; i++)
		mem_free(bins[i].extents);
	mem_free(bins);
}

void perf_pause_end(struct perf_walk *walk)
{
	struct pause *pause = &walk->pause;

	perf_bins_free(pause->bins, walk->nbins);
	for (size_t i = 0; i < pause->nextents; i++)
		mem_free(pause->extents[i]);
	mem_free(pause->extents);
	mem_free(pause->unread.items);
	*pause = (struct pause){0};
}

bool perf_may_go_on(const struct perf_part *part)
{
	return part->trace->grows && !part->nturns && part->sources[0].grows &&
	       (part->nsources == 1 || part->spilled);
}

bool perf_may_go_on_here(const struct perf_walk *walk)
{
	const struct perf_part *part = walk->part;

	if (!part->trace->grows || !walk->told ||
	    (walk->now.source < part->nsources && !part->sources[walk->now.source].grows))
		return false;
	for (uint32_t i = 0; i < walk->now.source; i++)
		if (part->sources[i].grows)
			return false;
	return true;
}

static void copy_bins(const struct perf_walk *walk, struct pause *pause)
{
	pause->bins = mem_new_array(walk->nbins, sizeof *pause->bins);
	pause->latest = walk->latest ? (size_t)(walk->latest - walk->bins) : SIZE_MAX;
	for (size_t i = 0; i < walk->nbins; i++) {
		struct bin *copy = &pause->bins[i];
		*copy = walk->bins[i];
		copy->extents = mem_new_array(copy->capacity + 1, sizeof *copy->extents);
		if (copy->nextents)
			memcpy(copy->extents, walk->bins[i].extents,
			       copy->nextents * sizeof *copy->extents);
	}
}

void perf_pause_begin(struct perf_walk *walk)
{
	struct pause *pause = &walk->pause;

	*pause = (struct pause){.now = walk->now,
				.ndamages = walk->ndamages,
				.damage = walk->damage,
				.changes = perf_changes_mark(walk->changes)};
	copy_bins(walk, pause);
	for (size_t i = 0; i < walk->unread.count; i++)
		*mem_push(pause->unread.items, pause->unread.count, pause->unread.capacity) =
			walk->unread.items[i];
	for (size_t i = 0; i < walk->nlists; i++)
		walk->lists[i].firm = walk->lists[i].count;
	if (walk->told)
		perf_told_mark(walk->told);
}

/*
 * Does the walk meet round marks at their places? In a compressed file not while names of its
 * tracepoints are missing, as events are held back then.
 */
static bool tells_rounds(const struct perf_part *part)
{
	return part->nsources == 1 || (part->spilled && !part->trace->lacks);
}

bool perf_watermark(const struct stream *stream, nstime *until)
{
	const struct perf_part *part = perf_part_of(stream);

	*until = NSTIME_MAX;
	if (part->nturns) { /* of all turns only the last may be being written */
		*until = part->unfinished ? part->walk->now.final : NSTIME_MAX;
		return true;
	}
	for (size_t i = 0; i < part->nsources; i++)
		if (part->sources[i].grows)
			*until = tells_rounds(part) ? part->walk->now.final : NSTIME_MIN;
	return true;
}

/* Is it the same file, not shortened? `whole`: and unchanged, and was it complete then? */
static bool is_same_file(const struct perf_source *now, const struct perf_source *then, bool whole)
{
	struct source_stamp a, b;

	(void)source_stamp(now->source, &a);
	(void)source_stamp(then->source, &b);
	return source_goes_on(now->source, then->source) &&
	       (!whole || (a.size == b.size && a.modified == b.modified && !then->grows &&
			   now->spill == then->spill && now->turn == then->turn));
}

/* Can the walk of `part` continue where that of `old` paused? */
static bool walk_grow_goes_on(const struct perf_part *part, const struct perf_part *old)
{
	const struct pause *pause = old->walk ? &old->walk->pause : NULL;

	if (!pause || !pause->bins || old->by_cpu != part->by_cpu)
		return false;
	if (perf_may_go_on(part))
		return !old->walk->told && part->nsources == old->nsources &&
		       is_same_file(part->sources, old->sources, false) &&
		       !(part->spilled && perf_spilled_plain(part));
	bool same = part->nturns && old->walk->told && part->nsources >= pause->now.source;
	for (uint32_t i = 0; same && i < pause->now.source; i++)
		same = is_same_file(&part->sources[i], &old->sources[i], true);
	return same;
}

const struct perf_part *perf_part_then(const struct perf_part *part)
{
	const struct trace *before = part->trace->grows ? part->trace->before : NULL;

	for (size_t i = 0; before && i < before->nparts; i++) {
		const struct part *old = before->parts[i];
		if (old->reader == part->part->reader && !strcmp(old->path, part->part->path))
			return old->priv;
	}
	return NULL;
}

const struct perf_part *perf_part_before(const struct perf_part *part)
{
	const struct perf_part *then = perf_part_then(part);

	return then && walk_grow_goes_on(part, then) ? then : NULL;
}

const struct perf_source *perf_turn_then(const struct perf_part *part, uint32_t source)
{
	const struct perf_part *then = perf_part_then(part);

	return then && then->nturns && source < then->nsources &&
			       is_same_file(&part->sources[source], &then->sources[source], true)
		       ? &then->sources[source]
		       : NULL;
}

void perf_walked(const struct perf_part *before, uint32_t *source, uint64_t *off)
{
	*source = before->walk->pause.now.source;
	*off = before->walk->pause.now.off;
}

/* Restores the bins of the pause; bins of CPUs that are new since then stay empty. */
static void restore_bins(struct perf_walk *walk, struct perf_walk *old)
{
	size_t kept = 2 * (old->places < walk->places ? old->places : walk->places);

	for (size_t i = 0; i < old->nbins; i++) {
		size_t to = i < kept ? i : walk->nbins - old->nbins + i;
		uint32_t stream = walk->bins[to].stream;
		walk->bins[to] = old->pause.bins[i];
		walk->bins[to].stream = stream;
		if (i == old->pause.latest)
			walk->latest = &walk->bins[to];
	}
	mem_free(old->pause.bins); /* walk->bins own their extents now */
	old->pause.bins = NULL;
}

static void restore_lists(struct perf_walk *walk, struct perf_walk *old)
{
	for (size_t i = 0; i < old->nlists; i++) {
		size_t to = i + 1 < old->nlists ? i : walk->nlists - 1;
		walk->lists[to] = old->lists[i];
		walk->lists[to].count = walk->lists[to].told = old->lists[i].firm;
		old->lists[i] = (struct packet_list){0};
	}
}

static void restore_place(struct perf_walk *walk, const struct pause *pause)
{
	const struct perf_part *part = walk->part;

	walk->now = pause->now;
	if (walk->told && walk->now.source < part->nsources)
		walk->now.off = part->sources[walk->now.source].begin;
	walk->ndamages = pause->ndamages;
	walk->damage = pause->damage;
	walk->unread = pause->unread;
	walk->ended = walk->now.source == part->nsources;
}

/* Continues where the walk of `before` paused, and frees that walk. */
static void go_on(struct perf_walk *walk, struct perf_part *before)
{
	struct perf_walk *old = before->walk;

	restore_bins(walk, old);
	restore_lists(walk, old);
	restore_place(walk, &old->pause);
	perf_changes_go_on(old->changes, &old->pause.changes);
	old->pause.unread = (struct perf_unread_list){0};
	perf_changes_free(walk->changes);
	perf_store_free(walk->store);
	walk->store = old->store;
	walk->changes = old->changes;
	old->store = NULL;
	old->changes = NULL;
	if (walk->told) {
		perf_told_go_back(old->told);
		perf_told_free(walk->told);
		walk->told = old->told;
		old->told = NULL;
	}
	perf_walk_free(old);
	before->walk = NULL;
	if (perf_may_go_on_here(walk))
		perf_pause_begin(walk);
}

void perf_walk_go_on(struct perf_walk *walk)
{
	const struct perf_part *part = walk->part, *before = perf_part_before(part);

	if (before &&
	    !memcmp(before->part->identity, part->part->identity, sizeof part->part->identity) &&
	    before->walk->nbins <= walk->nbins) {
		go_on(walk, (struct perf_part *)(uintptr_t)before);
		return;
	}
	for (size_t i = 0; part->trace->grows && i < walk->nlists; i++)
		part->trace->streams[walk->first_stream + i]->anew = true;
}
