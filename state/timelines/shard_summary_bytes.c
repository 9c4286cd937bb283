/*
 * shard_summary_bytes.c - a summary as bytes and back
 *
 *     OFFSET        SIZE  MEANING (numbers little-endian, 8 bytes where no size is said)
 *     0             8     magic "YDIGEST1"
 *     8             8     statements, 16: streams: must be equal when read
 *     24            8     events
 *     32            8     1: statements were deferred; then 40: the last event, 40 bytes (time,
 * rank 4, source 4, offset, index, 0), and a word per 64 statements
 *     ...                 a byte per stream: it lost events, filled up with zeros to 8
 *     ...                 three states (writes, fills, reaches), each: length, bytes of
 * cells_bytes.c
 */
#include "state/timelines/shard_summary.h"

#include "engine/base/cursor.h"
#include "engine/base/mem.h"

#include <string.h>

static const char magic[8] = "YDIGEST1";

static void put(struct buf *out, uint64_t number)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(number >> 8 * i);
	buf_add(out, bytes, sizeof bytes);
}

static void put_cells(struct buf *out, const struct cells *cells)
{
	size_t at = out->len;
	uint8_t bytes[8];

	put(out, 0);
	cells_write(cells, out);
	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)((uint64_t)(out->len - at - 8) >> 8 * i);
	memcpy(out->data + at, bytes, sizeof bytes);
}

static size_t words_of(const struct program *program)
{
	return program_statements(program) / 64 + 1;
}

void shard_summary_write(const struct shard_summary *summary, const struct program *program,
			 size_t nstreams, struct buf *out)
{
	static const uint8_t zeros[8];

	buf_add(out, magic, sizeof magic);
	put(out, program_statements(program));
	put(out, nstreams);
	put(out, summary->events);
	put(out, summary->deferred != NULL);
	if (summary->deferred) {
		put(out, (uint64_t)summary->last.time);
		put(out, (uint64_t)summary->last.source << 32 | summary->last.rank);
		put(out, summary->last.offset);
		put(out, summary->last.index);
		put(out, 0);
		for (size_t i = 0; i < words_of(program); i++)
			put(out, summary->deferred[i]);
	}
	buf_add(out, summary->lost, nstreams);
	buf_add(out, zeros, (8 - nstreams % 8) % 8);
	put_cells(out, summary->writes);
	put_cells(out, summary->fills);
	put_cells(out, summary->reaches);
}

static bool get_cells(struct cursor *in, struct program *program, size_t nstreams,
		      struct cells **out)
{
	uint64_t len = cursor_u64le(in);
	const uint8_t *bytes;

	*out = cells_new(program, nstreams, false);
	bytes = len <= in->size - in->pos ? cursor_bytes(in, (size_t)len) : NULL;
	return bytes && cells_read(*out, bytes, (size_t)len);
}

static void get_deferred(struct cursor *in, const struct program *program,
			 struct shard_summary *out)
{
	uint64_t source_rank;

	out->last.time = (nstime)cursor_u64le(in);
	source_rank = cursor_u64le(in);
	out->last.rank = (uint32_t)source_rank;
	out->last.source = (uint32_t)(source_rank >> 32);
	out->last.offset = cursor_u64le(in);
	out->last.index = (uint32_t)cursor_u64le(in);
	cursor_u64le(in);
	out->deferred = mem_new_array(words_of(program), sizeof *out->deferred);
	for (size_t i = 0; i < words_of(program); i++)
		out->deferred[i] = cursor_u64le(in);
}

bool shard_summary_read(struct program *program, size_t nstreams, const void *bytes, size_t len,
			struct shard_summary *out)
{
	struct cursor in = cursor_over(bytes, len);
	const uint8_t *head = cursor_bytes(&in, sizeof magic), *lost;

	*out = (struct shard_summary){0};
	if (!head || memcmp(head, magic, sizeof magic) ||
	    cursor_u64le(&in) != program_statements(program) || cursor_u64le(&in) != nstreams)
		return false;
	out->events = cursor_u64le(&in);
	if (cursor_u64le(&in))
		get_deferred(&in, program, out);
	lost = cursor_bytes(&in, (nstreams + 7) / 8 * 8);
	if (!lost)
		return false;
	out->lost = mem_new_array(nstreams, 1);
	memcpy(out->lost, lost, nstreams);
	return get_cells(&in, program, nstreams, &out->writes) &&
	       get_cells(&in, program, nstreams, &out->fills) &&
	       get_cells(&in, program, nstreams, &out->reaches) && !in.failed && in.pos == in.size;
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
