/*
 * test_growth.c - what opening a trace anew reads, while it is written
 *
 * A stream of CTF that gets a packet is opened in steps, each with the trace of the step before, as
 * a follower does. What a step reads must not depend on how many packets were there before, and
 * what it knows must be what opening the trace without the one before finds. What a follower keeps
 * in the store is what one scan gives, and others read what is behind it alone.
 */
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/reader.h"
#include "index/index.h"
#include "index/tables/table.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 4000, PACKET = 40 };

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 32; align = 8; } := u32;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; }; "
	"};\n"
	"clock { name = c; freq = 1000000000; };\n"
	"typealias integer { size = 32; align = 8; map = clock.c.value; } := t32;\n"
	"stream { packet.context := struct { u32 packet_size; u32 content_size; t32 "
	"timestamp_begin;\n"
	" t32 timestamp_end; u32 packet_seq_num; }; event.header := struct { t32 timestamp; }; };\n"
	"event { name = e; fields := struct { u32 n; u32 m; u32 o; }; };\n";

struct growing {
	char folder[64], path[96];
	char kept[96]; /* the folder of what index_keep() stores; "": nothing is */
	const char *input; /* NULL: content says all */
	uint32_t packets;
	struct trace *trace;
	struct index *index;
};

static void add_packets(struct growing *growing, uint32_t count)
{
	FILE *file = fopen(growing->path, "ab");

	assert_non_null(file);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = growing->packets++, begin = n * 100;
		uint32_t words[PACKET / 4] = {0xC1FC1FC1, PACKET * 8, PACKET * 8, begin, begin + 90,
					      n,          begin + 10, n,          n,     n};
		assert_int_equal(fwrite(words, 1, PACKET, file), PACKET);
	}
	fclose(file);
}

static void begin_with(struct growing *growing, const char *text, size_t size)
{
	char path[96];

	*growing = (struct growing){.folder = "/tmp/yore-growth-XXXXXX"};
	assert_non_null(mkdtemp(growing->folder));
	snprintf(growing->path, sizeof growing->path, "%s/stream", growing->folder);
	snprintf(path, sizeof path, "%s/metadata", growing->folder);
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	fclose(file);
}

static void begin(struct growing *growing)
{
	begin_with(growing, metadata, sizeof metadata - 1);
}

/* Opens it as it is now, and asks for its table. Returns the bytes that were read. */
static uint64_t step(struct growing *growing)
{
	const char *path = growing->folder;
	struct trace_options options = {
		.paths = &path, .npaths = 1, .grows = true, .before = growing->trace};
	struct index_options in_memory = {.none = !*growing->kept,
					  .dir = growing->kept,
					  .keeps = true,
					  .jobs = 1,
					  .before = growing->index};
	struct trace *trace;
	bool busy;
	struct index *index;
	struct table *table;
	struct error err;

	assert_true(trace_open(&options, &trace, &err));
	assert_true(index_open(trace, &in_memory, &index, &err));
	assert_int_equal(trace->nstreams, 1);
	assert_true(index_table(index, trace->streams[0], &table, &err));
	assert_int_equal(table_count(table), growing->packets);
	assert_true(index_forget_before(index, &err));
	if (*growing->kept) {
		assert_true(index_keep(index, &busy, &err));
		assert_false(busy);
	}
	index_close(growing->index);
	trace_close(growing->trace);
	growing->trace = trace;
	growing->index = index;
	return trace_bytes_read(trace);
}

static void end(struct growing *growing)
{
	char path[128];
	struct error err;

	index_close(growing->index);
	trace_close(growing->trace);
	if (*growing->kept) {
		snprintf(path, sizeof path, "%s/", growing->kept);
		assert_true(folder_remove_beside(path, &err));
		rmdir(growing->kept);
	}
	snprintf(path, sizeof path, "%s/metadata", growing->folder);
	unlink(path);
	unlink(growing->path);
	rmdir(growing->folder);
}

/* How many packets stand in the file before the steps, and between two with news some without. */
static const struct row {
	const char *name;
	unsigned without;
} rows[] = {
	{"each step brings a packet", 0},
	{"a step that brings nothing", 1},
	{"several that bring nothing", 3},
};

static void reads_what_is_new(void **state)
{
	const struct row *row = *state;
	uint64_t read[2];

	for (unsigned many = 0; many < 2; many++) {
		struct growing growing;
		begin(&growing);
		add_packets(&growing, many ? MANY : 4);
		(void)step(&growing);
		for (unsigned i = 0; i < 3; i++) {
			for (unsigned k = 0; k < row->without; k++)
				(void)step(&growing);
			add_packets(&growing, 1);
			read[many] = step(&growing);
		}
		end(&growing);
	}
	/* of a file of less than 4 KB less is looked at */
	assert_true(read[1] < read[0] + 4 * 4096);
}

/* As another process opens it, or (`whole`) `yore index` when the recording has ended. */
static uint64_t open_kept(struct growing *growing, bool whole, uint64_t *differing)
{
	const char *path = growing->folder;
	struct trace_options options = {.paths = &path, .npaths = 1};
	struct index_options stored = {.dir = growing->kept, .scan_all = whole, .jobs = 1};
	struct trace *trace;
	struct index *index;
	struct table *table;
	struct error err;

	assert_true(trace_open(&options, &trace, &err));
	uint64_t before = trace_bytes_read(trace);
	assert_true(index_open(trace, &stored, &index, &err));
	if (whole)
		assert_true(index_build(index, &err));
	assert_true(index_table(index, trace->streams[0], &table, &err));
	assert_int_equal(table_count(table), growing->packets);
	before = trace_bytes_read(trace) - before;
	assert_int_equal(index_writable(index), whole);
	assert_true(index_check(index, differing, &err));
	index_close(index);
	trace_close(trace);
	return before;
}

/* Each step keeps one packet more than the last: chunks are filled again. */
static void others_read_the_rest(void **state)
{
	struct growing growing;
	uint64_t differing;

	(void)state;
	begin(&growing);
	snprintf(growing.kept, sizeof growing.kept, "%s.kept", growing.folder);
	add_packets(&growing, MANY);
	(void)step(&growing);
	for (unsigned i = 0; i < 200; i++) {
		add_packets(&growing, 1 + i % 3);
		(void)step(&growing);
	}
	add_packets(&growing, 5);
	assert_true(open_kept(&growing, false, &differing) < 8 * 4096); /* of 160 KB */
	assert_true(open_kept(&growing, true, &differing) < 12 * 4096);
	assert_int_equal(differing, 0);
	end(&growing);
}

/* Packets that come out of their order make the list of all anew: nothing that is kept counts. */
static void order_that_breaks(void **state)
{
	struct growing growing;
	uint64_t differing;

	(void)state;
	begin(&growing);
	snprintf(growing.kept, sizeof growing.kept, "%s.kept", growing.folder);
	add_packets(&growing, 100);
	(void)step(&growing);
	growing.packets += 10; /* these come later than those behind them */
	add_packets(&growing, 10);
	growing.packets -= 20;
	add_packets(&growing, 10);
	growing.packets += 10;
	(void)step(&growing);
	(void)open_kept(&growing, true, &differing);
	assert_int_equal(differing, 0);
	end(&growing);
}

/* One file that holds the packets of two streams, as datagrams or back to back ------------------
 */

enum { ONE = 52, CALM = 4000, LATE = 700 };

static const char gathered_metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 32; align = 8; } := u32;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 "
	"stream_instance_id; }; };\n"
	"clock { name = c; freq = 1000000000; };\n"
	"typealias integer { size = 32; align = 8; map = clock.c.value; } := t32;\n"
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := t64;\n"
	"stream { packet.context := struct { u32 packet_size; u32 content_size; t64 "
	"timestamp_begin;\n"
	" t64 timestamp_end; u32 packet_seq_num; }; event.header := struct { t32 timestamp; }; };\n"
	"event { name = e; fields := struct { u32 n; u32 m; u32 o; }; };\n";

static const struct gathered {
	const char *name, *input;
	bool lengths;
	unsigned late, doubled, halved; /* of a thousand packets */
	uint32_t distance;              /* by which late ones are, most */
} gathered[] = {
	{"packets back to back", "ctf,prefix=0", false, 0, 0, 0, 0},
	{"late and doubled ones", "ctf,prefix=0", false, 100, 50, 0, 20},
	{"datagrams", "ctf,datagrams", true, 0, 0, 0, 0},
	{"datagrams in pieces", "ctf,datagrams", true, 0, 0, 300, 0},
	{"late and doubled datagrams, some in pieces", "ctf,datagrams", true, 100, 50, 100, 20},
	{"datagrams that are very late", "ctf,datagrams", true, 10, 10, 10, LATE},
};

static void put_datagram(FILE *file, bool lengths, const uint8_t *bytes, uint32_t size)
{
	const uint8_t length[2] = {(uint8_t)(size >> 8), (uint8_t)size};

	if (lengths)
		assert_int_equal(fwrite(length, 1, 2, file), 2);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
}

static void put_packet(FILE *file, const struct gathered *row, uint32_t n)
{
	uint32_t begin = n * 100,
		 words[ONE / 4] = {0xC1FC1FC1, n % 2, ONE * 8,    ONE * 8, begin, 0, begin + 90,
				   0,          n / 2, begin + 10, n,       n,     n};
	const uint8_t *bytes = (const uint8_t *)words;
	uint32_t half = row->lengths && rand() % 1000 < (int)row->halved ? ONE - 12 : ONE;

	put_datagram(file, row->lengths, bytes, half);
	if (half < ONE)
		put_datagram(file, row->lengths, bytes + half, ONE - half);
}

static uint64_t open_anew(const struct growing *growing, bool go_on, struct trace **trace,
			  struct index **index)
{
	const char *path = growing->path;
	char input[160];
	struct error err;

	if (growing->input)
		snprintf(input, sizeof input, "%s,metadata=%s/metadata", growing->input,
			 growing->folder);
	struct trace_options options = {.paths = &path,
					.npaths = 1,
					.input = growing->input ? input : NULL,
					.grows = true,
					.before = go_on ? growing->trace : NULL};
	struct index_options tables = {
		.none = true, .jobs = 1, .files = true, .before = go_on ? growing->index : NULL};
	assert_true(trace_open(&options, trace, &err));
	assert_true(index_open(*trace, &tables, index, &err));
	assert_true(index_forget_before(*index, &err));
	return trace_bytes_read(*trace);
}

/* Does it know the same of the file as one that was opened without the trace before? */
static void is_as_anew(const struct growing *growing)
{
	struct trace *trace;
	struct index *index;
	struct error err;

	(void)open_anew(growing, false, &trace, &index);
	assert_int_equal(trace->nstreams, growing->trace->nstreams);
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = growing->trace->streams[i];
		struct table *table, *anew;
		assert_string_equal(stream->name, trace->streams[i]->name);
		assert_int_equal(stream->bytes, trace->streams[i]->bytes);
		assert_true(index_table(growing->index, stream, &table, &err));
		assert_true(index_table(index, trace->streams[i], &anew, &err));
		assert_int_equal(table_count(table), table_count(anew));
		for (uint64_t k = 0; k < table_count(table); k++) {
			struct packet a, b;
			assert_true(table_listed(table, k, &a, &err));
			assert_true(table_listed(anew, k, &b, &err));
			a.flags &= ~(uint32_t)PACKET_OPEN;
			b.flags &= ~(uint32_t)PACKET_OPEN;
			assert_memory_equal(&a, &b, sizeof a);
		}
	}
	index_close(index);
	trace_close(trace);
}

static uint64_t step_on(struct growing *growing)
{
	struct trace *trace;
	struct index *index;
	uint64_t read = open_anew(growing, true, &trace, &index);

	index_close(growing->index);
	trace_close(growing->trace);
	growing->trace = trace;
	growing->index = index;
	return read;
}

/* Numbers of packets in the order in which they come: each once, but for those that come twice. */
static uint32_t *order_of(const struct gathered *row, uint32_t count, uint32_t *ncame)
{
	uint32_t *numbers = mem_new_array(count * 2, sizeof *numbers), n = 0;
	uint32_t *due = mem_new_array(count, sizeof *due),
		 *held = mem_new_array(count, sizeof *held);
	uint32_t nheld = 0;

	for (uint32_t i = 0; i < count || nheld; i++) {
		for (uint32_t k = 0; k < nheld;) {
			if (i < count && due[k] > i) {
				k++;
				continue;
			}
			numbers[n++] = held[k];
			held[k] = held[--nheld];
			due[k] = due[nheld];
		}
		if (i >= count)
			continue;
		bool late = rand() % 1000 < (int)row->late,
		     twice = rand() % 1000 < (int)row->doubled;
		if (!late || twice)
			numbers[n++] = i;
		if (late || twice) {
			due[nheld] = i + 1 + (uint32_t)rand() % (row->distance ? row->distance : 1);
			held[nheld++] = i;
		}
	}
	mem_free(due);
	mem_free(held);
	*ncame = n;
	return numbers;
}

static void gathers_what_is_new(void **state)
{
	const struct gathered *row = *state;
	struct growing growing;
	uint64_t early = 0, read = 0;
	uint32_t count;
	unsigned steps = 0;

	srand(7);
	uint32_t *numbers = order_of(row, CALM, &count);
	begin_with(&growing, gathered_metadata, sizeof gathered_metadata - 1);
	growing.input = row->input;
	for (uint32_t i = 0; i < count; steps++) {
		FILE *file = fopen(growing.path, "ab");
		assert_non_null(file);
		for (uint32_t n = steps ? (uint32_t)rand() % 60 : 2; n && i < count; n--)
			put_packet(file, row, numbers[i++]);
		fclose(file);
		read = step_on(&growing);
		if (steps % 8 == 0 || i == count)
			is_as_anew(&growing);
		early = i < 1200 && read > early ? read : early;
	}
	/* what a step reads of few packets, of which most may still change, is more than of many */
	if (row->distance < LATE)
		assert_true(read <= early);
	mem_free(numbers);
	end(&growing);
}

/* Turns of perf: a folder of files of one recording ----------------------------------------------
 */

enum { TURNS = 40, SAMPLES = 300, SAMPLE = 56, COMM = 64, HEAD = 104, ATTRIBUTE = 144 };

static uint8_t *put(uint8_t *to, const void *bytes, size_t size)
{
	memcpy(to, bytes, size);
	return to + size;
}

/* `data` bytes of records follow; 0: nothing says how many. A turn's head is then not `there`. */
static void put_head(FILE *file, uint64_t data, bool there)
{
	const uint32_t attribute[ATTRIBUTE / 4] = {1,
						   128,
						   0,
						   0,
						   1,
						   0,
						   1 << 0 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 |
							   1 << 16,
						   0,
						   4,
						   0,
						   1 << 18,
						   [128 / 4] = HEAD + ATTRIBUTE,
						   0,
						   8,
						   0};
	const uint64_t id = 1000, begin = HEAD + ATTRIBUTE + 8;
	const uint64_t head[HEAD / 8] = {0, HEAD, ATTRIBUTE, HEAD, ATTRIBUTE, begin, data};
	uint8_t bytes[HEAD + ATTRIBUTE + 8] = {0}, *to = bytes;

	to = put(to, head, sizeof head);
	memcpy(bytes, "PERFILE2", 8);
	if (!there)
		memset(bytes, 0, HEAD);
	to = put(to, attribute, sizeof attribute);
	(void)put(to, &id, sizeof id);
	assert_int_equal(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
}

static void put_sample(FILE *file, uint32_t n)
{
	const uint32_t words[SAMPLE / 4] = {9,     SAMPLE << 16,  1000, 0,         4096, 0, n % 7,
					    n % 7, (n ^ 1) * 100, 0,    n / 5 % 2, 0,    1};

	assert_int_equal(fwrite(words, 1, SAMPLE, file), SAMPLE);
}

/* A name that /proc told, or with a time one that the thread gave itself. */
static void put_comm(FILE *file, uint32_t tid, char name, uint32_t n)
{
	const uint32_t words[COMM / 4] = {
		3, COMM << 16, tid, tid, (uint32_t)name, 0, tid, tid, n * 100, 0,
		0, 0,          0,   0,   n ? 1000 : 0,   0};

	assert_int_equal(fwrite(words, 1, COMM, file), COMM);
}

static void put_records(FILE *file, uint32_t turn, unsigned piece, unsigned pieces)
{
	for (uint32_t tid = 1; !piece && tid < 7; tid++)
		put_comm(file, tid, (char)('a' + (turn / 3 + tid) % 5), 0);
	for (uint32_t i = piece * SAMPLES / pieces; i < (piece + 1) * SAMPLES / pieces; i++) {
		uint32_t n = 2 + turn * SAMPLES + i;
		put_sample(file, n);
		if (n % 97 == 0)
			put_comm(file, n % 7, 'x', n);
	}
}

static void end_turn(const struct growing *growing, const char *path, uint32_t turn)
{
	char ended[128];
	FILE *file = fopen(path, "r+b");

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	rewind(file);
	put_head(file, (uint64_t)size - HEAD - ATTRIBUTE - 8, true);
	fclose(file);
	snprintf(ended, sizeof ended, "%s/perf.data.%016u", growing->folder, turn);
	assert_int_equal(rename(path, ended), 0);
}

static void walks_one_turn(void **state)
{
	enum { PIECES = 3, FIRST = 4 };
	struct growing growing = {.folder = "/tmp/yore-growth-XXXXXX"};
	char path[128];
	uint64_t early = 0, read;

	(void)state;
	assert_non_null(mkdtemp(growing.folder));
	snprintf(growing.path, sizeof growing.path, "%s", growing.folder);
	snprintf(path, sizeof path, "%s/perf.data", growing.folder);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		for (unsigned piece = 0; piece < PIECES; piece++) {
			FILE *file = fopen(path, "ab");
			assert_non_null(file);
			if (!piece)
				put_head(file, 0, false);
			put_records(file, turn, piece, PIECES);
			fclose(file);
			if (!turn) /* nothing says yet what is recorded */
				continue;
			read = step_on(&growing);
			is_as_anew(&growing);
			early = turn < FIRST && read > early ? read : early;
			/* turns are of about one size */
			if (turn >= FIRST)
				assert_true(read <= early + SAMPLES * SAMPLE / 10);
		}
		end_turn(&growing, path, turn);
		if (turn % 4 == 0) { /* between two turns */
			(void)step_on(&growing);
			is_as_anew(&growing);
		}
	}
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		snprintf(path, sizeof path, "%s/perf.data.%016u", growing.folder, turn);
		unlink(path);
	}
	index_close(growing.index);
	trace_close(growing.trace);
	rmdir(growing.folder);
}

/* A compressed perf.data: records of raw blocks of one zstd frame --------------------------------
 */

static void put_compressed(FILE *file, const uint8_t *bytes, uint32_t size, bool first)
{
	static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58}; /* a window of 2 MB */
	const uint32_t head = first ? sizeof frame : 0, block = size << 3;
	const uint32_t record[2] = {81, (8 + head + 3 + size) << 16};
	const uint8_t of_block[3] = {(uint8_t)block, (uint8_t)(block >> 8), (uint8_t)(block >> 16)};

	assert_int_equal(fwrite(record, 1, sizeof record, file), sizeof record);
	assert_int_equal(fwrite(frame, 1, head, file), head);
	assert_int_equal(fwrite(of_block, 1, sizeof of_block, file), sizeof of_block);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
}

static uint32_t some_records(uint8_t *to, uint32_t turn, bool names)
{
	FILE *file = fmemopen(to, 1 << 16, "w");

	assert_non_null(file);
	put_records(file, turn, names ? 0 : 1, 2);
	fflush(file);
	long size = ftell(file);
	fclose(file);
	return (uint32_t)size;
}

/* What a piece of the file has besides what is compressed. */
static const struct compressed {
	const char *name;
	unsigned plain; /* each so many pieces a record that is no mark; 0: none */
	bool cut;       /* pieces end inside of records */
} compressed[] = {
	{"compressed records and marks", 0, false},
	{"the file ends inside of a compressed record", 0, true},
	{"others stand between compressed records", 7, false},
};

static void write_cut(const char *path, uint8_t *bytes, size_t size, size_t *written)
{
	FILE *file = fopen(path, "ab");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes + *written, 1, size - *written, file), size - *written);
	*written = size;
	fclose(file);
}

static void decompresses_what_is_new(void **state)
{
	enum { PIECES = 60, MOST = 1 << 20 };
	const struct compressed *row = *state;
	struct growing growing = {.folder = "/tmp/yore-growth-XXXXXX"};
	uint8_t *all = mem_new(MOST), records[1 << 16];
	uint64_t early = 0;
	size_t written = 0;

	assert_non_null(mkdtemp(growing.folder));
	snprintf(growing.path, sizeof growing.path, "%s/perf.data", growing.folder);
	FILE *file = fmemopen(all, MOST, "w");
	assert_non_null(file);
	put_head(file, 0, true);
	for (unsigned piece = 0; piece < PIECES; piece++) {
		const uint32_t round[2] = {68, 8 << 16};
		if (!piece || (row->plain && piece % row->plain == 0))
			put_comm(file, 3, 'p', 0);
		put_compressed(file, records, some_records(records, piece, !piece), !piece);
		assert_int_equal(fwrite(round, 1, sizeof round, file), sizeof round);
		fflush(file);
		size_t size = (size_t)ftell(file);
		write_cut(growing.path, all, row->cut ? size - 100 : size, &written);
		/* its first records are looked at in a window of up to 4 MB */
		uint64_t read = step_on(&growing) - written;
		is_as_anew(&growing);
		early = piece < 6 && read > early ? read : early;
		if (piece >= 6 && !row->plain)
			assert_true(read <= early + SAMPLES * SAMPLE / 10);
	}
	fclose(file);
	mem_free(all);
	index_close(growing.index);
	trace_close(growing.trace);
	unlink(growing.path);
	rmdir(growing.folder);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + COUNT(gathered) + 3 + COUNT(compressed)];
	size_t n = 0;

	ADD_ROWS(tests, n, rows, reads_what_is_new);
	ADD_ROWS(tests, n, gathered, gathers_what_is_new);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(walks_one_turn);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(others_read_the_rest);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(order_that_breaks);
	ADD_ROWS(tests, n, compressed, decompresses_what_is_new);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
