/*
 * open_packet.h - one packet being read: its heads in order, window by window
 *
 * When a packet is decoded first, a restart mark (struct mark) is stored every few hundred events,
 * and stays in the packet cache. A window is the events between two marks; forward, windows follow
 * each other from the first one that can have an event in the range; backward, from the last to the
 * first. If times fall, all heads of the packet are decoded first and sorted, stably.
 */
#ifndef INDEX_PACKETS_OPEN_PACKET_H
#define INDEX_PACKETS_OPEN_PACKET_H

#include "engine/base/search.h"
#include "engine/reader.h"
#include "index/events.h"
#include "index/filters/packet_filter.h"
#include "index/packets/head_cache.h"
#include "index/packets/packet_cache.h"

/* A shorter packet is read to its end, unless its record is right, since its times may fall. */
enum { PACKET_LOOKED_ON = 64 << 10 };

/* State that all open packets of one stream share. */
struct packet_view {
	struct trace *trace;
	const struct stream *stream;
	const struct reader *reader;
	struct packet_cache *cache;
	struct head_cache_set *head_cache; /* of `classes`; NULL: the head cache is not used */
	nstime begin, end;                 /* only heads in [begin, end) are returned */
	const uint64_t *classes; /* bit per wanted class, NULL: all */
	uint32_t (*select)(void *arg, const struct run *run, uint16_t *entries); /* NULL: all */
	void *select_arg;
	bool backward;
	bool whole; /* packets that the range cuts are read to their end */
	bool falls; /* times fell in a packet without PACKET_UNSORTED: read packets completely first
		     */
	const uint32_t *batch_limit;
	uint32_t value_slots;      /* of a batch; 0: values are not decoded with the heads */
	struct batch **scratch;    /* a spare batch, shared by the whole cursor */
	struct filter_room *room;  /* likewise; NULL: no packet filters are made */
	/* Called whenever decoding fails; *info is borrowed for the call. */
	void (*damaged)(void *arg, uint64_t record, const struct packet_info *info,
			const struct error *cause);
	void *arg;
};

struct packet_head;

struct open_packet {
	/* the window: [pos, end) of *batch; forward from pos up, backward from end - 1 down */
	struct batch *batch;
	uint32_t pos, end;
	bool indexed; /* entry i is event index[i] of the packet, else event batch->first + i */
	uint32_t *index;

	uint64_t record;         /* number of its record in the table */
	struct packet_info info; /* a copy; extents are valid while the packet is open */
	struct decoder *decoder;
	struct packet_facts facts; /* of all events read so far, wanted or not, by any cursor */

	/* private */
	const struct packet_view *view;
	struct known_packet *known;  /* NULL: none is open */
	struct known_packet *spare;  /* to be reused for the next packet; or NULL */
	bool owned;                  /* `known` does not come from the packet cache */
	struct filter_making *filter_making; /* or NULL */
	bool filtered_by_packet; /* filter_making has all of this packet's events so far */
	size_t segment;  /* forward: the next one; backward: all below it are still to come */
	bool head_cache; /* its heads come from the head cache, and none is decoded */
	bool keeping; /* heads are collected for the head cache: forward, from the first event on */
	struct head_cache_fill *head_cache_fill; /* NULL: none was needed yet */
	bool sorted; /* windows are made from heads[head_pos, head_end) */
	struct packet_head *heads;
	size_t nheads, heads_capacity, head_pos, head_end;
};

struct open_packet *open_packet_new(const struct packet_view *view); /* view is borrowed */
void open_packet_free(struct open_packet *packet);

/*
 * Opens a packet (*info is copied) at its first window; false: it has no wanted event, and was left
 * again. packet->facts are set in both cases.
 */
bool open_packet_begin(struct open_packet *packet, uint64_t record, const struct packet_info *info);
/* Moves to the next window, when this one is used up; false: there is none; the packet was left. */
bool open_packet_more(struct open_packet *packet);
void open_packet_leave(struct open_packet *packet);
/* Is it read to its end even if the range ends before? Otherwise falling times may be missed. */
bool open_packet_looks_on(const struct open_packet *packet);
/* Prefetches the bytes of the next window. */
void open_packet_prefetch(const struct open_packet *packet);

static inline nstime open_packet_time(const struct open_packet *packet)
{
	const struct batch *batch = packet->batch;

	return packet->view->backward ? batch->time[packet->end - 1] : batch->time[packet->pos];
}

static inline uint32_t open_packet_index(const struct open_packet *packet, uint32_t i)
{
	return packet->indexed ? packet->index[i] : packet->batch->first + i;
}

/* First i in [from, to) of rising times with time[i] >= t; fast when it is near `from`. */
static inline uint32_t times_lower_bound(const nstime *time, uint32_t from, uint32_t to, nstime t)
{
	uint32_t step = 8, low = from, near = to - from < step ? to : from + step;

	for (; low < near; low++)
		if (time[low] >= t)
			return low;
	from = low;
	while (low < to && time[low] < t) {
		from = low + 1;
		low += step;
		step *= 2;
	}
	if (low < to)
		to = low;
	return search_first(i, from, to, time[i] < t);
}

#endif
