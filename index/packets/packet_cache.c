/*
 * packet_cache.c - see packet_cache.h
 *
 *     stream 0 ── packet ── packet            each packet is in the chain of its stream
 *     stream 1 ── packet                      and in one of two lists by age:
 *
 *     hot    newest ... oldest                a question's begin or end lay in them
 *     cold   newest ... oldest                read from begin to end
 *
 * When there are too many packets or bytes, cold ones are evicted first, and first those of the
 * stream that needs room: a pass over the whole trace then reuses a few packets per stream, with
 * their decoders.
 */
#include "index/packets/packet_cache.h"

#include "engine/base/mem.h"

#include <pthread.h>
#include <string.h>

enum { PACKETS_MIN = 256, PACKETS_PER_STREAM = 4, BYTES_MAX = 64 << 20 };

TAILQ_HEAD(list, known_packet); /* the newest first */

struct packet_cache {
	pthread_mutex_t lock;
	struct list hot, cold;
	struct known_packet **chains; /* per stream, the newest first */
	size_t count, most;
	uint64_t bytes;
};

/* Packets */

struct known_packet *known_packet_new(const struct stream *stream, const struct reader *reader)
{
	struct known_packet *packet = mem_new(sizeof *packet);

	packet->stream = stream;
	packet->reader = reader;
	packet->decoder = reader->decoder_new(stream);
	return packet;
}

void known_packet_free(struct known_packet *packet)
{
	if (!packet)
		return;
	packet->reader->decoder_free(packet->decoder);
	mem_free(packet->extents);
	mem_free(packet->segments);
	mem_free(packet);
}

/* Copies info and extents, which the decoder needs for longer than the table's are valid. */
static void copy_info(struct known_packet *packet, const struct packet_info *info)
{
	packet->info = *info;
	packet->info.extents = NULL;
	packet->bytes = packet_all_bytes(info);
	if (!info->nextents)
		return;
	if (packet->extents_capacity < info->nextents) {
		packet->extents =
			mem_resize(packet->extents, info->nextents, sizeof *packet->extents);
		packet->extents_capacity = info->nextents;
	}
	memcpy(packet->extents, info->extents, info->nextents * sizeof *packet->extents);
	packet->info.extents = packet->extents;
}

bool known_packet_open(struct known_packet *packet, const struct packet_info *info,
		       struct error *err)
{
	copy_info(packet, info);
	packet->facts = (struct packet_facts){0};
	packet->nsegments = packet->stands = 0;
	packet->hot = false;
	packet->damaged = !packet->reader->decoder_open(packet->decoder, &packet->info, err);
	if (!packet->damaged)
		packet->reader->decoder_mark(packet->decoder, &packet->start);
	packet->end = packet->start;
	return !packet->damaged;
}

bool known_packet_is(const struct known_packet *packet, const struct packet_info *info)
{
	const struct packet_info *own = &packet->info;
	const struct packet *a = &info->rec, *b = &own->rec;

	/* ordinals are counted from the listed begin */
	return a->off == b->off && a->source == b->source &&
	       packet_bytes(info) == packet_bytes(own) &&
	       (a->flags & PACKET_DECODING) == (b->flags & PACKET_DECODING) &&
	       (packet->stream->has_time || a->min == b->min) &&
	       info->plain_size == own->plain_size && info->nextents == own->nextents &&
	       info->ncarried == own->ncarried &&
	       memcmp(info->carried, own->carried, own->ncarried) == 0 &&
	       (!own->nextents ||
		memcmp(info->extents, own->extents, own->nextents * sizeof *own->extents) == 0);
}

/* Lists; under the lock */

static struct list *list_of(struct packet_cache *cache, const struct known_packet *packet)
{
	return packet->hot ? &cache->hot : &cache->cold;
}

static void put_in(struct packet_cache *cache, struct known_packet *packet)
{
	struct known_packet **chain = &cache->chains[packet->stream->index];

	packet->next = *chain;
	*chain = packet;
	TAILQ_INSERT_HEAD(list_of(cache, packet), packet, by_age);
	cache->count++;
	cache->bytes += packet->bytes;
}

static void take_out(struct packet_cache *cache, struct known_packet *packet)
{
	struct known_packet **at = &cache->chains[packet->stream->index];

	while (*at != packet)
		at = &(*at)->next;
	*at = packet->next;
	TAILQ_REMOVE(list_of(cache, packet), packet, by_age);
	cache->count--;
	cache->bytes -= packet->bytes;
}

/* The packet to evict to make room for `packet`, which is in a list already. */
static struct known_packet *find_victim(const struct packet_cache *cache,
					struct known_packet *packet)
{
	struct known_packet *victim = NULL;

	for (struct known_packet *of = packet->next; of; of = of->next)
		if (!of->hot)
			victim = of;
	if (victim)
		return victim;
	victim = TAILQ_LAST(&cache->cold, list); /* the packet itself, if it is the only cold one */
	return victim ? victim : TAILQ_LAST(&cache->hot, list);
}

/* The cache */

struct packet_cache *packet_cache_new(size_t nstreams)
{
	struct packet_cache *cache = mem_new(sizeof *cache);
	size_t most = nstreams * PACKETS_PER_STREAM;

	pthread_mutex_init(&cache->lock, NULL);
	TAILQ_INIT(&cache->hot);
	TAILQ_INIT(&cache->cold);
	cache->chains = mem_new_array(nstreams + 1, sizeof(struct known_packet *));
	cache->most = most > PACKETS_MIN ? most : PACKETS_MIN;
	return cache;
}

static void free_list(struct list *list)
{
	for (struct known_packet *packet; (packet = TAILQ_FIRST(list));) {
		TAILQ_REMOVE(list, packet, by_age);
		known_packet_free(packet);
	}
}

void packet_cache_free(struct packet_cache *cache)
{
	if (!cache)
		return;
	free_list(&cache->hot);
	free_list(&cache->cold);
	pthread_mutex_destroy(&cache->lock);
	mem_free(cache->chains);
	mem_free(cache);
}

static struct known_packet *find_known(const struct packet_cache *cache,
				       const struct stream *stream, const struct packet_info *info)
{
	struct known_packet *packet = cache->chains[stream->index];

	while (packet && !known_packet_is(packet, info))
		packet = packet->next;
	return packet;
}

struct known_packet *packet_cache_take(struct packet_cache *cache, const struct stream *stream,
				       const struct packet_info *info)
{
	pthread_mutex_lock(&cache->lock);
	struct known_packet *packet = find_known(cache, stream, info);
	if (packet)
		take_out(cache, packet);
	pthread_mutex_unlock(&cache->lock);
	return packet;
}

/* Puts it in; what must go is chained by `next`. Of two that are one packet the one that knows less
 * goes. */
static struct known_packet *exchange(struct packet_cache *cache, struct known_packet *packet)
{
	struct known_packet *gone = NULL;

	pthread_mutex_lock(&cache->lock);
	struct known_packet *twin = find_known(cache, packet->stream, &packet->info);
	if (twin && twin->nsegments > packet->nsegments) {
		pthread_mutex_unlock(&cache->lock);
		return packet;
	}
	if (twin) {
		take_out(cache, twin);
		twin->next = NULL;
		gone = twin;
	}
	put_in(cache, packet);
	while (cache->count > cache->most || cache->bytes > BYTES_MAX) {
		struct known_packet *victim = find_victim(cache, packet);
		take_out(cache, victim);
		victim->next = gone;
		gone = victim;
		if (victim == packet)
			break;
	}
	pthread_mutex_unlock(&cache->lock);
	return gone;
}

struct known_packet *packet_cache_give(struct packet_cache *cache, struct known_packet *packet,
				       bool hot)
{
	const struct stream *stream = packet->stream;
	struct known_packet *spare = NULL, *gone = packet;

	packet->next = NULL;
	packet->hot |= hot;
	if (!packet->damaged && packet->bytes <= BYTES_MAX / 4)
		gone = exchange(cache, packet);
	for (struct known_packet *next; gone; gone = next) {
		next = gone->next;
		if (!spare && gone->stream == stream)
			spare = gone;
		else
			known_packet_free(gone);
	}
	if (spare)
		spare->reader->decoder_leave(spare->decoder);
	return spare;
}
