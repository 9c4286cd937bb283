/*
 * prefetch.h - asking the memory early for what will be looked at
 *
 * gcc takes a function that only asks for a pure one, and leaves out calls of it: those that stand
 * in sight of their callers are ASKING, which is always inline.
 */
#ifndef ENGINE_BASE_PREFETCH_H
#define ENGINE_BASE_PREFETCH_H

#include <stddef.h>

#define PREFETCHING static inline __attribute__((always_inline))

/* For all lines of a cache in [from, from + bytes), which may be any address. */
PREFETCHING void prefetch_bytes(const void *from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += 64)
		__builtin_prefetch((const char *)from + at);
}

#endif
