/*
 * order.c - sorts a stream's packets that its files have out of order, and finds copies
 *
 * Networks and relays deliver packets late, twice, or not at all, and snapshots of a session
 * overlap if the ring buffers still held packets of the previous one. All headers are read once,
 * before the first record is made. If sequence numbers (or begins) never decrease, as in every
 * trace that a tracer wrote to a file, nothing is done. Else packets are listed:
 *
 *     in the file   5  6  8  9  7  9  10        in order of offset
 *     listed        5  6  7  8  9  9' 10        by begin and number; by number where begins say
 *     round         0  0  0  1  1  1  1         nothing. 9' is a copy of 9
 *
 * Two packets are copies if number, times, sizes and first bytes are equal; only the first counts.
 * Events of equal time are sorted by source and offset of their packets. So that the list's order
 * wins, a round begins where the list steps back in the files, and the source number in a packet
 * record grows by nsources with each round.
 *
 * The list of packets that gather.c found in a growing file continues in the trace that is opened
 * next; new packets mostly belong near its end. Places in front of the last LATE ones are firm, and
 * their records are not OPEN. A packet that belongs between firm ones sets stream->anew, and
 * nothing derived from the stream before is used.
 */
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "engine/ctf/ctf_internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	COMPARED = 4096, /* first bytes of packets that are compared */
	COPIES_TRIED = 8,
	PREFETCHED = 32, /* heads */
	LATE = 256       /* packets */
};

/* How far packets are known to be in order. */
struct looked {
	uint32_t source;
	uint64_t next;               /* offset of the next packet in that source */
	struct ctf_packet_head last; /* of the packet before `next`, if `any` */
	bool any, own, other; /* own, other: this source has packets of this, of another session */
};

struct ctf_order {
	pthread_mutex_t lock;
	_Atomic bool known;   /* the fields below are final */
	bool needed;          /* packets are out of order: `places` is the list */
	bool begun;           /* `looked` is set by an earlier scan or step */
	struct looked looked; /* if not needed: behind the last packet */
	struct ctf_place *places;
	size_t count, capacity;
	bool taken;             /* ctf_order_take() took over the list of the step before */
	size_t firm;            /* the first so many places stay, unless a packet comes very late */
	size_t changed;         /* the first place that differs from the list of the step before */
	struct ctf_listed last; /* the last settled packet that was found */
	bool any;               /* `last` is set */
	size_t nunsettled;      /* packets behind `last` that may change */
	uint64_t unsettled;     /* their first offset */
};

struct ctf_order *ctf_order_new(void)
{
	struct ctf_order *order = mem_new(sizeof *order);

	pthread_mutex_init(&order->lock, NULL);
	return order;
}

void ctf_order_free(struct ctf_order *order)
{
	if (!order)
		return;
	pthread_mutex_destroy(&order->lock);
	mem_free(order->places);
	mem_free(order);
}

/* Reading headers one after another */

struct head_walk {
	const struct stream *stream;
	uint32_t source;
	uint64_t next, entry, prefetched;
};

/* Prefetches the next PREFETCHED heads, assuming that packets have one size. */
static void prefetch_heads(struct head_walk *walk, const struct ctf_packet_head *head)
{
	uint64_t bytes = head->packet_bits / 8;

	if (walk->entry != UINT64_MAX || bytes < 65536 || walk->next < walk->prefetched)
		return;
	for (uint64_t i = 1; i <= PREFETCHED; i++)
		source_prefetch(walk->stream->sources[walk->source], walk->next + i * bytes, 512);
	walk->prefetched = walk->next + PREFETCHED * bytes;
}

/*
 * Returns the next packet of the source, or the bytes from a bad header to the next good packet as
 * PLACE_DAMAGED; length 0: no good packet follows. False: the source ends, or it grows and its
 * next packet is not complete.
 */
static bool walk_next(struct head_walk *walk, struct ctf_listed *out)
{
	const struct stream *stream = walk->stream;
	uint64_t size = source_size(stream->sources[walk->source]), found;
	struct ctf_packet_head next;
	struct error ignored; /* the scan reports it */

	*out = (struct ctf_listed){.place = {.source = walk->source, .off = walk->next}};
	if (walk->next >= size)
		return false;
	bool good =
		ctf_head_at(stream, walk->source, walk->next, &walk->entry, &out->head, &ignored);
	if (good)
		prefetch_heads(walk, &out->head);
	if (ctf_grows(stream) && good && !ctf_is_whole(stream, walk->source, walk->next, &out->head))
		return false;
	uint64_t room = size - walk->next, len = out->head.packet_bits / 8;
	bool other = good && out->head.other;
	out->place.kind = other ? PLACE_OTHER : good ? PLACE_PACKET : PLACE_DAMAGED;
	/* another session may have another header: its sizes must lead to a packet or the end */
	if (good && (!other || ctf_packet_fits(stream, walk->source, walk->next, &next))) {
		out->place.len = len < room ? len : room;
		out->place.begin = out->head.begin;
		walk->next += out->place.len;
		return true;
	}
	if (!ctf_search_packet(stream, walk->source, walk->next + 1, &found, &next)) {
		if (ctf_grows(stream))
			return false;
		walk->next = size;
		return true;
	}
	out->place.len = found - walk->next;
	walk->next = found;
	return true;
}

static bool has_numbers(const struct stream *stream)
{
	return stream_state(stream)->class->member[MEMBER_SEQUENCE];
}

bool ctf_tells_times(const struct ctf_stream_class *class)
{
	return class->has_clock && class->member[MEMBER_BEGIN] && class->member[MEMBER_END] &&
	       !class->short_begin;
}

static bool has_times(const struct stream *stream)
{
	return ctf_tells_times(stream_state(stream)->class);
}

/* Is a packet out of order behind `last`? */
static bool steps_back(const struct stream *stream, const struct ctf_packet_head *last,
		       const struct ctf_packet_head *head)
{
	if (has_numbers(stream) && head->seq != PACKET_NONE && last->seq != PACKET_NONE)
		return head->seq == last->seq
			       ? has_times(stream) && head->begin <= last->begin
			       : packet_steps(last->seq, head->seq, stream->seq_bits) < 0;
	return has_times(stream) && head->begin < last->begin;
}

/* Checks the order of one more packet; true: packets must be listed. */
static bool order_look_at(const struct stream *stream, const struct ctf_listed *one,
			  struct looked *looked)
{
	looked->other |= one->place.kind == PLACE_OTHER;
	looked->own |= one->place.kind == PLACE_PACKET;
	if (looked->own && looked->other)
		return true;
	if (one->place.kind != PLACE_PACKET)
		return false;
	bool back = looked->any && steps_back(stream, &looked->last, &one->head);
	looked->any = true;
	looked->last = one->head;
	return back;
}

/* Must packets be listed? Reads the headers behind looked->next, and stores none. */
static bool is_out_of_order(const struct stream *stream, struct looked *looked)
{
	for (uint32_t i = looked->source; i < stream->nsources; i++) {
		struct head_walk walk = {.stream = stream, .source = i};
		struct ctf_listed one;
		if (i == looked->source)
			walk.next = looked->next;
		else
			looked->own = looked->other = false;
		while (walk_next(&walk, &one))
			if (order_look_at(stream, &one, looked))
				return true;
		looked->source = i;
		looked->next = walk.next;
	}
	return false;
}

void ctf_order_go_on(const struct stream *stream)
{
	const struct stream *before =
		trace_stream_before(stream_state(stream)->class->part->trace, stream);
	const struct ctf_order *old = before ? stream_state(before)->order : NULL;
	struct ctf_order *order = stream_state(stream)->order;

	/* if the stream got nothing in the step before, its order was not computed there */
	if (!old || old->needed || !(atomic_load(&old->known) || old->begun))
		return;
	order->looked = old->looked;
	order->begun = true;
}

void ctf_order_from(const struct stream *stream, uint32_t source, uint64_t off)
{
	struct ctf_order *order = stream_state(stream)->order;

	pthread_mutex_lock(&order->lock);
	if (!order->known && !order->begun) {
		order->looked = (struct looked){
			.source = source, .next = off, .last = {.seq = PACKET_NONE}};
		order->begun = true;
	}
	pthread_mutex_unlock(&order->lock);
}

/* Listing */

/* If all packets of a file have another UUID than the metadata, treats them as this session's. */
static void take_others(struct ctf_listing *all, size_t first)
{
	bool own = false;

	for (size_t i = first; i < all->count && !own; i++)
		own = all->items[i].place.kind == PLACE_PACKET;
	for (size_t i = first; i < all->count && !own; i++)
		if (all->items[i].place.kind == PLACE_OTHER)
			all->items[i].place.kind = PLACE_PACKET;
}

void ctf_listing_add(struct ctf_listing *listing, const struct ctf_listed *item)
{
	*mem_push(listing->items, listing->count, listing->capacity) = *item;
}

static void list_source(const struct stream *stream, uint32_t source, struct ctf_listing *out)
{
	struct head_walk walk = {.stream = stream, .source = source};
	size_t first = out->count;
	struct ctf_listed one;

	while (walk_next(&walk, &one))
		ctf_listing_add(out, &one);
	take_others(out, first);
}

/* Adds with saturation: no tracer counts that far. */
static int64_t further(int64_t number, int64_t steps)
{
	int64_t sum;

	if (__builtin_add_overflow(number, steps, &sum))
		return steps < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/*
 * Sets place.number: extended across wraps of the counter; a place without sequence number gets
 * that of the packet in front. order->last becomes the last packet in front of the `nunsettled`.
 */
static void count_on(const struct stream *stream, struct ctf_order *order, struct ctf_listing *all,
		     size_t nunsettled)
{
	struct ctf_listed before = order->last;
	const struct ctf_listed *last = order->any ? &before : NULL;
	bool numbers = has_numbers(stream);

	for (size_t i = 0; i < all->count; i++) {
		struct ctf_listed *one = &all->items[i];
		bool is_packet = one->place.kind == PLACE_PACKET;
		one->place.number = last ? last->place.number : 0;
		if (!is_packet) {
			one->place.begin = last ? last->place.begin : 0;
			continue;
		}
		if (last && numbers && one->head.seq != PACKET_NONE &&
		    last->head.seq != PACKET_NONE)
			one->place.number = further(
				last->place.number,
				packet_steps(last->head.seq, one->head.seq, stream->seq_bits));
		last = one;
		if (i + nunsettled < all->count) {
			order->last = *one;
			order->any = true;
		}
	}
}

static int order_by_place(const struct ctf_place *x, const struct ctf_place *y)
{
	return three_way(x->source, y->source) ?: three_way(x->off, y->off);
}

static int order_by_number(const void *a, const void *b)
{
	const struct ctf_place *x = a, *y = b;

	return three_way(x->number, y->number) ?: order_by_place(x, y);
}

static int order_by_time(const void *a, const void *b)
{
	const struct ctf_place *x = a, *y = b;

	return three_way(x->begin, y->begin) ?: order_by_number(a, b);
}

static bool is_sorted(const struct ctf_order *order, size_t from,
		      int (*compare)(const void *, const void *))
{
	for (size_t i = from ? from : 1; i < order->count; i++)
		if (compare(&order->places[i - 1], &order->places[i]) > 0)
			return false;
	return true;
}

/* Sorts the new places, from `from` on, into the others; returns the first index that changed. */
static size_t sort_new(struct ctf_order *order, size_t from,
		       int (*compare)(const void *, const void *))
{
	struct ctf_place *places = order->places, least;

	if (is_sorted(order, from, compare))
		return from;
	least = places[from];
	for (size_t i = from + 1; i < order->count; i++)
		least = compare(&places[i], &least) < 0 ? places[i] : least;
	size_t to = search_first(i, 0, from, compare(&places[i], &least) <= 0);
	qsort(places + to, order->count - to, sizeof *places, compare);
	return to;
}

static bool may_be_copies(const struct ctf_place *a, const struct ctf_place *b)
{
	return a->number == b->number && a->begin == b->begin;
}

static bool same_bytes(const struct stream *stream, const struct ctf_place *a,
		       const struct ctf_place *b)
{
	uint64_t size = a->len < b->len ? a->len : b->len;
	size_t n = size < COMPARED ? (size_t)size : COMPARED;
	uint8_t x[COMPARED], y[COMPARED];
	struct error ignored;

	return source_peek(stream->sources[a->source], a->off, x, n, &ignored) &&
	       source_peek(stream->sources[b->source], b->off, y, n, &ignored) && !memcmp(x, y, n);
}

static bool same_packet(const struct stream *stream, const struct ctf_place *a,
			const struct ctf_place *b)
{
	struct ctf_packet_head x, y;
	struct error ignored;

	return a->kind == PLACE_PACKET && b->kind == PLACE_PACKET && same_bytes(stream, a, b) &&
	       packet_head_read(stream, a->source, a->off, &x, &ignored) &&
	       packet_head_read(stream, b->source, b->off, &y, &ignored) && x.seq == y.seq &&
	       x.begin == y.begin && x.end == y.end && x.packet_bits == y.packet_bits &&
	       x.content_bits == y.content_bits && x.discarded == y.discarded;
}

/*
 * Marks copies as PLACE_DOUBLED; in the sorted list they are near each other. Of two copies the one
 * that is cut off is marked. The caller ensures that no copies lie on both sides of `from`.
 */
static void mark_copies(const struct stream *stream, struct ctf_order *order, size_t from)
{
	if (!has_numbers(stream) && !has_times(stream))
		return;
	for (size_t i = from; i < order->count; i++)
		if (order->places[i].kind == PLACE_DOUBLED)
			order->places[i].kind = PLACE_PACKET;
	for (size_t i = from ? from : 1; i < order->count; i++)
		for (size_t k = i; k-- > 0 && i - k <= COPIES_TRIED;) {
			struct ctf_place *first = &order->places[k], *one = &order->places[i];
			if (!may_be_copies(first, one))
				break;
			if (!same_packet(stream, first, one))
				continue;
			if (first->len < one->len)
				one = first;
			one->kind = PLACE_DOUBLED;
			break;
		}
}

/* Do two packets that are no copies have one number? Then numbers do not give the order. */
static bool has_doubtful_numbers(const struct ctf_order *order)
{
	const struct ctf_place *last = NULL;

	for (size_t i = 0; i < order->count; i++) {
		const struct ctf_place *one = &order->places[i];
		if (one->kind != PLACE_PACKET)
			continue;
		if (last && last->number == one->number)
			return true;
		last = one;
	}
	return false;
}

static void forget_numbers(struct ctf_order *order)
{
	for (size_t i = 0; i < order->count; i++)
		order->places[i].number = 0;
	qsort(order->places, order->count, sizeof *order->places, order_by_number);
}

/*
 * Sets the rounds. If source numbers would overflow, all rounds are 0, and events of equal time are
 * sorted as their packets lie in the files.
 */
static void count_rounds(const struct stream *stream, struct ctf_order *order, size_t from)
{
	const struct ctf_place *last = NULL;
	uint64_t round = from ? order->places[from - 1].round : 0;

	for (size_t i = from; i-- > 0 && !last;)
		last = order->places[i].kind == PLACE_PACKET ? &order->places[i] : NULL;
	for (size_t i = from; i < order->count; i++) {
		struct ctf_place *place = &order->places[i];
		if (place->kind == PLACE_PACKET) {
			round += last && order_by_place(last, place) > 0;
			last = place;
		}
		place->round = (uint32_t)round;
	}
	for (size_t i = 0; (round + 1) * stream->nsources >= UINT32_MAX && i < order->count; i++)
		order->places[i].round = 0;
}

/* Adds the packets of *all, listed as they were found; returns the first place that changed. */
static size_t order_list(const struct stream *stream, struct ctf_order *order,
			 struct ctf_listing *all, size_t nunsettled)
{
	bool timed = has_times(stream);
	size_t from = order->count;

	count_on(stream, order, all, nunsettled);
	for (size_t i = 0; i < all->count; i++)
		*mem_push(order->places, order->count, order->capacity) = all->items[i].place;
	from = sort_new(order, from, timed ? order_by_time : order_by_number);
	while (from && from < order->count &&
	       may_be_copies(&order->places[from - 1], &order->places[from]))
		from--;
	mark_copies(stream, order, from);
	if (!timed && has_doubtful_numbers(order)) {
		forget_numbers(order);
		from = 0;
	}
	order->needed = true;
	count_rounds(stream, order, from);
	return from;
}

static void build(const struct stream *stream, struct ctf_order *order)
{
	struct ctf_listing all = {0};

	for (uint32_t i = 0; i < stream->nsources; i++)
		list_source(stream, i, &all);
	(void)order_list(stream, order, &all, 0);
	mem_free(all.items);
}

const struct ctf_place *ctf_places(const struct stream *stream, size_t *count)
{
	struct ctf_order *order = stream_state(stream)->order;

	if (!atomic_load(&order->known)) {
		pthread_mutex_lock(&order->lock);
		if (!order->begun)
			order->looked = (struct looked){.last = {.seq = PACKET_NONE}};
		if (!order->known && is_out_of_order(stream, &order->looked))
			build(stream, order);
		atomic_store(&order->known, true);
		pthread_mutex_unlock(&order->lock);
	}
	*count = order->needed ? order->count : 0;
	return order->needed ? order->places : NULL;
}

void ctf_order_list(struct stream *stream, struct ctf_listing *listing, size_t nunsettled)
{
	struct ctf_order *order = stream_state(stream)->order;
	size_t at = listing->count - nunsettled;
	size_t from = order_list(stream, order, listing, nunsettled);

	from = from < order->changed ? from : order->changed;
	order->nunsettled = nunsettled;
	order->unsettled = nunsettled ? listing->items[at].place.off : 0;
	/* a packet record may depend on the packet behind it */
	stream->anew = !order->taken || order->firm;
	for (size_t i = order->firm; order->taken && i < from && stream->anew; i++)
		stream->anew = order->places[i].kind != PLACE_PACKET;
	if (stream->anew)
		order->firm = 0;
	if (order->count > order->firm + LATE)
		order->firm = order->count - LATE;
	atomic_store(&order->known, true);
}

bool ctf_order_take(const struct stream *stream, const struct stream *before, uint64_t *dropped)
{
	struct ctf_order *order = stream_state(stream)->order, *old = stream_state(before)->order;
	size_t left = old->nunsettled, at = old->count, kept;

	/* without times, later packets may show that numbers give no order, which changes all */
	if (!has_times(stream) || !old->needed)
		return false;
	order->taken = true;
	order->places = old->places;
	order->capacity = old->capacity;
	order->firm = old->firm;
	order->last = old->last;
	order->any = old->any;
	*dropped = 0;
	while (left && at)
		left -= order->places[--at].off >= old->unsettled;
	for (size_t i = kept = at; i < old->count; i++)
		if (old->nunsettled && order->places[i].off >= old->unsettled)
			*dropped += order->places[i].len;
		else
			order->places[kept++] = order->places[i];
	order->count = kept;
	order->changed = at;
	old->places = NULL;
	old->count = old->capacity = 0;
	return true;
}

size_t ctf_firm_places(const struct stream *stream)
{
	return stream_state(stream)->order->firm;
}

bool ctf_has_own(const struct stream *stream, uint32_t source)
{
	struct head_walk walk = {.stream = stream, .source = source};
	bool other = false;

	for (struct ctf_listed one; walk_next(&walk, &one);) {
		if (one.place.kind == PLACE_PACKET)
			return true;
		other |= one.place.kind == PLACE_OTHER;
	}
	return !other;
}

/* Files of one stream */

/* Returns the end of a source's last packet, in cycles. */
static uint64_t last_end(const struct stream *stream, uint32_t source)
{
	const struct ctf_source *beside = &stream_state(stream)->sources[source];
	uint64_t size = source_size(stream->sources[source]), end = 0;
	struct ctf_index_entry entry;
	struct ctf_packet_head head;
	struct error ignored;

	if (beside->index && beside->nentries &&
	    lttng_index_entry(beside, beside->nentries - 1, &entry))
		return entry.end;
	if (packet_head_read(stream, source, 0, &head, &ignored) && head.has_size &&
	    size % (head.packet_bits / 8) == 0 &&
	    packet_head_read(stream, source, size - head.packet_bits / 8, &head, &ignored))
		return head.end;
	struct head_walk walk = {.stream = stream, .source = source};
	for (struct ctf_listed one; walk_next(&walk, &one);)
		end = one.head.end > end ? one.head.end : end;
	return end;
}

/* Does a file begin before all files in front of it have ended? */
static bool overlap(const struct stream *stream)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < stream->nsources; i++) {
		struct ctf_packet_head head;
		struct error ignored;
		if (!packet_head_read(stream, i, 0, &head, &ignored))
			continue;
		if (head.begin < end)
			return true;
		if (i + 1 < stream->nsources) {
			uint64_t own = last_end(stream, i);
			end = own > end ? own : end;
		}
	}
	return false;
}

size_t ctf_doubled_in_files(const struct stream *stream)
{
	const struct ctf_place *places;
	size_t count, doubled = 0;

	if (stream->nsources < 2 || !has_numbers(stream) || !has_times(stream) || !overlap(stream))
		return 0;
	places = ctf_places(stream, &count);
	for (size_t i = 0; i < count; i++)
		doubled += places[i].kind == PLACE_DOUBLED;
	return doubled;
}
