/* event_rows.c - rows by the caller's thread, and from some number of rows on by workers */
#include "repl/render/event_rows.h"

#include "engine/base/mem.h"
#include "repl/render/event_workers.h"
#include "repl/render/line_names.h"
#include "repl/render/thread_names.h"

enum { ALONE = 4096 /* rows that no thread is started for */ };

struct event_rows {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	const uint64_t *classes;
	struct times times;
	struct event_writer *writer;
	struct line_names *line_names; /* NULL: shown events tell all names */
	bool asks_names, hidden;       /* as event_rows_name() said */
	nstime last;                   /* of the row that was given last */
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

/* The head of a CSV goes to `head`. */
static struct event_rows *make_rows(struct session *session, const struct options *options,
				    const uint64_t *classes, struct sink *sink, struct sink *head,
				    const struct times *times)
{
	const struct trace *trace = session->trace;
	struct event_rows *rows = mem_new(sizeof *rows);
	bool symbols = options->format == FORMAT_TEXT || options->symbols;

	rows->session = session;
	rows->options = options;
	rows->sink = sink;
	rows->classes = classes;
	rows->times = *times;
	rows->writer = event_writer_new_of(trace, options->format, &rows->times, head, classes);
	event_writer_sink(rows->writer, sink);
	rows->alone =
		may_share(trace, options, rows->writer, sink, symbols) ? ALONE : UINT64_MAX;
	if (symbols)
		event_writer_symbols(rows->writer, session_symbols(session),
				     options->lines ? SYMBOLS_LINES : 0);
	return rows;
}

bool event_rows_new(struct session *session, const struct options *options, const uint64_t *classes,
		    struct sink *sink, struct event_rows **out, struct error *err)
{
	struct times times;

	if (!session_trace(session, err) || !session_times(session, &times, err))
		return false;
	*out = make_rows(session, options, classes, sink, sink, &times);
	return true;
}

bool event_rows_go_on(struct session *session, const struct options *options,
		      const uint64_t *classes, struct sink *sink, struct event_rows *before,
		      nstime begin, struct event_rows **out, struct error *err)
{
	struct sink nowhere;

	if (!before)
		return event_rows_new(session, options, classes, sink, out, err);
	sink_init(&nowhere, -1);
	nowhere.color = sink->color;
	*out = make_rows(session, options, classes, sink, &nowhere, &before->times);
	sink_release(&nowhere);
	if (!event_writer_go_on((*out)->writer, before->writer, err)) {
		event_rows_free(*out);
		return false;
	}
	if (before->asks_names)
		(*out)->line_names = line_names_go_on(session, event_writer_names((*out)->writer),
						      before->hidden, begin);
	(*out)->asks_names = before->asks_names;
	(*out)->hidden = before->hidden;
	return true;
}

bool event_rows_pause(struct event_rows *rows, nstime end, struct error *err)
{
	event_rows_end(rows);
	bool good = !rows->line_names || line_names_finish(rows->line_names, end, err);
	line_names_free(rows->line_names);
	rows->line_names = NULL;
	if (rows->pool) { /* whose threads have written the times */
		char unused[TIME_TEXT_MAX];
		time_put(&rows->times, rows->last, unused);
	}
	event_workers_free(rows->pool);
	rows->pool = NULL;
	return good;
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
	rows->asks_names = true;
	rows->hidden = hidden;
	if (!rows->options->reverse)
		rows->line_names =
			line_names_new(rows->session, event_writer_names(rows->writer), hidden);
}

bool event_rows_shares(const struct event_rows *rows)
{
	return rows->alone != UINT64_MAX;
}

const struct times *event_rows_times(const struct event_rows *rows)
{
	return &rows->times;
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

	rows->last = run->batch->time[backward ? first : first + count - 1];
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
	rows->last = loss->time;
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
