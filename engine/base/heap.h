/*
 * heap.h - binary heaps in any arrays: the first item is at place 0
 *
 *     heap_settle(items, count, hole, item, a, b, a->time < b->time, place, (void)0)
 *
 * Puts `item` into a heap of `count` places of which `hole` is free, moving other items up or down
 * as needed. The condition says whether *a comes before *b; `moved` is a statement that is run for
 * each `place` that gets an item. Both are inlined by the macro. To add an item, increase count and
 * use hole = count - 1; to remove the first one, decrease count and put the last item at hole 0.
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
