/* write_log.c - see write_log.h */
#include "state/replay/write_log.h"

#include "engine/base/mem.h"

#include <string.h>

enum {
	ROOM = 8 * VARINT_MOST, /* of a tick and a write without a pattern */
	CHUNK_LEAST = 1 << 20,  /* bytes; */
	CHUNK_PART = 4          /* further ones are a fourth of all before */
};
enum {                           /* the first byte: the kind, then for values and patterns: */
       KIND_BITS = 3,
       VALUE_BITS = 3, /* enum value_kind */
       NEGATIVE = 1 << (KIND_BITS + VALUE_BITS),
       BELOW = 1 << (KIND_BITS + VALUE_BITS), /* of a pattern */
       ANY = 1 << (KIND_BITS + VALUE_BITS + 1)
};
_Static_assert(LOGGED_SECTION < 1 << KIND_BITS && VALUE_BOOL < 1 << VALUE_BITS, "they fit");

/* Frees all chunks but the first `kept`. */
static void drop_chunks(struct write_log *log, size_t kept)
{
	while (log->nchunks > kept)
		mem_free(log->chunks[--log->nchunks].bytes);
	log->bytes = 0;
}

void write_log_release(struct write_log *log)
{
	drop_chunks(log, 0);
	mem_free(log->chunks);
	*log = (struct write_log){0};
}

void write_log_drop(struct write_log *log, nstime time)
{
	if (log->nchunks) {
		drop_chunks(log, 1);
		log->at = log->chunks[0].bytes;
		log->end = log->at + CHUNK_LEAST;
		log->chunks[0].len = 0;
	}
	log->after = time;
	log->time = 0;
	log->told = 0;
	log->any = log->open = log->full = false;
	log->text = NULL;
}

/* ---- recording ---- */

/* Differences of times wrap: every two have one. */
static uint64_t time_from(nstime time, nstime from)
{
	return zigzag((int64_t)((uint64_t)time - (uint64_t)from));
}

/* Begins a chunk that has room for so many bytes. */
static void add_chunk(struct write_log *log, size_t room)
{
	size_t size = log->bytes / CHUNK_PART > CHUNK_LEAST ? log->bytes / CHUNK_PART : CHUNK_LEAST;
	struct log_chunk *chunk = mem_push(log->chunks, log->nchunks, log->chunks_capacity);

	size = size > room ? size : room;
	chunk->len = 0;
	chunk->bytes = log->at = mem_resize(NULL, 1, size);
	log->end = log->at + size;
}

/* Makes room for a write, and puts a tick where time has moved; NULL: the time does not count. */
static inline uint8_t *begin_write(struct write_log *log, nstime time)
{
	uint8_t *at;

	if (time <= log->after || log->full)
		return NULL;
	if (log->any && time != log->time && log->most && log->bytes >= log->most) {
		log->full = true;
		return NULL;
	}
	if (log->end - log->at < ROOM)
		add_chunk(log, ROOM);
	at = log->at;
	if (log->any && time == log->time)
		return at;
	*at++ = LOGGED_TICK;
	at = varint_put(at, time_from(time, log->time));
	at = varint_put(at, log->done - log->told);
	log->told = log->done;
	log->time = time;
	log->any = log->open = true;
	return at;
}

static inline void end_write(struct write_log *log, uint8_t *at)
{
	log->bytes += (size_t)(at - log->at);
	log->chunks[log->nchunks - 1].len += (size_t)(at - log->at);
	log->at = at;
}

static inline uint8_t put_kind(enum logged_kind kind, const struct value *value)
{
	unsigned sign = value->negative ? NEGATIVE : 0;

	return (uint8_t)(kind | (unsigned)value->kind << KIND_BITS | sign);
}

void write_log_set(struct write_log *log, nstime time, uint32_t attr, const struct value *value)
{
	uint8_t *at = begin_write(log, time);

	if (!at)
		return;
	*at++ = put_kind(LOGGED_SET, value);
	at = varint_put(at, attr);
	end_write(log, value_put(at, value, &log->text));
}

void write_log_fill(struct write_log *log, nstime time, uint32_t attr, const struct value *value,
		    const struct stream *stream, nstime first)
{
	uint8_t *at = begin_write(log, time);

	if (!at)
		return;
	*at++ = put_kind(LOGGED_FILL, value);
	at = varint_put(at, attr);
	at = value_put(at, value, &log->text);
	at = varint_put(at, stream ? 1 + (uint64_t)stream->index : 0);
	end_write(log, varint_put(at, time_from(time, first)));
}

static void put_pattern(struct write_log *log, const struct pattern *pattern)
{
	struct pattern copy = *pattern; /* io_pattern() takes what it could change */
	struct buf bytes = {0};

	io_pattern(&(struct io){.out = &bytes}, &copy);
	if ((size_t)(log->end - log->at) < bytes.len)
		add_chunk(log, bytes.len);
	memcpy(log->at, bytes.data, bytes.len);
	end_write(log, log->at + bytes.len);
	buf_release(&bytes);
}

void write_log_bury(struct write_log *log, nstime time, const struct pattern *pattern,
		    enum value_kind kind)
{
	uint8_t *at = begin_write(log, time);

	if (!at)
		return;
	*at++ = (uint8_t)(LOGGED_BURY | kind << KIND_BITS | (pattern->below ? BELOW : 0) |
			  (pattern->any ? ANY : 0));
	if (!pattern->any) {
		end_write(log, varint_put(at, pattern->attr));
		return;
	}
	end_write(log, at);
	put_pattern(log, pattern);
}

void write_log_loss(struct write_log *log, nstime time, uint32_t stream, nstime until)
{
	uint8_t *at = begin_write(log, time);

	if (!at)
		return;
	*at++ = LOGGED_LOSS;
	at = varint_put(at, stream);
	end_write(log, varint_put(at, time_from(time, until)));
}

void write_log_section(struct write_log *log, nstime time, uint32_t stream, uint32_t section,
		       const struct value *value)
{
	uint8_t *at = begin_write(log, time);

	if (!at)
		return;
	*at++ = put_kind(LOGGED_SECTION, value);
	at = varint_put(at, stream);
	at = varint_put(at, section);
	end_write(log, value_put(at, value, &log->text));
}

/* ---- reading ---- */

/* This process wrote the log, so that no number fails. */
static inline uint64_t get_number(struct logged *logged)
{
	uint64_t number;

	logged->at = varint_get(logged->at, logged->end, &number);
	return number;
}

static inline nstime get_time(struct logged *logged, nstime from, bool before)
{
	uint64_t difference = (uint64_t)unzigzag(get_number(logged));

	return (nstime)(before ? (uint64_t)from - difference : (uint64_t)from + difference);
}

static inline enum value_kind write_log_kind_of(uint8_t first)
{
	return first >> KIND_BITS & ((1 << VALUE_BITS) - 1);
}

static inline void get_value(struct logged *logged, uint8_t first)
{
	logged->at = value_get(logged->at, logged->end, write_log_kind_of(first), first & NEGATIVE,
			       &logged->text, &logged->value);
}

/* Goes to the next chunk where one has ended; false: that was the last one. */
static bool reach_chunk(const struct write_log *log, struct logged *logged)
{
	while (logged->at == logged->end) {
		if (logged->chunks == log->nchunks)
			return false;
		logged->at = log->chunks[logged->chunks].bytes;
		logged->end = logged->at + log->chunks[logged->chunks++].len;
	}
	return true;
}

static void get_pattern(struct logged *logged, const struct write_log *log, struct attrs *attrs,
			uint8_t first)
{
	struct io io = {.attrs = attrs};

	logged->value.kind = write_log_kind_of(first);
	if (first & ANY) { /* it may be in a chunk of its own */
		io.failed = !reach_chunk(log, logged);
		io.at = logged->at;
		io.end = logged->end;
		io_pattern(&io, logged->pattern);
		logged->at = io.at;
	} else {
		logged->pattern->any = false;
		logged->pattern->attr = (uint32_t)get_number(logged);
	}
	logged->pattern->below = (first & BELOW) != 0;
}

bool write_log_next(const struct write_log *log, struct attrs *attrs, struct logged *logged)
{
	uint8_t first;

	if (!reach_chunk(log, logged))
		return false;
	first = *logged->at++;
	logged->kind = first & ((1 << KIND_BITS) - 1);
	switch (logged->kind) {
	case LOGGED_TICK:
		logged->time = get_time(logged, logged->time, false);
		logged->events += get_number(logged);
		break;
	case LOGGED_SET:
		logged->attr = (uint32_t)get_number(logged);
		get_value(logged, first);
		break;
	case LOGGED_FILL:
		logged->attr = (uint32_t)get_number(logged);
		get_value(logged, first);
		logged->stream = (uint32_t)get_number(logged) - 1;
		logged->first = get_time(logged, logged->time, true);
		break;
	case LOGGED_BURY:
		get_pattern(logged, log, attrs, first);
		break;
	case LOGGED_LOSS:
		logged->stream = (uint32_t)get_number(logged);
		logged->first = get_time(logged, logged->time, true);
		break;
	case LOGGED_SECTION:
		logged->stream = (uint32_t)get_number(logged);
		logged->attr = (uint32_t)get_number(logged);
		get_value(logged, first);
		break;
	}
	return true;
}
