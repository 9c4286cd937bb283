/*
 * tables.c - collects rows per table until they fill a row group, or all tables together hold too
 * many
 *
 * A trace can have hundreds of classes of which a few make most events, so the tables share one
 * memory limit; at the limit the largest is written. Rows that other threads made come as parts,
 * which are written unchanged.
 */
#include "convert/sheets/tables.h"

#include "convert/convert_internal.h"
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/columns/json.h"
#include "engine/columns/sheet_fields.h"

#include <stdlib.h>

enum {
	ROWS_MAX = 1 << 20,
	ROWS_CHECK = 1 << 10,   /* rows after which a table is measured again */
	ALL_CHECK = 1 << 16,    /* after so many rows all tables are measured: each may have few */
	TABLES_FEW = 1 << 10,   /* with more tables, all are written instead of the largest */
	TEXT_CHECK = 1 << 20,   /* after so many bytes of text, too */
	TABLE_BYTES = 16 << 20, /* of one table */
	TABLES_BYTES = 48 << 20 /* of all */
};

#define NO_GROUP UINT32_MAX
#define ALL_EVENTS (UINT32_MAX - 1) /* in place of a group: the table `events` */

struct table_group {
	struct class_group classes;
	struct shape *shape; /* NULL: no event yet */
	struct sheet *sheet;
	uint64_t *wanted; /* bit per column; NULL: all columns of fields */
};

struct filling_table {
	struct sheet *sheet;  /* the newest rows */
	uint32_t group;       /* of events; NO_GROUP: none */
	size_t size;          /* bytes of all rows, when last measured */
	struct sheet **parts; /* older rows */
	size_t count, capacity;
	size_t rows, bytes; /* of the parts */
};

struct convert_part {
	struct part_sheet {
		uint32_t group;
		struct sheet *sheet;
	} * items;
	size_t count, capacity;
};

struct tables {
	struct tables_options options;
	struct arena *arena;
	struct class_group *named;
	size_t nnamed;
	struct table_group *groups;
	size_t ngroups;
	uint32_t *group_of; /* by class */
	struct class_puts *classes;
	struct filling_table *items;
	size_t count, capacity;
	size_t all, text; /* bytes that wait; bytes of text since the last measuring */
	size_t rows;      /* since all tables were measured */
	struct sheet *state, *losses, *events;
	struct buf scratch;
};

struct tables *tables_new(const struct tables_options *options)
{
	struct tables *tables = mem_new(sizeof *tables);
	const struct trace *trace = options->trace;

	tables->options = *options;
	tables->arena = arena_new();
	class_groups_make(trace, &tables->named, &tables->nnamed);
	tables->groups = mem_new_array(tables->nnamed + 1, sizeof *tables->groups);
	tables->group_of = mem_new_array(trace->nclasses + 1, sizeof *tables->group_of);
	tables->classes = mem_new_array(trace->nclasses + 1, sizeof *tables->classes);
	/*
	 * The last names are bare ones, without a subsystem, which SQL also has; here they are no
	 * tables.
	 */
	size_t left = trace->nclasses;
	for (size_t i = 0; i < tables->nnamed && left; i++) {
		struct table_group *group = &tables->groups[tables->ngroups];
		group->classes = tables->named[i];
		for (size_t k = 0; k < group->classes.count; k++, left--)
			tables->group_of[group->classes.classes[k]->index] =
				(uint32_t)tables->ngroups;
		tables->ngroups++;
	}
	return tables;
}

void tables_free(struct tables *tables)
{
	if (!tables)
		return;
	for (size_t i = 0; i < tables->ngroups; i++) {
		shape_free(tables->groups[i].shape);
		mem_free(tables->groups[i].wanted);
	}
	for (size_t i = 0; i < tables->count; i++) {
		for (size_t k = 0; k < tables->items[i].count; k++)
			sheet_free(tables->items[i].parts[k]);
		mem_free(tables->items[i].parts);
		sheet_free(tables->items[i].sheet);
	}
	class_groups_free(tables->named, tables->nnamed);
	mem_free(tables->groups);
	mem_free(tables->group_of);
	mem_free(tables->classes);
	mem_free(tables->items);
	buf_release(&tables->scratch);
	arena_free(tables->arena);
	mem_free(tables);
}

static struct sheet *add_sheet(struct tables *tables, struct sheet *sheet, uint32_t group)
{
	sheet->number = tables->count;
	*mem_push(tables->items, tables->count, tables->capacity) =
		(struct filling_table){.sheet = sheet, .group = group};
	return sheet;
}

struct own_column {
	const char *name;
	enum cell_kind kind;
	unsigned bits;
};

/* Adds a sheet of no event class: its columns follow those that it has from `first` on. */
static struct sheet *own_sheet(struct tables *tables, struct sheet *sheet, size_t first,
			       const struct own_column *columns, uint32_t group)
{
	for (size_t i = first; i < sheet->ncolumns; i++)
		sheet_describe(sheet, i, columns[i - first].name, columns[i - first].kind,
			       columns[i - first].bits, false);
	sheet->own = true;
	return add_sheet(tables, sheet, group);
}

/* ---- when to write ---- */

static void add_part(struct filling_table *table, struct sheet *part)
{
	*mem_push(table->parts, table->count, table->capacity) = part;
	table->rows += part->rows;
	table->bytes += sheet_bytes(part);
}

static bool write_table(struct tables *tables, struct filling_table *table, struct error *err)
{
	size_t count;

	tables->all -= table->size;
	table->size = table->rows = table->bytes = 0;
	if (table->sheet->rows)
		*mem_push(table->parts, table->count, table->capacity) = sheet_take(table->sheet);
	count = table->count;
	table->count = 0;
	return !count ||
	       tables->options.write(tables->options.arg, table->sheet, table->parts, count, err);
}

bool tables_flush(struct tables *tables, struct error *err)
{
	for (size_t i = 0; i < tables->count; i++)
		if (!write_table(tables, &tables->items[i], err))
			return false;
	return true;
}

/* Writes the largest table; of many tables all, since the largest has little of what waits. */
static bool write_largest(struct tables *tables, struct error *err)
{
	size_t largest = 0;

	if (tables->count > TABLES_FEW)
		return tables_flush(tables, err);
	for (size_t i = 1; i < tables->count; i++)
		if (tables->items[i].size > tables->items[largest].size)
			largest = i;
	return write_table(tables, &tables->items[largest], err);
}

static void tables_look_at(struct tables *tables, struct filling_table *table)
{
	tables->all -= table->size;
	table->size = table->bytes + sheet_bytes(table->sheet);
	tables->all += table->size;
}

static bool measure(struct tables *tables, const struct sheet *sheet, struct error *err)
{
	struct filling_table *table = &tables->items[sheet->number];

	tables_look_at(tables, table);
	tables->text = 0;
	if (table->size >= TABLE_BYTES || table->rows + sheet->rows >= ROWS_MAX)
		return write_table(tables, table, err);
	return tables->all < TABLES_BYTES || write_largest(tables, err);
}

/* Measures all tables: row_done() measures one only when it has many rows. */
static bool measure_all(struct tables *tables, struct error *err)
{
	tables->rows = 0;
	for (size_t i = 0; i < tables->count; i++)
		tables_look_at(tables, &tables->items[i]);
	return tables->all < TABLES_BYTES || write_largest(tables, err);
}

static inline bool row_done(struct tables *tables, const struct sheet *sheet, size_t text,
			    struct error *err)
{
	if (!tables->options.write)
		return true;
	tables->text += text;
	if (++tables->rows >= ALL_CHECK + tables->count && !measure_all(tables, err))
		return false;
	return (sheet->rows % ROWS_CHECK && tables->text < TEXT_CHECK) ||
	       measure(tables, sheet, err);
}

/* ---- events ---- */

static void tables_put_text(struct sheet_values *values, size_t row, const char *text)
{
	values_text(values, row, text, strlen(text));
}

/* Chooses the columns: `name` is one where classes of the table differ in upper and lower case. */
static uint64_t *wanted_columns(const struct table_group *group)
{
	const struct shape *shape = group->shape;
	const struct class_group *classes = &group->classes;
	bool differ = false;

	for (size_t i = 0; i < classes->count; i++)
		differ |= strcmp(classes->classes[i]->name, classes->name) != 0;
	uint64_t *wanted = differ ? bitset_new(shape->ncolumns) : NULL;
	for (size_t i = 0; differ && i < shape->ncolumns; i++)
		if (!shape->columns[i].hidden || shape->columns[i].kind == COLUMN_NAME)
			bitset_add(wanted, i);
	return wanted;
}

static const struct table_group *table_group(struct tables *tables, uint32_t number)
{
	struct table_group *group = &tables->groups[number];

	if (group->shape)
		return group;
	group->shape = shape_new(tables->options.trace, &group->classes, false, tables->arena);
	group->wanted = wanted_columns(group);
	group->sheet = add_sheet(tables, fields_sheet(group->shape, &group->classes, group->wanted),
				 number);
	return group;
}

static void make_puts(struct tables *tables, const struct event_class *class)
{
	const struct table_group *group = table_group(tables, tables->group_of[class->index]);
	struct class_puts *puts = &tables->classes[class->index];

	fields_puts(group->shape, class, group->wanted, group->sheet, tables->arena, puts);
}

static const struct own_column of_events[] = {
	{"name", CELL_TEXT, 0}, {"context", CELL_TEXT, 0}, {"fields", CELL_TEXT, 0}};

static struct sheet *events_sheet(struct tables *tables)
{
	if (!tables->events)
		tables->events = own_sheet(tables, placed_sheet("events", COLUMNS_OWN + 3),
					   COLUMNS_OWN, of_events, ALL_EVENTS);
	return tables->events;
}

static size_t put_json(struct tables *tables, struct sheet_values *values, size_t row,
		       const struct fields *fields, unsigned scopes)
{
	if (!fields) {
		values_null(values, row);
		return 0;
	}
	buf_clear(&tables->scratch);
	json_add_scopes(&tables->scratch, fields, scopes);
	values_text(values, row, tables->scratch.data, tables->scratch.len);
	return tables->scratch.len;
}

static bool event_of_all(struct tables *tables, nstime t, const struct stream *stream, int32_t cpu,
			 const struct event_class *class, const struct fields *fields,
			 struct error *err)
{
	unsigned context = 1u << SCOPE_STREAM_EVENT_CONTEXT | 1u << SCOPE_EVENT_CONTEXT;
	size_t text, row;

	struct sheet *sheet = events_sheet(tables);
	row = sheet_row(sheet);
	placed_put(sheet, row, t, stream, cpu);
	values_symbol(&sheet->columns[3], row, class->index, class->name);
	text = put_json(tables, &sheet->columns[4], row, fields, context);
	text += put_json(tables, &sheet->columns[5], row, fields, 1u << SCOPE_PAYLOAD);
	return row_done(tables, sheet, text, err);
}

static struct tables *tables_of(void *format)
{
	return ((struct convert *)format)->tables;
}

bool tables_event(void *format, nstime t, const struct stream *stream, int32_t cpu,
		  const struct event_class *class, const struct fields *fields, struct error *err)
{
	struct tables *tables = tables_of(format);
	struct class_puts *puts = &tables->classes[class->index];

	if (!puts->sheet)
		make_puts(tables, class);
	size_t row = sheet_row(puts->sheet);
	placed_put(puts->sheet, row, t, stream, cpu);
	size_t text = fields_put(puts, fields, row, &tables->scratch);
	if (!row_done(tables, puts->sheet, text, err))
		return false;
	return !tables->options.all_events ||
	       event_of_all(tables, t, stream, cpu, class, fields, err);
}

/* ---- losses ---- */

static const struct own_column of_losses[] = {
	{"until", CELL_TIME, 64}, {"events", CELL_UINT, 64}, {"packets", CELL_UINT, 64}};

bool tables_loss(void *format, const struct event *loss, struct error *err)
{
	struct tables *tables = tables_of(format);

	if (!tables->losses)
		tables->losses = own_sheet(tables, placed_sheet("losses", COLUMNS_OWN + 3),
					   COLUMNS_OWN, of_losses, NO_GROUP);
	struct sheet *sheet = tables->losses;
	size_t row = sheet_row(sheet);
	placed_put(sheet, row, loss->time, loss->stream, loss->cpu);
	values_time(&sheet->columns[3], row, loss->until);
	values_known(&sheet->columns[4], row, !loss->lost_unknown, loss->lost);
	values_number(&sheet->columns[5], row, loss->lost_packets);
	return row_done(tables, sheet, 0, err);
}

/* ---- state ---- */

static const struct own_column of_state[STATE_N] = {
	[STATE_PATH] = {"path", CELL_TEXT, 0},      [STATE_TS] = {"ts", CELL_TIME, 64},
	[STATE_DUR] = {"dur", CELL_INT, 64},        [STATE_VALUE] = {"value", CELL_TEXT, 0},
	[STATE_INT] = {"value_int", CELL_INT, 64},  [STATE_FLOAT] = {"value_float", CELL_FLOAT, 64},
	[STATE_BOOL] = {"value_bool", CELL_BOOL, 1}};

static void tables_put_value(struct sheet *sheet, size_t row, const struct value *value,
			     struct buf *scratch)
{
	struct sheet_values *values = sheet->columns;

	buf_clear(scratch);
	if (value_exists(value))
		convert_add_value(scratch, NULL, value);
	values_text(&values[STATE_VALUE], row, buf_text(scratch), scratch->len);
	values_known(&values[STATE_INT], row, value->kind == VALUE_INT, value->u);
	if (value->kind == VALUE_FLOAT)
		values_float(&values[STATE_FLOAT], row, value->f);
	else
		values_null(&values[STATE_FLOAT], row);
	bool is_bool = value->kind == VALUE_BOOL;
	values_known(&values[STATE_BOOL], row, is_bool, is_bool && value->b);
}

bool tables_interval(void *format, const struct interval *interval, struct error *err)
{
	struct tables *tables = tables_of(format);
	nstime length;

	if (!tables->state)
		tables->state =
			own_sheet(tables, sheet_new("state", STATE_N), 0, of_state, NO_GROUP);
	struct sheet *sheet = tables->state;
	size_t row = sheet_row(sheet);
	tables_put_text(&sheet->columns[STATE_PATH], row, interval->path);
	values_time(&sheet->columns[STATE_TS], row, interval->begin);
	bool known = interval->begin != NSTIME_MIN && interval->end != NSTIME_MAX &&
		     !__builtin_sub_overflow(interval->end, interval->begin, &length);
	values_known(&sheet->columns[STATE_DUR], row, known, known ? (uint64_t)length : 0);
	tables_put_value(sheet, row, &interval->value, &tables->scratch);
	return row_done(tables, sheet, tables->scratch.len, err);
}

/* ---- rows that another thread made ---- */

struct tables *tables_beside(const struct tables *tables)
{
	const struct tables_options options = {.trace = tables->options.trace,
					       .all_events = tables->options.all_events};

	return tables_new(&options);
}

static int by_group(const void *a, const void *b)
{
	const struct part_sheet *p = a, *q = b;

	return p->group < q->group ? -1 : p->group > q->group;
}

struct convert_part *tables_take(struct tables *tables, size_t *bytes)
{
	struct convert_part *part = mem_new(sizeof *part);

	*bytes = 0;
	for (size_t i = 0; i < tables->count; i++) {
		struct sheet *sheet = tables->items[i].sheet;
		if (!sheet->rows)
			continue;
		*bytes += sheet_bytes(sheet);
		*mem_push(part->items, part->count, part->capacity) =
			(struct part_sheet){tables->items[i].group, sheet_take(sheet)};
		sheet->rises = true;
	}
	/* threads see the classes in different order */
	if (part->count)
		qsort(part->items, part->count, sizeof *part->items, by_group);
	return part;
}

void tables_part_free(struct convert_part *part)
{
	if (!part)
		return;
	for (size_t i = 0; i < part->count; i++)
		sheet_free(part->items[i].sheet);
	mem_free(part->items);
	mem_free(part);
}

/* Points names to the sheet's: the part's own belong to tables that may be freed earlier. */
static void take_names(struct sheet *part, const struct sheet *sheet)
{
	part->name = sheet->name;
	for (size_t i = 0; i < part->ncolumns; i++)
		part->columns[i].name = sheet->columns[i].name;
}

static bool give_sheet(struct tables *tables, const struct part_sheet *from, struct error *err)
{
	struct sheet *part = from->sheet;
	struct sheet *sheet = from->group == ALL_EVENTS ? events_sheet(tables)
							: table_group(tables, from->group)->sheet;
	struct filling_table *table = &tables->items[sheet->number];
	if (sheet->rows)
		add_part(table, sheet_take(sheet));
	take_names(part, sheet);
	sheet->rises &= part->rises;
	add_part(table, part);
	return measure(tables, sheet, err);
}

bool tables_give(struct tables *tables, struct convert_part *part, struct error *err)
{
	bool ok = true;

	for (size_t i = 0; ok && i < part->count; i++) {
		ok = give_sheet(tables, &part->items[i], err);
		part->items[i].sheet = NULL;
	}
	tables_part_free(part);
	return ok;
}
