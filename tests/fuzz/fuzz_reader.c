/*
 * fuzz_reader.c - reads any bytes as a trace file: damage is reported, nothing else happens
 *
 * Compiled once per format (FUZZ_FORMAT), for the 2010 proposal (FUZZ_RFC), for files in which
 * CTF's packets are searched (FUZZ_GATHER), for two files of perf record --switch-output
 * (FUZZ_TURNS) and for GDB's CTF (FUZZ_GDB). The file is opened as the program opens it, packets
 * are found, decoded alone, walked field by field and written as text; maps and hardware trace are
 * read; then all goes through the index once more, merged.
 *
 * Promises: packets lie in their sources, batches fit, a mark leads back, an event lies within the
 * bounds that its packet calls exact (where a walk over all events says so: perf; pages are looked
 * at by their heads), a record's count is what decoding gives, merged times rise, and every message
 * is one line.
 *
 * With replay.c it is a plain program that reads files.
 */
#include "engine/hwtrace/aux.h"
#include "engine/base/mem.h"
#include "engine/reader.h"
#include "index/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum; /* sum of all values, so that the compiler keeps the reads */

static void require(bool promise, const char *what)
{
	if (promise)
		return;
	fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

static void check_line(const char *text)
{
	require(text[0] && !strchr(text, '\n'), "a message is one line");
}

static bool told_late; /* a note said that an event comes after later ones */

static void say(void *arg, enum notice_kind kind, const char *text)
{
	(void)arg;
	(void)kind;
	check_line(text);
	told_late = told_late || strstr(text, "was found late");
}

static void walk(const struct field *field)
{
	struct buf scratch = {0};
	struct field_iter iter;
	size_t len;

	if (field_is_text(field) || field->class->is_blob) {
		const uint8_t *bytes = field_bytes(field, &scratch, &len);
		for (size_t i = 0; i < len; i++)
			sum += bytes[i];
		buf_release(&scratch);
		return;
	}
	sum += field->slot.u + field->slot.n;
	field_iter_begin(&iter, field);
	while (field_iter_next(&iter))
		walk(&iter.item);
	field_iter_end(&iter);
}

static void walk_event(const struct reader *reader, const struct fields *fields)
{
	struct buf text = {0};
	struct field scope;

	for (int s = 0; s < SCOPE_COUNT; s++)
		if (fields_scope(fields, (enum scope)s, &scope))
			walk(&scope);
	if (reader->text && reader->text->write(fields, &text))
		sum += text.len;
	buf_release(&text);
}

static void check_batch(const struct reader *reader, struct decoder *decoder,
			const struct packet *packet, const struct batch *batch)
{
	bool walked = !strcmp(reader->format, "perf") || !strcmp(reader->format, "ovni");
	uint32_t exact = walked ? packet->flags : 0;
	struct error err = {0};
	struct fields fields;

	for (uint32_t i = 0; i < batch->count; i++) {
		require(!(exact & PACKET_EXACT_MIN) || batch->time[i] >= packet->min,
			"no event is before an exact minimum");
		require(!(exact & PACKET_EXACT_MAX) || batch->time[i] <= packet->max,
			"no event is after an exact maximum");
		if (reader->decoder_fields(decoder, batch, i, &fields, &err))
			walk_event(reader, &fields);
		else
			check_line(err.text);
	}
}

static void check_packet(const struct reader *reader, struct decoder *decoder, struct batch *batch,
			 const struct packet_info *info)
{
	uint32_t events = 0, capacity = BATCH_MIN;
	enum step step = STEP_ITEM;
	struct error err = {0};
	struct mark mark;
	bool again = true;

	if (!reader->decoder_open(decoder, info, &err)) {
		check_line(err.text);
		return;
	}
	while (step == STEP_ITEM) {
		batch->capacity = capacity;
		reader->decoder_mark(decoder, &mark);
		step = reader->decoder_next(decoder, batch, &err);
		require(batch->count <= batch->capacity, "a batch holds what it can");
		require(step != STEP_ITEM || batch->count, "a batch that is given is not empty");
		if (step == STEP_ERROR)
			check_line(err.text);
		check_batch(reader, decoder, &info->rec, batch);
		if (again && step == STEP_ITEM) { /* decode again from a mark */
			uint32_t count = batch->count;
			nstime first = batch->time[0];
			again = false;
			reader->decoder_seek(decoder, &mark);
			step = reader->decoder_next(decoder, batch, &err);
			require(batch->count == count && batch->time[0] == first,
				"a mark leads back");
		}
		events += batch->count;
		capacity = capacity < BATCH_MAX ? capacity * 2 : BATCH_MAX;
	}
	require(info->rec.events == UINT32_MAX || info->rec.events == events || step == STEP_ERROR,
		"a record's count is right");
	reader->decoder_leave(decoder);
}

static void check_extents(const struct stream *stream, const struct packet_info *info)
{
	require(stream->nsources > 0, "a packet has a source");
	uint64_t size = source_size(stream_source(stream, info->rec.source));
	require(info->rec.off <= size && packet_bytes(info) <= size - info->rec.off,
		"packets lie in the file");
	for (uint32_t i = 0; i < info->nextents; i++)
		require(info->extents[i].off <= size &&
				info->extents[i].len <= size - info->extents[i].off,
			"extents lie in the file");
}

static void check_stream(const struct reader *reader, const struct stream *stream)
{
	struct decoder *decoder = reader->decoder_new(stream);
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	struct packet_info info;
	struct scan scan = {0};
	struct error err = {0};
	size_t errors = 0;
	enum step step;

	while ((step = reader->scan(stream, &scan, &info, &err)) != STEP_END) {
		if (step == STEP_ERROR) {
			check_line(err.text);
			errors += err.kind != ERR_UNKNOWN;
			require(errors <= stream->nsources, "a source ends once");
			continue;
		}
		check_extents(stream, &info);
		if (!(info.rec.flags & PACKET_EMPTY))
			check_packet(reader, decoder, batch, &info);
	}
	batch_free(batch);
	reader->decoder_free(decoder);
}

static void take_map(void *arg, const struct map_event *event)
{
	(void)arg;
	sum += event->start + event->len + (event->name ? strlen(event->name) : 0);
	for (size_t i = 0; i < event->nbuild_id; i++)
		sum += event->build_id[i];
}

static void check_aux(const struct part *part)
{
	struct error err = {0};
	struct aux aux;

	if (!aux_read(part, &aux, &err))
		check_line(err.text);
	for (size_t i = 0; i < aux.nbuffers; i++) {
		uint64_t at = 0;
		for (size_t k = 0; k < aux.buffers[i].npieces; k++) {
			const struct aux_piece *piece = &aux.buffers[i].pieces[k];
			require(piece->position == at && piece->len, "pieces lie end to end");
			require(piece->at + piece->len <= source_size(piece->source),
				"pieces lie in the file");
			at += piece->len;
		}
		require(aux.buffers[i].size == at, "a buffer is its pieces");
	}
	aux_release(&aux);
}

static void check_merged(struct trace *trace)
{
	struct index_options in_memory = {.none = true, .jobs = 1, .notices = {.say = say}};
	struct events_options all = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct error err = {0};
	struct events *events;
	struct index *index;
	struct event event;
	bool timed = true;
	nstime last = NSTIME_MIN;

	told_late = false;
	require(index_open(trace, &in_memory, &index, &err), err.text);
	require(events_open(index, &all, &events, &err), err.text);
	while (events_next(events, &event, &err) == STEP_ITEM) {
		if (timed && !event.stream->has_time)
			timed = false; /* ordinals follow, stream by stream */
		require(!timed || event.time >= last || told_late,
			"merged times rise, or it is told that they do not");
		last = event.time;
	}
	events_close(events);
	index_close(index);
}

static void check_trace(struct trace *trace)
{
	for (size_t i = 0; i < trace->nstreams; i++)
		check_stream(trace->parts[trace->streams[i]->part]->reader, trace->streams[i]);
	for (size_t i = 0; i < trace->nparts; i++) {
		const struct reader *reader = trace->parts[i]->reader;
		struct error err = {0};
		if (reader->maps && !reader->maps->all(trace->parts[i], take_map, NULL, &err))
			check_line(err.text);
		check_aux(trace->parts[i]);
	}
	check_merged(trace);
}

static void open_and_check(const char *path, const char *input)
{
	struct trace_options options = {
		.paths = &path, .npaths = 1, .input = input, .notices = {.say = say}};
	struct error err = {0};
	struct trace *trace;

	if (trace_open(&options, &trace, &err)) {
		check_trace(trace);
		trace_close(trace);
	} else {
		check_line(err.text);
	}
}

#ifdef FUZZ_FOLDER
static void put_file(const char *folder, const char *name, const uint8_t *data, size_t size)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
		abort();
}

#ifdef FUZZ_RFC /* metadata of the 2010 proposal, bare or in packets, and a stream of its section \
		   s */
static const char *const files[] = {"metadata", "s_0"};
static const char separator[] = "\xff\xff\xff\xff";
enum { SEPARATOR = sizeof separator - 1 };
#elif defined(FUZZ_GATHER) /* a byte that says how, metadata, and bytes with packets in them */
static const char *const files[] = {"metadata", "packets"};
static const char separator[] = "\xff\xff\xff\xff";
enum { SEPARATOR = sizeof separator - 1 };
#elif defined(FUZZ_TURNS)  /* two files of a recording in turns */
static const char *const files[] = {"a.2026112822044960", "a"};
static const char separator[] = "NEXTTURN";
enum { SEPARATOR = sizeof separator - 1 };
#elif defined(FUZZ_GDB) /* GDB's CTF: metadata, which ends with a zero, and packets */
static const char *const files[] = {"metadata", "datastream"};
static const char separator[] = "";
enum { SEPARATOR = 1 };
#else /* ovni: a JSON text, which ends with a zero, and events */
static const char *const files[] = {"stream.json", "stream.obs"};
static const char separator[] = "";
enum { SEPARATOR = 1 };
#endif

#ifdef FUZZ_GATHER
/* Reads the bytes as three datagrams, the first of which is the file of packets. */
static void check_datagrams(const char *folder, const uint8_t *data, size_t size)
{
	static const char *const more[] = {"packets1", "packets2"};
	char path[128];

	put_file(folder, files[1], data, size / 3);
	put_file(folder, more[0], data + size / 3, size / 3);
	put_file(folder, more[1], data + size / 3 * 2, size - size / 3 * 2);
	open_and_check(folder, "ctf,datagrams,prefix=3");
	open_and_check(folder, "ctf,datagrams");
	for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, more[i]);
		unlink(path);
	}
}

/*
 * Chooses the --input by `how`. Even: packets are searched; odd: half as many bytes stand before
 * each packet; 255: neither, the bytes are a stream file or a ring buffer; 254: they are datagrams;
 * 253: a file of datagrams with their lengths.
 */
static void gather_and_check(const char *folder, uint8_t how, const uint8_t *data, size_t size)
{
	char path[128], input[256], prefix[16];

	if (how == UINT8_MAX - 1) {
		check_datagrams(folder, data, size);
		return;
	}
	if (how == UINT8_MAX) {
		open_and_check(folder, FUZZ_FORMAT);
		return;
	}
	snprintf(prefix, sizeof prefix, "prefix=%d", how / 2);
	snprintf(path, sizeof path, "%s/%s", folder, files[1]);
	if (how == UINT8_MAX - 2) {
		snprintf(input, sizeof input, "ctf,datagrams,metadata=%s/%s", folder, files[0]);
		open_and_check(path, input);
		return;
	}
	snprintf(input, sizeof input, "ctf,%s,metadata=%s/%s", how % 2 ? prefix : "scan", folder,
		 files[0]);
	open_and_check(path, input);
}
#endif

/* Splits the input at the separator into two files of a folder. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char folder[64];
#ifdef FUZZ_GATHER
	const uint8_t how = size ? *data : 0;

	data += size > 0;
	size -= size > 0;
#endif
	const uint8_t *found = size ? memmem(data, size, separator, SEPARATOR) : NULL;
	size_t first = found ? (size_t)(found - data) : size;
	size_t second = found ? first + SEPARATOR : size;

	if (!*folder) {
		const char *memory = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
		snprintf(folder, sizeof folder, "%s/yore-fuzz-XXXXXX", memory);
		if (!mkdtemp(folder))
			abort();
	}
	put_file(folder, files[0], data, first);
	put_file(folder, files[1], data + second, size - second);
#ifdef FUZZ_GATHER
	gather_and_check(folder, how, data + second, size - second);
#else
	open_and_check(folder, FUZZ_FORMAT);
#endif
	return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	open_and_check(path, FUZZ_FORMAT);
	close(fd);
	return 0;
}
#endif
