/* delivery.h - how the packets of one stream came: late, twice, or from another session */
#ifndef INDEX_TABLES_DELIVERY_H
#define INDEX_TABLES_DELIVERY_H

#include "index/index.h"

struct delivery {
	uint64_t late;    /* packets behind one that comes after them in the stream's order */
	uint64_t doubled; /* copies of other packets */
	uint64_t other;   /* of another session */
};

/* From the records alone. False: one of them cannot be read. */
MUST_CHECK bool delivery_find(const struct stream *stream, struct table *table,
			      struct delivery *out, struct error *err);

#endif
