/*
 * fold_partial.c - the groups of a folded table from one chunk of the trace, or from all chunks
 *
 * A statement may sweep several times, each time with other conditions. A body stores for each
 * sweep a hash of its conditions and its groups, in order of the sweeps.
 */
#include "sql/fold/fold_internal.h"

static void add_bits(struct buf *out, const uint64_t *bits, size_t count)
{
	partial_add_u64(out, bits != NULL);
	for (size_t i = 0; bits && i < count / 64 + 1; i++)
		partial_add_u64(out, bits[i]);
}

static void add_filter(struct buf *out, const struct field_filter *filter)
{
	partial_add_u64(out, filter->field);
	partial_add_u64(out, filter->is_text);
	if (filter->is_text) {
		partial_add_text(out, filter->text, filter->len);
		return;
	}
	partial_add_u64(out, filter->ranges.count);
	for (uint32_t i = 0; i < filter->ranges.count; i++) {
		partial_add_u64(out, filter->ranges.items[i].low);
		partial_add_u64(out, filter->ranges.items[i].span);
	}
}

/* A hash of the conditions that select the events of a sweep. */
static uint64_t fold_partial_hash_of(const struct fold *fold, const struct constraints *constraints)
{
	const struct trace *trace = fold->host->trace;
	struct buf bytes = {0};

	partial_add_u64(&bytes, (uint64_t)constraints->begin);
	partial_add_u64(&bytes, (uint64_t)constraints->end);
	add_bits(&bytes, constraints->classes, trace->nclasses);
	add_bits(&bytes, constraints->streams, trace->nstreams);
	partial_add_u64(&bytes, (uint64_t)constraints->cpu_low);
	partial_add_u64(&bytes, (uint64_t)constraints->cpu_high);
	partial_add_u64(&bytes, constraints->any_cpu);
	for (size_t i = 0; i < constraints->nfilters; i++)
		add_filter(&bytes, &constraints->filters[i]);
	uint64_t hash = hash_bytes(bytes.data, bytes.len);
	buf_release(&bytes);
	return hash;
}

static bool sweep_chunk(const struct fold *fold, const struct constraints *constraints,
			struct groups *out, struct error *err)
{
	struct partial_work *partials = fold->partials;

	partials->whole = !partials->sweeps++ && constraints->begin == NSTIME_MIN &&
			  constraints->end == NSTIME_MAX && constraints->any_cpu &&
			  !constraints->ncpus;
	partials->chunk->records = partials->chunk->taken = 0;
	if (!fold_sweep(fold, constraints, partials->chunk, out, err))
		return false;
	partial_add_u64(partials->body, fold_partial_hash_of(fold, constraints));
	partial_add_groups(partials->body, out);
	return true;
}

bool fold_partial(const struct fold *fold, const struct constraints *constraints,
		  struct groups *out, struct error *err)
{
	struct partial_work *partials = fold->partials;
	const uint64_t hash = fold_partial_hash_of(fold, constraints);

	if (partials->chunk)
		return sweep_chunk(fold, constraints, out, err);
	for (uint32_t i = 0; i < partials->count; i++) {
		struct cursor *body = &partials->bodies[i];
		if (cursor_u64le(body) != hash)
			return partial_refuse(partials, i, PARTIAL_DAMAGED, err);
		enum partial_taken taken = partial_take_groups(body, out);
		if (taken != PARTIAL_TAKEN)
			return partial_refuse(partials, i, taken, err);
	}
	return fold_all_fit(fold, out, err);
}
