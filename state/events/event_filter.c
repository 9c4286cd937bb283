/* event_filter.c - see event_filter.h; which events pass */
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/events/event_filter_internal.h"

#include <string.h>

enum { VALUES_MAX = 256 /* looked for in one packet filter */, PATIENCE = 16, PATIENCE_EACH = 4 };
enum { FEW_VALUES = 16 /* are compared one by one */ };

/* ---- what a closure's lines ask of events ---- */

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
		filter->lists[class_index] = mem_new_array(BATCH_MAX, sizeof(uint16_t));
	return (uint32_t)filter->ncolumns - 1;
}

static void add_test(struct event_filter *filter, const struct step_of *step)
{
	struct event_filter_test *test;
	struct line_key key;

	test = mem_push(filter->tests, filter->ntests, filter->tests_capacity);
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

/* Which tests concern attributes of a shape. */
static void group_tests(struct event_filter *filter)
{
	uint32_t nbits = filter->closure->nshapes, *bits, end = 0;

	filter->bits = bits = mem_new_array(nbits + 1, sizeof *bits);
	for (size_t i = 0; i < filter->ntests; i++)
		for (uint32_t k = 0; k < filter->tests[i].step->nwrites; k++)
			bits[filter->tests[i].step->writes[k]]++;
	for (uint32_t bit = 0; bit <= nbits; bit++)
		bits[bit] = end += bits[bit];
	filter->of_bit = mem_new_array(end + 1, sizeof *filter->of_bit);
	for (size_t i = filter->ntests; i-- > 0;)
		for (uint32_t k = 0; k < filter->tests[i].step->nwrites; k++)
			filter->of_bit[--bits[filter->tests[i].step->writes[k]]] = (uint32_t)i;
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
	filter->kinds = mem_new_array(nclasses + 1, sizeof *filter->kinds);
	filter->first = mem_new_array(nclasses + 1, sizeof *filter->first);
	filter->lists = mem_new_array(nclasses + 1, sizeof(uint16_t *));
	filter->nlists = mem_new_array(nclasses + 1, sizeof *filter->nlists);
	filter->all = bitset_new(nclasses);
	filter->all_of_cpus = bitset_new(nclasses);
	filter->keyed = bitset_new(nclasses);
	filter->of_cpus = bitset_new(event_source->trace->nstreams);
	filter->own_streams = bitset_new(event_source->trace->nstreams);
	filter->passing = bitset_new(nclasses);
	filter->by_losses = bitset_new(closure->nshapes);
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
	for (size_t i = 0; i < filter->trace->nclasses; i++)
		mem_free(filter->lists[i]);
	mem_free(filter->columns);
	mem_free(filter->tests);
	mem_free(filter->of_bit);
	mem_free(filter->bits);
	mem_free(filter->kinds);
	mem_free(filter->first);
	mem_free(filter->lists);
	mem_free(filter->nlists);
	mem_free(filter->all);
	mem_free(filter->all_of_cpus);
	mem_free(filter->keyed);
	mem_free(filter->cpus);
	mem_free(filter->of_cpus);
	mem_free(filter->by_losses);
	mem_free(filter->own_streams);
	mem_free(filter->passing);
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

static void add_value(struct event_filter_column *column, uint64_t value)
{
	*mem_push(column->values, column->count, column->capacity) = value;
	bitset_add(column->ends, value % EVENT_FILTER_ENDS);
	if (column->count == FEW_VALUES + 1) /* all that are there */
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

/* What the attribute has as the test's key. None: the line may write it with any event. */
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

/* The shape's bit; ATTR_ABSENT: no test concerns the attribute. */
static uint32_t bit_of(const struct event_filter *filter, uint32_t attr)
{
	return closure_bit(filter->closure, attr_shape(filter->attrs, attr));
}

/* Number i of those of the bit. */
static const struct event_filter_test *test_of(const struct event_filter *filter, uint32_t bit,
					       uint32_t i)
{
	return &filter->tests[filter->of_bit[filter->bits[bit] + i]];
}

/* Can an event of which the field is that key have the line write the attribute? */
static bool may_write(const struct event_filter *filter, const struct event_filter_test *test,
		      const struct value *key)
{
	return can_have(&filter->columns[test->column], key) &&
	       !line_refuses(test->step->line, &test->key, key);
}

/* What passes by one test; false: nothing, since its line cannot write the attribute. */
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
		add_value(column, key.u);
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

/* Does all pass by which the test's line may write the attribute, of streams that are read? */
static bool passes(const struct event_filter *filter, const struct event_filter_test *test,
		   uint32_t attr, int32_t cpu)
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
		if (!passes(filter, test_of(filter, bit, i), attr, cpu))
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

const uint64_t *event_filter_classes(const struct event_filter *filter)
{
	return filter->passing;
}

const uint64_t *event_filter_streams(const struct event_filter *filter)
{
	return filter->streams;
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
	for (uint32_t b = 0; b < nbad; b++) /* reading it tells what is wrong */
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
