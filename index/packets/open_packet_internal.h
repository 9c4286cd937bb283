/* open_packet_internal.h - what the two files of open_packet.h share */
#ifndef INDEX_PACKETS_OPEN_PACKET_INTERNAL_H
#define INDEX_PACKETS_OPEN_PACKET_INTERNAL_H

#include "engine/base/bitset.h"
#include "index/packets/open_packet.h"

static inline bool view_wants(const struct packet_view *view, uint32_t class_index)
{
	return !view->classes || bitset_has(view->classes, class_index);
}

/* Makes room in packet->index, and sets `indexed`. */
void open_packet_index_room(struct open_packet *packet);
/* Moves the entries of [pos, end) that view->select() picks to the front, and drops the others. */
void open_packet_select(struct open_packet *packet);

/* ---- open_packet_sorted.c ---- */

/* Appends the heads of a batch to packet->heads. */
void sorted_packet_add(struct open_packet *packet, const struct batch *batch);
/* Sorts packet->heads, after all were added; the first one added is event `first` of the packet. */
void sorted_packet_end(struct open_packet *packet, uint32_t first);
/*
 * Takes packet->heads from the head cache. False: none of them is wanted.
 */
bool sorted_packet_take(struct open_packet *packet, const struct head_cache_packet *head_cache);
/* The next window; false: none is left. */
bool sorted_packet_next(struct open_packet *packet);

#endif
