/* delivery.h - counts a stream's packets that arrived late, twice, or from another session */
#ifndef INDEX_TABLES_DELIVERY_H
#define INDEX_TABLES_DELIVERY_H

#include "index/index.h"

struct delivery {
	uint64_t late;    /* packets that are in the file behind a later one of the stream */
	uint64_t doubled; /* copies of other packets */
	uint64_t other;   /* of another session */
};

/* Counts by packet records alone. False: one of them cannot be read. */
MUST_CHECK bool delivery_find(const struct stream *stream, struct table *table,
			      struct delivery *out, struct error *err);

#endif
