/* reader.c - the log's line in the table of readers; how sure it is of a path */
#include "engine/sel4/sel4_internal.h"

/* Binary logs have no magic number: whatever else knows the file knows it better. */
static int probe(const struct probe *probe)
{
	enum { RECORDS_SURE = 4 };

	if (probe->is_folder)
		return 0;
	if (sel4_looks_text(probe->head, probe->nhead))
		return 60;
	if (!sel4_looks_binary(probe->head, probe->nhead))
		return 0;
	return probe->nhead >= RECORDS_SURE * RECORD_BYTES ? 30 : 10;
}

const struct reader sel4_reader = {
	.format = "sel4",
	.looks_like = "log of seL4's kernel entries, binary or text",
	.falls = true,
	.probe = probe,
	.open = sel4_open,
	.scan = sel4_scan,
	.decoder_new = sel4_decoder_new,
	.decoder_free = sel4_decoder_free,
	.decoder_open = sel4_decoder_open,
	.decoder_leave = sel4_decoder_leave,
	.decoder_next = sel4_decoder_next,
	.decoder_mark = sel4_decoder_mark,
	.decoder_seek = sel4_decoder_seek,
	.decoder_fields = sel4_decoder_fields,
	.event_bits = sel4_event_bits,
};
