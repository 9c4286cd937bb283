/*
 * perf_aux.c - the AUX area: raw hardware-trace bytes that lie between the records
 *
 *     AUXTRACE_INFO   what kind of trace, and how its stamps become perf's times
 *     AUX             the kernel: [offset, offset + size) of a buffer was filled; data was lost
 *     AUXTRACE        the recorder: here are `size` bytes of a buffer from `offset` on, padded
 *
 * An AUX record may stand before or behind the bytes that it describes. So a first pass collects
 * all of them; then each AUXTRACE is cut at its padding, and split where data was lost.
 *
 *     AUX        |-------------------||----------------T|         T: truncated
 *     AUXTRACE   |=========================|
 *                                           |================000|
 *     chunks     |=========================||==========T|         padding is in no AUX record
 */
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "engine/perf/record_view.h"

#include <stdlib.h>

enum { AUX_TRUNCATED = 1, PADDING = 8, PRIV_AT = 16, KIND_INTEL_PT = 1 };

/* Words of an Intel PT AUXTRACE_INFO; tools/perf/util/intel-pt.h. */
enum { PT_TIME_SHIFT = 1, PT_TIME_MULT, PT_TIME_ZERO, PT_CAP_TIME_ZERO };

struct filled { /* the region of a buffer that one AUX record describes */
	int64_t buffer;
	uint64_t begin, end;
	bool truncated;
};

struct aux_walk {
	const struct perf_part *part;
	struct filled *filled; /* by buffer, end */
	size_t count, capacity;
	bool (*each)(void *arg, const struct aux_chunk *chunk, struct error *err);
	void *arg;
};

/* Returns a number for the buffer of a CPU, or of a thread. */
static int64_t buffer_of(int32_t cpu, int64_t tid)
{
	return cpu >= 0 ? cpu : -1 - (tid >= 0 ? tid : INT32_MAX);
}

/* What kind ---------------------------------------------------------------------------------------
 */

static uint64_t priv(const struct perf_record *record, unsigned i, bool swap)
{
	uint32_t at = PRIV_AT + i * 8;

	return at + 8 <= record->size ? get64(record->bytes + at, swap) : 0;
}

static void set_time(struct aux_kind *kind, uint64_t shift, uint64_t mult, uint64_t zero)
{
	kind->has_time = shift < 64 && mult <= UINT32_MAX;
	kind->time_shift = (uint16_t)shift;
	kind->time_mult = (uint32_t)mult;
	kind->time_zero = zero;
}

static void take_info(const struct perf_part *part, const struct perf_record *record,
		      struct aux_kind *kind)
{
	static const char *const names[] = {"unknown", "intel_pt",    "intel_bts", "cs_etm",
					    "arm_spe", "s390_cpumsf", "hisi_ptt"};
	const bool swap = part->swap;
	uint32_t type = record->size >= 12 ? get32(record->bytes + 8, swap) : 0;

	kind->name = names[type < sizeof names / sizeof *names ? type : 0];
	kind->is_intel_pt = type == KIND_INTEL_PT;
	if (!kind->is_intel_pt)
		return;
	if (priv(record, PT_CAP_TIME_ZERO, swap))
		set_time(kind, priv(record, PT_TIME_SHIFT, swap), priv(record, PT_TIME_MULT, swap),
			 priv(record, PT_TIME_ZERO, swap));
}

/* TIME_CONV: shift, mult, zero, cycles, mask, and whether zero is there. */
static void take_time(const struct perf_part *part, const struct perf_record *record,
		      struct aux_kind *kind)
{
	const uint8_t *p = record->bytes;

	if (record->size >= 49 && p[48] && !kind->has_time)
		set_time(kind, get64(p + 8, part->swap), get64(p + 16, part->swap),
			 get64(p + 24, part->swap));
}

/* What was filled --------------------------------------------------------------------------------
 */

static void take_filled(struct aux_walk *walk, const struct perf_record *record)
{
	const struct perf_part *part = walk->part;
	const bool swap = part->swap;
	struct record_view view;
	int64_t tid = -1;

	if (!part->nattrs || !record_view_of(part, record->bytes, PERF_AUX, record->size, &view))
		return;
	uint32_t trailer = perf_trailer_bytes(view.attr);
	if (record->size < RECORD_HEAD + 24 + trailer)
		return;
	if (trailer && view.attr->sample_type & SAMPLE_TID)
		tid = (int32_t)get32(record->bytes + record->size - trailer + 4, swap);
	uint64_t begin = get64(record->bytes + 8, swap), size = get64(record->bytes + 16, swap);
	struct filled filled = {.begin = begin,
				.end = begin + size,
				.truncated = get64(record->bytes + 24, swap) & AUX_TRUNCATED};
	if (filled.end < begin)
		return;
	/* the record does not say whether the buffer is the CPU's or the thread's: add both */
	for (int i = 0; i < 2; i++) {
		filled.buffer = i ? buffer_of(-1, tid) : buffer_of(view.cpu, -1);
		*mem_push(walk->filled, walk->count, walk->capacity) = filled;
	}
}

static int by_end(const void *a, const void *b)
{
	const struct filled *x = a, *y = b;

	return three_way(x->buffer, y->buffer) ?: three_way(x->end, y->end);
}

/* Returns the index of the buffer's first region that ends behind `offset`. */
static size_t first_beyond(const struct aux_walk *walk, int64_t buffer, uint64_t offset)
{
	const struct filled *filled = walk->filled;

	return search_first(i, 0, walk->count,
			    filled[i].buffer < buffer ||
				    (filled[i].buffer == buffer && filled[i].end <= offset));
}

static bool is_of(const struct aux_walk *walk, size_t i, int64_t buffer)
{
	return i < walk->count && walk->filled[i].buffer == buffer;
}

/* The chunks -------------------------------------------------------------------------------------
 */

static bool all_zero(struct source *source, uint64_t at, size_t count, struct error *err)
{
	uint8_t bytes[PADDING];

	if (!source_peek(source, at, bytes, count, err))
		return false;
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Returns the chunk's length without padding: to the end of a region, if only zeros outside of all
   regions follow. */
static uint64_t true_length(const struct aux_walk *walk, int64_t buffer,
			    const struct aux_chunk *chunk)
{
	uint64_t end = chunk->offset + chunk->len;
	uint64_t from = chunk->len < PADDING ? chunk->offset : end - PADDING;
	size_t i = first_beyond(walk, buffer, from);
	uint64_t last = end;
	struct error err;

	for (; is_of(walk, i, buffer) && walk->filled[i].end < end; i++)
		last = walk->filled[i].end;
	if (last == end || (is_of(walk, i, buffer) && walk->filled[i].begin < end) ||
	    !all_zero(chunk->source, chunk->at + (last - chunk->offset), (size_t)(end - last),
		      &err))
		return chunk->len;
	return last - chunk->offset;
}

/* Calls `each` for the parts of the chunk, which is split where data was lost. */
static bool perf_aux_give(struct aux_walk *walk, const struct aux_chunk *whole, struct error *err)
{
	int64_t buffer = buffer_of(whole->cpu, whole->tid);
	struct aux_chunk part = *whole;
	uint64_t end = whole->offset + true_length(walk, buffer, whole);

	for (size_t i = first_beyond(walk, buffer, whole->offset);
	     is_of(walk, i, buffer) && walk->filled[i].end <= end; i++) {
		const struct filled *filled = &walk->filled[i];
		if (!filled->truncated || filled->end == part.offset)
			continue;
		part.len = filled->end - part.offset;
		part.truncated = true;
		if (!walk->each(walk->arg, &part, err))
			return false;
		part.at += part.len;
		part.offset += part.len;
		part.truncated = false;
	}
	part.len = end - part.offset;
	return !part.len || walk->each(walk->arg, &part, err);
}

static bool take_auxtrace(struct aux_walk *walk, const struct perf_record *record,
			  struct error *err)
{
	const bool swap = walk->part->swap;
	const uint8_t *p = record->bytes;
	struct aux_chunk chunk = {.source = walk->part->sources[record->source].source,
				  .at = record->extra_off,
				  .len = record->extra_len};

	if (record->size < 44)
		return error_set(
			err, ERR_FORMAT, "%s: the AUXTRACE record at offset %llu is cut short",
			walk->part->sources[record->source].name, (unsigned long long)record->off);
	chunk.offset = get64(p + 16, swap);
	chunk.reference = get64(p + 24, swap);
	chunk.index = get32(p + 32, swap);
	chunk.tid = (int32_t)get32(p + 36, swap);
	chunk.cpu = (int32_t)get32(p + 40, swap);
	if (chunk.len > UINT64_MAX - chunk.offset)
		return walk->each(walk->arg, &chunk, err); /* fails, with the place in *err */
	return perf_aux_give(walk, &chunk, err);
}

/*
 * Calls `take` for every record. After damage it continues with the next source; at the end it
 * fails with the first one in *err. Ignores that a file is cut off, which open reported.
 */
static bool walk_records(struct aux_walk *walk,
			 bool (*take)(struct aux_walk *walk, const struct perf_record *record,
				      void *arg, struct error *err),
			 void *arg, struct error *err)
{
	struct error more, *to = err;
	struct perf_record record;
	struct perf_iter iter;
	bool whole = true, ok = true;
	enum step step;

	perf_iter_begin(&iter, walk->part);
	while (ok && (step = perf_iter_next(&iter, &record, to)) != STEP_END) {
		if (step == STEP_ITEM) {
			ok = take(walk, &record, arg, to);
			continue;
		}
		/* the iterator is at the next source already */
		if (iter.source && walk->part->sources[iter.source - 1].cut_told)
			continue;
		whole = false;
		to = &more;
	}
	perf_iter_end(&iter);
	if (!ok && to == &more)
		*err = more;
	return ok && whole;
}

static bool look_around(struct aux_walk *walk, const struct perf_record *record, void *arg,
			struct error *err)
{
	struct aux_kind *kind = arg;

	(void)err;
	if (record->type == PERF_AUXTRACE_INFO)
		take_info(walk->part, record, kind);
	else if (record->type == PERF_TIME_CONV)
		take_time(walk->part, record, kind);
	else if (record->type == PERF_AUX)
		take_filled(walk, record);
	return true;
}

static bool take_chunks(struct aux_walk *walk, const struct perf_record *record, void *arg,
			struct error *err)
{
	(void)arg;
	return record->type != PERF_AUXTRACE || take_auxtrace(walk, record, err);
}

bool perf_aux(const struct part *part, struct aux_kind *kind,
	      bool (*each)(void *arg, const struct aux_chunk *chunk, struct error *err), void *arg,
	      struct error *err)
{
	struct aux_walk walk = {.part = part->priv, .each = each, .arg = arg};
	struct error same;

	*kind = (struct aux_kind){0};
	walk_records(&walk, look_around, kind, &same); /* the next pass reports damage */
	if (walk.count)
		qsort(walk.filled, walk.count, sizeof *walk.filled, by_end);
	bool ok = walk_records(&walk, take_chunks, NULL, err);
	mem_free(walk.filled);
	return ok;
}
