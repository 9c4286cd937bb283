/*
 * The property that every packet record promises: decoded alone, in any order, packets give what
 * reading the stream in order gives, and every event lies in its record's range. On the corpus'
 * CTF 1.8 traces (counts from its manifest, which babeltrace2 made), and on traces made here for
 * what the corpus lacks: pieces of huge packets, short time stamps, growing files, bad headers.
 */
#include "tests/engine/decoded.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

static size_t traces, outside;

/* Every packet alone in random order == in order. */
static size_t check_stream(const struct trace *trace, const struct stream *stream, const char *name)
{
	const struct reader *reader = decoded_reader(trace, stream);
	struct records records = {0};
	struct rng random = {7};

	records_scan(trace, stream, NULL, &records);
	struct decoded *in_order = mem_new_array(records.count + 1, sizeof *in_order);
	size_t *order = mem_new_array(records.count + 1, sizeof *order), events = 0;
	struct decoder *decoder = reader->decoder_new(stream);
	for (size_t i = 0; i < records.count; i++) {
		const struct packet *rec = &records.items[i].rec;
		struct decoded *got = &in_order[i];
		order[i] = i;
		decode_packet(trace, stream, decoder, &records.items[i], SUMMARY_ALL, got);
		events += got->count;
		for (size_t k = 0; k < got->count; k++) {
			nstime t = got->events[k].time;
			if ((t < rec->min || t > rec->max) && !(rec->flags & PACKET_SUSPECT)) {
				print_message("%s %s: packet at %llu: event %zu outside\n", name,
					      stream->name, (unsigned long long)rec->off, k);
				outside++;
			}
		}
		if (rec->events != UINT32_MAX)
			assert_int_equal(rec->events, got->count);
	}
	reader->decoder_free(decoder);
	for (size_t i = records.count; i > 1; i--) {
		size_t k = rng_next(&random) % i, swap = order[i - 1];
		order[i - 1] = order[k];
		order[k] = swap;
	}
	for (size_t i = 0; i < records.count; i++) {
		struct decoded alone = {0};
		decoder = reader->decoder_new(stream);
		decode_packet(trace, stream, decoder, &records.items[order[i]], SUMMARY_ALL,
			      &alone);
		reader->decoder_free(decoder);
		assert_int_equal(alone.count, in_order[order[i]].count);
		assert_int_equal(alone.errors, in_order[order[i]].errors);
		assert_true(decoded_same(alone.events, in_order[order[i]].events, alone.count));
		decoded_release(&alone);
	}
	for (size_t i = 0; i < records.count; i++)
		decoded_release(&in_order[i]);
	mem_free(in_order);
	mem_free(order);
	records_release(&records);
	return events;
}

static void check_trace(const char *path, const char *name, long expected, bool good)
{
	struct trace *trace;
	struct said said;
	struct error err;
	size_t events = 0;

	if (!decoded_open(path, &said, &trace, &err)) {
		if (good)
			fail_msg("%s", err.text);
		return;
	}
	traces++;
	for (size_t i = 0; i < trace->nstreams; i++)
		events += check_stream(trace, trace->streams[i], name);
	if (expected >= 0 && events != (size_t)expected)
		fail_msg("%s: %zu events, babeltrace2 has %ld", name, events, expected);
	trace_close(trace);
}

static void packets_of_the_corpus(void **state)
{
	(void)state;
	if (!corpus_each(check_trace))
		skip();
	print_message("%zu traces\n", traces);
	assert_true(traces > 0);
	assert_int_equal(outside, 0);
}

/* What made traces are like; their events' times are known. */
struct shape {
	const char *name;
	bool times;    /* timestamp_begin and _end in the packet's context */
	unsigned bits; /* of these */
	bool clock;    /* else times are ordinals */
	bool big_endian;
	size_t packets, events; /* of each packet, about */
	uint64_t step;          /* greatest between two events, cycles */
};

struct made {
	struct buf metadata, file;
	nstime *times;
	size_t count, capacity;
	uint64_t *begins; /* of packets, bytes */
	size_t nbegins, begins_capacity;
};

static void put(struct buf *out, const struct shape *shape, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		buf_add_char(out, (char)(value >> (shape->big_endian ? bytes - 1 - i : i) * 8));
}

static void make_metadata(const struct shape *shape, struct buf *out)
{
	static const char map[] = "map = clock.c.value;";
	const char *m = shape->clock ? map : "";
	const char *stamp = shape->clock ? "timestamp" : "count"; /* that name alone means time */

	buf_printf(out,
		   "/* CTF 1.8 */ typealias integer { size = 8; align = 8; } := u8; typealias"
		   " integer { size = 32; align = 8; } := u32; typealias integer { size = 64; align"
		   " = 8; } := u64; trace { major = 1; minor = 8; byte_order = %s; packet.header :="
		   " struct { u32 magic; u32 stream_id; }; }; ",
		   shape->big_endian ? "be" : "le");
	if (shape->clock)
		buf_printf(out, "clock { name = c; freq = 1000000000; offset = 5000; }; ");
	buf_printf(out, "stream { id = 3; packet.context := struct { u64 packet_size; u64"
			" content_size; u32 cpu_id; string host; u8 list[3]; ");
	if (shape->times)
		buf_printf(out,
			   "integer { size = %u; align = 8; %s } timestamp_begin; integer { size ="
			   " %u; align = 8; %s } timestamp_end; ",
			   shape->bits, m, shape->bits, m);
	buf_printf(
		out,
		"}; event.header := struct { enum : integer { size = 5; align = 1; } { compact ="
		" 0 ... 30, extended = 31 } id; variant <id> { struct { integer { size = 27;"
		" align = 1; %s } %s; } compact; struct { u32 id; integer { size = 64;"
		" align = 8; %s } %s; } extended; } v; } align(8); }; event { name = n; id"
		" = 0; stream_id = 3; fields := struct { u32 a; string s; }; }; event { name = z;"
		" id = 1; stream_id = 3; };",
		m, stamp, m, stamp);
}

static void make_packet(const struct shape *shape, struct made *made, uint64_t *clock,
			struct rng *random)
{
	struct buf body = {0}, *file = &made->file;
	uint64_t begin = *clock;
	size_t events =
		shape->packets == 1 ? shape->events : 1 + rng_next(random) % (shape->events * 2);

	for (size_t i = 0; i < events; i++) {
		uint64_t id = rng_next(random) % 2, stamp;
		*clock += rng_next(random) % shape->step;
		stamp = *clock & 0x7ffffff;
		put(&body, shape, shape->big_endian ? id << 27 | stamp : id | stamp << 5, 4);
		if (!id) {
			put(&body, shape, i, 4);
			buf_add(&body, "textual", rng_next(random) % 7);
			buf_add_char(&body, 0);
		}
		made->times = mem_grow(made->times, made->count, &made->capacity, sizeof(nstime));
		made->times[made->count] =
			shape->clock ? (nstime)*clock + 5000 : (nstime)made->count;
		made->count++;
	}
	uint64_t head = 8 + 20 + 5 + 3 + (shape->times ? shape->bits / 4 : 0);
	uint64_t content = head + body.len, padding = rng_next(random) % 50;
	made->begins = mem_grow(made->begins, made->nbegins, &made->begins_capacity, 8);
	made->begins[made->nbegins++] = file->len;
	put(file, shape, 0xc1fc1fc1, 4);
	put(file, shape, 3, 4);
	put(file, shape, (content + padding) * 8, 8);
	put(file, shape, content * 8, 8);
	put(file, shape, 1, 4);
	buf_add(file, "host\0\1\2\3", 8);
	if (shape->times) {
		put(file, shape, begin, shape->bits / 8);
		put(file, shape, *clock, shape->bits / 8);
	}
	buf_add(file, body.data, body.len);
	for (; padding; padding--)
		buf_add_char(file, 0);
	buf_release(&body);
}

static void make(const struct shape *shape, struct made *out)
{
	struct rng random = {99};
	uint64_t clock = 12345;

	*out = (struct made){0};
	make_metadata(shape, &out->metadata);
	for (size_t i = 0; i < shape->packets; i++)
		make_packet(shape, out, &clock, &random);
}

static void made_release(struct made *made)
{
	buf_release(&made->metadata);
	buf_release(&made->file);
	mem_free(made->times);
	mem_free(made->begins);
}

/* Writes the first `size` bytes of the stream and opens the trace. */
static struct trace *open_made(const struct made *made, const char *folder, size_t size,
			       enum source_mode mode)
{
	char *metadata = path_join(folder, "metadata"), *file = path_join(folder, "stream");
	struct trace_options options = {.paths = &folder, .npaths = 1, .mode = mode};
	struct trace *trace = NULL;
	struct error err = {0};

	write_file(metadata, made->metadata.data, made->metadata.len);
	write_file(file, made->file.data, size);
	if (!trace_open(&options, &trace, &err))
		fail_msg("%s", err.text);
	assert_int_equal(trace->nstreams, 1);
	mem_free(metadata);
	mem_free(file);
	return trace;
}

static struct shape shapes[] = {
	{"one huge packet", true, 64, true, false, 1, 400000, 1 << 20},
	{"one huge packet, big-endian, long silences", true, 64, true, true, 1, 400000,
	 (1 << 27) - 1},
	{"huge packets without times", false, 0, true, false, 3, 80000, (1 << 27) - 1},
	{"huge packets, begins of 32 bits", true, 32, true, false, 3, 80000, 1 << 26},
	{"huge packets without a clock", false, 0, false, false, 3, 80000, 1},
	{"packets", true, 64, true, false, 40, 200, 1 << 20},
	{"packets without times", false, 0, true, true, 40, 200, 1 << 26},
	{"begins of 32 bits that wrap around", true, 32, true, false, 60, 100, 1 << 26},
	{"packets without a clock", false, 0, false, false, 40, 200, 1},
};

/* All records in random order, each by a new decoder: every event at its known time. */
static void check_made(const struct made *made, const struct trace *trace)
{
	const struct stream *stream = trace->streams[0];
	const struct reader *reader = decoded_reader(trace, stream);
	struct records records = {0};
	size_t first = 0, *firsts;
	struct rng random = {5};

	records_scan(trace, stream, NULL, &records);
	assert_int_equal(records.errors, 0);
	firsts = mem_new_array(records.count + 1, sizeof *firsts);
	for (size_t i = 0; i < records.count; i++) { /* how many events each has: in order */
		struct decoder *decoder = reader->decoder_new(stream);
		struct decoded got = {0};
		decode_packet(trace, stream, decoder, &records.items[i], 1, &got);
		reader->decoder_free(decoder);
		firsts[i] = first;
		first += got.count;
		decoded_release(&got);
	}
	assert_int_equal(first, made->count);
	for (size_t n = 0; n < records.count * 2; n++) {
		size_t i = rng_next(&random) % records.count;
		const struct packet *rec = &records.items[i].rec;
		struct decoder *decoder = reader->decoder_new(stream);
		struct decoded got = {0};
		decode_packet(trace, stream, decoder, &records.items[i], SUMMARY_ALL, &got);
		reader->decoder_free(decoder);
		assert_int_equal(got.errors, 0);
		for (size_t k = 0; k < got.count; k++) {
			assert_true(got.events[k].time == made->times[firsts[i] + k]);
			assert_true(got.events[k].time >= rec->min &&
				    got.events[k].time <= rec->max);
		}
		decoded_release(&got);
	}
	mem_free(firsts);
	records_release(&records);
}

/* Fields of pieces are those of the packet decoded whole, its own context's among them. */
static void check_pieces(const struct trace *trace)
{
	const struct stream *stream = trace->streams[0];
	const struct reader *reader = decoded_reader(trace, stream);
	struct decoder *decoder = reader->decoder_new(stream);
	struct decoded whole = {0}, pieces = {0};
	struct records records = {0};
	struct packet_info info = {.rec = {.cpu = 1, .events = UINT32_MAX}};

	records_scan(trace, stream, NULL, &records);
	info.rec.len = (uint32_t)source_size(stream->sources[0]);
	assert_true(info.rec.len > 3 << 20 && records.count > 8);
	decode_packet(trace, stream, decoder, &info, SUMMARY_ALL, &whole);
	for (size_t i = 0; i < records.count; i++)
		decode_packet(trace, stream, decoder, &records.items[i], SUMMARY_ALL, &pieces);
	assert_int_equal(pieces.count, whole.count);
	assert_true(decoded_same(pieces.events, whole.events, whole.count));
	reader->decoder_free(decoder);
	decoded_release(&whole);
	decoded_release(&pieces);
	records_release(&records);
}

static void made_trace(void **state)
{
	const struct shape *shape = *state;
	char *folder = scratch_folder();
	struct made made;

	make(shape, &made);
	for (int mode = SOURCE_AUTO; mode <= SOURCE_READ; mode++) {
		struct trace *trace =
			open_made(&made, folder, made.file.len, (enum source_mode)mode);
		check_made(&made, trace);
		if (shape->packets == 1)
			check_pieces(trace);
		trace_close(trace);
	}
	made_release(&made);
	scratch_remove(folder);
}

/*
 * A file that grows, the scan's state kept from one opening to the next: an OPEN record is dropped
 * and the scan goes on from before it, as the index does. The end equals one scan of it all.
 */
static void growing_trace(void **state)
{
	const struct shape *shape = *state;
	char *folder = scratch_folder();
	struct records once = {0}, kept = {0};
	struct scan at = {0};
	struct trace *trace;
	struct made made;
	struct rng random = {3};

	make(shape, &made);
	for (size_t size = 100; size;) {
		struct records more = {0};
		trace = open_made(&made, folder, size, SOURCE_AUTO);
		while (kept.count && kept.items[kept.count - 1].rec.flags & PACKET_OPEN)
			at = kept.before[--kept.count];
		records_scan(trace, trace->streams[0], &at, &more);
		for (size_t i = 0; i < more.count; i++) {
			kept.items = mem_grow(kept.items, kept.count, &kept.capacity,
					      sizeof *kept.items);
			kept.before = mem_grow(kept.before, kept.count, &kept.capacity_before,
					       sizeof *kept.before);
			kept.before[kept.count] = more.before[i];
			kept.items[kept.count++] = more.items[i];
		}
		at = more.after;
		records_release(&more);
		if (size == made.file.len)
			break;
		trace_close(trace);
		size += rng_next(&random) % (made.file.len / 10) + 1;
		size = size > made.file.len ? made.file.len : size;
	}
	records_scan(trace, trace->streams[0], NULL, &once);
	assert_int_equal(kept.count, once.count);
	for (size_t i = 0; i < once.count; i++) {
		assert_memory_equal(&kept.items[i].rec, &once.items[i].rec, sizeof(struct packet));
		assert_memory_equal(kept.items[i].carried, once.items[i].carried,
				    sizeof once.items[i].carried);
	}
	trace_close(trace);
	records_release(&once);
	records_release(&kept);
	made_release(&made);
	scratch_remove(folder);
}

/* One packet's header is spoilt at `at`: all others give their events, one message tells. */
static void check_spoilt(size_t at, uint8_t value, const char *words)
{
	char *folder = scratch_folder();
	struct decoded got = {0};
	struct records records = {0};
	struct made made;

	make(&shapes[5], &made);
	made.file.data[made.begins[7] + at] = (char)value;
	struct trace *trace = open_made(&made, folder, made.file.len, SOURCE_AUTO);
	const struct stream *stream = trace->streams[0];
	struct decoder *decoder = decoded_reader(trace, stream)->decoder_new(stream);
	records_scan(trace, stream, NULL, &records);
	assert_int_equal(records.errors, 0);
	assert_int_equal(records.count, made.nbegins);
	assert_true(records.items[7].rec.flags & PACKET_DAMAGED);
	for (size_t i = 0; i < records.count; i++)
		decode_packet(trace, stream, decoder, &records.items[i], SUMMARY_ALL, &got);
	assert_int_equal(got.errors, 1);
	assert_non_null(strstr(got.last, words));
	struct decoded lost = {0}, whole = {0};
	decode_packet(trace, stream, decoder, &records.items[6], SUMMARY_ALL, &lost);
	assert_true(lost.count > 0 && got.count < made.count);
	/* the last packets' events are the last ones that were made */
	for (size_t i = 0; i < got.count; i++)
		whole.count += got.events[got.count - 1 - i].time == made.times[made.count - 1 - i];
	assert_true(whole.count > made.count / 2);
	decoded_release(&lost);
	decoded_release(&got);
	decoded_reader(trace, stream)->decoder_free(decoder);
	records_release(&records);
	trace_close(trace);
	made_release(&made);
	scratch_remove(folder);
}

/* Wherever a huge packet is cut, in an event, between two or in the padding, it is said once. */
static void a_huge_packet_that_is_cut_says_so_once(void **state)
{
	char *folder = scratch_folder();
	struct made made;

	(void)state;
	make(&shapes[0], &made);
	for (size_t i = 0; i < 40; i++) {
		size_t size = made.file.len - (i < 20 ? 1 + i * 7 : 1000000 + i);
		struct trace *trace = open_made(&made, folder, size, SOURCE_AUTO);
		const struct stream *stream = trace->streams[0];
		struct decoder *decoder = decoded_reader(trace, stream)->decoder_new(stream);
		struct records records = {0};
		struct decoded got = {0};
		records_scan(trace, stream, NULL, &records);
		for (size_t k = 0; k < records.count; k++)
			decode_packet(trace, stream, decoder, &records.items[k], SUMMARY_NONE,
				      &got);
		assert_int_equal(got.errors + records.errors, 1);
		assert_non_null(strstr(got.last, "stream: packet at offset 0"));
		for (size_t k = 0; k < got.count; k++)
			assert_true(got.events[k].time == made.times[k]);
		decoded_reader(trace, stream)->decoder_free(decoder);
		decoded_release(&got);
		records_release(&records);
		trace_close(trace);
	}
	made_release(&made);
	scratch_remove(folder);
}

static void a_bad_magic_costs_its_packet(void **state)
{
	(void)state;
	check_spoilt(0, 0, "bad packet magic");
}

static void another_stream_id_costs_its_packet(void **state)
{
	(void)state;
	check_spoilt(4, 4, "stream id 4");
}

static void a_size_below_the_header_costs_its_packet(void **state)
{
	(void)state;
	check_spoilt(17, 0, "content_size");
}

enum { EXTRA = 5 };

int main(void)
{
	struct CMUnitTest tests[EXTRA + 2 * COUNT(shapes)] = {
		cmocka_unit_test(packets_of_the_corpus),
		cmocka_unit_test(a_huge_packet_that_is_cut_says_so_once),
		cmocka_unit_test(a_bad_magic_costs_its_packet),
		cmocka_unit_test(another_stream_id_costs_its_packet),
		cmocka_unit_test(a_size_below_the_header_costs_its_packet),
	};

	static char growing[COUNT(shapes)][80];
	for (size_t i = 0; i < COUNT(shapes); i++) {
		tests[EXTRA + 2 * i] =
			(struct CMUnitTest){shapes[i].name, made_trace, NULL, NULL, &shapes[i]};
		snprintf(growing[i], sizeof growing[i], "%s, growing", shapes[i].name);
		tests[EXTRA + 1 + 2 * i] =
			(struct CMUnitTest){growing[i], growing_trace, NULL, NULL, &shapes[i]};
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
