/*
 * Files that end too soon. A small generated trace is cut at every byte and opened anew each time;
 * the corpus' traces are cut at every place where something begins or ends, one byte around it,
 * and anywhere. Whole packets give what they gave, nothing but a beginning of that is given, and
 * one message names the file and a place when the cut is inside a packet, none when it is not.
 */
#include "tests/engine/decoded.h"

#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/ctf/ctf_internal.h"
#include "tests/engine/merged.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EDGE_EVENTS = 20, RANDOM_CUTS = 500, FULL_CUTS = 4, REAL_HEADS = 3 };

/* What a stream says when nothing is cut: records and events of one of its files. */
struct whole {
	struct records records;
	struct decoded *packets; /* one per record */
	size_t errors;
};

static void whole_read(const struct trace *trace, const struct stream *stream, struct whole *out)
{
	const struct reader *reader = decoded_reader(trace, stream);
	struct decoder *decoder = reader->decoder_new(stream);

	*out = (struct whole){0};
	records_scan(trace, stream, NULL, &out->records);
	out->packets = mem_new_array(out->records.count + 1, sizeof *out->packets);
	out->errors = out->records.errors;
	for (size_t i = 0; i < out->records.count; i++) {
		decode_packet(trace, stream, decoder, &out->records.items[i], SUMMARY_ALL,
			      &out->packets[i]);
		out->errors += out->packets[i].errors;
	}
	reader->decoder_free(decoder);
}

static void whole_release(struct whole *whole)
{
	for (size_t i = 0; i < whole->records.count; i++)
		decoded_release(&whole->packets[i]);
	mem_free(whole->packets);
	records_release(&whole->records);
}

static uint64_t end_of(const struct packet_info *info)
{
	return info->rec.off + packet_bytes(info);
}

/* Names the file and "offset N" or "byte N": what a user needs to find the place. */
static void check_message(const char *text, const char *file)
{
	if (!strstr(text, file) || (!strstr(text, "offset ") && !strstr(text, "byte ")))
		fail_msg("\"%s\" does not say where", text);
}

/* The events that end before the cut, as many as can be told from where the next one begins. */
static size_t due(const struct decoded *packet, const struct packet_info *info, uint64_t cut)
{
	size_t n = 0;

	while (n + 1 < packet->count && info->rec.off * 8 + packet->events[n + 1].at <= cut * 8)
		n++;
	return n;
}

/*
 * The stream's file `source` now ends at `cut`. Packets that end before it and are not decoded
 * again were decoded from the very same bytes before.
 */
static void check_cut(const struct trace *trace, const struct stream *stream, uint32_t source,
		      uint64_t cut, const struct whole *whole, bool has_size)
{
	const struct reader *reader = decoded_reader(trace, stream);
	const char *file = source_name(stream->sources[source]);
	struct decoder *decoder = reader->decoder_new(stream);
	struct records now = {0};
	size_t i = 0, messages, last = 0;
	bool inside = false;

	records_scan(trace, stream, NULL, &now);
	messages = now.errors;
	if (now.errors)
		check_message(now.last, file);
	for (size_t k = 0; k < now.count && now.items[k].rec.source == source; k++)
		last = k;
	for (size_t k = 0; k < whole->records.count; k++) {
		const struct packet_info *was = &whole->records.items[k];
		const struct decoded *packet = &whole->packets[k];
		struct decoded got = {0};
		if (was->rec.source != source)
			continue;
		bool cut_here = was->rec.off < cut && end_of(was) > cut;
		inside |= cut_here;
		if (was->rec.off >= cut)
			continue;
		while (i < now.count &&
		       (now.items[i].rec.source != source || now.items[i].rec.off < was->rec.off))
			i++;
		if (i == now.count || now.items[i].rec.off != was->rec.off) {
			if (!cut_here || !now.errors)
				fail_msg("%s cut at %llu: no packet at %llu", file,
					 (unsigned long long)cut, (unsigned long long)was->rec.off);
			continue;
		}
		if (i < last && packet_bytes(&now.items[i]) == packet_bytes(was))
			continue;
		decode_packet(trace, stream, decoder, &now.items[i], REAL_HEADS, &got);
		messages += got.errors;
		if (got.errors && !packet->errors)
			check_message(got.last, file);
		size_t least = cut_here ? due(packet, was, cut) : packet->count;
		if (got.count < least || got.count > packet->count ||
		    !decoded_same(got.events, packet->events, got.count))
			fail_msg("%s cut at %llu: packet at %llu: %zu events of %zu, %zu due", file,
				 (unsigned long long)cut, (unsigned long long)was->rec.off,
				 got.count, packet->count, least);
		decoded_release(&got);
	}
	if (!whole->errors && (has_size ? messages != inside : messages > 1))
		fail_msg("%s cut at %llu: %zu messages (%s)", file, (unsigned long long)cut,
			 messages, now.last);
	reader->decoder_free(decoder);
	records_release(&now);
}

struct places {
	uint64_t *items;
	size_t count, capacity;
};

/* A place, and one byte around it. */
static void add_place(struct places *places, uint64_t at)
{
	for (uint64_t i = at ? at - 1 : 0; i <= at + 1; i++) {
		places->items = mem_grow(places->items, places->count, &places->capacity,
					 sizeof *places->items);
		places->items[places->count++] = i;
	}
}

static void find_places(const struct stream *stream, uint32_t source, const struct whole *whole,
			struct places *out)
{
	struct rng random = {source + 1};
	uint64_t size = source_size(stream->sources[source]);
	struct ctf_packet_head head;
	struct error err;

	for (size_t k = 0; k < whole->records.count; k++) {
		const struct packet_info *info = &whole->records.items[k];
		const struct decoded *packet = &whole->packets[k];
		uint64_t off = info->rec.off;
		if (info->rec.source != source)
			continue;
		add_place(out, off);
		add_place(out, end_of(info));
		if (packet_head_read(stream, source, off, &head, &err)) {
			add_place(out, off + head.events_at / 8);
			add_place(out, off + head.content_bits / 8);
		}
		for (size_t i = 0; i < packet->count; i++)
			if (i < EDGE_EVENTS || i + EDGE_EVENTS >= packet->count)
				add_place(out, off + packet->events[i].at / 8);
	}
	for (size_t i = 0; i < RANDOM_CUTS; i++) {
		out->items = mem_grow(out->items, out->count, &out->capacity, sizeof *out->items);
		out->items[out->count++] = rng_next(&random) % (size + 1);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static size_t cuts;

static void cut_source(const struct trace *trace, struct stream *stream, uint32_t source,
		       const struct whole *whole)
{
	const struct ctf_stream_class *class = stream_state(stream)->class;
	struct source *before = stream->sources[source];
	uint64_t size = source_size(before);
	struct places places = {0};
	struct block block;
	struct error err;

	assert_true(source_get(before, 0, (size_t)size, &block, &err));
	find_places(stream, source, whole, &places);
	qsort(places.items, places.count, sizeof *places.items, by_value);
	for (size_t i = 0; i < places.count; i++) {
		uint64_t cut = places.items[i];
		if (cut >= size || (i && cut == places.items[i - 1]))
			continue;
		stream->sources[source] = source_over(source_name(before), block.data, (size_t)cut);
		check_cut(trace, stream, source, cut, whole,
			  class->member[MEMBER_PACKET_SIZE] != NULL);
		source_close(stream->sources[source]);
		cuts++;
	}
	stream->sources[source] = before;
	source_put(&block);
	mem_free(places.items);
}

static void cut_trace(const char *path, const char *name, long events, bool good)
{
	struct trace *trace;
	struct said said;
	struct error err;

	(void)events;
	if (!decoded_open(path, &said, &trace, &err)) {
		if (good)
			fail_msg("%s: %s", name, err.text);
		return;
	}
	for (size_t i = 0; i < trace->nstreams; i++) {
		struct stream *stream = trace->streams[i];
		struct whole whole;
		whole_read(trace, stream, &whole);
		for (uint32_t s = 0; s < stream->nsources; s++)
			cut_source(trace, stream, s, &whole);
		whole_release(&whole);
	}
	trace_close(trace);
}

static void corpus_cut_in_place(void **state)
{
	(void)state;
	if (!corpus_each(cut_trace))
		skip();
	print_message("%zu cuts\n", cuts);
	assert_true(cuts > 0);
}

/* All that a trace says, stream by stream in the order of their names: events, and messages. */
struct told {
	struct decoded events;
	size_t messages;
	char last[512];
};

static bool tell(const char *path, int digests, struct told *out)
{
	struct trace *trace;
	struct said said;
	struct error err;

	*out = (struct told){0};
	if (!decoded_open(path, &said, &trace, &err)) {
		out->messages = 1;
		snprintf(out->last, sizeof out->last, "%s", err.text);
		return false;
	}
	out->messages = said.damages;
	snprintf(out->last, sizeof out->last, "%s", said.last);
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		const struct reader *reader = decoded_reader(trace, stream);
		struct decoder *decoder = reader->decoder_new(stream);
		struct records records = {0};
		records_scan(trace, stream, NULL, &records);
		for (size_t k = 0; k < records.count; k++)
			decode_packet(trace, stream, decoder, &records.items[k], digests,
				      &out->events);
		size_t more = records.errors + out->events.errors;
		const char *last = records.errors ? records.last : out->events.last;
		const char *event = strstr(last, ": event ");
		if (stream->shared && more == 1 && event &&
		    !strncmp(last, out->last, (size_t)(event - last)))
			more = 0; /* a packet of several streams: the trace tells it once */
		out->messages += more;
		if (more)
			snprintf(out->last, sizeof out->last, "%s", last);
		out->events.errors = 0;
		reader->decoder_free(decoder);
		records_release(&records);
	}
	trace_close(trace);
	return true;
}

struct rising {
	nstime last;
	size_t count;
};

static void count_rising(void *arg, struct events *events, const struct event *event)
{
	struct rising *rising = arg;

	(void)events;
	assert_true(event->time >= rising->last);
	rising->last = event->time;
	rising->count++;
}

/* The same through the index and the merge, as programs read: how many events, how many messages.
 */
static void tell_merged(const char *path, size_t *count, size_t *messages)
{
	struct rising rising = {.last = NSTIME_MIN};
	struct trace *trace;
	struct said said;
	struct error err;

	assert_true(decoded_open(path, &said, &trace, &err));
	merged_each(trace, &(const struct index_options){.none = true}, count_rising, &rising);
	*count = rising.count;
	*messages = said.damages;
	trace_close(trace);
}

/* Makes the fixture; NULL when the generator is not there. */
static char *fixture(const char *folder, const char *more)
{
	const char *top = getenv("top_builddir");
	char *tool = path_join(top ? top : ".", "fixtures/yore-gen"), *path = NULL;
	struct buf command = {0};

	if (access(tool, X_OK) == 0) {
		path = path_join(folder, "trace");
		buf_printf(&command,
			   "%s --out %s --size 16K --packet-size 4096 --cpus 1 --no-truth %s", tool,
			   path, more);
		assert_int_equal(system(buf_text(&command)), 0);
	} else {
		print_message("no fixture: %s is not there\n", tool);
	}
	buf_release(&command);
	mem_free(tool);
	return path;
}

static void fixture_cut_at_every_byte(void **state)
{
	char *folder = scratch_folder(), *path = fixture(folder, "");
	struct told whole, told;

	(void)state;
	if (!path) {
		scratch_remove(folder);
		skip();
	}
	char *file = path_join(path, "channel0_0");
	size_t size;
	mem_free(read_file(file, &size));
	assert_true(tell(path, SUMMARY_ALL, &whole));
	assert_int_equal(whole.messages, 0);
	assert_true(size <= 16384 && size % 4096 == 0 && whole.events.count > 100);
	for (size_t cut = size;
	     cut-- > 0;) { /* fields: those of the last events, now and then all */
		assert_int_equal(truncate(file, (off_t)cut), 0);
		assert_true(tell(path, cut % 16 ? REAL_HEADS : SUMMARY_ALL, &told));
		assert_int_equal(told.messages, cut % 4096 != 0);
		if (told.messages)
			check_message(told.last, "channel0_0");
		assert_true(told.events.count <= whole.events.count);
		assert_true(
			decoded_same(told.events.events, whole.events.events, told.events.count));
		if (cut % 4096 < 2 || cut % 4096 == 4095 || cut % 16 == 0) {
			size_t count, messages;
			tell_merged(path, &count, &messages);
			assert_int_equal(count, told.events.count);
			assert_int_equal(messages, told.messages);
		}
		decoded_release(&told.events);
	}
	decoded_release(&whole.events);
	mem_free(file);
	mem_free(path);
	scratch_remove(folder);
}

/* A description or an error that says something; what is left of a description is a beginning. */
static void cut_metadata(const char *path, size_t step)
{
	char *file = path_join(path, "metadata");
	size_t size, opened = 0;
	struct told told;

	mem_free(read_file(file, &size));
	for (size_t cut = size; cut > 0; cut = cut > step ? cut - step : 0) {
		assert_int_equal(truncate(file, (off_t)(cut - 1)), 0);
		if (tell(path, SUMMARY_ALL, &told))
			opened++;
		else
			assert_non_null(strstr(told.last, "metadata"));
		decoded_release(&told.events);
	}
	print_message("%zu of %zu cuts could be opened\n", opened, size / step);
	mem_free(file);
}

/* A trace of the 2010 proposal, of one stream; NULL without Python. */
static char *proposal(const char *folder, const char *more)
{
	const char *top = getenv("srcdir");
	struct buf command = {0};
	char *path = path_join(folder, "trace");

	buf_printf(&command,
		   "python3 %s/tests/engine/rfc2010.py write %s --events 60 --only sched_0 %s",
		   top ? top : ".", path, more);
	if (system("command -v python3 >/dev/null") == 0) {
		assert_int_equal(system(buf_text(&command)), 0);
	} else {
		print_message("no python3: nothing of the 2010 proposal was cut\n");
		mem_free(path);
		path = NULL;
	}
	buf_release(&command);
	return path;
}

/* Does a packet of a little-endian stream end there? */
static bool is_packet_end(const uint8_t *bytes, size_t size, size_t cut)
{
	size_t at = 0;

	while (at < cut && size - at >= RFC_HEADER_BYTES)
		at += load_le(bytes + at + 12, 4);
	return at == cut;
}

static void proposal_cut_at_every_byte(void **state)
{
	static const char *const kinds[] = {"", "--compress gzip --sum sha1",
					    "--compress bzip2 --word 64 --event-size --context"};

	(void)state;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		char *folder = scratch_folder(), *path = proposal(folder, kinds[i]);
		struct told whole, told;
		if (!path) {
			scratch_remove(folder);
			skip();
		}
		char *file = path_join(path, "sched_0");
		size_t size;
		uint8_t *bytes = read_file(file, &size);
		assert_true(tell(path, SUMMARY_ALL, &whole));
		assert_int_equal(whole.messages, 0);
		assert_true(whole.events.count > 20);
		for (size_t cut = size; cut-- > 0;) {
			assert_int_equal(truncate(file, (off_t)cut), 0);
			assert_true(tell(path, SUMMARY_ALL, &told));
			assert_int_equal(told.messages, !is_packet_end(bytes, size, cut));
			if (told.messages)
				check_message(told.last, "sched_0");
			assert_true(told.events.count <= whole.events.count);
			assert_true(decoded_same(told.events.events, whole.events.events,
						 told.events.count));
			decoded_release(&told.events);
		}
		decoded_release(&whole.events);
		mem_free(bytes);
		mem_free(file);
		mem_free(path);
		scratch_remove(folder);
	}
}

static void proposal_metadata_cut(void **state)
{
	static const char *const kinds[] = {"", "--text", "--compress gzip --sum md5"};

	(void)state;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		char *folder = scratch_folder(), *path = proposal(folder, kinds[i]);
		if (path)
			cut_metadata(path, 5);
		mem_free(path);
		scratch_remove(folder);
	}
}

static void text_metadata_cut(void **state)
{
	char *folder = scratch_folder(), *path = fixture(folder, "--text-metadata");

	(void)state;
	if (path)
		cut_metadata(path, 5);
	mem_free(path);
	scratch_remove(folder);
}

static const char *packetized[] = {"ctf/real/babeltrace/succeed/2packets",
				   "ctf/real/babeltrace/succeed/sequence"};

static void packetized_metadata_cut(void **state)
{
	const char *corpus = getenv("YORE_CORPUS");

	(void)state;
	if (!corpus || access(corpus, R_OK) != 0)
		skip();
	for (size_t i = 0; i < COUNT(packetized); i++) {
		char *folder = scratch_folder(), *from = path_join(corpus, packetized[i]);
		char *to = path_join(folder, "trace");
		copy_folder(from, to);
		cut_metadata(to, 7);
		mem_free(from);
		mem_free(to);
		scratch_remove(folder);
	}
}

static size_t reopened;

/* Copies of truncated traces, opened from the start, with whatever index lies beside. */
static void reopen_cut(const char *path, const char *name, long events, bool good)
{
	char *folder = scratch_folder(), *copy = path_join(folder, "trace");
	struct rng random = {strlen(name)};
	struct trace *trace;
	struct said said;
	struct error err;
	struct told whole, told;

	(void)events;
	(void)good;
	copy_folder(path, copy);
	if (tell(copy, REAL_HEADS, &whole) && !whole.messages &&
	    decoded_open(copy, &said, &trace, &err)) {
		uint32_t n = (uint32_t)trace->nstreams;
		for (uint32_t i = 0; i < FULL_CUTS && n; i++) {
			const struct stream *stream = trace->streams[rng_next(&random) % n];
			char *file = mem_strdup(source_name(stream->sources[stream->nsources - 1]));
			size_t size;
			void *bytes = read_file(file, &size);
			size_t cut = size ? rng_next(&random) % size : 0;
			trace_close(trace);
			assert_int_equal(truncate(file, (off_t)cut), 0);
			assert_true(tell(copy, REAL_HEADS, &told));
			assert_true(told.messages <= 1);
			assert_true(told.events.count <= whole.events.count);
			if (told.messages)
				check_message(told.last, strrchr(file, '/') + 1);
			decoded_release(&told.events);
			write_file(file, bytes, size);
			mem_free(bytes);
			mem_free(file);
			reopened++;
			assert_true(decoded_open(copy, &said, &trace, &err));
		}
		trace_close(trace);
	}
	decoded_release(&whole.events);
	mem_free(copy);
	scratch_remove(folder);
}

static void corpus_cut_and_reopened(void **state)
{
	(void)state;
	if (!corpus_each(reopen_cut))
		skip();
	print_message("%zu openings\n", reopened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixture_cut_at_every_byte),
		cmocka_unit_test(text_metadata_cut),
		cmocka_unit_test(proposal_cut_at_every_byte),
		cmocka_unit_test(proposal_metadata_cut),
		cmocka_unit_test(packetized_metadata_cut),
		cmocka_unit_test(corpus_cut_in_place),
		cmocka_unit_test(corpus_cut_and_reopened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
