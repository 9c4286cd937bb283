/*
 * tables.h - the tables of a trace: one per name of event classes, `state`, `losses`
 *
 * Columns are those of SQL's tables (engine/columns/shape.h): ts, stream, cpu, then the fields,
 * nested ones as a_b, an enumeration's labels as x_label. Rows are collected until there are enough
 * for a row group.
 */
#ifndef CONVERT_SHEETS_TABLES_H
#define CONVERT_SHEETS_TABLES_H

#include "engine/columns/sheet.h"
#include "index/events.h"
#include "state/model/moment.h"
#include "state/rules/rules.h"

struct tables;

/* Columns of `state`. The value is there as text, and again in the column of its type. */
enum { STATE_PATH, STATE_TS, STATE_DUR, STATE_VALUE, STATE_INT, STATE_FLOAT, STATE_BOOL, STATE_N };

struct tables_options {
	const struct trace *trace;
	bool all_events; /* also the table `events`, with fields as JSON */
	/*
	 * Writes rows of the table `sheet`, in order, given in `count` parts; frees the parts, also
	 * on failure. NULL: rows wait for tables_take().
	 */
	bool (*write)(void *arg, struct sheet *sheet, struct sheet **parts, size_t count,
		      struct error *err);
	void *arg;
};

struct tables *tables_new(const struct tables_options *options); /* copied */
void tables_free(struct tables *tables);                         /* NULL is fine */

/* Functions of struct convert_format, for formats whose writer has `tables`. */
MUST_CHECK bool tables_event(void *format, nstime t, const struct stream *stream, int32_t cpu,
			     const struct event_class *class, const struct fields *fields,
			     struct error *err);
MUST_CHECK bool tables_loss(void *format, const struct event *loss, struct error *err);
MUST_CHECK bool tables_interval(void *format, const struct interval *interval, struct error *err);
/* Writes all rows that wait. */
MUST_CHECK bool tables_flush(struct tables *tables, struct error *err);

/* ---- rows that another thread made, by tables of its own ---- */

struct convert_part;
/* Returns tables of the same trace for another thread, without `write`. */
struct tables *tables_beside(const struct tables *tables);
/* Returns the rows that wait; their size is about *bytes. */
struct convert_part *tables_take(struct tables *tables, size_t *bytes);
void tables_part_free(struct convert_part *part); /* NULL is fine */
/* Appends the part after all rows so far and frees it, also on failure. */
MUST_CHECK bool tables_give(struct tables *tables, struct convert_part *part, struct error *err);

#endif
