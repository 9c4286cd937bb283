/* sheet_fields.h - copies the fields of events to the columns of their class's sheet */
#ifndef ENGINE_COLUMNS_SHEET_FIELDS_H
#define ENGINE_COLUMNS_SHEET_FIELDS_H

#include "engine/base/arena.h"
#include "engine/columns/shape.h"
#include "engine/columns/sheet.h"
#include "engine/trace.h"

enum { COLUMNS_OWN = 3 }; /* columns before the fields: ts, stream, cpu */

enum put_op {
	PUT_NUMBER, /* the number in the slot */
	PUT_STRING, /* the slot's bytes */
	PUT_VALUE,  /* the value at the place, of any kind */
	PUT_LABEL,  /* the labels of the value at the place */
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

/* A time; NSTIME_MIN and NSTIME_MAX (not known) become null. */
static inline void values_time(struct sheet_values *values, size_t row, nstime t)
{
	values_known(values, row, t != NSTIME_MIN && t != NSTIME_MAX, (uint64_t)t);
}

/*
 * A field as text, for a column of texts: the bytes of a text or blob, a number in decimal,
 * anything else as JSON. Borrowed from the field or from `scratch`.
 */
const uint8_t *field_cell_text(const struct field *field, struct buf *scratch, size_t *len);
/* A sheet that begins with the columns ts, stream and cpu (COLUMNS_OWN), with rows by rising time.
 */
struct sheet *placed_sheet(const char *name, size_t ncolumns);
/* Sets these three columns of a row; ts is null where the stream has no time. */
void placed_put(struct sheet *sheet, size_t row, nstime t, const struct stream *stream,
		int32_t cpu);
/*
 * Makes the sheet of a group of classes. `wanted`: the columns of the shape that it has besides
 * COLUMNS_OWN, a bit each (fields, labels, COLUMN_NAME); NULL: all fields and labels that are no
 * copy of others.
 */
struct sheet *fields_sheet(const struct shape *shape, const struct class_group *group,
			   const uint64_t *wanted);
/* Makes the steps that copy an event of `class` to this sheet; allocated in `arena`. */
void fields_puts(const struct shape *shape, const struct event_class *class, const uint64_t *wanted,
		 struct sheet *sheet, struct arena *arena, struct class_puts *out);
/* Copies the fields to a row; `fields` NULL: nulls. Returns the approximate bytes of its texts. */
size_t fields_put(const struct class_puts *puts, const struct fields *fields, size_t row,
		  struct buf *scratch);

#endif
