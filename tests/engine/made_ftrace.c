/* made_ftrace.c - see made_ftrace.h */
#include "tests/engine/made_ftrace.h"

#include "engine/base/mem.h"
#include "fixtures/rng.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { DATA_PAGES_PER_CHUNK = 3, EXTEND = 30, STAMP = 31, DELETED = 29 };

void made_put(const struct made *made, struct buf *out, uint64_t value, unsigned bytes)
{
	bool be = made->form->big_endian;

	for (unsigned i = 0; i < bytes; i++)
		buf_add_char(out, (char)(value >> (be ? bytes - 1 - i : i) * 8));
}

void made_init(struct made *made, const struct made_form *form, unsigned ncpus)
{
	*made = (struct made){.form = form, .ncpus = ncpus, .comms = "42 worker\n7 two words\n"};
}

void made_release(struct made *made)
{
	for (unsigned i = 0; i < MADE_CPUS; i++) {
		buf_release(&made->cpus[i].pages);
		mem_free(made->cpus[i].events);
	}
	buf_release(&made->options);
	buf_release(&made->file);
}

void made_option(struct made *made, unsigned id, const void *data, size_t size)
{
	made_put(made, &made->options, id, 2);
	made_put(made, &made->options, size, 4);
	buf_add(&made->options, data, size);
}

static unsigned head_bytes(const struct made *made)
{
	return 8 + made->form->longs;
}

void made_page_begin(struct made_page *page, uint64_t stamp)
{
	*page = (struct made_page){.stamp = stamp, .last = stamp};
}

void made_entry(const struct made *made, struct made_page *page, unsigned type, uint32_t delta)
{
	uint32_t word = made->form->big_endian ? (uint32_t)type << 27 | delta : delta << 5 | type;

	made_put(made, &page->entries, word, 4);
}

/* Returns the delta to a stamp; adds an extend entry first if it does not fit. */
static uint32_t delta_to(const struct made *made, struct made_page *page, uint64_t stamp)
{
	uint64_t delta = stamp - page->last;

	page->last = stamp;
	if (delta < 1 << 27)
		return (uint32_t)delta;
	made_entry(made, page, EXTEND, (uint32_t)(delta & ((1 << 27) - 1)));
	made_put(made, &page->entries, delta >> 27, 4);
	return 0;
}

static void add_record(struct made *made, struct made_page *page, unsigned cpu, uint32_t n)
{
	struct made_cpu *own = &made->cpus[cpu];

	made_put(made, &page->entries, MADE_ID, 2);
	made_put(made, &page->entries, 1, 1);
	made_put(made, &page->entries, 2, 1);
	made_put(made, &page->entries, MADE_PID, 4);
	made_put(made, &page->entries, n, 4);
	own->events = mem_grow(own->events, own->count, &own->capacity, sizeof *own->events);
	own->events[own->count++] = (struct made_event){page->last, n};
}

void made_event(struct made *made, struct made_page *page, unsigned cpu, uint64_t stamp, uint32_t n)
{
	made_entry(made, page, 3, delta_to(made, page, stamp));
	add_record(made, page, cpu, n);
}

void made_long_event(struct made *made, struct made_page *page, unsigned cpu, uint64_t stamp,
		     uint32_t n, size_t more)
{
	made_entry(made, page, 0, delta_to(made, page, stamp));
	made_put(made, &page->entries, 4 + 12 + more, 4);
	add_record(made, page, cpu, n);
	for (; more; more--)
		buf_add_char(&page->entries, 'x');
}

void made_stamp(const struct made *made, struct made_page *page, uint64_t stamp)
{
	made_entry(made, page, STAMP, (uint32_t)(stamp & ((1 << 27) - 1)));
	made_put(made, &page->entries, stamp >> 27 & UINT32_MAX, 4);
	page->last = stamp;
}

void made_deleted(const struct made *made, struct made_page *page, uint32_t delta, size_t bytes)
{
	made_entry(made, page, DELETED, delta);
	made_put(made, &page->entries, 4 + bytes, 4);
	page->last += delta;
	for (; bytes; bytes--)
		buf_add_char(&page->entries, (char)0xee);
}

size_t made_page_room(const struct made *made, const struct made_page *page)
{
	return made->form->page - head_bytes(made) - page->entries.len;
}

void made_page_end(struct made *made, struct made_page *page, unsigned cpu)
{
	struct buf *out = &made->cpus[cpu].pages;
	uint64_t commit = page->entries.len;
	size_t begin = out->len;

	/* as 64-bit kernels write it: the 32-bit flag word is sign-extended */
	if (page->missed)
		commit |= page->lost ? UINT64_C(0xffffffffc0000000) : UINT64_C(0xffffffff80000000);
	made_put(made, out, page->stamp, 8);
	made_put(made, out, commit, made->form->longs);
	buf_add(out, page->entries.data ? page->entries.data : "", page->entries.len);
	if (page->lost)
		made_put(made, out, page->lost, made->form->longs);
	while (out->len < begin + made->form->page)
		buf_add_char(out, 0);
	buf_release(&page->entries);
}

static void random_entry(struct made *made, struct made_page *page, unsigned cpu, uint64_t *stamp,
			 uint32_t *n, struct rng *random)
{
	uint64_t kind = rng_next(random) % 40;

	*stamp += rng_next(random) % 2000;
	if (kind == 0) {
		*stamp += UINT64_C(1) << (27 + rng_next(random) % 6);
		made_event(made, page, cpu, *stamp, (*n)++);
	} else if (kind == 1) {
		*stamp += UINT64_C(1) << 28;
		made_stamp(made, page, *stamp);
	} else if (kind == 2) {
		made_deleted(made, page, 5, 8 + rng_next(random) % 4 * 4);
		*stamp = page->last;
	} else if (kind < 6) {
		made_long_event(made, page, cpu, *stamp, (*n)++, rng_next(random) % 60 * 4);
	} else {
		made_event(made, page, cpu, *stamp, (*n)++);
	}
}

void made_random_pages(struct made *made, unsigned cpu, size_t count, uint64_t *stamp, uint32_t *n,
		       struct rng *random)
{
	enum { LARGEST = 320 };

	for (; count; count--) {
		struct made_page page;
		made_page_begin(&page, *stamp);
		made_event(made, &page, cpu, *stamp, (*n)++);
		while (made_page_room(made, &page) > LARGEST)
			random_entry(made, &page, cpu, stamp, n, random);
		if (rng_next(random) % 3 == 0) { /* the rest of the page is empty */
			made_entry(made, &page, DELETED, 0);
			for (int i = 0; i < 12; i++)
				buf_add_char(&page.entries, (char)0xdd);
		}
		made_page_end(made, &page, cpu);
	}
}

void made_header_page(const struct made *made, struct buf *out)
{
	unsigned longs = made->form->longs, data = head_bytes(made);

	buf_printf(out,
		   "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		   "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
		   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		   "\tfield: char data;\toffset:%u;\tsize:%u;\tsigned:0;\n",
		   longs, data, made->form->page - data);
}

void made_format(const struct made *made, struct buf *out)
{
	(void)made;
	buf_printf(out,
		   "name: made\nID: %d\nformat:\n"
		   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		   "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		   "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		   "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		   "\tfield:unsigned int n;\toffset:8;\tsize:4;\tsigned:0;\n\n"
		   "print fmt: \"n=%%u\", REC->n\n",
		   MADE_ID);
}

/* Appends a text after its length in `bytes` bytes. */
static void add_text(const struct made *made, struct buf *out, const char *text, unsigned bytes)
{
	made_put(made, out, strlen(text), bytes);
	buf_add_text(out, text);
}

static void write_headers(const struct made *made, struct buf *out)
{
	struct buf text = {0};

	made_header_page(made, &text);
	buf_add(out, "header_page", 12);
	add_text(made, out, buf_text(&text), 8);
	buf_add(out, "header_event", 13);
	add_text(made, out, "# compressed entry header\n", 8);
	buf_release(&text);
}

static void write_formats(const struct made *made, struct buf *out)
{
	struct buf text = {0};

	made_put(made, out, 1, 4); /* systems */
	buf_add(out, "tests", 6);
	made_put(made, out, 1, 4);
	made_format(made, &text);
	add_text(made, out, buf_text(&text), 8);
	buf_release(&text);
}

static void align(struct buf *out, size_t to)
{
	while (out->len % to)
		buf_add_char(out, 0);
}

static void write_6(struct made *made)
{
	struct buf *out = &made->file;

	write_headers(made, out);
	made_put(made, out, 0, 4); /* ftrace formats */
	write_formats(made, out);
	add_text(made, out, "ffffffff81000000 T _stext\n", 4);
	add_text(made, out, "", 4);
	add_text(made, out, made->comms, 8);
	made_put(made, out, made->ncpus, 4);
	if (made->options.len) {
		buf_add(out, "options  ", 10);
		buf_add(out, made->options.data, made->options.len);
		made_put(made, out, 0, 2);
	}
	buf_add(out, "flyrecord", 10);
	size_t at = (out->len + made->ncpus * 16 + made->form->page - 1) / made->form->page *
		    made->form->page;
	for (unsigned i = 0; i < made->ncpus; i++) {
		made_put(made, out, at, 8);
		made_put(made, out, made->cpus[i].pages.len, 8);
		at += made->cpus[i].pages.len;
	}
	align(out, made->form->page);
	for (unsigned i = 0; i < made->ncpus; i++)
		buf_add(out, made->cpus[i].pages.data ? made->cpus[i].pages.data : "",
			made->cpus[i].pages.len);
}

static bool compressed(const struct made *made)
{
	return strcmp(made->form->codec, "none") != 0;
}

/* {u32 compressed bytes, u32 plain bytes, data} */
static void add_compressed(const struct made *made, struct buf *out, const void *data, size_t size)
{
	size_t most = ZSTD_compressBound(size) + compressBound(size), got;
	uint8_t *room = mem_new(most);

	if (!strcmp(made->form->codec, "zstd")) {
		got = ZSTD_compress(room, most, data, size, 1);
	} else {
		uLongf len = most;
		compress2(room, &len, data, size, 1);
		got = len;
	}
	made_put(made, out, got, 4);
	made_put(made, out, size, 4);
	buf_add(out, room, got);
	mem_free(room);
}

/* Appends a section; returns its offset. */
static size_t add_section(struct made *made, unsigned id, const struct buf *body)
{
	struct buf packed = {0}, *out = &made->file;
	size_t at = out->len;

	if (compressed(made))
		add_compressed(made, &packed, body->data ? body->data : "", body->len);
	else if (body->len)
		buf_add(&packed, body->data, body->len);
	made_put(made, out, id, 2);
	made_put(made, out, compressed(made), 2);
	made_put(made, out, 0, 4);
	made_put(made, out, packed.len, 8);
	if (packed.len)
		buf_add(out, packed.data, packed.len);
	buf_release(&packed);
	return at;
}

static size_t write_chunks(struct made *made, const struct buf *pages)
{
	size_t most = (size_t)DATA_PAGES_PER_CHUNK * made->form->page, before = made->file.len + 4;
	size_t count = (pages->len + most - 1) / most;

	made_put(made, &made->file, count, 4);
	for (size_t at = 0; at < pages->len; at += most)
		add_compressed(made, &made->file, pages->data + at,
			       pages->len - at < most ? pages->len - at : most);
	return made->file.len - before; /* without the count itself */
}

/* Writes the buffer's section, and the option that points to it. */
static void write_buffer(struct made *made, struct buf *option)
{
	struct buf *out = &made->file;
	size_t at = out->len;

	made_put(made, out, 3, 2);
	made_put(made, out, compressed(made), 2);
	made_put(made, out, 0, 4);
	made_put(made, out, 0, 8);
	made_put(made, option, at, 8);
	buf_add(option, "\0local", 7);
	made_put(made, option, made->form->page, 4);
	made_put(made, option, made->ncpus, 4);
	for (unsigned i = 0; i < made->ncpus; i++) {
		const struct buf *pages = &made->cpus[i].pages;
		align(out, made->form->page);
		made_put(made, option, i * 2, 4); /* CPU ids have holes */
		made_put(made, option, out->len, 8);
		size_t size = compressed(made) ? write_chunks(made, pages) : pages->len;
		if (!compressed(made) && pages->len)
			buf_add(out, pages->data, pages->len);
		made_put(made, option, size, 8);
	}
}

static void write_7(struct made *made)
{
	struct buf parts[6] = {{0}}, *out = &made->file, buffer = {0}, last = {0};
	size_t at[6], first;

	buf_add(out, made->form->codec, strlen(made->form->codec) + 1);
	buf_add(out, "1", 2);
	first = out->len;
	made_put(made, out, 0, 8);
	write_headers(made, &parts[0]);
	made_put(made, &parts[1], 0, 4);
	write_formats(made, &parts[2]);
	add_text(made, &parts[3], "ffffffff81000000 T _stext\n", 4);
	add_text(made, &parts[4], "", 4);
	add_text(made, &parts[5], made->comms, 8);
	for (unsigned i = 0; i < 6; i++)
		at[i] = add_section(made, 16 + i, &parts[i]);
	write_buffer(made, &buffer);
	/* the chain's second section first, so that the first one can point to it */
	made_put(made, &last, 3, 2);
	made_put(made, &last, buffer.len, 4);
	buf_add(&last, buffer.data, buffer.len);
	made_put(made, &last, 0, 2);
	made_put(made, &last, 8, 4);
	made_put(made, &last, 0, 8);
	size_t next = add_section(made, 0, &last);
	buf_clear(&last);
	for (unsigned i = 0; i < 6; i++) {
		made_put(made, &last, 16 + i, 2);
		made_put(made, &last, 8, 4);
		made_put(made, &last, at[i], 8);
	}
	if (made->options.len)
		buf_add(&last, made->options.data, made->options.len);
	made_put(made, &last, 0, 2);
	made_put(made, &last, 8, 4);
	made_put(made, &last, next, 8);
	size_t options = add_section(made, 0, &last);
	struct buf place = {0};
	made_put(made, &place, options, 8);
	memcpy(out->data + first, place.data, 8);
	buf_release(&place);
	buf_release(&buffer);
	buf_release(&last);
	for (unsigned i = 0; i < 6; i++)
		buf_release(&parts[i]);
}

void made_write(struct made *made)
{
	struct buf *out = &made->file;

	buf_clear(out);
	buf_printf(out, "\x17\x08\x44tracing%u", made->form->version);
	buf_add_char(out, 0);
	buf_add_char(out, (char)made->form->big_endian);
	buf_add_char(out, (char)made->form->longs);
	made_put(made, out, made->form->page < 4096 ? made->form->page : 4096, 4);
	if (made->form->version == 6)
		write_6(made);
	else
		write_7(made);
}
