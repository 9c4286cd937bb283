/* event.c - reads the current event: fields, builtins, stacks and the state at its time */
#include "oneliner/runtime.h"

#include "state/model/value.h"

#include <string.h>

static bool decode_fields(struct runtime *rt)
{
	struct error ignored; /* the cursor reports damage; the event has no values */

	if (rt->decoded == DECODED_NOT)
		rt->decoded = rt->run->reader->decoder_fields(rt->run->decoder, rt->run->batch,
							      rt->entry, &rt->fields, &ignored)
				      ? DECODED_YES
				      : DECODED_DAMAGED;
	return rt->decoded == DECODED_YES;
}

static struct value keep_text(struct runtime *rt, const void *text, size_t len)
{
	return value_text(arena_strndup(rt->texts, text, len), (uint32_t)len);
}

/* Numbers and texts as they are; a value of any other kind becomes unknown. */
static struct value value_known(const struct value *value)
{
	if (value->kind == VALUE_BOOL)
		return value_s64(value->b);
	return value->kind == VALUE_INT || value->kind == VALUE_STRING ? *value : (struct value){0};
}

static struct value value_of_field(struct runtime *rt, const struct field *field)
{
	struct value value;

	if (field_value(field, &rt->env, &value) != EVAL_VALUE)
		return (struct value){0};
	return value_known(&value);
}

static struct value field_number(const struct bound_field *field, uint64_t value)
{
	return field->is_signed ? value_s64((int64_t)value) : value_u64(value);
}

static struct value placed_field(struct runtime *rt, const struct bound_field *field)
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
			return field_number(
				field,
				slots[class->slot_base[field->path.scope] + field->path.slot].u);
		if (rt->decoded == DECODED_NOT && field->column.placed &&
		    run->reader->decoder_column &&
		    run->reader->decoder_column(run->decoder, run->batch, &entry, 1,
						&field->column.place, &value))
			return field_number(field, value);
	}
	if (!decode_fields(rt) ||
	    (field->path.scope == SCOPE_PACKET_CONTEXT && !rt->fields.packet_context))
		return (struct value){0};
	fields_at(&rt->fields, &field->path, &out);
	return value_of_field(rt, &out);
}

struct value event_field(struct runtime *rt, uint32_t number_of)
{
	const struct bound_field *field = &rt->probe->fields[number_of - rt->probe->first];
	const struct field_use *use = &rt->bound->program->fields[number_of];
	struct field out;

	if (field->path.class)
		return placed_field(rt, field);
	if (!decode_fields(rt) || !fields_get(&rt->fields, ~0u, use->names, use->nnames, &out))
		return (struct value){0};
	return value_of_field(rt, &out);
}

struct value event_label(struct runtime *rt, uint32_t number_of)
{
	const struct bound_field *field = &rt->probe->fields[number_of - rt->probe->first];
	struct value value = event_field(rt, number_of);
	uint32_t next = 0;
	const char *label = NULL;

	if (field->path.class && value.kind == VALUE_INT)
		label = field_label(field->path.class, value.u, &next);
	return label ? value_text(label, strlen(label)) : (struct value){0};
}

/* Copies a text into rt->texts, where it lives as long as the event. */
struct value event_reading(struct runtime *rt, uint32_t number_of)
{
	struct value value;

	reading_value(rt->readings[number_of], rt->run, rt->entry, &value);
	value = value_known(&value);
	return value.kind == VALUE_STRING ? keep_text(rt, value.text, value.len) : value;
}

static struct value value_of_thread(struct runtime *rt, const struct bound_thread *thread)
{
	if (thread->from == THREAD_FIELD)
		return placed_field(rt, &thread->field);
	return thread->from == THREAD_READING ? event_reading(rt, thread->reading)
					      : (struct value){0};
}

/* The event's thread; found once per event, and stored for further uses. */
static struct value tid_of(struct runtime *rt)
{
	const struct stream *stream = rt->run->stream;

	if (stream->tid >= 0)
		return value_s64(stream->tid);
	if (!rt->has_tid)
		rt->tid = value_of_thread(rt, &rt->class->tid);
	rt->has_tid = true;
	return rt->tid;
}

/* Each CPU has an idle thread; the kernel calls them swapper/0, swapper/1 ... */
static struct value comm_of(struct runtime *rt)
{
	struct value name = value_of_thread(rt, &rt->class->comm), tid;

	if (name.kind != VALUE_UNKNOWN || rt->run->cpu < 0)
		return name;
	tid = tid_of(rt);
	if (tid.kind != VALUE_INT || tid.u != 0)
		return name;
	const char *text = arena_printf(rt->texts, "swapper/%d", (int)rt->run->cpu);
	return value_text(text, (uint32_t)strlen(text));
}

struct value event_builtin(struct runtime *rt, enum builtin builtin)
{
	const struct stream *stream = rt->has_event ? rt->run->stream : NULL;
	const char *name;

	switch (builtin) {
	case BUILTIN_NSECS:
	case BUILTIN_TS:
		return rt->time == NSTIME_MIN ? (struct value){0} : value_s64(rt->time);
	case BUILTIN_ELAPSED:
		return rt->time == NSTIME_MIN ? (struct value){0}
					      : value_wrapped((__int128)rt->time - rt->start);
	case BUILTIN_PID:
		return stream->pid >= 0 ? value_s64(stream->pid)
					: value_of_thread(rt, &rt->class->pid);
	case BUILTIN_TID:
		return tid_of(rt);
	case BUILTIN_COMM:
		return comm_of(rt);
	case BUILTIN_CPU:
		return rt->run->cpu < 0 ? (struct value){0} : value_s64(rt->run->cpu);
	case BUILTIN_PROBE:
		return value_text(rt->probe->name, (uint32_t)strlen(rt->probe->name));
	case BUILTIN_NAME:
		name = rt->bound->trace->classes[rt->run->batch->class_index[rt->entry]]->name;
		return value_text(name, (uint32_t)strlen(name));
	case BUILTIN_STREAM:
		return value_text(stream->name, (uint32_t)strlen(stream->name));
	case BUILTIN_KSTACK:
	case BUILTIN_USTACK:
		return event_stack(rt, builtin == BUILTIN_KSTACK, INT32_MAX);
	}
	return (struct value){0};
}

/* As bpftrace prints a stack: a line for each frame, the innermost first. */
struct value event_stack(struct runtime *rt, bool kernel, int64_t most)
{
	const struct frame *frames;
	struct buf *out = &rt->line;

	if (!decode_fields(rt) || !symbols_has_frames(rt->fields.class))
		return (struct value){0};
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

struct value event_symbol(struct runtime *rt, bool kernel, struct value address)
{
	struct symbol symbol = {0};
	bool found = false;

	if (address.kind != VALUE_INT)
		return (struct value){0};
	if (rt->symbols && kernel) {
		found = symbols_find(rt->symbols, rt->run->stream->part, rt->time, 0, true,
				     address.u, 0, &symbol);
	} else if (rt->symbols) {
		struct value pid = event_builtin(rt, BUILTIN_PID);
		found = pid.kind == VALUE_INT &&
			symbols_find_process(rt->symbols, rt->time, (int64_t)pid.u, address.u,
					     &symbol);
	}
	const char *text = found && symbol.function ? symbol.function
						    : arena_printf(rt->texts, "0x%llx",
								   (unsigned long long)address.u);
	return value_text(text, (uint32_t)strlen(text));
}
