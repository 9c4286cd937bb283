/*
 * expansion.h - how much may come out of compressed bytes
 *
 * A block of zstd that repeats one byte makes 128 KB of four. Recordings are made of times, which
 * differ: a sample with a large stack that was seen before is some hundred times what zstd makes of
 * it. What is more than that and not small is no recording, and is told as damage before it fills a
 * disk or the memory.
 */
#ifndef ENGINE_BASE_EXPANSION_H
#define ENGINE_BASE_EXPANSION_H

#include <stdbool.h>
#include <stdint.h>

enum { EXPANSION_RATIO = 512, EXPANSION_FREE = 64 << 20 /* bytes that any file may become */ };

/* May `plain` bytes have become of `bytes`? Both are sums over what a file has of one kind. */
static inline bool expansion_fits(uint64_t bytes, uint64_t plain)
{
	return plain <= EXPANSION_FREE || (plain - EXPANSION_FREE) / EXPANSION_RATIO < bytes;
}

#endif
