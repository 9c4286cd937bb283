/*
 * repeat_ftrace.c - a small trace.dat, repeated to any size by shifting its pages in time
 *
 *     bench-repeat-ftrace TRACE.DAT OUT BYTES
 *
 * The ring-buffer pages of each CPU are repeated, later by a multiple of the capture's length: the
 * time stamp at the start of each page and absolute stamps in it (entries of type 31) are changed.
 * All before the pages stays, except for the table of their places.
 *
 * Version 6, little endian, 64-bit, one buffer; `trace-cmd convert` makes version 7 of the result.
 */
#include "bench/bytes.h"

#include <stdlib.h>

enum { PAGE_HEAD = 16, COMMIT_MASK = 0xFFFFF, MAX_CPUS = 4096 };
enum { ENTRY_PADDING = 29, ENTRY_EXTEND = 30, ENTRY_STAMP = 31, OPTION_BUFFER = 3 };

static int fail(const char *what)
{
	fprintf(stderr, "bench-repeat-ftrace: %s\n", what);
	return 1;
}

/* The file in memory and a reading position; reads past the end return zeros. */
struct walk {
	uint8_t *bytes;
	size_t size, pos;
	bool failed;
};

static const uint8_t *take(struct walk *walk, uint64_t n)
{
	static const uint8_t zeros[16];

	if (walk->failed || n > walk->size - walk->pos) {
		walk->failed = true;
		return zeros;
	}
	walk->pos += n;
	return walk->bytes + walk->pos - n;
}

static uint64_t take_number(struct walk *walk, unsigned bytes)
{
	return get(take(walk, bytes), bytes);
}

static void skip_sized(struct walk *walk, unsigned bytes_of_size)
{
	uint64_t size = take_number(walk, bytes_of_size);

	take(walk, size);
}

static void skip_name(struct walk *walk)
{
	while (!walk->failed && *take(walk, 1))
		;
}

static void skip_formats(struct walk *walk)
{
	uint64_t count = take_number(walk, 4);

	for (uint64_t i = 0; i < count && !walk->failed; i++)
		skip_sized(walk, 8);
}

/*
 * Moves to the table of the CPUs' pages: ncpus entries of u64 offset and size. Returns an error or
 * NULL.
 */
static const char *find_table(struct walk *walk, uint32_t *page, uint32_t *ncpus)
{
	if (walk->size < 18 || memcmp(walk->bytes, "\x17\x08\x44tracing6\0\0\x08", 14))
		return "not a trace.dat of version 6, little endian, 64-bit";
	walk->pos = 14;
	*page = (uint32_t)take_number(walk, 4);
	for (int i = 0; i < 2; i++) { /* header_page, header_event */
		skip_name(walk);
		skip_sized(walk, 8);
	}
	skip_formats(walk);
	uint64_t systems = take_number(walk, 4);
	for (uint64_t i = 0; i < systems && !walk->failed; i++) {
		skip_name(walk);
		skip_formats(walk);
	}
	skip_sized(walk, 4); /* kallsyms */
	skip_sized(walk, 4); /* printk formats */
	skip_sized(walk, 8); /* command lines */
	*ncpus = (uint32_t)take_number(walk, 4);
	const uint8_t *tag = take(walk, 10);
	if (!walk->failed && !memcmp(tag, "options  ", 10)) {
		uint64_t option;
		while ((option = take_number(walk, 2)) != 0) {
			if (option == OPTION_BUFFER)
				return "more than one buffer";
			skip_sized(walk, 4);
		}
		tag = take(walk, 10);
	}
	if (walk->failed || memcmp(tag, "flyrecord", 10))
		return "no ring-buffer pages";
	if (*page < 4096 || !*ncpus || *ncpus > MAX_CPUS || walk->size - walk->pos < *ncpus * 16ULL)
		return "damaged table of pages";
	return NULL;
}

/* Moves all stamps of a page by `shift`; returns the time of its last entry. */
static uint64_t shift_page(uint8_t *page, uint32_t page_size, uint64_t shift)
{
	uint64_t end = PAGE_HEAD + (get(page + 8, 4) & COMMIT_MASK), time = get(page, 8);

	put(page, 8, time + shift);
	for (uint64_t at = PAGE_HEAD; at + 4 <= end && end <= page_size;) {
		uint64_t head = get(page + at, 4), type = head & 31, delta = head >> 5;
		uint64_t second = at + 8 <= end ? get(page + at + 4, 4) : 0;

		if (type == ENTRY_STAMP) {
			uint64_t stamp = (delta | second << 27) + shift;
			time = delta | second << 27;
			put(page + at, 4, stamp << 5 | ENTRY_STAMP);
			put(page + at + 4, 4, stamp >> 27);
			at += 8;
			continue;
		}
		if (type == ENTRY_PADDING && delta == 0)
			break;
		time += delta + (type == ENTRY_EXTEND ? second << 27 : 0);
		if (type == ENTRY_EXTEND)
			at += 8;
		else
			at += 4 + (type && type != ENTRY_PADDING ? 4 * type : second);
	}
	return time;
}

struct pages {
	uint64_t offset, size;
};

static bool write_cpu(struct walk *file, const struct pages *pages, uint32_t page, uint64_t step,
		      uint64_t rounds, FILE *out)
{
	for (uint64_t round = 0; round < rounds; round++) {
		for (uint64_t at = 0; round && at < pages->size; at += page)
			shift_page(file->bytes + pages->offset + at, page, step);
		if (fwrite(file->bytes + pages->offset, 1, pages->size, out) != pages->size)
			return false;
	}
	return true;
}

/* Computes the span of times of all pages, and their total bytes. */
static bool measure(struct walk *file, const struct pages *pages, uint32_t ncpus, uint32_t page,
		    uint64_t *length, uint64_t *total)
{
	uint64_t first = UINT64_MAX, last = 0;

	*total = 0;
	for (uint32_t cpu = 0; cpu < ncpus; cpu++) {
		if (pages[cpu].offset > file->size || pages[cpu].size % page ||
		    pages[cpu].size > file->size - pages[cpu].offset)
			return false;
		*total += pages[cpu].size;
		for (uint64_t at = 0; at < pages[cpu].size; at += page) {
			uint8_t *bytes = file->bytes + pages[cpu].offset + at;
			uint64_t end = shift_page(bytes, page, 0);
			first = get(bytes, 8) < first ? get(bytes, 8) : first;
			last = end > last ? end : last;
		}
	}
	*length = last - first;
	return *total && last >= first;
}

int main(int argc, char **argv)
{
	struct pages pages[MAX_CPUS];
	uint32_t page = 0, ncpus = 0;
	uint64_t length, total;
	struct walk file = {0};

	if (argc != 4)
		return fail("usage: bench-repeat-ftrace TRACE.DAT OUT BYTES") + 1;
	if (!read_whole(argv[1], &file.bytes, &file.size))
		return fail("cannot be read");
	const char *why = find_table(&file, &page, &ncpus);
	if (why)
		return fail(why);
	for (uint32_t cpu = 0; cpu < ncpus; cpu++)
		pages[cpu] = (struct pages){get(file.bytes + file.pos + cpu * 16, 8),
					    get(file.bytes + file.pos + cpu * 16 + 8, 8)};
	if (!measure(&file, pages, ncpus, page, &length, &total))
		return fail("damaged pages");
	uint64_t rounds = strtoull(argv[3], NULL, 10) / total + 1;
	uint64_t start = (file.pos + ncpus * 16 + page - 1) / page * page, at = start;
	for (uint32_t cpu = 0; cpu < ncpus; cpu++) {
		put(file.bytes + file.pos + cpu * 16, 8, at);
		put(file.bytes + file.pos + cpu * 16 + 8, 8, pages[cpu].size * rounds);
		at += pages[cpu].size * rounds;
	}
	FILE *out = fopen(argv[2], "wb");
	if (!out || start > file.size || fwrite(file.bytes, 1, start, out) != start)
		return fail("writing failed");
	for (uint32_t cpu = 0; cpu < ncpus; cpu++)
		if (!write_cpu(&file, &pages[cpu], page, length + 1000, rounds, out))
			return fail("writing failed");
	if (fclose(out) != 0)
		return fail("writing failed");
	printf("%llu copies\n", (unsigned long long)rounds);
	mem_free(file.bytes);
	return 0;
}
