/*
 * tracepoints.c - see tracepoints.h
 *
 * A record begins with the common fields: u16 common_type, u8 common_flags, u8
 * common_preempt_count, s32 common_pid. Fields of a fixed size follow, then the data of __data_loc
 * words: their low half is the offset in the record, their high half the size in bytes.
 */
#include "convert/tracedat/tracepoints.h"

#include "convert/tracedat/ring.h"
#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/columns/json.h"
#include "engine/columns/shape.h"
#include "engine/kernel/tracing.h"
#include "engine/reader.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COMMON_BYTES = 8, ID_FIRST = 10000, ID_MOST = 65535, LOCATED_BYTES = 4, DATA_MAX = 65535 };

enum value_kind { VALUE_NUMBER, VALUE_CHARS, VALUE_BYTES, VALUE_NUMBERS };

struct point_field {
	const struct value_place *place;
	const char *name;
	enum value_kind kind;
	uint32_t at;
	uint8_t bytes; /* NUMBER, NUMBERS: of one */
	bool is_signed, is_hex;
};

struct made {
	const struct event_class *class;
	struct shape *shape;
	const char *system, *name;
	struct point_field *items;
	size_t nitems;
	uint32_t bytes; /* size of the part before __data_loc data */
	struct field_path tid;
};

struct tracepoints {
	const struct trace *trace;
	struct arena *arena;
	const struct tracing *tracing;    /* of the first tracepoints */
	uint32_t *ids;                    /* by class; 0: it has none */
	struct made **made;               /* by class; NULL: a tracepoint of the kernel */
	const struct event_class **order; /* of the formats, by system */
	size_t count;
	uint8_t *used; /* by id */
	uint32_t next;
	uint8_t *tried;          /* by class: a format was made, or there is none */
	struct nameset names;    /* "system:name" of formats, with their first class */
	struct nameset taken;    /* the same, for nameset_make_free() */
	struct nameset left_out; /* fields and classes, for tracepoints_tell() */
	struct buf told;
	size_t ntold;
};

static bool tracepoint_of(const struct trace *trace, const struct event_class *class,
			  const struct fields *fields, struct tracepoint *out)
{
	const struct reader_text *text = trace->parts[class->part]->reader->text;

	return text && text->tracepoint && text->tracepoint(class, fields, out);
}

static void leave_out(struct tracepoints *all, const char *what, const char *why)
{
	if (!nameset_add(&all->left_out, what, 0))
		return;
	if (all->ntold++ < 8)
		buf_printf(&all->told, "%s%s (%s)", all->ntold > 1 ? ", " : "", what, why);
}

/* ---- numbers of classes ---- */

static bool free_id(struct tracepoints *all, uint32_t *out)
{
	while (all->next <= ID_MOST && all->used[all->next])
		all->next++;
	if (all->next > ID_MOST)
		return false;
	*out = all->next;
	all->used[all->next] = 1;
	return true;
}

/* Numbers the kernel's tracepoints as they were; the same format of two traces gets one number. */
static void number_tracepoints(struct tracepoints *all)
{
	struct nameset formats = {0};
	struct buf text = {0};

	for (size_t i = 0; i < all->trace->nclasses; i++) {
		const struct event_class *class = all->trace->classes[i];
		struct tracepoint point;
		uint32_t *id = &all->ids[i];
		if (!tracepoint_of(all->trace, class, NULL, &point))
			continue;
		if (!all->tracing)
			all->tracing = point.tracing;
		if (tracing_big_endian(point.tracing) != tracing_big_endian(all->tracing) ||
		    tracing_long_bytes(point.tracing) != tracing_long_bytes(all->tracing)) {
			leave_out(all, class->name, "of another kind of machine");
			continue;
		}
		buf_clear(&text);
		buf_printf(&text, "%s\n", point.format->system);
		tracing_format_text(point.format, point.format->id, &text);
		if (nameset_find(&formats, buf_text(&text), id))
			continue;
		*id = point.format->id;
		if (!*id || *id > ID_MOST || all->used[*id]) {
			all->next = ID_FIRST;
			if (!free_id(all, id)) {
				leave_out(all, class->name, "too many classes");
				*id = 0;
				continue;
			}
		}
		all->used[*id] = 1;
		nameset_add(&formats, buf_text(&text), *id);
		all->order[all->count++] = class;
	}
	buf_release(&text);
	nameset_release(&formats);
}

/* ---- formats that are made ---- */

/* A word of the format language: letters, digits and '_'; other characters become '_'. */
static const char *word_of(struct tracepoints *all, const char *name, size_t len,
			   struct nameset *taken)
{
	struct buf text = {0};

	for (size_t i = 0; i < len; i++)
		buf_add_char(&text, isalnum((unsigned char)name[i]) ? name[i] : '_');
	if (!len)
		buf_add_char(&text, '_');
	if (taken) {
		nameset_make_free(taken, &text, 0, "_");
		nameset_add(taken, buf_text(&text), 2);
	}
	const char *word = arena_strdup(all->arena, buf_text(&text));
	buf_release(&text);
	return word;
}

static uint8_t whole_bytes(uint32_t bits)
{
	return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

/* Chooses how a field is stored in a record. False: a float, which cannot be. */
static bool describe_item(const struct field_class *class, struct point_field *item)
{
	const struct field field = {.class = class};
	const struct field_class *element = class->element;
	bool array = class->kind == FIELD_ARRAY || class->kind == FIELD_SEQUENCE;

	item->kind = VALUE_CHARS;
	if (class->kind == FIELD_FLOAT)
		return false;
	if (class->kind == FIELD_INT) {
		item->kind = VALUE_NUMBER;
		element = class;
	} else if (array && !field_is_text(&field) && class->is_blob) {
		item->kind = VALUE_BYTES;
		item->bytes = 1;
	} else if (array && !field_is_text(&field) && !class->element_layout &&
		   element->kind == FIELD_INT) {
		item->kind = VALUE_NUMBERS;
	}
	if (item->kind == VALUE_NUMBER || item->kind == VALUE_NUMBERS) {
		item->bytes = whole_bytes(element->bits);
		item->is_signed = element->is_signed;
		item->is_hex = element->is_address || element->base == 16;
	}
	return true;
}

static void place_item(struct made *made, struct point_field *item)
{
	uint32_t bytes = item->kind == VALUE_NUMBER ? item->bytes : LOCATED_BYTES;

	made->bytes = (made->bytes + bytes - 1) & ~(bytes - 1);
	item->at = made->bytes;
	made->bytes += bytes;
}

/*
 * A shape renames fields whose names its own columns have to field_NAME; here they get NAME back.
 */
static const char *plain_name(const struct shape *shape, const char *name)
{
	static const char prefix[] = "field_";
	size_t len = sizeof prefix - 1;

	for (size_t i = 0; !strncmp(name, prefix, len) && i < shape->ncolumns; i++)
		if (shape->columns[i].kind != COLUMN_FIELD &&
		    shape->columns[i].kind != COLUMN_LABEL &&
		    shape_same_name(shape->columns[i].name, name + len))
			return name + len;
	return name;
}

static void describe_fields(struct tracepoints *all, struct made *made)
{
	const struct shape *shape = made->shape;
	struct nameset names = {0};
	static const char *const common[] = {"common_type", "common_flags", "common_preempt_count",
					     "common_pid"};

	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		nameset_add(&names, common[i], 2);
	made->items = arena_array(all->arena, shape->ncolumns + 1, sizeof *made->items);
	made->bytes = COMMON_BYTES;
	for (size_t i = 0; i < shape->ncolumns; i++) {
		const struct column *column = &shape->columns[i];
		struct point_field item = {0};
		if (column->kind != COLUMN_FIELD || column->hidden)
			continue;
		item.place = &shape->places[column->field];
		if (!item.place->class || item.place->scope == SCOPE_PACKET_CONTEXT)
			continue;
		if (!describe_item(item.place->class, &item)) {
			leave_out(
				all,
				arena_printf(all->arena, "%s.%s", made->class->name, column->name),
				"a float");
			continue;
		}
		const char *name = plain_name(shape, column->name);
		item.name = word_of(all, name, strlen(name), &names);
		place_item(made, &item);
		made->items[made->nitems++] = item;
	}
	nameset_release(&names);
}

static void tracepoints_take_name(struct tracepoints *all, const char *name,
				  const struct event_class *class)
{
	nameset_add(&all->names, name, class->index);
	nameset_add(&all->taken, name, 2);
}

static void make_class(struct tracepoints *all, const struct event_class *class)
{
	const struct part *part = all->trace->parts[class->part];
	const char *colon = strrchr(class->name, ':');
	struct made *made = arena_alloc(all->arena, sizeof *made);
	struct class_group group = {class->name, &class, 1};
	struct buf whole = {0};
	uint32_t first;

	made->class = class;
	made->shape = shape_new(all->trace, &group, false, all->arena);
	made->shape->group = NULL; /* the group is a local; it is not needed any more */
	made->system = colon ? word_of(all, class->name, (size_t)(colon - class->name), NULL)
			     : part->reader->format;
	made->name = colon ? colon + 1 : class->name;
	made->name = word_of(all, made->name, strlen(made->name), NULL);
	buf_printf(&whole, "%s:%s", made->system, made->name);
	/* classes of one name share it; other names that become equal get different ones */
	if (nameset_find(&all->names, buf_text(&whole), &first) &&
	    strcmp(all->trace->classes[first]->name, class->name) != 0)
		nameset_make_free(&all->taken, &whole, 0, "_");
	tracepoints_take_name(all, buf_text(&whole), class);
	made->name = arena_strdup(all->arena, strchr(buf_text(&whole), ':') + 1);
	buf_release(&whole);
	describe_fields(all, made);
	made->tid = event_thread_of(class).tid;
	if (!free_id(all, &all->ids[class->index])) {
		leave_out(all, class->name, "too many classes");
		shape_free(made->shape);
		return;
	}
	all->made[class->index] = made;
	all->order[all->count++] = class;
}

static const char *system_of(const struct tracepoints *all, const struct event_class *class)
{
	const struct made *made = all->made[class->index];
	struct tracepoint point;

	if (made || !tracepoint_of(all->trace, class, NULL, &point))
		return made ? made->system : "";
	return point.format->system;
}

static const struct tracepoints *sorting; /* qsort() passes nothing on */

static int by_system(const void *a, const void *b)
{
	const struct event_class *x = *(const struct event_class *const *)a;
	const struct event_class *y = *(const struct event_class *const *)b;
	int order = strcmp(system_of(sorting, x), system_of(sorting, y));

	return order ? order : (x->index > y->index) - (x->index < y->index);
}

struct tracepoints *tracepoints_new(const struct trace *trace)
{
	struct tracepoints *all = mem_new(sizeof *all);
	struct tracepoint point;

	all->trace = trace;
	all->arena = arena_new();
	all->ids = mem_new_array(trace->nclasses + 1, sizeof *all->ids);
	all->made = mem_new_array(trace->nclasses + 1, sizeof(struct made *));
	all->order = mem_new_array(trace->nclasses + 1, sizeof(struct event_class *));
	all->tried = mem_new_array(trace->nclasses + 1, 1);
	all->used = mem_new_array(ID_MOST + 1, 1);
	number_tracepoints(all);
	for (size_t i = 0; i < all->count; i++)
		if (tracepoint_of(trace, all->order[i], NULL, &point))
			tracepoints_take_name(all,
					      arena_printf(all->arena, "%s:%s",
							   point.format->system,
							   point.format->name),
					      all->order[i]);
	all->next = ID_FIRST;
	return all;
}

void tracepoints_free(struct tracepoints *all)
{
	if (!all)
		return;
	nameset_release(&all->left_out);
	nameset_release(&all->names);
	nameset_release(&all->taken);
	mem_free(all->tried);
	buf_release(&all->told);
	mem_free(all->ids);
	for (size_t i = 0; i < all->trace->nclasses; i++)
		if (all->made[i])
			shape_free(all->made[i]->shape);
	mem_free(all->made);
	mem_free(all->order);
	mem_free(all->used);
	arena_free(all->arena);
	mem_free(all);
}

bool tracepoints_big_endian(const struct tracepoints *all)
{
	return all->tracing && tracing_big_endian(all->tracing);
}

unsigned tracepoints_long_bytes(const struct tracepoints *all)
{
	return all->tracing ? tracing_long_bytes(all->tracing) : 8;
}

/* ---- records ---- */

static void put_at(const struct tracepoints *all, struct buf *out, size_t at, uint64_t number,
		   unsigned bytes)
{
	ring_put((uint8_t *)out->data + at, number, bytes, tracepoints_big_endian(all));
}

static void put_common(const struct tracepoints *all, const struct made *made,
		       const struct stream *stream, const struct fields *fields, struct buf *out)
{
	int64_t tid = fields_number(fields, &made->tid, stream->tid);

	put_at(all, out, 0, all->ids[made->class->index], 2);
	put_at(all, out, 4, (uint64_t)tid, 4);
}

/* Appends the bytes that an item's __data_loc word points to. */
static void put_data(const struct tracepoints *all, const struct point_field *item,
		     const struct field *field, struct buf *scratch, struct buf *out)
{
	struct field_iter iter;
	size_t len;

	buf_clear(scratch);
	if (item->kind == VALUE_NUMBERS) {
		field_iter_begin(&iter, field);
		while (field_iter_next(&iter)) {
			memset(buf_room(out, item->bytes), 0, item->bytes);
			out->len += item->bytes;
			put_at(all, out, out->len - item->bytes, iter.item.slot.u, item->bytes);
		}
		field_iter_end(&iter);
	} else if (item->kind == VALUE_BYTES || field_is_text(field)) {
		const uint8_t *bytes = field_bytes(field, scratch, &len);
		buf_add(out, bytes, len);
	} else {
		json_add_field(scratch, field);
		buf_add(out, scratch->data, scratch->len);
	}
	if (item->kind == VALUE_CHARS)
		buf_add_char(out, 0);
}

static bool put_item(const struct tracepoints *all, const struct point_field *item,
		     const struct fields *fields, struct buf *scratch, struct buf *out)
{
	size_t from = out->len;
	struct field field;
	bool there = place_field(item->place, fields, &field);

	if (item->kind == VALUE_NUMBER) {
		put_at(all, out, item->at, there ? field.slot.u : 0, item->bytes);
		return true;
	}
	if (there)
		put_data(all, item, &field, scratch, out);
	else if (item->kind == VALUE_CHARS)
		buf_add_char(out, 0);
	size_t len = out->len - from;
	if (from > DATA_MAX || len > DATA_MAX)
		return false;
	put_at(all, out, item->at, len << 16 | from, LOCATED_BYTES);
	return true;
}

bool tracepoints_record(struct tracepoints *all, const struct event_class *class,
			const struct stream *stream, const struct fields *fields, struct buf *out)
{
	struct tracepoint point;
	struct buf scratch = {0};
	uint32_t type_at, type_bytes;
	bool good = true;

	if (!all->ids[class->index] && !all->tried[class->index] &&
	    !tracepoint_of(all->trace, class, NULL, &point))
		make_class(all, class);
	all->tried[class->index] = 1;
	if (!all->ids[class->index])
		return false;
	const struct made *made = all->made[class->index];
	if (!made) {
		if (!tracepoint_of(all->trace, class, fields, &point))
			return false;
		buf_add(out, point.record, point.size);
		tracing_type_field(point.tracing, &type_at, &type_bytes);
		if (point.size >= type_at + type_bytes)
			put_at(all, out, type_at, all->ids[class->index], type_bytes);
		return true;
	}
	memset(buf_room(out, made->bytes), 0, made->bytes);
	out->len += made->bytes;
	put_common(all, made, stream, fields, out);
	for (size_t i = 0; i < made->nitems && good; i++)
		good = put_item(all, &made->items[i], fields, &scratch, out);
	buf_release(&scratch);
	return good;
}

/* ---- texts ---- */

static void tracepoints_add_type(const struct point_field *item, struct buf *out)
{
	static const char *const prefix[] = {"", "__data_loc ", "__data_loc ", "__data_loc "};
	const char *brackets = item->kind == VALUE_NUMBER ? "" : "[]";

	buf_add_text(out, prefix[item->kind]);
	if (item->kind == VALUE_CHARS)
		buf_printf(out, "char%s", brackets);
	else
		buf_printf(out, "%c%d%s", item->is_signed ? 's' : 'u', item->bytes * 8, brackets);
}

static void add_conversion(const struct point_field *item, struct buf *out)
{
	const char *longs = item->bytes == 8 ? "ll" : "";

	if (item->kind != VALUE_NUMBER)
		buf_printf(out, "%s=%%s", item->name);
	else if (item->is_hex)
		buf_printf(out, "%s=0x%%%sx", item->name, longs);
	else
		buf_printf(out, "%s=%%%s%c", item->name, longs, item->is_signed ? 'd' : 'u');
}

static void add_argument(const struct point_field *item, struct buf *out)
{
	const char *name = item->name;

	if (item->kind == VALUE_NUMBER)
		buf_printf(out, ", REC->%s", name);
	else if (item->kind == VALUE_CHARS)
		buf_printf(out, ", __get_str(%s)", name);
	else if (item->kind == VALUE_BYTES)
		buf_printf(out,
			   ", __print_hex(__get_dynamic_array(%s), __get_dynamic_array_len(%s))",
			   name, name);
	else
		buf_printf(out,
			   ", __print_array(__get_dynamic_array(%s), __get_dynamic_array_len(%s) / "
			   "%d, %d)",
			   name, name, item->bytes, item->bytes);
}

static void add_made(const struct made *made, uint32_t id, struct buf *out)
{
	buf_printf(out,
		   "name: %s\nID: %u\nformat:\n"
		   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		   "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		   "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		   "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n",
		   made->name, id);
	for (size_t i = 0; i < made->nitems; i++) {
		const struct point_field *item = &made->items[i];
		bool number = item->kind == VALUE_NUMBER;
		buf_add_text(out, i ? "\tfield:" : "\n\tfield:");
		tracepoints_add_type(item, out);
		buf_printf(out, " %s;\toffset:%u;\tsize:%d;\tsigned:%d;\n", item->name, item->at,
			   number ? item->bytes : LOCATED_BYTES, item->is_signed);
	}
	buf_add_text(out, "\nprint fmt: \"");
	for (size_t i = 0; i < made->nitems; i++) {
		buf_add_text(out, i ? " " : "");
		add_conversion(&made->items[i], out);
	}
	buf_add_char(out, '"');
	for (size_t i = 0; i < made->nitems; i++)
		add_argument(&made->items[i], out);
	buf_add_char(out, '\n');
}

void tracepoints_sort(struct tracepoints *all)
{
	sorting = all;
	qsort(all->order, all->count, sizeof(struct event_class *), by_system);
}

bool tracepoints_format(const struct tracepoints *all, size_t i, const char **system,
			struct buf *text)
{
	struct tracepoint point;

	if (i >= all->count)
		return false;
	const struct event_class *class = all->order[i];
	*system = system_of(all, class);
	if (all->made[class->index])
		add_made(all->made[class->index], all->ids[class->index], text);
	else if (tracepoint_of(all->trace, class, NULL, &point))
		tracing_format_text(point.format, all->ids[class->index], text);
	return true;
}

void tracepoints_symbols(const struct tracepoints *all, struct buf *kallsyms, struct buf *printk)
{
	const char *name;
	uint64_t address;

	if (!all->tracing)
		return;
	for (size_t i = 0; tracing_symbol_at(all->tracing, i, &address, &name); i++)
		buf_printf(kallsyms, "%016" PRIx64 " t %s\n", address, name);
	for (size_t i = 0; tracing_printk_at(all->tracing, i, &address, &name); i++)
		buf_printf(printk, "0x%" PRIx64 " : \"%s\\n\"\n", address, name);
}

void tracepoints_tell(const struct tracepoints *all)
{
	if (all->ntold)
		notice(&all->trace->notices, NOTICE_WARNING,
		       "trace.dat has no place for %s%s; left out", all->told.data,
		       all->ntold > 8 ? " and others" : "");
}
