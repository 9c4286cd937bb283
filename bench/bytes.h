/* bytes.h - whole files in memory, and little-endian numbers in them, for the programs here */
#ifndef BENCH_BYTES_H
#define BENCH_BYTES_H

#include "engine/base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline uint64_t get(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

static inline void put(uint8_t *at, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* The caller ends *bytes with mem_free(). False: cannot be read, or empty. */
static inline bool read_whole(const char *path, uint8_t **bytes, size_t *size)
{
	FILE *in = fopen(path, "rb");
	long end = in && fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;

	*size = end > 0 ? (size_t)end : 0;
	*bytes = mem_new(*size + 1);
	bool ok = end > 0 && fseek(in, 0, SEEK_SET) == 0 && fread(*bytes, 1, *size, in) == *size;
	if (in)
		fclose(in);
	return ok;
}

#endif
