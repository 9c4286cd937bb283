/*
 * shape.c - from field class trees to columns
 *
 * The name of a leaf's column is its path through structs and options of variants, joined by '_'.
 * Payload fields come first and get the plain name. A name that exists already, in any case, gets
 * the scope in front (field_name, context_pid), then a number behind it.
 */
#include "engine/columns/shape.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"

#include <stdlib.h>
#include <string.h>

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool shape_same_name(const char *a, const char *b)
{
	for (; *a && lower(*a) == lower(*b); a++)
		b++;
	return lower(*a) == lower(*b);
}

void shape_add_name(struct buf *out, const char *name)
{
	buf_add_char(out, '"');
	for (; *name; name++) {
		if (*name == '"')
			buf_add_char(out, '"');
		buf_add_char(out, *name);
	}
	buf_add_char(out, '"');
}

/* ---- groups ---- */

static const char *bare_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon && colon != name && colon[1] ? colon + 1 : NULL;
}

/* Groups while they are collected, with an index by name: traces have many classes. */
struct class_groups {
	struct class_group *items;
	size_t count, capacity;
	struct hash_index index;
};

static uint64_t name_hash(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (uint8_t)lower(*c)) * 0x100000001b3;
	return hash;
}

static uint32_t group_find(const struct class_groups *groups, const char *name)
{
	return hash_index_find(&groups->index, name_hash(name), i,
			       shape_same_name(groups->items[i].name, name));
}

static void group_add(struct class_groups *groups, const char *name,
		      const struct event_class *class)
{
	uint32_t at = group_find(groups, name);

	if (at == HASH_INDEX_NONE) {
		*mem_push(groups->items, groups->count, groups->capacity) =
			(struct class_group){.name = name};
		at = hash_index_add(&groups->index, name_hash(name), groups->count - 1);
	}
	struct class_group *group = &groups->items[at];
	group->classes = mem_resize(group->classes, group->count + 1, sizeof(struct event_class *));
	group->classes[group->count++] = class;
}

void class_groups_make(const struct trace *trace, struct class_group **out, size_t *count)
{
	struct class_groups groups = {0};
	size_t whole;

	for (size_t i = 0; i < trace->nclasses; i++)
		group_add(&groups, trace->classes[i]->name, trace->classes[i]);
	whole = groups.count;
	for (size_t i = 0; i < trace->nclasses; i++) { /* a class may have two names */
		const char *bare = bare_name(trace->classes[i]->name);
		uint32_t found = bare ? group_find(&groups, bare) : 0;

		if (bare && (found == HASH_INDEX_NONE || found >= whole))
			group_add(&groups, bare, trace->classes[i]);
	}
	hash_index_release(&groups.index);
	*out = groups.items;
	*count = groups.count;
}

void class_groups_free(struct class_group *groups, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mem_free(groups[i].classes);
	mem_free(groups);
}

/* ---- columns ---- */

struct leaf {
	const char *name; /* its path inside the scope, joined by '_' */
	enum scope scope;
	const struct field_class *class;
	const struct chosen *chosen;
	uint32_t nchosen;
};

/* State while columns are collected from the classes; shape->places is made when all are known. */
struct shape_builder {
	struct shape *shape;
	struct known_column {
		enum scope scope;
		const char *way;
		size_t column;
	} * known; /* one per field */
	size_t nknown, known_capacity;
	struct hash_index names; /* of columns, by name */
	struct hash_index ways;  /* of `known`, by path */
	struct found {
		uint32_t row, field;
		struct value_place place;
	} * found;
	size_t nfound, found_capacity;
	uint32_t row;
};

static void column_add(struct shape *shape, const struct column *column)
{
	*mem_push(shape->columns, shape->ncolumns, shape->columns_capacity) = *column;
}

/* Adds a column that is in the shape to the index of names. */
static void name_taken(struct shape_builder *build, size_t column)
{
	hash_index_add(&build->names, name_hash(build->shape->columns[column].name), column);
}

static bool has_column(const struct shape_builder *build, const char *name)
{
	const struct column *columns = build->shape->columns;

	return hash_index_find(&build->names, name_hash(name), i,
			       shape_same_name(columns[i].name, name)) != HASH_INDEX_NONE;
}

static const char *free_name(struct shape_builder *build, const char *way, enum scope scope)
{
	struct shape *shape = build->shape;
	static const char *const before[SCOPE_COUNT] = {[SCOPE_PACKET_CONTEXT] = "packet_",
							[SCOPE_STREAM_EVENT_CONTEXT] = "context_",
							[SCOPE_EVENT_CONTEXT] = "context_",
							[SCOPE_PAYLOAD] = "field_"};
	const char *name = arena_strdup(shape->arena, way);

	if (!*name)
		name = "_";
	if (has_column(build, name) || scope == SCOPE_PACKET_CONTEXT)
		name = arena_printf(shape->arena, "%s%s", before[scope], way);
	for (unsigned n = 2; has_column(build, name); n++)
		name = arena_printf(shape->arena, "%s%s_%u", before[scope], way, n);
	return name;
}

static bool is_enum(const struct field_class *class)
{
	return class->kind == FIELD_INT && (class->is_enum || class->nlabels);
}

static bool shape_is_text(const struct field_class *class)
{
	return class->kind == FIELD_STRING || class->is_wide ||
	       ((class->kind == FIELD_ARRAY || class->kind == FIELD_SEQUENCE) &&
		class->element->kind == FIELD_INT && class->element->is_text);
}

static const char *type_of(const struct field_class *class)
{
	if (class->kind == FIELD_INT)
		return "INTEGER";
	if (class->kind == FIELD_FLOAT)
		return "REAL";
	return class->is_blob && !shape_is_text(class) ? "BLOB" : "TEXT";
}

static bool is_hex(const struct field_class *class)
{
	return class->kind == FIELD_INT && class->base == 16 && !class->is_signed;
}

/* The number of the leaf's field; adds its column if there is none. */
static uint32_t field_column(struct shape_builder *build, const struct leaf *leaf)
{
	struct shape *shape = build->shape;
	const char *type = type_of(leaf->class);
	uint64_t hash = hash_number(hash_bytes(leaf->name, strlen(leaf->name)) + leaf->scope);
	uint32_t found = hash_index_find(&build->ways, hash, i,
					 build->known[i].scope == leaf->scope &&
						 !strcmp(build->known[i].way, leaf->name));

	if (found != HASH_INDEX_NONE) {
		struct column *column = &shape->columns[build->known[found].column];
		if (strcmp(column->type, type) != 0)
			column->type = "";
		column->whole_number &= leaf->class->kind == FIELD_INT;
		column->hex &= is_hex(leaf->class);
		return found;
	}
	struct column column = {.kind = COLUMN_FIELD,
				.name = free_name(build, leaf->name, leaf->scope),
				.type = type,
				.hidden = leaf->scope == SCOPE_PACKET_CONTEXT,
				.whole_number = leaf->class->kind == FIELD_INT,
				.hex = is_hex(leaf->class),
				.field = (uint32_t)build->nknown};
	column_add(shape, &column);
	name_taken(build, shape->ncolumns - 1);
	*mem_push(build->known, build->nknown, build->known_capacity) =
		(struct known_column){leaf->scope, leaf->name, shape->ncolumns - 1};
	hash_index_add(&build->ways, hash, build->nknown - 1);
	if (is_enum(leaf->class)) {
		const char *way = arena_printf(shape->arena, "%s_label", leaf->name);
		column.kind = COLUMN_LABEL;
		column.name = free_name(build, way, leaf->scope);
		column.type = "TEXT";
		column.whole_number = column.hex = false;
		column_add(shape, &column);
		name_taken(build, shape->ncolumns - 1);
	}
	return (uint32_t)build->nknown - 1;
}

static void add_leaf(struct shape_builder *build, const struct leaf *leaf)
{
	struct value_place place = {leaf->class, leaf->scope, leaf->class->slot, leaf->chosen,
				    leaf->nchosen};

	*mem_push(build->found, build->nfound, build->found_capacity) =
		(struct found){build->row, field_column(build, leaf), place};
}

enum { DEPTH_MAX = 16 }; /* structures deeper than that are shown as one JSON text */

static void add_tree(struct shape_builder *build, const struct leaf *at, unsigned depth)
{
	const struct field_class *class = at->class;
	struct arena *arena = build->shape->arena;

	if ((class->kind != FIELD_STRUCT && class->kind != FIELD_VARIANT) || depth > DEPTH_MAX) {
		if (class->kind != FIELD_STRUCT)
			add_leaf(build, at);
		return;
	}
	for (uint32_t i = 0; i < class->nmembers; i++) {
		const struct member *member = &class->members[i];
		struct leaf leaf = *at;
		if (member->hidden)
			continue;
		leaf.class = member->class;
		if (!class->is_optional)
			leaf.name = *at->name ? arena_printf(arena, "%s_%s", at->name, member->name)
					      : arena_strdup(arena, member->name);
		if (class->kind == FIELD_VARIANT) {
			struct chosen *chosen = arena_array(arena, at->nchosen + 1, sizeof *chosen);
			for (uint32_t k = 0; k < at->nchosen; k++)
				chosen[k] = at->chosen[k];
			chosen[leaf.nchosen++] = (struct chosen){class->slot, i};
			leaf.chosen = chosen;
		}
		add_tree(build, &leaf, depth + 1);
	}
}

static void add_scope(struct shape_builder *build, const struct class_group *group,
		      enum scope scope)
{
	for (size_t i = 0; i < group->count; i++) {
		struct leaf root = {"", scope, group->classes[i]->scope[scope], NULL, 0};
		build->row = (uint32_t)i;
		if (root.class)
			add_tree(build, &root, 0);
	}
}

static int by_class(const void *a, const void *b)
{
	const struct shape_row *x = a, *y = b;

	return x->class < y->class ? -1 : x->class > y->class;
}

static void shape_add_rows(struct shape *shape, const struct class_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		uint32_t class = group->classes[i]->index;
		if (shape->row)
			shape->row[class] = (uint32_t)i + 1;
		else
			shape->sparse[i] = (struct shape_row){class, (uint32_t)i + 1};
	}
	if (!shape->row)
		qsort(shape->sparse, group->count, sizeof *shape->sparse, by_class);
}

uint32_t shape_row_sparse(const struct shape *shape, uint32_t class)
{
	const struct shape_row wanted = {.class = class};
	const struct shape_row *found = bsearch(&wanted, shape->sparse, shape->group->count,
						sizeof wanted, by_class);

	return found ? found->row : 0;
}

static void add_places(struct shape_builder *build, const struct class_group *group)
{
	struct shape *shape = build->shape;

	shape->nfields = build->nknown;
	shape->places =
		arena_array(shape->arena, group->count * shape->nfields + 1, sizeof *shape->places);
	shape_add_rows(shape, group);
	for (size_t i = 0; i < build->nfound; i++) {
		const struct found *found = &build->found[i];
		shape->places[found->row * shape->nfields + found->field] = found->place;
	}
}

static void add_fields(struct shape *shape, const struct class_group *group)
{
	struct shape_builder build = {.shape = shape};

	for (size_t i = 0; i < shape->ncolumns; i++)
		name_taken(&build, i);
	add_scope(&build, group, SCOPE_PAYLOAD);
	add_scope(&build, group, SCOPE_EVENT_CONTEXT);
	add_scope(&build, group, SCOPE_STREAM_EVENT_CONTEXT);
	add_scope(&build, group, SCOPE_PACKET_CONTEXT);
	add_places(&build, group);
	hash_index_release(&build.names);
	hash_index_release(&build.ways);
	mem_free(build.known);
	mem_free(build.found);
}

/* With more classes shape->sparse is used: `row` in each of as many tables takes their square. */
enum { DENSE_MOST = 4096 };

struct shape *shape_new(const struct trace *trace, const struct class_group *group, bool told,
			struct arena *arena)
{
	static const struct column own[] = {{COLUMN_TS, "ts", "INTEGER", false, true, false, 0},
					    {COLUMN_STREAM, "stream", "TEXT", false, false, false, 0},
					    {COLUMN_CPU, "cpu", "INTEGER", false, true, false, 0},
					    {COLUMN_NAME, "name", "TEXT", false, false, false, 0},
					    {COLUMN_CONTEXT, "context", "TEXT", false, false, false, 0},
					    {COLUMN_FIELDS, "fields", "TEXT", false, false, false, 0},
					    {COLUMN_PACKET, "packet", "TEXT", true, false, false, 0},
					    {COLUMN_FILE, "at_file", "TEXT", true, false, false, 0},
					    {COLUMN_OFFSET, "at_offset", "INTEGER", true, true, false, 0},
					    {COLUMN_INDEX, "at_index", "INTEGER", true, true, false, 0}};
	static const struct column path = {COLUMN_TRACE, "trace", "TEXT", true, false, false, 0};
	static const struct column where = {COLUMN_WHERE, "yore_where", "TEXT", true,
					    false,        false,        0};
	bool any_hidden = false;
	struct shape *shape = mem_new(sizeof *shape);

	shape->own_arena = !arena;
	shape->arena = arena ? arena : arena_new();
	shape->group = group;
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		struct column column = own[i];
		column.hidden |= group && i >= COLUMN_NAME;
		if (column.hidden && !any_hidden) { /* arguments in brackets set the first ones */
			if (told)
				column_add(shape, &path);
			column_add(shape, &where);
			any_hidden = true;
		}
		column_add(shape, &column);
	}
	if (group) {
		if (trace->nclasses <= DENSE_MOST)
			shape->row = arena_array(shape->arena, trace->nclasses + 1,
						 sizeof *shape->row);
		else
			shape->sparse = arena_array(shape->arena, group->count + 1,
						    sizeof *shape->sparse);
		add_fields(shape, group);
	}
	return shape;
}

void shape_free(struct shape *shape)
{
	if (!shape)
		return;
	if (shape->own_arena)
		arena_free(shape->arena);
	mem_free(shape->columns);
	mem_free(shape);
}

bool place_field(const struct value_place *place, const struct fields *fields, struct field *out)
{
	const struct slot *slot = place_slot(place, fields);
	bool packet = place->scope == SCOPE_PACKET_CONTEXT;

	if (!slot)
		return false;
	*out = (struct field){.class = place->class,
			      .in = packet && fields->packet ? fields->packet : fields,
			      .slot = *slot,
			      .inside = slot - place->slot};
	return true;
}
