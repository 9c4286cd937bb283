/* reader.c - perf's line in the table of readers; how sure it is of a path */
#include "engine/perf/perf_internal.h"

#include <fcntl.h>
#include <unistd.h>

static bool is_magic(const uint8_t *head)
{
	bool swap;

	return perf_version(head, &swap) != 0;
}

/* A folder of perf record --threads: its file `data` is a perf.data. */
static bool is_directory(const char *path)
{
	struct buf data = {0};
	uint8_t head[8];

	buf_printf(&data, "%s/data", path);
	int fd = open(buf_text(&data), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool found = fd >= 0 && read(fd, head, sizeof head) == sizeof head && is_magic(head);
	if (fd >= 0)
		close(fd);
	buf_release(&data);
	return found;
}

static int probe(const struct probe *probe)
{
	if (probe->is_folder)
		return is_directory(probe->path) ? 95 : 0;
	return probe->nhead >= 8 && is_magic(probe->head) ? 100 : 0;
}

static const struct reader_text text = {
	.write = perf_text,
	.fields = perf_decoder_words,
	.tracepoint = perf_tracepoint,
	.set_resolver = perf_set_resolver,
};
static const struct reader_maps maps = {.all = perf_maps, .first = perf_first_maps};
static const struct reader_aux aux = {.chunks = perf_aux};

const struct reader perf_reader = {
	.format = "perf",
	.looks_like = "perf.data, a file or a folder of them",
	.probe = probe,
	.open = perf_open,
	.close = perf_close,
	.scan = perf_scan,
	.decoder_new = perf_decoder_new,
	.decoder_free = perf_decoder_free,
	.decoder_open = perf_decoder_open,
	.decoder_leave = perf_decoder_leave,
	.decoder_next = perf_decoder_next,
	.decoder_mark = perf_decoder_mark,
	.decoder_seek = perf_decoder_seek,
	.decoder_fields = perf_decoder_fields,
	.event_bits = perf_event_bits,
	.text = &text,
	.maps = &maps,
	.aux = &aux,
};
