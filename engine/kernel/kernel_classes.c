/*
 * kernel_classes.c - a format's fields become two struct classes and one layout
 *
 * Fields are sorted by offset; bytes between them become gaps. A field that overlaps the one before
 * it, or whose size does not fit its type, is left out of the classes (print formats can use it).
 */
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "engine/field_make.h"
#include "engine/kernel/tracing_internal.h"

#include <stdlib.h>
#include <string.h>

static struct field_class *node(struct tracing *tracing, enum field_kind kind)
{
	struct field_class *class = field_make(tracing->arena, kind);

	class->big_endian = tracing->big_endian;
	return class;
}

static struct field_class *integer(struct tracing *tracing, uint32_t bytes, bool is_signed)
{
	struct field_class *class = node(tracing, FIELD_INT);

	class->bits = bytes * 8;
	class->is_signed = is_signed;
	return class;
}

static void make_address(struct field_class *class)
{
	class->is_address = true;
	class->is_signed = false;
	class->base = 16;
}

static bool has_word(const char *type, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = type; (at = strstr(at, word)) != NULL; at += len) {
		bool begins = at == type || at[-1] == ' ' || at[-1] == '_';
		bool ends = !at[len] || strchr(" [_", at[len]);
		if (begins && ends)
			return true;
	}
	return false;
}

/* Returns the size of an array's element by its type's name; 0: unknown. */
static uint32_t element_bytes(const struct tracing *tracing, const char *type)
{
	static const struct {
		const char *word;
		uint32_t bytes; /* 0: a long */
	} words[] = {{"char", 1},  {"u8", 1},    {"s8", 1},       {"bool", 1},  {"u16", 2},
		     {"s16", 2},   {"le16", 2},  {"be16", 2},     {"short", 2}, {"u32", 4},
		     {"s32", 4},   {"le32", 4},  {"be32", 4},     {"u64", 8},   {"s64", 8},
		     {"le64", 8},  {"be64", 8},  {"size_t", 0},   {"int", 4},   {"pid_t", 4},
		     {"uid_t", 4}, {"gid_t", 4}, {"cpumask_t", 0}};

	if (strstr(type, "long long"))
		return 8;
	if (strchr(type, '*') || has_word(type, "long"))
		return tracing->long_bytes;
	if (has_word(type, "struct") || has_word(type, "union"))
		return 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (has_word(type, words[i].word))
			return words[i].bytes ? words[i].bytes : tracing->long_bytes;
	return has_word(type, "unsigned") ? 4 : 0;
}

static bool is_power(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* "char" alone is text; "unsigned char" is a number. */
static bool is_char(const char *type)
{
	return has_word(type, "char") && !has_word(type, "unsigned") && !has_word(type, "signed") &&
	       !strchr(type, '*');
}

static struct field_class *blob(struct tracing *tracing, uint32_t bytes)
{
	struct field_class *class = node(tracing, FIELD_ARRAY);

	class->element = integer(tracing, 1, false);
	class->length = bytes;
	class->is_blob = true;
	return class;
}

static struct field_class *array(struct tracing *tracing, const struct kernel_field *field)
{
	uint32_t bytes = field->array_length && !field->is_located
				 ? field->size / field->array_length
				 : element_bytes(tracing, field->type);
	struct field_class *class;

	if (!is_power(bytes) || (!field->is_located && field->size % bytes)) {
		class = blob(tracing, field->is_located ? 0 : field->size);
	} else {
		class = node(tracing, FIELD_ARRAY);
		class->element = integer(tracing, bytes, field->is_signed);
		class->element->is_text = bytes == 1 && is_char(field->type);
		class->length = field->size / bytes;
		if (field->is_pointer)
			make_address(class->element);
	}
	if (field->is_located) {
		class->place = field->is_relative ? PLACE_REL_LOC : PLACE_DATA_LOC;
		class->length = 0;
	} else if (!field->size) {
		class->place = PLACE_REST;
	}
	return class;
}

static struct field_class *field_class(struct tracing *tracing, const struct kernel_field *field)
{
	if (field->is_located && field->size == 4)
		return array(tracing, field);
	if (field->is_array && !field->is_located)
		return array(tracing, field);
	if (!is_power(field->size))
		return field->size ? blob(tracing, field->size) : NULL;
	struct field_class *class = integer(tracing, field->size, field->is_signed);
	if (field->is_pointer)
		make_address(class);
	return class;
}

static int by_offset(const void *a, const void *b)
{
	const struct kernel_field *x = *(const struct kernel_field *const *)a;
	const struct kernel_field *y = *(const struct kernel_field *const *)b;

	return three_way(x->offset, y->offset) ?: three_way(x, y); /* then in the array's order */
}

/* Makes a struct of the fields from offset *end on, and moves *end behind the last one. */
static struct field_class *structure(struct tracing *tracing, const struct kernel_field *fields,
				     uint32_t count, uint32_t *end)
{
	struct field_class *class = node(tracing, FIELD_STRUCT);
	const struct kernel_field **sorted = mem_new_array(count, sizeof(struct kernel_field *));
	bool rest = false;

	class->members = arena_array(tracing->arena, count + 1, sizeof *class->members);
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = &fields[i];
	qsort(sorted, count, sizeof(struct kernel_field *), by_offset);
	for (uint32_t i = 0; i < count; i++) {
		const struct kernel_field *field = sorted[i];
		struct field_class *inner;
		if (rest || field->offset < *end || !(inner = field_class(tracing, field)))
			continue;
		inner->gap = (field->offset - *end) * 8;
		*end = field->offset + field->size;
		rest = inner->place == PLACE_REST;
		field_make_member(class, field->name, inner);
	}
	mem_free(sorted);
	return class;
}

/* Corrects ftrace's own events: addresses are declared as longs, and too few callers. */
static void mend_ftrace(const struct tracing *tracing, struct tracing_format *format)
{
	static const char *const addresses[] = {"ip", "parent_ip", "func", "retaddr"};
	const struct member *member;
	struct field_class *class;

	if (strcmp(format->system, "ftrace") != 0)
		return;
	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
		member = field_member(format->payload, addresses[i]);
		if (member && member->class->kind == FIELD_INT &&
		    member->class->bits == tracing->long_bytes * 8)
			make_address(member->class);
	}
	member = field_member(format->payload, "caller");
	if (!member || member->class->kind != FIELD_ARRAY || member->class->is_blob)
		return;
	class = member->class;
	make_address(class->element);
	if (!strcmp(format->name, "kernel_stack") &&
	    class == format->payload->members[format->payload->nmembers - 1].class) {
		class->place = PLACE_REST;
		class->length = 0;
	}
}

bool format_classes(struct tracing *tracing, struct tracing_format *format, struct error *err)
{
	const struct tracing_text *said = format->text;
	struct layout_grid grid = {8, 0};
	struct layout *layout;
	uint32_t end = 0;

	format->common = structure(tracing, said->fields, said->ncommon, &end);
	format->payload = structure(tracing, said->fields + said->ncommon,
				    said->nfields - said->ncommon, &end);
	mend_ftrace(tracing, format);
	struct field_class *const roots[] = {format->common, format->payload};
	if (!layout_compile(roots, 2, format->slot_base, &grid, tracing->arena, &layout, err))
		return false;
	format->layout = layout;
	format->nslots = layout_slots(layout);
	return true;
}
