/* told.c - see told.h */
#include "tests/engine/told.h"

#include "engine/base/mem.h"
#include "tests/engine/decoded.h"
#include "tests/engine/merged.h"
#include "tests/harness.h"

#include <inttypes.h>
#include <stdio.h>

static void say(void *arg, enum notice_kind kind, const char *text)
{
	struct told *told = arg;

	told->damages += kind == NOTICE_DAMAGE;
	told->warnings += kind == NOTICE_WARNING;
	snprintf(told->last, sizeof told->last, "%s", text);
}

static void add_value(struct buf *out, const struct field *field)
{
	struct field_iter iter;
	struct buf scratch = {0};
	size_t len;
	bool first = true;
	bool array = field->class->kind == FIELD_ARRAY || field->class->kind == FIELD_SEQUENCE;

	if (field_is_text(field)) {
		const uint8_t *bytes = field_bytes(field, &scratch, &len);
		buf_add(out, bytes, len);
		buf_release(&scratch);
		return;
	}
	if (field->class->kind == FIELD_INT) {
		if (field->class->is_signed)
			buf_add_i64(out, field->slot.s);
		else
			buf_add_u64(out, field->slot.u);
		return;
	}
	if (field->class->kind == FIELD_FLOAT) {
		buf_printf(out, "%g", field->slot.f);
		return;
	}
	buf_add_char(out, array ? '[' : '{');
	field_iter_begin(&iter, field);
	for (; field_iter_next(&iter); first = false) {
		if (!first)
			buf_add_char(out, ' ');
		if (!array)
			buf_printf(out, "%s=", iter.name);
		add_value(out, &iter.item);
	}
	field_iter_end(&iter);
	buf_add_char(out, array ? ']' : '}');
}

static char *describe(const struct fields *fields)
{
	static const enum scope scopes[] = {SCOPE_STREAM_EVENT_CONTEXT, SCOPE_PAYLOAD};
	struct buf out = {0};
	struct field scope;
	struct field_iter iter;

	buf_add_text(&out, fields->class->name);
	for (size_t i = 0; i < COUNT(scopes); i++) {
		buf_add_text(&out, " |");
		if (!fields_scope(fields, scopes[i], &scope))
			continue;
		field_iter_begin(&iter, &scope);
		while (field_iter_next(&iter)) {
			buf_printf(&out, " %s=", iter.name);
			add_value(&out, &iter.item);
		}
		field_iter_end(&iter);
	}
	return out.data;
}

static void add_event(void *arg, struct events *events, const struct event *event)
{
	struct told *out = arg;
	struct fields fields;
	struct error err;

	assert_true(events_fields(events, event, &fields, &err));
	assert_true(event->time == (nstime)out->count);
	*mem_push(out->items, out->count, out->capacity) = describe(&fields);
}

static void count_packets(struct trace *trace, struct told *out)
{
	struct records records = {0};

	records_scan(trace, trace->streams[0], NULL, &records);
	out->packets = records.count;
	records_release(&records);
}

void tell_path(const char *path, const char *input, struct told *out)
{
	struct trace_options options = {.paths = &path, .npaths = 1, .input = input};
	struct trace *trace;

	*out = (struct told){0};
	options.notices = (struct notices){.say = say, .arg = out};
	out->opened = trace_open(&options, &trace, &out->err);
	if (out->opened) {
		const struct index_options in_memory = {
			.none = true, .jobs = 1, .notices = trace->notices};
		merged_each(trace, &in_memory, add_event, out);
		count_packets(trace, out);
		for (size_t i = 0; i < trace->parts[0]->nenv; i++) {
			const struct env_entry *entry = &trace->parts[0]->env[i];
			buf_printf(&out->env, "%s=", entry->name);
			if (entry->text)
				buf_printf(&out->env, "%s\n", entry->text);
			else
				buf_printf(&out->env, "%" PRId64 "\n", entry->number);
		}
		trace_close(trace);
	}
}

void tell(const void *bytes, size_t size, const char *input, struct told *out)
{
	char *folder = scratch_folder(), *path = path_join(folder, "trace.tf");

	write_file(path, bytes, size);
	tell_path(path, input, out);
	mem_free(path);
	scratch_remove(folder);
}

void told_release(struct told *told)
{
	for (size_t i = 0; i < told->count; i++)
		mem_free(told->items[i]);
	mem_free(told->items);
	buf_release(&told->env);
}

void expect(const struct told *told, const char *const *seen, size_t count)
{
	if (!told->opened)
		fail_msg("%s", told->err.text);
	for (size_t i = 0; i < count && i < told->count; i++)
		assert_string_equal(told->items[i], seen[i]);
	assert_int_equal(told->count, count);
}
