/* dump_cells.c - see dump_cells.h */
#include "tests/state/dump_cells.h"

#include "engine/base/mem.h"
#include "state/cells_internal.h"

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

static const struct tomb *const *sorted_tombs(const struct cells *cells)
{
	const struct tomb **tombs = mem_new_array(cells->ntombs, sizeof(struct tomb *));

	for (size_t i = 0; i < cells->ntombs; i++) {
		size_t at = i;

		for (; at > 0 && tombs[at - 1]->seq > cells->tombs[i].seq; at--)
			tombs[at] = tombs[at - 1];
		tombs[at] = &cells->tombs[i];
	}
	return tombs;
}

static void dump_tombs(const struct cells *cells, struct buf *out)
{
	const struct tomb *const *tombs = sorted_tombs(cells);

	for (size_t i = 0; i < cells->ntombs; i++) {
		const struct tomb *tomb = tombs[i];

		buf_printf(out, "tomb %s%s since %lld",
			   tomb->kind == VALUE_NONE ? "none" : "unknown",
			   tomb->below ? " below" : "", (long long)tomb->since);
		for (uint32_t a = 0; a < cells->nslots && !tomb->pattern; a++)
			for (uint32_t t = cells->slots[a].tomb; t != NOWHERE;
			     t = cells->tombs[t].next)
				if (&cells->tombs[t] == tomb) {
					buf_add_char(out, ' ');
					attr_add_text(cells->attrs, a, out);
				}
		for (uint32_t a = 0; tomb->pattern && a < tomb->pattern->natoms; a++) {
			buf_add_char(out, ' ');
			dump_value(&tomb->pattern->atoms[a].value, out);
		}
		dump_writer(&tomb->writer, out);
	}
	mem_free((void *)(uintptr_t)tombs);
}

void dump_cells(const struct cells *cells, struct buf *out)
{
	uint32_t *ids = mem_new_array(cells_count(cells) + 1, sizeof *ids);
	size_t n = 0;

	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);) {
		struct cell cell;

		cells_get(cells, a, &cell);
		if (cell.named) /* else it says what its tomb says */
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
	dump_tombs(cells, out);
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
