/* partial.c - see partial.h */
#include "aggregate/partial.h"

#include "engine/base/folder.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

enum { PARTIAL_VERSION = 1, HEAD = 88, CHECK = 8, LEAST = HEAD + CHECK };

static const char magic[8] = {'y', 'o', 'r', 'e', 'p', 'a', 'r', 't'};

void partial_release(struct partial *partial)
{
	buf_release(&partial->question);
	buf_release(&partial->body);
	*partial = (struct partial){0};
}

void partial_add_u32(struct buf *body, uint32_t number)
{
	for (unsigned i = 0; i < 4; i++)
		buf_add_char(body, (char)(number >> 8 * i & 0xff));
}

void partial_add_u64(struct buf *body, uint64_t number)
{
	partial_add_u32(body, (uint32_t)number);
	partial_add_u32(body, (uint32_t)(number >> 32));
}

void partial_add_text(struct buf *body, const char *text, size_t len)
{
	partial_add_u64(body, len);
	buf_add(body, text, len);
}

const char *partial_take_text(struct cursor *body, size_t *len)
{
	uint64_t size = cursor_u64le(body);
	const uint8_t *text = cursor_bytes(body, size);

	*len = text ? size : 0;
	return text ? (const char *)text : "";
}

static void add_head(struct buf *out, const struct partial *partial)
{
	const uint64_t numbers[] = {partial->trace,   partial->bytes,   partial->records,
				    partial->taken,   partial->damaged, partial->question.len,
				    partial->body.len};

	buf_add(out, magic, sizeof magic);
	partial_add_u32(out, PARTIAL_VERSION);
	partial_add_u32(out, partial->kind);
	partial_add_u64(out, LEAST + partial->question.len + partial->body.len);
	partial_add_u32(out, partial->i);
	partial_add_u32(out, partial->n);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		partial_add_u64(out, numbers[i]);
}

void partial_encode(const struct partial *partial, struct buf *out)
{
	add_head(out, partial);
	buf_add(out, partial->question.data, partial->question.len);
	buf_add(out, partial->body.data, partial->body.len);
	partial_add_u64(out, XXH3_64bits(out->data, out->len));
}

/* Compares magic, size and checksum, before any other member is read. */
static bool check_whole(const char *name, const uint8_t *bytes, size_t size, struct error *err)
{
	if (size < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0)
		return error_set(
			err, ERR_FORMAT,
			"%s: this is no partial file of yore (byte 0): --partial writes them",
			name);
	if (size < LEAST)
		return error_set(
			err, ERR_FORMAT,
			"%s: the partial file ends at byte %zu, within its head: make this "
			"part again",
			name, size);
	if (load_le(bytes + 8, 4) != PARTIAL_VERSION)
		return error_set(
			err, ERR_FORMAT,
			"%s: the partial file has version %u, this yore reads %d: make all "
			"parts with one yore",
			name, (unsigned)load_le(bytes + 8, 4), PARTIAL_VERSION);
	if (load_le(bytes + 16, 8) != size)
		return error_set(
			err, ERR_FORMAT,
			"%s: the partial file has %zu bytes and should have %llu (byte 16): "
			"it was cut or damaged, make this part again",
			name, size, (unsigned long long)load_le(bytes + 16, 8));
	if (XXH3_64bits(bytes, size - CHECK) != load_le(bytes + size - CHECK, CHECK))
		return error_set(
			err, ERR_FORMAT,
			"%s: the partial file's checksum (byte %zu) is wrong: it was damaged, "
			"make this part again",
			name, size - CHECK);
	return true;
}

bool partial_parse(const char *name, const void *bytes, size_t size, struct partial *out,
		   struct error *err)
{
	struct cursor in = cursor_over(bytes, size);

	*out = (struct partial){0};
	if (!check_whole(name, bytes, size, err))
		return false;
	in.pos = 12;
	uint32_t kind = cursor_u32le(&in);
	cursor_u64le(&in);
	out->i = cursor_u32le(&in);
	out->n = cursor_u32le(&in);
	out->trace = cursor_u64le(&in);
	out->bytes = cursor_u64le(&in);
	out->records = cursor_u64le(&in);
	out->taken = cursor_u64le(&in);
	out->damaged = cursor_u64le(&in);
	uint64_t nquestion = cursor_u64le(&in), nbody = cursor_u64le(&in), rest = size - LEAST;
	if (kind < PARTIAL_STATS || kind > PARTIAL_ANALYSIS || !out->n || out->i >= out->n ||
	    nquestion > rest || nbody != rest - nquestion) {
		*out = (struct partial){0};
		return error_set(err, ERR_FORMAT,
				 "%s: the head of the partial file contradicts itself (byte 12)",
				 name);
	}
	out->kind = kind;
	buf_add(&out->question, (const uint8_t *)bytes + HEAD, nquestion);
	buf_add(&out->body, (const uint8_t *)bytes + HEAD + nquestion, nbody);
	return true;
}

bool partial_read(const char *path, struct partial *out, struct error *err)
{
	struct buf bytes = {0};
	uint64_t size;

	*out = (struct partial){0};
	if (!file_is_regular(path, &size, err))
		return false;
	bool good = file_read(path, &bytes)
			    ? partial_parse(path, bytes.data, bytes.len, out, err)
			    : error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	buf_release(&bytes);
	return good;
}
