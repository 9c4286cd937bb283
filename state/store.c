/*
 * store.c - see store.h
 *
 * Cells stand in an array by attribute id. Children are chained, so that a delete finds what is
 * below without looking at the whole table. Tombs of exact paths hang at their attribute; tombs of
 * paths with `*` are a short list that is only looked at where no cell is.
 */
#include "state/store.h"

#include "engine/base/mem.h"
#include "state/store_internal.h"

#include <string.h>

struct store *store_new(struct program *program, size_t nstreams)
{
	struct store *store = mem_new(sizeof *store);

	store->program = program;
	store->attrs = program_attrs(program);
	store->nstreams = nstreams;
	store->nsections = program_sections(program);
	store->sections = mem_new_array(nstreams * store->nsections, sizeof *store->sections);
	store->until = mem_new_array(nstreams, sizeof *store->until);
	for (size_t i = 0; i < nstreams; i++)
		store->until[i] = NSTIME_MIN;
	return store;
}

static void free_patterns(struct store *store)
{
	for (size_t i = 0; i < store->ntombs; i++)
		mem_free(store->tombs[i].pattern);
	store->ntombs = 0;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	free_patterns(store);
	mem_free(store->slots);
	mem_free(store->tombs);
	mem_free(store->sections);
	mem_free(store->until);
	mem_free(store->cells);
	mem_free(store->free);
	mem_free(store->dying);
	mem_free(store);
}

void store_clear(struct store *store)
{
	for (uint32_t i = 0; i < store->nslots; i++)
		store->slots[i].cell = store->slots[i].tomb = NOWHERE;
	free_patterns(store);
	store->ncells = store->nfree = store->ndying = 0;
	store->patterns = NOWHERE;
	store->started = false;
	memset(store->sections, 0, store->nstreams * store->nsections * sizeof *store->sections);
	for (size_t i = 0; i < store->nstreams; i++)
		store->until[i] = NSTIME_MIN;
}

/* Attributes are interned by others too: chains what came since the last time. */
void store_sync(struct store *store)
{
	uint32_t count = attrs_count(store->attrs);

	if (!store->started) {
		store->patterns = NOWHERE;
		store->started = true;
	}
	if (count <= store->nslots)
		return;
	if (count > store->slots_capacity) {
		store->slots_capacity = count + count / 2 + 64;
		store->slots = mem_resize(store->slots, store->slots_capacity,
					  sizeof *store->slots);
	}
	for (uint32_t i = store->nslots; i < count; i++) {
		uint32_t parent = attr_parent(store->attrs, i);

		store->slots[i] = (struct slot_of){NOWHERE, NOWHERE, NOWHERE, NOWHERE};
		if (parent == ATTR_ABSENT)
			continue;
		store->slots[i].next = store->slots[parent].child;
		store->slots[parent].child = i;
	}
	store->nslots = count;
}

static struct cell *cell_of(const struct store *store, uint32_t attr)
{
	if (attr >= store->nslots || store->slots[attr].cell == NOWHERE)
		return NULL;
	return &store->cells[store->slots[attr].cell];
}

static const struct tomb *newer(const struct tomb *a, const struct tomb *b)
{
	return a && (!b || a->seq > b->seq) ? a : b;
}

/* The newest tomb that covers the attribute; NULL when there is none. */
static const struct tomb *tomb_over(const struct store *store, uint32_t attr)
{
	const struct tomb *best = NULL;
	uint32_t i;

	for (uint32_t a = attr; a != ATTR_ABSENT; a = attr_parent(store->attrs, a)) {
		for (i = a < store->nslots ? store->slots[a].tomb : NOWHERE; i != NOWHERE;
		     i = store->tombs[i].next)
			if (a != attr || !store->tombs[i].below)
				best = newer(&store->tombs[i], best);
	}
	for (i = store->started ? store->patterns : NOWHERE; i != NOWHERE;
	     i = store->tombs[i].next)
		if (pattern_covers(store->tombs[i].pattern, store->attrs, attr, true) == COVER_YES)
			best = newer(&store->tombs[i], best);
	return best;
}

void store_value(const struct store *store, uint32_t attr, struct value *out)
{
	const struct cell *cell = cell_of(store, attr);
	struct cell absent;

	if (!cell) {
		store_get(store, attr, &absent);
		cell = &absent;
	}
	*out = cell->value;
}

void store_get(const struct store *store, uint32_t attr, struct cell *out)
{
	const struct cell *cell = cell_of(store, attr);
	const struct tomb *tomb;

	if (cell) {
		*out = *cell;
		return;
	}
	*out = (struct cell){.since = NSTIME_MIN, .run = NSTIME_MIN, .last_run = NSTIME_MIN};
	out->writer.class_index = out->writer.line = UINT32_MAX;
	tomb = tomb_over(store, attr);
	if (tomb) {
		out->value.kind = tomb->kind;
		out->since = out->run = tomb->since;
		out->writer = tomb->writer;
		out->written = true;
		return;
	}
	if (!program_initial(store->program, attr, &out->value))
		out->value.kind = VALUE_UNKNOWN;
}

void store_set(struct store *store, uint32_t attr, const struct cell *cell)
{
	struct slot_of *slot;

	store_sync(store);
	slot = &store->slots[attr];
	if (slot->cell == NOWHERE) {
		if (store->nfree) {
			slot->cell = store->free[--store->nfree];
		} else {
			store->cells = mem_grow(store->cells, store->ncells,
						&store->cells_capacity, sizeof *store->cells);
			slot->cell = (uint32_t)store->ncells++;
		}
	}
	store->cells[slot->cell] = *cell;
}

static void drop(struct store *store, uint32_t attr)
{
	struct slot_of *slot = &store->slots[attr];

	if (slot->cell != NOWHERE) {
		store->free = mem_grow(store->free, store->nfree, &store->free_capacity,
				       sizeof *store->free);
		store->free[store->nfree++] = slot->cell;
		slot->cell = NOWHERE;
	}
}

struct burial {
	struct store *store;
	enum value_kind kind;
	nstime since;
	const struct writer *writer;
	store_each *each;
	void *arg;
};

/*
 * Cells made unknown stay, since lists go on naming them. Deleted ones stay for the nanosecond, so
 * that a write of the same time still knows what was there before.
 */
static void bury_cell(const struct burial *burial, uint32_t attr)
{
	struct store *store = burial->store;
	struct cell *cell = cell_of(store, attr);
	struct value value = {.kind = burial->kind};
	struct cell before;

	if (!cell)
		return;
	before = *cell;
	cell_put(cell, &value, burial->since, burial->writer);
	cell->named = cell->named && burial->kind != VALUE_NONE;
	if (burial->each)
		burial->each(burial->arg, attr, &before, cell);
	if (burial->kind != VALUE_NONE)
		return;
	store->dying = mem_grow(store->dying, store->ndying, &store->dying_capacity,
				sizeof *store->dying);
	store->dying[store->ndying++] = attr;
}

void store_settle(struct store *store)
{
	for (size_t i = 0; i < store->ndying; i++) {
		const struct cell *cell = cell_of(store, store->dying[i]);

		if (cell && cell->value.kind == VALUE_NONE && !cell->named)
			drop(store, store->dying[i]);
	}
	store->ndying = 0;
}

void cell_put(struct cell *cell, const struct value *value, nstime since,
	      const struct writer *writer)
{
	if (since > cell->since) {
		cell->last = cell->value;
		cell->last_run = cell->run;
	}
	cell->run = value_equal(&cell->last, value) ? cell->last_run : since;
	cell->value = *value;
	cell->since = since;
	cell->writer = *writer;
	cell->written = true;
}

/* All below `top`, and `top` itself unless `**`; children before they are left. */
static void bury_below(const struct burial *burial, uint32_t top, bool itself)
{
	const struct store *store = burial->store;
	uint32_t at = top;

	if (itself)
		bury_cell(burial, top);
	for (;;) {
		if (store->slots[at].child != NOWHERE) {
			at = store->slots[at].child;
		} else {
			while (at != top && store->slots[at].next == NOWHERE)
				at = attr_parent(store->attrs, at);
			if (at == top)
				return;
			at = store->slots[at].next;
		}
		bury_cell(burial, at);
	}
}

static void bury_matching(const struct burial *burial, const struct pattern *pattern)
{
	struct store *store = burial->store;

	for (uint32_t a = 0; a < store->nslots; a++)
		if (store->slots[a].cell != NOWHERE &&
		    pattern_covers(pattern, store->attrs, a, true) == COVER_YES)
			bury_cell(burial, a);
}

static bool same_pattern(const struct pattern *a, const struct pattern *b)
{
	if (a->natoms != b->natoms || a->below != b->below)
		return false;
	for (uint32_t i = 0; i < a->natoms; i++)
		if (a->atoms[i].kind != b->atoms[i].kind ||
		    (a->atoms[i].kind != PATTERN_ANY &&
		     !value_equal(&a->atoms[i].value, &b->atoms[i].value)))
			return false;
	return true;
}

/* The tomb of this very pattern in the list that begins at *head; made when it is new. */
struct tomb *store_tomb(struct store *store, const struct pattern *pattern)
{
	struct tomb *tomb;
	uint32_t *head;

	store_sync(store);
	head = pattern->any ? &store->patterns : &store->slots[pattern->attr].tomb;
	for (uint32_t i = *head; i != NOWHERE; i = store->tombs[i].next)
		if (pattern->any ? same_pattern(store->tombs[i].pattern, pattern)
				 : store->tombs[i].below == pattern->below)
			return &store->tombs[i];
	store->tombs =
		mem_grow(store->tombs, store->ntombs, &store->tombs_capacity, sizeof *store->tombs);
	tomb = &store->tombs[store->ntombs];
	*tomb = (struct tomb){.below = pattern->below, .next = *head};
	if (pattern->any) {
		tomb->pattern = mem_new(sizeof *tomb->pattern);
		*tomb->pattern = *pattern;
	}
	*head = (uint32_t)store->ntombs++;
	return tomb;
}

void store_bury(struct store *store, const struct pattern *pattern, enum value_kind kind,
		nstime since, const struct writer *writer, store_each *each, void *arg)
{
	struct burial burial = {store, kind, since, writer, each, arg};
	struct tomb *tomb = store_tomb(store, pattern);

	if (pattern->any)
		bury_matching(&burial, pattern);
	else
		bury_below(&burial, pattern->attr, !pattern->below);
	tomb->kind = kind;
	tomb->since = since;
	tomb->seq = ++store->seq;
	tomb->writer = *writer;
}

size_t store_cells(const struct store *store)
{
	return store->ncells - store->nfree;
}

bool store_next(const struct store *store, uint32_t *attr)
{
	while (++*attr < store->nslots)
		if (store->slots[*attr].cell != NOWHERE)
			return true;
	return false;
}

void store_section(const struct store *store, uint32_t stream, uint32_t section, struct value *out,
		   bool *written)
{
	const struct section_value *value =
		&store->sections[stream * store->nsections + section];

	*out = value->value;
	*written = value->written;
}

void store_set_section(struct store *store, uint32_t stream, uint32_t section,
		       const struct value *value)
{
	store->sections[stream * store->nsections + section] =
		(struct section_value){*value, true};
}

nstime store_until(const struct store *store, uint32_t stream)
{
	return store->until[stream];
}

void store_set_until(struct store *store, uint32_t stream, nstime until)
{
	store->until[stream] = until;
}
