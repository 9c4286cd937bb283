/*
 * event.c - typed views of slots
 *
 * A view has its class and the slots of its scope or element, so that a struct's member is found
 * without decoding. Array elements that are not plain scalars are decoded when they are visited.
 */
#include "engine/event.h"

#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/layout.h"

#include <string.h>

/* The fields in whose `data` the positions of this scope's slots are. */
static const struct fields *holder(const struct fields *fields, enum scope scope)
{
	return fields->packet && scope <= SCOPE_PACKET_CONTEXT ? fields->packet : fields;
}

bool fields_scope(const struct fields *fields, enum scope scope, struct field *out)
{
	const struct field_class *class = fields->class->scope[scope];
	const struct slot *inside;

	if (scope == SCOPE_PACKET_HEADER)
		inside = fields->packet_header;
	else if (scope == SCOPE_PACKET_CONTEXT)
		inside = fields->packet_context;
	else if (scope == SCOPE_EVENT_HEADER)
		inside = NULL;
	else
		inside = fields->slots + fields->class->slot_base[scope];
	if (!class || !inside)
		return false;
	*out = (struct field){.class = class, .in = holder(fields, scope), .inside = inside};
	return true;
}

static const enum scope search_order[] = {SCOPE_PAYLOAD, SCOPE_EVENT_CONTEXT,
					  SCOPE_STREAM_EVENT_CONTEXT, SCOPE_PACKET_CONTEXT,
					  SCOPE_PACKET_HEADER};
enum { SEARCHED = sizeof search_order / sizeof *search_order };

/* The scope's member of that name; of the stream event context also by its "context_" name. */
static const struct member *scope_member(const struct event_class *class, enum scope scope,
					 const char *name)
{
	const struct member *member = field_member(class->scope[scope], name);

	if (member || scope != SCOPE_STREAM_EVENT_CONTEXT ||
	    strncmp(name, "context_", strlen("context_")) != 0)
		return member;
	return field_context_member(class->scope[scope], class->scope[SCOPE_EVENT_CONTEXT], name);
}

bool field_path_find(const struct event_class *class, unsigned scopes, const char *const *names,
		     size_t n, struct field_path *out)
{
	*out = (struct field_path){0};
	for (size_t i = 0; i < SEARCHED; i++) {
		const struct field_class *at = class->scope[search_order[i]];
		if (!(scopes & 1u << search_order[i]) || !at || !n)
			continue;
		const struct member *first = scope_member(class, search_order[i], names[0]);
		if (!first)
			continue;
		at = first->class;
		for (size_t k = 1; k < n; k++) {
			const struct member *member =
				at->kind == FIELD_STRUCT ? field_member(at, names[k]) : NULL;
			if (!member)
				return false;
			at = member->class;
		}
		*out = (struct field_path){search_order[i], at->slot, at};
		return true;
	}
	return false;
}

bool field_path_find_int(const struct event_class *class, unsigned scopes, const char *name,
			 struct field_path *out)
{
	if (field_path_find(class, scopes, &name, 1, out) && out->class->kind == FIELD_INT)
		return true;
	out->class = NULL;
	return false;
}

struct event_thread event_thread_of(const struct event_class *class)
{
	static const struct {
		const char *tid, *pid;
		bool payload; /* or in it */
	} names[] = {{"tid", "pid", false},
		     {"vtid", "vpid", false},
		     {"perf_tid", "perf_pid", true},
		     {"common_pid", NULL, false}};
	unsigned context = 1u << SCOPE_EVENT_CONTEXT | 1u << SCOPE_STREAM_EVENT_CONTEXT;
	struct event_thread out = {0};

	for (size_t i = 0; i < sizeof names / sizeof *names && !out.tid.class; i++) {
		unsigned scopes = names[i].payload ? context | 1u << SCOPE_PAYLOAD : context;
		if (!field_path_find_int(class, scopes, names[i].tid, &out.tid))
			continue;
		if (names[i].pid)
			field_path_find_int(class, scopes, names[i].pid, &out.pid);
		out.name = names[i].tid;
	}
	return out;
}

void fields_at(const struct fields *fields, const struct field_path *path, struct field *out)
{
	const struct slot *inside;

	if (path->scope == SCOPE_PACKET_CONTEXT)
		inside = fields->packet_context;
	else if (path->scope == SCOPE_PACKET_HEADER)
		inside = fields->packet_header;
	else
		inside = fields->slots + fields->class->slot_base[path->scope];
	field_view(path->class, holder(fields, path->scope), inside, out);
}

int64_t fields_number(const struct fields *fields, const struct field_path *path, int64_t none)
{
	struct field field;

	if (!path->class)
		return none;
	fields_at(fields, path, &field);
	return field.slot.s;
}

/* Moves *field to the element with the decimal number `text` or the member `text`; false: none. */
static bool step_into(struct field *field, const char *text, struct slot **scratch)
{
	struct field_iter iter;
	bool found = false;
	const char *rest = text;
	uint64_t wanted = decimal_take(&rest, NULL);

	if (field->class->kind == FIELD_VARIANT && field->slot.n >= field->class->nmembers)
		return false;
	if (field->class->kind == FIELD_VARIANT) { /* the chosen option, then the name in it */
		const struct member *option = &field->class->members[field->slot.n];
		struct field inner;
		field_view(option->class, field->in, field->inside, &inner);
		*field = inner;
		if (!strcmp(option->name, text) || !strcmp(option->written, text))
			return true;
		return field->class->kind != FIELD_INT && field->class->kind != FIELD_STRING &&
		       step_into(field, text, scratch);
	}
	if (field->class->kind == FIELD_STRUCT) {
		const struct member *member = field_member(field->class, text);
		struct field inner;
		if (!member)
			return false;
		field_view(member->class, field->in, field->inside, &inner);
		*field = inner;
		return true;
	}
	if (!*text || *rest ||
	    (field->class->kind != FIELD_ARRAY && field->class->kind != FIELD_SEQUENCE))
		return false;
	const struct field of = *field;
	field_iter_begin(&iter, &of);
	while (!found && field_iter_next(&iter))
		found = iter.index - 1 == wanted;
	if (found) {
		*field = iter.item;
		mem_free(*scratch); /* slots of an outer element are not needed any more */
		*scratch = iter.scratch;
		iter.scratch = NULL;
	}
	field_iter_end(&iter);
	return found;
}

bool fields_get(const struct fields *fields, unsigned scopes, const char *const *names, size_t n,
		struct field *out)
{
	struct slot *scratch = NULL;
	bool found = false;

	for (size_t i = 0; i < SEARCHED && !found; i++) {
		const struct member *first;
		struct field scope;
		if (!(scopes & 1u << search_order[i]) || !n ||
		    !fields_scope(fields, search_order[i], &scope) ||
		    !(first = scope_member(fields->class, search_order[i], names[0])))
			continue;
		found = true;
		field_view(first->class, scope.in, scope.inside, out);
		for (size_t k = 1; k < n && found; k++)
			found = step_into(out, names[k], &scratch);
		break;
	}
	/* the slots of an element are freed here: the field's own value is a copy, its members' not
	 */
	if (found && scratch)
		out->inside = NULL;
	mem_free(scratch);
	return found;
}

void field_iter_begin(struct field_iter *iter, const struct field *of)
{
	*iter = (struct field_iter){.of = of, .at = of->slot.at};
	switch (of->class->kind) {
	case FIELD_STRUCT:
		iter->count = of->inside ? of->class->nmembers : 0;
		break;
	case FIELD_VARIANT:
		iter->count = of->slot.n < of->class->nmembers && of->inside;
		break;
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		iter->count = of->slot.n;
		if (of->class->element_layout)
			iter->scratch = mem_new_array(layout_slots(of->class->element_layout) + 1,
						      sizeof *iter->scratch);
		break;
	default:
		break;
	}
}

static bool next_element(struct field_iter *iter)
{
	const struct field *of = iter->of;
	const struct field_class *element = of->class->element;

	if (!of->class->element_layout) {
		iter->item = (struct field){.class = element, .in = of->in};
		iter->item.slot.u = layout_scalar(element, of->in->data, iter->at);
		iter->at += layout_stride(element);
		return true;
	}
	struct layout_input in = {.data = of->in->data,
				  .bits = of->in->bits,
				  .at = iter->at,
				  .registers = of->in->registers};
	if (!layout_decode(of->class->element_layout, &in, iter->scratch))
		return false; /* cannot happen: decoding the event passed over it */
	iter->at = in.at;
	field_view(element, of->in, iter->scratch, &iter->item);
	return true;
}

bool field_iter_next(struct field_iter *iter)
{
	const struct field *of = iter->of;

	if (of->class->kind == FIELD_STRUCT)
		while (iter->index < iter->count && of->class->members[iter->index].hidden)
			iter->index++;
	if (iter->index >= iter->count)
		return false;
	uint64_t i = iter->index++;
	if (of->class->kind == FIELD_ARRAY || of->class->kind == FIELD_SEQUENCE)
		return next_element(iter);
	const struct member *member =
		&of->class->members[of->class->kind == FIELD_STRUCT ? i : of->slot.n];
	iter->name = member->name;
	field_view(member->class, of->in, of->inside, &iter->item);
	return true;
}

void field_iter_end(struct field_iter *iter)
{
	mem_free(iter->scratch);
	iter->scratch = NULL;
}

bool field_is_text(const struct field *field)
{
	const struct field_class *class = field->class;

	if (class->kind == FIELD_STRING || class->is_wide)
		return true;
	return (class->kind == FIELD_ARRAY || class->kind == FIELD_SEQUENCE) &&
	       class->element->kind == FIELD_INT && class->element->is_text;
}

/* Hexadecimal digit `digit` of a wide integer, an array of bits or bytes. */
static unsigned wide_digit(const struct field *field, uint64_t digit)
{
	const struct field_class *element = field->class->element;
	unsigned bits = element->bits, value = 0;

	for (uint64_t bit = digit * 4; bit < digit * 4 + 4 && bit / bits < field->slot.n; bit++) {
		uint64_t place = bit / bits;
		if (element->big_endian)
			place = field->slot.n - 1 - place;
		uint64_t whole = layout_scalar(element, field->in->data,
					       field->slot.at + place * layout_stride(element));
		value |= (unsigned)(whole >> bit % bits & 1) << bit % 4;
	}
	return value;
}

static const uint8_t *wide_text(const struct field *field, struct buf *scratch, size_t *len)
{
	uint64_t digits = (field->slot.n * field->class->element->bits + 3) / 4;

	buf_clear(scratch);
	buf_add_text(scratch, "0x");
	while (digits--)
		buf_add_char(scratch, "0123456789abcdef"[wide_digit(field, digits)]);
	*len = scratch->len;
	return (const uint8_t *)buf_text(scratch);
}

/* Appends UTF-16 or UTF-32 up to its first zero as UTF-8; ignores half a code unit at the end. */
static void convert_text(enum text_encoding encoding, const uint8_t *bytes, size_t count,
			 struct buf *out)
{
	bool big = encoding == ENCODING_UTF16BE || encoding == ENCODING_UTF32BE;
	bool wide = encoding == ENCODING_UTF32BE || encoding == ENCODING_UTF32LE;
	unsigned unit = wide ? 4 : 2;

	for (; count >= unit; bytes += unit, count -= unit) {
		uint32_t code = (uint32_t)(big ? load_be(bytes, unit) : load_le(bytes, unit));
		if (!code)
			return;
		if (!wide && code >> 10 == 0xd800 >> 10 && count >= 4) { /* the first of a pair */
			uint32_t low = (uint32_t)(big ? load_be(bytes + 2, 2) : load_le(bytes + 2, 2));
			if (low >> 10 == 0xdc00 >> 10) {
				code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
				bytes += 2;
				count -= 2;
			}
		}
		bool is_none = code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff);
		utf8_add(out, is_none ? 0xfffd : code); /* U+FFFD for an invalid code */
	}
}

const uint8_t *field_bytes(const struct field *field, struct buf *scratch, size_t *len)
{
	const uint8_t *bytes;
	size_t count = (size_t)field->slot.n;

	if (field->class->kind == FIELD_STRING) {
		*len = count;
		return field->slot.bytes;
	}
	if (field->class->is_wide)
		return wide_text(field, scratch, len);
	if (field->class->encoding) {
		buf_clear(scratch);
		convert_text(field->class->encoding, field->in->data + field->slot.at / 8, count,
			     scratch);
		*len = scratch->len;
		return (const uint8_t *)buf_text(scratch);
	}
	if (field->slot.at % 8 == 0 && layout_stride(field->class->element) == 8) {
		bytes = field->in->data + field->slot.at / 8;
	} else {
		struct field_iter iter;
		buf_clear(scratch);
		field_iter_begin(&iter, field);
		while (field_iter_next(&iter))
			buf_add_char(scratch, (char)iter.item.slot.u);
		field_iter_end(&iter);
		bytes = (const uint8_t *)buf_text(scratch);
		count = scratch->len;
	}
	if (field_is_text(field) && count) {
		const uint8_t *zero = memchr(bytes, 0, count);
		count = zero ? (size_t)(zero - bytes) : count;
	}
	*len = count;
	return bytes;
}
