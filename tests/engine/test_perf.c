/*
 * test_perf.c - perf.data files made here: forms, attribute sizes, byte orders, lanes, rings that
 * are overwritten, growth, bad sizes; and the corpus' counts
 *
 * A made file is a list of samples and comms whose times, CPUs and threads are known; what the
 * reader gives is compared with that list. Counts of the corpus are what `perf report --stats`
 * prints.
 */
#include "engine/base/mem.h"
#include "tests/engine/decoded.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum {
	IP = 1 << 0,
	TID = 1 << 1,
	TIME = 1 << 2,
	ADDR = 1 << 3,
	CPU = 1 << 7,
	PERIOD = 1 << 8,
	IDENTIFIER = 1 << 16,
	USUAL = IP | TID | TIME | CPU | PERIOD,
	CPUS = 3,
	ROUND = 50 /* samples between round marks */
};
#define ID_ALL (UINT64_C(1) << 18)
#define BACKWARD (UINT64_C(1) << 27)

enum form {
	FORM_FILE,
	FORM_PIPE,
	FORM_DIRECTORY,
	FORM_ZSTD,
	FORM_OPEN /* no size in the header */
};

struct shape {
	const char *name;
	enum form form;
	bool big;
	uint32_t attr_bytes; /* 64 and up */
	uint64_t sample_type, flags;
	uint32_t samples;
	uint32_t nattrs;   /* several need IDENTIFIER */
	uint32_t id_index; /* buffers that an ID_INDEX names without their CPU; 0 none */
	uint32_t late;     /* every so many-th sample comes behind its successor; 0 never */
};

struct want { /* one event of the list */
	nstime time;
	int32_t cpu; /* -1: nothing tells it */
	int32_t tid;
};

struct made {
	const struct shape *shape;
	struct buf head, data, parts[CPUS];
	struct want *wants;
	size_t nwants, capacity;
};

static void put(struct buf *to, uint64_t value, unsigned bytes, bool big)
{
	for (unsigned i = 0; i < bytes; i++)
		buf_add_char(to, (char)(value >> 8 * (big ? bytes - 1 - i : i)));
}

static void set(struct buf *in, size_t at, uint64_t value, unsigned bytes, bool big)
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
	set(to, at + 6, to->len - at, 2, shape->big);
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

	if (type & IDENTIFIER)
		put(to, id, 8, shape->big);
	if (type & IP)
		put(to, 0x400000, 8, shape->big);
	put(to, 100, 4, shape->big); /* TID is always asked for */
	put(to, (uint32_t)want->tid, 4, shape->big);
	put(to, (uint64_t)want->time, 8, shape->big);
	if (type & ADDR)
		put(to, 0, 8, shape->big);
	if (type & CPU) {
		put(to, (uint32_t)want->cpu, 4, shape->big);
		put(to, 0, 4, shape->big);
	}
	if (type & PERIOD)
		put(to, 7, 8, shape->big);
	end_record(to, shape, at);
}

/* A name from /proc, without a time: it holds from the start. */
static void put_comm(struct buf *to, const struct shape *shape, int32_t tid)
{
	size_t at = begin_record(to, shape, 3, 0);
	unsigned words = 0;

	put(to, (uint32_t)tid, 4, shape->big);
	put(to, (uint32_t)tid, 4, shape->big);
	buf_add(to, "maker\0\0", 8);
	for (uint64_t bits = shape->sample_type & (TID | TIME | CPU | IDENTIFIER); bits;
	     bits &= bits - 1)
		words++;
	for (unsigned i = 0; i < words && shape->flags & ID_ALL; i++)
		put(to, 0, 8, shape->big);
	end_record(to, shape, at);
}

static void put_round(struct buf *to, const struct shape *shape)
{
	end_record(to, shape, begin_record(to, shape, 68, 0));
}

static void put_id_index(struct buf *to, const struct shape *shape)
{
	size_t at = begin_record(to, shape, 69, 0);

	put(to, shape->id_index, 8, shape->big);
	for (uint64_t i = 0; i < shape->id_index; i++) {
		put(to, 500 + i, 8, shape->big);
		put(to, i, 8, shape->big);
		put(to, UINT64_MAX, 8, shape->big);
		put(to, UINT64_MAX, 8, shape->big);
	}
	end_record(to, shape, at);
}

static void add_want(struct made *made, nstime time, int32_t cpu, int32_t tid)
{
	made->wants = mem_grow(made->wants, made->nwants, &made->capacity, sizeof *made->wants);
	made->wants[made->nwants++] = (struct want){time, cpu, tid};
}

/* Each round has a run of each CPU; times interleave, so that the file is not in order. */
static void make_rounds(struct made *made)
{
	const struct shape *shape = made->shape;
	uint32_t rounds = (shape->samples + ROUND * CPUS - 1) / (ROUND * CPUS);

	for (uint32_t k = 0; k < rounds; k++) {
		for (int32_t cpu = 0; cpu < CPUS; cpu++)
			for (uint32_t n = 0; n < ROUND; n++) {
				uint32_t i = k * ROUND + n;
				if (shape->flags & BACKWARD)
					i = rounds * ROUND - 1 - i;
				if (shape->late && n % shape->late < 2 && n + 1 < ROUND &&
				    n / shape->late * shape->late + 1 < ROUND)
					i ^= 1; /* the pair changes places */
				struct want want = {1000000 + (nstime)i * 30 + cpu * 7,
						    shape->sample_type & CPU ? cpu : -1, 200 + cpu};
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
	uint64_t attrs = 104 + 8 * shape->nattrs, entry = shape->attr_bytes + 16;

	put(to, UINT64_C(0x32454c4946524550), 8, big); /* PERFILE2 */
	put(to, shape->form == FORM_PIPE ? 16 : 104, 8, big);
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
	for (unsigned i = 0; i < 6; i++)
		put(to, 0, 8, big);
	for (uint32_t i = 0; i < shape->nattrs; i++)
		put(to, 500 + i, 8, big);
	for (uint32_t i = 0; i < shape->nattrs; i++) {
		put_attr(to, shape);
		put(to, 104 + 8 * i, 8, big);
		put(to, 8, 8, big);
	}
}

static void make(const struct shape *shape, struct made *made)
{
	struct buf samples;

	*made = (struct made){.shape = shape};
	make_rounds(made);
	if (shape->form == FORM_ZSTD)
		compress(made);
	samples = made->data;
	made->data = (struct buf){0};
	if (shape->id_index)
		put_id_index(&made->data, shape);
	put_comm(&made->data, shape, 77);
	add_want(made, NSTIME_MIN, -1, 77);
	buf_add(&made->data, samples.data, samples.len);
	buf_release(&samples);
	put_head(made);
}

static void made_release(struct made *made)
{
	buf_release(&made->head);
	buf_release(&made->data);
	for (int i = 0; i < CPUS; i++)
		buf_release(&made->parts[i]);
	mem_free(made->wants);
}

/* Writes the first `size` bytes; the path is the caller's. */
static char *write_made(const struct made *made, const char *folder, size_t size)
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
	for (int i = 0; i < CPUS; i++) {
		char name[24], *part;
		snprintf(name, sizeof name, "data.%d", i);
		part = path_join(path, name);
		write_file(part, made->parts[i].data, made->parts[i].len);
		mem_free(part);
	}
	buf_release(&all);
	return path;
}

static int by_want(const void *a, const void *b)
{
	const struct want *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

struct got {
	struct want *items;
	size_t count, capacity;
	size_t unsorted, descending, packets;
	struct records records;
};

static void take_packet(struct trace *trace, const struct stream *stream, struct decoder *decoder,
			const struct packet_info *info, struct got *out)
{
	const struct reader *reader = decoded_reader(trace, stream);
	static const char *const name[] = {"tid"};
	struct batch *batch = mem_new(sizeof *batch);
	struct fields fields;
	struct field field;
	struct error err;

	assert_true(reader->decoder_open(decoder, info, &err));
	batch->capacity = 37;
	while (reader->decoder_next(decoder, batch, &err) == STEP_ITEM)
		for (uint32_t i = 0; i < batch->count; i++) {
			assert_true(reader->decoder_fields(decoder, batch, i, &fields, &err));
			assert_true(
				fields_get(&fields, 1u << SCOPE_PAYLOAD, name, 1, &field) ||
				fields_get(&fields, 1u << SCOPE_EVENT_CONTEXT, name, 1, &field));
			assert_true(batch->time[i] >= info->rec.min);
			assert_true(batch->time[i] <= info->rec.max);
			out->items = mem_grow(out->items, out->count, &out->capacity,
					      sizeof *out->items);
			out->items[out->count++] =
				(struct want){batch->time[i], info->rec.cpu, (int32_t)field.slot.s};
		}
	reader->decoder_leave(decoder);
	mem_free(batch);
}

/* All events of the trace, packet by packet, the last packet first. */
static void take_all(struct trace *trace, struct got *out)
{
	*out = (struct got){0};
	for (size_t s = 0; s < trace->nstreams; s++) {
		const struct stream *stream = trace->streams[s];
		const struct reader *reader = decoded_reader(trace, stream);
		struct decoder *decoder = reader->decoder_new(stream);
		struct records records = {0};
		records_scan(trace, stream, NULL, &records);
		assert_int_equal(records.errors, 0);
		for (size_t i = records.count; i-- > 0;) {
			take_packet(trace, stream, decoder, &records.items[i], out);
			out->unsorted += !!(records.items[i].rec.flags & PACKET_UNSORTED);
			out->descending += !!(records.items[i].rec.flags & PACKET_DESCENDING);
			out->packets++;
		}
		records_release(&records);
		reader->decoder_free(decoder);
	}
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, by_want);
}

static struct trace *open_made(const char *path, struct said *said)
{
	struct trace *trace;
	struct error err;

	if (!decoded_open(path, said, &trace, &err))
		fail_msg("%s", err.text);
	return trace;
}

static void equal_wants(struct made *made, const struct got *got)
{
	qsort(made->wants, made->nwants, sizeof *made->wants, by_want);
	assert_int_equal(got->count, made->nwants);
	for (size_t i = 0; i < got->count; i++) {
		assert_true(got->items[i].time == made->wants[i].time);
		assert_int_equal(got->items[i].cpu, made->wants[i].cpu);
		assert_int_equal(got->items[i].tid, made->wants[i].tid);
	}
}

/* What was written is what is read, in every form. */
static void read_back(void **state)
{
	const struct shape *shape = *state;
	char *folder = scratch_folder();
	struct made made;
	struct said said;
	struct got got;

	make(shape, &made);
	char *path = write_made(&made, folder, SIZE_MAX);
	struct trace *trace = open_made(path, &said);
	assert_int_equal(said.damages, shape->form == FORM_OPEN);
	take_all(trace, &got);
	equal_wants(&made, &got);
	if (shape->flags & BACKWARD)
		assert_int_equal(got.descending, got.packets - 1); /* all but the timeless one */
	assert_int_equal(got.unsorted > 0, shape->late > 0);
	assert_int_equal(said.damages, shape->form == FORM_OPEN);
	trace_close(trace);
	mem_free(got.items);
	mem_free(path);
	made_release(&made);
	scratch_remove(folder);
}

static const struct shape shapes[] = {
	{"file", FORM_FILE, false, 128, USUAL, ID_ALL, 3000, 1, 0, 0},
	{"file, more than one packet of each CPU", FORM_FILE, false, 128, USUAL, ID_ALL, 60000, 1,
	 0, 0},
	{"big endian", FORM_FILE, true, 128, USUAL, ID_ALL, 3000, 1, 0, 0},
	{"attributes of 64 bytes", FORM_FILE, false, 64, USUAL, ID_ALL, 300, 1, 0, 0},
	{"attributes of 72 bytes", FORM_FILE, false, 72, USUAL, ID_ALL, 300, 1, 0, 0},
	{"attributes of 136 bytes", FORM_FILE, false, 136, USUAL, ID_ALL, 300, 1, 0, 0},
	{"attributes of a future size", FORM_FILE, false, 200, USUAL, ID_ALL, 300, 1, 0, 0},
	{"no id trailers", FORM_FILE, false, 64, USUAL, 0, 300, 1, 0, 0},
	{"three attributes", FORM_FILE, false, 128, USUAL | IDENTIFIER, ID_ALL, 3000, 3, 0, 0},
	{"three attributes, big endian", FORM_FILE, true, 128, USUAL | IDENTIFIER, ID_ALL, 3000, 3,
	 0, 0},
	{"pipe", FORM_PIPE, false, 128, USUAL, ID_ALL, 3000, 1, 0, 0},
	{"pipe, big endian, three attributes", FORM_PIPE, true, 128, USUAL | IDENTIFIER, ID_ALL,
	 3000, 3, 0, 0},
	{"directory", FORM_DIRECTORY, false, 128, USUAL, ID_ALL, 3000, 1, 0, 0},
	{"zstd, records cut by payloads", FORM_ZSTD, false, 128, USUAL, ID_ALL, 30000, 1, 0, 0},
	{"zstd, big endian", FORM_ZSTD, true, 128, USUAL, ID_ALL, 3000, 1, 0, 0},
	{"no size in the header", FORM_OPEN, false, 128, USUAL, ID_ALL, 3000, 1, 0, 0},
	{"no CPU: lanes", FORM_FILE, false, 128, IP | TID | TIME | PERIOD, ID_ALL, 3000, 1, CPUS,
	 0},
	{"overwritten rings run backwards", FORM_FILE, false, 128, USUAL, ID_ALL | BACKWARD, 3000,
	 1, 0, 0},
	{"late records", FORM_FILE, false, 128, USUAL, ID_ALL, 3000, 1, 0, 10},
};

/* Lanes: each run of a ring buffer is in order, and packets of one lane do not overlap. */
static void lanes_in_order(void **state)
{
	static const struct shape shape = {"lanes", FORM_FILE, false, 128,  IP | TID | TIME,
					   ID_ALL,  60000,     1,     CPUS, 0};
	char *folder = scratch_folder();
	struct made made;
	struct said said;

	(void)state;
	make(&shape, &made);
	char *path = write_made(&made, folder, SIZE_MAX);
	struct trace *trace = open_made(path, &said);
	assert_int_equal(trace->nstreams, CPUS + 1);
	for (size_t s = 0; s < CPUS; s++) {
		struct records records = {0};
		char name[16];
		snprintf(name, sizeof name, "lane%zu", s);
		assert_string_equal(trace->streams[s]->name, name);
		records_scan(trace, trace->streams[s], NULL, &records);
		assert_true(records.count > 1);
		for (size_t i = 0; i < records.count; i++) {
			assert_false(records.items[i].rec.flags & PACKET_UNSORTED);
			assert_int_equal(records.items[i].rec.cpu, -1);
			if (i)
				assert_true(records.items[i].rec.min >=
					    records.items[i - 1].rec.max);
		}
		records_release(&records);
	}
	trace_close(trace);
	mem_free(path);
	made_release(&made);
	scratch_remove(folder);
}

/*
 * A file that grows in ten steps, cut anywhere; scans are kept from one opening to the next, and go
 * on from before the first OPEN record. The end equals one scan of all.
 */
static void grows_in_steps(void **state)
{
	const struct shape *shape = *state;
	char *folder = scratch_folder();
	struct records kept[CPUS + 1] = {{0}};
	struct scan at[CPUS + 1] = {{0}};
	struct trace *trace = NULL;
	struct made made;
	struct said said;
	uint64_t random = 5;

	make(shape, &made);
	size_t whole = made.head.len + made.data.len, size = made.head.len + 40;
	for (char *path;; size += next_random(&random) % (whole / 5)) {
		trace_close(trace);
		path = write_made(&made, folder, size);
		trace = open_made(path, &said);
		mem_free(path);
		for (size_t s = 0; s < trace->nstreams && s <= CPUS; s++) {
			struct records more = {0};
			size_t good = 0;
			while (good < kept[s].count &&
			       !(kept[s].items[good].rec.flags & PACKET_OPEN))
				good++;
			if (good < kept[s].count)
				at[s] = kept[s].before[good];
			kept[s].count = good;
			records_scan(trace, trace->streams[s], &at[s], &more);
			for (size_t i = 0; i < more.count; i++) {
				kept[s].items = mem_grow(kept[s].items, kept[s].count,
							 &kept[s].capacity, sizeof *more.items);
				kept[s].before =
					mem_grow(kept[s].before, kept[s].count,
						 &kept[s].capacity_before, sizeof *more.before);
				kept[s].before[kept[s].count] = more.before[i];
				kept[s].items[kept[s].count++] = more.items[i];
			}
			at[s] = more.after;
			records_release(&more);
		}
		if (size >= whole)
			break;
	}
	for (size_t s = 0; s < trace->nstreams; s++) {
		struct records once = {0};
		records_scan(trace, trace->streams[s], NULL, &once);
		assert_int_equal(kept[s].count, once.count);
		for (size_t i = 0; i < once.count; i++)
			assert_memory_equal(&kept[s].items[i].rec, &once.items[i].rec,
					    sizeof(struct packet));
		records_release(&once);
		records_release(&kept[s]);
	}
	trace_close(trace);
	made_release(&made);
	scratch_remove(folder);
}

static const struct shape growing[] = {
	{"file", FORM_OPEN, false, 128, USUAL, ID_ALL, 30000, 1, CPUS, 0},
	{"pipe", FORM_PIPE, false, 128, USUAL | IDENTIFIER, ID_ALL, 30000, 2, CPUS, 0},
	{"lanes", FORM_OPEN, false, 128, IP | TID | TIME, ID_ALL, 30000, 1, CPUS, 0},
};

struct damage { /* what is written over a record's size, and how many events that costs */
	const char *name;
	uint16_t size;
	size_t lost;
	const char *says;
};

/* One record of the middle is damaged: all others are read, and one message says where. */
static void bad_size(void **state)
{
	static const struct shape shape = {"bad",  FORM_FILE, false, 128, USUAL,
					   ID_ALL, 3000,      1,     0,   0};
	const struct damage *damage = *state;
	char *folder = scratch_folder();
	size_t record = 8 + 5 * 8, errors = 0, events = 0;
	struct made made;
	struct said said;
	char text[600] = "", where[64];

	make(&shape, &made);
	size_t at = made.data.len - (ROUND * CPUS + 20) * record - 2 * 8;
	set(&made.data, at + 6, damage->size, 2, false);
	char *path = write_made(&made, folder, SIZE_MAX);
	struct trace *trace = open_made(path, &said);
	for (size_t s = 0; s < trace->nstreams; s++) {
		struct records records = {0};
		records_scan(trace, trace->streams[s], NULL, &records);
		for (size_t i = 0; i < records.count; i++)
			events += records.items[i].rec.events;
		errors += records.errors;
		if (records.errors)
			snprintf(text, sizeof text, "%s", records.last);
		records_release(&records);
	}
	assert_int_equal(errors, 1);
	assert_int_equal(events, made.nwants - damage->lost);
	snprintf(where, sizeof where, "offset %zu", made.head.len + at);
	if (!strstr(text, where) || !strstr(text, damage->says) || !strstr(text, path))
		fail_msg("%s", text);
	trace_close(trace);
	mem_free(path);
	made_release(&made);
	scratch_remove(folder);
}

static const struct damage damages[] = {
	{"size 0", 0, 1, "size below 8"},
	{"size 7", 7, 1, "size below 8"},
	{"too short for its sample", 16, 1, "short"},
};

/* A cut inside the last record: what came before it is there, and one message. */
static void cut_off(void **state)
{
	static const struct shape shape = {"cut",  FORM_PIPE, false, 128,  USUAL,
					   ID_ALL, 300,       1,     CPUS, 0};
	char *folder = scratch_folder();
	struct records records = {0};
	size_t events = 0, errors = 0;
	struct made made;
	struct said said;

	(void)state;
	make(&shape, &made);
	char *path = write_made(&made, folder, made.head.len + made.data.len - 8 - 10);
	struct trace *trace = open_made(path, &said);
	for (size_t s = 0; s < trace->nstreams; s++) {
		records = (struct records){0};
		records_scan(trace, trace->streams[s], NULL, &records);
		for (size_t i = 0; i < records.count; i++)
			events += records.items[i].rec.events;
		errors += records.errors;
		records_release(&records);
	}
	assert_int_equal(events, made.nwants - 1);
	assert_int_equal(errors + said.damages, 1);
	trace_close(trace);
	mem_free(path);
	made_release(&made);
	scratch_remove(folder);
}

struct corpus_row { /* counts by perf report --stats; damaged: what is before the damage */
	const char *file;
	size_t samples, others;
};

static const struct corpus_row corpus_rows[] = {
	{"clockid-mono/perf.data", 448, 294},
	{"cpu-clock/perf.data", 254, 136},
	{"cpu-clock-callchain/perf.data", 250, 136},
	{"dwarf-stack/perf.data", 67, 554},
	{"group-read/perf.data", 2, 11},
	{"lost/perf.data", 5268, 303},
	{"mixed-attrs/perf.data", 3260, 554},
	{"namespaces-cgroup/perf.data", 76, 158},
	{"no-buildid-noinherit/perf.data", 6, 11},
	{"overwrite/perf.data", 105, 286},
	{"sched-callchain/perf.data", 49, 17},
	{"sched-syscalls/perf.data", 2483, 339},
	{"switch-events/perf.data", 349, 7153},
	{"switch-events-task/perf.data", 82, 1082},
	{"synth-intel-pt/perf.data", 0, 11},
	{"synth-sw-attr64/perf.data", 13, 7},
	{"synth-sw-be/perf.data", 14, 7},
	{"synth-sw-le/perf.data", 14, 7},
	{"syscalls-named/perf.data", 414, 17},
	{"threads-dir/perf.data", 97, 289},
	{"zstd/perf.data", 986, 18},
	{"pipe/perf.pipe", 138, 313},
	{"pipe-zstd/perf.pipe", 110, 18},
};

static void corpus_counts(void **state)
{
	const struct corpus_row *row = *state;
	const char *corpus = getenv("YORE_CORPUS");
	char *path = path_join(corpus ? corpus : "/nowhere", "perf-data");
	char *file = path_join(path, row->file);
	size_t samples = 0, others = 0;
	struct said said;

	mem_free(path);
	if (access(file, R_OK) != 0) {
		mem_free(file);
		print_message("no corpus: YORE_CORPUS names no folder\n");
		skip();
		return;
	}
	struct trace *trace = open_made(file, &said);
	for (size_t s = 0; s < trace->nstreams; s++) {
		const struct stream *stream = trace->streams[s];
		struct decoder *decoder = decoded_reader(trace, stream)->decoder_new(stream);
		struct records records = {0};
		struct decoded decoded = {0};
		records_scan(trace, stream, NULL, &records);
		assert_int_equal(records.errors, 0);
		for (size_t i = 0; i < records.count; i++)
			decode_packet(trace, stream, decoder, &records.items[i], DIGEST_ALL,
				      &decoded);
		assert_int_equal(decoded.errors, 0);
		for (size_t i = 0; i < decoded.count; i++)
			if (trace->classes[decoded.events[i].class_index]->id < 0x10000)
				samples++;
			else
				others++;
		decoded_release(&decoded);
		records_release(&records);
		decoded_reader(trace, stream)->decoder_free(decoder);
	}
	assert_int_equal(samples, row->samples);
	assert_int_equal(others, row->others);
	assert_int_equal(said.damages, 0);
	trace_close(trace);
	mem_free(file);
}

enum { TESTS = COUNT(shapes) + COUNT(growing) + COUNT(damages) + COUNT(corpus_rows) + 2 };

int main(void)
{
	struct CMUnitTest tests[TESTS];
	size_t n = 0;

#define ROW(title, function, row)                                     \
	tests[n++] = (struct CMUnitTest)                              \
	{                                                             \
		title, function, NULL, NULL, (void *)(uintptr_t)(row) \
	}
	for (size_t i = 0; i < COUNT(shapes); i++)
		ROW(shapes[i].name, read_back, &shapes[i]);
	for (size_t i = 0; i < COUNT(growing); i++)
		ROW(growing[i].name, grows_in_steps, &growing[i]);
	for (size_t i = 0; i < COUNT(damages); i++)
		ROW(damages[i].name, bad_size, &damages[i]);
	for (size_t i = 0; i < COUNT(corpus_rows); i++)
		ROW(corpus_rows[i].file, corpus_counts, &corpus_rows[i]);
	ROW("lanes are in order", lanes_in_order, NULL);
	ROW("cut off in the last record", cut_off, NULL);
#undef ROW
	return cmocka_run_group_tests(tests, NULL, NULL);
}
