/*
 * cells.c - see cells.h
 *
 * Cells are in an array; a second array has the index of each attribute's cell. After the first
 * delete of a subtree, children are linked to their parents, so that a delete visits only what is
 * below it. Tombstones of exact paths are linked to their attribute; those of paths with `*` are in
 * a short list, which is searched only for attributes without a cell.
 */
#include "state/replay/cells.h"

#include "engine/base/budget.h"
#include "engine/base/mem.h"
#include "state/replay/cells_internal.h"

#include <string.h>

static struct grown grown = {.what = "values of attributes"};

static long long cell_bytes(const struct cells *cells)
{
	return (long long)(cells->now_capacity * sizeof *cells->now +
			   cells->past_capacity * sizeof *cells->past +
			   cells->places_capacity * sizeof *cells->places +
			   cells->kin_capacity * sizeof *cells->kin);
}

/* Makes room for one more cell. */
static void grow(struct cells *cells)
{
	long long before = cell_bytes(cells);

	cells->now = mem_grow(cells->now, cells->ncells, &cells->now_capacity, sizeof *cells->now);
	if (!cells->brief)
		cells->past = mem_grow(cells->past, cells->ncells, &cells->past_capacity,
				       sizeof *cells->past);
	if (cell_bytes(cells) != before)
		grown_add(&grown, cell_bytes(cells) - before);
}

struct cells *cells_new(struct program *program, size_t nstreams, bool brief)
{
	struct cells *cells = mem_new(sizeof *cells);

	cells->brief = brief;
	cells->program = program;
	cells->attrs = program_attrs(program);
	cells->patterns = NOWHERE;
	cells->nstreams = nstreams;
	cells->nsections = program_sections(program);
	cells->sections = mem_new_array(nstreams * cells->nsections, sizeof *cells->sections);
	cells->until = mem_new_array(nstreams, sizeof *cells->until);
	for (size_t i = 0; i < nstreams; i++)
		cells->until[i] = NSTIME_MIN;
	return cells;
}

static void free_patterns(struct cells *cells)
{
	for (size_t i = 0; i < cells->ntombstones; i++)
		mem_free(cells->tombstones[i].pattern);
	cells->ntombstones = 0;
}

void cells_free(struct cells *cells)
{
	if (!cells)
		return;
	free_patterns(cells);
	grown_add(&grown, -cell_bytes(cells));
	mem_free(cells->places);
	mem_free(cells->kin);
	mem_free(cells->hanging.items);
	mem_free(cells->tombstones);
	mem_free(cells->sections);
	mem_free(cells->until);
	mem_free(cells->now);
	mem_free(cells->past);
	mem_free(cells->free);
	mem_free(cells->dying);
	mem_free(cells);
}

void cells_clear(struct cells *cells)
{
	for (uint32_t i = 0; i < cells->nplaces; i++)
		cells->places[i] = NOWHERE;
	for (size_t i = 0; i < cells->hanging.count; i++)
		cells->hanging.items[i] = 0;
	free_patterns(cells);
	cells->ncells = cells->nfree = cells->ndying = 0;
	cells->patterns = NOWHERE;
	memset(cells->sections, 0, cells->nstreams * cells->nsections * sizeof *cells->sections);
	for (size_t i = 0; i < cells->nstreams; i++)
		cells->until[i] = NSTIME_MIN;
}

/* Extends `places` to attributes that were interned since the last call, also by others. */
static void sync_places(struct cells *cells)
{
	uint32_t count = attrs_count(cells->attrs);

	if (count <= cells->nplaces)
		return;
	if (count > cells->places_capacity) {
		long long before = cell_bytes(cells);

		cells->places_capacity = count + count / 2 + 64;
		cells->places =
			mem_resize(cells->places, cells->places_capacity, sizeof *cells->places);
		grown_add(&grown, cell_bytes(cells) - before);
	}
	for (uint32_t i = cells->nplaces; i < count; i++)
		cells->places[i] = NOWHERE;
	cells->nplaces = count;
}

/* Links attributes to their parents that are not linked yet. */
static void sync_kin(struct cells *cells)
{
	if (cells->nkin == cells->nplaces)
		return;
	if (cells->nplaces > cells->kin_capacity) {
		long long before = cell_bytes(cells);

		cells->kin_capacity = cells->nplaces + (size_t)cells->nplaces / 2;
		cells->kin = mem_resize(cells->kin, cells->kin_capacity, sizeof *cells->kin);
		grown_add(&grown, cell_bytes(cells) - before);
	}
	for (uint32_t i = cells->nkin; i < cells->nplaces; i++) {
		uint32_t parent = attr_parent(cells->attrs, i);

		cells->kin[i] = (struct kin){NOWHERE, NOWHERE};
		if (parent == ATTR_ABSENT)
			continue;
		cells->kin[i].next = cells->kin[parent].child;
		cells->kin[parent].child = i;
	}
	cells->nkin = cells->nplaces;
}

/* Sets *best to the tombstone's last write before `limit`, if it is newer than *best. */
static void take_newer(const struct tombstone *tombstone, nstime limit, const struct placing **best,
		       const struct tombstone **of)
{
	const struct placing *placing =
		tombstone->now.since < limit ? &tombstone->now : &tombstone->before;

	if (placing->since >= limit || placing->seq <= (*best ? (*best)->seq : 0))
		return;
	*best = placing;
	if (of)
		*of = tombstone;
}

/*
 * Returns the newest burial before `limit` that covers the attribute (its tombstone in *of), or
 * NULL.
 */
static const struct placing *newest_over(const struct cells *cells, uint32_t attr, nstime limit,
					 const struct tombstone **of)
{
	const struct placing *best = NULL;

	for (uint32_t a = attr; a != ATTR_ABSENT; a = attr_parent(cells->attrs, a))
		for (uint32_t i = cells_hanging(cells, a); i != NOWHERE;
		     i = cells->tombstones[i].next)
			if (a != attr || !cells->tombstones[i].below)
				take_newer(&cells->tombstones[i], limit, &best, of);
	for (uint32_t i = cells->patterns; i != NOWHERE; i = cells->tombstones[i].next)
		if (pattern_covers(cells->tombstones[i].pattern, cells->attrs, attr, true) ==
		    COVER_YES)
			take_newer(&cells->tombstones[i], limit, &best, of);
	return best;
}

static void initial_value(const struct cells *cells, uint32_t attr, struct value *out)
{
	if (!program_initial(cells->program, attr, out))
		out->kind = VALUE_UNKNOWN;
}

void cells_value(const struct cells *cells, uint32_t attr, struct value *out)
{
	const struct cell_now *cell = cells_find(cells, attr);
	const struct placing *placing = cell ? NULL : newest_over(cells, attr, NSTIME_MAX, NULL);

	if (cell) {
		*out = cell_value(cell);
		return;
	}
	*out = (struct value){.kind = placing ? placing->kind : VALUE_UNKNOWN};
	if (!placing)
		initial_value(cells, attr, out);
}

static void cell_load(const struct cells *cells, uint32_t place, struct cell *out)
{
	const struct cell_now *now = &cells->now[place];

	if (cells->brief) {
		*out = (struct cell){
			.run = now->since,
			.last_run = now->since,
			.named_at = now->since,
			.writer = {.class_index = UINT32_MAX, .line = UINT32_MAX},
		};
	} else {
		const struct cell_past *past = &cells->past[place];
		out->run = past->run;
		out->last = past->last;
		out->last_run = past->last_run;
		out->writer = past->writer;
		out->named_at = past->named_at;
	}
	out->value = cell_value(now);
	out->since = now->since;
	out->named = now->named;
	out->written = now->written;
}

static void cell_store(struct cells *cells, uint32_t place, const struct cell *cell)
{
	struct cell_now *now = &cells->now[place];

	cell_set_value(now, &cell->value);
	now->since = cell->since;
	now->named = cell->named;
	now->written = cell->written;
	if (!cells->brief)
		cells->past[place] = (struct cell_past){cell->run, cell->last, cell->last_run,
							cell->writer, cell->named_at};
}

void cells_get(const struct cells *cells, uint32_t attr, struct cell *out)
{
	const struct tombstone *tombstone;
	const struct placing *placing;

	if (cells_find(cells, attr)) {
		cell_load(cells, cells->places[attr], out);
		return;
	}
	*out = (struct cell){.since = NSTIME_MIN,
			     .run = NSTIME_MIN,
			     .last_run = NSTIME_MIN,
			     .named_at = NSTIME_MAX};
	out->writer.class_index = out->writer.line = UINT32_MAX;
	placing = newest_over(cells, attr, NSTIME_MAX, &tombstone);
	if (!placing) {
		initial_value(cells, attr, &out->value);
		return;
	}
	out->value.kind = placing->kind;
	out->since = out->run = placing->since;
	out->writer = tombstone->writer;
	out->written = true;
	placing = newest_over(cells, attr, placing->since, NULL);
	if (placing) {
		out->last.kind = placing->kind;
		out->last_run = placing->since;
	} else {
		initial_value(cells, attr, &out->last);
	}
}

void cells_set(struct cells *cells, uint32_t attr, const struct cell *cell)
{
	uint32_t *place;

	sync_places(cells);
	place = &cells->places[attr];
	if (*place == NOWHERE) {
		if (cells->nfree) {
			*place = cells->free[--cells->nfree];
		} else {
			grow(cells);
			*place = (uint32_t)cells->ncells++;
		}
	}
	cell_store(cells, *place, cell);
}

void cells_drop(struct cells *cells, uint32_t attr)
{
	uint32_t *place = &cells->places[attr];

	if (*place != NOWHERE) {
		*mem_push(cells->free, cells->nfree, cells->free_capacity) = *place;
		*place = NOWHERE;
	}
}

struct burial {
	struct cells *cells;
	enum value_kind kind;
	nstime since;
	const struct writer *writer;
	cells_each *each;
	void *arg;
};

/*
 * A cell made unknown stays, since lists still have it. A deleted one stays for the nanosecond, so
 * that a write at the same time still sees the value before.
 */
static void bury_cell(const struct burial *burial, uint32_t attr)
{
	struct cells *cells = burial->cells;
	struct value value = {.kind = burial->kind};
	struct cell before, after;

	if (!cells_find(cells, attr))
		return;
	cell_load(cells, cells->places[attr], &before);
	after = before;
	cell_put(&after, &value, burial->since, burial->writer);
	after.named = before.named && burial->kind != VALUE_NONE;
	cell_store(cells, cells->places[attr], &after);
	if (burial->each)
		burial->each(burial->arg, attr, &before, &after);
	if (burial->kind != VALUE_NONE)
		return;
	*mem_push(cells->dying, cells->ndying, cells->dying_capacity) = attr;
}

bool cells_is_deleted(const struct cells *cells, uint32_t attr)
{
	const struct cell_now *cell = cells_find(cells, attr);
	const struct placing *placing;

	if (!cell || cell->kind != VALUE_NONE || cell->named)
		return false;
	placing = newest_over(cells, attr, NSTIME_MAX, NULL);
	return placing && placing->kind == VALUE_NONE && placing->since == cell->since;
}

void cells_settle(struct cells *cells, cells_keeps *keeps, void *arg)
{
	for (size_t i = 0; i < cells->ndying; i++) {
		const struct cell_now *cell = cells_find(cells, cells->dying[i]);

		if (cell && cell->kind == VALUE_NONE && !cell->named &&
		    !(keeps && keeps(arg, cells->dying[i])))
			cells_drop(cells, cells->dying[i]);
	}
	cells->ndying = 0;
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

/* Buries all cells below `top`, and that of `top` if `itself`; visits parents first. */
static void bury_below(const struct burial *burial, uint32_t top, bool itself)
{
	struct cells *cells = burial->cells;
	uint32_t at = top;

	sync_kin(cells);
	if (itself)
		bury_cell(burial, top);
	for (;;) {
		if (cells->kin[at].child != NOWHERE) {
			at = cells->kin[at].child;
		} else {
			while (at != top && cells->kin[at].next == NOWHERE)
				at = attr_parent(cells->attrs, at);
			if (at == top)
				return;
			at = cells->kin[at].next;
		}
		bury_cell(burial, at);
	}
}

enum { SHAPES_KNOWN = 256 /* attributes of other shapes are compared one by one */ };

/*
 * May the pattern match an attribute of the shape? known[shape] is 0 if not yet known, else 1 +
 * enum cover.
 */
static bool may_cover(const struct pattern *pattern, const struct attrs *attrs, uint32_t shape,
		      uint8_t known[SHAPES_KNOWN])
{
	if (shape >= SHAPES_KNOWN)
		return true;
	if (!known[shape])
		known[shape] = (uint8_t)(1 + pattern_covers(pattern, attrs,
							    shape_attr(attrs, shape), true));
	return known[shape] != 1 + COVER_NO;
}

static void bury_matching(const struct burial *burial, const struct pattern *pattern)
{
	struct cells *cells = burial->cells;
	uint8_t known[SHAPES_KNOWN] = {0};

	for (uint32_t a = 0; a < cells->nplaces; a++)
		if (cells->places[a] != NOWHERE &&
		    may_cover(pattern, cells->attrs, attr_shape(cells->attrs, a), known) &&
		    pattern_covers(pattern, cells->attrs, a, true) == COVER_YES)
			bury_cell(burial, a);
}

/* Returns the tombstone of this pattern; adds it if it is new. */
struct tombstone *cells_tombstone(struct cells *cells, const struct pattern *pattern)
{
	struct tombstone *tombstone;
	uint32_t head;

	sync_places(cells);
	head = pattern->any ? cells->patterns : cells_hanging(cells, pattern->attr);
	for (uint32_t i = head; i != NOWHERE; i = cells->tombstones[i].next)
		if (pattern->any ? pattern_equal(cells->tombstones[i].pattern, pattern)
				 : cells->tombstones[i].below == pattern->below)
			return &cells->tombstones[i];
	tombstone = mem_push(cells->tombstones, cells->ntombstones, cells->tombstones_capacity);
	*tombstone =
		(struct tombstone){.attr = pattern->attr, .below = pattern->below, .next = head};
	if (pattern->any) {
		tombstone->pattern = mem_new(sizeof *tombstone->pattern);
		*tombstone->pattern = *pattern;
		cells->patterns = (uint32_t)cells->ntombstones - 1;
	} else {
		number_map_set(&cells->hanging, pattern->attr, (uint32_t)cells->ntombstones);
	}
	return tombstone;
}

const struct tombstone *cells_next_tombstone(const struct cells *cells,
					     const struct tombstone *last)
{
	uint32_t next = last ? last->next : NOWHERE, attr = last ? last->attr + 1 : ATTR_ROOT;

	if (next == NOWHERE && last && last->pattern)
		return NULL;
	for (; next == NOWHERE && attr < cells->hanging.count; attr++)
		next = cells_hanging(cells, attr);
	if (next == NOWHERE)
		next = cells->patterns;
	return next == NOWHERE ? NULL : &cells->tombstones[next];
}

void cells_bury(struct cells *cells, const struct pattern *pattern, enum value_kind kind,
		nstime since, const struct writer *writer, cells_each *each, void *arg)
{
	struct burial burial = {cells, kind, since, writer, each, arg};
	struct tombstone *tombstone = cells_tombstone(cells, pattern);

	if (pattern->any)
		bury_matching(&burial, pattern);
	else
		bury_below(&burial, pattern->attr, !pattern->below);
	if (tombstone->now.since < since)
		tombstone->before = tombstone->now;
	tombstone->now = (struct placing){kind, since, ++cells->seq};
	tombstone->writer = *writer;
}

size_t cells_count(const struct cells *cells)
{
	return cells->ncells - cells->nfree;
}

bool cells_next(const struct cells *cells, uint32_t *attr)
{
	while (++*attr < cells->nplaces)
		if (cells->places[*attr] != NOWHERE)
			return true;
	return false;
}

void cells_section(const struct cells *cells, uint32_t stream, uint32_t section, struct value *out,
		   bool *written)
{
	const struct section_value *value = &cells->sections[stream * cells->nsections + section];

	*out = value->value;
	*written = value->written;
}

void cells_set_section(struct cells *cells, uint32_t stream, uint32_t section,
		       const struct value *value)
{
	cells->sections[stream * cells->nsections + section] = (struct section_value){*value, true};
}

nstime cells_until(const struct cells *cells, uint32_t stream)
{
	return cells->until[stream];
}

void cells_set_until(struct cells *cells, uint32_t stream, nstime until)
{
	cells->until[stream] = until;
}
