/*
 * A format that a test brings along: files are made here, read in both directions and from moments
 * in the middle, alone and shifted, with and without a stored index. Damage costs what lies behind
 * it in its packet, and one message.
 */
#include "tests/extending/toy.h"

#include "engine/base/mem.h"
#include "index/events.h"
#include "tests/engine/decoded.h"
#include "tests/harness.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MADE_MAX = 512, FEW = 5, MANY = 70 };

struct made_event {
	uint64_t time;
	uint32_t cpu, kind, value;
	size_t end; /* of its record in the file */
};

struct made {
	struct buf bytes;
	struct made_event events[MADE_MAX]; /* in the file's order, until they are sorted */
	size_t count;
	char *folder, *path;
};

struct opened {
	struct said said;
	struct trace *trace;
	struct index *index;
};

static void put(struct buf *to, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++, value >>= 8)
		buf_add_char(to, (char)value);
}

static void put_packet(struct made *made, uint32_t cpu, uint64_t first, uint32_t records)
{
	put(&made->bytes, records, 4);
	put(&made->bytes, cpu, 4);
	put(&made->bytes, first, 8);
	for (uint32_t i = 0; i < records; i++) {
		struct made_event *event = &made->events[made->count++];
		*event = (struct made_event){first + i * 10, cpu, i % 4, cpu * 1000 + i, 0};
		put(&made->bytes, event->time, 8);
		put(&made->bytes, event->kind, 4);
		put(&made->bytes, event->value, 4);
		event->end = made->bytes.len;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct made_event *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Packets of two CPUs in turn, at about the same times, and one without records. */
static struct made *make(uint32_t records)
{
	struct made *made = mem_new(sizeof *made);

	made->folder = scratch_folder();
	made->path = path_join(made->folder, "made.toy");
	buf_add_text(&made->bytes, TOY_MAGIC);
	for (uint32_t i = 0; i < 3; i++) {
		put_packet(made, 0, 1000 + i * 1000, records);
		put_packet(made, 1, 1003 + i * 1000, records);
	}
	put_packet(made, 1, 3900, 0);
	write_file(made->path, made->bytes.data, made->bytes.len);
	return made;
}

static void made_free(struct made *made)
{
	buf_release(&made->bytes);
	mem_free(made->path);
	scratch_remove(made->folder);
	mem_free(made);
}

static void open_made(const char *path, nstime shift, const char *store, struct opened *out)
{
	struct trace_options options = {.paths = &path, .npaths = 1, .offsets = &shift};
	struct index_options where = {.none = !store, .dir = store, .jobs = 1};
	struct error err;

	*out = (struct opened){0};
	options.notices = where.notices = (struct notices){.say = said_notice, .arg = &out->said};
	assert_true(trace_open(&options, &out->trace, &err));
	assert_ptr_equal(out->trace->parts[0]->reader, &toy_reader);
	assert_true(index_open(out->trace, &where, &out->index, &err));
}

static void close_made(struct opened *opened)
{
	index_close(opened->index);
	trace_close(opened->trace);
}

static uint64_t number(const struct fields *fields, const char *name)
{
	struct field field;

	assert_true(fields_get(fields, 1u << SCOPE_PAYLOAD, &name, 1, &field));
	return field.slot.u;
}

static void check_event(struct events *events, const struct event *event,
			const struct made_event *made, nstime shift)
{
	static const char *const names[] = {"begin", "end", "other", "other"};
	struct fields fields;
	struct error err;

	assert_int_equal(event->time, (nstime)made->time + shift);
	assert_int_equal(event->cpu, made->cpu);
	assert_string_equal(event->class->name, names[made->kind]);
	assert_int_equal(events_bits(events, event), TOY_RECORD_BYTES * 8);
	assert_true(events_fields(events, event, &fields, &err));
	assert_int_equal(number(&fields, "value"), made->value);
	if (made->kind >= TOY_OTHER)
		assert_int_equal(number(&fields, "kind"), made->kind);
}

/* All events of [begin, end) are those of `made`, which are in order of time. */
static void check_range(const struct opened *opened, const struct made *made, nstime shift,
			nstime begin, nstime end, bool backward)
{
	struct events_options options = {.begin = begin, .end = end, .backward = backward};
	struct events *events;
	struct event event;
	struct error err;

	assert_true(events_open(opened->index, &options, &events, &err));
	for (size_t i = 0; i < made->count; i++) {
		const struct made_event *want = &made->events[backward ? made->count - 1 - i : i];
		nstime time = (nstime)want->time + shift;
		if (time < begin || time >= end)
			continue;
		assert_int_equal(events_next(events, &event, &err), STEP_ITEM);
		check_event(events, &event, want, shift);
	}
	assert_int_equal(events_next(events, &event, &err), STEP_END);
	events_close(events);
}

static void check_whole(const struct opened *opened, const struct made *made, nstime shift)
{
	nstime first, last, middle = 2337 + shift;
	uint64_t count;
	struct error err;

	for (int backward = 0; backward <= 1; backward++) {
		check_range(opened, made, shift, NSTIME_MIN, NSTIME_MAX, backward);
		check_range(opened, made, shift, middle, NSTIME_MAX, backward);
		check_range(opened, made, shift, NSTIME_MIN, middle, backward);
		check_range(opened, made, shift, middle, middle + 100, backward);
	}
	assert_true(events_range(opened->index, &first, &last, &err));
	assert_int_equal(first, (nstime)made->events[0].time + shift);
	assert_int_equal(last, (nstime)made->events[made->count - 1].time + shift);
	assert_true(events_counted(opened->index, &count));
	assert_int_equal(count, made->count);
	assert_int_equal(opened->said.damages, 0);
}

static void all_is_read(void **state)
{
	struct made *made = make(MANY);
	struct opened opened;

	(void)state;
	qsort(made->events, made->count, sizeof *made->events, by_time);
	for (nstime shift = 0; shift <= 1000000007; shift += 1000000007) {
		open_made(made->path, shift, NULL, &opened);
		check_whole(&opened, made, shift);
		close_made(&opened);
	}
	made_free(made);
}

static void index_is_stored(void **state)
{
	struct made *made = make(MANY);
	struct opened opened;
	uint64_t differing;
	struct error err;

	(void)state;
	qsort(made->events, made->count, sizeof *made->events, by_time);
	for (int again = 0; again <= 1; again++) {
		open_made(made->path, NSTIME_MIN, made->folder, &opened);
		assert_true(index_build(opened.index, &err));
		assert_non_null(index_path(opened.index));
		check_whole(&opened, made, 0);
		assert_true(index_check(opened.index, &differing, &err));
		assert_int_equal(differing, 0);
		close_made(&opened);
	}
	made_free(made);
}

/* How many events there are; `said` is what was said meanwhile. */
static size_t count_events(const char *path, bool backward, struct said *said)
{
	struct events_options all = {.begin = NSTIME_MIN, .end = NSTIME_MAX, .backward = backward};
	struct opened opened;
	struct events *events;
	struct event event;
	struct error err;
	size_t count = 0;
	enum step step;

	open_made(path, NSTIME_MIN, NULL, &opened);
	assert_true(events_open(opened.index, &all, &events, &err));
	while ((step = events_next(events, &event, &err)) == STEP_ITEM)
		count++;
	assert_int_equal(step, STEP_END);
	events_close(events);
	*said = opened.said;
	close_made(&opened);
	return count;
}

static void check_said(const struct said *said, const char *part)
{
	assert_int_equal(said->damages, 1);
	if (!strstr(said->last, "made.toy") || !strstr(said->last, "offset ") ||
	    !strstr(said->last, part))
		fail_msg("\"%s\" does not say \"%s\", and where", said->last, part);
}

static void cut_at_every_byte(void **state)
{
	const size_t packet = TOY_HEADER_BYTES + FEW * TOY_RECORD_BYTES;
	struct made *made = make(FEW);
	struct said said;

	(void)state;
	for (size_t cut = made->bytes.len; cut-- > TOY_MAGIC_BYTES;) {
		size_t whole = 0;
		assert_int_equal(truncate(made->path, (off_t)cut), 0);
		while (whole < made->count && made->events[whole].end <= cut)
			whole++;
		for (int backward = 0; backward <= 1; backward++) {
			assert_int_equal(count_events(made->path, backward, &said), whole);
			if ((cut - TOY_MAGIC_BYTES) % packet)
				check_said(&said, "past the end");
			else
				assert_int_equal(said.damages, 0);
		}
	}
	made_free(made);
}

/* The file's bytes are changed at `at`, which is in the second packet or in front of all. */
static const struct damage_row {
	const char *name;
	size_t at;
	uint64_t value;
	unsigned bytes;
	size_t events; /* of 30 */
	const char *says;
} damages[] = {
	{"time falls", 100 + 16 + 3 * 16, 1, 8, 28, "before that of the record in front"},
	{"last time falls", 100 + 16 + 4 * 16, 1, 8, 29, "before that of the record in front"},
	{"header is later", 100 + 8, 1010, 8, 25, "before that of the record in front"},
	{"time is too great", 100 + 16 + 4 * 16, UINT64_MAX, 8, 29, "does not fit"},
	{"too many records", 100, UINT32_MAX, 4, 10, "before that of the record in front"},
	{"too few records", 100, 4, 4, 9, "before that of the record in front"},
};

static void damage_is_told(void **state)
{
	const struct damage_row *row = *state;
	struct made *made = make(FEW);
	struct buf changed = {0};
	struct said said;

	put(&changed, row->value, row->bytes);
	memcpy(made->bytes.data + row->at, changed.data, row->bytes);
	write_file(made->path, made->bytes.data, made->bytes.len);
	for (int backward = 0; backward <= 1; backward++) {
		assert_int_equal(count_events(made->path, backward, &said), row->events);
		check_said(&said, row->says);
	}
	buf_release(&changed);
	made_free(made);
}

static void refused(const char *path, const char *input, const char *says)
{
	struct trace_options options = {.paths = &path, .npaths = 1, .input = input};
	struct trace *trace;
	struct error err;

	assert_false(trace_open(&options, &trace, &err));
	if (!strstr(err.text, says))
		fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void bad_magic_is_refused(void **state)
{
	struct made *made = make(FEW);

	(void)state;
	refused(made->path, "toy,speed=3", "settings");
	for (size_t size = TOY_MAGIC_BYTES; size-- > 0;) {
		made->bytes.data[size] = '?';
		write_file(made->path, made->bytes.data, made->bytes.len);
		refused(made->path, NULL, "no reader knows");
		refused(made->path, "toy", "offset 0");
		write_file(made->path, TOY_MAGIC, size);
		refused(made->path, NULL, "no reader knows");
		refused(made->path, "toy", "offset 0");
	}
	made_free(made);
}

int main(void)
{
	struct CMUnitTest tests[4 + COUNT(damages)] = {
		cmocka_unit_test(all_is_read),
		cmocka_unit_test(index_is_stored),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(bad_magic_is_refused),
	};
	size_t n = 4;

	reader_register(&toy_reader);
	ADD_ROWS(tests, n, damages, damage_is_told);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
