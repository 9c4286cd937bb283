/*
 * heap.h - binary heaps in whatever arrays: what comes first stands at place 0
 *
 *     heap_settle(items, count, hole, item, a, b, a->time < b->time, place, (void)0)
 *
 * One of the `count` places is free, `hole`: `item` gets it, or another one where it, or what
 * stands there, must move. The condition tells whether *a comes before *b, and `moved` is done for
 * each `place` that has another item then; both are compiled where they stand. An item is added at
 * hole = count - 1, when the place is counted, and the first is taken away by giving hole 0 to the
 * last, when it is not counted any more.
 */
#ifndef ENGINE_BASE_HEAP_H
#define ENGINE_BASE_HEAP_H

#define heap_first(x, y, a, b, before)                                                             \
	({                                                                                         \
		__typeof__(x) a = (x), b = (y);                                                    \
		before;                                                                            \
	})

#define heap_settle(items, count, hole, item, a, b, before, place, moved)                          \
	do {                                                                                       \
		__typeof__(*(items)) heap_item = (item), *heap_items = (items);                    \
		size_t place = (hole), heap_next;                                                  \
		for (; place && heap_first(&heap_item, &heap_items[(place - 1) / 2], a, b,         \
					   before);                                                \
		     place = heap_next) {                                                          \
			heap_next = (place - 1) / 2;                                               \
			heap_items[place] = heap_items[heap_next];                                 \
			moved;                                                                     \
		}                                                                                  \
		for (; (heap_next = 2 * place + 1) < (count); place = heap_next) {                 \
			heap_next += heap_next + 1 < (count) &&                                    \
				     heap_first(&heap_items[heap_next + 1], &heap_items[heap_next], \
						a, b, before);                                     \
			if (!heap_first(&heap_items[heap_next], &heap_item, a, b, before))         \
				break;                                                             \
			heap_items[place] = heap_items[heap_next];                                 \
			moved;                                                                     \
		}                                                                                  \
		heap_items[place] = heap_item;                                                     \
		moved;                                                                             \
	} while (0)

#endif
