/* kept_internal.h - kept heads, as the files that write and read them know them */
#ifndef INDEX_PACKETS_KEPT_INTERNAL_H
#define INDEX_PACKETS_KEPT_INTERNAL_H

#include "index/packets/kept.h"

/* Counted from its stretch, which ends where something no longer fits. */
struct kept_head {
	uint32_t at, time; /* bits, ns */
	uint16_t index, kind;
};

struct kept_stretch {
	nstime time;
	uint64_t at;
	uint32_t index, count;
};

struct kept_kind { /* what is the same of many heads of a packet */
	uint32_t class_index;
	uint16_t head, flags;
};

size_t kept_classes(const struct kept_set *set); /* of the trace */
/* All that decides what a decoder makes of the bytes at an offset. */
uint64_t kept_digest(const struct stream *stream, const struct packet_info *info);
/* Takes a packet of `size` bytes; false: there is no room, or another thread was faster. */
bool kept_put(struct kept_set *set, struct kept_packet *packet, size_t size);

#endif
