/* reader.c - ovni's line in the table of readers; how sure it is of a path */
#include "engine/ovni/ovni_internal.h"

static int probe(const struct probe *probe)
{
	if (probe->is_folder)
		return ovni_has_stream(probe->path) ? 92 : 0;
	return probe->nhead >= OBS_HEAD && !memcmp(probe->head, "ovni", 4) ? 95 : 0;
}

static const struct reader_text text = {.write = ovni_text, .fields = ovni_text_fields};

const struct reader ovni_reader = {
	.format = "ovni",
	.looks_like = "ovni, a folder with files stream.json and stream.obs, or folders of them",
	.probe = probe,
	.open = ovni_open,
	.scan = ovni_scan,
	.decoder_new = ovni_decoder_new,
	.decoder_free = ovni_decoder_free,
	.decoder_open = ovni_decoder_open,
	.decoder_leave = ovni_decoder_leave,
	.decoder_next = ovni_decoder_next,
	.decoder_mark = ovni_decoder_mark,
	.decoder_seek = ovni_decoder_seek,
	.decoder_fields = ovni_decoder_fields,
	.event_bits = ovni_event_bits,
	.gapless = true,
	.text = &text,
};
