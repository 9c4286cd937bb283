/*
 * metadata_file.c - see metadata_file.h
 *
 * Metadata comes in packets (magic 0x75D11D57, in the byte order of the trace, then the UUID), as
 * text, or as fragments of JSON, each after the byte 0x1E. A reply that begins as only a trace's
 * first one can means that the relay starts again.
 */
#include "live/metadata_file.h"

#include "engine/base/cursor.h"
#include "engine/base/digits.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/new_file.h"
#include "live/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PACKET_HEAD = 37, UUID_AT = 4, UUID_BYTES = 16, LOOK_MOST = 1 << 16, BEGINNING = 64 };
#define PACKET_MAGIC 0x75d11d57u

struct metadata_file {
	char *path;
	char *next;         /* path of the replacement, outside of the streams' files */
	uint64_t have;      /* bytes of the file */
	uint64_t seen;      /* bytes of these that the relay sent again since its last start */
	bool renewed;       /* the relay sends metadata that differs: */
	struct buf renewal; /* all of it so far */
};

/* What it begins with ----------------------------------------------------------------------------
 */

static bool in_packets(const struct buf *bytes)
{
	const uint8_t *at = (const uint8_t *)bytes->data;

	return bytes->len >= PACKET_HEAD &&
	       (load_le(at, 4) == PACKET_MAGIC || load_be(at, 4) == PACKET_MAGIC);
}

static bool text_begins(const struct buf *bytes, size_t at, const char *text)
{
	size_t len = strlen(text);

	return bytes->len - at >= len && memcmp(bytes->data + at, text, len) == 0;
}

bool metadata_begins(const struct buf *bytes)
{
	size_t at = in_packets(bytes) ? PACKET_HEAD : 0, quote;

	if (text_begins(bytes, at, "/* CTF "))
		return true;
	if (bytes->len <= at || bytes->data[at] != '\x1e')
		return false;
	/* only the first fragment is the preamble */
	const char *end = memchr(bytes->data + at + 1, '\x1e', bytes->len - at - 1);
	size_t len = end ? (size_t)(end - bytes->data) : bytes->len;
	for (quote = at; quote < len; quote++)
		if (text_begins(bytes, quote, "\"preamble\""))
			return true;
	return false;
}

/* Reads the digits of `uuid = "..."`; false: there are none. */
static bool uuid_of_text(const char *at, const char *end, uint8_t uuid[UUID_BYTES])
{
	unsigned n = 0;

	for (at = memchr(at, '"', (size_t)(end - at)); at && ++at < end && n < 2 * UUID_BYTES;) {
		int digit = hex_digit(*at);
		if (digit < 0 && *at != '-')
			return false;
		if (digit >= 0) {
			uuid[n / 2] = (uint8_t)(uuid[n / 2] << 4 | digit);
			n++;
		}
	}
	return n == 2 * UUID_BYTES;
}

/* Reads the numbers of `"uuid": [1, 2, ...]`. */
static bool uuid_of_json(const char *at, const char *end, uint8_t uuid[UUID_BYTES])
{
	unsigned n = 0;

	at = memchr(at, '[', (size_t)(end - at));
	while (at && at < end && *at != ']' && n < UUID_BYTES) {
		if (char_is_digit(*at))
			uuid[n++] = (uint8_t)decimal_take(&at, end);
		else
			at++;
	}
	return n == UUID_BYTES;
}

static bool uuid_of(const struct buf *bytes, uint8_t uuid[UUID_BYTES])
{
	size_t most = bytes->len < LOOK_MOST ? bytes->len : LOOK_MOST;

	memset(uuid, 0, UUID_BYTES);
	if (in_packets(bytes)) {
		memcpy(uuid, bytes->data + UUID_AT, UUID_BYTES);
		return true;
	}
	for (size_t at = 0; at + 4 <= most; at++) {
		const char *found = bytes->data + at, *end = bytes->data + most;
		if (memcmp(found, "uuid", 4) != 0)
			continue;
		bool json = at && found[-1] == '"';
		return (json ? uuid_of_json : uuid_of_text)(found + 4, end, uuid);
	}
	return false;
}

bool metadata_same_trace(const struct buf *a, const struct buf *b)
{
	uint8_t of_a[UUID_BYTES], of_b[UUID_BYTES];

	if (uuid_of(a, of_a) && uuid_of(b, of_b))
		return memcmp(of_a, of_b, UUID_BYTES) == 0;
	size_t both = a->len < b->len ? a->len : b->len;
	return both == 0 || memcmp(a->data, b->data, both) == 0;
}

/* The file ---------------------------------------------------------------------------------------
 */

static bool metadata_file_failed(const struct metadata_file *file, struct error *err)
{
	return error_set(err, ERR_IO, "%s: %s", file->path, strerror(errno));
}

bool metadata_file_open(const char *folder, struct metadata_file **out, struct error *err)
{
	struct metadata_file *file = mem_new(sizeof *file);
	struct stat about;

	file->path = folder_join(folder, "metadata");
	file->next = folder_join(folder, "index/metadata");
	if (stat(file->path, &about) == 0) {
		file->have = (uint64_t)about.st_size;
	} else if (errno != ENOENT) {
		metadata_file_failed(file, err);
		metadata_file_close(file);
		return false;
	}
	*out = file;
	return true;
}

void metadata_file_close(struct metadata_file *file)
{
	if (!file)
		return;
	buf_release(&file->renewal);
	mem_free(file->path);
	mem_free(file->next);
	mem_free(file);
}

uint64_t metadata_file_size(const struct metadata_file *file)
{
	return file->renewed ? file->renewal.len : file->seen;
}

static bool append(struct metadata_file *file, const char *bytes, size_t size, struct error *err)
{
	int fd = open(file->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	bool ok = fd >= 0 && file_put(fd, bytes, size);

	if (!ok)
		metadata_file_failed(file, err);
	if (fd >= 0)
		close(fd);
	file->have += ok ? size : 0;
	file->seen += ok ? size : 0;
	return ok;
}

/* The metadata differs from here on: starts a replacement with the part that was equal. */
static bool begin_renewal(struct metadata_file *file, struct error *err)
{
	struct buf old = {0};

	if (file->seen && (!file_read(file->path, &old) || old.len < file->seen)) {
		buf_release(&old);
		return metadata_file_failed(file, err);
	}
	buf_clear(&file->renewal);
	if (file->seen)
		buf_add(&file->renewal, old.data, (size_t)file->seen);
	buf_release(&old);
	file->renewed = true;
	return true;
}

/* Sets *out: are the next `size` bytes of the file equal to `bytes`? */
static bool repeats(struct metadata_file *file, const char *bytes, size_t size, bool *out,
		    struct error *err)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct buf there = {0};
	bool ok = fd >= 0 && file_get(fd, buf_room(&there, size), size, file->seen) == size;

	if (!ok)
		metadata_file_failed(file, err);
	*out = ok && memcmp(there.data, bytes, size) == 0;
	if (fd >= 0)
		close(fd);
	buf_release(&there);
	return ok;
}

/* Does the relay start again? Only the beginning of metadata begins as the file does. */
static bool begins_again(struct metadata_file *file, const struct buf *bytes)
{
	bool equal = false;
	struct error ignored;
	uint64_t seen = file->seen;

	if (!metadata_file_size(file))
		return false;
	file->seen = 0;
	if (bytes->len >= BEGINNING && file->have >= BEGINNING)
		MAY_FAIL(repeats(file, bytes->data, BEGINNING, &equal, &ignored));
	file->seen = seen;
	return equal || metadata_begins(bytes);
}

bool metadata_file_add(struct metadata_file *file, const struct buf *bytes, size_t *added,
		       struct error *err)
{
	bool equal = true;

	*added = 0;
	if (begins_again(file, bytes)) {
		file->seen = 0;
		file->renewed = false;
	}
	if (file->renewed) {
		buf_add(&file->renewal, bytes->data, bytes->len);
		return true;
	}
	uint64_t left = file->have - file->seen;
	size_t old = left < bytes->len ? (size_t)left : bytes->len;
	if (old && !repeats(file, bytes->data, old, &equal, err))
		return false;
	if (!equal) {
		if (!begin_renewal(file, err))
			return false;
		buf_add(&file->renewal, bytes->data, bytes->len);
		return true;
	}
	file->seen += old;
	*added = bytes->len - old;
	return !*added || append(file, bytes->data + old, bytes->len - old, err);
}

bool metadata_file_settle(struct metadata_file *file, struct error *err)
{
	if (!file->renewed)
		return true;
	if (!file_write(file->next, &file->renewal, err))
		return false;
	if (rename(file->next, file->path) != 0)
		return metadata_file_failed(file, err);
	file->have = file->seen = file->renewal.len;
	file->renewed = false;
	buf_release(&file->renewal);
	return true;
}
