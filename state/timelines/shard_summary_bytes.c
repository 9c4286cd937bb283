/*
 * shard_summary_bytes.c - a summary as bytes and back
 *
 *     MEANING (numbers are varints)
 *     statements, streams: must be equal when read
 *     events
 *     0, or 1 where statements were deferred: then the last event (time as zigzag, rank, source,
 *                offset, index), and 8 bytes per 64 statements
 *     a byte per stream: it lost events
 *     three states (writes, fills, reaches), each: length, bytes of cells_bytes.c
 */
#include "state/timelines/shard_summary.h"

#include "engine/base/mem.h"
#include "engine/base/varint.h"

#include <string.h>

static size_t deferred_size(const struct program *program)
{
	return (program_statements(program) / 64 + 1) * sizeof(uint64_t);
}

static void put_cells(struct buf *out, const struct cells *cells)
{
	struct buf bytes = {0};

	cells_write(cells, &bytes);
	buf_add_varint(out, bytes.len);
	buf_add(out, bytes.data, bytes.len);
	buf_release(&bytes);
}

void shard_summary_write(const struct shard_summary *summary, const struct program *program,
			 size_t nstreams, struct buf *out)
{
	buf_add_varint(out, program_statements(program));
	buf_add_varint(out, nstreams);
	buf_add_varint(out, summary->events);
	buf_add_varint(out, summary->deferred != NULL);
	if (summary->deferred) {
		buf_add_varint(out, zigzag(summary->last.time));
		buf_add_varint(out, summary->last.rank);
		buf_add_varint(out, summary->last.source);
		buf_add_varint(out, summary->last.offset);
		buf_add_varint(out, summary->last.index);
		buf_add(out, summary->deferred, deferred_size(program));
	}
	buf_add(out, summary->lost, nstreams);
	put_cells(out, summary->writes);
	put_cells(out, summary->fills);
	put_cells(out, summary->reaches);
}

/* All that read are behind what they read; NULL: damage. */
static const uint8_t *get_cells(const uint8_t *at, const uint8_t *end, struct program *program,
				size_t nstreams, struct cells **out)
{
	uint64_t len;

	*out = cells_new(program, nstreams, false);
	at = varints_get(at, end, &len, 1);
	return at && len <= (size_t)(end - at) && cells_read(*out, at, (size_t)len) ? at + len
										    : NULL;
}

static const uint8_t *get_deferred(const uint8_t *at, const uint8_t *end,
				   const struct program *program, struct shard_summary *out)
{
	size_t size = deferred_size(program);
	uint64_t last[5];

	at = varints_get(at, end, last, 5);
	if (!at || size > (size_t)(end - at))
		return NULL;
	out->last = (struct order){.time = unzigzag(last[0]),
				   .rank = (uint32_t)last[1],
				   .source = (uint32_t)last[2],
				   .offset = last[3],
				   .index = (uint32_t)last[4]};
	out->deferred = mem_new(size);
	memcpy(out->deferred, at, size);
	return at + size;
}

bool shard_summary_read(struct program *program, size_t nstreams, const void *bytes, size_t len,
			struct shard_summary *out)
{
	const uint8_t *at = bytes, *end = at + len;
	uint64_t head[4];

	*out = (struct shard_summary){0};
	at = varints_get(at, end, head, 4);
	if (!at || head[0] != program_statements(program) || head[1] != nstreams)
		return false;
	out->events = head[2];
	if (head[3])
		at = get_deferred(at, end, program, out);
	if (!at || nstreams > (size_t)(end - at))
		return false;
	out->lost = mem_new_array(nstreams, 1);
	memcpy(out->lost, at, nstreams);
	at = get_cells(at + nstreams, end, program, nstreams, &out->writes);
	at = get_cells(at, end, program, nstreams, &out->fills);
	at = get_cells(at, end, program, nstreams, &out->reaches);
	return at == end;
}

void shard_summary_release(struct shard_summary *summary)
{
	cells_free(summary->writes);
	cells_free(summary->fills);
	cells_free(summary->reaches);
	mem_free(summary->lost);
	mem_free(summary->deferred);
	*summary = (struct shard_summary){0};
}
