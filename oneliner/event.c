/* event.c - the values of the event that a program looks at */
#include "oneliner/runtime.h"

#include "state/interval_window.h"
#include "state/model/value.h"

#include <string.h>

static bool decode(struct runtime *rt)
{
	struct error ignored; /* damage: told by the cursor; the event has no values */

	if (rt->decoded == DECODED_NOT)
		rt->decoded = rt->run->reader->decoder_fields(rt->run->decoder, rt->run->batch,
							      rt->entry, &rt->fields, &ignored)
				      ? DECODED_YES
				      : DECODED_DAMAGED;
	return rt->decoded == DECODED_YES;
}

static struct datum keep_text(struct runtime *rt, const void *text, size_t len)
{
	return datum_text(arena_strndup(rt->texts, text, len), (uint32_t)len);
}

static struct datum field_datum(struct runtime *rt, const struct field *field)
{
	size_t len;

	if (field->class->kind == FIELD_INT)
		return field->class->is_signed ? datum_signed(field->slot.s)
					       : datum_unsigned(field->slot.u);
	if (!field_is_text(field))
		return (struct datum){0};
	const uint8_t *bytes = field_bytes(field, &rt->scratch, &len);
	if (len > UINT32_MAX)
		return (struct datum){0};
	if (rt->scratch.data && bytes == (const uint8_t *)rt->scratch.data)
		return keep_text(rt, bytes, len);
	return datum_text(bytes, (uint32_t)len);
}

static struct datum number(const struct bound_field *field, uint64_t value)
{
	return field->is_signed ? datum_signed((int64_t)value) : datum_unsigned(value);
}

static struct datum placed_field(struct runtime *rt, const struct bound_field *field)
{
	const struct run *run = rt->run;
	const struct event_class *class =
		rt->bound->trace->classes[run->batch->class_index[rt->entry]];
	const struct slot *slots = batch_slots(run->batch, rt->entry);
	uint16_t entry = (uint16_t)rt->entry;
	struct field out;
	uint64_t value;

	if (!field->is_text && field->is_own) {
		if (slots)
			return number(
				field,
				slots[class->slot_base[field->path.scope] + field->path.slot].u);
		if (rt->decoded == DECODED_NOT && field->column.placed &&
		    run->reader->decoder_column &&
		    run->reader->decoder_column(run->decoder, run->batch, &entry, 1,
						&field->column.place, &value))
			return number(field, value);
	}
	if (!decode(rt) ||
	    (field->path.scope == SCOPE_PACKET_CONTEXT && !rt->fields.packet_context))
		return (struct datum){0};
	fields_at(&rt->fields, &field->path, &out);
	return field_datum(rt, &out);
}

struct datum event_field(struct runtime *rt, uint32_t number_of)
{
	const struct bound_field *field = &rt->probe->fields[number_of - rt->probe->first];
	const struct field_use *use = &rt->bound->program->fields[number_of];
	struct field out;

	if (field->path.class)
		return placed_field(rt, field);
	if (!decode(rt) || !fields_get(&rt->fields, ~0u, use->names, use->nnames, &out))
		return (struct datum){0};
	return field_datum(rt, &out);
}

/* Texts live as long as the event. */
static struct datum value_datum(const struct value *value)
{
	switch (value->kind) {
	case VALUE_INT:
		return value->negative ? datum_signed((int64_t)value->u) : datum_unsigned(value->u);
	case VALUE_BOOL:
		return datum_signed(value->b);
	case VALUE_STRING:
		return datum_text(value->text, (uint32_t)value->len);
	default:
		return (struct datum){0};
	}
}

struct datum event_reading(struct runtime *rt, uint32_t number_of)
{
	const struct runtime_reading *reading = &rt->readings[number_of];
	int32_t cpu = rt->run->cpu;
	struct value value;

	if (reading->held) {
		const struct value *held = held_find(reading->held, cpu, rt->time);
		if (held)
			return value_datum(held);
		interval_window_mark(rt->window);
	}
	struct run one = *rt->run;
	one.first = rt->entry;
	one.count = 1;
	where_value(reading->pass, &one, &value);
	if (reading->held)
		held_set(reading->held, cpu, rt->time, interval_window_holds(rt->window), &value);
	struct datum datum = value_datum(&value);
	return datum.kind == DATUM_TEXT ? keep_text(rt, datum.text, datum.len) : datum;
}

static struct datum thread_datum(struct runtime *rt, const struct bound_thread *thread)
{
	if (thread->from == THREAD_FIELD)
		return placed_field(rt, &thread->field);
	return thread->from == THREAD_READING ? event_reading(rt, thread->reading)
					      : (struct datum){0};
}

/* Found once for each event, which may name it several times. */
static struct datum tid_of(struct runtime *rt)
{
	const struct stream *stream = rt->run->stream;

	if (stream->tid >= 0)
		return datum_signed(stream->tid);
	if (!rt->has_tid)
		rt->tid = thread_datum(rt, &rt->class->tid);
	rt->has_tid = true;
	return rt->tid;
}

/* Each CPU has an idle thread; the kernel calls them swapper/0, swapper/1 ... */
static struct datum comm_of(struct runtime *rt)
{
	struct datum name = thread_datum(rt, &rt->class->comm), tid;

	if (name.kind != DATUM_UNKNOWN || rt->run->cpu < 0)
		return name;
	tid = tid_of(rt);
	if (tid.kind != DATUM_NUMBER || tid.u != 0)
		return name;
	const char *text = arena_printf(rt->texts, "swapper/%d", (int)rt->run->cpu);
	return datum_text(text, (uint32_t)strlen(text));
}

struct datum event_builtin(struct runtime *rt, enum builtin builtin)
{
	const struct stream *stream = rt->has_event ? rt->run->stream : NULL;

	switch (builtin) {
	case BUILTIN_NSECS:
		return rt->time == NSTIME_MIN ? (struct datum){0} : datum_signed(rt->time);
	case BUILTIN_ELAPSED:
		return rt->time == NSTIME_MIN ? (struct datum){0}
					      : datum_of((__int128)rt->time - rt->start);
	case BUILTIN_PID:
		return stream->pid >= 0 ? datum_signed(stream->pid)
					: thread_datum(rt, &rt->class->pid);
	case BUILTIN_TID:
		return tid_of(rt);
	case BUILTIN_COMM:
		return comm_of(rt);
	case BUILTIN_CPU:
		return rt->run->cpu < 0 ? (struct datum){0} : datum_signed(rt->run->cpu);
	case BUILTIN_PROBE:
		return datum_text(rt->probe->name, (uint32_t)strlen(rt->probe->name));
	case BUILTIN_KSTACK:
	case BUILTIN_USTACK:
		return event_stack(rt, builtin == BUILTIN_KSTACK, INT32_MAX);
	}
	return (struct datum){0};
}

/* As bpftrace prints a stack: a line for each frame, the innermost first. */
struct datum event_stack(struct runtime *rt, bool kernel, int64_t most)
{
	const struct frame *frames;
	struct buf *out = &rt->line;

	if (!decode(rt) || !symbols_has_frames(rt->fields.class))
		return (struct datum){0};
	size_t count = symbols_frames(rt->symbols, rt->time, &rt->fields, 0, &frames);
	buf_clear(out);
	buf_add_char(out, '\n');
	for (size_t i = 0; i < count && most > 0; i++) {
		if (frames[i].kernel != kernel)
			continue;
		most--;
		if (frames[i].symbol.function)
			buf_printf(out, "    %s+%llu\n", frames[i].symbol.function,
				   (unsigned long long)frames[i].symbol.offset);
		else
			buf_printf(out, "    0x%llx\n", (unsigned long long)frames[i].address);
	}
	return keep_text(rt, out->data, out->len);
}

struct datum event_symbol(struct runtime *rt, bool kernel, struct datum address)
{
	struct symbol symbol = {0};
	bool found = false;

	if (address.kind != DATUM_NUMBER)
		return (struct datum){0};
	if (rt->symbols && kernel) {
		found = symbols_find(rt->symbols, rt->run->stream->part, rt->time, 0, true,
				     address.u, 0, &symbol);
	} else if (rt->symbols) {
		struct datum pid = event_builtin(rt, BUILTIN_PID);
		found = pid.kind == DATUM_NUMBER &&
			symbols_find_process(rt->symbols, rt->time, pid.s, address.u, &symbol);
	}
	const char *text = found && symbol.function ? symbol.function
						    : arena_printf(rt->texts, "0x%llx",
								   (unsigned long long)address.u);
	return datum_text(text, (uint32_t)strlen(text));
}
