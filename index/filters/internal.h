/* internal.h - one packet filter as bytes, and the maker of packet filters */
#ifndef INDEX_FILTERS_INTERNAL_H
#define INDEX_FILTERS_INTERNAL_H

#include "engine/base/buf.h"
#include "index/filters/packet_filter.h"

struct packet_filter_head {      /* stored as it is; the words follow */
	uint64_t off, len;       /* of the packet; `len` of all its extents together */
	int64_t least, greatest; /* event times */
	uint32_t classes;        /* words: bit per class */
	uint32_t filter; /* words of the Bloom filter; 0: none, any value may be in the packet */
};
_Static_assert(sizeof(struct packet_filter_head) == 40, "the head is stored as it is");

enum { PACKET_FILTER_WORDS_MAX = 1 << 16 };

static inline size_t packet_filter_size(const struct packet_filter_head *head)
{
	return sizeof *head + ((size_t)head->classes + head->filter) * sizeof(uint64_t);
}

/* The key fields, by class; a class with key fields is called keyed. */
struct packet_filter_fields {
	struct packet_filter_field *items; /* sorted by class_index */
	size_t count;
	uint32_t *number; /* by class: 1 + its number among keyed classes; 0: it is not keyed */
	uint32_t *first;  /* by that number: index of its first field; [nkeyed] is `count` */
	uint32_t nkeyed;
	size_t nclasses;
};

/* State that the filter makers of one thread share while they add. */
struct filter_room {
	struct packet_filters *packet_filters;
	const struct packet_filter_fields *fields;
	uint32_t each,
		lacking; /* make one for every `each`-th packet without; `lacking`: met so far */
	uint16_t *entries;      /* per keyed class BATCH_MAX of them; made when they are needed */
	uint32_t *nentries;
	uint32_t *met; /* keyed classes of the run */
	uint64_t values[BATCH_MAX];
	uint16_t bad[BATCH_MAX];
	struct buf bytes;
};

/* Makes packet filters, one packet after the other. */
struct filter_maker;
struct filter_maker *filter_maker_new(const struct packet_filter_fields *fields);
void filter_maker_free(struct filter_maker *filter_maker);
void filter_maker_begin(struct filter_maker *filter_maker);
void filter_maker_add(struct filter_maker *filter_maker, struct filter_room *room,
		      const struct run *run);
/* Appends the packet filter of all that was added since it began. */
void filter_maker_end(struct filter_maker *filter_maker, const struct packet_filter_of *packet,
		      const struct packet_range *range, struct buf *out);

/* packet_filters.c: has the packet no filter yet, and is there room for one? */
bool packet_filters_lack(struct packet_filters *packet_filters,
			 const struct packet_filter_of *packet);
void packet_filters_add(struct packet_filters *packet_filters,
			const struct packet_filter_of *packet, const struct buf *bytes);
const struct packet_filter_fields *
packet_filters_fields(const struct packet_filters *packet_filters);
struct index *packet_filters_index(const struct packet_filters *packet_filters);

bool packet_filter_may(const struct packet_filter_head *head, const uint64_t *words,
		       const struct packet_filter_wanted *wanted, size_t nclasses);

#endif
