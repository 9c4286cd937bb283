/* corrections.h - what decoding proved about records: number → true range */
#ifndef INDEX_TABLES_CORRECTIONS_H
#define INDEX_TABLES_CORRECTIONS_H

#include "engine/timebase.h"

#include <stddef.h>

enum {
	CORRECTIONS_EXACT = 1 << 16, /* right ones are remembered up to so many */
	CORRECTIONS_WRONG = 64       /* more wrong ones: the table is built anew */
};

struct correction {
	uint64_t key; /* 1 + number of the record, 0 free */
	nstime min, max;
};

struct corrections { /* open addressing; a quarter is always free */
	struct correction *slots;
	size_t count, capacity, wrong;
};

void corrections_release(struct corrections *all);
const struct correction *corrections_find(const struct corrections *all, uint64_t i);
void corrections_put(struct corrections *all, uint64_t i, nstime min, nstime max);

#endif
