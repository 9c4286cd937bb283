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
#include "tests/engine/perf_made.h"
#include "tests/harness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
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
	batch_free(batch);
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

	made_new(shape, &made);
	char *path = made_write(&made, folder, SIZE_MAX);
	struct trace *trace = open_made(path, &said);
	assert_int_equal(said.damages, shape->form == FORM_OPEN);
	take_all(trace, &got);
	equal_wants(&made, &got);
	if (shape->flags & MADE_BACKWARD)
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
	{"file", FORM_FILE, false, 128, MADE_USUAL, MADE_ID_ALL, 3000, 1, 0, 0},
	{"file, more than one packet of each CPU", FORM_FILE, false, 128, MADE_USUAL, MADE_ID_ALL,
	 60000, 1, 0, 0},
	{"big endian", FORM_FILE, true, 128, MADE_USUAL, MADE_ID_ALL, 3000, 1, 0, 0},
	{"attributes of 64 bytes", FORM_FILE, false, 64, MADE_USUAL, MADE_ID_ALL, 300, 1, 0, 0},
	{"attributes of 72 bytes", FORM_FILE, false, 72, MADE_USUAL, MADE_ID_ALL, 300, 1, 0, 0},
	{"attributes of 136 bytes", FORM_FILE, false, 136, MADE_USUAL, MADE_ID_ALL, 300, 1, 0, 0},
	{"attributes of a future size", FORM_FILE, false, 200, MADE_USUAL, MADE_ID_ALL, 300, 1, 0,
	 0},
	{"no id trailers", FORM_FILE, false, 64, MADE_USUAL, 0, 300, 1, 0, 0},
	{"three attributes", FORM_FILE, false, 128, MADE_USUAL | MADE_IDENTIFIER, MADE_ID_ALL, 3000,
	 3, 0, 0},
	{"three attributes, big endian", FORM_FILE, true, 128, MADE_USUAL | MADE_IDENTIFIER,
	 MADE_ID_ALL, 3000, 3, 0, 0},
	{"pipe", FORM_PIPE, false, 128, MADE_USUAL, MADE_ID_ALL, 3000, 1, 0, 0},
	{"pipe, big endian, three attributes", FORM_PIPE, true, 128, MADE_USUAL | MADE_IDENTIFIER,
	 MADE_ID_ALL, 3000, 3, 0, 0},
	{"directory", FORM_DIRECTORY, false, 128, MADE_USUAL, MADE_ID_ALL, 3000, 1, 0, 0},
	{"zstd, records cut by payloads", FORM_ZSTD, false, 128, MADE_USUAL, MADE_ID_ALL, 30000, 1,
	 0, 0},
	{"zstd, big endian", FORM_ZSTD, true, 128, MADE_USUAL, MADE_ID_ALL, 3000, 1, 0, 0},
	{"no size in the header", FORM_OPEN, false, 128, MADE_USUAL, MADE_ID_ALL, 3000, 1, 0, 0},
	{"no CPU: lanes", FORM_FILE, false, 128, MADE_IP | MADE_TID | MADE_TIME | MADE_PERIOD,
	 MADE_ID_ALL, 3000, 1, MADE_CPUS, 0},
	{"overwritten rings run backwards", FORM_FILE, false, 128, MADE_USUAL,
	 MADE_ID_ALL | MADE_BACKWARD, 3000, 1, 0, 0},
	{"version 1", FORM_OLD, false, 72, MADE_USUAL, MADE_ID_ALL, 3000, 1, 0, 0},
	{"version 1, big endian, attributes of 64 bytes", FORM_OLD, true, 64,
	 MADE_USUAL | MADE_IDENTIFIER, 0, 3000, 3, 0, 0},
	{"version 1 without features", FORM_OLDEST, false, 64, MADE_USUAL, 0, 300, 1, 0, 0},
	{"version 1 without features, big endian", FORM_OLDEST, true, 64, MADE_USUAL, 0, 300, 1, 0,
	 0},
	{"late records", FORM_FILE, false, 128, MADE_USUAL, MADE_ID_ALL, 3000, 1, 0, 10},
};

/* Lanes: each run of a ring buffer is in order, and packets of one lane do not overlap. */
static void lanes_in_order(void **state)
{
	static const struct shape shape = {
		"lanes",     FORM_FILE, false, 128,       MADE_IP | MADE_TID | MADE_TIME,
		MADE_ID_ALL, 60000,     1,     MADE_CPUS, 0};
	char *folder = scratch_folder();
	struct made made;
	struct said said;

	(void)state;
	made_new(&shape, &made);
	char *path = made_write(&made, folder, SIZE_MAX);
	struct trace *trace = open_made(path, &said);
	assert_int_equal(trace->nstreams, MADE_CPUS + 1);
	for (size_t s = 0; s < MADE_CPUS; s++) {
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
	struct records kept[MADE_CPUS + 1] = {{0}};
	struct scan at[MADE_CPUS + 1] = {{0}};
	struct trace *trace = NULL;
	struct made made;
	struct said said;
	struct rng random = {5};

	made_new(shape, &made);
	size_t whole = made.head.len + made.data.len, size = made.head.len + 40;
	for (char *path;; size += rng_next(&random) % (whole / 5)) {
		trace_close(trace);
		path = made_write(&made, folder, size);
		trace = open_made(path, &said);
		mem_free(path);
		for (size_t s = 0; s < trace->nstreams && s <= MADE_CPUS; s++) {
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
	{"file", FORM_OPEN, false, 128, MADE_USUAL, MADE_ID_ALL, 30000, 1, MADE_CPUS, 0},
	{"pipe", FORM_PIPE, false, 128, MADE_USUAL | MADE_IDENTIFIER, MADE_ID_ALL, 30000, 2,
	 MADE_CPUS, 0},
	{"lanes", FORM_OPEN, false, 128, MADE_IP | MADE_TID | MADE_TIME, MADE_ID_ALL, 30000, 1,
	 MADE_CPUS, 0},
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
	static const struct shape shape = {"bad",       FORM_FILE, false, 128, MADE_USUAL,
					   MADE_ID_ALL, 3000,      1,     0,   0};
	const struct damage *damage = *state;
	char *folder = scratch_folder();
	size_t record = 8 + 5 * 8, errors = 0, events = 0;
	struct made made;
	struct said said;
	char text[600] = "", where[64];

	made_new(&shape, &made);
	size_t at = made.data.len - (MADE_ROUND * MADE_CPUS + 20) * record - 2 * 8;
	made_set(&made.data, at + 6, damage->size, 2, false);
	char *path = made_write(&made, folder, SIZE_MAX);
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

/* Files of one recorder have the same ids and attributes; their first samples differ. */
static void files_of_one_recorder_are_told_apart(void **state)
{
	const struct shape *shape = &shapes[0];
	char *folder = scratch_folder();
	uint64_t identity[3];

	(void)state;
	for (int i = 0; i < 3; i++) { /* the third is the first again */
		struct made made;
		struct said said;
		size_t at = 0;
		made_new(shape, &made);
		while (made.data.data[at] != 9)
			at += (size_t)(uint8_t)made.data.data[at + 6] |
			      (size_t)(uint8_t)made.data.data[at + 7] << 8;
		if (i == 1)
			made.data.data[at + 8] ^= 1; /* its address */
		char *path = made_write(&made, folder, SIZE_MAX);
		struct trace *trace = open_made(path, &said);
		identity[i] = trace->parts[0]->identity[0];
		trace_close(trace);
		mem_free(path);
		made_release(&made);
	}
	assert_true(identity[0] != identity[1]);
	assert_true(identity[0] == identity[2]);
	scratch_remove(folder);
}

/* Attributes that all point to the same ids, more of them than the file has bytes. */
static void ids_told_again_and_again(void **state)
{
	enum { ATTRS = 8, ENTRY = 80, HEAD = 104, IDS = 1 << 16 };
	char *folder = scratch_folder();
	struct buf file = {0};
	struct trace *trace;
	struct said said;
	struct error err;

	(void)state;
	buf_add(&file, "PERFILE2", 8);
	memset(buf_room(&file, HEAD + ATTRS * ENTRY + IDS), 0, HEAD + ATTRS * ENTRY + IDS);
	file.len = HEAD + ATTRS * ENTRY + IDS;
	made_set(&file, 8, HEAD, 8, false);
	made_set(&file, 16, ENTRY, 8, false);
	made_set(&file, 24, HEAD, 8, false);
	made_set(&file, 32, ATTRS * ENTRY, 8, false);
	made_set(&file, 40, HEAD + ATTRS * ENTRY, 8, false);
	for (size_t i = 0, at = HEAD; i < ATTRS; i++, at += ENTRY) {
		made_set(&file, at + 4, 64, 4, false);
		made_set(&file, at + 64, HEAD + ATTRS * ENTRY, 8, false);
		made_set(&file, at + 72, IDS, 8, false);
	}
	char *path = path_join(folder, "perf.data");
	write_file(path, file.data, file.len);
	assert_false(decoded_open(path, &said, &trace, &err));
	assert_non_null(strstr(err.text, "65536 bytes of ids at offset 744"));
	mem_free(path);
	buf_release(&file);
	scratch_remove(folder);
}

/* A cut inside the last record: what came before it is there, and one message. */
static void cut_off(void **state)
{
	static const struct shape shape = {"cut",       FORM_PIPE, false, 128,       MADE_USUAL,
					   MADE_ID_ALL, 300,       1,     MADE_CPUS, 0};
	char *folder = scratch_folder();
	struct records records = {0};
	size_t events = 0, errors = 0;
	struct made made;
	struct said said;

	(void)state;
	made_new(&shape, &made);
	char *path = made_write(&made, folder, made.head.len + made.data.len - 8 - 10);
	struct trace *trace = open_made(path, &said);
	for (size_t s = 0; s < trace->nstreams; s++) {
		const struct stream *stream = trace->streams[s];
		struct decoder *decoder = decoded_reader(trace, stream)->decoder_new(stream);
		struct decoded decoded = {0};
		records = (struct records){0};
		records_scan(trace, stream, NULL, &records);
		for (size_t i = 0; i < records.count; i++)
			decode_packet(trace, stream, decoder, &records.items[i], SUMMARY_ALL,
				      &decoded);
		events += decoded.count;
		errors += records.errors + decoded.errors;
		decoded_release(&decoded);
		records_release(&records);
		decoded_reader(trace, stream)->decoder_free(decoder);
	}
	assert_int_equal(events, made.nwants - 1);
	assert_int_equal(errors + said.damages, 1);
	trace_close(trace);
	mem_free(path);
	made_release(&made);
	scratch_remove(folder);
}

struct reading {
	struct trace *trace;
	size_t first, events;
	pthread_t thread;
};

/* Asserts nothing: cmocka's own may fail in one thread only. */
static void *read_streams(void *arg)
{
	struct reading *reading = arg;
	struct trace *trace = reading->trace;
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	struct packet_info info;
	struct error err;

	batch->capacity = BATCH_MAX;
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream =
			trace->streams[(reading->first + i) % trace->nstreams];
		const struct reader *reader = decoded_reader(trace, stream);
		struct decoder *decoder = reader->decoder_new(stream);
		struct scan scan = {0};
		while (reader->scan(stream, &scan, &info, &err) == STEP_ITEM) {
			if (!reader->decoder_open(decoder, &info, &err))
				break;
			while (reader->decoder_next(decoder, batch, &err) == STEP_ITEM)
				reading->events += batch->count;
			reader->decoder_leave(decoder);
		}
		reader->decoder_free(decoder);
	}
	batch_free(batch);
	return NULL;
}

/* All streams share one walk; each thread begins with another stream and reads them all. */
static void share_the_walk(enum form form)
{
	struct shape shape = {.name = "shared",
			      .form = form,
			      .attr_bytes = 128,
			      .sample_type = MADE_USUAL,
			      .flags = MADE_ID_ALL,
			      .samples = 60000,
			      .nattrs = 1};
	char *folder = scratch_folder();
	struct reading readings[4];
	struct made made;
	struct said said;

	made_new(&shape, &made);
	char *path = made_write(&made, folder, SIZE_MAX);
	struct trace *trace = open_made(path, &said);
	for (size_t i = 0; i < COUNT(readings); i++) {
		struct reading *reading = &readings[i];
		*reading = (struct reading){.trace = trace, .first = i};
		assert_int_equal(pthread_create(&reading->thread, NULL, read_streams, reading), 0);
	}
	for (size_t i = 0; i < COUNT(readings); i++) {
		pthread_join(readings[i].thread, NULL);
		assert_int_equal(readings[i].events, made.nwants);
	}
	trace_close(trace);
	mem_free(path);
	made_release(&made);
	scratch_remove(folder);
}

static void threads_share_the_walk(void **state)
{
	(void)state;
	share_the_walk(FORM_FILE);
	share_the_walk(FORM_PIPE);
	share_the_walk(FORM_DIRECTORY);
	share_the_walk(FORM_ZSTD);
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
			decode_packet(trace, stream, decoder, &records.items[i], SUMMARY_ALL,
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

/* What a recording is of: the first that the file has decides, ids before the map. */
static const struct recording_row {
	const char *name;
	uint32_t id_index;
	struct made_whose whose;
	enum recording recording;
	int64_t task; /* 0: none is named */
} recordings[] = {
	{"recording: nothing says whose", 0, {0}, RECORDING_UNKNOWN, 0},
	{"recording: ids opened on a thread", 2, {.opened_on = 41}, RECORDING_TASKS, 41},
	{"recording: ids opened on all", 2, {0}, RECORDING_CPUS, 0},
	{"recording: ids before the map", 2, {.map_of = 41}, RECORDING_CPUS, 0},
	{"recording: the map names a thread", 0, {.map_of = 42}, RECORDING_TASKS, 42},
	{"recording: the map before the command",
	 0,
	 {.map_of = -1, .command = "/bin/perf record -p 9"},
	 RECORDING_CPUS,
	 0},
	{"recording: the command has all CPUs",
	 0,
	 {.command = "/bin/perf record -ag sleep 1"},
	 RECORDING_CPUS,
	 0},
	{"recording: the command names a process",
	 0,
	 {.command = "perf record -e x --pid=9"},
	 RECORDING_TASKS,
	 0},
	{"recording: the recorded command has the option",
	 0,
	 {.command = "perf record -- ls -a"},
	 RECORDING_UNKNOWN,
	 0},
	{"recording: another command", 0, {.command = "perf trace -a"}, RECORDING_UNKNOWN, 0},
};

static void of_whom(const struct shape *shape, const struct recording_row *row)
{
	char *folder = scratch_folder();
	const struct part *part;
	struct made made;
	struct said said;

	made_new_of(shape, &row->whose, &made);
	char *path = made_write(&made, folder, SIZE_MAX);
	struct trace *trace = open_made(path, &said);
	part = trace->parts[0];
	assert_int_equal(part->recording, row->recording);
	assert_int_equal(part->ntasks, row->task != 0);
	if (part->ntasks)
		assert_int_equal(part->tasks[0], row->task);
	trace_close(trace);
	mem_free(path);
	made_release(&made);
	scratch_remove(folder);
}

static void says_whose(void **state)
{
	const struct recording_row *row = *state;
	struct shape shape = {.name = row->name,
			      .form = FORM_PIPE,
			      .attr_bytes = 128,
			      .sample_type = MADE_USUAL | MADE_IDENTIFIER,
			      .flags = MADE_ID_ALL,
			      .samples = 10,
			      .nattrs = 1,
			      .id_index = row->id_index};

	of_whom(&shape, row);
	shape.big = true;
	of_whom(&shape, row);
}

static void begins_with_a_command(void **state)
{
	static const struct recording_row row = {.recording = RECORDING_TASKS};
	static const struct shape shape = {.form = FORM_FILE,
					   .attr_bytes = 64,
					   .sample_type = MADE_USUAL,
					   .flags = MADE_ID_ALL | MADE_ENABLE_ON_EXEC,
					   .samples = 10,
					   .nattrs = 1};

	(void)state;
	of_whom(&shape, &row);
}

enum {
	TESTS = COUNT(recordings) + COUNT(shapes) + COUNT(growing) + COUNT(damages) +
		COUNT(corpus_rows) + 6
};

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
	for (size_t i = 0; i < COUNT(recordings); i++)
		ROW(recordings[i].name, says_whose, &recordings[i]);
	ROW("recording: events began with a command", begins_with_a_command, NULL);
	ROW("lanes are in order", lanes_in_order, NULL);
	ROW("ids told again and again", ids_told_again_and_again, NULL);
	ROW("files of one recorder are told apart", files_of_one_recorder_are_told_apart, NULL);
	ROW("threads share the walk", threads_share_the_walk, NULL);
	ROW("cut off in the last record", cut_off, NULL);
#undef ROW
	return cmocka_run_group_tests(tests, NULL, NULL);
}
