/* known_ranges.c - see known_ranges.h */
#include "state/replay/known_ranges.h"

#include "engine/base/mem.h"

void known_ranges_release(struct known_ranges *ranges)
{
	mem_free(ranges->items);
	*ranges = (struct known_ranges){0};
}

void known_ranges_add(struct known_ranges *ranges, nstime begin, nstime end)
{
	size_t apart = 0;

	for (size_t i = 0; i < ranges->count; i++) {
		const struct known_range other = ranges->items[i];

		if (other.end < begin || other.begin > end) {
			ranges->items[apart++] = other;
			continue;
		}
		begin = other.begin < begin ? other.begin : begin;
		end = other.end > end ? other.end : end;
	}
	ranges->count = apart;
	*mem_push(ranges->items, ranges->count, ranges->capacity) =
		(struct known_range){begin, end};
}

nstime known_ranges_until(const struct known_ranges *ranges, nstime t, bool *known)
{
	nstime until = NSTIME_MAX;

	*known = false;
	for (size_t i = 0; i < ranges->count && !*known; i++) {
		const struct known_range *range = &ranges->items[i];

		*known = range->begin <= t && t < range->end;
		if (*known)
			until = range->end;
		else if (range->begin > t && range->begin < until)
			until = range->begin;
	}
	return until;
}
