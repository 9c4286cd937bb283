/*
 * render_event_data.c - an event as a row of data: JSON, CSV, a table
 *
 * Thousands of events have the same packet context. Each stream stores its text, and reuses it as
 * long as the values are equal.
 */
#include "engine/base/mem.h"
#include "repl/render/render_event_internal.h"

enum { NS = 1000000000 };

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

	if (fields->packet) /* in a piece of a packet, the context lies in other bytes */
		fields = fields->packet;
	if (!class || !slots) {
		sink_text(writer->sink, "{}");
		return;
	}
	if (plan->class != class) {
		mem_free(plan->packet.tokens);
		plan->packet = (struct render_plan){0};
		plan_make(writer->arena, writer->json, &plan->packet, class, 0, NULL, 0);
		plan->class = class;
		plan->cached = false;
		plan->values =
			arena_array(writer->arena, plan->packet.count + 1, sizeof *plan->values);
	}
	if (!plan->packet.plain) {
		plan_put(writer->sink, &plan->packet, fields, slots);
		return;
	}
	if (!same_values(plan, slots)) {
		plan->text.len = 0;
		plan_put(&plan->text, &plan->packet, fields, slots);
		for (size_t i = 0; i < plan->packet.count; i++)
			plan->values[i] = slots[plan->packet.tokens[i].slot].u;
		plan->cached = true;
	}
	sink_add(writer->sink, plan->text.data, plan->text.len);
}

/* Adds frames to the context just closed, which is not empty: it has the chain's numbers. */
static void add_frames(struct event_writer *writer, struct sink *out, nstime t,
		       const struct class_plan *plan, const struct fields *fields)
{
	struct frame one = {0};
	const struct frame *frames = &one;
	size_t count = 1;

	if (plan->chain)
		count = symbols_frames(writer->symbols, t, fields, writer->want, &frames);
	else
		one.symbol =
			*symbols_address(writer->symbols, t, fields, writer->want, &one.address);

	out->len--;
	sink_text(out, ",\"symbols\":");
	json_frames(out, frames, count);
	sink_char(out, '}');
}

/* Writes nanoseconds as one integer; reuses the digits of the last second. */
static char *put_nanoseconds(struct event_writer *writer, char *to, nstime t)
{
	uint64_t nanos = (uint64_t)t - (uint64_t)writer->second_begin;

	if (__builtin_expect(nanos >= NS || !writer->second.len, 0)) {
		if (t < NS)
			return decimal_put_signed(to, t);
		char *text = writer->second_text;
		writer->second = (struct ready){
			text, (size_t)(decimal_put(text, (uint64_t)(t / NS)) - text)};
		writer->second_begin = t / NS * NS;
		nanos = (uint64_t)(t % NS);
	}
	return decimal_put_nanos(put_ready(to, &writer->second), (uint32_t)nanos);
}

bool event_json(struct event_writer *writer, nstime t, const struct stream *stream, int32_t cpu,
		const struct event_class *class, const struct fields *fields)
{
	struct class_plan *plan = class_plan(writer, class);
	struct stream_plan *at = stream_plan(writer, stream, cpu);
	struct sink *out = writer->sink;
	char *to = sink_room(out, 96 + at->begin.len + plan->head.len + COPY_PAD);

	char *time = mempcpy(to, "{\"ts\":", 6);
	to = t == NSTIME_MIN ? mempcpy(time, "null", 4) : put_nanoseconds(writer, time, t);
	size_t len = (size_t)(to - time);
	to = mempcpy(to, ",\"t\":", 5); /* the member's name up to version 0.2 */
	to = mempcpy(to, time, len);
	to = put_ready(to, &at->begin);
	sink_end(out, put_ready(to, &plan->head));
	if (fields) {
		put_packet(writer, at, fields);
		sink_add(out, ",\"context\":", 11);
		plan_put(out, &plan->context, fields, fields->slots);
		if (plan->chain || plan->address)
			add_frames(writer, out, t, plan, fields);
		sink_add(out, ",\"fields\":", 10);
		plan_put(out, &plan->payload, fields, fields->slots);
		sink_add(out, "}\n", 2);
	} else {
		sink_text(out, "{},\"context\":{},\"fields\":{}}\n");
	}
	return sink_row(out);
}

/* Writes the members of a scope as one cell. */
static void render_event_data_put_cell(struct event_writer *writer, struct sink *out,
				       const struct render_plan *plan, const struct fields *fields)
{
	struct sink *text = &writer->scratch;

	if (!fields || !plan->count)
		return;
	text->len = 0;
	plan_put(text, plan, fields, fields->slots);
	csv_cell(out, text->data, text->len);
}

/* Writes a cell per field; empty ones for an event that cannot be decoded. */
static void put_typed(struct sink *out, const struct class_plan *plan, const struct fields *fields)
{
	if (fields) {
		plan_put(out, &plan->context, fields, fields->slots);
		plan_put(out, &plan->payload, fields, fields->slots);
	} else {
		for (size_t i = 0; i < plan->context.count + plan->payload.count; i++)
			sink_char(out, ',');
	}
	sink_char(out, '\n');
}

bool event_csv(struct event_writer *writer, nstime t, const struct stream *stream, int32_t cpu,
	       const struct event_class *class, const struct fields *fields)
{
	struct class_plan *plan = class_plan(writer, class);
	struct stream_plan *at = stream_plan(writer, stream, cpu);
	struct sink *out = writer->sink;

	event_time(writer, out, stream, t);
	char *to = sink_room(out, at->begin.len + plan->head.len + COPY_PAD + 1);
	to = put_ready(put_ready(to, &at->begin), &plan->head);
	if (writer->typed) {
		sink_end(out, to);
		put_typed(out, plan, fields);
		return sink_row(out);
	}
	*to++ = ',';
	sink_end(out, to);
	render_event_data_put_cell(writer, out, &plan->context, fields);
	sink_char(out, ',');
	render_event_data_put_cell(writer, out, &plan->payload, fields);
	sink_char(out, '\n');
	return sink_row(out);
}

bool event_cells(struct event_writer *writer, nstime t, const struct stream *stream, int32_t cpu,
		 const struct event_class *class, const struct fields *fields)
{
	struct class_plan *plan = class_plan(writer, class);
	struct rows *rows = &writer->rows;

	event_time(writer, rows_cell(rows), stream, t);
	rows_text(rows, stream->name);
	rows_u64(rows, cpu >= 0, (uint64_t)cpu);
	rows_text(rows, class->name);
	struct sink *context = rows_cell(rows);
	if (fields)
		plan_put(context, &plan->context, fields, fields->slots);
	struct sink *payload = rows_cell(rows);
	if (fields)
		plan_put(payload, &plan->payload, fields, fields->slots);
	return rows_end(rows);
}
