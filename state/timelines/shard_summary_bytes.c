/*
 * shard_summary_bytes.c - a summary as bytes and back
 *
 *     MEANING (numbers are varints)
 *     statements, streams: must be equal when read
 *     events
 *     0, or 1 where statements were deferred: then the last event (time as zigzag, rank, source,
 *                offset, index), and 8 bytes per 64 statements
 *     a byte per stream: it lost events
 *     1, if it had an `unknown`, so that the fills have tombstones; or 0
 *     three states (writes, fills, reaches), each: length, bytes of cells_bytes.c
 */
#include "state/timelines/shard_summary.h"

#include "engine/base/mem.h"
#include "state/model/value_bytes.h"

static void io_deferred(struct io *io, const struct program *program, struct shard_summary *summary)
{
	size_t size = (program_statements(program) / 64 + 1) * sizeof(uint64_t);

	if (!io_number(io, summary->deferred != NULL))
		return;
	summary->last = io_order(io, summary->last, 0);
	if (!summary->deferred)
		summary->deferred = mem_new(size);
	io_bytes(io, summary->deferred, size);
}

static void io_cells(struct io *io, struct cells *cells)
{
	struct buf bytes = {0};
	size_t len;

	if (io->out)
		cells_write(cells, &bytes);
	len = io_count(io, bytes.len);
	if (io->out) {
		buf_add(io->out, bytes.data, len);
	} else {
		io->failed = io->failed || !cells_read(cells, io->at, len);
		io->at += len;
	}
	buf_release(&bytes);
}

/* False: what is read is not of this program. */
static bool io_summary(struct io *io, const struct program *program, size_t nstreams,
		       struct shard_summary *summary)
{
	uint32_t statements = program_statements(program);

	if (io_number(io, statements) != statements || io_number(io, nstreams) != nstreams)
		return false;
	summary->events = io_number(io, summary->events);
	io_deferred(io, program, summary);
	io_bytes(io, summary->lost, nstreams);
	summary->unknowns = io_number(io, summary->unknowns) != 0;
	io_cells(io, summary->writes);
	io_cells(io, summary->fills);
	io_cells(io, summary->reaches);
	return true;
}

void shard_summary_write(struct shard_summary *summary, const struct program *program,
			 size_t nstreams, struct buf *out)
{
	io_summary(&(struct io){.out = out}, program, nstreams, summary);
}

void shard_summary_init(struct program *program, size_t nstreams, struct shard_summary *out)
{
	*out = (struct shard_summary){.writes = cells_new(program, nstreams, false),
				      .fills = cells_new(program, nstreams, false),
				      .reaches = cells_new(program, nstreams, false),
				      .lost = mem_new_array(nstreams, 1)};
}

bool shard_summary_read(struct program *program, size_t nstreams, const void *bytes, size_t len,
			struct shard_summary *out)
{
	struct io io = {.at = bytes, .end = (const uint8_t *)bytes + len};

	shard_summary_init(program, nstreams, out);
	return io_summary(&io, program, nstreams, out) && io_ended(&io);
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
