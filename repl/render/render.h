/*
 * render.h - values and events as text or JSON, formatted straight into a sink's buffer
 *
 * JSON is exact: integers are decimals whatever their size, bytes that are not UTF-8 become \u00XX,
 * NaN and infinities strings. Each event class is compiled once to a list of constant texts with
 * values between them, so that no look-up is needed per event.
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

/* Writes a string in quotes; json_text() writes NULL as null. */
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
/* These write `before`, such as ",\"begin\":", and then the value. */
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

/* The frames of a call chain, innermost first; in text as perf script, with a blank line behind. */
struct frame_texts;                   /* a cache of texts written lately, by place in the code */
struct frame_texts *places_new(void); /* mem_free() it before its symbols are freed */
void text_frames(struct sink *out, struct frame_texts *places, const struct frame *frames,
		 size_t count);
/* Ends the line of a sample without a chain: " ADDRESS NAME+0xOFFSET (OBJECT)". */
void text_address(struct sink *out, struct frame_texts *places, uint64_t address,
		  const struct symbol *symbol);
void json_frames(struct sink *out, const struct frame *frames, size_t count);

/* Events as rows. */
struct event_writer;

/* Borrows `times`, and advances it with each row. FORMAT_TABLE and FORMAT_CSV write a head now. */
struct event_writer *event_writer_new(const struct trace *trace, enum format format,
				      struct times *times, struct sink *sink);
/*
 * The same for events of these classes only, a bit per class (NULL: all). If they all have the same
 * fields, CSV has a column per field.
 */
struct event_writer *event_writer_new_of(const struct trace *trace, enum format format,
					 struct times *times, struct sink *sink,
					 const uint64_t *classes);
void event_writer_free(struct event_writer *writer); /* the trace may be closed already */
/*
 * Continues the rows of `before`, a writer for the trace as it was opened before, and takes its
 * thread names. False, *err: the columns of a CSV would change.
 */
MUST_CHECK bool event_writer_go_on(struct event_writer *writer, struct event_writer *before,
				   struct error *err);
struct thread_names *event_writer_names(struct event_writer *writer); /* for lines; borrowed */
/* Learns thread names from the event, for lines from here on. */
void event_writer_learn(struct event_writer *writer, const struct fields *fields);
/*
 * Makes the writer write call chains as frames: in text below the line, in JSON as the context's
 * member `symbols`. Call it before the first event. Borrows `symbols`; `want` is enum symbols_want.
 */
void event_writer_symbols(struct event_writer *writer, struct symbols *symbols, unsigned want);
/* Sets the sink for the rows from now on. */
void event_writer_sink(struct event_writer *writer, struct sink *sink);
/*
 * Writes one row; false as sink_row(). `fields` NULL: they could not be decoded, and scopes stay
 * empty. `learn`: first learns thread names, see event_writer_learn().
 */
bool event_write(struct event_writer *writer, nstime t, const struct stream *stream, int32_t cpu,
		 const struct event_class *class, const struct fields *fields, bool learn);
/*
 * The same for entry i of a run, whose values the run's decoder decodes. If that fails, prints the
 * damage and adds 1 to *damaged.
 */
bool event_write_entry(struct event_writer *writer, const struct run *run, uint32_t i, bool learn,
		       uint64_t *damaged);
bool event_write_loss(struct event_writer *writer, const struct event *loss);

/* Rows of cells: text (two blanks between cells), an aligned table, CSV, or objects of JSON. */
struct table_column {
	const char *name; /* in JSON of the member */
	bool right;       /* aligned to the right, as numbers are */
};

struct rows {
	struct sink *sink;
	enum format format;
	const struct table_column *columns;
	size_t ncolumns, at; /* at: number of cells begun in this row */
	struct sink cells;   /* text of cells that wait to be written */
	size_t *ends;        /* where each cell ends there */
	size_t nends, ends_capacity;
	size_t *widths; /* of a table's columns; NULL: not known yet */
	/*
	 * Width of the terminal, which the caller may set after rows_begin(). The widest texts of a
	 * table are cut to fit, with an ellipsis; if that is not enough, each value becomes a line.
	 * 0: no limit.
	 */
	unsigned fit;
	bool as_lines;  /* the table does not fit: a line per value */
	bool began;     /* likewise: some row was written */
};

/* Begins the line of one value, with its name right-aligned in `width` columns. */
void rows_line(struct sink *sink, const char *name, size_t width);

void rows_begin(struct rows *rows, struct sink *sink, enum format format,
		const struct table_column *columns, size_t ncolumns);
struct sink *rows_cell(struct rows *rows); /* begins a cell; the caller writes its text there */
/* Write a cell; what is not known (NULL, NSTIME_MIN, NSTIME_MAX) is empty, and null in JSON. */
void rows_text(struct rows *rows, const char *text);
void rows_u64(struct rows *rows, bool known, uint64_t number);
/* `unknown`: stands for an unknown time in text and tables. */
void rows_time(struct rows *rows, struct times *times, nstime t, const char *unknown);
bool rows_end(struct rows *rows);    /* ends a row; false as sink_row() */
bool rows_finish(struct rows *rows); /* writes what waits, frees; false as sink_row() */

#endif
