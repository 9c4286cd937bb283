/* reader.c - CTF's struct reader, and its probe */
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/ctf/ctf_internal.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

enum { SEARCH_DEPTH = 10 };

static bool has_metadata(const char *path, unsigned depth)
{
	struct buf inner = {0};
	struct dirent *entry;
	struct stat st;
	bool found;

	buf_printf(&inner, "%s/metadata", path);
	found = stat(buf_text(&inner), &st) == 0 && !S_ISDIR(st.st_mode);
	DIR *dir = found || depth >= SEARCH_DEPTH ? NULL : opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		buf_clear(&inner);
		buf_printf(&inner, "%s/%s", path, entry->d_name);
		found = lstat(buf_text(&inner), &st) == 0 && S_ISDIR(st.st_mode) &&
			has_metadata(buf_text(&inner), depth + 1);
	}
	if (dir)
		closedir(dir);
	buf_release(&inner);
	return found;
}

static bool reader_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/*
 * Folders of LTTng's domains or chunks (archives) are one session, so one trace. Folders of other
 * names with metadata are traces of their own: a collection.
 */
static bool is_collection(const char *path)
{
	static const char *const parts[] = {"metadata", "kernel", "ust", "archives"};
	bool one = false;

	for (size_t i = 0; i < sizeof parts / sizeof *parts && !one; i++) {
		char *part = folder_join(path, parts[i]);
		struct stat st;

		one = i ? reader_is_folder(part) && has_metadata(part, 1)
			: stat(part, &st) == 0 && !S_ISDIR(st.st_mode);
		mem_free(part);
	}
	return !one;
}

static bool is_named_metadata(const char *path)
{
	return !strcmp(basename(path), "metadata");
}

static int probe(const struct probe *probe)
{
	static const uint8_t magic_le[] = {0x57, 0x1d, 0xd1, 0x75};
	static const uint8_t magic_be[] = {0x75, 0xd1, 0x1d, 0x57};

	if (probe->is_folder)
		return has_metadata(probe->path, 0) ? 90 : 0;
	if (probe->nhead >= 4 &&
	    (!memcmp(probe->head, magic_le, 4) || !memcmp(probe->head, magic_be, 4)))
		return 90;
	if (rfc_is_packet(probe->head, probe->nhead)) /* streams begin so, too */
		return is_named_metadata(probe->path) ? 90 : 0;
	if (probe->nhead >= 2 && probe->head[0] == 0x1e &&
	    memchr("{ \t\r\n\x1e", probe->head[1], 6))
		return 80;
	if (probe->nhead >= 6 && !memcmp(probe->head, "/* CTF", 6))
		return 80;
	return is_named_metadata(probe->path) &&
			       rfc_is_text((const char *)probe->head, probe->nhead)
		       ? 80
		       : 0;
}

const struct reader ctf_reader = {
	.format = "ctf",
	.looks_like = "CTF, a folder with a file named metadata",
	.values = true,
	.falls = true,
	.rises = true,
	.probe = probe,
	.is_collection = is_collection,
	.open = ctf_open,
	.close = ctf_close,
	.scan = ctf_scan,
	.goes_on = ctf_goes_on,
	.computed = ctf_computed,
	.packet_at = ctf_packet_at,
	.decoder_new = ctf_decoder_new,
	.decoder_free = ctf_decoder_free,
	.decoder_open = ctf_decoder_open,
	.decoder_leave = ctf_decoder_leave,
	.decoder_next = ctf_decoder_next,
	.decoder_prefetch = ctf_decoder_prefetch,
	.decoder_mark = ctf_decoder_mark,
	.decoder_seek = ctf_decoder_seek,
	.decoder_fields = ctf_decoder_fields,
	.event_bits = ctf_event_bits,
	.gapless = true,
	.decoder_column = ctf_decoder_column,
};
