/* reader.c - the trace file's line in the table of readers; how sure it is of a path */
#include "engine/gdb/gdb_internal.h"

#include <string.h>

static int probe(const struct probe *probe)
{
	static const char magic[] = "\x7fTRACE0\n";

	return !probe->is_folder && probe->nhead >= sizeof magic - 1 &&
			       !memcmp(probe->head, magic, sizeof magic - 1)
		       ? 95
		       : 0;
}

const struct reader gdb_reader = {
	.format = "gdb",
	.looks_like = "trace file of GDB's tsave",
	.probe = probe,
	.open = gdb_open,
	.close = gdb_close,
	.scan = gdb_scan,
	.decoder_new = gdb_decoder_new,
	.decoder_free = gdb_decoder_free,
	.decoder_open = gdb_decoder_open,
	.decoder_leave = gdb_decoder_leave,
	.decoder_next = gdb_decoder_next,
	.decoder_mark = gdb_decoder_mark,
	.decoder_seek = gdb_decoder_seek,
	.decoder_fields = gdb_decoder_fields,
	.event_bits = gdb_event_bits,
	.text = gdb_text,
};
