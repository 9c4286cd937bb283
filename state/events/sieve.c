/* sieve.c - see sieve.h; which events pass */
#include "engine/base/mem.h"
#include "state/events/sieve_internal.h"

#include <string.h>

enum { VALUES_MAX = 256 /* looked for in one sketch */, PATIENCE = 16, PATIENCE_EACH = 4 };

/* ---- what a closure's lines ask of events ---- */

static uint32_t column_of(struct sieve *sieve, uint32_t class_index, const struct field_path *field)
{
	struct sieve_column *column;

	for (uint32_t c = sieve->first[class_index]; c; c = sieve->columns[c - 1].next) {
		const struct field_path *own = &sieve->columns[c - 1].of.field;
		if (own->scope == field->scope && own->slot == field->slot)
			return c - 1;
	}
	sieve->columns = mem_grow(sieve->columns, sieve->ncolumns, &sieve->columns_capacity,
				  sizeof *sieve->columns);
	column = &sieve->columns[sieve->ncolumns++];
	*column = (struct sieve_column){.next = sieve->first[class_index]};
	run_field_init(&column->of, sieve->trace->classes[class_index], field);
	sieve->first[class_index] = (uint32_t)sieve->ncolumns;
	if (!sieve->lists[class_index])
		sieve->lists[class_index] = mem_new_array(BATCH_MAX, sizeof(uint16_t));
	return (uint32_t)sieve->ncolumns - 1;
}

static void add_test(void *arg, uint32_t class_index, const struct step_of *step)
{
	struct sieve *sieve = arg;
	struct sieve_test *test;
	struct line_key key;

	sieve->tests =
		mem_grow(sieve->tests, sieve->ntests, &sieve->tests_capacity, sizeof *sieve->tests);
	test = &sieve->tests[sieve->ntests++];
	*test = (struct sieve_test){
		.class_index = class_index, .writes = &step->writes, .line = step->line};
	if (!line_key(step->line, &key))
		return;
	test->key = key;
	test->column = column_of(sieve, class_index, &key.field);
}

struct sieve *sieve_new(const struct closure *closure, struct feed *feed, struct index *index,
			struct sketches *sketches)
{
	struct sieve *sieve = mem_new(sizeof *sieve);
	size_t nclasses = feed->trace->nclasses;

	sieve->closure = closure;
	sieve->attrs = program_attrs(catalog_program(closure->catalog));
	sieve->trace = feed->trace;
	sieve->feed = feed;
	sieve->index = index;
	sieve->sketches = sketches;
	sieve->patience = PATIENCE + PATIENCE_EACH * feed->trace->nstreams;
	sieve->kinds = mem_new_array(nclasses + 1, sizeof *sieve->kinds);
	sieve->first = mem_new_array(nclasses + 1, sizeof *sieve->first);
	sieve->lists = mem_new_array(nclasses + 1, sizeof(uint16_t *));
	sieve->nlists = mem_new_array(nclasses + 1, sizeof *sieve->nlists);
	sieve->all = mem_new_array(nclasses / 64 + 1, sizeof *sieve->all);
	sieve->keyed = mem_new_array(nclasses / 64 + 1, sizeof *sieve->keyed);
	closure_steps(closure, add_test, sieve);
	return sieve;
}

void sieve_free(struct sieve *sieve)
{
	if (!sieve)
		return;
	for (size_t i = 0; i < sieve->ncolumns; i++)
		mem_free(sieve->columns[i].values);
	for (size_t i = 0; i < sieve->trace->nclasses; i++)
		mem_free(sieve->lists[i]);
	mem_free(sieve->columns);
	mem_free(sieve->tests);
	mem_free(sieve->kinds);
	mem_free(sieve->first);
	mem_free(sieve->lists);
	mem_free(sieve->nlists);
	mem_free(sieve->all);
	mem_free(sieve->keyed);
	mem_free(sieve->hashes);
	mem_free(sieve);
}

void sieve_patience(struct sieve *sieve, uint64_t packets)
{
	sieve->patience = packets;
}

/* ---- what passes ---- */

void sieve_clear(struct sieve *sieve)
{
	size_t words = sieve->trace->nclasses / 64 + 1;

	for (size_t i = 0; i < sieve->ncolumns; i++) {
		sieve->columns[i].count = 0;
		memset(sieve->columns[i].ends, 0, sizeof sieve->columns[i].ends);
	}
	memset(sieve->kinds, SIEVE_NONE, sieve->trace->nclasses);
	memset(sieve->all, 0, words * sizeof *sieve->all);
	memset(sieve->keyed, 0, words * sizeof *sieve->keyed);
	sieve->nhashes = 0;
	sieve->many = false;
}

static inline bool has_value(const struct sieve_column *column, uint64_t value)
{
	uint64_t end = value % SIEVE_ENDS;

	if (!(column->ends[end / 64] >> end % 64 & 1))
		return false;
	for (size_t i = 0; i < column->count; i++)
		if (column->values[i] == value)
			return true;
	return false;
}

static void add_hash(struct sieve *sieve, uint64_t hash)
{
	for (size_t i = 0; i < sieve->nhashes; i++)
		if (sieve->hashes[i] == hash)
			return;
	if (sieve->nhashes == VALUES_MAX) {
		sieve->many = true;
		return;
	}
	sieve->hashes = mem_grow(sieve->hashes, sieve->nhashes, &sieve->hashes_capacity,
				 sizeof *sieve->hashes);
	sieve->hashes[sieve->nhashes++] = hash;
}

/* What the attribute has as the test's key. NULL: the line may write it with any event. */
static const struct value *key_at(const struct sieve *sieve, const struct sieve_test *test,
				  uint32_t attr)
{
	if (!test->key.depth || attr_depth(sieve->attrs, attr) < test->key.depth)
		return NULL;
	while (attr_depth(sieve->attrs, attr) > test->key.depth)
		attr = attr_parent(sieve->attrs, attr);
	return attr_is_key(sieve->attrs, attr) ? attr_atom(sieve->attrs, attr) : NULL;
}

/* Can the field have this value? */
static bool can_have(const struct sieve_column *column, const struct value *key)
{
	bool top = key->u >> 63;

	if (key->kind != VALUE_INT)
		return false;
	return column->of.field.class->is_signed ? key->negative == top : !key->negative;
}

static void pass_class(struct sieve *sieve, uint32_t class_index, enum sieve_kind kind)
{
	uint64_t *bits = kind == SIEVE_ALL ? sieve->all : sieve->keyed;

	if (sieve->kinds[class_index] < kind)
		sieve->kinds[class_index] = (uint8_t)kind;
	bits[class_index / 64] |= UINT64_C(1) << class_index % 64;
}

static bool concerns(const struct sieve *sieve, const struct sieve_test *test, uint32_t attr)
{
	uint32_t bit = closure_bit(sieve->closure, attr_shape(sieve->attrs, attr));

	return bit != ATTR_ABSENT && shape_bits_have(test->writes, bit);
}

/* Can an event of which the field is that key have the line write the attribute? */
static bool may_write(const struct sieve *sieve, const struct sieve_test *test,
		      const struct value *key)
{
	return can_have(&sieve->columns[test->column], key) &&
	       !line_refuses(test->line, &test->key, key);
}

void sieve_add(struct sieve *sieve, uint32_t attr)
{
	for (size_t i = 0; i < sieve->ntests; i++) {
		const struct sieve_test *test = &sieve->tests[i];
		const struct value *key = key_at(sieve, test, attr);
		struct sieve_column *column;

		if (!concerns(sieve, test, attr))
			continue;
		if (!key) {
			pass_class(sieve, test->class_index, SIEVE_ALL);
			continue;
		}
		if (!may_write(sieve, test, key))
			continue;
		column = &sieve->columns[test->column];
		pass_class(sieve, test->class_index, SIEVE_KEYED);
		add_hash(sieve, sketch_hash(test->key.role, key->u));
		if (has_value(column, key->u))
			continue;
		column->values = mem_grow(column->values, column->count, &column->capacity,
					  sizeof *column->values);
		column->values[column->count++] = key->u;
		column->ends[key->u % SIEVE_ENDS / 64] |= UINT64_C(1) << key->u % 64;
	}
}

bool sieve_has(const struct sieve *sieve, uint32_t attr)
{
	for (size_t i = 0; i < sieve->ntests; i++) {
		const struct sieve_test *test = &sieve->tests[i];
		const struct value *key = key_at(sieve, test, attr);

		if (!concerns(sieve, test, attr) || sieve->kinds[test->class_index] == SIEVE_ALL)
			continue;
		if (!key)
			return false;
		if (may_write(sieve, test, key) &&
		    !has_value(&sieve->columns[test->column], key->u))
			return false;
	}
	return true;
}

bool sieve_is_keyed(const struct sieve *sieve)
{
	for (size_t i = 0; i < sieve->trace->nclasses; i++)
		if (sieve->kinds[i] == SIEVE_ALL)
			return false;
	return true;
}

bool sieve_chooses(const struct sieve *sieve)
{
	for (size_t i = 0; i < sieve->trace->nclasses; i++)
		if (sieve->kinds[i] != SIEVE_ALL && sieve->closure->classes[i / 64] >> i % 64 & 1)
			return true;
	return false;
}

/* ---- events of a run ---- */

static void pick_column(struct sieve *sieve, const struct run *run,
			const struct sieve_column *column, const uint16_t *entries, uint32_t n)
{
	uint32_t nbad = run_column(run, &column->of, entries, n, sieve->values, sieve->bad);

	for (uint32_t k = 0; k < n; k++)
		if (has_value(column, sieve->values[k]))
			sieve->picked[entries[k]] = true;
	for (uint32_t b = 0; b < nbad; b++) /* reading it tells what is wrong */
		sieve->picked[entries[sieve->bad[b]]] = true;
}

static void pick_class(struct sieve *sieve, const struct run *run, uint32_t class_index)
{
	for (uint32_t c = sieve->first[class_index]; c; c = sieve->columns[c - 1].next)
		if (sieve->columns[c - 1].count)
			pick_column(sieve, run, &sieve->columns[c - 1], sieve->lists[class_index],
				    sieve->nlists[class_index]);
	sieve->nlists[class_index] = 0;
}

uint32_t sieve_select(void *arg, const struct run *run, uint16_t *entries)
{
	struct sieve *sieve = arg;
	const uint32_t *classes = run->batch->class_index;
	uint32_t end = run->first + run->count, n = 0;

	for (uint32_t i = run->first; i < end; i++) {
		uint8_t kind = sieve->kinds[classes[i]];

		sieve->picked[i] = kind == SIEVE_ALL;
		if (kind == SIEVE_KEYED)
			sieve->lists[classes[i]][sieve->nlists[classes[i]]++] = (uint16_t)i;
	}
	for (uint32_t i = run->first; i < end; i++)
		if (sieve->kinds[classes[i]] == SIEVE_KEYED && sieve->nlists[classes[i]])
			pick_class(sieve, run, classes[i]);
	for (uint32_t i = run->first; i < end; i++) {
		entries[n] = (uint16_t)i;
		n += sieve->picked[i];
	}
	return n;
}
