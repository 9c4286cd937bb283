/*
 * records.c - one record: its size, event id, time and CPU; all records of a part in file order
 *
 * A record's header has type, misc and size. Its attribute gives the places of time and CPU: from
 * the front of a sample, from the end of any other record.
 */
#include "engine/perf/record_view.h"

#include "engine/base/search.h"

#include <inttypes.h>

enum { WINDOW = 4 << 20, CHAIN = 8 };

static unsigned bits_set(uint64_t mask)
{
	return (unsigned)__builtin_popcountll(mask);
}

uint32_t perf_trailer_bytes(const struct perf_attr *attr)
{
	const uint64_t items = SAMPLE_TID | SAMPLE_TIME | SAMPLE_ID | SAMPLE_STREAM_ID |
			       SAMPLE_CPU | SAMPLE_IDENTIFIER;

	return attr->flags & ATTR_SAMPLE_ID_ALL ? bits_set(attr->sample_type & items) * 8 : 0;
}

static uint16_t in_sample(uint64_t type, uint64_t item, uint64_t before)
{
	return type & item ? (uint16_t)(RECORD_HEAD + bits_set(type & before) * 8) : 0;
}

static uint16_t from_end(uint64_t type, uint64_t item, uint64_t behind)
{
	return type & item ? (uint16_t)(bits_set(type & (item | behind)) * 8) : 0;
}

void perf_find_places(struct perf_attr *attr)
{
	const uint64_t type = attr->sample_type;
	const uint64_t to_time = SAMPLE_IDENTIFIER | SAMPLE_IP | SAMPLE_TID;
	const uint64_t to_id = to_time | SAMPLE_TIME | SAMPLE_ADDR;
	struct perf_places *at = &attr->places;

	*at = (struct perf_places){
		.time = in_sample(type, SAMPLE_TIME, to_time),
		.id = type & SAMPLE_IDENTIFIER ? RECORD_HEAD : in_sample(type, SAMPLE_ID, to_id),
		.cpu = in_sample(type, SAMPLE_CPU, to_id | SAMPLE_ID | SAMPLE_STREAM_ID),
	};
	at->least = RECORD_HEAD;
	if (at->time)
		at->least = (uint16_t)(at->time + 8);
	if (at->id && at->id + 8 > at->least)
		at->least = (uint16_t)(at->id + 8);
	if (at->cpu)
		at->least = (uint16_t)(at->cpu + 8);
	at->least_side = (uint16_t)(RECORD_HEAD + perf_trailer_bytes(attr));
	if (!(attr->flags & ATTR_SAMPLE_ID_ALL))
		return;
	uint64_t behind = SAMPLE_IDENTIFIER;
	at->id_back = type & SAMPLE_IDENTIFIER
			      ? 8
			      : from_end(type, SAMPLE_ID, SAMPLE_STREAM_ID | SAMPLE_CPU);
	at->cpu_back = from_end(type, SAMPLE_CPU, behind);
	at->time_back =
		from_end(type, SAMPLE_TIME, behind | SAMPLE_CPU | SAMPLE_STREAM_ID | SAMPLE_ID);
}

static bool by_id(const struct perf_part *part)
{
	const struct perf_places *at = &part->attrs[0]->places;

	return part->nattrs > 1 || !at->cpu || !at->cpu_back;
}

/* Places of the attribute's plain records; `cpu` is that of the event, -1: records have it. */
static struct perf_plain plain_of(const struct perf_part *part, const struct perf_attr *attr,
				  int32_t cpu)
{
	const struct perf_places *at = &attr->places;
	bool times = at->time && at->time_back, cpus = at->cpu && at->cpu_back;

	if (!part->by_cpu || part->swap || !times || !(cpus || part->has_id_index))
		return (struct perf_plain){.least = {UINT32_MAX, UINT32_MAX}};
	return (struct perf_plain){
		.attr = attr,
		.least = {at->least_side, at->least},
		.cpu = cpu,
		.time = {(int16_t)-at->time_back, (int16_t)at->time},
		.cpu_at = {(int16_t)-at->cpu_back, (int16_t)at->cpu},
	};
}

void perf_find_plains(struct perf_part *part)
{
	struct perf_plains *plains = &part->plains;
	const struct perf_places *first = &part->attrs[0]->places;
	uint64_t count = by_id(part) ? part->id_span : 1;

	*plains = (struct perf_plains){.least = {UINT32_MAX, UINT32_MAX}};
	if (!count || (by_id(part) && (!first->id || !first->id_back)))
		return;
	plains->by_id = by_id(part);
	plains->id[0] = (int16_t)-first->id_back;
	plains->id[1] = (int16_t)first->id;
	plains->least[0] = first->least_side;
	plains->least[1] = first->least;
	plains->first = part->id_first;
	plains->count = count;
	plains->items = arena_array(part->trace->arena, count, sizeof *plains->items);
	for (uint64_t i = 0; i < count; i++) {
		const struct perf_id *id = plains->by_id && part->id_table[i]
						   ? &part->ids[part->id_table[i] - 1]
						   : NULL;
		uint32_t attr = id ? id->attr : plains->by_id ? UINT32_MAX : 0;
		plains->items[i].least[0] = plains->items[i].least[1] = UINT32_MAX;
		if (attr != UINT32_MAX)
			plains->items[i] = plain_of(part, part->attrs[attr], id ? id->cpu : -1);
	}
}

const struct perf_id *perf_search_id(const struct perf_part *part, uint64_t id)
{
	size_t low = search_first(i, 0, part->nids, part->ids[i].id < id);

	return low < part->nids && part->ids[low].id == id ? &part->ids[low] : NULL;
}

/* Checks CHAIN records, or fewer if the chain ends exactly at the end. */
bool perf_plausible(const struct perf_part *part, const uint8_t *p, uint64_t room, bool to_end)
{
	for (unsigned i = 0; i < CHAIN; i++) {
		if (room < RECORD_HEAD)
			return to_end && !room && i;
		uint32_t type = get32(p, part->swap), size = get16(p + 6, part->swap);
		bool kernel = type > 0 && type < PERF_KERNEL_TYPES;
		uint64_t wrapped = room < 16 ? 0 : perf_wrapped_bytes(p, room, part->swap);
		if (wrapped) {
			room -= wrapped;
			p += wrapped;
			continue;
		}
		if (size < RECORD_HEAD || size > room ||
		    (!kernel && (type < PERF_HEADER_ATTR || type > PERF_COMPRESSED2)))
			return false;
		struct record_view view;
		if (kernel && (size % 8 || !record_view_of(part, p, type, size, &view)))
			return false;
		uint64_t extra = perf_extra(p, type, size, part->swap);
		if (extra > room - size)
			return false;
		room -= size + extra;
		p += size + extra;
	}
	return true;
}

void perf_iter_begin_source(struct perf_iter *iter, const struct perf_part *part, uint32_t source)
{
	*iter = (struct perf_iter){.part = part, .source = source, .last = source + 1};
	iter->off = source < part->nsources ? part->sources[source].begin : 0;
}

void perf_iter_begin(struct perf_iter *iter, const struct perf_part *part)
{
	perf_iter_begin_source(iter, part, 0);
	iter->last = (uint32_t)part->nsources;
}

void perf_iter_end(struct perf_iter *iter)
{
	source_put(&iter->block);
}

static void next_source(struct perf_iter *iter)
{
	source_put(&iter->block);
	iter->source++;
	iter->off = iter->source < iter->last ? iter->part->sources[iter->source].begin : 0;
}

/* Makes `count` bytes from iter->off available; they lie inside the source. */
static const uint8_t *need(struct perf_iter *iter, size_t count, struct error *err)
{
	const struct perf_source *from = &iter->part->sources[iter->source];
	uint64_t room = from->end - iter->off;

	if (iter->block.data && iter->off >= iter->block_off &&
	    iter->off - iter->block_off <= iter->block.size &&
	    count <= iter->block.size - (iter->off - iter->block_off))
		return iter->block.data + (iter->off - iter->block_off);
	size_t want = count > WINDOW ? count : WINDOW;
	source_put(&iter->block);
	iter->block_off = iter->off;
	if (!source_get(from->source, iter->off, room < want ? (size_t)room : want, &iter->block,
			err))
		return NULL;
	return iter->block.data;
}

enum step perf_iter_next(struct perf_iter *iter, struct perf_record *out, struct error *err)
{
	const struct perf_part *part = iter->part;
	const uint8_t *p;

	while (iter->source < iter->last && iter->off == part->sources[iter->source].end)
		next_source(iter);
	if (iter->source >= iter->last)
		return STEP_END;
	const struct perf_source *from = &part->sources[iter->source];
	uint64_t off = iter->off, room = from->end - off;
	uint32_t size = 0, type = 0;
	uint64_t extra = 0, wrapped = 0;
	if (room >= RECORD_HEAD) {
		if (!(p = need(iter, room < 16 ? RECORD_HEAD : 16, err)))
			goto stop;
		type = get32(p, part->swap);
		size = get16(p + 6, part->swap);
		wrapped = room < 16 ? 0 : perf_wrapped_bytes(p, room, part->swap);
		size = wrapped ? 16 : size;
	}
	if (size < RECORD_HEAD || size > room) {
		error_set(err, ERR_FORMAT,
			  room < RECORD_HEAD || size > room
				  ? "%s: the record at offset %" PRIu64 " is cut off: the file ends"
				  : "%s: the record at offset %" PRIu64 " has a size below 8",
			  from->name, off);
		goto stop;
	}
	if (!(p = need(iter, size, err)))
		goto stop;
	extra = wrapped ? wrapped - size : perf_extra(p, type, size, part->swap);
	if (extra > room - size) {
		error_set(err, ERR_FORMAT,
			  "%s: the record at offset %" PRIu64 " says that %" PRIu64
			  " bytes follow, beyond the end",
			  from->name, off, extra);
		goto stop;
	}
	*out = (struct perf_record){
		.type = type,
		.size = size,
		.misc = get16(p + 4, part->swap),
		.source = iter->source,
		.off = off,
		.bytes = p,
		.extra_off = off + size,
		.extra_len = extra,
	};
	iter->off = off + size + extra;
	return STEP_ITEM;
stop:
	next_source(iter);
	return STEP_ERROR;
}
