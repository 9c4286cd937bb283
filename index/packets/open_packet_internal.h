/* open_packet_internal.h - what the two files of open_packet.h share */
#ifndef INDEX_PACKETS_OPEN_PACKET_INTERNAL_H
#define INDEX_PACKETS_OPEN_PACKET_INTERNAL_H

#include "engine/base/bitset.h"
#include "index/packets/open_packet.h"

static inline bool view_wants(const struct packet_view *view, uint32_t class_index)
{
	return !view->classes || bitset_has(view->classes, class_index);
}

/* Room for a number of each entry of a batch; they count from now on. */
void open_packet_index_room(struct open_packet *packet);
/* Leaves those of [pos, end) that `select` picks, at the front. */
void open_packet_select(struct open_packet *packet);

/* ---- open_packet_sorted.c ---- */

/* The heads of a batch, behind those that are there. */
void sorted_packet_add(struct open_packet *packet, const struct batch *batch);
/* All are there, the first of them event `first` of the packet: puts them in order. */
void sorted_packet_end(struct open_packet *packet, uint32_t first);
/*
 * Heads that somebody found before stand for the packet, as if they had been sorted. False: none is
 * wanted.
 */
bool sorted_packet_take(struct open_packet *packet, const struct head_cache_packet *head_cache);
/* The next window; false: none is left. */
bool sorted_packet_next(struct open_packet *packet);

#endif
