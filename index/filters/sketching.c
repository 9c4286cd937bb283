/*
 * sketching.c - sketches made while packets are decoded
 *
 *     sketching_begin ── sketching_add, batch after batch ── sketching_end ──> sketches
 *
 * A packet that is read for any reason has its events decoded: to note a class is one comparison
 * then, and key fields are loaded from where they lie. A sketch is kept when all of the packet was read.
 */
#include "engine/base/mem.h"
#include "index/tables/internal.h"
#include "index/filters/sketch_internal.h"

enum {
	CLASSES_BYTES = 256 << 20, /* of a trace: of a smaller one all is read as soon */
	HEADS_EACH = 8
};

struct sketching {
	struct sketch_room *room;
	struct sketcher *sketcher;
	struct sketch_of packet;
};

/* Nothing is written yet: whether this process may write is asked when they are stored. */
static struct sketches *sketches_to_fill(struct index *index, const struct events_options *options)
{
	if (options->sketches)
		return options->sketches;
	if (!index->store || store_read_only(index->store) ||
	    trace_bytes(index->trace) < CLASSES_BYTES)
		return NULL;
	return index_sketches(index);
}

struct sketch_room *sketch_room_new(struct index *index, const struct events_options *options)
{
	struct sketches *sketches = sketches_to_fill(index, options);
	struct sketch_room *room;

	if (!sketches)
		return NULL;
	room = mem_new(sizeof *room);
	room->sketches = sketches;
	room->fields = sketches_fields(sketches);
	room->each = options->sketches || options->values ? 1 : HEADS_EACH;
	return room;
}

void sketch_room_free(struct sketch_room *room)
{
	if (!room)
		return;
	mem_free(room->entries);
	mem_free(room->nentries);
	mem_free(room->met);
	buf_release(&room->bytes);
	mem_free(room);
}

struct sketching *sketching_new(struct sketch_room *room)
{
	struct sketching *sketching = mem_new(sizeof *sketching);

	sketching->room = room;
	sketching->sketcher = sketcher_new(room->fields);
	return sketching;
}

void sketching_free(struct sketching *sketching)
{
	if (!sketching)
		return;
	sketcher_free(sketching->sketcher);
	mem_free(sketching);
}

bool sketching_begin(struct sketching *sketching, const struct stream *stream,
		     const struct packet_info *info)
{
	struct sketch_room *room = sketching->room;

	if (info->rec.flags & PACKET_OPEN)
		return false;
	sketching->packet = sketch_of(stream, info);
	if (!sketches_lack(room->sketches, &sketching->packet) || room->lacking++ % room->each)
		return false;
	sketcher_begin(sketching->sketcher);
	return true;
}

void sketching_add(struct sketching *sketching, const struct run *run)
{
	sketcher_add(sketching->sketcher, sketching->room, run);
}

void sketching_end(struct sketching *sketching, const struct packet_range *range)
{
	struct buf *bytes = &sketching->room->bytes;

	buf_clear(bytes);
	sketcher_end(sketching->sketcher, &sketching->packet, range, bytes);
	sketches_add(sketching->room->sketches, &sketching->packet, bytes);
}
