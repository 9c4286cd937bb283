/*
 * tar.c - see tar.h
 *
 *     head (512) | bytes, filled up to 512 | head | ... | two blocks of zeros
 *
 * An entry of type 'x' or 'L' has the path or size of the next file.
 */
#include "remote/tar.h"

#include "engine/base/buf.h"
#include "remote/paths.h"

#include <string.h>

enum {
	FILES_MOST = 1000000,
	TEXT_MOST = 1 << 20, /* most bytes of an entry 'x' or 'L' */
	NAME = 0,
	NAME_SIZE = 100,
	SIZE = 124,
	NUMBER_SIZE = 12,
	SUM = 148,
	SUM_SIZE = 8,
	TYPE = 156,
	MAGIC = 257,
	PREFIX = 345,
	PREFIX_SIZE = 155
};

struct tar_reader {
	const struct tar_bytes *bytes;
	uint64_t at; /* offset of the current head */
	uint8_t head[TAR_BLOCK];
	struct buf path; /* path of the next file from 'x' or 'L'; empty: its head has it */
	bool has_size;   /* `size` is from an entry 'x' */
	uint64_t size;
};

static bool tar_damaged(const struct tar_reader *reading, const char *what, struct error *err)
{
	return error_set(err, ERR_FORMAT, "%s: offset %llu: tar: %s", reading->bytes->name,
			 (unsigned long long)reading->at, what);
}

/* Reads octal digits between blanks or, if the first bit is set, a number of base 256. */
static bool tar_number(const uint8_t *text, size_t size, uint64_t *out)
{
	size_t i = 0;

	*out = 0;
	if (text[0] & 0x80) {
		if (text[0] & 0x7f)
			return false;
		for (i = 1; i < size; i++) {
			if (*out >> 55)
				return false;
			*out = *out << 8 | text[i];
		}
		return true;
	}
	while (i < size && text[i] == ' ')
		i++;
	for (; i < size && text[i] >= '0' && text[i] <= '7'; i++)
		*out = *out << 3 | (uint64_t)(text[i] - '0');
	return i == size || text[i] == ' ' || !text[i];
}

/*
 * Checks the sum of all bytes, where its own digits count as blanks. Some old writers added signed
 * bytes.
 */
static bool sum_agrees(const uint8_t *head)
{
	uint64_t said;
	int64_t plain = 0, with_sign = 0;

	for (int i = 0; i < TAR_BLOCK; i++) {
		bool own = i >= SUM && i < SUM + SUM_SIZE;
		plain += own ? ' ' : head[i];
		with_sign += own ? ' ' : (int8_t)head[i];
	}
	return tar_number(head + SUM, SUM_SIZE, &said) &&
	       ((int64_t)said == plain || (int64_t)said == with_sign);
}

static bool is_zero(const uint8_t *head)
{
	for (int i = 0; i < TAR_BLOCK; i++)
		if (head[i])
			return false;
	return true;
}

bool tar_begins(const uint8_t *bytes)
{
	return !memcmp(bytes + MAGIC, "ustar", 5) && sum_agrees(bytes);
}

/* The file's size, from the extension or the head; false: it does not fit the archive. */
static bool size_of(const struct tar_reader *reading, uint64_t *out, struct error *err)
{
	uint64_t left = reading->bytes->size - reading->at - TAR_BLOCK;

	*out = reading->size;
	if (!reading->has_size && !tar_number(reading->head + SIZE, NUMBER_SIZE, out))
		return tar_damaged(reading, "a size that is no number", err);
	return *out <= left || tar_damaged(reading, "a file reaches past the end", err);
}

static bool tar_read_text(const struct tar_reader *reading, uint64_t size, struct buf *out,
			  struct error *err)
{
	if (size > TEXT_MOST)
		return tar_damaged(reading, "a name or extension of more than 1 MB", err);
	buf_clear(out);
	if (!reading->bytes->read(reading->bytes->arg, reading->at + TAR_BLOCK,
				  buf_room(out, (size_t)size), (size_t)size, err))
		return false;
	out->len = (size_t)size;
	out->data[size] = 0;
	return true;
}

static bool decimal(const char *text, size_t len, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*out = *out * 10 + (uint64_t)(text[i] - '0');
	}
	return len > 0 && len < 19;
}

/* Reads one pax record, "LENGTH KEY=VALUE\n"; false: malformed. */
static bool take_record(struct tar_reader *reading, const char *text, size_t left, size_t *len)
{
	const char *at = text, *end = text + left;

	for (*len = 0; at < end && *at >= '0' && *at <= '9' && *len < left; at++)
		*len = *len * 10 + (size_t)(*at - '0');
	if (at == end || *at != ' ' || *len > left || *len < 5 || text[*len - 1] != '\n')
		return false;
	const char *key = at + 1, *stop = text + *len - 1;
	const char *equals = key < stop ? memchr(key, '=', (size_t)(stop - key)) : NULL;
	if (!equals)
		return false;
	const char *value = equals + 1;
	size_t nkey = (size_t)(equals - key), nvalue = (size_t)(stop - value);
	if (nkey == 4 && !memcmp(key, "path", 4)) {
		buf_clear(&reading->path);
		buf_add(&reading->path, value, nvalue);
	} else if (nkey == 4 && !memcmp(key, "size", 4)) {
		reading->has_size = decimal(value, nvalue, &reading->size);
		return reading->has_size;
	}
	return true;
}

static bool take_extension(struct tar_reader *reading, uint64_t size, struct error *err)
{
	struct buf text = {0};
	bool good = tar_read_text(reading, size, &text, err);
	size_t len;

	for (size_t at = 0; good && at < text.len; at += len)
		if (!take_record(reading, text.data + at, text.len - at, &len))
			good = tar_damaged(reading, "an extension that cannot be read", err);
	buf_release(&text);
	return good;
}

static bool take_long_name(struct tar_reader *reading, uint64_t size, struct error *err)
{
	if (!tar_read_text(reading, size, &reading->path, err))
		return false;
	reading->path.len = strlen(buf_text(&reading->path)); /* it ends with a zero */
	return true;
}

static void name_of_head(struct tar_reader *reading)
{
	const char *head = (const char *)reading->head;

	if (!memcmp(head + MAGIC, "ustar", 6) && head[PREFIX]) {
		buf_add(&reading->path, head + PREFIX, strnlen(head + PREFIX, PREFIX_SIZE));
		buf_add_char(&reading->path, '/');
	}
	buf_add(&reading->path, head + NAME, strnlen(head + NAME, NAME_SIZE));
}

static bool tar_add_file(struct tar_reader *reading, uint64_t size, struct manifest *out,
			 struct error *err)
{
	char *path;

	if (!reading->path.len)
		name_of_head(reading);
	if (out->count == FILES_MOST)
		return tar_damaged(reading, "more than a million files", err);
	path = path_inside(buf_text(&reading->path), reading->path.len);
	if (!path)
		return tar_damaged(reading,
				   "the name of a file leads out of the archive, has control "
				   "characters or is too long",
				   err);
	listing_add(out, path, reading->at + TAR_BLOCK, size);
	return true;
}

static bool take_member(struct tar_reader *reading, struct manifest *out, struct error *err)
{
	uint64_t size;
	char type = (char)reading->head[TYPE];
	bool good = size_of(reading, &size, err);

	if (!good)
		return false;
	switch (type) {
	case 'x':
		good = take_extension(reading, size, err);
		break;
	case 'L':
		good = take_long_name(reading, size, err);
		break;
	case 'S':
		return tar_damaged(reading, "a sparse file: make the archive without --sparse",
				   err);
	case '0':
	case 0:
	case '7':
		good = tar_add_file(reading, size, out, err);
		break;
	default: /* folders, links, devices, global headers */
		break;
	}
	if (type != 'x' && type != 'L') {
		buf_clear(&reading->path);
		reading->has_size = false;
	}
	reading->at += TAR_BLOCK + (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	return good;
}

bool tar_list(const struct tar_bytes *bytes, struct manifest *out, struct error *err)
{
	struct tar_reader reading = {.bytes = bytes};
	bool good = true;

	*out = (struct manifest){0};
	while (good && reading.at < bytes->size && bytes->size - reading.at >= TAR_BLOCK) {
		good = bytes->read(bytes->arg, reading.at, reading.head, TAR_BLOCK, err);
		if (good && is_zero(reading.head))
			break;
		if (good && !sum_agrees(reading.head))
			good = tar_damaged(&reading, "no head of a file is there", err);
		good = good && take_member(&reading, out, err);
	}
	buf_release(&reading.path);
	if (!good)
		listing_release(out);
	return good;
}
