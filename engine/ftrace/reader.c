/* reader.c - trace.dat's line in the table of readers; how sure it is of a path */
#include "engine/ftrace/ftrace_internal.h"

#include <string.h>

static int probe(const struct probe *probe)
{
	static const char magic[] = "\x17\x08\x44tracing";

	if (probe->is_folder)
		return ftrace_is_raw_folder(probe->path) ? 60 : 0;
	return probe->nhead >= sizeof magic - 1 && !memcmp(probe->head, magic, sizeof magic - 1)
		       ? 95
		       : 0;
}

static const struct reader_text text = {
	.write = ftrace_text,
	.fields = ftrace_decoder_words,
	.tracepoint = ftrace_tracepoint,
};
static const struct reader_maps maps = {.all = ftrace_maps};

const struct reader ftrace_reader = {
	.format = "ftrace",
	.looks_like = "trace.dat, or a folder of ring-buffer pages per_cpu/ beside events/",
	.falls = true,
	.probe = probe,
	.open = ftrace_open,
	.close = ftrace_close,
	.scan = ftrace_scan,
	.computed = ftrace_computed,
	.packet_at = ftrace_packet_at,
	.decoder_new = ftrace_decoder_new,
	.decoder_free = ftrace_decoder_free,
	.decoder_open = ftrace_decoder_open,
	.decoder_leave = ftrace_decoder_leave,
	.decoder_next = ftrace_decoder_next,
	.decoder_mark = ftrace_decoder_mark,
	.decoder_seek = ftrace_decoder_seek,
	.decoder_fields = ftrace_decoder_fields,
	.event_bits = ftrace_event_bits,
	.decoder_column = ftrace_decoder_column,
	.text = &text,
	.maps = &maps,
};
