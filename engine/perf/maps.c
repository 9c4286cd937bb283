/*
 * maps.c - what was mapped where, in order of time
 *
 * One pass over all records keeps the place and time of those that change an address space; they
 * are told sorted, those without a time first. Maps that carry no build id get that of their file
 * from the build-id records, which recorders write at the end.
 */
#include "engine/base/mem.h"
#include "engine/perf/look.h"

#include <stdlib.h>

struct change {
	nstime time; /* NSTIME_MIN: from the start */
	uint64_t off;
	uint32_t source, size;
};

struct changes {
	struct change *items;
	size_t count, capacity;
	struct perf_build_id *build_ids; /* of a pipe's records */
	size_t nbuild_ids, build_ids_capacity;
};

static bool changes_maps(const struct perf_part *part, const struct perf_record *rec)
{
	switch (rec->type) {
	case PERF_MMAP:
		return rec->size >= 40;
	case PERF_MMAP2:
		return rec->size >= 72;
	case PERF_FORK:
		return rec->size >= 32 && !(rec->misc & MISC_COMM_EXEC) &&
		       get32(rec->bytes + 8, part->swap) != get32(rec->bytes + 12, part->swap);
	case PERF_COMM:
		return rec->size >= 16 && rec->misc & MISC_COMM_EXEC;
	case PERF_KSYMBOL:
		return rec->size >= 24;
	default:
		return false;
	}
}

/* `front`: what stands in front of the first sample. */
static void gather(const struct perf_part *part, bool front, struct changes *out)
{
	struct perf_iter iter;
	struct perf_record rec;
	struct perf_look look;
	struct error ignored; /* the walk tells it */
	enum step step;

	perf_iter_begin(&iter, part);
	while ((step = perf_iter_next(&iter, &rec, &ignored)) != STEP_END) {
		if (step == STEP_ERROR)
			continue;
		if (front && (rec.type == PERF_SAMPLE || rec.type == PERF_COMPRESSED ||
			      rec.type == PERF_COMPRESSED2))
			break;
		if (rec.type == PERF_HEADER_BUILD_ID) {
			out->build_ids = mem_grow(out->build_ids, out->nbuild_ids,
						  &out->build_ids_capacity, sizeof *out->build_ids);
			out->nbuild_ids += perf_read_build_id(part, rec.bytes, rec.size,
							      &out->build_ids[out->nbuild_ids]);
		}
		if (!changes_maps(part, &rec) ||
		    !perf_look(part, rec.bytes, rec.type, rec.size, &look))
			continue;
		out->items = mem_grow(out->items, out->count, &out->capacity, sizeof *out->items);
		out->items[out->count++] =
			(struct change){.time = look.has_time ? look.time : NSTIME_MIN,
					.off = rec.off,
					.source = rec.source,
					.size = rec.size};
	}
	perf_iter_end(&iter);
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->off > y->off) - (x->off < y->off);
}

static const struct perf_build_id *build_id_of(const struct perf_part *part,
					       const struct changes *changes, const char *name)
{
	for (size_t i = 0; i < part->nbuild_ids; i++)
		if (!strcmp(part->build_ids[i].name, name))
			return &part->build_ids[i];
	for (size_t i = 0; i < changes->nbuild_ids; i++)
		if (!strcmp(changes->build_ids[i].name, name))
			return &changes->build_ids[i];
	return NULL;
}

static int64_t pid_at(const uint8_t *p, bool swap)
{
	return (int32_t)get32(p, swap);
}

/* Text in a record, up to its id trailer; copied, since the record may end without a zero. */
static const char *text_at(const uint8_t *p, uint32_t at, uint32_t size, struct buf *scratch)
{
	buf_clear(scratch);
	if (at < size)
		buf_add(scratch, p + at, strnlen((const char *)p + at, size - at));
	return buf_text(scratch);
}

static void fill_map(const struct perf_part *part, const struct changes *changes, const uint8_t *p,
		     uint32_t type, uint32_t size, struct buf *scratch, struct map_event *out)
{
	const bool swap = part->swap;

	out->kind = MAP_ADD;
	out->start = get64(p + 16, swap);
	out->len = get64(p + 24, swap);
	out->file_offset = get64(p + 32, swap);
	out->name = text_at(p, type == PERF_MMAP2 ? 72 : 40, size, scratch);
	if (type == PERF_MMAP2 && get16(p + 4, swap) & MISC_MMAP_BUILD_ID) {
		out->nbuild_id = p[40] < 20 ? p[40] : 20;
		out->build_id = p + 44;
		return;
	}
	const struct perf_build_id *id = build_id_of(part, changes, out->name);
	if (id) {
		out->build_id = id->id;
		out->nbuild_id = id->size;
	}
}

static void fill(const struct perf_part *part, const struct changes *changes, const uint8_t *p,
		 uint32_t size, struct buf *scratch, struct map_event *out)
{
	const bool swap = part->swap;
	uint32_t type = get32(p, swap);

	out->pid = pid_at(p + 8, swap);
	out->parent = -1;
	switch (type) {
	case PERF_FORK:
		out->kind = MAP_FORK;
		out->parent = pid_at(p + 12, swap);
		break;
	case PERF_COMM:
		out->kind = MAP_EXEC;
		break;
	case PERF_KSYMBOL:
		out->kind = MAP_KERNEL_SYMBOL;
		out->pid = -1;
		out->start = get64(p + 8, swap);
		out->len = get16(p + 22, swap) & 1 ? 0 : get32(p + 16, swap); /* 1: unregistered */
		out->name = text_at(p, 24, size, scratch);
		break;
	default:
		fill_map(part, changes, p, type, size, scratch, out);
		break;
	}
}

static void release(struct changes *changes)
{
	mem_free(changes->items);
	mem_free(changes->build_ids);
	*changes = (struct changes){0};
}

static bool tell_all(const struct perf_part *part, struct changes *changes,
		     void (*each)(void *arg, const struct map_event *event), void *arg,
		     struct error *err)
{
	struct buf scratch = {0};
	uint8_t *bytes = mem_new(RECORD_MOST + 1);
	bool ok = true;

	if (changes->count)
		qsort(changes->items, changes->count, sizeof *changes->items, by_time);
	for (size_t i = 0; ok && i < changes->count; i++) {
		const struct change *change = &changes->items[i];
		struct map_event event = {.t = change->time};
		ok = source_peek(part->sources[change->source].source, change->off, bytes,
				 change->size, err);
		if (!ok)
			break;
		fill(part, changes, bytes, change->size, &scratch, &event);
		each(arg, &event);
	}
	mem_free(bytes);
	buf_release(&scratch);
	release(changes);
	return ok;
}

bool perf_maps(const struct part *part, void (*each)(void *arg, const struct map_event *event),
	       void *arg, struct error *err)
{
	struct changes changes = {0};

	gather(part->priv, false, &changes);
	return tell_all(part->priv, &changes, each, arg, err);
}

/* A recorder that was told to makes these records at the end (--tail-synthesize). */
bool perf_first_maps(const struct part *part,
		     void (*each)(void *arg, const struct map_event *event), void *arg,
		     struct error *err)
{
	struct changes changes = {0};
	size_t first = 0;

	gather(part->priv, true, &changes);
	if (!changes.count) {
		release(&changes);
		gather(part->priv, false, &changes);
	}
	for (size_t i = 0; i < changes.count; i++)
		if (changes.items[i].time == NSTIME_MIN)
			changes.items[first++] = changes.items[i];
	changes.count = first;
	return tell_all(part->priv, &changes, each, arg, err);
}

void perf_set_resolver(struct part *part, kernel_resolver *resolver, void *arg)
{
	struct perf_part *perf = part->priv;

	if (perf->tracing)
		tracing_set_resolver(perf->tracing, resolver, arg);
}
