/*
 * pprof.c - a profile of samples, gzip'd: what pprof, Parca, Grafana and speedscope open
 *
 * Source: proto/profile.proto of github.com/google/pprof. Samples of the same stack and thread are
 * added up: how many there were, and, where they have periods, the sum of these. A location is a
 * place in a mapped object, with one line for each function that was inlined there, the innermost
 * first; a place of no known function has no line. Addresses are those in the object.
 */
#include "convert/convert_internal.h"
#include "convert/out.h"
#include "convert/protobuf.h"
#include "convert/samples/samples.h"
#include "convert/track_names.h"
#include "engine/base/arena.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"

#include <string.h>
#include <zlib.h>

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

/* An entry of a table, by its bytes; its number counts from 1 in its table. */
struct profile_entry {
	enum profile_table table;
	const void *key;
	size_t len;
	uint64_t number;
	uint64_t samples, weight; /* of a stack */
};

struct pprof {
	const struct convert_options *options;
	struct out out;
	struct samples *samples;
	struct track_names *names;
	struct arena *arena;
	struct profile_entry *entries;
	size_t count, capacity;
	uint64_t numbers[TABLE_STACKS + 1]; /* how many entries a table has */
	struct hash_index index;
	struct buf text;  /* strings, mappings, functions and locations, as fields */
	struct buf stack; /* key of a stack: its thread, then its locations */
	uint64_t label_thread, label_process, label_comm; /* strings */
};

/* ---- tables ---- */

static struct profile_entry *find_entry(struct pprof *pprof, enum profile_table table,
					const void *key, size_t len, bool *fresh)
{
	uint64_t hash = hash_number(hash_bytes(key, len) + table);
	uint32_t at =
		hash_index_find(&pprof->index, hash, i,
				pprof->entries[i].table == table && pprof->entries[i].len == len &&
					!memcmp(pprof->entries[i].key, key, len));

	*fresh = at == HASH_INDEX_NONE;
	if (*fresh) {
		*mem_push(pprof->entries, pprof->count, pprof->capacity) =
			(struct profile_entry){.table = table,
					       .key = arena_copy(pprof->arena, key, len, 1),
					       .len = len,
					       .number = ++pprof->numbers[table]};
		at = hash_index_add(&pprof->index, hash, pprof->count - 1);
	}
	return &pprof->entries[at];
}

/* The number in the table of strings, of which 0 is the empty one. */
static uint64_t string_of(struct pprof *pprof, const char *text)
{
	struct buf mended = {0};
	bool fresh;

	if (!*text)
		return 0;
	utf8_mend(&mended, (const uint8_t *)text, strlen(text));
	uint64_t number = find_entry(pprof, TABLE_STRINGS, mended.data, mended.len, &fresh)->number;
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
	uint64_t number = find_entry(pprof, TABLE_MAPPINGS, &name, sizeof name, &fresh)->number;
	if (fresh) {
		size_t mapping = protobuf_begin(out, PROFILE_MAPPING);
		protobuf_uint(out, 1, number);
		protobuf_uint(out, 5, name);
		protobuf_uint(out, 7, true); /* nothing is left to be looked up */
		protobuf_end(out, mapping);
	}
	return number;
}

static uint64_t function_of(struct pprof *pprof, const char *function)
{
	struct buf *out = &pprof->text;
	bool fresh;
	uint64_t name = string_of(pprof, function);
	uint64_t number = find_entry(pprof, TABLE_FUNCTIONS, &name, sizeof name, &fresh)->number;

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

/* Of frames that are one place: all but the last are inlined into the next one. */
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
	const struct profile_entry *entry =
		find_entry(pprof, TABLE_LOCATIONS, key.data, key.len, &fresh);
	uint64_t number = entry->number;
	if (fresh)
		add_location(&pprof->text, number, entry->key, key.len / sizeof *place);
	buf_release(&key);
	return number;
}

/* ---- samples ---- */

static void drop_stacks(struct pprof *pprof)
{
	for (size_t i = 0; i < pprof->count; i++)
		pprof->entries[i].samples = pprof->entries[i].weight = 0;
}

static uint64_t comm_of(struct pprof *pprof, int64_t tid, nstime t)
{
	const char *name = tid ? track_name_at(pprof->names, TRACK_THREAD, tid, t) : "swapper";

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
		sample.count--; /* where unwinding ended: no function */
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
	struct profile_entry *entry =
		find_entry(pprof, TABLE_STACKS, pprof->stack.data, pprof->stack.len, &fresh);
	entry->samples++;
	entry->weight += sample.weight;
	return true;
}

static bool pprof_learn(void *self, const struct interval *interval, struct error *err)
{
	struct pprof *pprof = self;

	(void)err;
	track_names_learn(pprof->names, interval);
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

static void add_sample(struct pprof *pprof, const struct profile_entry *stack, bool periods)
{
	const uint64_t *key = stack->key;
	size_t count = stack->len / sizeof *key;
	struct buf *out = &pprof->text;
	size_t sample, packed;

	sample = protobuf_begin(out, PROFILE_SAMPLE);
	packed = protobuf_begin(out, 1);
	for (size_t i = 3; i < count; i++)
		buf_add_varint(out, key[i]);
	protobuf_end(out, packed);
	packed = protobuf_begin(out, 2);
	buf_add_varint(out, stack->samples);
	if (periods)
		buf_add_varint(out, stack->weight);
	protobuf_end(out, packed);
	if ((int64_t)key[0] >= 0)
		add_label(out, pprof->label_thread, 0, (int64_t)key[0]);
	if ((int64_t)key[1] >= 0)
		add_label(out, pprof->label_process, 0, (int64_t)key[1]);
	if (key[2])
		add_label(out, pprof->label_comm, key[2], 0);
	protobuf_end(out, sample);
}

static void add_type(struct pprof *pprof, unsigned field, const char *type, const char *unit)
{
	uint64_t type_number = string_of(pprof, type), unit_number = string_of(pprof, unit);
	struct buf *out = &pprof->text;
	size_t entry = protobuf_begin(out, field);

	protobuf_uint(out, 1, type_number);
	protobuf_uint(out, 2, unit_number);
	protobuf_end(out, entry);
}

/* The clocks of the kernel's software count nanoseconds; all else counts events. */
static const char *unit_of(const char *name)
{
	bool clock = strncmp(name, "cpu-clock", 9) == 0 || strncmp(name, "task-clock", 10) == 0;

	return clock ? "nanoseconds" : "count";
}

static void add_head(struct pprof *pprof, bool periods)
{
	const struct convert_options *options = pprof->options;
	const struct convert_range range = convert_range(options);
	const char *name = samples_counted(pprof->samples)->name;

	add_type(pprof, PROFILE_SAMPLE_TYPE, "samples", "count");
	if (periods)
		add_type(pprof, PROFILE_SAMPLE_TYPE, name, unit_of(name));
	add_type(pprof, PROFILE_PERIOD_TYPE, name, unit_of(name));
	if (trace_has_epoch(options->trace))
		protobuf_int(&pprof->text, PROFILE_TIME, range.first);
	if (range.last > range.first)
		protobuf_uint(&pprof->text, PROFILE_DURATION, time_span(range.first, range.last));
}

static bool write_gzip(struct pprof *pprof, struct error *err)
{
	enum { GZIP = 16 + MAX_WBITS, MEMORY = 8 };
	const struct buf *text = &pprof->text;
	z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)text->data};
	struct buf bytes = {0};
	size_t left = text->len;
	int result = Z_OK;
	bool ok = true;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return error_set(err, ERR_IO, "zlib cannot be initialised");
	while (ok && result != Z_STREAM_END) {
		uInt most = left < (1u << 30) ? (uInt)left : 1u << 30;
		z.avail_in = most;
		z.next_out = (Bytef *)buf_room(&bytes, 1 << 18);
		z.avail_out = 1 << 18;
		result = deflate(&z, most == left ? Z_FINISH : Z_NO_FLUSH);
		left -= most - z.avail_in;
		ok = out_write(&pprof->out, bytes.data, (1 << 18) - z.avail_out, err);
	}
	deflateEnd(&z);
	buf_release(&bytes);
	return ok;
}

static bool pprof_finish(void *self, struct error *err)
{
	struct pprof *pprof = self;
	size_t count = pprof->count;

	if (!samples_counted(pprof->samples))
		return error_set(err, ERR_RANGE, "no event is a sample of perf's");
	samples_note_left(pprof->samples);
	bool periods = samples_have_periods(pprof->samples);
	add_head(pprof, periods);
	for (size_t i = 0; i < count; i++)
		if (pprof->entries[i].table == TABLE_STACKS && pprof->entries[i].samples)
			add_sample(pprof, &pprof->entries[i], periods);
	return write_gzip(pprof, err) && out_finish(&pprof->out, err);
}

static void pprof_close(void *self)
{
	struct pprof *pprof = self;

	out_drop(&pprof->out);
	samples_free(pprof->samples);
	track_names_free(pprof->names);
	arena_free(pprof->arena);
	mem_free(pprof->entries);
	hash_index_release(&pprof->index);
	buf_release(&pprof->text);
	buf_release(&pprof->stack);
	mem_free(pprof);
}

static void *pprof_open(const struct convert_options *options, struct error *err)
{
	struct pprof *pprof = mem_new(sizeof *pprof);

	pprof->options = options;
	if (!out_open(&pprof->out, options->path, err)) {
		mem_free(pprof);
		return NULL;
	}
	pprof->samples = samples_new(options);
	pprof->names = track_names_new();
	pprof->arena = arena_new();
	protobuf_text(&pprof->text, PROFILE_STRING, "");
	pprof->label_thread = string_of(pprof, "thread");
	pprof->label_process = string_of(pprof, "process");
	pprof->label_comm = string_of(pprof, "comm");
	return pprof;
}

const struct convert_format convert_pprof = {
	.kind = {.name = "pprof", .endings = ".pprof .pb.gz", .names = track_thread_names_paths},
	.open = pprof_open,
	.event = pprof_event,
	.learn = pprof_learn,
	.finish = pprof_finish,
	.close = pprof_close,
};
