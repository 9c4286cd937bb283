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

struct state;
struct tables;

/* Columns of `state`: the value as text, and once more in the column of its type. */
enum { STATE_PATH, STATE_TS, STATE_DUR, STATE_VALUE, STATE_INT, STATE_FLOAT, STATE_BOOL, STATE_N };

struct tables_options {
	const struct trace *trace;
	bool all_events; /* also the table `events`, with fields as JSON */
	/* Takes the rows: the table is empty afterwards. */
	bool (*write)(void *arg, struct sheet *sheet, struct error *err);
	void *arg;
};

struct tables *tables_new(const struct tables_options *options); /* copied */
void tables_free(struct tables *tables);                         /* NULL is fine */

/* What a format of tables begins with: the functions below are its own in struct convert_format. */
struct tables_format {
	struct tables *tables;
};
MUST_CHECK bool tables_event(void *format, nstime t, const struct stream *stream, int32_t cpu,
			     const struct event_class *class, const struct fields *fields,
			     struct error *err);
MUST_CHECK bool tables_loss(void *format, const struct event *loss, struct error *err);
MUST_CHECK bool tables_interval(void *format, const struct interval *interval, struct error *err);
/* Writes what waits. */
MUST_CHECK bool tables_flush(struct tables *tables, struct error *err);

#endif
