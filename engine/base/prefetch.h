/*
 * prefetch.h - prefetching memory into the processor's caches
 *
 * gcc takes a function that only prefetches for a pure one without a result, and omits calls of it.
 * So inline functions that prefetch are declared PREFETCHING, which always inlines them.
 */
#ifndef ENGINE_BASE_PREFETCH_H
#define ENGINE_BASE_PREFETCH_H

#include <stddef.h>

#define PREFETCHING static inline __attribute__((always_inline))

/* Prefetches all cache lines of [from, from + bytes), which need not be valid addresses. */
PREFETCHING void prefetch_bytes(const void *from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += 64)
		__builtin_prefetch((const char *)from + at);
}

#endif
