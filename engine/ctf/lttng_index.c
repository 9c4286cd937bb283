/*
 * lttng_index.c - LTTng's own packet index, `index/<stream file>.idx`
 *
 * All integers big-endian. Used only when everything in it fits the stream file; what it says is
 * compared again with a packet's own header when that packet is read.
 *
 *     OFF  SIZE  HEADER                OFF  SIZE  ENTRY
 *       0     4  magic 0xC1F1DCC1        0     8  offset, bytes
 *       4     4  major, 1                8     8  packet_size, bits
 *       8     4  minor, 0 or 1          16     8  content_size, bits
 *      12     4  entry length           24     8  timestamp_begin, cycles
 *                                       32     8  timestamp_end
 *                                       40     8  events_discarded
 *                                       48     8  stream_id
 *                                       56     8  stream_instance_id  (from minor 1)
 *                                       64     8  packet_seq_num      (from minor 1)
 */
#include "engine/base/cursor.h"
#include "engine/base/source.h"
#include "engine/ctf/ctf_internal.h"

#include <unistd.h>

enum { HEADER_BYTES = 16, ENTRY_OLD = 56, ENTRY_NEW = 72 };

static void entry_parse(const uint8_t *bytes, uint32_t length, struct ctf_index_entry *out)
{
	struct cursor entry = cursor_over(bytes, length);

	out->off = cursor_u64be(&entry);
	out->len = cursor_u64be(&entry) / 8;
	out->content_bits = cursor_u64be(&entry);
	out->begin = cursor_u64be(&entry);
	out->end = cursor_u64be(&entry);
	out->discarded = cursor_u64be(&entry);
	cursor_u64be(&entry); /* stream_id: the file's */
	if (length >= ENTRY_NEW)
		cursor_u64be(&entry); /* stream_instance_id: the file's */
	out->seq = length >= ENTRY_NEW ? cursor_u64be(&entry) : PACKET_NONE;
}

bool lttng_index_entry(const struct ctf_source *index, uint64_t i, struct ctf_index_entry *out)
{
	uint8_t bytes[ENTRY_NEW];
	struct error ignored;
	uint32_t length = index->entry_bytes < ENTRY_NEW ? index->entry_bytes : ENTRY_NEW;

	if (i >= index->nentries ||
	    !source_peek(index->index, HEADER_BYTES + i * index->entry_bytes, bytes, length,
			 &ignored))
		return false;
	entry_parse(bytes, length, out);
	return out->len && out->content_bits <= out->len * 8 && out->begin <= out->end;
}

/* Whole entries, the first at 0, the last one's end at the file's: the rest is seen when used. */
static bool lttng_index_fits(struct ctf_source *index, uint64_t file_size)
{
	uint8_t bytes[HEADER_BYTES];
	struct cursor in = cursor_over(bytes, sizeof bytes);
	struct ctf_index_entry first, last;
	uint64_t size = source_size(index->index);
	struct error ignored;

	if (!source_peek(index->index, 0, bytes, sizeof bytes, &ignored))
		return false;
	uint32_t magic = cursor_u32be(&in), major = cursor_u32be(&in);
	cursor_u32be(&in);
	index->entry_bytes = cursor_u32be(&in);
	if (magic != 0xc1f1dcc1 || major != 1 || index->entry_bytes < ENTRY_OLD ||
	    (size - HEADER_BYTES) % index->entry_bytes)
		return false;
	index->nentries = (size - HEADER_BYTES) / index->entry_bytes;
	return index->nentries && lttng_index_entry(index, 0, &first) && first.off == 0 &&
	       lttng_index_entry(index, index->nentries - 1, &last) && last.off < file_size &&
	       last.len == file_size - last.off;
}

void lttng_index_open(const char *folder, const char *file, uint64_t file_size,
		      const struct notices *notices, struct ctf_source *out)
{
	struct buf path = {0};
	struct error ignored;

	*out = (struct ctf_source){0};
	buf_printf(&path, "%s/index/%s.idx", folder, file);
	if (access(buf_text(&path), R_OK) == 0 &&
	    source_open(buf_text(&path), SOURCE_AUTO, &out->index, &ignored) &&
	    !lttng_index_fits(out, file_size)) {
		notice(notices, NOTICE_WARNING,
		       "%s: does not fit its stream file; packets are found without it",
		       buf_text(&path));
		source_close(out->index);
		*out = (struct ctf_source){0};
	}
	buf_release(&path);
}
