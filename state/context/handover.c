/* handover.c - see handover.h */
#include "state/context/handover.h"

#include "engine/base/mem.h"
#include "engine/base/source.h"
#include "state/context/class_lines.h"
#include "state/replay/cells.h"

#include <string.h>

struct left_stream {
	char *name;
	uint64_t inode; /* of its last file */
};

struct left { /* what one step left */
	bool any;
	nstime at;
	struct buf cells;
	struct left_stream *streams;
	size_t nstreams;
	struct buf lines; /* of classes: class_lines.h */
};

struct handover {
	struct left last, next;
};

static void left_release(struct left *left)
{
	for (size_t i = 0; i < left->nstreams; i++)
		mem_free(left->streams[i].name);
	mem_free(left->streams);
	buf_release(&left->lines);
	buf_release(&left->cells);
	*left = (struct left){0};
}

struct handover *handover_new(void)
{
	return mem_new(sizeof(struct handover));
}

void handover_free(struct handover *handover)
{
	if (!handover)
		return;
	left_release(&handover->last);
	left_release(&handover->next);
	mem_free(handover);
}

void handover_end(struct handover *handover)
{
	if (!handover->next.any)
		return;
	left_release(&handover->last);
	handover->last = handover->next;
	handover->next = (struct left){0};
}

/* ---- streams ---- */

static bool has_file(const struct stream *stream, uint64_t inode)
{
	for (uint32_t i = 0; inode && i < stream->nsources; i++)
		if (stream_inode(stream, i) == inode)
			return true;
	return false;
}

/* Finds a stream by name, or by file if its folder was moved. UINT32_MAX: it is gone. */
static uint32_t find_stream(const struct trace *trace, const struct left_stream *left, size_t near)
{
	for (size_t n = 0; n < trace->nstreams; n++) { /* new streams may lie between the others */
		size_t i = (near + n) % trace->nstreams;

		if (!strcmp(trace->streams[i]->name, left->name))
			return (uint32_t)i;
	}
	for (size_t i = 0; i < trace->nstreams; i++)
		if (has_file(trace->streams[i], left->inode))
			return (uint32_t)i;
	return UINT32_MAX;
}

static void leave_streams(struct left *left, const struct trace *trace)
{
	left->nstreams = trace->nstreams;
	left->streams = mem_new_array(trace->nstreams + 1, sizeof *left->streams);
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];

		left->streams[i] = (struct left_stream){
			mem_strdup(stream->name),
			stream->nsources ? stream_inode(stream, stream->nsources - 1) : 0};
	}
}

/* ---- both ---- */

void handover_leave(struct handover *handover, const struct state *state,
		    const struct program *program, const struct cells *cells, nstime at)
{
	struct left *next = &handover->next;

	left_release(next);
	next->any = true;
	next->at = at;
	cells_write(cells, &next->cells);
	leave_streams(next, state->event_source->trace);
	class_lines_put(program, &next->lines);
}

bool handover_take(const struct handover *handover, const struct state *state,
		   const struct program *program, struct cells *cells, nstime *at)
{
	const struct trace *trace = state->event_source->trace;
	const struct left *last = &handover->last;
	uint32_t *streams;
	bool good;

	if (!last->any || !class_lines_agree(program, last->lines.data, last->lines.len))
		return false;
	streams = mem_new_array(last->nstreams + 1, sizeof *streams);
	for (size_t i = 0; i < last->nstreams; i++)
		streams[i] = find_stream(trace, &last->streams[i], i);
	good = cells_read_moved(cells, last->cells.data, last->cells.len, streams, last->nstreams);
	mem_free(streams);
	*at = last->at;
	return good;
}
