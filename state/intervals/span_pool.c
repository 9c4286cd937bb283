/* span_pool.c - see span_pool.h */
#include "state/intervals/span_pool.h"

#include "engine/base/budget.h"
#include "engine/base/mem.h"

/* 2^POOLED spans are 6 KB: more than that is an allocation of its own. */
enum { POOLED = 8, PIECE = 4 << POOLED /* spans that are cut into rooms */ };

struct span_pool {
	struct arena *arena;
	struct span *given[POOLED + 1]; /* by room; linked by their first bytes */
	struct span *piece;             /* not cut yet */
	size_t left;                    /* spans of it */
	size_t taken;                   /* rooms that were not given back */
	size_t told;                    /* bytes of the arena, as `grown` has them */
};

static struct grown grown = {.what = "intervals"};

enum { TELL_EACH = 1 << 20 }; /* bytes */

static void drop_arena(struct span_pool *pool)
{
	grown_add(&grown, -(long long)pool->told);
	arena_free(pool->arena);
	*pool = (struct span_pool){0};
}

struct span_pool *span_pool_new(void)
{
	return mem_new(sizeof(struct span_pool));
}

void span_pool_free(struct span_pool *pool)
{
	if (!pool)
		return;
	drop_arena(pool);
	mem_free(pool);
}

static void put(struct span_pool *pool, struct span *spans, uint8_t room)
{
	memcpy(spans, &pool->given[room], sizeof(void *));
	pool->given[room] = spans;
}

/* What is left of the old piece, too small for what is asked, waits as smaller rooms. */
static void next_piece(struct span_pool *pool)
{
	for (uint8_t room = 0; pool->left; room++) {
		if (!(pool->left >> room & 1))
			continue;
		pool->left -= (size_t)1 << room;
		put(pool, pool->piece + pool->left, room);
	}
	if (!pool->arena)
		pool->arena = arena_new();
	pool->piece = arena_array(pool->arena, PIECE, sizeof *pool->piece);
	pool->left = PIECE;
	if (arena_used(pool->arena) >= pool->told + TELL_EACH) {
		grown_add(&grown, (long long)(arena_used(pool->arena) - pool->told));
		pool->told = arena_used(pool->arena);
	}
}

static struct span *take(struct span_pool *pool, uint8_t room)
{
	struct span *spans = pool->given[room];

	pool->taken++;
	if (spans) {
		memcpy(&pool->given[room], spans, sizeof(void *));
		return spans;
	}
	if (pool->left < (size_t)1 << room)
		next_piece(pool);
	pool->left -= (size_t)1 << room;
	return pool->piece + pool->left;
}

void span_pool_give(struct span_pool *pool, struct span *spans, uint8_t room)
{
	if (!spans)
		return;
	if (room > POOLED) {
		mem_free(spans);
		return;
	}
	put(pool, spans, room);
	if (--pool->taken)
		return;
	drop_arena(pool);
}

struct span *span_pool_resize(struct span_pool *pool, struct span *old, uint8_t old_room,
			      size_t count, uint8_t room)
{
	struct span *spans;

	if (room > POOLED && old && old_room > POOLED)
		return mem_resize(old, (size_t)1 << room, sizeof *old);
	spans = room > POOLED ? mem_resize(NULL, (size_t)1 << room, sizeof *spans)
			      : take(pool, room);
	if (count)
		memcpy(spans, old, count * sizeof *spans);
	span_pool_give(pool, old, old_room);
	return spans;
}
