/* row_list.c - see row_list.h */
#include "rows/row_list.h"

#include "engine/base/mem.h"

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
