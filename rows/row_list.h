/*
 * row_list.h - tables whose rows are few, and made all at once: cells in an arena
 */
#ifndef ROWS_ROW_LIST_H
#define ROWS_ROW_LIST_H

#include "engine/base/arena.h"
#include "rows/row_host.h"
#include "state/model/value.h"

struct row_list {
	struct arena *arena;
	size_t ncolumns;   /* as many have cells; a fill() may take fewer before it adds rows */
	nstime begin, end; /* half-open: of `losses`, those that reach into it alone */
	const char *told;  /* to a table that must be told a text; NULL: NULL was told */
	struct value *cells; /* ncolumns a row */
	size_t ncells, capacity;
};

/* The next row's cells, none of which has a value yet; good until the next call. */
struct value *row_list_add(struct row_list *list);
void cell_text(struct value *cell, const char *text); /* borrowed; NULL: no value */
void cell_integer(struct value *cell, int64_t integer);

struct row_table {
	const struct row_column *columns;
	size_t ncolumns;
	/* Adds all rows. Texts live as long as the arena or the trace. */
	bool (*fill)(struct row_host *host, struct row_list *list, struct error *err);
};

extern const struct row_table row_streams, row_classes, row_info, row_losses, row_threads;

/* The rows of `threads` that a host keeps; freeing NULL is fine. */
struct threads;
void threads_free(struct threads *threads);

#endif
