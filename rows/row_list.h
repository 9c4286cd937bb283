/*
 * row_list.h - small tables, whose rows are all made before the first is read
 */
#ifndef ROWS_ROW_LIST_H
#define ROWS_ROW_LIST_H

#include "engine/base/arena.h"
#include "rows/row_host.h"
#include "state/model/value.h"

struct row_list {
	struct arena *arena;
	size_t ncolumns;     /* cells per row; a fill() may lower it before it adds rows */
	nstime begin, end;   /* `losses`: losses that overlap it; damaged packets always */
	const char *told;    /* the argument of a table such as yore_do(TEXT); may be NULL */
	struct value *cells; /* row by row */
	size_t ncells, capacity;
};

/* Adds a row and returns its cells, all unknown; valid until the next call. */
struct value *row_list_add(struct row_list *list);
void cell_text(struct value *cell, const char *text); /* borrowed; NULL: no value */
void cell_integer(struct value *cell, int64_t integer);

struct row_table {
	const struct row_column *columns;
	size_t ncolumns;
	/* Adds all rows to `list`. Texts live as long as list->arena or the trace. */
	bool (*fill)(struct row_host *host, struct row_list *list, struct error *err);
};

extern const struct row_table row_streams, row_classes, row_info, row_losses, row_threads;

/* The rows of table `threads`, made once per host (threads.c). NULL is fine. */
struct threads;
void threads_free(struct threads *threads);

#endif
