/* shards.c - the steps of shards.h: each reads files of earlier steps and writes its own */
#include "engine/base/mem.h"
#include "index/store/segment.h"
#include "state/context/context.h"
#include "state/timelines/shard_merge.h"
#include "state/timelines/shards_internal.h"

struct shards_work shards_work_of(struct state *state, const struct shards_plan *plan)
{
	return (struct shards_work){.state = state,
				    .plan = plan,
				    .event_source = state->event_source,
				    .program = state->program};
}

bool shards_work_begin(struct state *state, const struct shards_plan *plan, struct shards_work *out,
		       struct error *err)
{
	const struct event_source *of = state->event_source;
	struct notices silent = {0}; /* compiling the state's program gave the same warnings */

	*out = (struct shards_work){.state = state,
				    .plan = plan,
				    .event_source = event_source_over_index(state->index)};
	out->event_source->progress = of->progress;
	out->event_source->progress_arg = of->progress_arg;
	out->event_source->packet_filters = of->packet_filters;
	out->event_source->inferred = of->inferred;
	out->event_source->firsts = of->firsts;
	if (!program_compile_without(state->options.rules, of->trace, state->without, &silent,
				     &out->program, err))
		return false;
	program_set_gaps(out->program, state->gaps);
	return true;
}

void shard_kept_release(struct shard_kept *kept)
{
	write_log_release(&kept->log);
	buf_release(&kept->summary);
	buf_release(&kept->start);
}

void shards_work_end(struct shards_work *work)
{
	program_free(work->program);
	event_source_over_index_free(work->event_source);
}

/* ---- events that stray ---- */

/* A damaged file counts as well: else damage would make the shards count. */
bool shards_strayed(const struct shards_plan *plan)
{
	return shard_file_may_be(plan, SHARD_STRAYED, 0);
}

/* Tells other processes, whose parts may have no such events. */
static bool note_strayed(const struct shards_work *work, struct error *err)
{
	return !work->exchange || !trace_disorder(work->event_source->trace) ||
	       shard_file_write(work->plan, SHARD_STRAYED, 0, NULL, NULL, err);
}

/*
 * A packet may claim to end inside of a shard and hold an event behind the shard's end. No shard
 * would have that event: this one ends before it, and the next one does not open the packet. So
 * both passes read packets that the shard's end cuts to their end, and trace_disorder() counts
 * them.
 */

static struct timelines_part shards_part_of(const struct shards_work *work, uint32_t i)
{
	const struct shards_plan *plan = work->plan;

	return (struct timelines_part){.event_source = work->event_source,
				       .program = work->program,
				       .shard = i,
				       .of = plan->n,
				       .key = plan->key,
				       .begin = plan->cuts[i],
				       .end = plan->cuts[i + 1],
				       .log = work->kept ? &work->kept[i].log : NULL,
				       .left = work->left,
				       .least = work->state->timelines_least};
}

/* ---- pass 1 ---- */

/* The first start that is missing or damaged; the join continues from the one before. */
static uint32_t first_missing(const struct shards_plan *plan)
{
	uint32_t i = 1;

	while (i < plan->n && shard_file_read(plan, SHARD_START, i, NULL, NULL))
		i++;
	return i;
}

bool shards_summarize(const struct shards_work *work, uint32_t i, struct error *err)
{
	const struct shards_plan *plan = work->plan;
	struct timelines_part part = shards_part_of(work, i);
	struct shard_note note = {0};
	struct buf bytes = {0};
	bool last = i + 1 == plan->n, ok;

	if (!work->exchange && (first_missing(plan) > (last ? i : i + 1) ||
				shard_file_read(plan, SHARD_SUMMARY, i, NULL, NULL)))
		return true;
	work->event_source->whole_packets = true;
	ok = shard_summary_make(&part, last ? NULL : &bytes, &note.events, err);
	work->event_source->whole_packets = false;
	ok = ok && (last || shard_file_write(plan, SHARD_SUMMARY, i, &note, &bytes, err)) &&
	     note_strayed(work, err);
	if (ok && work->kept) {
		work->kept[i].summary = bytes;
		work->kept[i].events = note.events;
		return true;
	}
	buf_release(&bytes);
	return ok;
}

/* ---- join ---- */

/* Writes a start; the summary from which it was made is not needed any more. */
static bool write_start(const struct shards_plan *plan, uint32_t i, uint64_t events,
			const struct buf *bytes, struct error *err)
{
	struct shard_note note = {.events = events};

	if (!shard_file_write(plan, SHARD_START, i, &note, bytes, err))
		return false;
	shard_file_remove(plan, SHARD_SUMMARY, i - 1);
	return true;
}

/* The join has come to the start of shard i. */
static bool give_start(const struct shards_work *work, struct shards_join *join, uint32_t i,
		       struct error *err)
{
	struct buf bytes = {0};
	bool ok = true;

	shard_merge_forget(join->merge);
	cells_write(join->merge->state, &bytes);
	if (work->kept) {
		work->kept[i].start = bytes;
		work->kept[i].before = join->events;
	} else {
		ok = write_start(work->plan, i, join->events, &bytes, err);
		buf_release(&bytes);
	}
	join->next = ok ? i : join->next;
	return ok;
}

bool shards_join_begin(const struct shards_work *work, uint32_t first, struct shards_join *out,
		       struct error *err)
{
	struct shard_note note = {0};
	struct buf bytes = {0};
	bool ok = true;

	first = first ? first : first_missing(work->plan);
	*out = (struct shards_join){.merge = shard_merge_new(work->event_source, work->program),
				    .next = first - 1};
	if (first > 1 && first < work->plan->n) {
		ok = shard_file_read(work->plan, SHARD_START, first - 1, &note, &bytes) &&
		     cells_read(out->merge->state, bytes.data, bytes.len);
		out->events = note.events;
		if (!ok)
			error_set(err, ERR_FORMAT, "the start of a shard is damaged");
	}
	buf_release(&bytes);
	return ok;
}

bool shards_join_left(const struct shards_work *work, struct shards_join *join,
		      const struct buf *left, uint64_t events, struct error *err)
{
	if (!cells_read(join->merge->state, left->data, left->len))
		return error_set(err, ERR_FORMAT, "the end of a shard is damaged");
	join->events = events;
	return give_start(work, join, 1, err);
}

/* The summary of shard i, which memory or its file has. False: it is not there. */
static bool take_summary(const struct shards_work *work, uint32_t i, struct buf *bytes,
			 uint64_t *events)
{
	struct shard_kept *kept = work->kept ? &work->kept[i] : NULL;
	struct shard_note note = {0};

	if (kept && kept->summary.len) {
		*bytes = kept->summary;
		*events = kept->events;
		kept->summary = (struct buf){0};
		return true;
	}
	bool any = shard_file_read(work->plan, SHARD_SUMMARY, i, &note, bytes);
	if (!any) /* a damaged one is removed, so that it is made again */
		shard_file_remove(work->plan, SHARD_SUMMARY, i);
	*events = note.events;
	return any;
}

bool shards_join_next(const struct shards_work *work, struct shards_join *join, bool *any,
		      struct error *err)
{
	const struct shards_plan *plan = work->plan;
	uint32_t i = join->next;
	struct buf bytes = {0};
	uint64_t events;
	bool ok = true;

	*any = take_summary(work, i, &bytes, &events);
	if (*any) {
		ok = shard_merge_add(join->merge, plan->cuts[i], bytes.data, bytes.len, err);
		join->events += events;
		ok = ok && give_start(work, join, i + 1, err);
	}
	buf_release(&bytes);
	return ok;
}

void shards_join_end(struct shards_join *join)
{
	shard_merge_free(join->merge);
}

bool shards_merge(const struct shards_work *work, uint32_t first, uint64_t *replayed,
		  struct error *err)
{
	struct shards_join join;
	bool ok = shards_join_begin(work, first, &join, err), any = true;
	uint32_t begin = join.next;

	while (ok && any && join.next + 1 < work->plan->n && !(work->exchange && join.next > begin))
		ok = shards_join_next(work, &join, &any, err);
	*replayed = join.merge->replayed;
	shards_join_end(&join);
	return ok && note_strayed(work, err);
}

/* ---- pass 2 ---- */

bool shards_built(const struct shards_plan *plan, struct timelines_built *out)
{
	struct shard_note note;
	bool all = true;

	*out = (struct timelines_built){0};
	for (uint32_t i = 0; i < plan->n; i++) {
		bool any = shard_file_read(plan, SHARD_BUILT, i, &note, NULL);

		all = all && any && note.extent == plan->key.extent;
		if (!any)
			continue;
		out->events = note.events;
		out->changes += note.changes;
		out->slices += (uint32_t)note.slices;
		out->bytes += note.bytes;
	}
	return all;
}

char *shards_path(const struct shards_plan *plan, uint32_t i)
{
	struct buf path = {0};

	buf_printf(&path, "%s.%u", plan->path, i);
	return path.data;
}

bool shards_give_up(const struct shards_plan *plan, struct timelines_built *out, struct error *err)
{
	*out = (struct timelines_built){.disorderly = true};
	return timelines_remove(plan->path, err);
}

void shards_end(const struct shards_plan *plan)
{
	struct error ignored;

	MAY_FAIL(store_remove(plan->path, &ignored));
}

/* Copies the slices to the exchange folder for the other processes. */
static bool export_slices(const struct shards_plan *plan, uint32_t i, const char *path,
			  struct shard_note *note, struct error *err)
{
	struct segment_id id = {.incarnation = plan->id, .to = 1};
	struct buf to = {0};
	const char *name = shard_file_path(plan, SHARD_SLICES, i, &to);
	char suffix[SHARD_SUFFIX];
	bool ok = store_export(path, to.data, shard_suffix(suffix), name, &id, err);

	note->size = id.size;
	note->check = id.check;
	buf_release(&to);
	return ok;
}

/* The start of shard i, which memory or its file has. */
static bool take_start(const struct shards_work *work, uint32_t i, struct buf *bytes,
		       uint64_t *before, struct error *err)
{
	struct shard_kept *kept = work->kept ? &work->kept[i] : NULL;
	struct shard_note note = {0};

	if (kept && kept->start.len) {
		*bytes = kept->start;
		*before = kept->before;
		kept->start = (struct buf){0};
		return write_start(work->plan, i, *before, bytes, err);
	}
	if (i > 0 && !shard_file_read(work->plan, SHARD_START, i, &note, bytes))
		return error_set(err, ERR_IO, "%s: the start of shard %u of %u is missing",
				 work->plan->files, i, work->plan->n);
	*before = note.events;
	return true;
}

bool shards_build(const struct shards_work *work, uint32_t i, struct timelines_built *out,
		  struct error *err)
{
	const struct shards_plan *plan = work->plan;
	struct timelines_part part = shards_part_of(work, i);
	struct timelines_built all;
	struct shard_note note;
	struct buf start = {0};
	char *path = shards_path(plan, i);
	uint64_t before = 0;
	bool ok = take_start(work, i, &start, &before, err);

	part.path = path;
	part.start = i > 0 ? start.data : NULL;
	part.nstart = start.len;
	ok = ok && timelines_build_part(&part, out, err);
	/* a shard with events in disorder leaves no store: the file of strayed events tells it */
	if (ok) {
		note = (struct shard_note){.events = before + out->events,
					   .extent = part.key.extent,
					   .changes = out->changes,
					   .slices = out->slices,
					   .bytes = out->bytes};
		ok = (!work->exchange || export_slices(plan, i, path, &note, err)) &&
		     note_strayed(work, err) &&
		     shard_file_write(plan, SHARD_BUILT, i, &note, NULL, err);
		if (ok && !work->exchange && shards_built(plan, &all))
			shards_end(plan);
	}
	buf_release(&start);
	mem_free(path);
	return ok;
}
