/*
 * render_event.c - an event as a row
 *
 * Each class is flattened once to plans (render_plan.h), which are run over the slots of an event.
 *
 * The packet context is the same for thousands of events: its text is kept per stream and used
 * again for as long as its values are equal.
 *
 * Where the format has a text for events (reader->text), lines in text are those of a kernel
 * trace:
 *
 *     TIME cpu 3 [4297 demo] sched:sched_switch: prev_comm=demo prev_pid=4297 ...
 *
 * The thread is the event's own (perf's tid, else common_pid), its name what records at the start
 * and the events written so far told. A stream is named unless its name is that of the CPU.
 */
#include "engine/base/mem.h"
#include "engine/reader.h"
#include "repl/render.h"
#include "repl/render_plan.h"
#include "repl/thread_names.h"

#include <stdio.h>
#include <string.h>

struct class_plan {
	bool made;
	const char *head; /* `,"name":"x","packet":` or `x: ` */
	size_t nhead;
	struct plan context, payload;
	/* the format's own text, lines of kernel traces; NULL: there is none */
	bool (*text)(const struct fields *fields, struct buf *out);
	bool chain, address;      /* written as frames, or a name */
	struct field_path thread; /* the thread that it happened in; class NULL: not told */
};

struct stream_plan {
	const char *head; /* `,"stream":"x","cpu":` or ` x ` */
	size_t nhead;
	const struct field_class *class; /* of the packet context that `packet` is for */
	struct plan packet;
	uint64_t *values; /* of the packet that `text` is of */
	struct sink text;
	bool cached;
};

struct event_writer {
	const struct trace *trace;
	enum format format;
	struct times *times;
	struct sink *sink;
	struct sink scratch;
	struct arena *arena;
	struct class_plan *classes;
	struct stream_plan *streams;
	struct thread_names *names;
	struct symbols *symbols; /* NULL: call chains stay numbers */
	unsigned want;
	struct buf text;  /* of one event */
	struct rows rows; /* table, csv */
	bool json;
};

/* Plans --------------------------------------------------------------------------------------- */

/* What stands in `sink` since `from`, kept in the arena instead. */
static const char *keep(struct event_writer *writer, struct sink *sink, size_t *len)
{
	const char *text = arena_strndup(writer->arena, sink->len ? sink->data : "", sink->len);

	*len = sink->len;
	sink->len = 0;
	return text;
}

static void class_head(struct event_writer *writer, struct class_plan *plan, const char *name)
{
	struct sink *text = &writer->scratch;
	bool color = writer->format == FORMAT_TEXT && writer->sink->color;

	text->len = 0;
	if (writer->json) {
		sink_text(text, ",\"name\":");
		json_text(text, name);
		sink_text(text, ",\"packet\":");
	} else {
		sink_text(text, color ? "\033[1m" : "");
		sink_text(text, name);
		sink_text(text, color ? "\033[0m:" : ":");
	}
	plan->head = keep(writer, text, &plan->nhead);
}

/* The thread of an event: perf's sample says it, else what all tracepoints begin with. */
static void find_thread(struct class_plan *plan, const struct event_class *class)
{
	static const char *const tid = "tid", *const common = "common_pid";

	if (!field_path_find(class, 1u << SCOPE_EVENT_CONTEXT, &tid, 1, &plan->thread) &&
	    !field_path_find(class, 1u << SCOPE_STREAM_EVENT_CONTEXT, &common, 1, &plan->thread))
		plan->thread.class = NULL;
	if (plan->thread.class && plan->thread.class->kind != FIELD_INT)
		plan->thread.class = NULL;
}

static void class_plan_make(struct event_writer *writer, struct class_plan *plan,
			    const struct event_class *class)
{
	plan->made = true;
	plan->text = writer->trace->parts[class->part]->reader->text;
	if (plan->text)
		find_thread(plan, class);
	class_head(writer, plan, class->name);
	plan->chain = writer->symbols && symbols_chain(class);
	plan->address = writer->symbols && symbols_has_address(class);
	if (plan->chain && !writer->json) /* it is written as frames instead */
		plan->context.without = plan->payload.without = symbols_chain(class);
	plan_make(writer->arena, writer->json, &plan->context,
		  class->scope[SCOPE_STREAM_EVENT_CONTEXT],
		  class->slot_base[SCOPE_STREAM_EVENT_CONTEXT], class->scope[SCOPE_EVENT_CONTEXT],
		  class->slot_base[SCOPE_EVENT_CONTEXT]);
	plan_make(writer->arena, writer->json, &plan->payload, class->scope[SCOPE_PAYLOAD],
		  class->slot_base[SCOPE_PAYLOAD], NULL, 0);
}

static inline struct class_plan *class_plan(struct event_writer *writer,
					    const struct event_class *class)
{
	struct class_plan *plan = &writer->classes[class->index];

	if (__builtin_expect(!plan->made, 0))
		class_plan_make(writer, plan, class);
	return plan;
}

/* "cpu3" of a kernel trace, whose lines say the CPU anyway. */
static bool is_named_by_cpu(const struct event_writer *writer, const struct stream *stream)
{
	char name[24];

	snprintf(name, sizeof name, "cpu%d", stream->cpu);
	return writer->trace->parts[stream->part]->reader->text && stream->cpu >= 0 &&
	       strcmp(name, stream->name) == 0;
}

static void stream_plan_make(struct event_writer *writer, struct stream_plan *plan,
			     const struct stream *stream)
{
	struct sink *text = &writer->scratch;

	text->len = 0;
	if (writer->json) {
		sink_text(text, ",\"stream\":");
		json_text(text, stream->name);
		sink_text(text, ",\"cpu\":");
	} else {
		sink_char(text, ' ');
		if (!is_named_by_cpu(writer, stream)) {
			sink_text(text, stream->name);
			sink_char(text, ' ');
		}
	}
	plan->head = keep(writer, text, &plan->nhead);
	sink_init(&plan->text, -1);
}

static inline struct stream_plan *stream_plan(struct event_writer *writer,
					      const struct stream *stream)
{
	struct stream_plan *plan = &writer->streams[stream->index];

	if (__builtin_expect(!plan->head, 0))
		stream_plan_make(writer, plan, stream);
	return plan;
}

/* Writing ------------------------------------------------------------------------------------- */

static void put_any(struct event_writer *writer, struct sink *out, const struct token *token,
		    const struct fields *fields, const struct slot *slots)
{
	struct field field = {.class = token->class,
			      .in = fields,
			      .slot = slots[token->slot],
			      .inside = slots + token->base};

	if (writer->json)
		json_field(out, &field);
	else
		text_field(out, &field);
}

static void put_plan(struct event_writer *writer, struct sink *out, const struct plan *plan,
		     const struct fields *fields, const struct slot *slots)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct token *token = &plan->tokens[i];
		sink_add(out, token->text, token->len);
		switch (token->leaf) {
		case LEAF_UNSIGNED:
			sink_u64(out, slots[token->slot].u);
			break;
		case LEAF_SIGNED:
			sink_i64(out, slots[token->slot].s);
			break;
		case LEAF_STRING:
			json_string(out, slots[token->slot].bytes, (size_t)slots[token->slot].n);
			break;
		case LEAF_ANY:
			put_any(writer, out, token, fields, slots);
			break;
		}
	}
	sink_add(out, plan->tail, plan->ntail);
}

static bool same_values(const struct stream_plan *plan, const struct slot *slots)
{
	for (size_t i = 0; i < plan->packet.count; i++)
		if (slots[plan->packet.tokens[i].slot].u != plan->values[i])
			return false;
	return plan->cached;
}

static void put_packet(struct event_writer *writer, struct stream_plan *plan,
		       const struct fields *fields)
{
	const struct field_class *class = fields->class->scope[SCOPE_PACKET_CONTEXT];
	const struct slot *slots = fields->packet_context;

	if (fields->packet) /* a piece of a packet: its head's bytes are elsewhere */
		fields = fields->packet;
	if (!class || !slots) {
		sink_text(writer->sink, "{}");
		return;
	}
	if (plan->class != class) {
		mem_free(plan->packet.tokens);
		plan->packet = (struct plan){0};
		plan_make(writer->arena, writer->json, &plan->packet, class, 0, NULL, 0);
		plan->class = class;
		plan->cached = false;
		plan->values =
			arena_array(writer->arena, plan->packet.count + 1, sizeof *plan->values);
	}
	if (!plan->packet.plain) {
		put_plan(writer, writer->sink, &plan->packet, fields, slots);
		return;
	}
	if (!same_values(plan, slots)) {
		plan->text.len = 0;
		put_plan(writer, &plan->text, &plan->packet, fields, slots);
		for (size_t i = 0; i < plan->packet.count; i++)
			plan->values[i] = slots[plan->packet.tokens[i].slot].u;
		plan->cached = true;
	}
	sink_add(writer->sink, plan->text.data, plan->text.len);
}

/* Into the context that was just closed; it is not empty: the numbers themselves are there. */
static void add_frames(struct event_writer *writer, struct sink *out, nstime t,
		       const struct class_plan *plan, const struct fields *fields)
{
	const struct frame *frames;
	struct frame one;
	size_t count = 1;

	if (plan->chain)
		count = symbols_frames(writer->symbols, t, fields, writer->want, &frames);
	else
		symbols_address(writer->symbols, t, fields, writer->want, &one);

	out->len--;
	sink_text(out, ",\"symbols\":");
	json_frames(out, plan->chain ? frames : &one, count);
	sink_char(out, '}');
}

static bool write_json(struct event_writer *writer, nstime t, const struct stream *stream,
		       int32_t cpu, const struct event_class *class, const struct fields *fields)
{
	struct class_plan *plan = class_plan(writer, class);
	struct stream_plan *at = stream_plan(writer, stream);
	struct sink *out = writer->sink;

	sink_add(out, "{\"t\":", 5);
	if (t == NSTIME_MIN)
		sink_add(out, "null", 4);
	else
		sink_i64(out, t);
	sink_add(out, at->head, at->nhead);
	if (cpu < 0)
		sink_add(out, "null", 4);
	else
		sink_u64(out, (uint64_t)cpu);
	sink_add(out, plan->head, plan->nhead);
	if (fields) {
		put_packet(writer, at, fields);
		sink_add(out, ",\"context\":", 11);
		put_plan(writer, out, &plan->context, fields, fields->slots);
		if (plan->chain || plan->address)
			add_frames(writer, out, t, plan, fields);
		sink_add(out, ",\"fields\":", 10);
		put_plan(writer, out, &plan->payload, fields, fields->slots);
		sink_add(out, "}\n", 2);
	} else {
		sink_text(out, "{},\"context\":{},\"fields\":{}}\n");
	}
	return sink_row(out);
}

static void put_time(struct event_writer *writer, struct sink *out, nstime t)
{
	bool color = writer->format == FORMAT_TEXT && out->color;

	if (t == NSTIME_MIN) { /* it holds from the start, and has no time */
		sink_text(out, writer->format == FORMAT_TEXT ? "-" : "");
		return;
	}
	if (color)
		sink_text(out, "\033[32m");
	time_add(writer->times, t, out);
	if (color)
		sink_text(out, "\033[0m");
}

static void put_thread(struct event_writer *writer, struct sink *out, const struct class_plan *plan,
		       const struct fields *fields)
{
	struct field field;
	size_t len;

	fields_at(fields, &plan->thread, &field);
	const char *name =
		thread_names_find(writer->names, fields->class->part, field.slot.s, &len);
	sink_char(out, '[');
	sink_i64(out, field.slot.s);
	if (name) {
		sink_char(out, ' ');
		sink_add(out, name, len);
	}
	sink_add(out, "] ", 2);
}

static void put_lists(struct event_writer *writer, struct sink *out, const struct class_plan *plan,
		      const struct fields *fields)
{
	if (plan->context.count) {
		sink_add(out, " {", 2);
		put_plan(writer, out, &plan->context, fields, fields->slots);
		sink_char(out, '}');
	}
	if (plan->payload.count) {
		sink_char(out, ' ');
		put_plan(writer, out, &plan->payload, fields, fields->slots);
	}
}

/* Further lines of a text are indented, as no event's first line is. */
static void put_text(struct sink *out, const struct buf *text)
{
	const char *at = text->data, *newline;
	size_t left = text->len;

	while (left && at[left - 1] == '\n')
		left--;
	if (left)
		sink_char(out, ' ');
	while (left && (newline = memchr(at, '\n', left))) {
		size_t len = (size_t)(newline - at) + 1;
		sink_add(out, at, len);
		sink_char(out, '\t');
		at += len;
		left -= len;
	}
	sink_add(out, at, left);
}

static void put_address(struct event_writer *writer, struct sink *out, nstime t,
			const struct fields *fields)
{
	struct frame frame;

	symbols_address(writer->symbols, t, fields, writer->want, &frame);
	text_address(out, &frame);
}

static void put_frames(struct event_writer *writer, struct sink *out, nstime t,
		       const struct fields *fields)
{
	const struct frame *frames;
	size_t count = symbols_frames(writer->symbols, t, fields, writer->want, &frames);

	if (count)
		text_frames(out, frames, count);
}

static bool write_text(struct event_writer *writer, nstime t, const struct stream *stream,
		       int32_t cpu, const struct event_class *class, const struct fields *fields)
{
	struct class_plan *plan = class_plan(writer, class);
	struct stream_plan *at = stream_plan(writer, stream);
	struct sink *out = writer->sink;

	put_time(writer, out, t);
	sink_add(out, at->head, at->nhead);
	if (cpu >= 0) {
		sink_add(out, "cpu ", 4);
		sink_u64(out, (uint64_t)cpu);
		sink_char(out, ' ');
	}
	if (fields && plan->thread.class && t != NSTIME_MIN)
		put_thread(writer, out, plan, fields);
	sink_add(out, plan->head, plan->nhead);
	buf_clear(&writer->text);
	if (fields && plan->text && plan->text(fields, &writer->text))
		put_text(out, &writer->text);
	else if (fields)
		put_lists(writer, out, plan, fields);
	if (fields && plan->address)
		put_address(writer, out, t, fields);
	else
		sink_char(out, '\n');
	if (fields && plan->chain)
		put_frames(writer, out, t, fields);
	return sink_row(out);
}

static bool write_cells(struct event_writer *writer, nstime t, const struct stream *stream,
			int32_t cpu, const struct event_class *class, const struct fields *fields)
{
	struct class_plan *plan = class_plan(writer, class);
	struct rows *rows = &writer->rows;

	put_time(writer, rows_cell(rows), t);
	rows_text(rows, stream->name);
	if (cpu >= 0)
		sink_u64(rows_cell(rows), (uint64_t)cpu);
	else
		rows_cell(rows);
	rows_text(rows, class->name);
	struct sink *context = rows_cell(rows);
	if (fields)
		put_plan(writer, context, &plan->context, fields, fields->slots);
	struct sink *payload = rows_cell(rows);
	if (fields)
		put_plan(writer, payload, &plan->payload, fields, fields->slots);
	return rows_end(rows);
}

bool event_write(struct event_writer *writer, nstime t, const struct stream *stream, int32_t cpu,
		 const struct event_class *class, const struct fields *fields)
{
	if (writer->json)
		return write_json(writer, t, stream, cpu, class, fields);
	if (writer->format == FORMAT_TEXT)
		return write_text(writer, t, stream, cpu, class, fields);
	return write_cells(writer, t, stream, cpu, class, fields);
}

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
	sink_text(out, "{\"t\":");
	json_time(out, loss->time);
	sink_text(out, ",\"stream\":");
	json_text(out, loss->stream->name);
	sink_text(out, ",\"lost\":");
	if (loss->lost_unknown)
		sink_text(out, "null");
	else
		sink_u64(out, loss->lost);
	if (loss->lost_packets) {
		sink_text(out, ",\"packets\":");
		sink_u64(out, loss->lost_packets);
	}
	sink_text(out, ",\"until\":");
	json_time(out, loss->until);
	sink_text(out, "}\n");
	return sink_row(out);
}

bool event_write_loss(struct event_writer *writer, const struct event *loss)
{
	struct sink *out = writer->sink;

	if (writer->json)
		return loss_json(out, loss);
	if (writer->format == FORMAT_TEXT) {
		put_time(writer, out, loss->time);
		sink_char(out, ' ');
		sink_text(out, loss->stream->name);
		sink_text(out, ": ");
		loss_words(writer, out, loss);
		sink_char(out, '\n');
		return sink_row(out);
	}
	put_time(writer, rows_cell(&writer->rows), loss->time);
	rows_text(&writer->rows, loss->stream->name);
	rows_cell(&writer->rows);
	rows_text(&writer->rows, "@lost");
	rows_cell(&writer->rows);
	loss_words(writer, rows_cell(&writer->rows), loss);
	return rows_end(&writer->rows);
}

struct event_writer *event_writer_new(const struct trace *trace, enum format format,
				      struct times *times, struct sink *sink)
{
	static const struct column columns[] = {{"t", false},       {"stream", false},
						{"cpu", true},      {"name", false},
						{"context", false}, {"fields", false}};
	struct event_writer *writer = mem_new(sizeof *writer);

	writer->trace = trace;
	writer->format = format;
	writer->json = format == FORMAT_JSON;
	writer->times = times;
	writer->sink = sink;
	writer->arena = arena_new();
	writer->classes = mem_new_array(trace->nclasses + 1, sizeof *writer->classes);
	writer->streams = mem_new_array(trace->nstreams + 1, sizeof *writer->streams);
	writer->names = thread_names_new(trace);
	sink_init(&writer->scratch, -1);
	if (format == FORMAT_TABLE || format == FORMAT_CSV)
		rows_begin(&writer->rows, sink, format, columns, sizeof columns / sizeof *columns);
	return writer;
}

void event_writer_symbols(struct event_writer *writer, struct symbols *symbols, unsigned want)
{
	if (writer->format != FORMAT_TEXT && !writer->json)
		return; /* a cell holds no lines */
	writer->symbols = symbols;
	writer->want = want;
}

void event_writer_learn(struct event_writer *writer, const struct fields *fields)
{
	if (writer->format == FORMAT_TEXT && class_plan(writer, fields->class)->text)
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
	for (size_t i = 0; i < writer->trace->nclasses; i++) {
		mem_free(writer->classes[i].context.tokens);
		mem_free(writer->classes[i].payload.tokens);
	}
	for (size_t i = 0; i < writer->trace->nstreams; i++) {
		mem_free(writer->streams[i].packet.tokens);
		sink_release(&writer->streams[i].text);
	}
	mem_free(writer->classes);
	mem_free(writer->streams);
	sink_release(&writer->scratch);
	thread_names_free(writer->names);
	buf_release(&writer->text);
	arena_free(writer->arena);
	mem_free(writer);
}
