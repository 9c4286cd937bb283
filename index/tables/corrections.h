/* corrections.h - what decoding proved about records: number → true range */
#ifndef INDEX_TABLES_CORRECTIONS_H
#define INDEX_TABLES_CORRECTIONS_H

#include "engine/base/hash_index.h"
#include "engine/timebase.h"

#include <stddef.h>

enum {
	CORRECTIONS_EXACT = 1 << 16, /* right ones are remembered up to so many */
	CORRECTIONS_WRONG = 64       /* more wrong ones: the table is built anew */
};

struct correction {
	uint64_t record; /* its number */
	nstime min, max;
};

struct corrections {
	struct correction *items;
	size_t count, capacity, wrong;
	struct hash_index by_record;
};

void corrections_release(struct corrections *all);
const struct correction *corrections_find(const struct corrections *all, uint64_t record);
void corrections_put(struct corrections *all, uint64_t record, nstime min, nstime max);

#endif
