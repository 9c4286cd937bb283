/*
 * render_event_text.c - an event as a line of text
 *
 * If the format has a text for events (reader->text), lines are those of a kernel trace:
 *
 *     TIME cpu 3 [4297 demo] sched:sched_switch: prev_comm=demo prev_pid=4297 ...
 *
 * The thread is from the event (perf's tid, else common_pid); its name is from records at the start
 * or the events up to this one. The stream is named unless its name is that of the CPU.
 */
#include "repl/render/render_event_internal.h"

static void put_context(struct sink *out, const struct class_plan *plan,
			const struct fields *fields)
{
	if (!plan->context.count)
		return;
	sink_add(out, " {", 2);
	plan_put(out, &plan->context, fields, fields->slots);
	sink_char(out, '}');
}

static void put_payload(struct sink *out, const struct class_plan *plan,
			const struct fields *fields)
{
	if (!plan->payload.count)
		return;
	sink_char(out, ' ');
	plan_put(out, &plan->payload, fields, fields->slots);
}

/* Indents the lines behind the first, from `from` on, to tell them from the lines of events. */
static void indent(struct event_writer *writer, struct sink *out, size_t from)
{
	struct sink *text = &writer->scratch;

	text->len = 0;
	sink_add(text, out->data + from, out->len - from);
	out->len = from;
	for (size_t i = 0; i < text->len; i++) {
		sink_char(out, text->data[i]);
		if (text->data[i] == '\n')
			sink_char(out, '\t');
	}
}

/* Writes the format's own text of the event. False: it has none for the class. */
static bool put_words(struct event_writer *writer, struct sink *out, struct class_plan *plan,
		      const struct fields *fields)
{
	size_t before = out->len, from = before + 1;
	enum event_words words;

	if (!plan->text)
		return false;
	sink_char(out, ' ');
	words = plan->text(fields, &out->buf);
	if (words == WORDS_NONE) {
		out->len = before;
		plan->text = NULL;
		return false;
	}
	while (out->len > from && out->data[out->len - 1] == '\n')
		out->len--;
	if (out->len == from)
		out->len = before;
	else if (words == WORDS_LINES && memchr(out->data + from, '\n', out->len - from))
		indent(writer, out, from);
	return true;
}

static void put_address(struct event_writer *writer, struct sink *out, nstime t,
			const struct fields *fields)
{
	uint64_t address;
	const struct symbol *symbol =
		symbols_address(writer->symbols, t, fields, writer->want, &address);

	text_address(out, writer->places, address, symbol);
}

static void put_frames(struct event_writer *writer, struct sink *out, nstime t,
		       const struct fields *fields)
{
	const struct frame *frames;
	size_t count = symbols_frames(writer->symbols, t, fields, writer->want, &frames);

	if (count)
		text_frames(out, writer->places, frames, count);
}

/* Writes the time, coloured if the sink is, or "-"; returns where `more` bytes have room. */
static char *put_time(struct event_writer *writer, struct sink *out, const struct stream *stream,
		      nstime t, size_t more)
{
	if (__builtin_expect(t != NSTIME_MIN && !out->color && !writer->mixed, 1))
		return time_put(writer->times, t, sink_room(out, TIME_TEXT_MAX + more));
	event_time(writer, out, stream, t);
	return sink_room(out, more);
}

/* Writes CPU, thread and event name, as far as they are known. */
static char *render_event_text_put_head(struct event_writer *writer, char *to,
					const struct class_plan *plan, const struct stream_plan *at,
					nstime t, const struct fields *fields)
{
	size_t len;

	to = put_ready(to, &at->begin);
	if (fields && plan->has_thread && t != NSTIME_MIN) {
		const char *label = thread_names_label(writer->names, fields->class->part,
						       fields->slots[plan->thread_slot].s, &len);
		to = copy_padded(to, label, len);
	}
	return put_ready(to, &plan->head);
}

bool event_text(struct event_writer *writer, struct class_plan *plan, nstime t,
		const struct stream *stream, int32_t cpu, const struct fields *fields)
{
	struct stream_plan *at = stream_plan(writer, stream, cpu);
	struct sink *out = writer->sink;
	char *to;

	if (plan->tells_names && writer->learns && fields)
		thread_names_learn(writer->names, fields);
	to = put_time(writer, out, stream, t,
		      at->begin.len + plan->head.len + THREAD_LABEL_ROOM + COPY_PAD);
	sink_end(out, render_event_text_put_head(writer, to, plan, at, t, fields));
	if (fields && !put_words(writer, out, plan, fields)) {
		put_context(out, plan, fields);
		put_payload(out, plan, fields);
	}
	if (fields && plan->address)
		put_address(writer, out, t, fields);
	else
		sink_char(out, '\n');
	if (fields && plan->chain)
		put_frames(writer, out, t, fields);
	return sink_row(out);
}
