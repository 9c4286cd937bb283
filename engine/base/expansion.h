/*
 * expansion.h - a limit for decompression, against decompression bombs
 *
 * Four bytes of zstd can expand to 128 KB of one byte. Real recordings contain timestamps and
 * expand far less: at most some hundred times, for samples that repeat a large stack. Data that
 * expands more, and is not small, is reported as damage before it fills the disk or the memory.
 */
#ifndef ENGINE_BASE_EXPANSION_H
#define ENGINE_BASE_EXPANSION_H

#include <stdbool.h>
#include <stdint.h>

enum { EXPANSION_RATIO = 512, EXPANSION_FREE = 64 << 20 /* bytes that any file may become */ };

/* Can `bytes` compressed bytes expand to `plain` in a real recording? Both are sums over a file. */
static inline bool expansion_fits(uint64_t bytes, uint64_t plain)
{
	return plain <= EXPANSION_FREE || (plain - EXPANSION_FREE) / EXPANSION_RATIO < bytes;
}

#endif
