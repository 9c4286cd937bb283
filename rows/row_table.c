/* row_table.c - steps the scan of a table, and makes those of small tables: see row_table.h */
#include "rows/row_table.h"

#include "engine/base/mem.h"

struct list_scan {
	struct row_scan head;
	struct row_list list;
};

struct row_scan *row_scan_new(const struct row_table *table)
{
	struct row_scan *scan = mem_new(table->fill ? sizeof(struct list_scan) : table->size);

	scan->table = table;
	if (table->fill)
		((struct list_scan *)scan)->list =
			(struct row_list){.arena = arena_new(), .ask = &scan->ask};
	return scan;
}

void row_scan_free(struct row_scan *scan)
{
	if (!scan)
		return;
	if (scan->table->fill) {
		arena_free(((struct list_scan *)scan)->list.arena);
		mem_free(((struct list_scan *)scan)->list.cells);
	} else {
		scan->table->release(scan);
	}
	mem_free(scan);
}

static bool row_table_fill(struct row_scan *scan, struct error *err)
{
	struct row_list *list = &((struct list_scan *)scan)->list;

	arena_reset(list->arena);
	list->ncells = 0;
	list->ncolumns = scan->table->ncolumns;
	if (!scan->table->fill(scan->host, list, err))
		return false;
	scan->count = list->ncells / list->ncolumns;
	return true;
}

/* Makes the next rows if none is left. */
static bool row_table_more(struct row_scan *scan, struct error *err)
{
	if (scan->at < scan->count || scan->table->fill || scan->table->more(scan, err))
		return true;
	scan->at = scan->count = 0;
	return false;
}

bool row_scan_begin(struct row_scan *scan, struct row_host *host, const struct row_ask *ask,
		    struct error *err)
{
	scan->host = host;
	scan->ask = *ask;
	scan->at = scan->count = 0;
	if (scan->table->fill)
		return row_table_fill(scan, err);
	return scan->table->begin(scan, err) && row_table_more(scan, err);
}

bool row_scan_next(struct row_scan *scan, struct error *err)
{
	scan->at++;
	return row_table_more(scan, err);
}

bool row_scan_cell(struct row_scan *scan, size_t column, struct value *out, struct error *err)
{
	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (!scan->table->fill)
		return scan->table->cell(scan, column, out, err);
	const struct row_list *list = &((const struct list_scan *)scan)->list;
	if (column < list->ncolumns)
		*out = list->cells[scan->at * list->ncolumns + column];
	return true;
}

uint64_t row_scan_key(const struct row_scan *scan)
{
	return scan->table->fill ? scan->at : scan->table->key(scan);
}

struct value *row_list_add(struct row_list *list)
{
	if (list->capacity - list->ncells < list->ncolumns) {
		list->capacity = 2 * list->capacity + 16 * list->ncolumns;
		list->cells = mem_resize(list->cells, list->capacity, sizeof *list->cells);
	}
	struct value *row = list->cells + list->ncells;
	memset(row, 0, list->ncolumns * sizeof *row); /* all unknown */
	list->ncells += list->ncolumns;
	return row;
}

void cell_text(struct value *cell, const char *text)
{
	if (text)
		*cell = value_text(text, strlen(text));
}

void cell_integer(struct value *cell, int64_t integer)
{
	*cell = value_s64(integer);
}

void cell_time(struct value *cell, nstime t)
{
	if (t != NSTIME_MIN && t != NSTIME_MAX)
		cell_integer(cell, t);
}
