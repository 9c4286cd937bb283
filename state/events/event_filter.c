/* event_filter.c - see event_filter.h */
#include "state/events/event_filter.h"

#include "engine/base/bitset.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "index/index.h"
#include "index/sweep/sweep.h"
#include "state/events/event_source.h"

#include <stdatomic.h>
#include <string.h>

enum { VALUES_MAX = 256 /* tested against one packet filter */, PATIENCE = 16, PATIENCE_EACH = 4 };
enum { FEW_VALUES = 16 /* compared one by one, more by a hash index */ };
enum { EVENT_FILTER_ENDS = 4096 };
/* Which events of a class pass: those with a key value; also all of some CPUs; all. */
enum event_filter_kind {
	EVENT_FILTER_NONE,
	EVENT_FILTER_KEYED,
	EVENT_FILTER_CPUS,
	EVENT_FILTER_ALL
};

struct event_filter_column { /* a key field of a class, and which values pass */
	struct run_field of;
	uint64_t *values;
	size_t count, capacity;
	struct hash_index index; /* of the values, if there are more than FEW_VALUES */
	uint64_t ends[EVENT_FILTER_ENDS / 64]; /* bit per remainder of a value that passes */
	uint32_t next;                         /* 1 + number of its class's next column; 0: none */
};

struct event_filter_test { /* one line of one class */
	const struct step_of *step;
	struct line_key key; /* depth 0: no key, any event may write */
	uint32_t column;     /* of the key */
};

struct event_filter {
	struct arena *arena; /* of all arrays whose size does not change */
	const struct closure *closure;
	const struct attrs *attrs;
	const struct trace *trace;
	struct event_filter_test *tests;
	size_t ntests;
	uint32_t *of_bit; /* numbers of tests, grouped by the bit of a shape that they write */
	uint32_t *bits;   /* by bit: where its group begins in of_bit; and the end */
	struct event_filter_column *columns;
	size_t ncolumns, columns_capacity;
	uint8_t *kinds;   /* by class */
	uint32_t *first;  /* by class: 1 + its first column */
	uint16_t **lists; /* by class with columns: entries of a run */
	uint32_t *nlists; /* by class */
	/* bit per class, by `kinds`; for all_of_cpus all events pass in streams of `cpus` */
	uint64_t *all, *keyed, *all_of_cpus; /* all_of_cpus includes EVENT_FILTER_ALL */
	int32_t *cpus; /* of attributes that only streams of one CPU can write */
	size_t ncpus, cpus_capacity;
	uint64_t *of_cpus;   /* bit per stream that may be of one of these CPUs */
	bool any_stream;     /* other attributes were added, so all streams count */
	uint64_t *by_losses; /* bit per bit of the closure: items other than events may write it */
	uint64_t *passing;   /* bit per class: what a cursor over the range decodes */
	uint64_t values[BATCH_MAX];
	uint16_t bad[BATCH_MAX];
	bool picked[BATCH_MAX];

	/* packets */
	struct event_source *event_source;
	struct index *index;
	struct packet_filters *packet_filters; /* NULL: none */
	uint64_t *hashes;
	size_t nhashes, hashes_capacity;
	bool many; /* more values than VALUES_MAX: packet filters are not used */
	const struct event_source_range *range; /* being read */
	/* streams to read (see events.h): the range's, or fewer in `own_streams` */
	const uint64_t *streams;
	uint64_t *own_streams;
	nstime begin, end; /* of it */
	nstime at;         /* the next window begins here; backward: ends here */
	nstime width;      /* of the next one */
	uint32_t given;
	uint64_t quiet;        /* packets read without packet filter since an event passed, */
	uint64_t patience;     /* and the limit for these */
	bool makes;            /* build packet filters of each window before reading it */
	uint64_t opened, most; /* packets opened, and the limit by event_filter_limit() */
	bool spent;
	struct packet_range span; /* first begin and last end of the streams' packets */
};

/* ---- tests of a closure's lines ---- */

static uint32_t column_of(struct event_filter *filter, uint32_t class_index,
			  const struct field_path *field)
{
	struct event_filter_column *column;

	for (uint32_t c = filter->first[class_index]; c; c = filter->columns[c - 1].next) {
		const struct field_path *own = &filter->columns[c - 1].of.field;
		if (own->scope == field->scope && own->slot == field->slot)
			return c - 1;
	}
	column = mem_push(filter->columns, filter->ncolumns, filter->columns_capacity);
	*column = (struct event_filter_column){.next = filter->first[class_index]};
	run_field_init(&column->of, filter->trace->classes[class_index], field);
	filter->first[class_index] = (uint32_t)filter->ncolumns;
	if (!filter->lists[class_index])
		filter->lists[class_index] =
			arena_array(filter->arena, BATCH_MAX, sizeof(uint16_t));
	return (uint32_t)filter->ncolumns - 1;
}

static void add_test(struct event_filter *filter, const struct step_of *step)
{
	struct event_filter_test *test = &filter->tests[filter->ntests++];
	struct line_key key;

	*test = (struct event_filter_test){.step = step};
	if (!line_key(step->line, &key))
		return;
	test->key = key;
	test->column = column_of(filter, step->class_index, &key.field);
}

static void note_losses(struct event_filter *filter, const struct step_of *step)
{
	for (uint32_t i = 0; i < step->nwrites; i++)
		bitset_add(filter->by_losses, step->writes[i]);
}

/* Groups the tests by the shapes that they write. */
static void group_tests(struct event_filter *filter)
{
	uint32_t nbits = filter->closure->nshapes, *bits, end = 0;

	filter->bits = bits = arena_array(filter->arena, nbits + 1, sizeof *bits);
	for (size_t i = 0; i < filter->ntests; i++)
		for (uint32_t k = 0; k < filter->tests[i].step->nwrites; k++)
			bits[filter->tests[i].step->writes[k]]++;
	for (uint32_t bit = 0; bit <= nbits; bit++)
		bits[bit] = end += bits[bit];
	filter->of_bit = arena_array(filter->arena, end + 1, sizeof *filter->of_bit);
	for (size_t i = filter->ntests; i-- > 0;)
		for (uint32_t k = 0; k < filter->tests[i].step->nwrites; k++)
			filter->of_bit[--bits[filter->tests[i].step->writes[k]]] = (uint32_t)i;
}

static uint64_t *new_set(const struct event_filter *filter, size_t count)
{
	return arena_array(filter->arena, count / 64 + 1, sizeof(uint64_t));
}

struct event_filter *event_filter_new(const struct closure *closure,
				      struct event_source *event_source, struct index *index,
				      struct packet_filters *packet_filters, uint64_t patience)
{
	struct event_filter *filter = mem_new(sizeof *filter);
	size_t nclasses = event_source->trace->nclasses;

	filter->closure = closure;
	filter->attrs = program_attrs(catalog_program(closure->catalog));
	filter->trace = event_source->trace;
	filter->event_source = event_source;
	filter->index = index;
	filter->packet_filters = packet_filters;
	filter->patience =
		patience ? patience : PATIENCE + PATIENCE_EACH * event_source->trace->nstreams;
	filter->arena = arena_new();
	filter->tests = arena_array(filter->arena, closure->nsteps, sizeof *filter->tests);
	filter->kinds = arena_array(filter->arena, nclasses + 1, sizeof *filter->kinds);
	filter->first = arena_array(filter->arena, nclasses + 1, sizeof *filter->first);
	filter->lists = arena_array(filter->arena, nclasses + 1, sizeof(uint16_t *));
	filter->nlists = arena_array(filter->arena, nclasses + 1, sizeof *filter->nlists);
	filter->all = new_set(filter, nclasses);
	filter->all_of_cpus = new_set(filter, nclasses);
	filter->keyed = new_set(filter, nclasses);
	filter->of_cpus = new_set(filter, event_source->trace->nstreams);
	filter->own_streams = new_set(filter, event_source->trace->nstreams);
	filter->passing = new_set(filter, nclasses);
	filter->by_losses = new_set(filter, closure->nshapes);
	for (size_t i = 0; i < closure->nsteps; i++)
		if (closure->steps[i].class_index != NO_CLASS)
			add_test(filter, &closure->steps[i]);
		else
			note_losses(filter, &closure->steps[i]);
	group_tests(filter);
	return filter;
}

void event_filter_free(struct event_filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < filter->ncolumns; i++) {
		mem_free(filter->columns[i].values);
		hash_index_release(&filter->columns[i].index);
	}
	mem_free(filter->columns);
	mem_free(filter->cpus);
	arena_free(filter->arena);
	mem_free(filter->hashes);
	mem_free(filter);
}

/* ---- what passes ---- */

static size_t stream_words(const struct event_filter *filter)
{
	return filter->trace->nstreams / 64 + 1;
}

void event_filter_clear(struct event_filter *filter)
{
	size_t words = filter->trace->nclasses / 64 + 1;

	for (size_t i = 0; i < filter->ncolumns; i++) {
		filter->columns[i].count = 0;
		hash_index_clear(&filter->columns[i].index);
		memset(filter->columns[i].ends, 0, sizeof filter->columns[i].ends);
	}
	memset(filter->kinds, EVENT_FILTER_NONE, filter->trace->nclasses);
	memset(filter->all, 0, words * sizeof *filter->all);
	memset(filter->all_of_cpus, 0, words * sizeof *filter->all_of_cpus);
	memset(filter->keyed, 0, words * sizeof *filter->keyed);
	memset(filter->of_cpus, 0, stream_words(filter) * sizeof *filter->of_cpus);
	filter->ncpus = 0;
	filter->any_stream = false;
	filter->nhashes = 0;
	filter->many = false;
}

static inline bool has_value(const struct event_filter_column *column, uint64_t value)
{
	uint64_t end = value % EVENT_FILTER_ENDS;

	if (!bitset_has(column->ends, end))
		return false;
	if (column->count > FEW_VALUES)
		return hash_index_find(&column->index, hash_number(value), i,
				       column->values[i] == value) != HASH_INDEX_NONE;
	for (size_t i = 0; i < column->count; i++)
		if (column->values[i] == value)
			return true;
	return false;
}

static void event_filter_add_value(struct event_filter_column *column, uint64_t value)
{
	*mem_push(column->values, column->count, column->capacity) = value;
	bitset_add(column->ends, value % EVENT_FILTER_ENDS);
	if (column->count == FEW_VALUES + 1) /* index all values */
		for (size_t i = 0; i < column->count; i++)
			hash_index_add(&column->index, hash_number(column->values[i]), i);
	else if (column->count > FEW_VALUES)
		hash_index_add(&column->index, hash_number(value), column->count - 1);
}

static void add_hash(struct event_filter *filter, uint64_t hash)
{
	if (filter->many)
		return;
	for (size_t i = 0; i < filter->nhashes; i++)
		if (filter->hashes[i] == hash)
			return;
	if (filter->nhashes == VALUES_MAX) {
		filter->many = true;
		return;
	}
	*mem_push(filter->hashes, filter->nhashes, filter->hashes_capacity) = hash;
}

/* The attribute's key that the test compares. None: any event may write it. */
static struct value key_at(const struct event_filter *filter,
			   const struct event_filter_test *test, uint32_t attr)
{
	const struct value none = {.kind = VALUE_NONE};

	if (!test->key.depth || attr_depth(filter->attrs, attr) < test->key.depth)
		return none;
	attr = attr_up(filter->attrs, attr, test->key.depth);
	return attr_is_key(filter->attrs, attr) ? attr_atom(filter->attrs, attr) : none;
}

/* Can the field have this value? */
static bool can_have(const struct event_filter_column *column, const struct value *key)
{
	bool top = key->u >> 63;

	if (key->kind != VALUE_INT)
		return false;
	return column->of.field.class->is_signed ? key->negative == top : !key->negative;
}

static void pass_class(struct event_filter *filter, uint32_t class_index,
		       enum event_filter_kind kind)
{
	if (filter->kinds[class_index] < kind)
		filter->kinds[class_index] = (uint8_t)kind;
	if (kind == EVENT_FILTER_KEYED)
		bitset_add(filter->keyed, class_index);
	if (kind == EVENT_FILTER_ALL)
		bitset_add(filter->all, class_index);
	if (kind >= EVENT_FILTER_CPUS)
		bitset_add(filter->all_of_cpus, class_index);
}

static bool has_cpu(const struct event_filter *filter, int32_t cpu)
{
	for (size_t i = 0; i < filter->ncpus; i++)
		if (filter->cpus[i] == cpu)
			return true;
	return false;
}

static void add_cpu(struct event_filter *filter, int32_t cpu)
{
	if (has_cpu(filter, cpu))
		return;
	*mem_push(filter->cpus, filter->ncpus, filter->cpus_capacity) = cpu;
	event_source_add_cpu(filter->event_source, cpu, filter->of_cpus);
}

/* The bit of the attribute's shape; ATTR_ABSENT: not in the closure. */
static uint32_t bit_of(const struct event_filter *filter, uint32_t attr)
{
	return closure_bit(filter->closure, attr_shape(filter->attrs, attr));
}

/* Test i of the bit's group. */
static const struct event_filter_test *test_of(const struct event_filter *filter, uint32_t bit,
					       uint32_t i)
{
	return &filter->tests[filter->of_bit[filter->bits[bit] + i]];
}

/* Can an event whose field has this key value make the line write the attribute? */
static bool may_write(const struct event_filter *filter, const struct event_filter_test *test,
		      const struct value *key)
{
	return can_have(&filter->columns[test->column], key) &&
	       !line_refuses(test->step->line, &test->key, key);
}

/* Lets events pass by which the test's line may write the attribute; false: there can be none. */
static bool pass_test(struct event_filter *filter, const struct event_filter_test *test,
		      uint32_t attr, int32_t cpu)
{
	const struct value key = key_at(filter, test, attr);
	struct event_filter_column *column;

	if (!value_exists(&key)) {
		pass_class(filter, test->step->class_index,
			   cpu < 0 ? EVENT_FILTER_ALL : EVENT_FILTER_CPUS);
		return true;
	}
	if (!may_write(filter, test, &key))
		return false;
	column = &filter->columns[test->column];
	pass_class(filter, test->step->class_index, EVENT_FILTER_KEYED);
	add_hash(filter, packet_filter_hash(test->key.role, key.u));
	if (!has_value(column, key.u))
		event_filter_add_value(column, key.u);
	return true;
}

void event_filter_add(struct event_filter *filter, uint32_t attr)
{
	uint32_t bit = bit_of(filter, attr);
	int32_t cpu = closure_cpu(filter->closure, filter->attrs, attr);

	if (bit == ATTR_ABSENT)
		return;
	bool any = bitset_has(filter->by_losses, bit);
	for (uint32_t i = 0; i < filter->bits[bit + 1] - filter->bits[bit]; i++)
		any = pass_test(filter, test_of(filter, bit, i), attr, cpu) || any;
	if (any && cpu >= 0)
		add_cpu(filter, cpu);
	else if (any)
		filter->any_stream = true;
}

/* Do all events pass by which the test's line may write the attribute? */
static bool event_filter_passes(const struct event_filter *filter,
				const struct event_filter_test *test, uint32_t attr, int32_t cpu)
{
	const struct value key = key_at(filter, test, attr);
	uint8_t kind = filter->kinds[test->step->class_index];

	if (value_exists(&key) && !may_write(filter, test, &key))
		return true;
	if (!filter->any_stream && !has_cpu(filter, cpu))
		return false;
	return kind == EVENT_FILTER_ALL || (kind == EVENT_FILTER_CPUS && has_cpu(filter, cpu)) ||
	       (value_exists(&key) && has_value(&filter->columns[test->column], key.u));
}

bool event_filter_has(const struct event_filter *filter, uint32_t attr)
{
	uint32_t bit = bit_of(filter, attr);
	int32_t cpu = closure_cpu(filter->closure, filter->attrs, attr);

	if (bit == ATTR_ABSENT)
		return true;
	if (bitset_has(filter->by_losses, bit) && !filter->any_stream && !has_cpu(filter, cpu))
		return false;
	for (uint32_t i = 0; i < filter->bits[bit + 1] - filter->bits[bit]; i++)
		if (!event_filter_passes(filter, test_of(filter, bit, i), attr, cpu))
			return false;
	return true;
}

bool event_filter_is_empty(const struct event_filter *filter)
{
	for (size_t i = 0; i < filter->trace->nclasses; i++)
		if (filter->kinds[i] != EVENT_FILTER_NONE)
			return false;
	return true;
}

bool event_filter_is_keyed(const struct event_filter *filter)
{
	for (size_t i = 0; i < filter->trace->nclasses; i++)
		if (filter->kinds[i] >= EVENT_FILTER_CPUS)
			return false;
	return true;
}

bool event_filter_has_fewer(const struct event_filter *filter)
{
	for (size_t i = 0; i < filter->trace->nclasses; i++)
		if (bitset_has(filter->passing, i) && filter->kinds[i] == EVENT_FILTER_NONE)
			return true;
	for (size_t i = 0; i < filter->trace->nstreams && !filter->any_stream; i++)
		if ((!filter->streams || bitset_has(filter->streams, i)) &&
		    !bitset_has(filter->of_cpus, i))
			return true;
	return false;
}

bool event_filter_chooses(const struct event_filter *filter)
{
	for (size_t i = 0; i < filter->trace->nclasses; i++)
		if (filter->kinds[i] != EVENT_FILTER_ALL && bitset_has(filter->closure->classes, i))
			return true;
	return false;
}

/* ---- events of a run ---- */

static void pick_column(struct event_filter *filter, const struct run *run,
			const struct event_filter_column *column, const uint16_t *entries,
			uint32_t n)
{
	uint32_t nbad = run_column(run, &column->of, entries, n, filter->values, filter->bad);

	for (uint32_t k = 0; k < n; k++)
		if (has_value(column, filter->values[k]))
			filter->picked[entries[k]] = true;
	for (uint32_t b = 0; b < nbad; b++) /* bad events pass: reading them reports the error */
		filter->picked[entries[filter->bad[b]]] = true;
}

static void pick_class(struct event_filter *filter, const struct run *run, uint32_t class_index)
{
	for (uint32_t c = filter->first[class_index]; c; c = filter->columns[c - 1].next)
		if (filter->columns[c - 1].count)
			pick_column(filter, run, &filter->columns[c - 1],
				    filter->lists[class_index], filter->nlists[class_index]);
	filter->nlists[class_index] = 0;
}

uint32_t event_filter_select(void *arg, const struct run *run, uint16_t *entries)
{
	struct event_filter *filter = arg;
	const uint32_t *classes = run->batch->class_index;
	uint32_t end = run->first + run->count, n = 0;
	bool of_cpu = run->cpu < 0 || has_cpu(filter, run->cpu);

	for (uint32_t i = run->first; i < end; i++) {
		uint8_t kind = filter->kinds[classes[i]];

		filter->picked[i] =
			kind == EVENT_FILTER_ALL || (kind == EVENT_FILTER_CPUS && of_cpu);
		if (kind != EVENT_FILTER_NONE && !filter->picked[i] && filter->first[classes[i]])
			filter->lists[classes[i]][filter->nlists[classes[i]]++] = (uint16_t)i;
	}
	for (uint32_t i = run->first; i < end; i++)
		if (filter->nlists[classes[i]])
			pick_class(filter, run, classes[i]);
	for (uint32_t i = run->first; i < end; i++) {
		entries[n] = (uint16_t)i;
		n += filter->picked[i];
	}
	return n;
}

/*
 * ---- a range in windows, and packets that are passed over by their packet filters ----
 *
 *     end                                            begin      of a range that is read backward
 *      |=|==|====|========|==========|============|...
 *        each longer than the one before
 *
 * A merge needs the next event of every stream, but few events pass: without windows all streams
 * would be read to their ends to find one in one stream. After many packets were read in vain,
 * packet filters of each window are built before it is read.
 */

enum {
	LOOKED_AT = 16, /* streams at most, as an estimate is enough */
	PACKETS = 2,    /* of the stream with most packets */
	SHORT = 2,      /* windows in front of these, backward: the next events most often answer */
	SHORTER = 3,    /* bits: each is an eighth of the one behind it */
	DOUBLED = 10,   /* windows that double; later ones grow by a quarter */
	DOUBLED_FEW = 2, /* with a limit on packets, windows must stay short */
};

/* The begin and end of a packet record; false for PACKET_BEFORE_ALL. */
static bool record_span(struct table *table, uint64_t i, struct packet_range *out)
{
	struct packet_info info;
	struct error ignored; /* reading the packet reports it */

	if (i >= table_count(table) || !table_get(table, i, &info, &ignored) ||
	    info.rec.flags & PACKET_BEFORE_ALL)
		return false;
	*out = (struct packet_range){info.rec.min, info.rec.max};
	return true;
}

/* The duration of PACKETS packets at the edge where reading begins. */
static nstime width_of(struct event_filter *filter, struct table *table, nstime last)
{
	bool backward = filter->range->backward;
	nstime edge = backward ? filter->end : filter->begin, width;
	struct packet_range span;
	struct error ignored;
	uint64_t i;

	edge = edge > last ? last : edge;
	if (!table_lower_bound(table, edge, &i, &ignored) || (backward && i < PACKETS) ||
	    !record_span(table, backward ? i - PACKETS : i + PACKETS, &span))
		return NSTIME_MAX;
	width = backward ? span.least : span.greatest;
	if (__builtin_sub_overflow(backward ? edge : width, backward ? width : edge, &width))
		return NSTIME_MAX;
	return width > 0 ? width : 1;
}

static bool is_read(const struct event_filter *filter, const struct stream *stream)
{
	return stream->has_time && (!filter->streams || bitset_has(filter->streams, stream->index));
}

/* Sets span and width; if nothing is known, one window covers all. */
static void look_at_streams(struct event_filter *filter)
{
	const struct trace *trace = filter->trace;
	struct packet_range first, last;
	struct table *table;
	struct error ignored;
	size_t looked = 0;

	filter->span = (struct packet_range){NSTIME_MAX, NSTIME_MIN};
	filter->width = NSTIME_MAX;
	if (filter->index)
		index_expect_range(filter->index, filter->streams,
				   filter->range->backward ? NSTIME_MIN : filter->begin,
				   filter->range->backward ? filter->end : NSTIME_MAX);
	for (size_t i = 0; i < trace->nstreams && filter->index && looked < LOOKED_AT; i++) {
		if (!is_read(filter, trace->streams[i]) ||
		    !index_table(filter->index, trace->streams[i], &table, &ignored) ||
		    !(record_span(table, 0, &first) || record_span(table, 1, &first)) ||
		    !record_span(table, table_count(table) - 1, &last))
			continue;
		if (first.least < filter->span.least)
			filter->span.least = first.least;
		if (last.greatest > filter->span.greatest)
			filter->span.greatest = last.greatest;
		nstime width = width_of(filter, table, last.greatest);
		filter->width = width < filter->width ? width : filter->width;
		looked++;
	}
}

/*
 * The range's streams without those that cannot write the added attributes. A forward pass also
 * needs the losses of these, which limit fills.
 */
static const uint64_t *choose_streams(struct event_filter *filter)
{
	const uint64_t *streams = filter->range->streams;

	if (filter->any_stream || !filter->range->backward)
		return streams;
	for (size_t i = 0; i < filter->trace->nstreams / 64 + 1; i++)
		filter->own_streams[i] = filter->of_cpus[i] & (streams ? streams[i] : UINT64_MAX);
	return filter->own_streams;
}

void event_filter_begin(struct event_filter *filter, const struct event_source_range *range,
			nstime begin, nstime end)
{
	filter->range = range;
	filter->begin = begin;
	filter->end = end;
	filter->at = range->backward ? end : begin;
	filter->quiet = filter->given = 0;
	filter->makes = false;
	filter->streams = choose_streams(filter);
	for (size_t i = 0; i < filter->trace->nclasses / 64 + 1; i++) {
		filter->passing[i] = filter->all_of_cpus[i] | filter->keyed[i];
		if (range->classes)
			filter->passing[i] &= range->classes[i];
	}
	look_at_streams(filter);
}

void event_filter_limit(struct event_filter *filter, uint64_t packets)
{
	filter->most = packets;
}

bool event_filter_is_spent(const struct event_filter *filter)
{
	return filter->spent;
}

void event_filter_passed(struct event_filter *filter)
{
	filter->quiet = 0;
}

static bool range_progress(void *arg, nstime at, nstime first, nstime last)
{
	struct event_filter *filter = arg;
	const struct event_source *event_source = filter->event_source;

	first = filter->begin > filter->span.least ? filter->begin : filter->span.least;
	last = filter->end < filter->span.greatest ? filter->end : filter->span.greatest;
	return !event_source->progress ||
	       event_source->progress(event_source->progress_arg, at, first, last);
}

static bool makes_progress(void *arg, uint64_t done, uint64_t all)
{
	struct event_filter *filter = arg;

	(void)done;
	(void)all;
	return range_progress(filter, filter->at, filter->begin, filter->end);
}

/* If it fails, packets are read one by one, and reading them reports the error. */
static void make_packet_filters(struct event_filter *filter, nstime begin, nstime end)
{
	bool backward = filter->range->backward;
	struct events_options range = {.begin = filter->makes || backward ? begin : filter->begin,
				       .end = filter->makes || !backward ? end : filter->end,
				       .streams = filter->streams};
	struct error ignored;

	filter->makes = true; /* the first time also of packets read so far */
	MAY_FAIL(packet_filters_make(filter->packet_filters, &range, makes_progress, filter,
				     &ignored));
}

/*
 * The next window's. Many values are not all found in the short ones, whose packets are opened
 * again.
 */
static nstime take_width(struct event_filter *filter)
{
	uint32_t first = filter->range->backward && !filter->many ? SHORT : 0;
	uint32_t given = filter->given++;
	nstime width = filter->width;

	if (given < first && width < NSTIME_MAX)
		return (width >> (first - given) * SHORTER) + 1;
	if (given == first) /* what was opened so far is opened again */
		filter->quiet = filter->opened = 0;
	if (!filter->most || given - first < DOUBLED_FEW)
		filter->width = time_later(width, given - first < DOUBLED ? width : width / 4 + 1);
	return width;
}

bool event_filter_window(struct event_filter *filter, nstime *begin, nstime *end)
{
	bool backward = filter->range->backward, first = !filter->given;
	nstime last = time_later(filter->span.greatest, 1);
	nstime edge = backward && filter->at > last ? last : filter->at;

	if (!backward && edge < filter->span.least)
		edge = filter->span.least;
	nstime width = take_width(filter);
	*begin = backward ? time_earlier(edge, width) : filter->at;
	*end = backward ? filter->at : time_later(edge, width);
	/* span is of some streams only: the last window also covers what lies beyond */
	if (*begin <= filter->span.least || *begin < filter->begin)
		*begin = backward ? filter->begin : *begin;
	if (*end > filter->span.greatest || *end > filter->end)
		*end = backward ? *end : filter->end;
	filter->spent = filter->most && filter->opened > filter->most;
	if (filter->spent)
		return false;
	if (!first && (backward ? filter->at <= filter->begin : filter->at >= filter->end))
		return false;
	filter->at = backward ? *begin : *end;
	if (filter->packet_filters && !filter->many && !filter->most &&
	    (filter->makes || filter->quiet > filter->patience))
		make_packet_filters(filter, *begin, *end);
	return true;
}

static enum filtered_by_packet ask_filters(struct event_filter *filter, const struct stream *stream,
					   const struct packet_info *info,
					   struct packet_range *range)
{
	const struct packet_filter_of packet = packet_filter_of(stream, info);
	bool of_cpus = bitset_has(filter->of_cpus, stream->index);
	const struct packet_filter_wanted wanted = {.always = of_cpus ? filter->all_of_cpus
								      : filter->all,
						    .keyed = filter->keyed,
						    .hashes = filter->hashes,
						    .nhashes = filter->nhashes};

	if (!filter->packet_filters || filter->many)
		return FILTERED_NOT;
	return packet_filters_ask(filter->packet_filters, &packet, &wanted, range);
}

static bool packet_lacks(void *arg, const struct stream *stream, const struct packet_info *info)
{
	struct packet_range ignored;

	return ask_filters(arg, stream, info, &ignored) == FILTERED_CANNOT;
}

static bool packet_skips(void *arg, const struct stream *stream, const struct packet_info *info,
			 struct packet_range *range)
{
	struct event_filter *filter = arg;
	enum filtered_by_packet filtered = ask_filters(filter, stream, info, range);

	filter->quiet += filtered == FILTERED_NOT;
	filter->opened += filtered != FILTERED_CANNOT;
	if (filtered == FILTERED_CANNOT)
		atomic_fetch_add_explicit(&index_trace(filter->index)->packets_skipped, 1,
					  memory_order_relaxed);
	return filtered == FILTERED_CANNOT;
}

void event_filter_open(struct event_filter *filter, const struct event_source_range *range,
		       struct events_options *options)
{
	event_filter_begin(filter, range, options->begin, options->end);
	event_filter_window(filter, &options->begin, &options->end);
	options->classes = filter->passing;
	options->streams = filter->streams;
	options->progress = filter->event_source->progress ? range_progress : NULL;
	options->progress_arg = filter;
	options->select = event_filter_chooses(filter) ? event_filter_select : NULL;
	options->select_arg = filter;
	options->skips = packet_skips;
	options->lacks = packet_lacks;
	options->skips_arg = filter;
}
