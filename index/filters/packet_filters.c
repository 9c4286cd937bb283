/*
 * packet_filters.c - the set of packet filters, in memory and in the index
 *
 * The filters of all packets that begin in the same 4 MB of a file (a region) are one stored value,
 * concatenated in any order. Its key: "packet filter", the format's version, the identity of fields
 * and classes, the stream, the file's number, the region's number. New ones are in memory, and are
 * stored at the end, or when there are many.
 */
#include "index/filters/packet_filter.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "index/filters/internal.h"
#include "index/tables/identity.h"
#include "index/tables/internal.h"

#include <pthread.h>
#include <string.h>
#include <xxhash.h>

enum {
	REGION_SHIFT = 22,
	KEY = 8 + 16 + 8 + 4 + 8,
	HELD_MAX = 48 << 20, /* bytes in memory */
	STORED_LEAST = 32,   /* fewer new ones are not worth a commit, */
	CLASSES_LEAST = 512  /* nor of those that cost nothing to make */
};

struct region {
	uint64_t hash; /* of the next three */
	const struct stream *stream;
	uint32_t source;
	uint64_t number;
	struct buf bytes;         /* the packet filters */
	struct hash_index places; /* where in `bytes` each begins, by its packet */
	bool changed;
};

struct packet_filters {
	struct index *index;
	struct packet_filter_fields fields;
	uint8_t prefix[24];
	pthread_mutex_t lock; /* of all below */
	struct region **regions;
	size_t count, capacity;
	struct hash_index by_place;
	size_t held;    /* bytes */
	uint64_t fresh; /* packet filters not stored yet */
	bool full;      /* nothing more is taken */
};

/* Fields by class */

static void take_fields(struct packet_filter_fields *out, const struct trace *trace,
			const struct packet_filter_field *fields, size_t count)
{
	size_t n = 0;

	out->nclasses = trace->nclasses;
	out->items = mem_new_array(count + 1, sizeof *out->items);
	out->number = mem_new_array(trace->nclasses + 1, sizeof *out->number);
	out->first = mem_new_array(trace->nclasses + 2, sizeof *out->first);
	for (size_t i = 0; i < count; i++)
		out->number[fields[i].class_index]++;
	for (uint32_t c = 0; c < trace->nclasses; c++) {
		uint32_t of_class = out->number[c];
		if (!of_class)
			continue;
		out->first[out->nkeyed] = (uint32_t)n;
		out->number[c] = ++out->nkeyed;
		n += of_class;
	}
	out->first[out->nkeyed] = (uint32_t)n;
	out->count = n;
	uint32_t *next = mem_new_array(out->nkeyed + 1, sizeof *next);
	memcpy(next, out->first, out->nkeyed * sizeof *next);
	for (size_t i = 0; i < count; i++)
		out->items[next[out->number[fields[i].class_index] - 1]++] = fields[i];
	mem_free(next);
}

static void digest_classes(XXH3_state_t *state, const struct trace *trace)
{
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		const uint64_t words[3] = {class->part, class->id, class->stream_id};

		XXH3_128bits_update(state, words, sizeof words);
		XXH3_128bits_update(state, class->name, strlen(class->name) + 1);
	}
}

static void digest_fields(XXH3_state_t *state, const struct packet_filter_fields *fields)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct packet_filter_field *field = &fields->items[i];
		const struct run_field *of = &field->of;
		const uint64_t words[10] = {
			field->class_index, field->role,           (uint64_t)of->field.scope,
			of->field.slot,     of->field.class->bits, of->field.class->is_signed,
			of->placed,         of->place.offset,      field->skips,
			field->skipped};

		XXH3_128bits_update(state, words, sizeof words);
	}
}

static void make_prefix(struct packet_filters *packet_filters, const struct trace *trace)
{
	XXH3_state_t *state = XXH3_createState();
	XXH128_hash_t hash;

	XXH3_128bits_reset(state);
	digest_classes(state, trace);
	digest_fields(state, &packet_filters->fields);
	hash = XXH3_128bits_digest(state);
	XXH3_freeState(state);
	memcpy(packet_filters->prefix, "filter\0\1", 8);
	memcpy(packet_filters->prefix + 8, &hash.low64, 8);
	memcpy(packet_filters->prefix + 16, &hash.high64, 8);
}

struct packet_filters *packet_filters_new(struct index *index,
					  const struct packet_filter_field *fields, size_t count)
{
	struct packet_filters *packet_filters = mem_new(sizeof *packet_filters);

	packet_filters->index = index;
	take_fields(&packet_filters->fields, index_trace(index), fields, count);
	make_prefix(packet_filters, index_trace(index));
	pthread_mutex_init(&packet_filters->lock, NULL);
	return packet_filters;
}

/* Regions */

static void packet_filters_key_of(const struct packet_filters *packet_filters,
				  const struct region *region, uint8_t key[KEY])
{
	memcpy(key, packet_filters->prefix, sizeof packet_filters->prefix);
	key_put_number(key + 24, identity_stream(region->stream), 8);
	key_put_number(key + 32, region->source, 4);
	key_put_number(key + 36, region->number, 8);
}

/* The packet filter at *at, and the next one's place; NULL: none is whole there. */
static const struct packet_filter_head *packet_filter_at(const struct buf *bytes, size_t *at)
{
	const struct packet_filter_head *head = (const void *)(bytes->data + *at);

	if (bytes->len - *at < sizeof *head || head->classes > PACKET_FILTER_WORDS_MAX ||
	    head->filter > PACKET_FILTER_WORDS_MAX || packet_filter_size(head) > bytes->len - *at)
		return NULL;
	*at += packet_filter_size(head);
	return head;
}

static uint64_t packet_filters_hash_of(uint64_t off, uint64_t len)
{
	return hash_number(off ^ len << 40);
}

/* Finds what stands behind `at`, as far as it is whole. */
static void add_places(struct region *region, size_t at)
{
	const struct packet_filter_head *head;

	for (size_t next = at; at < region->bytes.len; at = next) {
		if (!(head = packet_filter_at(&region->bytes, &next)))
			return;
		hash_index_add(&region->places, packet_filters_hash_of(head->off, head->len), at);
	}
}

static bool is_of(const struct packet_filter_head *head, const struct packet_filter_of *packet)
{
	return head->off == packet->off && head->len == packet->len &&
	       head->least <= head->greatest;
}

static const struct packet_filter_head *find_packet_filter(const struct region *region,
							   const struct packet_filter_of *packet)
{
	const char *bytes = region->bytes.data;
	uint32_t at =
		hash_index_find(&region->places, packet_filters_hash_of(packet->off, packet->len),
				i, is_of((const void *)(bytes + i), packet));

	return at != HASH_INDEX_NONE ? (const void *)(bytes + at) : NULL;
}

static void region_free(struct region *region)
{
	buf_release(&region->bytes);
	hash_index_release(&region->places);
	mem_free(region);
}

/* What was stored. */
static void packet_filters_load(const struct packet_filters *packet_filters, struct region *region)
{
	uint8_t key[KEY];
	void *value;
	size_t size;

	packet_filters_key_of(packet_filters, region, key);
	if (!index_get(packet_filters->index, key, KEY, &value, &size))
		return;
	if (size <= HELD_MAX)
		buf_add(&region->bytes, value, size);
	add_places(region, 0);
	mem_free(value);
}

static void keep_region(struct packet_filters *packet_filters, struct region *region)
{
	*mem_push(packet_filters->regions, packet_filters->count, packet_filters->capacity) =
		region;
	hash_index_add(&packet_filters->by_place, region->hash, packet_filters->count - 1);
	packet_filters->held += sizeof *region + region->bytes.len;
}

static bool store_changed(struct packet_filters *packet_filters);

/* Frees regions that are stored, since they can be read again. */
static void forget_regions(struct packet_filters *packet_filters)
{
	size_t count = packet_filters->count;

	packet_filters->full = !store_changed(packet_filters);
	packet_filters->held = 0;
	packet_filters->count = 0;
	hash_index_clear(&packet_filters->by_place);
	for (size_t i = 0; i < count; i++) {
		struct region *region = packet_filters->regions[i];
		if (region->changed)
			keep_region(packet_filters, region);
		else
			region_free(region);
	}
}

static struct region *region_of(struct packet_filters *packet_filters,
				const struct packet_filter_of *packet)
{
	uint64_t number = packet->off >> REGION_SHIFT;
	uint64_t hash = hash_number(hash_number(number) + packet->stream->index *
							UINT64_C(0x9e3779b97f4a7c15) +
				    packet->source);
	struct region **regions = packet_filters->regions, *region;
	uint32_t at = hash_index_find(&packet_filters->by_place, hash, i,
				      regions[i]->stream == packet->stream &&
					      regions[i]->source == packet->source &&
					      regions[i]->number == number);

	if (at != HASH_INDEX_NONE)
		return regions[at];
	if (packet_filters->held > HELD_MAX)
		forget_regions(packet_filters);
	region = mem_new(sizeof *region);
	region->hash = hash;
	region->stream = packet->stream;
	region->source = packet->source;
	region->number = number;
	packet_filters_load(packet_filters, region);
	keep_region(packet_filters, region);
	return region;
}

/* Storing */

static bool store_changed(struct packet_filters *packet_filters)
{
	size_t count = packet_filters->count, n = 0;
	struct index_value *values = mem_new_array(count, sizeof *values);
	uint8_t(*keys)[KEY] = mem_new_array(count, sizeof *keys);
	struct error ignored; /* they are only for speed */

	for (size_t i = 0; i < count; i++) {
		const struct region *region = packet_filters->regions[i];
		if (!region->changed)
			continue;
		packet_filters_key_of(packet_filters, region, keys[n]);
		values[n] = (struct index_value){keys[n], KEY, region->bytes.data,
						 region->bytes.len};
		n++;
	}
	bool good = !n || (index_writable(packet_filters->index) &&
			   index_put_all(packet_filters->index, values, n, &ignored));
	for (size_t i = 0; i < count && good; i++)
		packet_filters->regions[i]->changed = false;
	packet_filters->fresh = good ? 0 : packet_filters->fresh;
	mem_free(values);
	mem_free(keys);
	return good;
}

/* Most of the trace was read for them. */
static bool are_most(const struct packet_filters *packet_filters)
{
	const struct trace *trace = index_trace(packet_filters->index);
	uint64_t all = 0;

	for (size_t i = 0; i < trace->nstreams; i++) {
		struct table *table;
		struct error ignored;

		if (index_table(packet_filters->index, trace->streams[i], &table, &ignored))
			all += table_count(table);
	}
	return packet_filters->fresh >= all / 2;
}

/* Tables that were computed so far are stored, too, when all headers lie in memory anyway. */
static void store_all(struct packet_filters *packet_filters)
{
	bool most = are_most(packet_filters);
	struct error ignored; /* it is only for speed */

	if (store_changed(packet_filters) && most)
		MAY_FAIL(index_build(packet_filters->index, &ignored));
}

void packet_filters_free(struct packet_filters *packet_filters)
{
	if (!packet_filters)
		return;
	if (!packet_filters->fields.nkeyed && packet_filters->fresh >= CLASSES_LEAST)
		store_changed(packet_filters);
	else if (packet_filters->fields.nkeyed && packet_filters->fresh >= STORED_LEAST)
		store_all(packet_filters);
	for (size_t i = 0; i < packet_filters->count; i++)
		region_free(packet_filters->regions[i]);
	mem_free(packet_filters->regions);
	hash_index_release(&packet_filters->by_place);
	mem_free(packet_filters->fields.items);
	mem_free(packet_filters->fields.number);
	mem_free(packet_filters->fields.first);
	pthread_mutex_destroy(&packet_filters->lock);
	mem_free(packet_filters);
}

/* Asking */

struct packet_filter_of packet_filter_of(const struct stream *stream,
					 const struct packet_info *info)
{
	return (struct packet_filter_of){.stream = stream,
					 .source = info->rec.source,
					 .flags = info->rec.flags,
					 .off = info->rec.off,
					 .len = packet_all_bytes(info)};
}

static enum filtered_by_packet ask_region(struct packet_filters *packet_filters,
					  const struct packet_filter_of *packet,
					  const struct packet_filter_wanted *wanted,
					  struct packet_range *range)
{
	const struct packet_filter_head *head;
	enum filtered_by_packet filtered_by_packet = FILTERED_NOT;

	pthread_mutex_lock(&packet_filters->lock);
	head = find_packet_filter(region_of(packet_filters, packet), packet);
	if (head) {
		*range = (struct packet_range){head->least, head->greatest};
		filtered_by_packet = packet_filter_may(head, (const uint64_t *)(head + 1), wanted,
						       packet_filters->fields.nclasses)
					     ? FILTERED_MAY
					     : FILTERED_CANNOT;
	}
	pthread_mutex_unlock(&packet_filters->lock);
	return filtered_by_packet;
}

enum filtered_by_packet packet_filters_ask(struct packet_filters *packet_filters,
					   const struct packet_filter_of *packet,
					   const struct packet_filter_wanted *wanted,
					   struct packet_range *range)
{
	enum filtered_by_packet filtered_by_packet;
	struct packet_filters *own;

	if (packet->flags & PACKET_OPEN)
		return FILTERED_NOT;
	filtered_by_packet = ask_region(packet_filters, packet, wanted, range);
	if (filtered_by_packet != FILTERED_NOT)
		return filtered_by_packet;
	own = index_packet_filters(packet_filters->index);
	if (own && ask_region(own, packet, wanted, range) == FILTERED_CANNOT)
		return FILTERED_CANNOT;
	return FILTERED_NOT;
}

/* The index's own */

struct packet_filters *index_packet_filters(struct index *index)
{
	struct packet_filters *packet_filters;

	if (!index->store)
		return NULL;
	pthread_mutex_lock(&index->pending_lock);
	if (!index->packet_filters)
		index->packet_filters = packet_filters_new(index, NULL, 0);
	packet_filters = index->packet_filters;
	pthread_mutex_unlock(&index->pending_lock);
	return packet_filters;
}

/* For code that makes them */

const struct packet_filter_fields *
packet_filters_fields(const struct packet_filters *packet_filters)
{
	return &packet_filters->fields;
}

struct index *packet_filters_index(const struct packet_filters *packet_filters)
{
	return packet_filters->index;
}

bool packet_filters_lack(struct packet_filters *packet_filters,
			 const struct packet_filter_of *packet)
{
	bool lack;

	pthread_mutex_lock(&packet_filters->lock);
	lack = !packet_filters->full &&
	       !find_packet_filter(region_of(packet_filters, packet), packet);
	pthread_mutex_unlock(&packet_filters->lock);
	return lack;
}

void packet_filters_add(struct packet_filters *packet_filters,
			const struct packet_filter_of *packet, const struct buf *bytes)
{
	pthread_mutex_lock(&packet_filters->lock);
	struct region *region = region_of(packet_filters, packet);
	bool room = region->bytes.len + bytes->len <= HELD_MAX;
	if (room && !find_packet_filter(region, packet)) { /* another thread may have been faster */
		size_t at = region->bytes.len;
		buf_add(&region->bytes, bytes->data, bytes->len);
		add_places(region, at);
		region->changed = true;
		packet_filters->held += bytes->len;
		packet_filters->fresh++;
	}
	pthread_mutex_unlock(&packet_filters->lock);
}
