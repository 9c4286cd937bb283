/* head_cache.c - sets of classes, what is kept of them, and reading it; the oldest set makes room
 */
#include "index/packets/head_cache_internal.h"

#include "engine/base/bitset.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "index/packets/packet_cache.h"

#include <pthread.h>
#include <string.h>
#include <xxhash.h>

enum {
	SETS_MAX = 64,
	FOUND_BYTES = 48 /* of a packet in the list and in the index, at the most */
};

struct head_cache_set {
	struct head_cache *head_cache;
	struct head_cache_set *next;
	uint64_t *classes;
	uint64_t asked; /* when */
	unsigned held;
	size_t bytes;
	struct head_cache_packet **packets;
	size_t count, capacity;
	struct hash_index index; /* of packets by stream, offset and digest */
};

struct head_cache {
	size_t nclasses, most;
	pthread_mutex_t lock; /* of all below, and of sets; not of packets of one that is held */
	struct head_cache_set *sets;
	size_t nsets, bytes;
	uint64_t asked;
};

struct head_cache *head_cache_new(size_t nclasses, size_t most)
{
	struct head_cache *head_cache = mem_new(sizeof *head_cache);

	head_cache->most = most;
	head_cache->nclasses = nclasses;
	pthread_mutex_init(&head_cache->lock, NULL);
	return head_cache;
}

/* Sets; under the lock */

static void free_set(struct head_cache_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		mem_free(set->packets[i]);
	set->head_cache->bytes -= set->bytes;
	set->head_cache->nsets--;
	mem_free(set->packets);
	hash_index_release(&set->index);
	mem_free(set->classes);
	mem_free(set);
}

void head_cache_free(struct head_cache *head_cache)
{
	if (!head_cache)
		return;
	for (struct head_cache_set *set = head_cache->sets, *next; set; set = next) {
		next = set->next;
		free_set(set);
	}
	pthread_mutex_destroy(&head_cache->lock);
	mem_free(head_cache);
}

/* Evicts the least recently used set; false: all are held. */
static bool forget_set(struct head_cache *head_cache)
{
	struct head_cache_set **oldest = NULL;

	for (struct head_cache_set **at = &head_cache->sets; *at; at = &(*at)->next)
		if (!(*at)->held && (!oldest || (*at)->asked < (*oldest)->asked))
			oldest = at;
	if (!oldest)
		return false;
	struct head_cache_set *set = *oldest;
	*oldest = set->next;
	free_set(set);
	return true;
}

static size_t class_words(const struct head_cache *head_cache)
{
	return head_cache->nclasses / 64 + 1;
}

static struct head_cache_set *find_set(const struct head_cache *head_cache, const uint64_t *classes)
{
	struct head_cache_set *set = head_cache->sets;

	while (set && memcmp(set->classes, classes, class_words(head_cache) * sizeof *classes) != 0)
		set = set->next;
	return set;
}

static struct head_cache_set *add_set(struct head_cache *head_cache, const uint64_t *classes)
{
	struct head_cache_set *set = mem_new(sizeof *set);

	set->head_cache = head_cache;
	set->classes = mem_new_array(class_words(head_cache), sizeof *classes);
	memcpy(set->classes, classes, class_words(head_cache) * sizeof *classes);
	set->bytes = sizeof *set;
	set->next = head_cache->sets;
	head_cache->sets = set;
	head_cache->nsets++;
	head_cache->bytes += set->bytes;
	return set;
}

static bool has_all(const struct head_cache *head_cache, const uint64_t *classes)
{
	for (size_t i = 0; i < head_cache->nclasses; i++)
		if (!bitset_has(classes, i))
			return false;
	return true;
}

struct head_cache_set *head_cache_hold(struct head_cache *head_cache, const uint64_t *classes)
{
	struct head_cache_set *set = NULL;

	if (!classes || has_all(head_cache, classes))
		return NULL;
	pthread_mutex_lock(&head_cache->lock);
	set = find_set(head_cache, classes);
	if (!set && (head_cache->nsets < SETS_MAX || forget_set(head_cache)))
		set = add_set(head_cache, classes);
	if (set) {
		set->held++;
		set->asked = ++head_cache->asked;
	}
	pthread_mutex_unlock(&head_cache->lock);
	return set;
}

void head_cache_drop(struct head_cache_set *set)
{
	if (!set)
		return;
	pthread_mutex_lock(&set->head_cache->lock);
	set->held--;
	pthread_mutex_unlock(&set->head_cache->lock);
}

/* Packets */

size_t head_cache_classes(const struct head_cache_set *set)
{
	return set->head_cache->nclasses;
}

uint64_t head_cache_digest(const struct stream *stream, const struct packet_info *info)
{
	const uint64_t words[] = {info->rec.source, info->rec.flags & PACKET_DECODING,
				  packet_bytes(info), info->plain_size,
				  stream->has_time ? 0 : (uint64_t)info->rec.min};
	uint64_t digest = XXH3_64bits(words, sizeof words);

	digest = XXH3_64bits_withSeed(info->carried, info->ncarried, digest);
	if (info->nextents)
		digest = XXH3_64bits_withSeed(info->extents, info->nextents * sizeof *info->extents,
					      digest);
	return digest;
}

static bool is_of(const struct head_cache_packet *packet, const struct stream *stream,
		  uint64_t digest, uint64_t off)
{
	return packet->stream == stream && packet->off == off && packet->digest == digest;
}

static const struct head_cache_packet *find_packet(const struct head_cache_set *set,
						   const struct stream *stream, uint64_t digest,
						   uint64_t off)
{
	uint32_t at = hash_index_find(&set->index, hash_number(digest ^ off), i,
				      is_of(set->packets[i], stream, digest, off));

	return at != HASH_INDEX_NONE ? set->packets[at] : NULL;
}

const struct head_cache_packet *head_cache_find(struct head_cache_set *set,
						const struct stream *stream,
						const struct packet_info *info)
{
	uint64_t digest = head_cache_digest(stream, info);

	pthread_mutex_lock(&set->head_cache->lock);
	const struct head_cache_packet *packet = find_packet(set, stream, digest, info->rec.off);
	pthread_mutex_unlock(&set->head_cache->lock);
	return packet;
}

bool head_cache_put(struct head_cache_set *set, struct head_cache_packet *packet, size_t size)
{
	struct head_cache *head_cache = set->head_cache;
	bool room = true;

	size += FOUND_BYTES;
	pthread_mutex_lock(&head_cache->lock);
	while (room && head_cache->bytes + size > head_cache->most)
		room = forget_set(head_cache);
	if (room && !find_packet(set, packet->stream, packet->digest, packet->off)) {
		*mem_push(set->packets, set->count, set->capacity) = packet;
		hash_index_add(&set->index, hash_number(packet->digest ^ packet->off),
			       set->count - 1);
		set->bytes += size;
		head_cache->bytes += size;
		packet = NULL;
	}
	pthread_mutex_unlock(&head_cache->lock);
	return !packet;
}

/* Reading */

static void fill_batch(const struct head_cache_packet *packet,
		       const struct head_cache_stretch *stretch, const struct head_cache_head *from,
		       uint32_t count, struct batch *batch, uint32_t *index)
{
	uint32_t n = batch->count;

	for (uint32_t i = 0; i < count; i++, n++) {
		const struct head_cache_kind *kind = &packet->kinds[from[i].kind];
		batch->time[n] = stretch->time + from[i].time;
		batch->at[n] = stretch->at + from[i].at;
		index[n] = stretch->index + from[i].index;
		batch->class_index[n] = kind->class_index;
		batch->head[n] = kind->head;
		batch->flags[n] = kind->flags;
	}
	batch->count = n;
}

bool head_cache_next(const struct head_cache_packet *packet, struct head_cache_at *at,
		     struct batch *batch, uint32_t *index)
{
	batch->count = batch->first = 0;
	while (batch->count < BATCH_MAX && at->stretch < packet->nstretches) {
		const struct head_cache_stretch *stretch = &packet->stretches[at->stretch];
		uint32_t left = stretch->count - at->inside, room = BATCH_MAX - batch->count;
		uint32_t count = left < room ? left : room;

		fill_batch(packet, stretch, packet->heads + at->head, count, batch, index);
		at->head += count;
		at->inside += count;
		if (at->inside == stretch->count) {
			at->stretch++;
			at->inside = 0;
		}
	}
	batch_no_values(batch, false);
	return batch->count > 0;
}
