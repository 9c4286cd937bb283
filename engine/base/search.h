/*
 * search.h - binary search in whatever is sorted, and the order of two of its keys
 *
 *     search_first(i, 0, count, items[i].time < t)
 *
 * is the first i in [0, count) at which the condition is false; count if it is true everywhere. It
 * must be true up to some i, and false from there on. The macro inlines the condition; `i` is a
 * variable that it declares, with the type of the range's end.
 */
#ifndef ENGINE_BASE_SEARCH_H
#define ENGINE_BASE_SEARCH_H

#define search_first(i, from, end, holds)                                                          \
	({                                                                                         \
		__typeof__((end) + 0) i, search_low = (from), search_high = (end);                 \
		while (search_low < search_high) {                                                 \
			i = search_low + (search_high - search_low) / 2;                           \
			if (holds)                                                                 \
				search_low = i + 1;                                                \
			else                                                                       \
				search_high = i;                                                   \
		}                                                                                  \
		search_low;                                                                        \
	})

/* < 0, 0 or > 0: how two numbers, or pointers into one array, are ordered. */
#define three_way(a, b) (((a) > (b)) - ((a) < (b)))

#endif
