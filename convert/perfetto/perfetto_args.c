/*
 * perfetto_args.c - values of events as debug annotations
 *
 * Annotations have types: integers, floats, texts, lists, structures. Addresses and integers shown
 * in base 16 are pointers. After an enumeration `x` its labels stand as `x_label`, as in tables; in
 * a list, where there are no names, each element is a structure of `value` and `label`. Fields of
 * contexts stand in a structure `context`.
 */
#include "convert/perfetto/perfetto_internal.h"
#include "engine/base/quote.h"

#include <string.h>

/* Fields of DebugAnnotation. */
enum {
	ANNOTATION_NAME = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME_TEXT = 10,
	ANNOTATION_ENTRIES = 11,
	ANNOTATION_ELEMENTS = 12
};

/*
 * Returns the number of an interned name. `key`, a pointer that lives as long as the trace, finds
 * it in a cache.
 */
static uint64_t interned_name(struct perfetto *perfetto, const void *key, const char *name)
{
	struct sequence *sequence = &perfetto->events;
	uint64_t hash = hash_number((uint64_t)(uintptr_t)key);
	struct name_cache *cached = &perfetto->name_cache[hash % NAME_CACHE];

	if (cached->key != key || cached->generation != sequence->generation)
		*cached = (struct name_cache){
			key, sequence->generation,
			perfetto_intern_text(sequence, INTERN_ANNOTATION_NAMES, name)};
	return cached->iid;
}

static uint64_t word(struct perfetto *perfetto, const char *literal)
{
	return interned_name(perfetto, literal, literal);
}

static void perfetto_args_add_number(struct buf *out, const struct field *field)
{
	const struct field_class *class = field->class;

	if (class->form == FORM_BOOL)
		protobuf_uint(out, ANNOTATION_BOOL, field->slot.u != 0);
	else if (class->is_address || (class->base == 16 && !class->is_signed))
		protobuf_uint(out, ANNOTATION_POINTER, field->slot.u);
	else if (class->is_signed)
		protobuf_int(out, ANNOTATION_INT, field->slot.s);
	else
		protobuf_uint(out, ANNOTATION_UINT, field->slot.u);
}

static bool has_labels(const struct field *field)
{
	return field->class->kind == FIELD_INT && (field->class->is_enum || field->class->nlabels);
}

/* Adds the value's labels, joined by '|'; false: it has none. */
static bool add_labels(struct buf *out, const struct field *field)
{
	struct buf text = {0};
	const char *label;
	uint32_t next = 0;

	while ((label = field_label(field->class, field->slot.u, &next))) {
		if (text.len)
			buf_add_char(&text, '|');
		buf_add_text(&text, label);
	}
	bool some = text.data != NULL;
	if (some)
		protobuf_bytes(out, ANNOTATION_STRING, text.data, text.len);
	buf_release(&text);
	return some;
}

static void perfetto_args_add_value(struct perfetto *perfetto, struct buf *out,
				    const struct field *field);

/* Adds an annotation with a value; `name` 0: it is a list's element. */
static void add_item(struct perfetto *perfetto, struct buf *out, unsigned number, uint64_t name,
		     const struct field *field)
{
	size_t item = protobuf_begin(out, number);

	if (name)
		protobuf_uint(out, ANNOTATION_NAME, name);
	perfetto_args_add_value(perfetto, out, field);
	protobuf_end(out, item);
}

/* Adds an annotation with the value's labels, if there are any. */
static void add_label_item(struct buf *out, unsigned number, uint64_t name,
			   const struct field *field)
{
	size_t before = out->len, item = protobuf_begin(out, number);

	protobuf_uint(out, ANNOTATION_NAME, name);
	if (add_labels(out, field))
		protobuf_end(out, item);
	else
		out->len = before;
}

static uint64_t label_name(struct perfetto *perfetto, const struct field *field, const char *name)
{
	const void *key = (const char *)field->class + 1; /* a key different from the field's own */
	struct buf text = {0};

	buf_printf(&text, "%s_label", name);
	uint64_t iid = interned_name(perfetto, key, buf_text(&text));
	buf_release(&text);
	return iid;
}

static void add_member(struct perfetto *perfetto, struct buf *out, unsigned number,
		       const char *name, const struct field *field)
{
	add_item(perfetto, out, number, interned_name(perfetto, field->class, name), field);
	if (has_labels(field))
		add_label_item(out, number, label_name(perfetto, field, name), field);
}

static void add_items(struct perfetto *perfetto, struct buf *out, const struct field *field)
{
	struct field_iter iter;

	field_iter_begin(&iter, field);
	while (field_iter_next(&iter)) {
		if (field->class->kind == FIELD_STRUCT) {
			add_member(perfetto, out, ANNOTATION_ENTRIES, iter.name, &iter.item);
		} else if (has_labels(&iter.item)) {
			size_t item = protobuf_begin(out, ANNOTATION_ELEMENTS);
			add_item(perfetto, out, ANNOTATION_ENTRIES, word(perfetto, "value"),
				 &iter.item);
			add_label_item(out, ANNOTATION_ENTRIES, word(perfetto, "label"),
				       &iter.item);
			protobuf_end(out, item);
		} else {
			add_item(perfetto, out, ANNOTATION_ELEMENTS, 0, &iter.item);
		}
	}
	field_iter_end(&iter);
}

static void add_bytes(struct buf *out, const struct field *field)
{
	struct buf scratch = {0}, text = {0};
	size_t len;
	const uint8_t *bytes = field_bytes(field, &scratch, &len);

	if (field->class->is_blob) {
		quote_base64(&text, bytes, len);
		/* strip JSON's quotes */
		protobuf_bytes(out, ANNOTATION_STRING, text.data + 1, text.len - 2);
	} else {
		perfetto_text(out, ANNOTATION_STRING, bytes, len);
	}
	buf_release(&scratch);
	buf_release(&text);
}

static void add_option(struct perfetto *perfetto, struct buf *out, const struct field *field)
{
	struct field_iter iter;

	field_iter_begin(&iter, field);
	if (field_iter_next(&iter))
		perfetto_args_add_value(perfetto, out, &iter.item);
	field_iter_end(&iter);
}

static void perfetto_args_add_value(struct perfetto *perfetto, struct buf *out,
				    const struct field *field)
{
	const struct field_class *class = field->class;

	switch (class->kind) {
	case FIELD_INT:
		perfetto_args_add_number(out, field);
		return;
	case FIELD_FLOAT:
		protobuf_double(out, ANNOTATION_DOUBLE, field->slot.f);
		return;
	case FIELD_STRING:
		perfetto_text(out, ANNOTATION_STRING, field->slot.bytes, (size_t)field->slot.n);
		return;
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		if (class->is_blob || field_is_text(field))
			add_bytes(out, field);
		else
			add_items(perfetto, out, field);
		return;
	case FIELD_STRUCT:
		add_items(perfetto, out, field);
		return;
	case FIELD_VARIANT:
		add_option(perfetto, out, field);
		return;
	}
}

static void add_scope(struct perfetto *perfetto, struct buf *out, unsigned number,
		      const struct fields *fields, enum scope scope)
{
	const struct field_class *event = fields->class->scope[SCOPE_EVENT_CONTEXT];
	struct field_iter iter;
	struct field all;
	struct buf scratch = {0};

	if (!fields_scope(fields, scope, &all))
		return;
	field_iter_begin(&iter, &all);
	while (field_iter_next(&iter)) {
		const char *name = iter.name;
		if (scope == SCOPE_STREAM_EVENT_CONTEXT)
			name = field_context_name(all.class, event, name, &scratch);
		add_member(perfetto, out, number, name, &iter.item);
	}
	field_iter_end(&iter);
	buf_release(&scratch);
}

void perfetto_args(struct perfetto *perfetto, struct buf *out, const struct fields *fields)
{
	const struct event_class *class = fields->class;

	add_scope(perfetto, out, EVENT_ANNOTATIONS, fields, SCOPE_PAYLOAD);
	if (!class->scope[SCOPE_STREAM_EVENT_CONTEXT] && !class->scope[SCOPE_EVENT_CONTEXT])
		return;
	size_t context = protobuf_begin(out, EVENT_ANNOTATIONS);
	protobuf_uint(out, ANNOTATION_NAME, word(perfetto, "context"));
	add_scope(perfetto, out, ANNOTATION_ENTRIES, fields, SCOPE_STREAM_EVENT_CONTEXT);
	add_scope(perfetto, out, ANNOTATION_ENTRIES, fields, SCOPE_EVENT_CONTEXT);
	protobuf_end(out, context);
}

static void add_named_number(struct buf *out, const char *name, uint64_t number)
{
	size_t item = protobuf_begin(out, EVENT_ANNOTATIONS);

	protobuf_text(out, ANNOTATION_NAME_TEXT, name);
	protobuf_uint(out, ANNOTATION_UINT, number);
	protobuf_end(out, item);
}

void perfetto_loss_args(struct buf *out, const struct event *loss)
{
	if (!loss->lost_unknown)
		add_named_number(out, "events", loss->lost);
	if (loss->lost_packets)
		add_named_number(out, "packets", loss->lost_packets);
}
