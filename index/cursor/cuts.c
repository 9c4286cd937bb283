/*
 * cuts.c - see events_cuts() in events.h
 *
 *     stream 0  |--piece--|--piece--|---piece---|      pieces of packets, 64 KB each
 *     stream 1  |---piece---|-piece-|--piece----|
 *     cuts             ^          ^                    where enough bytes have begun since the last
 */
#include "engine/base/mem.h"
#include "index/events.h"

#include <stdlib.h>

enum {
	PIECE_BYTES = 64 << 10,
	WINDOW_LEAST = 1 << 20,
	PACKETS_LEAST = 2 /* of each stream in a window, where more were asked for */
};

struct piece {
	nstime begin;
	uint64_t bytes;
};

struct packets_found {
	struct piece *pieces;
	size_t count, capacity;
	uint64_t bytes, packets, streams; /* of the range */
	bool uncertain;
};

/* May the packet have events outside of its record's range? A window would then miss them. */
static bool is_uncertain(const struct packet *rec)
{
	const uint32_t exact = PACKET_EXACT_MIN | PACKET_EXACT_MAX;

	return rec->flags & (PACKET_MENDED | PACKET_SUSPECT | PACKET_CONTRADICTED) ||
	       (rec->flags & (PACKET_UNSORTED | PACKET_DESCENDING) &&
		(rec->flags & exact) != exact);
}

static void add_packet(struct packets_found *found, const struct packet_info *info,
		       uint64_t *gathered)
{
	found->uncertain |= is_uncertain(&info->rec);
	found->packets++;
	found->bytes += packet_all_bytes(info);
	*gathered += packet_all_bytes(info);
	if (*gathered < PIECE_BYTES)
		return;
	*mem_push(found->pieces, found->count, found->capacity) =
		(struct piece){info->rec.min, *gathered};
	*gathered = 0;
}

static bool add_stream(struct index *index, const struct events_options *options,
		       const struct stream *stream, struct packets_found *found, struct error *err)
{
	nstime before = NSTIME_MIN;
	struct error ignored;
	struct table *table;
	uint64_t gathered = 0, packets = found->packets;
	struct packet_info info;
	size_t nwide;

	if (!index_table(index, stream, &table, err))
		return false;
	table_wide(table, &nwide);
	found->uncertain |= nwide > 0;
	for (uint64_t i = 0; i < table_count(table); i++) {
		if (!table_peek(table, i, &info,
				&ignored)) { /* reading it for its events tells the error */
			found->uncertain = true;
			return true;
		}
		if (info.rec.flags & PACKET_BEFORE_ALL)
			continue;
		found->uncertain |= info.rec.min < before || info.rec.max < info.rec.min;
		before = info.rec.min;
		if (info.rec.min >= options->begin && info.rec.min < options->end &&
		    events_want_packet(options, stream, &info.rec))
			add_packet(found, &info, &gathered);
	}
	found->streams += found->packets > packets;
	return true;
}

static bool cuts_add_streams(struct index *index, const struct events_options *options,
			     struct packets_found *found, struct error *err)
{
	const struct trace *trace = index_trace(index);

	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		if (stream->has_time && events_want(options, stream) &&
		    events_want_cpu(index, options, stream) &&
		    !add_stream(index, options, stream, found, err))
			return false;
	}
	return true;
}

/* Bytes of each window; 0: packets are too long for that, or their times are uncertain. */
static uint64_t bytes_of_window(const struct packets_found *found, const struct cuts_size *size)
{
	unsigned least = size->packets < PACKETS_LEAST ? size->packets : PACKETS_LEAST;

	if (!found->packets || found->uncertain)
		return 0;
	uint64_t each = found->bytes / found->packets * found->streams;
	if (each * least > CUTS_MOST)
		return 0;
	uint64_t bytes = each * size->packets < size->most ? each * size->packets : size->most;
	uint64_t longer = size->longest ? found->bytes / size->windows : 0;
	if (longer > size->longest)
		longer = size->longest;
	bytes = bytes > longer ? bytes : longer;
	return bytes > WINDOW_LEAST ? bytes : WINDOW_LEAST;
}

static int cuts_by_begin(const void *a, const void *b)
{
	const struct piece *p = a, *q = b;

	return p->begin < q->begin ? -1 : p->begin > q->begin;
}

bool events_cuts(struct index *index, const struct events_options *options,
		 const struct cuts_size *size, nstime **out, size_t *count, struct error *err)
{
	struct packets_found found = {0};
	nstime *cuts = NULL, last = options->begin;
	size_t capacity = 0;
	bool ok = cuts_add_streams(index, options, &found, err);
	uint64_t enough = bytes_of_window(&found, size), bytes = 0;

	*count = 0;
	if (ok && found.count)
		qsort(found.pieces, found.count, sizeof *found.pieces, cuts_by_begin);
	for (size_t i = 0; ok && enough && i < found.count; i++) {
		bytes += found.pieces[i].bytes;
		if (bytes < enough || found.pieces[i].begin <= last)
			continue;
		last = found.pieces[i].begin;
		*mem_push(cuts, *count, capacity) = last;
		bytes = 0;
	}
	mem_free(found.pieces);
	*out = cuts;
	return ok;
}
