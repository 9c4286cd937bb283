/*
 * expect.c - fetches the packets that a group's streams read first together, for files on a server
 *
 * A cursor begins with one stream after the other, and each packet behind HTTP or S3 takes a round
 * trip. So the first packets of all streams are requested together. This only fetches bytes: it
 * changes no result, and reports no errors.
 */
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "index/cursor/stream_cursor_internal.h"
#include "index/packets/open_packet.h"
#include "index/tables/far.h"
#include "index/tables/findings.h"
#include "index/tables/table.h"

enum { LEFT = 2 /* packets of a short range, backward, that are fetched at once */ };

/* Will the cursor read this packet, rather than skip it by its packet filter? */
static bool is_read(const struct stream_cursor *cursor, const struct packet_info *info)
{
	const struct events_options *options = cursor->setup->options;
	struct packet_range range;

	return stream_wants(cursor, &info->rec) &&
	       !(options->skips &&
		 options->skips(options->skips_arg, cursor->stream, info, &range));
}

/*
 * Fetches the packet at the range's begin or, backward, at its end: there also the next one, which
 * the cursor opens as a proof unless it is known to be right. If it is larger, its first events are
 * enough, which came with its header.
 */
static void expect_packets(const struct stream_cursor *cursor, nstime begin, nstime end)
{
	bool backward = cursor->view.backward;
	struct packet_info info;
	struct table *table;
	struct error ignored;
	uint64_t found;

	if (!findings_table(cursor->setup->findings, cursor->stream, &table, &ignored) ||
	    !table_computed_bound(table, backward ? end : begin, &found))
		return;
	uint64_t before = backward && begin > NSTIME_MIN ? LEFT : 1;
	for (uint64_t i = found > before ? found - before : 0; i <= found && i < table_count(table);
	     i++) {
		if (!table_peek(table, i, &info, &ignored))
			return;
		bool within = info.rec.max >= begin && info.rec.min < end;
		bool next = backward && i == found && info.rec.len <= PACKET_LOOKED_ON &&
			    !table_proved(table, i) && !(info.rec.flags & PACKET_EXACT_MIN);
		if ((within || next) && is_read(cursor, &info)) {
			far_expect_packet(cursor->stream, info.rec.off, info.rec.len);
			if (!backward)
				return;
		}
	}
}

void cursors_expect(struct stream_cursor *const *cursors, size_t count, nstime begin, nstime end)
{
	if (!count || !cursors[0]->setup->index->far || cursors[0]->setup->options->trusting)
		return;
	struct index *index = cursors[0]->setup->index;
	uint64_t *streams = bitset_new(index->trace->nstreams + 1);
	for (size_t i = 0; i < count; i++)
		bitset_add(streams, cursors[i]->stream->index);
	bool backward = cursors[0]->view.backward;
	index_expect_range(index, streams, backward ? NSTIME_MIN : begin,
			   backward ? end : NSTIME_MAX);
	mem_free(streams);
	for (size_t i = 0; i < count; i++)
		if (far_stream(cursors[i]->stream) && !cursors[i]->only_losses)
			expect_packets(cursors[i], begin, end);
}
