/* dump_cells.c - see dump_cells.h */
#include "tests/state/dump_cells.h"

#include "engine/base/mem.h"
#include "state/replay/cells_internal.h"

#include <stdlib.h>

void dump_value(const struct value *value, struct buf *out)
{
	if (value->kind <= VALUE_NONE)
		buf_add_text(out, value->kind == VALUE_NONE ? "none" : "unknown");
	else
		value_add_key(value, out);
}

static void dump_writer(const struct writer *writer, struct buf *out)
{
	buf_printf(out, " by %lld.%u.%u line %d\n", (long long)writer->order.time,
		   writer->order.rank, writer->order.index, (int)writer->line);
}

static const struct attrs *sorted_attrs;

static int by_path(const void *a, const void *b)
{
	return attr_compare(sorted_attrs, *(const uint32_t *)a, *(const uint32_t *)b);
}

static const struct tombstone *sorted_tombstones;

static int by_seq(const void *a, const void *b)
{
	uint64_t x = sorted_tombstones[*(const uint32_t *)a].now.seq;
	uint64_t y = sorted_tombstones[*(const uint32_t *)b].now.seq;

	return (x > y) - (x < y);
}

/* By tombstone, the attribute in whose list it hangs; else NOWHERE. */
static uint32_t *places_of_tombstones(const struct cells *cells)
{
	uint32_t *places = mem_new_array(cells->ntombstones + 1, sizeof *places);

	for (size_t i = 0; i < cells->ntombstones; i++)
		places[i] = NOWHERE;
	for (uint32_t a = 0; a < cells->hanging.count; a++)
		for (uint32_t t = cells_hanging(cells, a); t != NOWHERE;
		     t = cells->tombstones[t].next)
			places[t] = a;
	return places;
}

static void dump_tombstone(const struct cells *cells, const struct tombstone *tombstone,
			   uint32_t place, struct buf *out)
{
	buf_printf(out, "tomb %s%s since %lld",
		   tombstone->now.kind == VALUE_NONE ? "none" : "unknown",
		   tombstone->below ? " below" : "", (long long)tombstone->now.since);
	if (!tombstone->pattern && place != NOWHERE) {
		buf_add_char(out, ' ');
		attr_add_text(cells->attrs, place, out);
	}
	for (uint32_t a = 0; tombstone->pattern && a < tombstone->pattern->natoms; a++) {
		buf_add_char(out, ' ');
		dump_value(&tombstone->pattern->atoms[a].value, out);
	}
	dump_writer(&tombstone->writer, out);
}

static void dump_tombstones(const struct cells *cells, struct buf *out)
{
	uint32_t *order = mem_new_array(cells->ntombstones + 1, sizeof *order);
	uint32_t *places = places_of_tombstones(cells);

	for (uint32_t i = 0; i < cells->ntombstones; i++)
		order[i] = i;
	sorted_tombstones = cells->tombstones;
	qsort(order, cells->ntombstones, sizeof *order, by_seq);
	for (size_t i = 0; i < cells->ntombstones; i++)
		dump_tombstone(cells, &cells->tombstones[order[i]], places[order[i]], out);
	mem_free(order);
	mem_free(places);
}

void dump_cells(const struct cells *cells, struct buf *out)
{
	uint32_t *ids = mem_new_array(cells_count(cells) + 1, sizeof *ids);
	size_t n = 0;

	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);) {
		struct cell cell;

		cells_get(cells, a, &cell);
		if (cell.named) /* else its tombstone gives its value */
			ids[n++] = a;
	}
	sorted_attrs = cells->attrs;
	qsort(ids, n, sizeof *ids, by_path);
	for (size_t i = 0; i < n; i++) {
		struct cell cell;

		cells_get(cells, ids[i], &cell);
		attr_add_text(cells->attrs, ids[i], out);
		buf_add_text(out, " = ");
		dump_value(&cell.value, out);
		buf_printf(out, " since %lld%s", (long long)cell.since,
			   cell.written ? "" : " not written");
		dump_writer(&cell.writer, out);
	}
	mem_free(ids);
	dump_tombstones(cells, out);
	for (uint32_t s = 0; s < cells->nstreams; s++) {
		buf_printf(out, "stream %u until %lld", s, (long long)cells_until(cells, s));
		for (uint32_t i = 0; i < cells->nsections; i++) {
			struct value value;
			bool written;

			cells_section(cells, s, i, &value, &written);
			buf_add_char(out, ' ');
			if (written)
				dump_value(&value, out);
		}
		buf_add_char(out, '\n');
	}
}
