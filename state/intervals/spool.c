/*
 * spool.c - see spool.h
 *
 * Values are written as a tag, their kind with flags, and what the kind needs. A text is written as
 * its slot in a small table by where it stands, which most are in: it does not move. Slots are
 * never given to another text, so that what was written stays right.
 */
#include "state/intervals/spool.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "state/slices/bits.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RUN_HEAD = 20, SLOTS = 256 };
enum { TAG_NEGATIVE = 8, TAG_SLOT = 16 }; /* besides the kind */

struct spool {
	int fd;        /* -1: there is none, */
	bool tried;    /* and none can be made */
	uint64_t size; /* of the file; what is behind is in memory */
	struct buf added;
	const uint8_t *mapped; /* the file's first `mapped_size` bytes; NULL: none */
	size_t mapped_size;
	struct value slots[SLOTS]; /* texts */
};

struct spool *spool_new(void)
{
	struct spool *spool = mem_new(sizeof *spool);

	spool->fd = -1;
	return spool;
}

static void unmap(struct spool *spool)
{
	if (spool->mapped)
		munmap((void *)(uintptr_t)spool->mapped, spool->mapped_size);
	spool->mapped = NULL;
}

void spool_free(struct spool *spool)
{
	if (!spool)
		return;
	unmap(spool);
	if (spool->fd >= 0)
		close(spool->fd);
	buf_release(&spool->added);
	mem_free(spool);
}

/* ---- writing ---- */

/* The slot of the text, or SLOTS: another one has it. */
static unsigned slot_of(struct spool *spool, const struct value *text)
{
	unsigned slot =
		(unsigned)((uintptr_t)text->text >> 3 ^ (uintptr_t)text->text >> 11) % SLOTS;
	struct value *kept = &spool->slots[slot];

	if (kept->kind == VALUE_UNKNOWN)
		*kept = *text;
	return kept->text == text->text && kept->len == text->len ? slot : SLOTS;
}

static uint8_t *put_value(struct spool *spool, const struct value *value, uint8_t *at)
{
	unsigned slot;

	switch (value->kind) {
	case VALUE_UNKNOWN:
	case VALUE_NONE:
		*at++ = value->kind;
		return at;
	case VALUE_INT:
		*at++ = (uint8_t)(value->kind | (value->negative ? TAG_NEGATIVE : 0));
		return varint_put(at, value->negative ? ~value->u : value->u);
	case VALUE_STRING:
		slot = slot_of(spool, value);
		if (slot < SLOTS) {
			*at++ = (uint8_t)(value->kind | TAG_SLOT);
			*at++ = (uint8_t)slot;
			return at;
		}
		break;
	case VALUE_FLOAT:
	case VALUE_BOOL:
		break;
	}
	*at++ = value->kind;
	memcpy(at, value, sizeof *value);
	return at + sizeof *value;
}

enum { SPAN_MOST = 10 + 1 + sizeof(struct value) };

void spool_add(struct spool *spool, const struct span *spans, size_t count, uint64_t *last)
{
	uint64_t place = spool->size + spool->added.len + 1;
	uint32_t number = (uint32_t)count;
	uint8_t *at, *begin;

	buf_add(&spool->added, last, 8);
	buf_add(&spool->added, &spans[0].begin, 8);
	buf_add(&spool->added, &number, 4);
	begin = at = (uint8_t *)buf_room(&spool->added, count * SPAN_MOST);
	for (size_t i = 0; i < count; i++) {
		at = varint_put(at, (uint64_t)spans[i].end - (uint64_t)spans[i].begin);
		at = put_value(spool, &spans[i].value, at);
	}
	spool->added.len += (size_t)(at - begin);
	*last = place;
}

void spool_write(struct spool *spool)
{
	size_t done = 0;

	if (!spool->tried)
		spool->fd = temporary_open(NULL);
	spool->tried = true;
	while (spool->fd >= 0 && done < spool->added.len) {
		ssize_t got = pwrite(spool->fd, spool->added.data + done, spool->added.len - done,
				     (off_t)(spool->size + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		done += (size_t)got;
	}
	if (spool->fd < 0)
		return;
	spool->size += done;
	buf_clear(&spool->added);
}

/* ---- reading ---- */

static bool map(struct spool *spool, struct error *err)
{
	void *memory;

	if (spool->mapped && spool->mapped_size == spool->size)
		return true;
	unmap(spool);
	if (!spool->size)
		return true;
	memory = mmap(NULL, (size_t)spool->size, PROT_READ, MAP_SHARED, spool->fd, 0);
	if (memory == MAP_FAILED)
		return error_set(err, ERR_IO, "mapping a file of intervals: %s", strerror(errno));
	spool->mapped = memory;
	spool->mapped_size = (size_t)spool->size;
	return true;
}

static const uint8_t *run_at(const struct spool *spool, uint64_t place, const uint8_t **end)
{
	uint64_t at = place - 1;

	if (at < spool->size) {
		*end = spool->mapped + spool->mapped_size;
		return spool->mapped + at;
	}
	*end = (const uint8_t *)spool->added.data + spool->added.len;
	return (const uint8_t *)spool->added.data + (at - spool->size);
}

static const uint8_t *get_value(const struct spool *spool, const uint8_t *at, const uint8_t *end,
				struct value *out)
{
	uint8_t tag = *at++;

	*out = (struct value){.kind = tag & 7};
	if (tag & TAG_SLOT) {
		*out = spool->slots[*at++];
	} else if (out->kind == VALUE_INT) {
		at = varint_get(at, end, &out->u);
		out->negative = tag & TAG_NEGATIVE;
		if (out->negative)
			out->u = ~out->u;
	} else if (value_exists(out)) {
		memcpy(out, at, sizeof *out);
		at += sizeof *out;
	}
	return at;
}

/* False: enough. */
static bool read_run(const struct spool *spool, uint64_t place,
		     bool (*each)(void *arg, const struct span *span), void *arg)
{
	const uint8_t *end, *at = run_at(spool, place, &end);
	struct span span;
	uint32_t count;
	uint64_t length;

	memcpy(&span.end, at + 8, 8);
	memcpy(&count, at + 16, 4);
	at += RUN_HEAD;
	for (; count; count--) {
		at = varint_get(at, end, &length);
		span.begin = span.end;
		span.end = (nstime)((uint64_t)span.begin + length);
		at = get_value(spool, at, end, &span.value);
		if (!each(arg, &span))
			return false;
	}
	return true;
}

bool spool_read(struct spool *spool, uint64_t last,
		bool (*each)(void *arg, const struct span *span), void *arg, struct error *err)
{
	uint64_t *places = NULL;
	size_t count = 0, capacity = 0;
	const uint8_t *end;

	if (!map(spool, err))
		return false;
	while (last) {
		*mem_push(places, count, capacity) = last;
		memcpy(&last, run_at(spool, last, &end), 8);
	}
	while (count && read_run(spool, places[count - 1], each, arg))
		count--;
	mem_free(places);
	return true;
}
