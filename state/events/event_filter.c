/* event_filter.c - see event_filter.h; which events pass */
#include "engine/base/mem.h"
#include "state/events/event_filter_internal.h"

#include <string.h>

enum { VALUES_MAX = 256 /* looked for in one packet filter */, PATIENCE = 16, PATIENCE_EACH = 4 };

/* ---- what a closure's lines ask of events ---- */

static uint32_t column_of(struct event_filter *event_filter, uint32_t class_index,
			  const struct field_path *field)
{
	struct event_filter_column *column;

	for (uint32_t c = event_filter->first[class_index]; c;
	     c = event_filter->columns[c - 1].next) {
		const struct field_path *own = &event_filter->columns[c - 1].of.field;
		if (own->scope == field->scope && own->slot == field->slot)
			return c - 1;
	}
	event_filter->columns =
		mem_grow(event_filter->columns, event_filter->ncolumns,
			 &event_filter->columns_capacity, sizeof *event_filter->columns);
	column = &event_filter->columns[event_filter->ncolumns++];
	*column = (struct event_filter_column){.next = event_filter->first[class_index]};
	run_field_init(&column->of, event_filter->trace->classes[class_index], field);
	event_filter->first[class_index] = (uint32_t)event_filter->ncolumns;
	if (!event_filter->lists[class_index])
		event_filter->lists[class_index] = mem_new_array(BATCH_MAX, sizeof(uint16_t));
	return (uint32_t)event_filter->ncolumns - 1;
}

static void add_test(struct event_filter *event_filter, const struct step_of *step)
{
	struct event_filter_test *test;
	struct line_key key;

	event_filter->tests = mem_grow(event_filter->tests, event_filter->ntests,
				       &event_filter->tests_capacity, sizeof *event_filter->tests);
	test = &event_filter->tests[event_filter->ntests++];
	*test = (struct event_filter_test){.step = step};
	if (!line_key(step->line, &key))
		return;
	test->key = key;
	test->column = column_of(event_filter, step->class_index, &key.field);
}

struct event_filter *event_filter_new(const struct closure *closure,
				      struct event_source *event_source, struct index *index,
				      struct packet_filters *packet_filters)
{
	struct event_filter *event_filter = mem_new(sizeof *event_filter);
	size_t nclasses = event_source->trace->nclasses;

	event_filter->closure = closure;
	event_filter->attrs = program_attrs(catalog_program(closure->catalog));
	event_filter->trace = event_source->trace;
	event_filter->event_source = event_source;
	event_filter->index = index;
	event_filter->packet_filters = packet_filters;
	event_filter->patience = PATIENCE + PATIENCE_EACH * event_source->trace->nstreams;
	event_filter->kinds = mem_new_array(nclasses + 1, sizeof *event_filter->kinds);
	event_filter->first = mem_new_array(nclasses + 1, sizeof *event_filter->first);
	event_filter->lists = mem_new_array(nclasses + 1, sizeof(uint16_t *));
	event_filter->nlists = mem_new_array(nclasses + 1, sizeof *event_filter->nlists);
	event_filter->all = mem_new_array(nclasses / 64 + 1, sizeof *event_filter->all);
	event_filter->keyed = mem_new_array(nclasses / 64 + 1, sizeof *event_filter->keyed);
	for (size_t i = 0; i < closure->nsteps; i++)
		if (closure->steps[i].class_index != NO_CLASS)
			add_test(event_filter, &closure->steps[i]);
	return event_filter;
}

void event_filter_free(struct event_filter *event_filter)
{
	if (!event_filter)
		return;
	for (size_t i = 0; i < event_filter->ncolumns; i++)
		mem_free(event_filter->columns[i].values);
	for (size_t i = 0; i < event_filter->trace->nclasses; i++)
		mem_free(event_filter->lists[i]);
	mem_free(event_filter->columns);
	mem_free(event_filter->tests);
	mem_free(event_filter->kinds);
	mem_free(event_filter->first);
	mem_free(event_filter->lists);
	mem_free(event_filter->nlists);
	mem_free(event_filter->all);
	mem_free(event_filter->keyed);
	mem_free(event_filter->hashes);
	mem_free(event_filter);
}

void event_filter_patience(struct event_filter *event_filter, uint64_t packets)
{
	event_filter->patience = packets;
}

/* ---- what passes ---- */

void event_filter_clear(struct event_filter *event_filter)
{
	size_t words = event_filter->trace->nclasses / 64 + 1;

	for (size_t i = 0; i < event_filter->ncolumns; i++) {
		event_filter->columns[i].count = 0;
		memset(event_filter->columns[i].ends, 0, sizeof event_filter->columns[i].ends);
	}
	memset(event_filter->kinds, EVENT_FILTER_NONE, event_filter->trace->nclasses);
	memset(event_filter->all, 0, words * sizeof *event_filter->all);
	memset(event_filter->keyed, 0, words * sizeof *event_filter->keyed);
	event_filter->nhashes = 0;
	event_filter->many = false;
}

static inline bool has_value(const struct event_filter_column *column, uint64_t value)
{
	uint64_t end = value % EVENT_FILTER_ENDS;

	if (!(column->ends[end / 64] >> end % 64 & 1))
		return false;
	for (size_t i = 0; i < column->count; i++)
		if (column->values[i] == value)
			return true;
	return false;
}

static void add_hash(struct event_filter *event_filter, uint64_t hash)
{
	for (size_t i = 0; i < event_filter->nhashes; i++)
		if (event_filter->hashes[i] == hash)
			return;
	if (event_filter->nhashes == VALUES_MAX) {
		event_filter->many = true;
		return;
	}
	event_filter->hashes =
		mem_grow(event_filter->hashes, event_filter->nhashes,
			 &event_filter->hashes_capacity, sizeof *event_filter->hashes);
	event_filter->hashes[event_filter->nhashes++] = hash;
}

/* What the attribute has as the test's key. NULL: the line may write it with any event. */
static const struct value *key_at(const struct event_filter *event_filter,
				  const struct event_filter_test *test, uint32_t attr)
{
	if (!test->key.depth || attr_depth(event_filter->attrs, attr) < test->key.depth)
		return NULL;
	while (attr_depth(event_filter->attrs, attr) > test->key.depth)
		attr = attr_parent(event_filter->attrs, attr);
	return attr_is_key(event_filter->attrs, attr) ? attr_atom(event_filter->attrs, attr) : NULL;
}

/* Can the field have this value? */
static bool can_have(const struct event_filter_column *column, const struct value *key)
{
	bool top = key->u >> 63;

	if (key->kind != VALUE_INT)
		return false;
	return column->of.field.class->is_signed ? key->negative == top : !key->negative;
}

static void pass_class(struct event_filter *event_filter, uint32_t class_index,
		       enum event_filter_kind kind)
{
	uint64_t *bits = kind == EVENT_FILTER_ALL ? event_filter->all : event_filter->keyed;

	if (event_filter->kinds[class_index] < kind)
		event_filter->kinds[class_index] = (uint8_t)kind;
	bits[class_index / 64] |= UINT64_C(1) << class_index % 64;
}

static bool concerns(const struct event_filter *event_filter, const struct event_filter_test *test,
		     uint32_t attr)
{
	uint32_t bit = closure_bit(event_filter->closure, attr_shape(event_filter->attrs, attr));

	return bit != ATTR_ABSENT && step_writes(test->step, bit);
}

/* Can an event of which the field is that key have the line write the attribute? */
static bool may_write(const struct event_filter *event_filter, const struct event_filter_test *test,
		      const struct value *key)
{
	return can_have(&event_filter->columns[test->column], key) &&
	       !line_refuses(test->step->line, &test->key, key);
}

void event_filter_add(struct event_filter *event_filter, uint32_t attr)
{
	for (size_t i = 0; i < event_filter->ntests; i++) {
		const struct event_filter_test *test = &event_filter->tests[i];
		const struct value *key = key_at(event_filter, test, attr);
		struct event_filter_column *column;

		if (!concerns(event_filter, test, attr))
			continue;
		if (!key) {
			pass_class(event_filter, test->step->class_index, EVENT_FILTER_ALL);
			continue;
		}
		if (!may_write(event_filter, test, key))
			continue;
		column = &event_filter->columns[test->column];
		pass_class(event_filter, test->step->class_index, EVENT_FILTER_KEYED);
		add_hash(event_filter, packet_filter_hash(test->key.role, key->u));
		if (has_value(column, key->u))
			continue;
		column->values = mem_grow(column->values, column->count, &column->capacity,
					  sizeof *column->values);
		column->values[column->count++] = key->u;
		column->ends[key->u % EVENT_FILTER_ENDS / 64] |= UINT64_C(1) << key->u % 64;
	}
}

bool event_filter_has(const struct event_filter *event_filter, uint32_t attr)
{
	for (size_t i = 0; i < event_filter->ntests; i++) {
		const struct event_filter_test *test = &event_filter->tests[i];
		const struct value *key = key_at(event_filter, test, attr);

		if (!concerns(event_filter, test, attr) ||
		    event_filter->kinds[test->step->class_index] == EVENT_FILTER_ALL)
			continue;
		if (!key)
			return false;
		if (may_write(event_filter, test, key) &&
		    !has_value(&event_filter->columns[test->column], key->u))
			return false;
	}
	return true;
}

bool event_filter_is_keyed(const struct event_filter *event_filter)
{
	for (size_t i = 0; i < event_filter->trace->nclasses; i++)
		if (event_filter->kinds[i] == EVENT_FILTER_ALL)
			return false;
	return true;
}

bool event_filter_chooses(const struct event_filter *event_filter)
{
	for (size_t i = 0; i < event_filter->trace->nclasses; i++)
		if (event_filter->kinds[i] != EVENT_FILTER_ALL &&
		    event_filter->closure->classes[i / 64] >> i % 64 & 1)
			return true;
	return false;
}

/* ---- events of a run ---- */

static void pick_column(struct event_filter *event_filter, const struct run *run,
			const struct event_filter_column *column, const uint16_t *entries,
			uint32_t n)
{
	uint32_t nbad =
		run_column(run, &column->of, entries, n, event_filter->values, event_filter->bad);

	for (uint32_t k = 0; k < n; k++)
		if (has_value(column, event_filter->values[k]))
			event_filter->picked[entries[k]] = true;
	for (uint32_t b = 0; b < nbad; b++) /* reading it tells what is wrong */
		event_filter->picked[entries[event_filter->bad[b]]] = true;
}

static void pick_class(struct event_filter *event_filter, const struct run *run,
		       uint32_t class_index)
{
	for (uint32_t c = event_filter->first[class_index]; c;
	     c = event_filter->columns[c - 1].next)
		if (event_filter->columns[c - 1].count)
			pick_column(event_filter, run, &event_filter->columns[c - 1],
				    event_filter->lists[class_index],
				    event_filter->nlists[class_index]);
	event_filter->nlists[class_index] = 0;
}

uint32_t event_filter_select(void *arg, const struct run *run, uint16_t *entries)
{
	struct event_filter *event_filter = arg;
	const uint32_t *classes = run->batch->class_index;
	uint32_t end = run->first + run->count, n = 0;

	for (uint32_t i = run->first; i < end; i++) {
		uint8_t kind = event_filter->kinds[classes[i]];

		event_filter->picked[i] = kind == EVENT_FILTER_ALL;
		if (kind == EVENT_FILTER_KEYED)
			event_filter->lists[classes[i]][event_filter->nlists[classes[i]]++] =
				(uint16_t)i;
	}
	for (uint32_t i = run->first; i < end; i++)
		if (event_filter->kinds[classes[i]] == EVENT_FILTER_KEYED &&
		    event_filter->nlists[classes[i]])
			pick_class(event_filter, run, classes[i]);
	for (uint32_t i = run->first; i < end; i++) {
		entries[n] = (uint16_t)i;
		n += event_filter->picked[i];
	}
	return n;
}
