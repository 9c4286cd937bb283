/*
 * fields.c - the values of an event as a tree with random access
 *
 * A field lies in the cursor's arena, which is emptied when the cursor moves. Members are listed on
 * first access. Array elements that are plain scalars lie at multiples of their stride, and each is
 * loaded on access. Other elements must be decoded one after the other, and decoding one overwrites
 * the lengths and tags of the last one. So they are listed all at once, with all fields below them.
 */
#include "lib/lib_internal.h"

#include "engine/layout.h"
#include "engine/reader.h"

#include <string.h>

struct items {
	bool listed;
	uint64_t count;
	struct yore_field *fields; /* NULL: plain scalars, loaded on access */
	const char **names;        /* of members or options; NULL: of an array */
};

struct yore_field {
	struct field field;
	struct yore_events *events;
	const struct field
		*second;     /* YORE_CONTEXT: the event's own context; the stream's is `field` */
	struct items *items; /* NULL: a scalar, text or bytes */
};

/* Field classes ------------------------------------------------------------------------------- */

static const struct field_class *fields_class_of(const struct yore_field_class *field_class)
{
	return (const void *)field_class;
}

static enum yore_kind fields_kind_of(const struct field_class *class)
{
	const struct field field = {.class = class};

	switch (class->kind) {
	case FIELD_INT:
		return class->form == FORM_BOOL ? YORE_BOOL
		       : class->is_signed       ? YORE_INT
						: YORE_UINT;
	case FIELD_FLOAT:
		return YORE_DOUBLE;
	case FIELD_STRING:
		return YORE_STRING;
	case FIELD_STRUCT:
		return YORE_STRUCT;
	case FIELD_VARIANT:
		return class->is_optional ? YORE_OPTIONAL : YORE_VARIANT;
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		break;
	}
	return field_is_text(&field) ? YORE_STRING : class->is_blob ? YORE_BYTES : YORE_ARRAY;
}

/* SCOPE_COUNT: no single scope: YORE_CONTEXT, which is two scopes, or an invalid number. */
static enum scope scope_of(enum yore_scope scope)
{
	switch (scope) {
	case YORE_PACKET_HEADER:
		return SCOPE_PACKET_HEADER;
	case YORE_PACKET_CONTEXT:
		return SCOPE_PACKET_CONTEXT;
	case YORE_STREAM_CONTEXT:
		return SCOPE_STREAM_EVENT_CONTEXT;
	case YORE_EVENT_CONTEXT:
		return SCOPE_EVENT_CONTEXT;
	case YORE_PAYLOAD:
		return SCOPE_PAYLOAD;
	case YORE_CONTEXT:
		break;
	}
	return SCOPE_COUNT;
}

const struct yore_field_class *yore_class_scope(const struct yore_class *event_class,
						enum yore_scope scope)
{
	const struct event_class *class = (const void *)event_class;
	enum scope own = scope_of(scope);

	return own == SCOPE_COUNT ? NULL : (const void *)class->scope[own];
}

enum yore_kind yore_field_class_kind(const struct yore_field_class *field_class)
{
	return fields_kind_of(fields_class_of(field_class));
}

unsigned yore_field_class_bits(const struct yore_field_class *field_class)
{
	return fields_class_of(field_class)->bits;
}

unsigned yore_field_class_base(const struct yore_field_class *field_class)
{
	const struct field_class *class = fields_class_of(field_class);

	return class->is_address ? 16 : class->base ? class->base : 10;
}

/* Member i of those that are not hidden. NULL: there is none, and *count is their number. */
static const struct member *shown_member(const struct field_class *class, size_t i, size_t *count)
{
	*count = 0;
	for (uint32_t k = 0; k < class->nmembers; k++)
		if (!class->members[k].hidden && (*count)++ == i)
			return &class->members[k];
	return NULL;
}

size_t yore_field_class_count(const struct yore_field_class *field_class)
{
	const struct field_class *class = fields_class_of(field_class);
	size_t count;

	switch (fields_kind_of(class)) {
	case YORE_STRUCT:
	case YORE_VARIANT:
	case YORE_OPTIONAL:
		shown_member(class, SIZE_MAX, &count);
		return count;
	case YORE_ARRAY:
		return 1;
	default:
		return 0;
	}
}

const struct yore_field_class *yore_field_class_item(const struct yore_field_class *field_class,
						     size_t i, const char **name)
{
	const struct field_class *class = fields_class_of(field_class);
	enum yore_kind kind = fields_kind_of(class);
	size_t count;

	if (name)
		*name = NULL;
	if (kind == YORE_ARRAY)
		return i ? NULL : (const void *)class->element;
	const struct member *member = shown_member(class, i, &count);
	if (!member)
		return NULL;
	if (name && kind != YORE_OPTIONAL)
		*name = member->name;
	return (const void *)member->class;
}

size_t yore_field_class_labels(const struct yore_field_class *field_class)
{
	return fields_class_of(field_class)->nlabels;
}

const char *yore_field_class_label(const struct yore_field_class *field_class, size_t i,
				   uint64_t *low, uint64_t *high)
{
	const struct field_class *class = fields_class_of(field_class);

	if (i >= class->nlabels)
		return NULL;
	*low = class->labels[i].low;
	*high = class->labels[i].high;
	return class->labels[i].name;
}

/* Lists --------------------------------------------------------------------------------------- */

static bool has_items(const struct field_class *class)
{
	enum yore_kind kind = fields_kind_of(class);

	return kind == YORE_STRUCT || kind == YORE_ARRAY || kind == YORE_VARIANT ||
	       kind == YORE_OPTIONAL;
}

static void init_field(struct yore_events *events, const struct field *from, struct yore_field *out)
{
	*out = (struct yore_field){.field = *from, .events = events};
	if (has_items(from->class))
		out->items = arena_alloc(events->arena, sizeof *out->items);
}

static struct yore_field *new_field(struct yore_events *events, const struct field *from)
{
	struct yore_field *field = arena_alloc(events->arena, sizeof *field);

	init_field(events, from, field);
	return field;
}

/* Appends members, or the option of a variant, to `items`; `beside`: see field_context_name(). */
static void list_members(const struct yore_field *of, const struct field *from,
			 const struct field_class *beside)
{
	struct items *items = of->items;
	struct buf scratch = {0};
	struct field_iter iter;

	field_iter_begin(&iter, from);
	while (field_iter_next(&iter)) {
		init_field(of->events, &iter.item, &items->fields[items->count]);
		items->names[items->count++] =
			beside ? arena_strdup(of->events->arena,
					      field_context_name(from->class, beside, iter.name,
								 &scratch))
			       : iter.name;
	}
	field_iter_end(&iter);
	buf_release(&scratch);
}

static void list_structure(const struct yore_field *of)
{
	const struct field_class *second = of->second ? of->second->class : NULL;
	size_t most = of->field.class->nmembers + (second ? second->nmembers : 0);
	struct items *items = of->items;

	items->fields = arena_array(of->events->arena, most + 1, sizeof *items->fields);
	items->names = arena_array(of->events->arena, most + 1, sizeof *items->names);
	list_members(of, &of->field, second);
	if (second)
		list_members(of, of->second, NULL);
}

static void list_all(const struct yore_field *of);

static void list_elements(const struct yore_field *of)
{
	const struct layout *layout = of->field.class->element_layout;
	struct items *items = of->items;
	struct arena *arena = of->events->arena;
	size_t nslots = layout_slots(layout);
	struct field_iter iter;

	items->fields = arena_array(arena, (size_t)of->field.slot.n + 1, sizeof *items->fields);
	field_iter_begin(&iter, &of->field);
	while (field_iter_next(&iter)) {
		struct yore_field *element = &items->fields[items->count++];
		iter.item.inside = arena_copy(arena, iter.scratch, nslots, sizeof *iter.scratch);
		init_field(of->events, &iter.item, element);
		list_all(element);
	}
	field_iter_end(&iter);
}

static struct items *fields_list(const struct yore_field *of)
{
	struct items *items = of->items;

	if (!items || items->listed)
		return items;
	items->listed = true;
	if (fields_kind_of(of->field.class) != YORE_ARRAY)
		list_structure(of);
	else if (of->field.class->element_layout)
		list_elements(of);
	else
		items->count = of->field.slot.n;
	return items;
}

static void list_all(const struct yore_field *of)
{
	const struct items *items = fields_list(of);

	for (uint64_t i = 0; items && items->fields && i < items->count; i++)
		list_all(&items->fields[i]);
}

/* An event's fields --------------------------------------------------------------------------- */

bool lib_decode(struct yore_events *events, struct error *err)
{
	if (!events->on || !events->event.class)
		return error_set(err, ERR_QUERY, "there is no event");
	if (!events->decoded)
		events->decoded =
			events_fields(events->events, &events->event, &events->fields, err);
	return events->decoded;
}

/* The context of the event: of the stream, its own, or a field that joins both. */
static const struct yore_field *find_context(struct yore_events *events)
{
	struct field first, second;
	bool has_first = fields_scope(&events->fields, SCOPE_STREAM_EVENT_CONTEXT, &first);
	bool has_second = fields_scope(&events->fields, SCOPE_EVENT_CONTEXT, &second);

	if (!has_first || !has_second)
		return has_first    ? new_field(events, &first)
		       : has_second ? new_field(events, &second)
				    : NULL;
	struct yore_field *both = new_field(events, &first);
	struct field *kept = arena_alloc(events->arena, sizeof *kept);
	*kept = second;
	both->second = kept;
	return both;
}

static const struct yore_field *find_scope(struct yore_events *events, enum yore_scope scope)
{
	enum scope own = scope_of(scope);
	struct field field;

	if (scope == YORE_CONTEXT)
		return find_context(events);
	if (own == SCOPE_COUNT || !fields_scope(&events->fields, own, &field))
		return NULL;
	return new_field(events, &field);
}

const struct yore_field *yore_event_scope(struct yore_events *events, enum yore_scope scope,
					  struct yore_error *err)
{
	const struct yore_field *found = NULL;
	struct error cause;

	if (lib_decode(events, &cause)) {
		found = find_scope(events, scope);
		if (!found)
			error_set(&cause, ERR_QUERY, "%s has no such scope",
				  events->event.class->name);
	}
	if (!found)
		lib_fail(err, &cause);
	return found;
}

static const struct yore_field *find_field(struct yore_events *events, const char *name)
{
	unsigned scopes = (1u << SCOPE_COUNT) - 1;
	char *rest = arena_strdup(events->arena, name), *at = strsep(&rest, "/");
	const char *const first = at;
	struct field field;

	if (!fields_get(&events->fields, scopes, &first, 1, &field))
		return NULL;
	const struct yore_field *found = new_field(events, &field);
	while (found && (at = strsep(&rest, "/")))
		found = yore_field_get(found, at);
	return found;
}

const struct yore_field *yore_event_field(struct yore_events *events, const char *name,
					  struct yore_error *err)
{
	const struct yore_field *found = NULL;
	struct error cause;

	if (lib_decode(events, &cause)) {
		found = find_field(events, name);
		if (!found)
			error_set(&cause, ERR_QUERY, "%s has no field %s",
				  events->event.class->name, name);
	}
	if (!found)
		lib_fail(err, &cause);
	return found;
}

const char *yore_event_text(struct yore_events *events, struct yore_error *err)
{
	const struct trace *trace = events->yore->trace;
	struct error cause;

	if (!lib_decode(events, &cause)) {
		lib_fail(err, &cause);
		return NULL;
	}
	const struct reader_text *text = trace->parts[events->event.class->part]->reader->text;
	buf_clear(&events->text);
	if (text && text->write(&events->fields, &events->text) != WORDS_NONE)
		return buf_text(&events->text);
	error_set(&cause, ERR_QUERY, "the format has no words for %s", events->event.class->name);
	lib_fail(err, &cause);
	return NULL;
}

/* Values -------------------------------------------------------------------------------------- */

const struct yore_field_class *yore_field_class(const struct yore_field *field)
{
	return field->second ? NULL : (const void *)field->field.class;
}

enum yore_kind yore_field_kind(const struct yore_field *field)
{
	return fields_kind_of(field->field.class);
}

uint64_t yore_field_uint(const struct yore_field *field)
{
	return field->field.class->kind == FIELD_INT ? field->field.slot.u : 0;
}

int64_t yore_field_int(const struct yore_field *field)
{
	return (int64_t)yore_field_uint(field);
}

double yore_field_double(const struct yore_field *field)
{
	const struct field_class *class = field->field.class;

	if (class->kind == FIELD_FLOAT)
		return field->field.slot.f;
	return class->is_signed ? (double)yore_field_int(field) : (double)yore_field_uint(field);
}

const char *yore_field_label(const struct yore_field *field, size_t i)
{
	const struct field_class *class = field->field.class;
	const char *label = NULL;
	uint32_t next = 0;

	if (class->kind != FIELD_INT)
		return NULL;
	do
		label = field_label(class, field->field.slot.u, &next);
	while (label && i--);
	return label;
}

const void *yore_field_bytes(const struct yore_field *field, size_t *len)
{
	enum yore_kind kind = fields_kind_of(field->field.class);
	struct buf scratch = {0};

	*len = 0;
	if (kind != YORE_STRING && kind != YORE_BYTES)
		return NULL;
	const uint8_t *bytes = field_bytes(&field->field, &scratch, len);
	if (scratch.data && bytes == (const uint8_t *)scratch.data)
		bytes = (const uint8_t *)arena_strndup(field->events->arena, scratch.data, *len);
	buf_release(&scratch);
	return bytes;
}

const char *yore_field_text(const struct yore_field *field, size_t *len)
{
	size_t own;

	if (fields_kind_of(field->field.class) != YORE_STRING)
		return NULL;
	const char *bytes = yore_field_bytes(field, len ? len : &own);
	return arena_strndup(field->events->arena, bytes ? bytes : "", len ? *len : own);
}

uint64_t yore_field_count(const struct yore_field *field)
{
	const struct items *items = fields_list(field);

	return items ? items->count : 0;
}

const struct yore_field *yore_field_item(const struct yore_field *field, uint64_t i)
{
	const struct items *items = fields_list(field);
	const struct field *of = &field->field;

	if (!items || i >= items->count)
		return NULL;
	if (items->fields)
		return &items->fields[i];
	struct field item = {.class = of->class->element, .in = of->in};
	item.slot.u = layout_scalar(item.class, of->in->data,
				    of->slot.at + i * layout_stride(item.class));
	return new_field(field->events, &item);
}

const char *yore_field_item_name(const struct yore_field *field, uint64_t i)
{
	const struct items *items = fields_list(field);

	if (!items || !items->names || i >= items->count ||
	    fields_kind_of(field->field.class) == YORE_OPTIONAL)
		return NULL;
	return items->names[i];
}

/* The place of the member with the name among those not hidden; their number: there is none. */
static uint64_t member_place(const struct yore_field *field, const char *name)
{
	const struct field_class *class = field->field.class;
	const struct items *items = field->items;
	const struct member *member = field->second ? NULL : field_member(class, name);
	uint64_t place = 0;

	if (!member) /* if contexts are joined, by the names that list_members() made */
		while (place < items->count && strcmp(items->names[place], name) != 0)
			place++;
	for (const struct member *before = class->members; member && before < member; before++)
		place += !before->hidden;
	return place;
}

/* The index in a decimal text; UINT64_MAX: it is no number. */
static uint64_t element_place(const char *text)
{
	const char *end = text;
	uint64_t place = decimal_take(&end, NULL);

	return *text && !*end ? place : UINT64_MAX;
}

static const struct yore_field *chosen(const struct yore_field *field, const char *name)
{
	const struct yore_field *option = yore_field_item(field, 0);
	const struct field_class *class = field->field.class;

	if (!option)
		return NULL;
	const struct member *member = &class->members[field->field.slot.n];
	if (!class->is_optional && (!strcmp(member->name, name) || !strcmp(member->written, name)))
		return option;
	return yore_field_get(option, name);
}

const struct yore_field *yore_field_get(const struct yore_field *field, const char *name)
{
	if (!fields_list(field))
		return NULL;
	switch (fields_kind_of(field->field.class)) {
	case YORE_STRUCT:
		return yore_field_item(field, member_place(field, name));
	case YORE_ARRAY:
		return yore_field_item(field, element_place(name));
	default:
		return chosen(field, name);
	}
}
