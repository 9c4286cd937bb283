/*
 * Hardware traces: chunks are laid end to end, one row per way in which they come; Intel PT packets
 * as libipt's own listing has them (the corpus' synthetic case), over windows and damage.
 */
#include "engine/hwtrace/aux.h"

#include "engine/base/mem.h"
#include "engine/hwtrace/intel_pt.h"
#include "tests/engine/decoded.h"
#include "tests/harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A chunk's bytes are letters; a point is a zero byte. '!' behind them: truncated. */
struct chunk {
	uint64_t offset;
	const char *bytes;
};

static struct row {
	const char *name;
	struct chunk chunks[5];
	const char *bytes;  /* laid end to end */
	const char *pieces; /* '=' joined to the one before, '|' not; '!' behind: truncated */
	uint64_t dropped;
} rows[] = {
	{"one after the other", {{0, "abcd"}, {4, "efgh"}}, "abcdefgh", "|=", 0},
	{"a count that begins anywhere", {{700, "abcd"}, {704, "efgh"}}, "abcdefgh", "|=", 0},
	{"padding is trimmed", {{0, "abcd...."}, {4, "efgh"}}, "abcdefgh", "|=", 4},
	{"zeros that are meant stay", {{0, "abcd...."}, {4, ".fgh"}}, "abcd.fgh", "|=", 4},
	{"padding that nothing follows stays", {{0, "abcd...."}}, "abcd....", "|", 0},
	{"a word of zeros is no padding",
	 {{0, "abcd........"}, {4, "efgh"}},
	 "abcd........efgh",
	 "||",
	 0},
	{"bytes that came before are dropped",
	 {{0, "abcdefgh"}, {4, "efghijkl"}},
	 "abcdefghijkl",
	 "|=",
	 4},
	{"so they are over several chunks",
	 {{0, "abcd"}, {4, "efgh"}, {8, "ij"}, {2, "cdefghijkl"}},
	 "abcdefghijkl",
	 "|===",
	 8},
	{"and where padding hid the last of them",
	 {{0, "abcdef.."}, {4, "efghijkl"}},
	 "abcdefghijkl",
	 "|=",
	 4},
	{"a chunk that comes twice", {{0, "abcd"}, {0, "abcd"}, {4, "e"}}, "abcde", "|=", 4},
	{"a part of what was there", {{0, "abcdefgh"}, {2, "cde"}, {8, "i"}}, "abcdefghi", "|=", 3},
	{"a snapshot at the same place has other bytes",
	 {{0, "abcdefgh"}, {0, "ijklmnop"}},
	 "abcdefghijklmnop",
	 "||",
	 0},
	{"counts that begin anew", {{100, "abcd"}, {0, "efgh"}}, "abcdefgh", "||", 0},
	{"what came before does not count then",
	 {{0, "abcd"}, {0, "efgh"}, {4, "ijkl"}, {4, "ijklmn"}},
	 "abcdefghijklmn",
	 "||==",
	 4},
	{"a snapshot that overlaps with other bytes",
	 {{0, "abcdefgh"}, {4, "efXXijkl"}},
	 "abcdefghefXXijkl",
	 "||",
	 0},
	{"bytes are missing", {{0, "abcd"}, {100, "efgh"}}, "abcdefgh", "||", 0},
	{"what lies over a gap begins anew",
	 {{0, "abcd"}, {10, "efgh"}, {2, "cdxxxxxxxxefghij"}},
	 "abcdefghcdxxxxxxxxefghij",
	 "|||",
	 0},
	{"truncation is told of the bytes before it",
	 {{0, "abcd!"}, {4, "efgh"}},
	 "abcdefgh",
	 "|!=",
	 0},
	{"of a chunk that was there", {{0, "abcd"}, {2, "cd!"}, {4, "e"}}, "abcde", "|!=", 2},
	{"of an empty chunk", {{0, "abcd"}, {4, "!"}, {4, "efgh"}}, "abcdefgh", "|!=", 0},
	{"an empty chunk is no piece", {{0, "abcd"}, {9, ""}, {4, "e"}}, "abcde", "|=", 0},
};

static void add_chunks(struct aux *aux, const struct row *row, uint8_t *memory,
		       struct source **source)
{
	struct aux_chunk chunks[COUNT(row->chunks)];
	size_t n = 0, used = 0;
	struct error err;

	for (; n < COUNT(row->chunks) && row->chunks[n].bytes; n++) {
		const char *bytes = row->chunks[n].bytes;
		chunks[n] = (struct aux_chunk){.cpu = 1,
					       .tid = -1,
					       .offset = row->chunks[n].offset,
					       .at = used,
					       .len = strcspn(bytes, "!"),
					       .truncated = strchr(bytes, '!') != NULL};
		for (size_t i = 0; i < chunks[n].len; i++)
			memory[used++] = bytes[i] == '.' ? 0 : (uint8_t)bytes[i];
	}
	*source = source_over("chunks", memory, used);
	for (size_t i = 0; i < n; i++) {
		chunks[i].source = *source;
		assert_true(aux_place(aux, &chunks[i], &err));
	}
}

static void lays_end_to_end(void **state)
{
	const struct row *row = *state;
	char bytes[256] = "", pieces[64] = "";
	struct source *source;
	uint8_t memory[256];
	struct aux aux = {0};
	struct error err;
	uint64_t at = 0;

	add_chunks(&aux, row, memory, &source);
	assert_int_equal(aux.nbuffers, 1);
	const struct aux_buffer *buffer = &aux.buffers[0];
	for (size_t i = 0; i < buffer->npieces; i++) {
		const struct aux_piece *piece = &buffer->pieces[i];
		assert_int_equal(piece->position, at);
		assert_true(source_peek(source, piece->at, bytes + at, (size_t)piece->len, &err));
		at += piece->len;
		strcat(pieces, piece->joined ? "=" : "|");
		strcat(pieces, piece->truncated ? "!" : "");
	}
	for (size_t i = 0; i < at; i++)
		bytes[i] = bytes[i] ? bytes[i] : '.';
	assert_string_equal(bytes, row->bytes);
	assert_string_equal(pieces, row->pieces);
	assert_int_equal(buffer->size, at);
	assert_int_equal(buffer->dropped, row->dropped);
	aux_release(&aux);
	source_close(source);
}

static void buffers_are_told_apart(void **state)
{
	static const struct aux_chunk chunks[] = {{.cpu = 0, .tid = -1, .index = 7},
						  {.cpu = 1, .tid = 30},
						  {.cpu = -1, .tid = 30},
						  {.cpu = -1, .tid = 31, .index = 1},
						  {.cpu = -1, .tid = -1, .index = 4},
						  {.cpu = -1, .tid = -1, .index = 5},
						  {.cpu = 0, .tid = -1, .index = 8},
						  {.cpu = 1, .tid = 31},
						  {.cpu = -1, .tid = 30, .index = 9}};
	enum { MANY = 1000 };
	struct source *source = source_over("chunks", "abcdefghi", COUNT(chunks));
	struct aux aux = {0};
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(chunks); i++) {
		struct aux_chunk chunk = chunks[i];
		chunk.source = source;
		chunk.at = chunk.offset = i;
		chunk.len = 1;
		assert_true(aux_place(&aux, &chunk, &err));
	}
	assert_int_equal(aux.nbuffers, 6);
	assert_int_equal(aux.buffers[0].size, 2);
	assert_int_equal(aux.buffers[1].size, 2);
	assert_int_equal(aux.buffers[2].tid, 30);
	assert_int_equal(aux.buffers[2].size, 2);
	assert_int_equal(aux.buffers[5].index, 5);
	for (unsigned i = 0; i < 2 * MANY; i++) {
		struct aux_chunk chunk = {.cpu = -1, .tid = 100 + i % MANY, .source = source};
		chunk.offset = i / MANY;
		chunk.len = 1;
		assert_true(aux_place(&aux, &chunk, &err));
	}
	assert_int_equal(aux.nbuffers, 6 + MANY);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(aux.buffers[6 + i].tid, 100 + i);
		assert_int_equal(aux.buffers[6 + i].size, 2);
	}
	aux_release(&aux);
	source_close(source);
}

static void chunks_beyond_the_file_are_errors(void **state)
{
	struct source *source = source_over("perf.data", "abcd", 4);
	struct aux_chunk beyond = {.tid = -1, .source = source, .at = 1, .len = 4};
	struct aux_chunk huge = {.tid = -1, .source = source, .len = 4, .offset = UINT64_MAX - 2};
	struct aux aux = {0};
	struct error err;

	(void)state;
	assert_false(aux_place(&aux, &beyond, &err));
	assert_string_equal(err.text,
			    "perf.data: hardware trace of 4 bytes at offset 1 is cut short");
	assert_false(aux_place(&aux, &huge, &err));
	assert_non_null(strstr(err.text, "perf.data: hardware trace at offset 0"));
	aux_release(&aux);
	source_close(source);
}

/* Every row of [0, size), one line each; they must cover all bytes. */
static void list_packets(struct source *source, bool with_tsc, struct buf *out)
{
	struct intel_pt *pt = intel_pt_open(source, 0, source_size(source));
	struct pt_row row;
	struct error err;
	uint64_t at = 0;

	buf_clear(out);
	while (intel_pt_next(pt, &row, &err) == STEP_ITEM) {
		assert_int_equal(row.at, at);
		at += row.size;
		buf_printf(out, "%06llx size %llu %s%s%s", (unsigned long long)row.at,
			   (unsigned long long)row.size, row.name, *row.text ? " " : "", row.text);
		if (with_tsc && row.has_tsc)
			buf_printf(out, " @%llu", (unsigned long long)row.tsc);
		buf_add_text(out, row.damaged ? " !\n" : "\n");
	}
	assert_int_equal(at, source_size(source));
	intel_pt_close(pt);
}

#define PSB "\2\202\2\202\2\202\2\202\2\202\2\202\2\202\2\202"
#define HALF_PSB "\2\202\2\202\2\202\2\202"
#define BYTES(text) text, sizeof(text) - 1

/* Encodings as in Intel's manual, volume 3, chapter 33. */
static struct stream_row {
	const char *name, *bytes;
	size_t size;
	const char *packets;
} streams[] = {
	{"packets, with the time they follow",
	 BYTES(PSB "\x19\x40\x42\x0f\0\0\0\0"
		   "\2\3\x18\0\2\x23\x99\1\x71\0\x10\x40\0\0\0\xfc\x2d\x30\x10\1"),
	 "000000 size 16 psb\n000010 size 8 tsc tsc 1000000 @1000000\n"
	 "000018 size 4 cbr ratio 24 @1000000\n00001c size 2 psbend @1000000\n"
	 "00001e size 2 mode exec 64 @1000000\n"
	 "000020 size 7 tip.pge ipc 3 ip 0x401000 @1000000\n"
	 "000027 size 1 tnt.8 bits 6 payload 0x3e @1000000\n"
	 "000028 size 3 tip ipc 1 ip 0x1030 @1000000\n"
	 "00002b size 1 tip.pgd ipc 0 ip 0x0 @1000000\n"},
	{"bytes before the first PSB", BYTES("\x71\0\x10" PSB "\0"),
	 "000000 size 3 skipped no PSB yet\n000003 size 16 psb\n000013 size 1 pad\n"},
	{"no PSB at all", BYTES("\x71\0\x10"), "000000 size 3 skipped no PSB yet\n"},
	{"nothing", BYTES(""), ""},
	{"on at the next PSB after what is no packet",
	 BYTES(PSB "\x19\1\0\0\0\0\0\0\2\5\0\0" PSB "\0"),
	 "000000 size 16 psb\n000010 size 8 tsc tsc 1 @1\n"
	 "000018 size 4 skipped unknown opcode !\n00001c size 16 psb\n00002c size 1 pad\n"},
	{"half a PSB at the end", BYTES(PSB "\0\0\0\0\0\0\0\0\2\5\0\0\0\0\0\0" HALF_PSB),
	 "000000 size 16 psb\n000010 size 1 pad\n000011 size 1 pad\n000012 size 1 pad\n"
	 "000013 size 1 pad\n000014 size 1 pad\n000015 size 1 pad\n000016 size 1 pad\n"
	 "000017 size 1 pad\n000018 size 16 skipped unknown opcode !\n"},
	{"a PSB begins within what looks like one", BYTES("\2\202\2\202\2" PSB "\0"),
	 "000000 size 5 skipped no PSB yet\n000005 size 16 psb\n000015 size 1 pad\n"},
	{"a packet cut by the end", BYTES(PSB "\x19\1\0\0"),
	 "000000 size 16 psb\n000010 size 4 skipped reached end of trace stream !\n"},
};

enum { GUARDED = 65536 };

/* libipt is not built with sanitizers: the byte behind the last is one that cannot be read. */
static char *at_the_edge(const char *bytes, size_t size, char **mapping)
{
	*mapping = mmap(NULL, 2 * (size_t)GUARDED, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(*mapping, MAP_FAILED);
	assert_return_code(mprotect(*mapping + GUARDED, GUARDED, PROT_NONE), errno);
	return memcpy(*mapping + GUARDED - size, bytes, size);
}

static void lists_packets(void **state)
{
	const struct stream_row *row = *state;
	struct buf out = {0};
	char *mapping;
	char *bytes = at_the_edge(row->bytes, row->size, &mapping);
	struct source *source = source_over("cpu0.pt", bytes, row->size);

	list_packets(source, true, &out);
	assert_string_equal(buf_text(&out), row->packets);
	buf_release(&out);
	source_close(source);
	munmap(mapping, 2 * (size_t)GUARDED);
}

/* libipt's listing of the whole, which says nothing of modes; its last line is the end's. */
static void compare_listing(const char *mine, const char *theirs)
{
	assert_non_null(strstr(theirs, " end: "));
	while (!(strlen(theirs) > 6 && strncmp(theirs + 6, " end: ", 6) == 0)) {
		size_t n = strcspn(theirs, "\n");
		if (strncmp(mine, theirs, n) != 0 ||
		    (mine[n] != '\n' && strncmp(mine + n, " exec ", 6) != 0))
			fail_msg("%.60s, not %.*s", mine, (int)n, theirs);
		mine = strchr(mine, '\n') + 1;
		theirs += n + 1;
	}
	assert_string_equal(mine, "");
}

static void the_synthetic_case_as_libipt_lists_it(void **state)
{
	const char *corpus = getenv("YORE_CORPUS");
	struct buf out = {0};

	(void)state;
	if (!corpus || access(corpus, R_OK) != 0)
		skip();
	for (int cpu = 0; cpu < 2; cpu++) {
		struct buf path = {0};
		size_t n, size;
		buf_printf(&path, "%s/perf-data/synth-intel-pt/expected/cpu%d.pt", corpus, cpu);
		char *bytes = read_file(path.data, &size);
		buf_clear(&path);
		buf_printf(&path, "%s/perf-data/synth-intel-pt/expected/cpu%d.packets.txt", corpus,
			   cpu);
		char *listing = read_file(path.data, &n);
		struct source *source = source_over("cpu.pt", bytes, size);
		list_packets(source, false, &out);
		compare_listing(buf_text(&out), listing);
		source_close(source);
		mem_free(bytes);
		mem_free(listing);
		buf_release(&path);
	}
	buf_release(&out);
}

/* Megabytes: packets and gaps lie over every edge of what is read at once. */
static void long_streams_have_no_seams(void **state)
{
	static const char unit[] = PSB "\x19\1\0\0\0\0\0\0\xfc\x2d\x30\x10\1\2\x23\0\0"
				       "\x71\0\x10\x40\0\0\0\2\5xyz";
	enum { SIZE = sizeof unit - 1, TIMES = 70000, BROKEN = 5 };
	struct buf bytes = {0};
	struct pt_row row;
	struct error err;
	size_t psbs = 0, skips = 0;
	uint64_t at = 0;

	(void)state;
	for (size_t i = 0; i < TIMES; i++)
		buf_add(&bytes, unit, SIZE);
	struct source *source = source_over("cpu0.pt", bytes.data, bytes.len);
	struct intel_pt *pt = intel_pt_open(source, 0, bytes.len);
	while (intel_pt_next(pt, &row, &err) == STEP_ITEM) {
		assert_int_equal(row.at, at);
		at += row.size;
		psbs += !strcmp(row.name, "psb");
		if (row.damaged) {
			assert_int_equal(row.size, BROKEN);
			assert_int_equal((row.at + BROKEN) % SIZE, 0);
			skips++;
		}
	}
	assert_int_equal(at, bytes.len);
	assert_int_equal(psbs, TIMES);
	assert_int_equal(skips, TIMES);
	intel_pt_close(pt);
	source_close(source);
	buf_release(&bytes);
}

/* linux/perf_event.h, at struct perf_event_mmap_page: quot and rem of the shift. */
static void stamps_become_times(void **state)
{
	const struct aux_kind kind = {
		.has_time = true, .time_shift = 31, .time_mult = 715828000, .time_zero = 7};
	uint64_t t;

	(void)state;
	assert_true(intel_pt_time(&kind, 0, &t) && t == 7);
	assert_true(intel_pt_time(&kind, UINT64_C(1) << 31, &t) && t == 715828007);
	assert_true(intel_pt_time(&kind, (UINT64_C(5) << 31) + 12345, &t) &&
		    t == UINT64_C(5) * 715828000 + 4115 + 7);
	assert_false(intel_pt_time(&(struct aux_kind){.time_mult = 1}, 1, &t));
	assert_false(intel_pt_time(&(struct aux_kind){.has_time = true, .time_shift = 64}, 1, &t));
}

int main(void)
{
	const struct CMUnitTest others[] = {
		cmocka_unit_test(buffers_are_told_apart),
		cmocka_unit_test(chunks_beyond_the_file_are_errors),
		cmocka_unit_test(the_synthetic_case_as_libipt_lists_it),
		cmocka_unit_test(long_streams_have_no_seams),
		cmocka_unit_test(stamps_become_times),
	};
	struct CMUnitTest tests[COUNT(rows) + COUNT(streams) + COUNT(others)];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[n++] =
			(struct CMUnitTest){rows[i].name, lays_end_to_end, NULL, NULL, &rows[i]};
	for (size_t i = 0; i < COUNT(streams); i++)
		tests[n++] = (struct CMUnitTest){streams[i].name, lists_packets, NULL, NULL,
						 &streams[i]};
	for (size_t i = 0; i < COUNT(others); i++)
		tests[n++] = others[i];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
