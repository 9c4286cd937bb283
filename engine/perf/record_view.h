/*
 * record_view.h - finds attribute, time and CPU of a record
 *
 * Inline, as the walk does it for every record of the file. It uses tables made at open: places per
 * attribute, and attributes by id, as the kernel gives out ids in sequence.
 */
#ifndef ENGINE_PERF_RECORD_VIEW_H
#define ENGINE_PERF_RECORD_VIEW_H

#include "engine/perf/perf_internal.h"

enum { PERF_AHEAD = 1024 /* bytes, how far ahead of the walk memory is prefetched */ };

struct record_view {
	const struct perf_attr *attr;
	nstime time; /* if has_time */
	bool has_time;
	int32_t cpu; /* -1: unknown */
};

static inline const struct perf_id *perf_find_id(const struct perf_part *part, uint64_t id)
{
	if (id - part->id_first < part->id_span) {
		uint32_t i = part->id_table[id - part->id_first];
		return i ? &part->ids[i - 1] : NULL;
	}
	return part->id_table ? NULL : perf_search_id(part, id);
}

/*
 * Returns a record's attribute; NULL: unknown. If there are several, the record's id gives it,
 * which has one place in all attributes, or perf could not read its own file. Records that perf
 * synthesizes have id 0, and the layout of the first attribute.
 */
static inline const struct perf_attr *perf_attr_of(const struct perf_part *part, const uint8_t *p,
						   uint32_t type, uint32_t size)
{
	const struct perf_attr *first = part->attrs[0];

	if (part->nattrs == 1)
		return first;
	uint32_t at =
		type == PERF_SAMPLE ? first->places.id
		: first->places.id_back && (uint32_t)first->places.id_back + RECORD_HEAD <= size
			? size - first->places.id_back
			: 0;
	if (!at || at + 8 > size)
		return type == PERF_SAMPLE ? NULL : first;
	uint64_t id = get64(p + at, part->swap);
	if (!id)
		return first;
	const struct perf_id *found = perf_find_id(part, id);
	return found && found->attr != UINT32_MAX ? part->attrs[found->attr] : NULL;
}

/* Returns the offset of the time in the record's body, for files without id trailers; 0: none. */
static inline uint32_t time_in_body(uint32_t type, uint32_t size)
{
	if ((type == PERF_FORK || type == PERF_EXIT) && size >= 32)
		return 24;
	return (type == PERF_THROTTLE || type == PERF_UNTHROTTLE) && size >= 16 ? 8 : 0;
}

/* Returns the CPU that ID_INDEX gives for the id at p[at]; -1: unknown. */
static inline int32_t cpu_of_id(const struct perf_part *part, const uint8_t *p, uint32_t at,
				uint32_t size)
{
	const struct perf_id *id =
		at && at + 8 <= size ? perf_find_id(part, get64(p + at, part->swap)) : NULL;

	return id ? id->cpu : -1;
}

/* Finds attribute, time and CPU of any record. False: too short, or no known attribute. */
static inline bool record_view_any(const struct perf_part *part, const uint8_t *p, uint32_t type,
				   uint32_t size, struct record_view *out)
{
	const struct perf_attr *attr = perf_attr_of(part, p, type, size);
	const bool swap = part->swap;
	uint32_t time, cpu, id;

	*out = (struct record_view){.attr = attr, .cpu = -1};
	if (!attr)
		return false;
	const struct perf_places *at = &attr->places;
	if (type == PERF_SAMPLE) {
		if (size < at->least)
			return false;
		time = at->time;
		cpu = at->cpu;
		id = at->id;
	} else {
		if (size < at->least_side)
			return false;
		time = at->time_back ? size - at->time_back : time_in_body(type, size);
		cpu = at->cpu_back ? size - at->cpu_back : 0;
		id = at->id_back ? size - at->id_back : 0;
	}
	if (time) {
		uint64_t t = get64(p + time, swap);
		out->has_time = t != 0 && t < INT64_MAX;
		if (__builtin_add_overflow((nstime)t, part->part->origin, &out->time))
			out->has_time = false;
	}
	if (cpu)
		out->cpu = (int32_t)get32(p + cpu, swap);
	else if (part->has_id_index)
		out->cpu = cpu_of_id(part, p, id, size);
	return true;
}

/* Fast path of record_view_any() for plain records (struct perf_plain); false: call that. */
static inline bool record_view_fixed(const struct perf_part *part, const uint8_t *p, uint32_t type,
				     uint32_t size, struct record_view *out)
{
	const struct perf_plains *plains = &part->plains;
	const bool sample = type == PERF_SAMPLE;
	const uint8_t *from = sample ? p : p + size;
	const struct perf_plain *plain = plains->items;

	if (size < plains->least[sample])
		return false;
	if (plains->by_id) {
		uint64_t i = load_native(from + plains->id[sample], 8) - plains->first;
		if (i >= plains->count)
			return false;
		plain += i;
	}
	if (size < plain->least[sample])
		return false;
	uint64_t t = load_native(from + plain->time[sample], 8);
	out->attr = plain->attr;
	out->has_time = true;
	out->cpu = plain->cpu;
	if (plain->cpu_at[sample])
		out->cpu = (int32_t)load_native(from + plain->cpu_at[sample], 4);
	return t - 1 < INT64_MAX - 1 &&
	       !__builtin_add_overflow((nstime)t, part->part->origin, &out->time);
}

static inline bool record_view_of(const struct perf_part *part, const uint8_t *p, uint32_t type,
				  uint32_t size, struct record_view *out)
{
	if (__builtin_expect(record_view_fixed(part, p, type, size, out), 1))
		return true;
	return record_view_any(part, p, type, size, out);
}

#endif
