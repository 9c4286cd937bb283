/*
 * open_packet.h - one packet being read: its heads in order, window by window
 *
 * Whatever is decoded for the first time leaves a mark every few hundred events, which the cache of
 * packets keeps. A window is the events behind a mark: forward, those of the first mark that can
 * have an event in the range and then one after the other; backward from the last to the first.
 * Heads whose times fall are all decoded first and sorted stably.
 */
#ifndef INDEX_PACKETS_OPEN_PACKET_H
#define INDEX_PACKETS_OPEN_PACKET_H

#include "engine/base/search.h"
#include "engine/reader.h"
#include "index/events.h"
#include "index/filters/packet_filter.h"
#include "index/packets/head_cache.h"
#include "index/packets/packet_cache.h"

/* State that all open packets of one stream share. */
struct packet_view {
	struct trace *trace;
	const struct stream *stream;
	const struct reader *reader;
	struct packet_cache *cache;
	struct head_cache_set *head_cache; /* of `classes`; NULL: nothing is kept of them */
	nstime begin, end;       /* only heads in [begin, end) come out */
	const uint64_t *classes; /* bit per wanted class, NULL: all */
	uint32_t (*select)(void *arg, const struct run *run, uint16_t *entries); /* NULL: all */
	void *select_arg;
	bool backward;
	bool whole; /* packets that the range cuts are read to their end */
	bool falls; /* times fell in a packet without its flag: look at packets whole */
	const uint32_t *batch_limit;
	uint32_t value_slots;      /* of a batch; 0: values are not decoded with the heads */
	struct batch **scratch;    /* a spare batch of the whole cursor's */
	struct filter_room *room;  /* the whole cursor's; NULL: no packet filters are made */
	/* Told whenever decoding fails; *info is borrowed for the call. */
	void (*damaged)(void *arg, uint64_t record, const struct packet_info *info,
			const struct error *cause);
	void *arg;
};

struct packet_head;

struct open_packet {
	/* [pos, end) of *batch is next: forward from pos up, backward from end - 1 down */
	struct batch *batch;
	uint32_t pos, end;
	bool indexed; /* index[i] is the number in the packet of entry i, else batch->first + i */
	uint32_t *index;

	uint64_t record;         /* place in the table */
	struct packet_info info; /* of the record; extents are valid while it is open */
	struct decoder *decoder;
	struct packet_facts facts; /* of all events seen, wanted or not, by whomever */

	/* private */
	const struct packet_view *view;
	struct known_packet *known;  /* NULL: none is open */
	struct known_packet *spare;  /* may be opened; or NULL */
	bool owned;                  /* the known one does not come from the cache */
	struct filter_making *filter_making; /* or NULL */
	bool filtered_by_packet; /* it is of this packet, and of all of its events so far */
	size_t segment; /* forward the next to come, backward all below it are still to come */
	bool head_cache; /* its heads are kept ones: nothing was read but what it begins with */
	bool keeping;   /* forward, from its first event on */
	struct head_cache_fill *head_cache_fill; /* NULL: none was needed yet */
	bool sorted;           /* windows come from heads[head_pos, head_end) */
	struct packet_head *heads;
	size_t nheads, heads_capacity, head_pos, head_end;
};

struct open_packet *open_packet_new(const struct packet_view *view); /* view is borrowed */
void open_packet_free(struct open_packet *packet);

/*
 * Turns to a packet (*info is copied) and to its first window; false when it has no event that is
 * wanted, and then it is left already. `facts` are known in either case.
 */
bool open_packet_begin(struct open_packet *packet, uint64_t record, const struct packet_info *info);
/* The next window, when this one is used up; false: none, and the packet was left. */
bool open_packet_more(struct open_packet *packet);
void open_packet_leave(struct open_packet *packet);
/* Is it read to its end even where the range ends before? Else times that fall there may be missed.
 */
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

/* First i in [from, to) of rising times with time[i] >= t; short distances are the usual ones. */
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
