/* record_list.c - see record_list.h; an entry is read back with the same distrust as a trace's
 * bytes */
#include "index/tables/record_list.h"

#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/base/paged.h"
#include "engine/base/search.h"
#include "engine/base/varint.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { IN_MEMORY = 64 << 10 /* bytes of records, and of entries, of a list that uses files */ };

struct record_files {
	struct paged records, side;
};

int packet_order(const struct packet *a, const struct packet *b)
{
	if (a->min != b->min)
		return a->min < b->min ? -1 : 1;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->off != b->off)
		return a->off < b->off ? -1 : 1;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return packet_order(a, b);
}

void record_list_use_files(struct record_list *record_list)
{
	assert(!record_list->count && !record_list->files);
	record_list->files = mem_new(sizeof *record_list->files);
}

void record_list_release(struct record_list *record_list)
{
	struct record_files *files = record_list->files;

	if (files) {
		paged_free(&files->records);
		paged_free(&files->side);
		mem_free(files);
	} else {
		mem_free(record_list->recs);
		buf_release(&record_list->side);
	}
	*record_list = (struct record_list){0};
}

static bool is_sorted(const struct record_list *record_list, size_t from)
{
	for (size_t i = from ? from : 1; i < record_list->count; i++)
		if (packet_order(&record_list->recs[i - 1], &record_list->recs[i]) > 0)
			return false;
	return true;
}

size_t record_list_sort_new(struct record_list *record_list, size_t from)
{
	if (is_sorted(record_list, from))
		return from;
	struct packet *recs = record_list->recs, *first = recs + from;
	for (size_t i = from + 1; i < record_list->count; i++)
		first = packet_order(&recs[i], first) < 0 ? &recs[i] : first;
	struct packet least = *first;
	size_t to = search_first(n, 0, from, packet_order(&recs[n], &least) <= 0);
	qsort(recs + to, record_list->count - to, sizeof *recs, compare);
	return to;
}

void record_list_sort(struct record_list *record_list)
{
	(void)record_list_sort_new(record_list, 0);
}

static uint64_t take_varint(struct cursor *in)
{
	uint64_t value;
	const uint8_t *end = varint_get(in->data + in->pos, in->data + in->size, &value);

	in->failed = in->failed || !end;
	if (in->failed)
		return 0;
	in->pos = (size_t)(end - in->data);
	return value;
}

static unsigned side_mask(const struct packet_info *info)
{
	return (info->nextents ? SIDE_EXTENTS : 0u) | (info->ncarried ? SIDE_CARRIED : 0u) |
	       (info->rec.len == UINT32_MAX ? SIDE_LONG : 0u) |
	       (info->plain_size ? SIDE_PLAIN : 0u);
}

static void side_pack(struct buf *out, const struct packet_info *info, unsigned mask)
{
	uint64_t end = info->rec.off + packet_bytes(info);

	buf_add_varint(out, mask);
	if (mask & SIDE_EXTENTS) {
		buf_add_varint(out, info->nextents);
		for (uint32_t i = 0; i < info->nextents; i++) {
			buf_add_varint(out, info->extents[i].off - end);
			buf_add_varint(out, info->extents[i].len);
			end = info->extents[i].off + info->extents[i].len;
		}
	}
	if (mask & SIDE_CARRIED) {
		buf_add_varint(out, info->ncarried);
		buf_add(out, info->carried, info->ncarried);
	}
	if (mask & SIDE_LONG)
		buf_add_varint(out, info->long_len);
	if (mask & SIDE_PLAIN)
		buf_add_varint(out, info->plain_size);
}

/* Extents still hold gaps instead of offsets. */
static bool read_entry(struct cursor *in, struct packet_info *out, struct extent *extents)
{
	uint64_t mask = take_varint(in);

	if (mask & SIDE_EXTENTS) {
		uint64_t n = take_varint(in);
		if (n > PACKET_EXTENTS_MAX)
			return false;
		for (uint64_t i = 0; i < n; i++) {
			extents[i].off = take_varint(in);
			extents[i].len = take_varint(in);
		}
		out->extents = extents;
		out->nextents = (uint32_t)n;
	}
	if (mask & SIDE_CARRIED) {
		uint64_t n = take_varint(in);
		const uint8_t *bytes = n <= PACKET_CARRIED_MAX ? cursor_bytes(in, n) : NULL;
		if (!bytes)
			return false;
		out->ncarried = (uint8_t)n;
		memcpy(out->carried, bytes, n);
	}
	if (mask & SIDE_LONG)
		out->long_len = take_varint(in);
	if (mask & SIDE_PLAIN)
		out->plain_size = take_varint(in);
	return !in->failed;
}

bool side_unpack(const uint8_t *bytes, size_t size, struct packet_info *out, struct extent *extents)
{
	struct cursor in = cursor_over(bytes, size);

	if (!read_entry(&in, out, extents))
		return false;
	uint64_t end = out->rec.off + packet_bytes(out);
	for (uint32_t i = 0; i < out->nextents; i++) {
		extents[i].off += end;
		end = extents[i].off + extents[i].len;
	}
	return true;
}

size_t side_size(const uint8_t *bytes, size_t size)
{
	struct cursor in = cursor_over(bytes, size);
	struct extent extents[PACKET_EXTENTS_MAX];
	struct packet_info ignored;

	return read_entry(&in, &ignored, extents) ? in.pos : 0;
}

static struct packet *push_record(struct record_list *record_list)
{
	struct record_files *files = record_list->files;

	if (!files)
		return mem_push(record_list->recs, record_list->count, record_list->capacity);
	if (record_list->count == record_list->capacity) {
		record_list->capacity += record_list->capacity + 1;
		record_list->recs = paged_resize_closed(
			&files->records, record_list->capacity * sizeof *record_list->recs,
			IN_MEMORY);
	}
	return &record_list->recs[record_list->count++];
}

/* The list's entries may be in a file: room is made there, and the entry copied. */
static void push_entry(struct record_list *record_list, const struct packet_info *info,
		       unsigned mask)
{
	struct record_files *files = record_list->files;
	struct buf *side = &record_list->side, entry = {0};

	if (!files) {
		side_pack(side, info, mask);
		return;
	}
	side_pack(&entry, info, mask);
	if (side->capacity - side->len <= entry.len) {
		side->capacity = 2 * side->capacity + entry.len + 1;
		side->data = paged_resize_closed(&files->side, side->capacity, IN_MEMORY);
	}
	buf_add(side, entry.data, entry.len);
	buf_release(&entry);
}

void record_list_add(struct record_list *record_list, const struct packet_info *info)
{
	unsigned mask = side_mask(info);

	assert(info->nextents <= PACKET_EXTENTS_MAX && info->ncarried <= PACKET_CARRIED_MAX);
	struct packet *rec = push_record(record_list);
	*rec = info->rec;
	rec->side = mask ? (uint32_t)(record_list->side.len + 1) : 0;
	if (mask)
		push_entry(record_list, info, mask);
}

void record_list_get(const struct record_list *record_list, uint64_t i, struct packet_info *out,
		     struct extent *extents)
{
	assert(i < record_list->count);
	*out = (struct packet_info){.rec = record_list->recs[i]};
	if (!out->rec.side)
		return;
	size_t at = out->rec.side - 1;
	bool whole = side_unpack((const uint8_t *)record_list->side.data + at,
				 record_list->side.len - at, out, extents);
	assert(whole);
	(void)whole;
}

bool record_list_have_other_cpu(const struct record_list *record_list, size_t from,
				const struct stream *stream)
{
	for (size_t i = from; i < record_list->count; i++)
		if (packet_is_of_other_cpu(stream, &record_list->recs[i]))
			return true;
	return false;
}

/* Those with these of the flags `some`. */
static void add_some(struct record_list *record_list, const struct record_list *from, uint32_t some,
		     uint32_t flags)
{
	struct extent extents[PACKET_EXTENTS_MAX];
	struct packet_info info;

	for (size_t i = 0; i < from->count; i++) {
		if ((from->recs[i].flags & some) != flags)
			continue;
		record_list_get(from, i, &info, extents);
		record_list_add(record_list, &info);
	}
}

void record_list_add_all(struct record_list *record_list, const struct record_list *from)
{
	add_some(record_list, from, 0, 0);
}

void record_list_add_open_last(struct record_list *record_list, const struct record_list *from)
{
	add_some(record_list, from, PACKET_OPEN, 0);
	add_some(record_list, from, PACKET_OPEN, PACKET_OPEN);
}

size_t record_list_drop_open(struct record_list *record_list, size_t count)
{
	struct packet *recs = record_list->recs;
	size_t end = record_list->count, first = end;

	for (size_t left = count; left && first;) {
		const struct packet *rec = &recs[--first];
		if (!(rec->flags & PACKET_OPEN))
			continue;
		left--;
		/* entries stand in the order in which records were added */
		if (rec->side && rec->side - 1 < record_list->side.len)
			record_list->side.len = rec->side - 1;
	}
	record_list->count = first;
	for (size_t i = first; i < end; i++)
		if (!(recs[i].flags & PACKET_OPEN))
			recs[record_list->count++] = recs[i];
	return first;
}

uint64_t record_list_lower_bound(const struct record_list *record_list, nstime t)
{
	return search_first(i, 0, record_list->count, record_list->recs[i].min < t);
}
