/*
 * render.h - values and events as text or JSON, formatted straight into a sink's buffer
 *
 * JSON is exact: integers as decimals whatever their size, bytes that are not UTF-8 as \u00XX, NaN
 * and infinities as strings. An event's class is turned once into a list of ready-made texts with
 * values between them, so that nothing is looked up per event.
 */
#ifndef REPL_RENDER_RENDER_H
#define REPL_RENDER_RENDER_H

#include "engine/base/quote.h"
#include "engine/event.h"
#include "engine/columns/json.h"
#include "engine/symbols/symbols.h"
#include "index/events.h"
#include "repl/options.h"
#include "repl/sink.h"
#include "repl/times.h"
#include "state/model/value.h"

/* A string between its quotes; of json_text(), NULL is null. */
static inline void json_string(struct sink *out, const void *bytes, size_t len)
{
	quote_json(&out->buf, bytes, len);
}
static inline void json_text(struct sink *out, const char *text)
{
	if (text)
		json_add_text(&out->buf, text);
	else
		sink_text(out, "null");
}
static inline void json_value(struct sink *out, const struct value *value)
{
	value_add_json(value, &out->buf);
}
static inline void json_field(struct sink *out, const struct field *field)
{
	json_add_field(&out->buf, field);
}
void json_time(struct sink *out, nstime t); /* NSTIME_MIN, _MAX: null */
/* `before`, such as ",\"begin\":", and the value. */
static inline void json_member_text(struct sink *out, const char *before, const char *text)
{
	sink_text(out, before);
	json_text(out, text);
}
static inline void json_member_time(struct sink *out, const char *before, nstime t)
{
	sink_text(out, before);
	json_time(out, t);
}
static inline void json_member_u64(struct sink *out, const char *before, bool known,
				   uint64_t number)
{
	sink_text(out, before);
	if (known)
		sink_u64(out, number);
	else
		sink_text(out, "null");
}
static inline void json_member_value(struct sink *out, const char *before,
				     const struct value *value)
{
	sink_text(out, before);
	json_value(out, value);
}

static inline void text_string(struct sink *out, const void *bytes, size_t len)
{
	quote_text(&out->buf, bytes, len);
}
void text_float(struct sink *out, double number);
void text_value(struct sink *out, const struct value *value); /* strings quoted; none, unknown */
void text_field(struct sink *out, const struct field *field);
static inline void csv_cell(struct sink *out, const void *bytes, size_t len)
{
	quote_csv(&out->buf, bytes, len);
}

/* Frames of a call chain, the innermost first; in text the lines of perf script, and a blank one.
 */
struct frame_texts;                   /* texts of places that were written lately */
struct frame_texts *places_new(void); /* mem_free() it, before the texts of its symbols go */
void text_frames(struct sink *out, struct frame_texts *places, const struct frame *frames,
		 size_t count);
/* Where a sample without a chain was, ending its line: " ADDRESS NAME+0xOFFSET (OBJECT)". */
void text_address(struct sink *out, struct frame_texts *places, uint64_t address,
		  const struct symbol *symbol);
void json_frames(struct sink *out, const struct frame *frames, size_t count);

/* Events as rows. */
struct event_writer;

/* `times` is borrowed and advanced. FORMAT_TABLE and FORMAT_CSV write their head at once. */
struct event_writer *event_writer_new(const struct trace *trace, enum format format,
				      struct times *times, struct sink *sink);
/*
 * The same of events of these classes alone, a bit per class (NULL: all): where they have the same
 * fields, CSV has a column for each.
 */
struct event_writer *event_writer_new_of(const struct trace *trace, enum format format,
					 struct times *times, struct sink *sink,
					 const uint64_t *classes);
void event_writer_free(struct event_writer *writer); /* its trace may be closed already */
/*
 * Goes on behind the rows of another one, of the same trace as it was opened before: names that these
 * told hold on. False: the columns of a CSV would be others, *err.
 */
MUST_CHECK bool event_writer_go_on(struct event_writer *writer, struct event_writer *before,
				   struct error *err);
struct thread_names *event_writer_names(struct event_writer *writer); /* in its lines; borrowed */
/* Takes what the event tells of threads' names, for lines from here on. */
void event_writer_learn(struct event_writer *writer, const struct fields *fields);
/*
 * Call chains are written as frames: below the line in text, as the context's member `symbols` in
 * JSON. Before the first event. `symbols` is borrowed; `want` is enum symbols_want.
 */
void event_writer_symbols(struct event_writer *writer, struct symbols *symbols, unsigned want);
/* Writes to this sink from now on. */
void event_writer_sink(struct event_writer *writer, struct sink *sink);
/*
 * One row; false as sink_row(). `fields` NULL: they could not be decoded (scopes are left empty).
 * `learn`: as event_writer_learn() before it.
 */
bool event_write(struct event_writer *writer, nstime t, const struct stream *stream, int32_t cpu,
		 const struct event_class *class, const struct fields *fields, bool learn);
/*
 * The same of entry i of a run, whose values are decoded on the run's decoder; what fails is said,
 * and counted.
 */
bool event_write_entry(struct event_writer *writer, const struct run *run, uint32_t i, bool learn,
		       uint64_t *damaged);
bool event_write_loss(struct event_writer *writer, const struct event *loss);

/* Rows of cells: text (two blanks between), an aligned table, or CSV. JSON is the caller's. */
struct table_column {
	const char *name;
	bool right; /* numbers */
};

struct rows {
	struct sink *sink;
	enum format format;
	const struct table_column *columns;
	size_t ncolumns, at; /* at: cells of this row that were begun */
	struct sink cells;   /* bytes of cells that wait */
	size_t *ends;        /* where each ends */
	size_t nends, ends_capacity;
	size_t *widths; /* table: once known */
	/*
	 * Columns of the terminal, for the caller to set after rows_begin(): texts of a table are
	 * cut where they are longest, with an ellipsis, and rows that do not fit even so are
	 * written as a line per value. 0: as wide as it is.
	 */
	unsigned fit;
	bool as_lines;  /* it does not fit: a line per value */
	bool began;     /* likewise: some row was written */
};

/* One value of such a row; names are `width` wide. */
void rows_line(struct sink *sink, const char *name, size_t width);

void rows_begin(struct rows *rows, struct sink *sink, enum format format,
		const struct table_column *columns, size_t ncolumns);
struct sink *rows_cell(struct rows *rows); /* the next cell's text goes there */
void rows_text(struct rows *rows, const char *text);
void rows_u64(struct rows *rows, bool known, uint64_t number); /* empty where it is not known */
bool rows_end(struct rows *rows);    /* ends a row; false as sink_row() */
bool rows_finish(struct rows *rows); /* writes what waits, frees; false as sink_row() */

#endif
