/* arena.h - arena allocator: many small allocations that are freed together */
#ifndef ENGINE_BASE_ARENA_H
#define ENGINE_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);  /* NULL is fine */
void arena_reset(struct arena *arena); /* frees all allocations, but keeps memory for new ones */

void *arena_alloc(struct arena *arena, size_t size); /* zero-filled, aligned for any type */
void *arena_array(struct arena *arena, size_t count, size_t size);
/* Copies an array of `count` elements; `from` may be NULL when count is 0. */
void *arena_copy(struct arena *arena, const void *from, size_t count, size_t size);
/* As mem_grow(), for an array in the arena; the old array stays allocated until the arena ends. */
void *arena_grow(struct arena *arena, void *array, size_t count, size_t *capacity, size_t size);
/* As mem_push(). */
#define arena_push(arena, array, count, capacity)                                              \
	({                                                                                     \
		(array) = arena_grow((arena), (array), (count), &(capacity), sizeof *(array)); \
		&(array)[(count)++];                                                           \
	})
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t len);
/* A copy of text for copy_padded(): COPY_PAD bytes behind it may be read (engine/base/buf.h). */
const char *arena_padded(struct arena *arena, const char *text, size_t len);
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
size_t arena_used(const struct arena *arena); /* bytes handed out since the last reset */

#endif
