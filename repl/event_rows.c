/* event_rows.c - rows by the caller's thread, and from some number of rows on by workers */
#include "repl/event_rows.h"

#include "engine/base/mem.h"
#include "repl/event_workers.h"
#include "repl/line_names.h"
#include "repl/thread_names.h"

enum { ALONE = 4096 /* rows that no thread is started for */ };

struct event_rows {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	const uint64_t *classes;
	struct times times;
	struct event_writer *writer;
	struct line_names *line_names; /* NULL: shown events tell all names */
	struct error failed;
	uint64_t alone;          /* rows still made by the caller's thread; UINT64_MAX: all */
	struct event_workers *pool; /* NULL: none yet */
};

/* Text of kernel traces has names that earlier events told; a table has widths of earlier rows. */
static bool depends_on_rows(const struct trace *trace, const struct options *options,
			    struct event_writer *writer)
{
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];

		if (options->format == FORMAT_TEXT && trace->parts[class->part]->reader->text &&
		    thread_names_tells(event_writer_names(writer), class))
			return true;
	}
	return options->format != FORMAT_TEXT && options->format != FORMAT_JSON &&
	       options->format != FORMAT_CSV;
}

/* Symbols are those of the address spaces at the event before. */
static bool has_symbols(const struct trace *trace)
{
	for (size_t i = 0; i < trace->nclasses; i++)
		if (symbols_chain(trace->classes[i]) || symbols_has_address(trace->classes[i]) ||
		    trace->classes[i]->address)
			return true;
	return false;
}

static bool may_share(const struct trace *trace, const struct options *options,
		      struct event_writer *writer, const struct sink *sink, bool symbols)
{
	return options_threads(options) > 1 && !sink->eager &&
	       !depends_on_rows(trace, options, writer) && !(symbols && has_symbols(trace));
}

bool event_rows_new(struct session *session, const struct options *options, const uint64_t *classes,
		    struct sink *sink, struct event_rows **out, struct error *err)
{
	const struct trace *trace = session_trace(session, err);
	struct event_rows *rows;
	struct times times;
	bool symbols = options->format == FORMAT_TEXT || options->symbols;

	if (!trace || !session_times(session, &times, err))
		return false;
	rows = mem_new(sizeof *rows);
	rows->session = session;
	rows->options = options;
	rows->sink = sink;
	rows->classes = classes;
	rows->times = times;
	rows->writer = event_writer_new_of(trace, options->format, &rows->times, sink, classes);
	rows->alone =
		may_share(trace, options, rows->writer, sink, symbols) ? ALONE : UINT64_MAX;
	if (symbols)
		event_writer_symbols(rows->writer, session_symbols(session),
				     options->lines ? SYMBOLS_LINES : 0);
	*out = rows;
	return true;
}

void event_rows_free(struct event_rows *rows)
{
	if (!rows)
		return;
	event_workers_free(rows->pool);
	line_names_free(rows->line_names);
	event_writer_free(rows->writer);
	mem_free(rows);
}

struct event_writer *event_rows_writer(struct event_rows *rows)
{
	return rows->writer;
}

void event_rows_name(struct event_rows *rows, bool hidden)
{
	if (!rows->options->reverse)
		rows->line_names =
			line_names_new(rows->session, event_writer_names(rows->writer), hidden);
}

bool event_rows_good(const struct event_rows *rows, struct error *err)
{
	if (rows->failed.kind != ERR_NONE)
		*err = rows->failed;
	return rows->failed.kind == ERR_NONE;
}

/* False: the next rows, too, are for the caller's thread. */
static bool is_shared(struct event_rows *rows, uint32_t count)
{
	if (rows->pool)
		return true;
	if (rows->alone) {
		if (rows->alone != UINT64_MAX)
			rows->alone -= count < rows->alone ? count : rows->alone;
		return false;
	}
	const struct event_workers_setup setup = {.session = rows->session,
						  .format = rows->options->format,
						  .classes = rows->classes,
						  .times = &rows->times,
						  .sink = rows->sink,
						  .backward = rows->options->reverse,
						  .threads = options_threads(rows->options)};
	rows->pool = event_workers_new(&setup);
	return true;
}

bool event_rows_run(struct event_rows *rows, const struct run *run, uint32_t first, uint32_t count)
{
	bool open = true, backward = rows->options->reverse;
	bool learns = !backward && (!rows->line_names || line_names_learns(rows->line_names));

	if (is_shared(rows, count))
		return event_workers_run(rows->pool, run, first, count);
	for (uint32_t n = 0; n < count && open; n++) {
		uint32_t i = backward ? first + count - 1 - n : first + n;
		open = (!rows->line_names ||
			line_names_reach(rows->line_names, run, i, &rows->failed)) &&
		       event_write_entry(rows->writer, run, i, learns, &rows->session->damaged);
	}
	return open;
}

bool event_rows_loss(struct event_rows *rows, const struct event *loss)
{
	if (is_shared(rows, 1))
		return event_workers_loss(rows->pool, loss);
	return event_write_loss(rows->writer, loss);
}

bool event_rows_tick(struct event_rows *rows)
{
	return rows->pool ? event_workers_tick(rows->pool) : sink_tick(rows->sink);
}

bool event_rows_end(struct event_rows *rows)
{
	return rows->pool ? event_workers_end(rows->pool) : !rows->sink->closed;
}
