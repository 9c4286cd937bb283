/*
 * sweep_chunks.c - which packets belong to the chunk that is swept
 *
 * A packet's chunk depends on where it begins in the concatenated bytes of all files: not on the
 * range, nor on what an index knows. A large trace is cut into strata, and each of these into n
 * pieces, so that all chunks have work in a short range or a busy stretch. Pieces have at least
 * PIECE_BYTES, since each begins with a jump in the file.
 */
#include "index/sweep/sweep_internal.h"

#include "engine/base/mem.h"

#include <stdlib.h>

enum { PIECE_BYTES = 4 << 20, STRATA_MOST = 64 };

struct source_base { /* a source's offset in the concatenated bytes */
	const struct source *source;
	uint64_t base;
};

static int by_source(const void *a, const void *b)
{
	const struct source_base *p = a, *q = b;

	return p->source == q->source ? 0 : (uintptr_t)p->source < (uintptr_t)q->source ? -1 : 1;
}

/* 0 of a source that is none of the trace's own. */
static uint64_t base_of(const struct source_base *bases, size_t count, const struct source *source)
{
	const struct source_base wanted = {.source = source};
	const struct source_base *found =
		count ? bsearch(&wanted, bases, count, sizeof *bases, by_source) : NULL;

	return found ? found->base : 0;
}

uint64_t sweep_chunk_bytes(const struct trace *trace)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < trace->nsources; i++)
		bytes += source_size(trace->sources[i]);
	return bytes;
}

void sweep_chunks_begin(struct sweeper *sweeper)
{
	const struct trace *trace = sweeper->trace;
	struct sweep_chunk *chunk = sweeper->sweep->chunk;

	if (!chunk)
		return;
	struct source_base *bases = mem_new_array(trace->nsources + 1, sizeof *bases);
	chunk->bytes = 0;
	for (size_t i = 0; i < trace->nsources; i++) {
		bases[i] = (struct source_base){trace->sources[i], chunk->bytes};
		chunk->bytes += source_size(trace->sources[i]);
	}
	if (trace->nsources)
		qsort(bases, trace->nsources, sizeof *bases, by_source);
	for (size_t i = 0; i < sweeper->nstreams; i++) {
		struct sweep_stream *of = &sweeper->streams[i];
		of->bases = mem_new_array(of->stream->nsources + 1, sizeof *of->bases);
		for (uint32_t k = 0; k < of->stream->nsources; k++)
			of->bases[k] = base_of(bases, trace->nsources, of->stream->sources[k]);
	}
	mem_free(bases);
}

bool sweep_chunk_has(const struct sweeper *sweeper, const struct sweep_stream *of,
		     const struct packet *rec)
{
	const struct sweep_chunk *chunk = sweeper->sweep->chunk;

	if (!chunk)
		return true;
	uint32_t nsources = of->stream->nsources;
	uint64_t at = rec->off + (nsources ? of->bases[rec->source % nsources] : 0);
	uint64_t strata = chunk->bytes / PIECE_BYTES / chunk->n;
	strata = strata < 1 ? 1 : strata > STRATA_MOST ? STRATA_MOST : strata;
	__int128 piece = (__int128)at * (strata * chunk->n) / (chunk->bytes ? chunk->bytes : 1);
	return (uint64_t)(piece % chunk->n) == chunk->i;
}

bool sweep_chunk_has_stream(const struct sweeper *sweeper, const struct sweep_stream *of)
{
	const struct sweep_chunk *chunk = sweeper->sweep->chunk;

	return !chunk || of->stream->index % chunk->n == chunk->i;
}
