/*
 * Files of perf and trace-cmd that end too soon: small ones are cut at every byte, the corpus'
 * captures where a record, a page or a table begins or ends, one byte around it, and anywhere. Each
 * is opened anew and read to its end as programs read. All events of whole records (pages) before
 * the cut come out, nothing that was not there, and one message names the file and a place.
 *
 * YORE_CUTS=all takes every place; else some hundreds of each file are taken.
 */
#include "tests/engine/decoded.h"

#include "engine/base/mem.h"
#include "tests/engine/merged.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 16384, RANDOM_CUTS = 500, FEW = 120, FIELDS_OF_EVERY = 7 };

struct list {
	uint64_t *items;
	size_t count, capacity;
};

static void add(struct list *list, uint64_t item)
{
	list->items = mem_grow(list->items, list->count, &list->capacity, sizeof *list->items);
	list->items[list->count++] = item;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void sort(struct list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof *list->items, by_value);
}

/* What reading a file to its end says. */
struct told {
	struct list times; /* of all events, sorted; two's complement */
	size_t messages;
	char last[512];
	bool opened;
};

static void add_event(void *arg, struct events *events, const struct event *event)
{
	struct told *out = arg;
	struct fields fields;
	struct error err;

	if (out->times.count % FIELDS_OF_EVERY == 0)
		assert_true(events_fields(events, event, &fields, &err));
	add(&out->times, (uint64_t)event->time);
}

static void tell(const char *path, struct told *out)
{
	struct trace *trace;
	struct said said;
	struct error err;

	*out = (struct told){0};
	out->opened = decoded_open(path, &said, &trace, &err);
	if (out->opened) {
		merged_each(trace, &(const struct index_options){.none = true, .jobs = 1},
			    add_event, out);
		trace_close(trace);
		sort(&out->times);
		out->messages = said.damages;
		snprintf(out->last, sizeof out->last, "%s", said.last);
		return;
	}
	out->messages = said.damages + 1;
	snprintf(out->last, sizeof out->last, "%s", err.text);
}

/* Where records of the kernel end, in a perf.data that holds them plainly; sorted. --------------
 */

struct shape {
	struct list ends;   /* of the records that are events */
	struct list places; /* where something begins or ends */
	bool countable;     /* `ends` are all of them */
	bool pipe;
	size_t messages; /* at most: a CPU's pages are told of each on its own */
};

static uint64_t number(const uint8_t *p, unsigned bytes, bool big)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)p[big ? bytes - 1 - i : i] << 8 * i;
	return value;
}

/* Follows specs of linux/perf_event.h, not the reader. */
static void walk_records(struct shape *shape, const uint8_t *file, uint64_t at, uint64_t end,
			 bool big)
{
	enum { SAMPLE_TYPES = 22, TRACING_DATA = 66, AUXTRACE = 71, COMPRESSED = 81 };

	shape->countable = true;
	while (at + 8 <= end) {
		uint64_t type = number(file + at, 4, big), size = number(file + at + 6, 2, big);
		add(&shape->places, at);
		if (size < 8 || at + size > end)
			break;
		add(&shape->places, at + 8);
		if (type == TRACING_DATA)
			size += number(file + at + 8, 4, big);
		if (type == AUXTRACE)
			size += number(file + at + 8, 8, big);
		at += size;
		if (type < SAMPLE_TYPES)
			add(&shape->ends, at);
		shape->countable &= type != COMPRESSED;
	}
}

static void perf_shape(struct shape *shape, const uint8_t *file, uint64_t size)
{
	bool big = file[0] == '2';
	uint64_t head = number(file + 8, 8, big);

	for (uint64_t i = 0; i <= head && i <= 104; i += 8)
		add(&shape->places, i);
	shape->pipe = head == 16;
	if (shape->pipe) {
		walk_records(shape, file, 16, size, big);
		return;
	}
	uint64_t entry = number(file + 16, 8, big), attrs = number(file + 24, 8, big);
	uint64_t data = number(file + 40, 8, big), end = data + number(file + 48, 8, big);
	for (uint64_t at = attrs; at <= attrs + number(file + 32, 8, big); at += entry) {
		add(&shape->places, at);
		add(&shape->places, number(file + at + entry - 16, 8, big));
	}
	walk_records(shape, file, data, end < size ? end : size, big);
	add(&shape->places, end);
	for (uint64_t at = end;
	     at + 16 <= size && number(file + at, 8, big) > at && number(file + at, 8, big) <= size;
	     at += 16) {
		add(&shape->places, at);
		add(&shape->places, number(file + at, 8, big));
		add(&shape->places, number(file + at, 8, big) + number(file + at + 8, 8, big));
	}
}

/* Tags of the sections, and pages. */
static void ftrace_shape(struct shape *shape, const uint8_t *file, uint64_t size)
{
	static const char *const tags[] = {"header_page", "header_event", "options  ",
					   "flyrecord",   "name: ",       "zstd"};

	for (uint64_t at = 0; at < size; at += 4096)
		add(&shape->places, at);
	for (uint64_t at = 0; at < 64; at++)
		add(&shape->places, at);
	for (size_t i = 0; i < COUNT(tags); i++) {
		const uint8_t *from = file, *found;
		while ((found = memmem(from, (size_t)(file + size - from), tags[i],
				       strlen(tags[i])))) {
			add(&shape->places, (uint64_t)(found - file));
			add(&shape->places, (uint64_t)(found - file) + strlen(tags[i]) + 1);
			from = found + 1;
		}
	}
}

/* Packets of the whole file: each is due when its bytes are there. */
static void packet_ends(const char *path, struct shape *shape)
{
	struct trace *trace;
	struct said said;
	struct error err;

	assert_true(decoded_open(path, &said, &trace, &err));
	shape->messages = trace->nstreams;
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		struct decoder *decoder = decoded_reader(trace, stream)->decoder_new(stream);
		struct records records = {0};
		records_scan(trace, stream, NULL, &records);
		for (size_t k = 0; k < records.count; k++) {
			const struct packet_info *info = &records.items[k];
			uint64_t end = info->rec.off + packet_bytes(info);
			struct decoded got = {0};
			decode_packet(trace, stream, decoder, info, SUMMARY_NONE, &got);
			add(&shape->places, info->rec.off);
			for (uint32_t x = 0; x < info->nextents; x++)
				end = info->extents[x].off + info->extents[x].len;
			add(&shape->places, end);
			for (size_t n = 0; n < got.count; n++)
				add(&shape->ends, end);
			decoded_release(&got);
		}
		decoded_reader(trace, stream)->decoder_free(decoder);
		records_release(&records);
	}
	trace_close(trace);
}

static bool is_v7(const uint8_t *file)
{
	return file[10] == '7';
}

static void find_shape(const struct kernel_case *what, const uint8_t *file, uint64_t size,
		       struct shape *out)
{
	*out = (struct shape){.messages = 1};
	if (what->perf) {
		perf_shape(out, file, size);
	} else {
		ftrace_shape(out, file, size);
		packet_ends(what->path, out);
		out->countable = !is_v7(file); /* what names its buffers stands behind them */
	}
	sort(&out->ends);
}

/* Which cuts: sorted, falling, each once. */
static struct list choose(const struct shape *shape, uint64_t size)
{
	bool all = getenv("YORE_CUTS") && !strcmp(getenv("YORE_CUTS"), "all");
	size_t step = all || shape->places.count < FEW ? 1 : shape->places.count / FEW;
	struct rng random = {size};
	struct list cuts = {0};

	if (size <= SMALL && (all || size <= SMALL / 4)) {
		for (uint64_t at = 0; at < size; at++)
			add(&cuts, at);
		return cuts;
	}
	for (size_t i = 0; i < shape->places.count; i += step)
		for (uint64_t k = 0; k < 3; k++)
			if (shape->places.items[i] + k > 0)
				add(&cuts, shape->places.items[i] + k - 1);
	for (size_t i = 0; i < (all ? RANDOM_CUTS : FEW); i++)
		add(&cuts, rng_next(&random) % size);
	sort(&cuts);
	return cuts;
}

/* Names the file and "offset N": what a user needs to find the place. Too little is no format. */
static void check_message(const struct kernel_case *what, uint64_t cut, const char *text)
{
	const char *file = strrchr(what->path, '/') + 1;

	if (!strstr(text, file) ||
	    (!strstr(text, "offset ") && !strstr(text, "no reader knows this file")))
		fail_msg("%s cut at %llu: \"%s\" does not say where", what->name,
			 (unsigned long long)cut, text);
}

static size_t count_due(const struct shape *shape, uint64_t cut)
{
	size_t n = 0;

	while (n < shape->ends.count && shape->ends.items[n] <= cut)
		n++;
	return n;
}

/* Every time of `some`, as often as it has it, is one of `all`. */
static bool is_among(const struct list *some, const struct list *all)
{
	size_t k = 0;

	for (size_t i = 0; i < some->count; i++, k++) {
		while (k < all->count && all->items[k] < some->items[i])
			k++;
		if (k == all->count || all->items[k] != some->items[i])
			return false;
	}
	return true;
}

static size_t cuts_made, opened;

static void check_cut(const struct kernel_case *what, const char *path, const struct shape *shape,
		      const struct told *whole, uint64_t cut)
{
	struct told told;

	tell(path, &told);
	cuts_made++;
	opened += told.opened;
	size_t due = told.opened && shape->countable ? count_due(shape, cut) : 0;
	if (told.times.count < due)
		fail_msg("%s cut at %llu: %zu events, %zu due", what->name, (unsigned long long)cut,
			 told.times.count, due);
	if (!is_among(&told.times, &whole->times))
		fail_msg("%s cut at %llu: events that were not there", what->name,
			 (unsigned long long)cut);
	/* a pipe may end between records; version 7 of trace.dat ends with names of its sections */
	bool clean = !told.messages &&
		     (shape->pipe || (!what->perf && told.times.count == whole->times.count));
	if ((!told.messages || told.messages > shape->messages) && !clean)
		fail_msg("%s cut at %llu: %zu messages (%s)", what->name, (unsigned long long)cut,
			 told.messages, told.last);
	if (told.messages)
		check_message(what, cut, told.last);
	mem_free(told.times.items);
}

static void cut_case(const struct kernel_case *what)
{
	char *folder, *path;
	struct shape shape;
	struct told whole;
	size_t size;

	if (!what->good || strstr(what->name, "threads-dir"))
		return;
	folder = scratch_folder();
	path = path_join(folder, strrchr(what->path, '/') + 1);
	uint8_t *file = read_file(what->path, &size);
	find_shape(what, file, size, &shape);
	tell(what->path, &whole);
	assert_int_equal(whole.messages, 0);
	if (what->perf && shape.countable)
		assert_int_equal(whole.times.count, shape.ends.count);
	struct list cuts = choose(&shape, size);
	write_file(path, file, size);
	for (size_t i = cuts.count; i-- > 0;) {
		uint64_t cut = cuts.items[i];
		if (cut >= size || (i + 1 < cuts.count && cut == cuts.items[i + 1]))
			continue;
		assert_int_equal(truncate(path, (off_t)cut), 0);
		check_cut(what, path, &shape, &whole, cut);
	}
	mem_free(cuts.items);
	mem_free(whole.times.items);
	mem_free(shape.ends.items);
	mem_free(shape.places.items);
	mem_free(file);
	mem_free(path);
	scratch_remove(folder);
}

static void captures_cut(void **state)
{
	(void)state;
	if (!corpus_each_kernel(cut_case))
		skip();
	print_message("%zu cuts, %zu of them could be opened\n", cuts_made, opened);
	assert_true(cuts_made > 1000);
}

/* The golden file, which needs no corpus. */
static void fixture_cut_at_every_byte(void **state)
{
	const char *top = getenv("srcdir");
	char *path = path_join(top ? top : ".", "fixtures/golden/intel-pt/perf.data");
	const struct kernel_case what = {"golden/intel-pt", path, NULL, true, true};

	(void)state;
	size_t before = cuts_made;
	cut_case(&what);
	assert_true(cuts_made - before >= 2400);
	mem_free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixture_cut_at_every_byte),
		cmocka_unit_test(captures_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
