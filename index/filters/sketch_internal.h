/* sketch_internal.h - one sketch as bytes, and the maker of sketches */
#ifndef INDEX_FILTERS_SKETCH_INTERNAL_H
#define INDEX_FILTERS_SKETCH_INTERNAL_H

#include "engine/base/buf.h"
#include "index/filters/sketch.h"

struct sketch_head {             /* stored as it is; the words follow */
	uint64_t off, len;       /* of the packet; `len` of all its extents together */
	int64_t least, greatest; /* event times */
	uint32_t classes;        /* words: bit per class */
	uint32_t filter;         /* words; 0: any value may be in it */
};
_Static_assert(sizeof(struct sketch_head) == 40, "the head is stored as it is");

enum { SKETCH_WORDS_MAX = 1 << 16 };

static inline size_t sketch_size(const struct sketch_head *head)
{
	return sizeof *head + ((size_t)head->classes + head->filter) * sizeof(uint64_t);
}

/* Fields by class. */
struct sketch_fields {
	struct sketch_field *items; /* by rising class_index */
	size_t count;
	uint32_t *number; /* class → 1 + its place in `keyed`; 0: it has none */
	uint32_t *first;  /* place → its first field; one more behind the last */
	uint32_t nkeyed;
	size_t nclasses;
};

/* What the sketchers of one thread share while they add. */
struct sketch_room {
	struct sketches *sketches;
	const struct sketch_fields *fields;
	uint32_t each, lacking; /* of so many packets that have none one gets one; met so far */
	uint16_t *entries;      /* per keyed class BATCH_MAX of them; made when they are needed */
	uint32_t *nentries;
	uint32_t *met; /* keyed classes of the run */
	uint64_t values[BATCH_MAX];
	uint16_t bad[BATCH_MAX];
	struct buf bytes;
};

/* Makes sketches, one packet after the other. */
struct sketcher;
struct sketcher *sketcher_new(const struct sketch_fields *fields);
void sketcher_free(struct sketcher *sketcher);
void sketcher_begin(struct sketcher *sketcher);
void sketcher_add(struct sketcher *sketcher, struct sketch_room *room, const struct run *run);
/* Appends the sketch of all that was added since it began. */
void sketcher_end(struct sketcher *sketcher, const struct sketch_of *packet,
		  const struct packet_range *range, struct buf *out);

/* sketches.c: is there none, and room for one? */
bool sketches_lack(struct sketches *sketches, const struct sketch_of *packet);
void sketches_add(struct sketches *sketches, const struct sketch_of *packet,
		  const struct buf *bytes);
const struct sketch_fields *sketches_fields(const struct sketches *sketches);
struct index *sketches_index(const struct sketches *sketches);

bool sketch_may(const struct sketch_head *head, const uint64_t *words,
		const struct sketch_wanted *wanted, size_t nclasses);

#endif
