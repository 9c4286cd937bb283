/*
 * render_event.c - writes events as rows: prepares classes and streams, and writes losses
 *
 * Each class is compiled once to plans (render_plan.c), which write an event from its slots. Text
 * that is equal in all rows of a stream, class or thread is made once.
 */
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "repl/render/render_event_internal.h"
#include "repl/session.h"

#include <stdio.h>
#include <string.h>

/* Plans --------------------------------------------------------------------------------------- */

/* Moves the text in `sink` to the arena. */
static void keep_text(struct event_writer *writer, struct sink *sink, struct ready *out)
{
	out->text = arena_padded(writer->arena, sink->data, sink->len);
	out->len = sink->len;
	sink->len = 0;
}

static void class_head(struct event_writer *writer, struct class_plan *plan, const char *name)
{
	struct sink *text = &writer->scratch;
	bool color = writer->format == FORMAT_TEXT && writer->sink->color;

	text->len = 0;
	if (writer->json) {
		json_member_text(text, ",\"name\":", name);
		sink_text(text, ",\"packet\":");
	} else if (writer->format == FORMAT_CSV) {
		csv_cell(text, name, strlen(name));
	} else {
		if (color)
			sink_style(text, "1");
		sink_name(text, name);
		if (color)
			sink_style(text, "0");
		sink_char(text, ':');
	}
	keep_text(writer, text, &plan->head);
}

static void find_thread(struct class_plan *plan, const struct event_class *class)
{
	plan->thread = event_thread_of(class).tid;
	plan->has_thread = plan->thread.class;
	plan->thread_slot = class->slot_base[plan->thread.scope] + plan->thread.slot;
}

void class_plan_make(struct event_writer *writer, struct class_plan *plan,
		     const struct event_class *class)
{
	const struct reader *reader = writer->trace->parts[class->part]->reader;

	plan->made = true;
	plan->text = reader->text ? reader->text->write : NULL;
	if (plan->text)
		find_thread(plan, class);
	plan->tells_names = plan->text && writer->format == FORMAT_TEXT &&
			    thread_names_tells(writer->names, class);
	class_head(writer, plan, class->name);
	plan->chain = writer->symbols && symbols_chain(class);
	plan->address = writer->symbols &&
			(symbols_has_address(class) || symbols_names_place(writer->symbols, class));
	if (writer->typed) {
		plan->context.cells = "context/";
		plan->payload.cells = "";
	}
	if (plan->chain && !writer->json) /* frames show it instead */
		plan->context.without = plan->payload.without = symbols_chain(class);
	plan_make(writer->arena, writer->json, &plan->context,
		  class->scope[SCOPE_STREAM_EVENT_CONTEXT],
		  class->slot_base[SCOPE_STREAM_EVENT_CONTEXT], class->scope[SCOPE_EVENT_CONTEXT],
		  class->slot_base[SCOPE_EVENT_CONTEXT]);
	plan_make(writer->arena, writer->json, &plan->payload, class->scope[SCOPE_PAYLOAD],
		  class->slot_base[SCOPE_PAYLOAD], NULL, 0);
}

/* Is the stream's name that of its CPU, "cpu3", which lines of kernel traces show anyway? */
static bool is_named_by_cpu(const struct event_writer *writer, const struct stream *stream)
{
	char name[24];

	snprintf(name, sizeof name, "cpu%d", stream->cpu);
	return writer->trace->parts[stream->part]->reader->text && stream->cpu >= 0 &&
	       strcmp(name, stream->name) == 0;
}

static void stream_name(struct event_writer *writer, struct sink *out, const struct stream *stream)
{
	if (writer->json) {
		json_member_text(out, ",\"stream\":", stream->name);
		sink_text(out, ",\"cpu\":");
	} else if (writer->format == FORMAT_CSV) {
		sink_char(out, ',');
		csv_cell(out, stream->name, strlen(stream->name));
		sink_char(out, ',');
	} else {
		sink_char(out, ' ');
		if (!is_named_by_cpu(writer, stream)) {
			sink_name(out, stream->name);
			sink_char(out, ' ');
		}
	}
}

/* Makes the text of a stream and CPU; anew when the CPU changes, as in few streams. */
void stream_plan_make(struct event_writer *writer, struct stream_plan *plan,
		      const struct stream *stream, int32_t cpu)
{
	struct sink *text = &writer->scratch;

	if (!plan->begin.text)
		sink_init(&plan->text, -1);
	text->len = 0;
	stream_name(writer, text, stream);
	if (writer->format == FORMAT_TEXT && cpu >= 0)
		sink_text(text, "cpu ");
	if (cpu >= 0)
		sink_u64(text, (uint64_t)cpu);
	else if (writer->json)
		sink_text(text, "null");
	if (writer->format == FORMAT_TEXT && cpu >= 0)
		sink_char(text, ' ');
	if (writer->format == FORMAT_CSV)
		sink_char(text, ',');
	keep_text(writer, text, &plan->begin);
	plan->cpu = cpu;
}

static bool is_mixed(const struct trace *trace)
{
	bool any = false;

	for (size_t i = 0; i < trace->nstreams; i++)
		any |= !trace->streams[i]->has_time;
	return any && !trace_has_ordinals(trace);
}

void event_time(struct event_writer *writer, struct sink *out, const struct stream *stream,
		nstime t)
{
	bool color = writer->format == FORMAT_TEXT && out->color;

	if (t == NSTIME_MIN) {
		sink_text(out, writer->format == FORMAT_TEXT ? "-" : "");
		return;
	}
	if (color)
		sink_style(out, "32");
	if (stream->has_time || !writer->mixed)
		time_add(writer->times, t, out);
	else
		sink_i64(out, t);
	if (color)
		sink_style(out, "0");
}

static bool write_row(struct event_writer *writer, struct class_plan *plan, nstime t,
		      const struct stream *stream, int32_t cpu, const struct event_class *class,
		      const struct fields *fields)
{
	if (writer->json)
		return event_json(writer, t, stream, cpu, class, fields);
	if (writer->format == FORMAT_CSV)
		return event_csv(writer, t, stream, cpu, class, fields);
	if (writer->format == FORMAT_TABLE)
		return event_cells(writer, t, stream, cpu, class, fields);
	return event_text(writer, plan, t, stream, cpu, fields);
}

bool event_write(struct event_writer *writer, nstime t, const struct stream *stream, int32_t cpu,
		 const struct event_class *class, const struct fields *fields, bool learn)
{
	writer->learns = learn;
	return write_row(writer, class_plan(writer, class), t, stream, cpu, class, fields);
}

bool event_write_entry(struct event_writer *writer, const struct run *run, uint32_t i, bool learn,
		       uint64_t *damaged)
{
	const struct event_class *class = writer->trace->classes[run->batch->class_index[i]];
	struct class_plan *plan = class_plan(writer, class);
	nstime t = run->batch->time[i];
	struct error err; /* not cleared, which would cost as much as formatting a number */
	struct fields fields;
	bool decoded = run->reader->decoder_fields(run->decoder, run->batch, i, &fields, &err);

	if (!decoded) {
		say("damaged", "%s: event %s at %lld: %s", run->stream->name, class->name,
		    (long long)t, err.text);
		++*damaged;
	}
	writer->learns = learn;
	return write_row(writer, plan, t, run->stream, run->cpu, class, decoded ? &fields : NULL);
}

/* Losses -------------------------------------------------------------------------------------- */

static void loss_words(struct event_writer *writer, struct sink *out, const struct event *loss)
{
	if (loss->lost_unknown)
		sink_text(out, "events were lost");
	else if (loss->lost || !loss->lost_packets)
		sink_printf(out, "%llu event%s lost", (unsigned long long)loss->lost,
			    loss->lost == 1 ? "" : "s");
	if (loss->lost_packets)
		sink_printf(
			out, "%s%llu packet%s lost", loss->lost || loss->lost_unknown ? ", " : "",
			(unsigned long long)loss->lost_packets, loss->lost_packets == 1 ? "" : "s");
	if (loss->until == NSTIME_MAX || loss->until == NSTIME_MIN)
		return;
	sink_text(out, " until ");
	time_add(writer->times, loss->until, out);
}

static bool loss_json(struct sink *out, const struct event *loss)
{
	json_member_time(out, "{\"ts\":", loss->time);
	json_member_time(out, ",\"t\":", loss->time);
	json_member_text(out, ",\"stream\":", loss->stream->name);
	json_member_u64(out, ",\"lost\":", !loss->lost_unknown, loss->lost);
	if (loss->lost_packets)
		json_member_u64(out, ",\"packets\":", true, loss->lost_packets);
	json_member_time(out, ",\"until\":", loss->until);
	sink_text(out, "}\n");
	return sink_row(out);
}

bool event_write_loss(struct event_writer *writer, const struct event *loss)
{
	struct sink *out = writer->sink;

	if (writer->json)
		return loss_json(out, loss);
	if (writer->format == FORMAT_TEXT) {
		event_time(writer, out, loss->stream, loss->time);
		sink_char(out, ' ');
		sink_name(out, loss->stream->name);
		sink_text(out, ": ");
		loss_words(writer, out, loss);
		sink_char(out, '\n');
		return sink_row(out);
	}
	event_time(writer, rows_cell(&writer->rows), loss->stream, loss->time);
	rows_text(&writer->rows, loss->stream->name);
	rows_cell(&writer->rows);
	rows_text(&writer->rows, "@lost");
	for (size_t i = 5; i < writer->rows.ncolumns; i++)
		rows_cell(&writer->rows);
	loss_words(writer, rows_cell(&writer->rows), loss);
	return rows_end(&writer->rows);
}

/* Writers ------------------------------------------------------------------------------------- */

static const struct table_column head_columns[] = {{"ts", false},      {"stream", false},
					     {"cpu", true},      {"name", false},
					     {"context", false}, {"fields", false}};
enum { HEAD_COLUMNS = 4, TYPED_CLASSES = 64 };

static bool same_columns(const struct render_plan *a, const struct render_plan *b)
{
	for (size_t i = 0; i < a->count && a->count == b->count; i++)
		if (strcmp(a->tokens[i].name, b->tokens[i].name) != 0)
			return false;
	return a->count == b->count;
}

/*
 * Makes plans with a column per field for the wanted classes, if all have the same columns. Returns
 * the first plan; NULL: they have not.
 */
static struct class_plan *typed_plans(struct event_writer *writer, const uint64_t *wanted)
{
	struct class_plan *first = NULL;
	size_t count = 0;
	bool same = true;

	writer->typed = true;
	for (size_t i = 0; i < writer->trace->nclasses && same; i++) {
		if (!bitset_has(wanted, i))
			continue;
		struct class_plan *plan = class_plan(writer, writer->trace->classes[i]);
		first = first ? first : plan;
		same = ++count <= TYPED_CLASSES && same_columns(&first->context, &plan->context) &&
		       same_columns(&first->payload, &plan->payload);
	}
	if (same && first)
		return first;
	writer->typed = false;
	for (size_t i = 0; i < writer->trace->nclasses && count; i++) {
		mem_free(writer->classes[i].context.tokens);
		mem_free(writer->classes[i].payload.tokens);
		writer->classes[i] = (struct class_plan){0};
	}
	return NULL;
}

/* The column of a field; payload/NAME if another column of all rows has its name. */
static struct table_column field_column(struct event_writer *writer, const char *name)
{
	struct buf text = {0};

	for (size_t i = 0; i < HEAD_COLUMNS && !text.len; i++)
		if (!strcmp(name, head_columns[i].name))
			buf_printf(&text, "payload/%s", name);
	name = arena_strdup(writer->arena, text.len ? buf_text(&text) : name);
	buf_release(&text);
	return (struct table_column){name, false};
}

/* Begins rows with the common columns, and one for each field of the plan. */
static void begin_typed(struct event_writer *writer, const struct class_plan *plan)
{
	size_t count = HEAD_COLUMNS + plan->context.count + plan->payload.count, n = HEAD_COLUMNS;
	struct table_column *columns = arena_array(writer->arena, count, sizeof *columns);

	memcpy(columns, head_columns, HEAD_COLUMNS * sizeof *columns);
	for (size_t i = 0; i < plan->context.count; i++)
		columns[n++] = field_column(writer, plan->context.tokens[i].name);
	for (size_t i = 0; i < plan->payload.count; i++)
		columns[n++] = field_column(writer, plan->payload.tokens[i].name);
	rows_begin(&writer->rows, writer->sink, writer->format, columns, n);
}

struct event_writer *event_writer_new_of(const struct trace *trace, enum format format,
					 struct times *times, struct sink *sink,
					 const uint64_t *classes)
{
	struct event_writer *writer = mem_new(sizeof *writer);
	const struct class_plan *typed = NULL;

	writer->trace = trace;
	writer->format = format;
	writer->json = format == FORMAT_JSON;
	writer->mixed = is_mixed(trace);
	writer->times = times;
	writer->sink = sink;
	writer->arena = arena_new();
	writer->nclasses = trace->nclasses;
	writer->nstreams = trace->nstreams;
	writer->classes = mem_new_array(trace->nclasses + 1, sizeof *writer->classes);
	writer->streams = mem_new_array(trace->nstreams + 1, sizeof *writer->streams);
	writer->names = thread_names_new(trace);
	sink_init(&writer->scratch, -1);
	if (format == FORMAT_CSV && classes)
		typed = typed_plans(writer, classes);
	if (typed)
		begin_typed(writer, typed);
	else if (format == FORMAT_TABLE || format == FORMAT_CSV)
		rows_begin(&writer->rows, sink, format, head_columns,
			   sizeof head_columns / sizeof *head_columns);
	return writer;
}

struct event_writer *event_writer_new(const struct trace *trace, enum format format,
				      struct times *times, struct sink *sink)
{
	return event_writer_new_of(trace, format, times, sink, NULL);
}

bool event_writer_go_on(struct event_writer *writer, struct event_writer *before,
			struct error *err)
{
	const struct rows *now = &writer->rows, *then = &before->rows;

	thread_names_take(writer->names, before->names);
	if (writer->format != FORMAT_CSV)
		return true;
	bool same = now->ncolumns == then->ncolumns;
	for (size_t i = 0; i < now->ncolumns && same; i++)
		same = !strcmp(now->columns[i].name, then->columns[i].name);
	return same || error_set(err, ERR_RANGE,
				 "the columns of the CSV would be others from here on: an event came "
				 "that has other fields than those before it. --format json, or one "
				 "--name, writes them");
}

void event_writer_symbols(struct event_writer *writer, struct symbols *symbols, unsigned want)
{
	if (writer->format != FORMAT_TEXT && !writer->json)
		return; /* frames are lines, which no cell holds */
	writer->symbols = symbols;
	writer->want = want;
	if (symbols && !writer->places)
		writer->places = places_new();
}

struct thread_names *event_writer_names(struct event_writer *writer)
{
	return writer->names;
}

void event_writer_learn(struct event_writer *writer, const struct fields *fields)
{
	if (class_plan(writer, fields->class)->tells_names)
		thread_names_learn(writer->names, fields);
}

void event_writer_sink(struct event_writer *writer, struct sink *sink)
{
	writer->sink = writer->rows.sink = sink;
}

void event_writer_free(struct event_writer *writer)
{
	if (!writer)
		return;
	if (writer->format == FORMAT_TABLE || writer->format == FORMAT_CSV)
		rows_finish(&writer->rows);
	for (size_t i = 0; i < writer->nclasses; i++) {
		mem_free(writer->classes[i].context.tokens);
		mem_free(writer->classes[i].payload.tokens);
	}
	for (size_t i = 0; i < writer->nstreams; i++) {
		mem_free(writer->streams[i].packet.tokens);
		sink_release(&writer->streams[i].text);
	}
	mem_free(writer->classes);
	mem_free(writer->streams);
	sink_release(&writer->scratch);
	thread_names_free(writer->names);
	mem_free(writer->places);
	arena_free(writer->arena);
	mem_free(writer);
}
