/*
 * beacons.c - see beacons.h
 *
 *     yore beacons 1
 *     8f2c5b0de1a90377 00000000075bcd15 kernel/channel0_0
 *     └── check        └── cycles       └── stream
 *
 * Lines keep their places and lengths and are overwritten: if the file were renamed into place each
 * time, a follower would look for new streams. A reader may see half of a write. The check is a
 * hash of the rest of the line; a line whose check differs counts as absent.
 */
#include "live/beacons.h"

#include "engine/base/digits.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/nameset.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char title[] = "yore beacons 1\n";

enum { HEX = 16, AT_CYCLES = HEX + 1, AT_STREAM = 2 * (HEX + 1), LINE_MOST = 8192 };

struct beacon {
	char *stream;
	uint64_t cycles;
};

struct beacons {
	char *path;
	int fd; /* -1: opened by beacons_read() */
	struct beacon *items;
	size_t count, capacity;
	struct nameset numbers; /* indexes in items, by stream */
	bool changed;
};

static uint64_t check_of(const char *text, size_t len)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash;
}

bool beacons_find(const struct beacons *beacons, const char *stream, uint64_t *cycles)
{
	uint32_t number;

	if (!nameset_find(&beacons->numbers, stream, &number))
		return false;
	*cycles = beacons->items[number].cycles;
	return true;
}

void beacons_set(struct beacons *beacons, const char *stream, uint64_t cycles)
{
	uint32_t number;

	if (!nameset_find(&beacons->numbers, stream, &number)) {
		number = (uint32_t)beacons->count;
		nameset_add(&beacons->numbers, stream, number);
		*mem_push(beacons->items, beacons->count, beacons->capacity) =
			(struct beacon){.stream = mem_strdup(stream)};
	}
	if (cycles <= beacons->items[number].cycles)
		return;
	beacons->items[number].cycles = cycles;
	beacons->changed = true;
}

static bool take_hex(const char *text, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < HEX; i++) {
		int digit = hex_digit(text[i]);
		if (digit < 0)
			return false;
		*out = *out << 4 | (uint64_t)digit;
	}
	return text[HEX] == ' ';
}

static void take_line(struct beacons *beacons, char *line, size_t len)
{
	uint64_t check, cycles;

	if (len <= AT_STREAM || len > LINE_MOST || !take_hex(line, &check) ||
	    !take_hex(line + AT_CYCLES, &cycles) ||
	    check != check_of(line + AT_CYCLES, len - AT_CYCLES))
		return;
	line[len] = 0;
	beacons_set(beacons, line + AT_STREAM, cycles);
}

struct beacons *beacons_read(const char *folder)
{
	char *path = folder_join(folder, BEACONS_NAME);
	size_t head = sizeof title - 1;
	struct buf text = {0};
	struct beacons *out = NULL;

	if (file_read(path, &text) && text.len >= head && !memcmp(text.data, title, head)) {
		out = mem_new(sizeof *out);
		*out = (struct beacons){.path = path, .fd = -1};
		for (size_t at = head; at < text.len;) {
			char *line = text.data + at, *end = memchr(line, '\n', text.len - at);
			if (!end)
				break;
			take_line(out, line, (size_t)(end - line));
			at += (size_t)(end - line) + 1;
		}
		out->changed = false;
	} else {
		mem_free(path);
	}
	buf_release(&text);
	return out;
}

static bool beacons_failed(const struct beacons *beacons, struct error *err)
{
	return error_set(err, ERR_IO, "%s: %s", beacons->path, strerror(errno));
}

bool beacons_open(const char *folder, struct beacons **out, struct error *err)
{
	struct beacons *beacons = beacons_read(folder);

	if (!beacons) {
		beacons = mem_new(sizeof *beacons);
		*beacons = (struct beacons){.path = folder_join(folder, BEACONS_NAME),
					    .changed = true};
	}
	beacons->fd =
		open(beacons->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
	if (beacons->fd < 0 ? beacons_failed(beacons, err) : beacons_write(beacons, err)) {
		*out = beacons;
		return true;
	}
	beacons_close(beacons);
	return false;
}

void beacons_close(struct beacons *beacons)
{
	if (!beacons)
		return;
	if (beacons->fd >= 0)
		close(beacons->fd);
	for (size_t i = 0; i < beacons->count; i++)
		mem_free(beacons->items[i].stream);
	mem_free(beacons->items);
	nameset_release(&beacons->numbers);
	mem_free(beacons->path);
	mem_free(beacons);
}

static void put_beacon(const struct beacon *beacon, struct buf *out)
{
	struct buf said = {0};

	buf_printf(&said, "%016llx %s", (unsigned long long)beacon->cycles, beacon->stream);
	buf_printf(out, "%016llx %s\n", (unsigned long long)check_of(said.data, said.len),
		   buf_text(&said));
	buf_release(&said);
}

bool beacons_write(struct beacons *beacons, struct error *err)
{
	struct buf text = {0};
	bool ok;

	if (!beacons->changed)
		return true;
	buf_add_text(&text, title);
	for (size_t i = 0; i < beacons->count; i++)
		put_beacon(&beacons->items[i], &text);
	ok = lseek(beacons->fd, 0, SEEK_SET) == 0 && file_put(beacons->fd, text.data, text.len) &&
	     ftruncate(beacons->fd, (off_t)text.len) == 0;
	beacons->changed = !ok;
	buf_release(&text);
	return ok || beacons_failed(beacons, err);
}
