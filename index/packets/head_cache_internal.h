/* head_cache_internal.h - how cached heads are encoded */
#ifndef INDEX_PACKETS_HEAD_CACHE_INTERNAL_H
#define INDEX_PACKETS_HEAD_CACHE_INTERNAL_H

#include "index/packets/head_cache.h"

/* Numbers are relative to its stretch; where one would not fit, a new stretch begins. */
struct head_cache_head {
	uint32_t at, time; /* bits, ns */
	uint16_t index, kind;
};

struct head_cache_stretch {
	nstime time;
	uint64_t at;
	uint32_t index, count;
};

struct head_cache_kind { /* the properties that many heads of a packet share */
	uint32_t class_index;
	uint16_t head, flags;
};

size_t head_cache_classes(const struct head_cache_set *set); /* of the trace */
/* A hash of all in *info, besides the offset, that the decoder's output depends on. */
uint64_t head_cache_digest(const struct stream *stream, const struct packet_info *info);
/* Adds a packet of `size` bytes, which the set then owns; false: no room, or it is there already.
 */
bool head_cache_put(struct head_cache_set *set, struct head_cache_packet *packet, size_t size);

#endif
