/*
 * pprof.c - a profile of samples, gzip'd: what pprof, Parca, Grafana and speedscope open
 *
 * Source: proto/profile.proto of github.com/google/pprof. Samples of the same stack and thread are
 * merged: their number and, if they have periods, the sum of these. A location is a place in a
 * mapped object, with one line for each function inlined there, the innermost first; a place of no
 * known function has no line. Addresses are file offsets in the object.
 */
#include "aggregate/groups.h"
#include "convert/convert_internal.h"
#include "convert/protobuf.h"
#include "convert/samples/samples.h"
#include "convert/track_names.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"

#include <string.h>

/* Fields of Profile. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11
};

enum profile_table {
	TABLE_STRINGS,
	TABLE_MAPPINGS,
	TABLE_FUNCTIONS,
	TABLE_LOCATIONS,
	TABLE_STACKS
};

static const struct aggregate weights = {.kind = AGGREGATE_SUM}; /* of stacks */

struct pprof {
	struct convert of;
	struct samples *samples;
	struct groups tables[TABLE_STACKS + 1];
	struct buf text;  /* strings, mappings, functions and locations, as fields */
	struct buf stack; /* key of a stack: its thread, then its locations */
	uint64_t label_thread, label_process, label_comm; /* strings */
};

/* ---- tables ---- */

/* Finds or adds an entry of a table by its bytes. */
static struct group *find_entry(struct pprof *pprof, enum profile_table table, const void *key,
				size_t len, bool *fresh)
{
	struct groups *entries = &pprof->tables[table];
	const struct value bytes = value_text(key, len);
	size_t before = entries->count;
	struct group *entry = groups_at(entries, &bytes);

	*fresh = entries->count > before;
	return entry;
}

/* Finds or adds an entry; returns its number in the table, from 1. */
static uint64_t find_number(struct pprof *pprof, enum profile_table table, const void *key,
			    size_t len, bool *fresh)
{
	return find_entry(pprof, table, key, len, fresh)->number + UINT64_C(1);
}

/* Finds or adds a string; returns its number. 0 is the empty string. */
static uint64_t string_of(struct pprof *pprof, const char *text)
{
	struct buf mended = {0};
	bool fresh;

	if (!*text)
		return 0;
	utf8_mend(&mended, (const uint8_t *)text, strlen(text));
	uint64_t number = find_number(pprof, TABLE_STRINGS, mended.data, mended.len, &fresh);
	if (fresh)
		protobuf_bytes(&pprof->text, PROFILE_STRING, mended.data, mended.len);
	buf_release(&mended);
	return number;
}

static uint64_t mapping_of(struct pprof *pprof, const char *object)
{
	struct buf *out = &pprof->text;
	bool fresh;

	if (!object)
		return 0;
	uint64_t name = string_of(pprof, object);
	uint64_t number = find_number(pprof, TABLE_MAPPINGS, &name, sizeof name, &fresh);
	if (fresh) {
		size_t mapping = protobuf_begin(out, PROFILE_MAPPING);
		protobuf_uint(out, 1, number);
		protobuf_uint(out, 5, name);
		protobuf_uint(out, 7, true); /* has_functions: readers need no symbols */
		protobuf_end(out, mapping);
	}
	return number;
}

static uint64_t function_of(struct pprof *pprof, const char *function)
{
	struct buf *out = &pprof->text;
	bool fresh;
	uint64_t name = string_of(pprof, function);
	uint64_t number = find_number(pprof, TABLE_FUNCTIONS, &name, sizeof name, &fresh);

	if (fresh) {
		size_t entry = protobuf_begin(out, PROFILE_FUNCTION);
		protobuf_uint(out, 1, number);
		protobuf_uint(out, 2, name);
		protobuf_uint(out, 3, name);
		protobuf_end(out, entry);
	}
	return number;
}

static void add_location(struct buf *out, uint64_t number, const uint64_t *key, size_t count)
{
	size_t location = protobuf_begin(out, PROFILE_LOCATION);

	protobuf_uint(out, 1, number);
	if (key[0])
		protobuf_uint(out, 2, key[0]);
	protobuf_uint(out, 3, key[1]);
	for (size_t i = 2; i < count; i++) {
		size_t line = protobuf_begin(out, 4);
		protobuf_uint(out, 1, key[i]);
		protobuf_end(out, line);
	}
	protobuf_end(out, location);
}

/* Finds or adds the location of frames at one place; all but the last are inlined into the next. */
static uint64_t location_of(struct pprof *pprof, const struct frame *frames, size_t count)
{
	const struct symbol *symbol = &frames[count - 1].symbol;
	struct buf key = {0};
	uint64_t place[2] = {mapping_of(pprof, symbol->object),
			     symbol->object ? symbol->file_offset : frames[count - 1].address};
	bool fresh;

	buf_add(&key, place, sizeof place);
	for (size_t i = 0; i < count; i++) {
		const char *function = frames[i].symbol.function;
		if (function) {
			uint64_t number = function_of(pprof, function);
			buf_add(&key, &number, sizeof number);
		}
	}
	uint64_t number = find_number(pprof, TABLE_LOCATIONS, key.data, key.len, &fresh);
	if (fresh)
		add_location(&pprof->text, number, (const void *)key.data, key.len / sizeof *place);
	buf_release(&key);
	return number;
}

/* ---- samples ---- */

static void drop_stacks(struct pprof *pprof)
{
	const struct groups *stacks = &pprof->tables[TABLE_STACKS];

	for (size_t i = 0; i < stacks->count; i++)
		accumulator_clear(&weights, stacks->items[i]->totals);
}

static uint64_t comm_of(struct pprof *pprof, int64_t tid, nstime t)
{
	const char *name = tid ? track_name_at(pprof->of.names, TRACK_THREAD, tid, t) : "swapper";

	return name ? string_of(pprof, name) : 0;
}

static bool pprof_event(void *self, nstime t, const struct stream *stream, int32_t cpu,
			const struct event_class *class, const struct fields *fields,
			struct error *err)
{
	struct pprof *pprof = self;
	struct sample sample;
	bool fresh;

	(void)stream;
	(void)cpu;
	(void)err;
	if (!samples_take(pprof->samples, t, class, fields, &sample))
		return true;
	if (sample.first)
		drop_stacks(pprof);
	while (sample.count > 1 && !sample.frames[sample.count - 1].address)
		sample.count--; /* a frame of address 0 marks the end of unwinding */
	uint64_t thread[3] = {(uint64_t)sample.tid, (uint64_t)sample.pid,
			      comm_of(pprof, sample.tid, t)};
	buf_clear(&pprof->stack);
	buf_add(&pprof->stack, thread, sizeof thread);
	for (size_t i = 0, from = 0; i < sample.count; i++) {
		if (sample.frames[i].symbol.is_inlined && i + 1 < sample.count &&
		    sample.frames[i + 1].address == sample.frames[i].address)
			continue;
		uint64_t location = location_of(pprof, &sample.frames[from], i + 1 - from);
		buf_add(&pprof->stack, &location, sizeof location);
		from = i + 1;
	}
	struct group *stack =
		find_entry(pprof, TABLE_STACKS, pprof->stack.data, pprof->stack.len, &fresh);
	accumulate(&weights, stack->totals, sample.weight);
	return true;
}

/* ---- the whole ---- */

static void add_label(struct buf *out, uint64_t key, uint64_t text, int64_t number)
{
	size_t label = protobuf_begin(out, 3);

	protobuf_uint(out, 1, key);
	if (text)
		protobuf_uint(out, 2, text);
	else
		protobuf_int(out, 3, number);
	protobuf_end(out, label);
}

static void add_sample(struct pprof *pprof, const struct group *stack, bool periods)
{
	const uint64_t *key = (const void *)stack->keys->text;
	size_t count = stack->keys->len / sizeof *key;
	struct buf *out = &pprof->text;
	size_t sample, packed;

	sample = protobuf_begin(out, PROFILE_SAMPLE);
	packed = protobuf_begin(out, 1);
	for (size_t i = 3; i < count; i++)
		buf_add_varint(out, key[i]);
	protobuf_end(out, packed);
	packed = protobuf_begin(out, 2);
	buf_add_varint(out, stack->totals->count);
	if (periods)
		buf_add_varint(out, (uint64_t)stack->totals->number);
	protobuf_end(out, packed);
	if ((int64_t)key[0] >= 0)
		add_label(out, pprof->label_thread, 0, (int64_t)key[0]);
	if ((int64_t)key[1] >= 0)
		add_label(out, pprof->label_process, 0, (int64_t)key[1]);
	if (key[2])
		add_label(out, pprof->label_comm, key[2], 0);
	protobuf_end(out, sample);
}

static void pprof_add_type(struct pprof *pprof, unsigned field, const char *type, const char *unit)
{
	uint64_t type_number = string_of(pprof, type), unit_number = string_of(pprof, unit);
	struct buf *out = &pprof->text;
	size_t entry = protobuf_begin(out, field);

	protobuf_uint(out, 1, type_number);
	protobuf_uint(out, 2, unit_number);
	protobuf_end(out, entry);
}

/* The unit of periods: the kernel's software clocks count nanoseconds, others count events. */
static const char *unit_of(const char *name)
{
	bool clock = strncmp(name, "cpu-clock", 9) == 0 || strncmp(name, "task-clock", 10) == 0;

	return clock ? "nanoseconds" : "count";
}

static void add_head(struct pprof *pprof, bool periods)
{
	const struct convert_options *options = &pprof->of.options;
	const struct convert_range range = convert_range(options);
	const char *name = samples_counted(pprof->samples)->name;

	pprof_add_type(pprof, PROFILE_SAMPLE_TYPE, "samples", "count");
	if (periods)
		pprof_add_type(pprof, PROFILE_SAMPLE_TYPE, name, unit_of(name));
	pprof_add_type(pprof, PROFILE_PERIOD_TYPE, name, unit_of(name));
	if (trace_has_epoch(options->trace))
		protobuf_int(&pprof->text, PROFILE_TIME, range.first);
	if (range.last > range.first)
		protobuf_uint(&pprof->text, PROFILE_DURATION, time_span(range.first, range.last));
}

static bool write_gzip(struct pprof *pprof, struct error *err)
{
	struct buf bytes = {0};
	bool ok = out_gzip(pprof->text.data, pprof->text.len, &bytes, err) &&
		  out_write(&pprof->of.out, bytes.data, bytes.len, err);

	buf_release(&bytes);
	return ok;
}

static bool pprof_finish(void *self, struct error *err)
{
	struct pprof *pprof = self;
	const struct groups *stacks = &pprof->tables[TABLE_STACKS];

	if (!samples_counted(pprof->samples))
		return error_set(err, ERR_RANGE, "no event is a sample of perf's");
	samples_note_left(pprof->samples);
	bool periods = samples_have_periods(pprof->samples);
	add_head(pprof, periods);
	for (size_t i = 0; i < stacks->count; i++)
		if (stacks->items[i]->totals->count)
			add_sample(pprof, stacks->items[i], periods);
	return write_gzip(pprof, err) && out_finish(&pprof->of.out, err);
}

static void pprof_close(void *self)
{
	struct pprof *pprof = self;

	samples_free(pprof->samples);
	for (size_t i = 0; i <= TABLE_STACKS; i++)
		groups_clear(&pprof->tables[i]);
	buf_release(&pprof->text);
	buf_release(&pprof->stack);
}

static bool pprof_open(void *self, struct error *err)
{
	struct pprof *pprof = self;

	pprof->samples = samples_new(&pprof->of.options);
	for (size_t i = 0; i <= TABLE_STACKS; i++)
		pprof->tables[i] = (struct groups){
			.nkeys = 1, .naggregates = i == TABLE_STACKS, .aggregates = &weights};
	protobuf_text(&pprof->text, PROFILE_STRING, "");
	pprof->label_thread = string_of(pprof, "thread");
	pprof->label_process = string_of(pprof, "process");
	pprof->label_comm = string_of(pprof, "comm");
	return out_open(&pprof->of.out, pprof->of.options.path, err);
}

const struct convert_format convert_pprof = {
	.kind = {.name = "pprof", .endings = ".pprof .pb.gz", .names = track_thread_names_paths},
	.size = sizeof(struct pprof),
	.open = pprof_open,
	.event = pprof_event,
	.finish = pprof_finish,
	.close = pprof_close,
};
