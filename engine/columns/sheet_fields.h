/* sheet_fields.h - how the fields of an event class go to the columns of its table */
#ifndef ENGINE_COLUMNS_SHEET_FIELDS_H
#define ENGINE_COLUMNS_SHEET_FIELDS_H

#include "engine/base/arena.h"
#include "engine/columns/shape.h"
#include "engine/columns/sheet.h"
#include "engine/trace.h"

enum { COLUMNS_OWN = 3 }; /* ts, stream, cpu stand before the fields */

enum put_op {
	PUT_NUMBER, /* the slot, as it is */
	PUT_STRING, /* the slot's bytes */
	PUT_VALUE,  /* whatever stands at the place */
	PUT_LABEL,  /* the labels of what stands there */
	PUT_NAME,   /* the name of the class */
	PUT_NULL    /* this class has no such field */
};

struct put {
	enum put_op op;
	uint32_t column, slot;
	const struct value_place *place;
};

struct class_puts {
	struct sheet *sheet; /* NULL: not made yet */
	const struct event_class *class;
	struct put *items;
	size_t count;
};

/* Null of a time that is not known: NSTIME_MIN, NSTIME_MAX. */
static inline void values_time(struct sheet_values *values, size_t row, nstime t)
{
	values_known(values, row, t != NSTIME_MIN && t != NSTIME_MAX, (uint64_t)t);
}

/*
 * A field in a column of texts: the bytes of a text or blob, else the number in decimals, or JSON.
 * Both are borrowed, from the field or from `scratch`, until that changes.
 */
const uint8_t *field_cell_text(const struct field *field, struct buf *scratch, size_t *len);
/* A table whose first columns, COLUMNS_OWN, say where an event is; its rows come in order of time.
 */
struct sheet *placed_sheet(const char *name, size_t ncolumns);
/* These of a row; `t` is not looked at where the stream has no time. */
void placed_put(struct sheet *sheet, size_t row, nstime t, const struct stream *stream,
		int32_t cpu);
/*
 * The table of a group of classes, its columns described. `wanted`: a bit for each column of the
 * shape that it is to have besides COLUMNS_OWN, of fields, labels and COLUMN_NAME; NULL: all fields
 * and labels that are no copy of others.
 */
struct sheet *fields_sheet(const struct shape *shape, const struct class_group *group,
			   const uint64_t *wanted);
/* The steps that put an event of `class` into a table of the same columns; allocated in `arena`. */
void fields_puts(const struct shape *shape, const struct event_class *class, const uint64_t *wanted,
		 struct sheet *sheet, struct arena *arena, struct class_puts *out);
/* Puts the fields of a row; `fields` NULL: nulls. Returns about how many bytes texts took. */
size_t fields_put(const struct class_puts *puts, const struct fields *fields, size_t row,
		  struct buf *scratch);

#endif
