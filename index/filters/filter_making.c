/*
 * filter_making.c - packet filters made while packets are decoded
 *
 *     filter_making_begin ── filter_making_add, per batch ── filter_making_end ──> packet filters
 *
 * While the events of a packet are decoded, for whatever purpose, to note their classes costs one
 * comparison each, and key fields are loaded by their place. The packet filter is stored if the
 * whole packet was read.
 */
#include "engine/base/mem.h"
#include "index/filters/internal.h"
#include "index/tables/internal.h"

enum {
	CLASSES_BYTES = 256 << 20, /* of a trace: of a smaller one all is read as soon */
	HEADS_EACH = 8
};

struct filter_making {
	struct filter_room *room;
	struct filter_maker *filter_maker;
	struct packet_filter_of packet;
};

/* Nothing is written yet: whether this process may write is asked when they are stored. */
static struct packet_filters *packet_filters_to_fill(struct index *index,
						     const struct events_options *options)
{
	if (options->packet_filters)
		return options->packet_filters;
	if (!index->store || store_read_only(index->store) ||
	    trace_bytes(index->trace) < CLASSES_BYTES)
		return NULL;
	return index_packet_filters(index);
}

struct filter_room *filter_room_new(struct index *index, const struct events_options *options)
{
	struct packet_filters *packet_filters = packet_filters_to_fill(index, options);
	struct filter_room *room;

	if (!packet_filters)
		return NULL;
	room = mem_new(sizeof *room);
	room->packet_filters = packet_filters;
	room->fields = packet_filters_fields(packet_filters);
	room->each = options->packet_filters || options->values ? 1 : HEADS_EACH;
	return room;
}

void filter_room_free(struct filter_room *room)
{
	if (!room)
		return;
	mem_free(room->entries);
	mem_free(room->nentries);
	mem_free(room->met);
	buf_release(&room->bytes);
	mem_free(room);
}

struct filter_making *filter_making_new(struct filter_room *room)
{
	struct filter_making *filter_making = mem_new(sizeof *filter_making);

	filter_making->room = room;
	filter_making->filter_maker = filter_maker_new(room->fields);
	return filter_making;
}

void filter_making_free(struct filter_making *filter_making)
{
	if (!filter_making)
		return;
	filter_maker_free(filter_making->filter_maker);
	mem_free(filter_making);
}

bool filter_making_begin(struct filter_making *filter_making, const struct stream *stream,
			 const struct packet_info *info)
{
	struct filter_room *room = filter_making->room;

	if (info->rec.flags & PACKET_OPEN)
		return false;
	filter_making->packet = packet_filter_of(stream, info);
	if (!packet_filters_lack(room->packet_filters, &filter_making->packet) ||
	    room->lacking++ % room->each)
		return false;
	filter_maker_begin(filter_making->filter_maker);
	return true;
}

void filter_making_add(struct filter_making *filter_making, const struct run *run)
{
	filter_maker_add(filter_making->filter_maker, filter_making->room, run);
}

void filter_making_end(struct filter_making *filter_making, const struct packet_range *range)
{
	struct buf *bytes = &filter_making->room->bytes;

	buf_clear(bytes);
	filter_maker_end(filter_making->filter_maker, &filter_making->packet, range, bytes);
	packet_filters_add(filter_making->room->packet_filters, &filter_making->packet, bytes);
}
