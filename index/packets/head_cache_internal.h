/* head_cache_internal.h - kept heads, as the files that write and read them know them */
#ifndef INDEX_PACKETS_HEAD_CACHE_INTERNAL_H
#define INDEX_PACKETS_HEAD_CACHE_INTERNAL_H

#include "index/packets/head_cache.h"

/* Counted from its stretch, which ends where something no longer fits. */
struct head_cache_head {
	uint32_t at, time; /* bits, ns */
	uint16_t index, kind;
};

struct head_cache_stretch {
	nstime time;
	uint64_t at;
	uint32_t index, count;
};

struct head_cache_kind { /* what is the same of many heads of a packet */
	uint32_t class_index;
	uint16_t head, flags;
};

size_t head_cache_classes(const struct head_cache_set *set); /* of the trace */
/* All that decides what a decoder makes of the bytes at an offset. */
uint64_t head_cache_digest(const struct stream *stream, const struct packet_info *info);
/* Takes a packet of `size` bytes; false: there is no room, or another thread was faster. */
bool head_cache_put(struct head_cache_set *set, struct head_cache_packet *packet, size_t size);

#endif
