/*
 * tables.h - the tables of a trace: one per name of event classes, `state`, `losses`
 *
 * Columns are those of SQL's tables (engine/columns/shape.h): ts, stream, cpu, then the fields,
 * nested ones as a_b, an enumeration's labels as x_label. Rows gather here until they are worth
 * writing.
 */
#ifndef CONVERT_SHEETS_TABLES_H
#define CONVERT_SHEETS_TABLES_H

#include "engine/columns/sheet.h"
#include "index/events.h"
#include "state/model/moment.h"
#include "state/rules/rules.h"

struct tables;

/* Columns of `state`: the value as text, and once more in the column of its type. */
enum { STATE_PATH, STATE_TS, STATE_DUR, STATE_VALUE, STATE_INT, STATE_FLOAT, STATE_BOOL, STATE_N };

struct tables_options {
	const struct trace *trace;
	bool all_events; /* also the table `events`, with fields as JSON */
	/*
	 * Is given rows of the table `sheet` in parts, one behind the other, which are its own to
	 * free, also where it fails. NULL: rows wait for tables_take().
	 */
	bool (*write)(void *arg, struct sheet *sheet, struct sheet **parts, size_t count,
		      struct error *err);
	void *arg;
};

struct tables *tables_new(const struct tables_options *options); /* copied */
void tables_free(struct tables *tables);                         /* NULL is fine */

/* Those of struct convert_format, of a format whose writer has tables. */
MUST_CHECK bool tables_event(void *format, nstime t, const struct stream *stream, int32_t cpu,
			     const struct event_class *class, const struct fields *fields,
			     struct error *err);
MUST_CHECK bool tables_loss(void *format, const struct event *loss, struct error *err);
MUST_CHECK bool tables_interval(void *format, const struct interval *interval, struct error *err);
/* Writes what waits. */
MUST_CHECK bool tables_flush(struct tables *tables, struct error *err);

/* ---- rows that another thread made, by tables of its own ---- */

struct convert_part;
/* Tables of the same trace and events, for one thread. */
struct tables *tables_beside(const struct tables *tables);
/* The rows of events that wait, which are about *bytes. */
struct convert_part *tables_take(struct tables *tables, size_t *bytes);
void tables_part_free(struct convert_part *part); /* NULL is fine */
/* Adds them behind all rows so far and frees the part, also where it fails. */
MUST_CHECK bool tables_give(struct tables *tables, struct convert_part *part, struct error *err);

#endif
