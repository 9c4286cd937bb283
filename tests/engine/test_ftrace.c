/*
 * trace.dat: files of every form, made from the format's description, must give the events that
 * were put into them; and what odd pages, losses and damage mean, fact by fact.
 */
#include "tests/engine/opened_ftrace.h"

#include "engine/base/mem.h"
#include "engine/event.h"
#include "engine/reader.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

static const struct made_form V6 = {"", 6, false, 8, 4096, NULL};
static const struct made_form V7 = {"", 7, false, 8, 4096, "none"};
static const struct made_form ZSTD = {"", 7, false, 8, 4096, "zstd"};

static struct made_form forms[] = {
	{"version 6", 6, false, 8, 4096, NULL},
	{"version 6, big endian", 6, true, 8, 4096, NULL},
	{"version 6, 32-bit", 6, false, 4, 4096, NULL},
	{"version 6, big endian, 32-bit", 6, true, 4, 4096, NULL},
	{"version 6, sub-buffers of 16 KB in a file that says 4 KB", 6, false, 8, 16384, NULL},
	{"version 6, pages of 1 KB", 6, false, 8, 1024, NULL},
	{"version 7, not compressed", 7, false, 8, 4096, "none"},
	{"version 7, big endian, not compressed", 7, true, 8, 4096, "none"},
	{"version 7, pages of 64 KB", 7, false, 8, 65536, "none"},
	{"version 7, zstd", 7, false, 8, 4096, "zstd"},
	{"version 7, zstd, big endian, 32-bit", 7, true, 4, 4096, "zstd"},
	{"version 7, zlib", 7, false, 8, 4096, "zlib"},
	{"version 7, zlib, sub-buffers of 8 KB", 7, false, 8, 8192, "zlib"},
};

static void every_form_gives_its_events(void **state)
{
	const struct made_form *form = *state;
	size_t pages = 300000 / form->page;
	struct rng random = {17};
	struct opened opened;
	struct made made;

	made_init(&made, form, 3);
	for (unsigned i = 0; i < 2; i++) { /* the third CPU has none */
		uint64_t stamp = UINT64_C(1000000000000) * (i + 1);
		uint32_t n = i * 1000000;
		made_random_pages(&made, i, pages, &stamp, &n, &random);
	}
	if (!open_made(&made, &opened))
		fail_msg("%s", opened.err.text);
	bool holes = form->version == 7;
	check_stream(opened.trace, &made.cpus[0], stream_of(opened.trace, "cpu0"));
	check_stream(opened.trace, &made.cpus[1], stream_of(opened.trace, holes ? "cpu2" : "cpu1"));
	check_stream(opened.trace, &made.cpus[2], stream_of(opened.trace, holes ? "cpu4" : "cpu2"));
	assert_int_equal(opened.said.damages, 0);
	opened_release(&opened);
	made_release(&made);
}

/* ---- losses ---- */

/* Page 20 of 40 lost events: counted, not counted; the last one before it ends at a known time. */
static struct loss_row {
	const char *name;
	const struct made_form *form;
	uint64_t lost;
	bool cut; /* the run of pages is cut there */
} loss_rows[] = {
	{"a counted loss begins a packet", &V6, 17, true},
	{"a loss without a count begins a packet", &V6, 0, true},
	{"a loss in version 7", &V7, 3, true},
	{"a loss among compressed pages is added to its packet", &ZSTD, 5, false},
};

static void losses_are_told(void **state)
{
	enum { PAGES = 40, AT = 20, EACH = 10 };
	const struct loss_row *row = *state;
	struct records records = {0};
	struct opened opened;
	struct made made;
	size_t losses = 0;

	made_init(&made, row->form, 1);
	for (unsigned i = 0; i < PAGES; i++) {
		struct made_page page;
		made_page_begin(&page, 1000 * (i + 1));
		for (unsigned k = 0; k < EACH; k++)
			made_event(&made, &page, 0, 1000 * (i + 1) + k, i * EACH + k);
		page.missed = i == AT;
		page.lost = i == AT ? row->lost : 0;
		made_page_end(&made, &page, 0);
	}
	assert_true(open_made(&made, &opened));
	const struct stream *stream = stream_of(opened.trace, "cpu0");
	assert_int_equal(stream->lost_kind, LOST_COUNT_BEFORE);
	records_scan(opened.trace, stream, NULL, &records);
	for (size_t i = 0; i < records.count; i++) {
		const struct packet *rec = &records.items[i].rec;
		if (!rec->lost && !(rec->flags & PACKET_LOST_UNKNOWN))
			continue;
		losses++;
		assert_true(rec->lost == row->lost);
		assert_true(!(rec->flags & PACKET_LOST_UNKNOWN) == (row->lost > 0));
		if (!row->cut)
			continue;
		assert_true(rec->min == 1000 * (AT + 1));
		/* in front of a loss the end is that of the last event, not the next begin */
		assert_true(records.items[i - 1].rec.max == 1000 * AT + EACH - 1);
		assert_true(records.items[i - 1].rec.flags & PACKET_EXACT_MAX);
	}
	assert_int_equal(losses, 1);
	if (row->cut) { /* a table without a scan would miss the cut, and says so */
		struct packet_info info;
		struct error err;
		assert_false(ftrace_reader.packet_at(stream, AT / 16, &info, &err));
	}
	records_release(&records);
	opened_release(&opened);
	made_release(&made);
}

/* ---- odd pages ---- */

static size_t events_of(struct made *made, size_t *packets)
{
	struct records records = {0};
	struct opened opened;
	struct got got = {0};

	assert_true(open_made(made, &opened));
	decode_stream(opened.trace, stream_of(opened.trace, "cpu0"), &records, &got);
	assert_int_equal(got.errors, 0);
	for (size_t i = 0; i < got.count; i++)
		assert_int_equal(got.numbers[i], i);
	size_t count = got.count;
	*packets = records.count;
	records_release(&records);
	got_release(&got);
	opened_release(&opened);
	return count;
}

static void empty_pages_are_legal(void **state)
{
	struct made made;
	size_t packets;
	uint32_t n = 0;

	(void)state;
	made_init(&made, &V6, 1);
	add_page(&made, 0, 0, &n);
	add_page(&made, 5000, 3, &n);
	for (unsigned i = 0; i < 20; i++)
		add_page(&made, 0, 0, &n);
	add_page(&made, 6000, 3, &n);
	assert_int_equal(events_of(&made, &packets), 6);
	assert_int_equal(packets, 2);
	made_release(&made);
}

static void stamps_that_fall_cut_the_run(void **state)
{
	struct made made;
	size_t packets;
	uint32_t n = 0;

	(void)state;
	made_init(&made, &V6, 1);
	add_page(&made, 9000, 3, &n);
	add_page(&made, 5000, 3, &n);
	add_page(&made, 6000, 3, &n);
	assert_int_equal(events_of(&made, &packets), 9);
	assert_int_equal(packets, 2);
	made_release(&made);
}

static void a_type_without_format_has_its_bytes_shown(void **state)
{
	static const char raw[] = "raw!", *data = "data";
	const struct reader *reader = &ftrace_reader;
	struct records records = {0};
	struct made_page page;
	struct opened opened;
	struct fields fields;
	struct field field;
	struct error err;
	struct made made;

	(void)state;
	made_init(&made, &V6, 1);
	made_page_begin(&page, 1000);
	made_entry(&made, &page, 2, 5);
	made_put(&made, &page.entries, MADE_UNKNOWN, 2);
	buf_add(&page.entries, "\1\2", 2);
	buf_add(&page.entries, raw, 4);
	made_page_end(&made, &page, 0);
	assert_true(open_made(&made, &opened));
	const struct stream *stream = stream_of(opened.trace, "cpu0");
	records_scan(opened.trace, stream, NULL, &records);
	struct decoder *decoder = reader->decoder_new(stream);
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	batch->capacity = 10;
	assert_true(reader->decoder_open(decoder, &records.items[0], &err));
	assert_int_equal(reader->decoder_next(decoder, batch, &err), STEP_ITEM);
	assert_int_equal(batch->count, 1);
	assert_true(batch->time[0] == 1005);
	assert_true(reader->decoder_fields(decoder, batch, 0, &fields, &err));
	assert_string_equal(fields.class->name, "#unknown");
	assert_int_equal(number_of(&fields, "common_type"), MADE_UNKNOWN);
	assert_true(fields_get(&fields, 1u << SCOPE_PAYLOAD, &data, 1, &field));
	size_t len;
	const uint8_t *bytes = field_bytes(&field, NULL, &len);
	assert_int_equal(len, 6);
	assert_memory_equal(bytes, "\1\2raw!", 6);
	reader->decoder_free(decoder);
	batch_free(batch);
	records_release(&records);
	opened_release(&opened);
	made_release(&made);
}

/* ---- damage ---- */

/* Of a file of 20 pages with 30 events each. */
static struct damage_row {
	const char *name;
	const struct made_form *form;
	int64_t cut;       /* bytes left, from the end of the file when negative; 0: all */
	uint32_t page, at; /* these bytes of that page are changed... */
	uint64_t to;       /* ...to this */
	unsigned bytes;
	const char *opening; /* it cannot be opened: this is why */
	const char *damage;  /* what is said once, while opening or decoding */
	size_t least, most;  /* events */
} damage_rows[] = {
	{.name = "cut inside a page",
	 .form = &V6,
	 .cut = -4096 - 3900,
	 .damage = "file ends",
	 .least = 18 * 30,
	 .most = 19 * 30 - 1},
	{.name = "cut between two pages",
	 .form = &V6,
	 .cut = -8192,
	 .damage = "cut off",
	 .least = 18 * 30,
	 .most = 18 * 30},
	{.name = "cut before all pages",
	 .form = &V6,
	 .cut = -20 * 4096,
	 .damage = "the file ends before them"},
	{.name = "cut inside the formats", .form = &V6, .cut = 480, .opening = "event formats"},
	{.name = "cut inside the first bytes", .form = &V6, .cut = 14, .opening = "beyond the end"},
	{.name = "a page that claims too much",
	 .form = &V6,
	 .page = 3,
	 .at = 8,
	 .to = 4081,
	 .bytes = 8,
	 .damage = "claims to hold more",
	 .least = 3 * 30 + 4 * 30,
	 .most = 3 * 30 + 4 * 30},
	{.name = "an event that reaches past its page",
	 .form = &V6,
	 .page = 17,
	 .at = 16 + 29 * 16,
	 .to = 28,
	 .bytes = 4,
	 .damage = "reaches past",
	 .least = 17 * 30 + 29,
	 .most = 17 * 30 + 29},
	{.name = "a length that makes no sense",
	 .form = &V6,
	 .page = 17,
	 .at = 16,
	 .to = UINT64_C(0x0000000200000000),
	 .bytes = 8,
	 .damage = "reaches past",
	 .least = 17 * 30,
	 .most = 17 * 30},
	{.name = "a stamp that is no time",
	 .form = &V6,
	 .page = 19,
	 .at = 0,
	 .to = UINT64_MAX - 5,
	 .bytes = 8,
	 .damage = "does not fit",
	 .least = 19 * 30,
	 .most = 19 * 30},
	{.name = "version 7 without its options",
	 .form = &V7,
	 .cut = -200,
	 .opening = "options at offset"},
	{.name = "compressed, a chunk's bytes changed",
	 .form = &ZSTD,
	 .page = UINT32_MAX, /* the last chunk */
	 .to = UINT64_C(0x5555555555555555),
	 .bytes = 8,
	 .damage = "zstd",
	 .least = 15 * 30,
	 .most = 18 * 30},
};

static void make_twenty_pages(struct made *made, const struct made_form *form)
{
	uint32_t n = 0;

	made_init(made, form, 1);
	for (unsigned i = 0; i < 20; i++)
		add_page(made, 1000 * (i + 1), 30, &n);
	made_write(made);
}

static void damage(const struct damage_row *row, struct made *made)
{
	struct buf to = {0}, *file = &made->file;
	size_t first = file->len - 20 * 4096, at = first + row->page * 4096 + row->at;

	if (row->page == UINT32_MAX) { /* behind the last chunk is the chain's second section */
		static const char magic[] = "\x28\xb5\x2f\xfd"; /* of a zstd frame */
		size_t chunks = 0;
		for (size_t i = 0; i + 4 < file->len; i++)
			if (!memcmp(file->data + i, magic, 4)) {
				chunks++;
				at = chunks == 6 + 7 ? i : at; /* six sections, seven chunks */
			}
	}
	made_put(made, &to, row->to, row->bytes);
	if (row->bytes)
		memcpy(file->data + at, to.data, row->bytes);
	buf_release(&to);
	if (row->cut)
		file->len = row->cut > 0 ? (size_t)row->cut : file->len - (size_t)-row->cut;
}

static void damage_costs_what_it_hits(void **state)
{
	const struct damage_row *row = *state;
	struct records records = {0};
	struct opened opened;
	struct got got = {0};
	struct made made;

	make_twenty_pages(&made, row->form);
	damage(row, &made);
	bool open = open_bytes(made.file.data, made.file.len, &opened);
	if (row->opening) {
		assert_false(open);
		if (!strstr(opened.err.text, row->opening))
			fail_msg("%s", opened.err.text);
	} else {
		assert_true(open);
		decode_stream(opened.trace, stream_of(opened.trace, "cpu0"), &records, &got);
		assert_in_range(got.count, row->least, row->most);
		for (size_t i = 1; i < got.count; i++)
			assert_true(got.times[i] >= got.times[i - 1]);
		assert_int_equal(got.errors + opened.said.damages, row->damage ? 1 : 0);
		const char *said = got.errors ? got.last : opened.said.last;
		if (row->damage && (!strstr(said, row->damage) || !strstr(said, opened.path)))
			fail_msg("%s", said);
	}
	records_release(&records);
	got_release(&got);
	opened_release(&opened);
	made_release(&made);
}

static void a_latency_tracers_file_is_told_apart(void **state)
{
	struct opened opened;
	struct made made;
	char *tag;

	(void)state;
	make_twenty_pages(&made, &V6);
	tag = memmem(made.file.data, made.file.len, "flyrecord", 10);
	assert_non_null(tag);
	memcpy(tag, "latency  ", 10);
	assert_false(open_bytes(made.file.data, made.file.len, &opened));
	assert_non_null(strstr(opened.err.text, "latency tracer"));
	opened_release(&opened);
	made_release(&made);
}

static struct fact {
	const char *name;
	void (*check)(void **state);
	const void *with;
} facts[] = {
	{"empty pages are legal", empty_pages_are_legal, NULL},
	{"stamps that fall cut the run", stamps_that_fall_cut_the_run, NULL},
	{"a type without format has its bytes shown", a_type_without_format_has_its_bytes_shown,
	 NULL},
	{"a latency tracer's file is told apart", a_latency_tracers_file_is_told_apart, NULL},
};

int main(void)
{
	enum { N = COUNT(forms) + COUNT(loss_rows) + COUNT(damage_rows) + COUNT(facts) };
	struct CMUnitTest tests[N];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(forms); i++)
		tests[n++] = (struct CMUnitTest){forms[i].name, every_form_gives_its_events, NULL,
						 NULL, &forms[i]};
	for (size_t i = 0; i < COUNT(loss_rows); i++)
		tests[n++] = (struct CMUnitTest){loss_rows[i].name, losses_are_told, NULL, NULL,
						 &loss_rows[i]};
	for (size_t i = 0; i < COUNT(damage_rows); i++)
		tests[n++] = (struct CMUnitTest){damage_rows[i].name, damage_costs_what_it_hits,
						 NULL, NULL, &damage_rows[i]};
	for (size_t i = 0; i < COUNT(facts); i++)
		tests[n++] = (struct CMUnitTest){facts[i].name, facts[i].check, NULL, NULL,
						 (void *)(uintptr_t)facts[i].with};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
