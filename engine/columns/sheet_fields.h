/* sheet_fields.h - how the fields of an event class go to the columns of its table */
#ifndef ENGINE_COLUMNS_SHEET_FIELDS_H
#define ENGINE_COLUMNS_SHEET_FIELDS_H

#include "engine/base/arena.h"
#include "engine/columns/shape.h"
#include "engine/columns/sheet.h"

enum { COLUMNS_OWN = 3 }; /* ts, stream, cpu stand before the fields */

enum put_op {
	PUT_NUMBER, /* the slot, as it is */
	PUT_STRING, /* the slot's bytes */
	PUT_VALUE,  /* whatever stands at the place */
	PUT_LABEL,  /* the labels of what stands there */
	PUT_NULL    /* this class has no such field */
};

struct put {
	enum put_op op;
	uint32_t column, slot;
	const struct value_place *place;
};

struct class_puts {
	struct sheet *sheet; /* NULL: not made yet */
	struct put *items;
	size_t count;
};

/* A table whose first columns, COLUMNS_OWN, say where an event is; its rows come in order of time.
 */
struct sheet *placed_sheet(const char *name, size_t ncolumns);
/* The table of a group of classes, its columns described. */
struct sheet *fields_sheet(const struct shape *shape, const struct class_group *group);
/* The steps that put an event of `class` into a table; allocated in `arena`. */
void fields_puts(const struct shape *shape, const struct event_class *class,
		 const struct sheet *sheet, struct arena *arena, struct class_puts *out);
/* Puts the fields of a row; `fields` NULL: nulls. Returns about how many bytes texts took. */
size_t fields_put(const struct class_puts *puts, const struct fields *fields, size_t row,
		  struct buf *scratch);

#endif
