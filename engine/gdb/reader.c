/* reader.c - the trace file's line in the table of readers; how sure it is of a path */
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/gdb/gdb_internal.h"

#include <string.h>
#include <sys/stat.h>

enum { METADATA_MAX = 1 << 20 }; /* GDB's has 2 KB */

/* A folder by `tsave -ctf`; other CTF has other events. */
static bool is_folder_of_gdb(const char *path)
{
	char *metadata = folder_join(path, "metadata"), *data = folder_join(path, "datastream");
	struct buf text = {0};
	struct stat st;
	bool found = stat(data, &st) == 0 && S_ISREG(st.st_mode) && stat(metadata, &st) == 0 &&
		     S_ISREG(st.st_mode) && st.st_size < METADATA_MAX &&
		     file_read(metadata, &text) && gdb_ctf_is_metadata(buf_text(&text));

	buf_release(&text);
	mem_free(metadata);
	mem_free(data);
	return found;
}

static int probe(const struct probe *probe)
{
	static const char magic[] = "\x7fTRACE0\n";

	if (probe->is_folder)
		return is_folder_of_gdb(probe->path) ? 95 : 0;
	return probe->nhead >= sizeof magic - 1 && !memcmp(probe->head, magic, sizeof magic - 1)
		       ? 95
		       : 0;
}

static const struct reader_text text = {.write = gdb_text};

const struct reader gdb_reader = {
	.format = "gdb",
	.looks_like = "trace file or CTF folder of GDB's tsave",
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
	.text = &text,
};
