/*
 * The AUX area of perf.data files made here, in both byte orders: where regions that the kernel
 * filled meet chunks that the recorder copied, one row per case; and what is said of their kind.
 */
#include "engine/hwtrace/aux.h"

#include "engine/base/mem.h"
#include "tests/engine/decoded.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

enum record { END, AUX, TRACE };

struct step_ {
	enum record record;
	int32_t cpu, tid; /* whose */
	uint64_t offset;
	const char *bytes; /* TRACE: letters, a point is a zero byte */
	uint64_t size;     /* AUX */
	bool truncated;    /* AUX */
};

static struct row {
	const char *name;
	struct step_ steps[6];
	const char *expected; /* "cpu0 abcd=efgh;": = joined, | not, ! truncated */
} rows[] = {
	{"a region says where padding begins",
	 {{AUX, 0, 5, 0, NULL, 4, false}, {TRACE, 0, -1, 0, "abcd....", 0, false}},
	 "cpu0 abcd;"},
	{"it may be told later",
	 {{TRACE, 0, -1, 0, "abcd....", 0, false}, {AUX, 0, 5, 0, NULL, 4, false}},
	 "cpu0 abcd;"},
	{"zeros that a region has stay",
	 {{AUX, 0, 5, 0, NULL, 6, false}, {TRACE, 0, -1, 0, "abcd....", 0, false}},
	 "cpu0 abcd..;"},
	{"bytes that are not zero are no padding",
	 {{AUX, 0, 5, 0, NULL, 4, false}, {TRACE, 0, -1, 0, "abcd...e", 0, false}},
	 "cpu0 abcd...e;"},
	{"nor is what another region has",
	 {{AUX, 0, 5, 0, NULL, 4, false},
	  {AUX, 0, 5, 4, NULL, 8, false},
	  {TRACE, 0, -1, 0, "abcd....", 0, false}},
	 "cpu0 abcd....;"},
	{"but the next chunk tells then",
	 {{AUX, 0, 5, 0, NULL, 4, false},
	  {AUX, 0, 5, 4, NULL, 4, false},
	  {TRACE, 0, -1, 0, "abcd....", 0, false},
	  {TRACE, 0, -1, 4, "efgh....", 0, false}},
	 "cpu0 abcd=efgh;"},
	{"another CPU's regions say nothing",
	 {{AUX, 1, 5, 0, NULL, 4, false}, {TRACE, 0, -1, 0, "abcd....", 0, false}},
	 "cpu0 abcd....;"},
	{"data lost inside a chunk part it",
	 {{AUX, 0, 5, 0, NULL, 3, true},
	  {AUX, 0, 5, 3, NULL, 5, false},
	  {TRACE, 0, -1, 0, "abcdefgh", 0, false}},
	 "cpu0 abc!=defgh;"},
	{"data lost at its end",
	 {{AUX, 0, 5, 0, NULL, 8, false},
	  {AUX, 0, 5, 8, NULL, 0, true},
	  {TRACE, 0, -1, 0, "abcdefgh", 0, false},
	  {TRACE, 0, -1, 8, "ijklmnop", 0, false}},
	 "cpu0 abcdefgh!=ijklmnop;"},
	{"several times in a chunk, and in front of padding",
	 {{AUX, 0, 5, 0, NULL, 2, true},
	  {AUX, 0, 5, 2, NULL, 1, true},
	  {AUX, 0, 5, 3, NULL, 2, true},
	  {TRACE, 0, -1, 0, "abcde...", 0, false}},
	 "cpu0 ab!=c!=de!;"},
	{"a thread's buffer has its thread's regions",
	 {{AUX, 3, 7, 0, NULL, 4, false},
	  {TRACE, -1, 7, 0, "abcd....", 0, false},
	  {TRACE, -1, 8, 0, "efgh....", 0, false}},
	 "tid7 abcd;tid8 efgh....;"},
	{"a region beyond the end of counting is none",
	 {{AUX, 0, 5, UINT64_MAX - 1, NULL, 10, true}, {TRACE, 0, -1, 0, "abcd....", 0, false}},
	 "cpu0 abcd....;"},
	{"CPUs in turns",
	 {{TRACE, 0, -1, 0, "abcdefgh", 0, false},
	  {TRACE, 1, -1, 0, "ABCDEFGH", 0, false},
	  {TRACE, 0, -1, 8, "ijklmnop", 0, false},
	  {TRACE, 1, -1, 16, "IJKLMNOP", 0, false}},
	 "cpu0 abcdefgh=ijklmnop;cpu1 ABCDEFGH|IJKLMNOP;"},
};

/* IP, TID, TIME, CPU, IDENTIFIER; the trailer of records that are no samples has all but IP. */
enum { SAMPLE_TYPE = 1 | 2 | 4 | 128 | 65536, ATTR_BYTES = 112, ID = 77 };

struct file {
	struct buf bytes;
	bool big;
};

static void put(struct file *file, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		buf_add_char(&file->bytes, (char)(value >> 8 * (file->big ? bytes - 1 - i : i)));
}

static void head(struct file *file, uint32_t type, size_t size)
{
	put(file, type, 4);
	put(file, 0, 2);
	put(file, size, 2);
}

/* The start of a pipe's stream: one attribute. */
static void begin(struct file *file, bool big)
{
	*file = (struct file){.big = big};
	buf_add(&file->bytes, big ? "2ELIFREP" : "PERFILE2", 8);
	put(file, 16, 8);
	head(file, 64, 8 + ATTR_BYTES + 8);
	put(file, 8, 4);
	put(file, ATTR_BYTES, 4);
	put(file, 3 << 14, 8); /* config: MTC frequency 3, in the bits that the info names */
	put(file, 0, 8);
	put(file, SAMPLE_TYPE, 8);
	put(file, 0, 8);
	/* sample_id_all is bit 18; a bit field counts from the other end of a byte there */
	uint8_t flags[8] = {0, 0, (uint8_t)(big ? 1 << 5 : 1 << 2)};
	buf_add(&file->bytes, flags, sizeof flags);
	for (size_t at = 48; at < ATTR_BYTES; at += 8)
		put(file, 0, 8);
	put(file, ID, 8);
}

static void put_aux(struct file *file, const struct step_ *step)
{
	head(file, 11, 8 + 24 + 32);
	put(file, step->offset, 8);
	put(file, step->size, 8);
	put(file, step->truncated, 8);
	put(file, (uint32_t)step->tid, 4);
	put(file, (uint32_t)step->tid, 4);
	put(file, 1000, 8);
	put(file, (uint32_t)step->cpu, 4);
	put(file, 0, 4);
	put(file, ID, 8);
}

static void put_trace(struct file *file, const struct step_ *step)
{
	size_t n = strlen(step->bytes);

	head(file, 71, 48);
	put(file, n, 8);
	put(file, step->offset, 8);
	put(file, 5000, 8);
	put(file, 0, 4);
	put(file, (uint32_t)step->tid, 4);
	put(file, (uint32_t)step->cpu, 4);
	put(file, 0, 4);
	for (size_t i = 0; i < n; i++)
		buf_add_char(&file->bytes, step->bytes[i] == '.' ? 0 : step->bytes[i]);
}

static void describe(const struct aux *aux, struct buf *out)
{
	struct error err;

	for (size_t i = 0; i < aux->nbuffers; i++) {
		const struct aux_buffer *buffer = &aux->buffers[i];
		buf_printf(out, "%s%lld ", buffer->cpu >= 0 ? "cpu" : "tid",
			   (long long)(buffer->cpu >= 0 ? buffer->cpu : buffer->tid));
		for (size_t k = 0; k < buffer->npieces; k++) {
			const struct aux_piece *piece = &buffer->pieces[k];
			if (k)
				buf_add_char(out, piece->joined ? '=' : '|');
			char *to = buf_room(out, (size_t)piece->len);
			assert_true(source_peek(piece->source, piece->at, to, (size_t)piece->len,
						&err));
			for (size_t n = 0; n < piece->len; n++)
				to[n] = to[n] ? to[n] : '.';
			out->len += (size_t)piece->len;
			if (piece->truncated)
				buf_add_char(out, '!');
			assert_int_equal(piece->reference, 5000);
		}
		buf_add_char(out, ';');
	}
}

/* Reads the AUX area of a file of these bytes; the trace is the caller's. */
static struct trace *open_file(const struct file *file, const char *path, struct aux *aux)
{
	struct trace *trace;
	struct said said;
	struct error err;

	write_file(path, file->bytes.data, file->bytes.len);
	if (!decoded_open(path, &said, &trace, &err) || !aux_read(trace->parts[0], aux, &err))
		fail_msg("%s", err.text);
	return trace;
}

static void regions_and_chunks(void **state)
{
	const struct row *row = *state;
	char *folder = scratch_folder(), *path = path_join(folder, "perf.data");

	for (int big = 0; big < 2; big++) {
		struct buf got = {0};
		struct file file;
		struct aux aux;
		begin(&file, big);
		for (size_t i = 0; i < COUNT(row->steps) && row->steps[i].record; i++)
			if (row->steps[i].record == AUX)
				put_aux(&file, &row->steps[i]);
			else
				put_trace(&file, &row->steps[i]);
		struct trace *trace = open_file(&file, path, &aux);
		describe(&aux, &got);
		assert_string_equal(buf_text(&got), row->expected);
		aux_release(&aux);
		trace_close(trace);
		buf_release(&got);
		buf_release(&file.bytes);
	}
	mem_free(path);
	scratch_remove(folder);
}

static void put_info(struct file *file, uint32_t kind, bool cap_zero)
{
	const uint64_t priv[16] = {8, 31, 715828000, 99,      cap_zero, 0x400, 0x800, 0,
				   0, 1,  0x200,     0x3c000, 2,        250,   2,     30};

	head(file, 70, 16 + sizeof priv);
	put(file, kind, 4);
	put(file, 0, 4);
	for (size_t i = 0; i < COUNT(priv); i++)
		put(file, priv[i], 8);
}

static void put_time_conv(struct file *file)
{
	const uint64_t words[] = {10, 1234, 777, 0, 0, 1};

	head(file, 79, 56);
	for (size_t i = 0; i < COUNT(words); i++)
		put(file, i == 5 && file->big ? words[i] << 56 : words[i], 8);
}

static void the_kind_is_told(void **state)
{
	char *folder = scratch_folder(), *path = path_join(folder, "perf.data");

	(void)state;
	for (int i = 0; i < 8; i++) {
		bool big = i & 1, cap = i & 2, pt = i & 4;
		struct file file;
		struct aux aux;
		begin(&file, big);
		put_info(&file, pt ? 1 : 4, cap);
		put_time_conv(&file);
		struct trace *trace = open_file(&file, path, &aux);
		assert_string_equal(aux.kind.name, pt ? "intel_pt" : "arm_spe");
		assert_int_equal(aux.kind.is_intel_pt, pt);
		assert_true(aux.kind.has_time);
		assert_int_equal(aux.kind.time_shift, pt && cap ? 31 : 10);
		assert_int_equal(aux.kind.time_mult, pt && cap ? 715828000 : 1234);
		assert_int_equal(aux.kind.time_zero, pt && cap ? 99 : 777);
		assert_int_equal(aux.nbuffers, 0);
		aux_release(&aux);
		trace_close(trace);
		buf_release(&file.bytes);
	}
	mem_free(path);
	scratch_remove(folder);
}

/* What lies before the damage is placed, and the error says where that is. */
static void a_chunk_that_is_cut_off_is_told(void **state)
{
	const struct step_ whole = {TRACE, 0, -1, 0, "abcdefgh", 0, false};
	const struct step_ cut = {TRACE, 0, -1, 8, "ijklmnop", 0, false};
	char *folder = scratch_folder(), *path = path_join(folder, "perf.data");
	struct file file;
	struct trace *trace;
	struct said said;
	struct error err;
	struct aux aux;

	(void)state;
	begin(&file, false);
	put_trace(&file, &whole);
	size_t at = file.bytes.len;
	put_trace(&file, &cut);
	write_file(path, file.bytes.data, file.bytes.len - 3);
	assert_true(decoded_open(path, &said, &trace, &err));
	assert_false(aux_read(trace->parts[0], &aux, &err));
	char place[32];
	snprintf(place, sizeof place, "offset %zu", at);
	assert_non_null(strstr(err.text, place));
	assert_non_null(strstr(err.text, "perf.data"));
	assert_int_equal(aux.nbuffers, 1);
	assert_int_equal(aux.buffers[0].size, 8);
	aux_release(&aux);
	trace_close(trace);
	buf_release(&file.bytes);
	mem_free(path);
	scratch_remove(folder);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 2];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[n++] =
			(struct CMUnitTest){rows[i].name, regions_and_chunks, NULL, NULL, &rows[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_kind_is_told);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_chunk_that_is_cut_off_is_told);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
