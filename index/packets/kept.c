/* kept.c - sets of classes, what is kept of them, and reading it; the oldest set makes room */
#include "index/packets/kept_internal.h"

#include "engine/base/mem.h"
#include "index/packets/packet_cache.h"

#include <pthread.h>
#include <string.h>
#include <xxhash.h>

enum { SETS_MAX = 64, BUCKETS_MIN = 64 };

struct kept_set {
	struct kept *kept;
	struct kept_set *next;
	uint64_t *classes;
	uint64_t asked; /* when */
	unsigned held;
	size_t bytes;
	struct kept_packet **buckets; /* a power of two of chains */
	size_t nbuckets, count;
};

struct kept {
	size_t nclasses, most;
	pthread_mutex_t lock; /* of all below, and of sets; not of packets of one that is held */
	struct kept_set *sets;
	size_t nsets, bytes;
	uint64_t asked;
};

struct kept *kept_new(size_t nclasses, size_t most)
{
	struct kept *kept = mem_new(sizeof *kept);

	kept->most = most;
	kept->nclasses = nclasses;
	pthread_mutex_init(&kept->lock, NULL);
	return kept;
}

/* Sets; under the lock */

static void free_set(struct kept_set *set)
{
	for (size_t i = 0; i < set->nbuckets; i++)
		for (struct kept_packet *packet = set->buckets[i], *next; packet; packet = next) {
			next = packet->next;
			mem_free(packet);
		}
	set->kept->bytes -= set->bytes;
	set->kept->nsets--;
	mem_free(set->buckets);
	mem_free(set->classes);
	mem_free(set);
}

void kept_free(struct kept *kept)
{
	if (!kept)
		return;
	for (struct kept_set *set = kept->sets, *next; set; set = next) {
		next = set->next;
		free_set(set);
	}
	pthread_mutex_destroy(&kept->lock);
	mem_free(kept);
}

/* The set that was longest not asked for goes; false: all are held. */
static bool forget_set(struct kept *kept)
{
	struct kept_set **oldest = NULL;

	for (struct kept_set **at = &kept->sets; *at; at = &(*at)->next)
		if (!(*at)->held && (!oldest || (*at)->asked < (*oldest)->asked))
			oldest = at;
	if (!oldest)
		return false;
	struct kept_set *set = *oldest;
	*oldest = set->next;
	free_set(set);
	return true;
}

static size_t class_words(const struct kept *kept)
{
	return kept->nclasses / 64 + 1;
}

static struct kept_set *find_set(const struct kept *kept, const uint64_t *classes)
{
	struct kept_set *set = kept->sets;

	while (set && memcmp(set->classes, classes, class_words(kept) * sizeof *classes) != 0)
		set = set->next;
	return set;
}

static struct kept_set *add_set(struct kept *kept, const uint64_t *classes)
{
	struct kept_set *set = mem_new(sizeof *set);

	set->kept = kept;
	set->classes = mem_new_array(class_words(kept), sizeof *classes);
	memcpy(set->classes, classes, class_words(kept) * sizeof *classes);
	set->nbuckets = BUCKETS_MIN;
	set->buckets = mem_new_array(set->nbuckets, sizeof(struct kept_packet *));
	set->bytes = sizeof *set + set->nbuckets * sizeof(struct kept_packet *);
	set->next = kept->sets;
	kept->sets = set;
	kept->nsets++;
	kept->bytes += set->bytes;
	return set;
}

static bool has_all(const struct kept *kept, const uint64_t *classes)
{
	for (size_t i = 0; i < kept->nclasses; i++)
		if (!(classes[i / 64] >> i % 64 & 1))
			return false;
	return true;
}

struct kept_set *kept_hold(struct kept *kept, const uint64_t *classes)
{
	struct kept_set *set = NULL;

	if (!classes || has_all(kept, classes))
		return NULL;
	pthread_mutex_lock(&kept->lock);
	set = find_set(kept, classes);
	if (!set && (kept->nsets < SETS_MAX || forget_set(kept)))
		set = add_set(kept, classes);
	if (set) {
		set->held++;
		set->asked = ++kept->asked;
	}
	pthread_mutex_unlock(&kept->lock);
	return set;
}

void kept_drop(struct kept_set *set)
{
	if (!set)
		return;
	pthread_mutex_lock(&set->kept->lock);
	set->held--;
	pthread_mutex_unlock(&set->kept->lock);
}

/* Packets */

size_t kept_classes(const struct kept_set *set)
{
	return set->kept->nclasses;
}

uint64_t kept_digest(const struct stream *stream, const struct packet_info *info)
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

static struct kept_packet **chain_of(const struct kept_set *set, uint64_t digest, uint64_t off)
{
	uint64_t mixed = (digest ^ off) * UINT64_C(0x9e3779b97f4a7c15);

	return &set->buckets[(mixed >> 32) & (set->nbuckets - 1)];
}

static struct kept_packet *find(const struct kept_set *set, const struct stream *stream,
				uint64_t digest, uint64_t off)
{
	struct kept_packet *packet = *chain_of(set, digest, off);

	while (packet &&
	       (packet->stream != stream || packet->off != off || packet->digest != digest))
		packet = packet->next;
	return packet;
}

const struct kept_packet *kept_find(struct kept_set *set, const struct stream *stream,
				    const struct packet_info *info)
{
	uint64_t digest = kept_digest(stream, info);

	pthread_mutex_lock(&set->kept->lock);
	const struct kept_packet *packet = find(set, stream, digest, info->rec.off);
	pthread_mutex_unlock(&set->kept->lock);
	return packet;
}

static void grow_buckets(struct kept_set *set)
{
	struct kept_packet **old = set->buckets;
	size_t nold = set->nbuckets;

	set->nbuckets *= 2;
	set->buckets = mem_new_array(set->nbuckets, sizeof(struct kept_packet *));
	set->bytes += nold * sizeof(struct kept_packet *);
	set->kept->bytes += nold * sizeof(struct kept_packet *);
	for (size_t i = 0; i < nold; i++)
		for (struct kept_packet *packet = old[i], *next; packet; packet = next) {
			struct kept_packet **chain = chain_of(set, packet->digest, packet->off);
			next = packet->next;
			packet->next = *chain;
			*chain = packet;
		}
	mem_free(old);
}

bool kept_put(struct kept_set *set, struct kept_packet *packet, size_t size)
{
	struct kept *kept = set->kept;
	bool room = true;

	pthread_mutex_lock(&kept->lock);
	while (room && kept->bytes + size > kept->most)
		room = forget_set(kept);
	if (room && !find(set, packet->stream, packet->digest, packet->off)) {
		if (set->count >= set->nbuckets)
			grow_buckets(set);
		struct kept_packet **chain = chain_of(set, packet->digest, packet->off);
		packet->next = *chain;
		*chain = packet;
		set->count++;
		set->bytes += size;
		kept->bytes += size;
		packet = NULL;
	}
	pthread_mutex_unlock(&kept->lock);
	return !packet;
}

/* Reading */

static void fill(const struct kept_packet *packet, const struct kept_stretch *stretch,
		 const struct kept_head *from, uint32_t count, struct batch *batch, uint32_t *index)
{
	uint32_t n = batch->count;

	for (uint32_t i = 0; i < count; i++, n++) {
		const struct kept_kind *kind = &packet->kinds[from[i].kind];
		batch->time[n] = stretch->time + from[i].time;
		batch->at[n] = stretch->at + from[i].at;
		index[n] = stretch->index + from[i].index;
		batch->class_index[n] = kind->class_index;
		batch->head[n] = kind->head;
		batch->flags[n] = kind->flags;
	}
	batch->count = n;
}

bool kept_next(const struct kept_packet *packet, struct kept_at *at, struct batch *batch,
	       uint32_t *index)
{
	batch->count = batch->first = 0;
	while (batch->count < BATCH_MAX && at->stretch < packet->nstretches) {
		const struct kept_stretch *stretch = &packet->stretches[at->stretch];
		uint32_t left = stretch->count - at->inside, room = BATCH_MAX - batch->count;
		uint32_t count = left < room ? left : room;

		fill(packet, stretch, packet->heads + at->head, count, batch, index);
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
