/*
 * perf_made.c - writes samples of three CPUs in rounds, as perf's recorder copies them, in every
 * form
 */
#include "tests/engine/perf_made.h"

#include "engine/base/mem.h"
#include "tests/engine/decoded.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

static void put(struct buf *to, uint64_t value, unsigned bytes, bool big)
{
	for (unsigned i = 0; i < bytes; i++)
		buf_add_char(to, (char)(value >> 8 * (big ? bytes - 1 - i : i)));
}

void made_set(struct buf *in, size_t at, uint64_t value, unsigned bytes, bool big)
{
	for (unsigned i = 0; i < bytes; i++)
		in->data[at + i] = (char)(value >> 8 * (big ? bytes - 1 - i : i));
}

static size_t begin_record(struct buf *to, const struct shape *shape, uint32_t type, uint16_t misc)
{
	put(to, type, 4, shape->big);
	put(to, misc, 2, shape->big);
	put(to, 0, 2, shape->big);
	return to->len - 8;
}

static void end_record(struct buf *to, const struct shape *shape, size_t at)
{
	made_set(to, at + 6, to->len - at, 2, shape->big);
}

/* Bit n of the flags is bit 7 - n % 8 of its byte on big-endian machines. */
static void put_flags(struct buf *to, uint64_t flags, bool big)
{
	uint8_t bytes[8] = {0};

	for (unsigned n = 0; n < 64; n++)
		if (flags >> n & 1)
			bytes[n / 8] |= (uint8_t)(1u << (big ? 7 - n % 8 : n % 8));
	buf_add(to, bytes, sizeof bytes);
}

static void put_attr(struct buf *to, const struct shape *shape)
{
	size_t at = to->len;

	put(to, 1, 4, shape->big); /* software, cpu-clock */
	put(to, shape->attr_bytes, 4, shape->big);
	put(to, 0, 8, shape->big);
	put(to, 1000, 8, shape->big);
	put(to, shape->sample_type, 8, shape->big);
	put(to, 0, 8, shape->big);
	put_flags(to, shape->flags, shape->big);
	while (to->len - at < shape->attr_bytes)
		put(to, 0, 8, shape->big);
}

static void put_sample(struct buf *to, const struct shape *shape, const struct want *want,
		       uint64_t id)
{
	const uint64_t type = shape->sample_type;
	size_t at = begin_record(to, shape, 9, 2);

	if (type & MADE_IDENTIFIER)
		put(to, id, 8, shape->big);
	if (type & MADE_IP)
		put(to, 0x400000, 8, shape->big);
	put(to, 100, 4, shape->big); /* samples always have TID */
	put(to, (uint32_t)want->tid, 4, shape->big);
	put(to, (uint64_t)want->time, 8, shape->big);
	if (type & MADE_ADDR)
		put(to, 0, 8, shape->big);
	if (type & MADE_CPU) {
		put(to, (uint32_t)want->cpu, 4, shape->big);
		put(to, 0, 4, shape->big);
	}
	if (type & MADE_PERIOD)
		put(to, 7, 8, shape->big);
	end_record(to, shape, at);
}

/* Appends a thread's name as read from /proc: without time, it holds from the start. */
static void put_comm(struct buf *to, const struct shape *shape, int32_t tid)
{
	size_t at = begin_record(to, shape, 3, 0);
	unsigned words = 0;

	put(to, (uint32_t)tid, 4, shape->big);
	put(to, (uint32_t)tid, 4, shape->big);
	buf_add(to, "maker\0\0", 8);
	for (uint64_t bits =
		     shape->sample_type & (MADE_TID | MADE_TIME | MADE_CPU | MADE_IDENTIFIER);
	     bits; bits &= bits - 1)
		words++;
	for (unsigned i = 0; i < words && shape->flags & MADE_ID_ALL; i++)
		put(to, 0, 8, shape->big);
	end_record(to, shape, at);
}

static void put_round(struct buf *to, const struct shape *shape)
{
	end_record(to, shape, begin_record(to, shape, 68, 0));
}

static void put_id_index(struct buf *to, const struct shape *shape, const struct made_whose *whose)
{
	size_t at = begin_record(to, shape, 69, 0);

	put(to, shape->id_index, 8, shape->big);
	for (uint64_t i = 0; i < shape->id_index; i++) {
		put(to, 500 + i, 8, shape->big);
		put(to, i, 8, shape->big);
		put(to, UINT64_MAX, 8, shape->big);
		put(to, (uint64_t)(int64_t)(whose->opened_on ? whose->opened_on : -1), 8,
		    shape->big);
	}
	end_record(to, shape, at);
}

static void put_thread_map(struct buf *to, const struct shape *shape, int32_t tid)
{
	size_t at = begin_record(to, shape, 73, 0);

	put(to, 1, 8, shape->big);
	put(to, (uint64_t)(int64_t)tid, 8, shape->big);
	buf_add(to, "maker\0\0\0\0\0\0\0\0\0\0", 16);
	end_record(to, shape, at);
}

/* Appends the command line as a pipe's feature: the number of words, then each after its length. */
static void put_command(struct buf *to, const struct shape *shape, const char *command)
{
	size_t at = begin_record(to, shape, 80, 0), count;
	uint32_t words = 0;

	put(to, 11, 8, shape->big);
	count = to->len;
	put(to, 0, 4, shape->big);
	for (const char *word = command; *word; words++) {
		size_t len = strcspn(word, " ");

		put(to, len + 1, 4, shape->big);
		buf_add(to, word, len);
		buf_add_char(to, 0);
		word += len + (word[len] == ' ');
	}
	made_set(to, count, words, 4, shape->big);
	while (to->len % 8)
		buf_add_char(to, 0);
	end_record(to, shape, at);
}

static void add_want(struct made *made, nstime time, int32_t cpu, int32_t tid)
{
	made->wants = mem_grow(made->wants, made->nwants, &made->capacity, sizeof *made->wants);
	made->wants[made->nwants++] = (struct want){time, cpu, tid};
}

/* Each round has one run of samples per CPU; their times interleave, so the file is not ordered. */
static void make_rounds(struct made *made)
{
	const struct shape *shape = made->shape;
	uint32_t rounds = (shape->samples + MADE_ROUND * MADE_CPUS - 1) / (MADE_ROUND * MADE_CPUS);

	for (uint32_t k = 0; k < rounds; k++) {
		for (int32_t cpu = 0; cpu < MADE_CPUS; cpu++)
			for (uint32_t n = 0; n < MADE_ROUND; n++) {
				uint32_t i = k * MADE_ROUND + n;
				if (shape->flags & MADE_BACKWARD)
					i = rounds * MADE_ROUND - 1 - i;
				if (shape->late && n % shape->late < 2 && n + 1 < MADE_ROUND &&
				    n / shape->late * shape->late + 1 < MADE_ROUND)
					i ^= 1; /* swaps the pair */
				struct want want = {1000000 + (nstime)i * 30 + cpu * 7,
						    shape->sample_type & MADE_CPU ? cpu : -1,
						    200 + cpu};
				struct buf *to = shape->form == FORM_DIRECTORY ? &made->parts[cpu]
									       : &made->data;
				put_sample(to, shape, &want, 500 + i % shape->nattrs);
				add_want(made, want.time, want.cpu, want.tid);
			}
		put_round(&made->data, shape);
	}
}

static void compress(struct made *made)
{
	ZSTD_CStream *stream = ZSTD_createCStream();
	struct buf plain = made->data;
	uint8_t out[16384];

	made->data = (struct buf){0};
	for (size_t at = 0, step; at < plain.len;
	     at += step) { /* cut anywhere: inside records too */
		step = plain.len - at < 5003 ? plain.len - at : 5003;
		ZSTD_inBuffer in = {plain.data + at, step, 0};
		size_t left;
		do {
			ZSTD_outBuffer room = {out, sizeof out, 0};
			left = ZSTD_compressStream2(stream, &room, &in, ZSTD_e_flush);
			assert_false(ZSTD_isError(left));
			size_t record = begin_record(&made->data, made->shape, 81, 0);
			buf_add(&made->data, out, room.pos);
			end_record(&made->data, made->shape, record);
		} while (left);
	}
	ZSTD_freeCStream(stream);
	buf_release(&plain);
}

static void put_head(struct made *made)
{
	const struct shape *shape = made->shape;
	const bool big = shape->big;
	struct buf *to = &made->head;
	const bool old = shape->form == FORM_OLD || shape->form == FORM_OLDEST;
	const uint64_t head = shape->form == FORM_OLDEST ? 72 : 104;
	uint64_t attrs = head + 8 * shape->nattrs, entry = shape->attr_bytes + 16;

	if (old)
		buf_add(to, "PERFFILE", 8); /* a text in both byte orders */
	else
		put(to, UINT64_C(0x32454c4946524550), 8, big); /* PERFILE2 */
	put(to, shape->form == FORM_PIPE ? 16 : head, 8, big);
	if (shape->form == FORM_PIPE) {
		for (uint32_t i = 0; i < shape->nattrs; i++) {
			size_t at = begin_record(to, shape, 64, 0);
			put_attr(to, shape);
			put(to, 500 + i, 8, big);
			end_record(to, shape, at);
		}
		return;
	}
	put(to, entry, 8, big);
	put(to, attrs, 8, big);
	put(to, entry * shape->nattrs, 8, big);
	put(to, attrs + entry * shape->nattrs, 8, big);
	put(to, shape->form == FORM_OPEN ? 0 : made->data.len, 8, big);
	while (to->len < head)
		put(to, 0, 8, big);
	for (uint32_t i = 0; i < shape->nattrs; i++)
		put(to, 500 + i, 8, big);
	for (uint32_t i = 0; i < shape->nattrs; i++) {
		put_attr(to, shape);
		put(to, head + 8 * i, 8, big);
		put(to, 8, 8, big);
	}
}

void made_new(const struct shape *shape, struct made *made)
{
	static const struct made_whose nothing_said;

	made_new_of(shape, &nothing_said, made);
}

void made_new_of(const struct shape *shape, const struct made_whose *whose, struct made *made)
{
	struct buf samples;

	*made = (struct made){.shape = shape, .whose = whose};
	make_rounds(made);
	if (shape->form == FORM_ZSTD)
		compress(made);
	samples = made->data;
	made->data = (struct buf){0};
	if (shape->id_index)
		put_id_index(&made->data, shape, whose);
	if (whose->map_of)
		put_thread_map(&made->data, shape, whose->map_of);
	if (whose->command)
		put_command(&made->data, shape, whose->command);
	put_comm(&made->data, shape, 77);
	add_want(made, NSTIME_MIN, -1, 77);
	buf_add(&made->data, samples.data, samples.len);
	buf_release(&samples);
	put_head(made);
}

void made_release(struct made *made)
{
	buf_release(&made->head);
	buf_release(&made->data);
	for (int i = 0; i < MADE_CPUS; i++)
		buf_release(&made->parts[i]);
	mem_free(made->wants);
}

char *made_write(const struct made *made, const char *folder, size_t size)
{
	char *path = path_join(folder, "perf.data");
	struct buf all = {0};

	buf_add(&all, made->head.data, made->head.len);
	buf_add(&all, made->data.data, made->data.len);
	size = size < all.len ? size : all.len;
	if (made->shape->form != FORM_DIRECTORY) {
		write_file(path, all.data, size);
		buf_release(&all);
		return path;
	}
	mkdir(path, 0777);
	char *data = path_join(path, "data");
	write_file(data, all.data, size);
	mem_free(data);
	for (int i = 0; i < MADE_CPUS; i++) {
		char name[24], *part;
		snprintf(name, sizeof name, "data.%d", i);
		part = path_join(path, name);
		write_file(part, made->parts[i].data, made->parts[i].len);
		mem_free(part);
	}
	buf_release(&all);
	return path;
}
