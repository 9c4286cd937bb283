/*
 * shape.h - the columns of a table of events, and where their values are in each event class
 *
 *     class: payload { prev_comm, prio, args { fd }, state: enumeration }
 *     table: ts, stream, cpu, prev_comm, prio, args_fd, state, state_label ...
 *
 * A table may be of several classes of one name (in two channels, or two parts of a trace): it has
 * the columns of all of them, and NULL where an event's class lacks the field. SQL and exported
 * files use these tables.
 */
#ifndef ENGINE_COLUMNS_SHAPE_H
#define ENGINE_COLUMNS_SHAPE_H

#include "engine/base/buf.h"
#include "engine/event.h"

/* Are two names of tables or columns equal, ignoring the case of ASCII letters, as in SQL? */
bool shape_same_name(const char *a, const char *b);
/* Appends the name as an SQL identifier, between '"'. */
void shape_add_name(struct buf *out, const char *name);

enum column_kind {
	COLUMN_TS,
	COLUMN_STREAM,
	COLUMN_CPU,
	COLUMN_NAME,
	COLUMN_CONTEXT, /* JSON of the event's and stream event contexts */
	COLUMN_FIELDS,  /* JSON of the payload */
	COLUMN_PACKET,  /* JSON of the packet's context */
	COLUMN_FILE,    /* of the packet */
	COLUMN_OFFSET,  /* of the packet in it */
	COLUMN_INDEX,   /* of the event in the packet */
	COLUMN_TRACE,   /* hidden argument of a table function: path of the trace */
	COLUMN_WHERE,   /* likewise: the condition */
	COLUMN_FIELD,
	COLUMN_LABEL
};

struct column {
	enum column_kind kind;
	const char *name;
	const char *type; /* SQL type; "" where classes differ */
	bool hidden;
	bool whole_number; /* FIELD: an integer in every class that has it, */
	bool hex;          /* and unsigned and shown in hexadecimal */
	uint32_t field;    /* FIELD, LABEL: number among the table's fields */
};

/* A variant that contains the field: an event has the value if this option is selected. */
struct chosen {
	uint32_t slot, option;
};

struct value_place {
	const struct field_class *class; /* NULL: the class has no such field */
	enum scope scope;
	uint32_t slot;
	const struct chosen *chosen;
	uint32_t nchosen;
};

struct shape {
	struct arena *arena;
	bool own_arena;
	struct column *columns;
	size_t ncolumns, columns_capacity;
	size_t nfields;
	uint32_t *row; /* by class: 1 + number of its row in `places`, 0: not in this table */
	const struct class_group *group; /* NULL: all events. Borrowed */
	struct shape_row {
		uint32_t class, row;
	} * sparse; /* instead of `row` in traces of many classes; sorted by class */
	struct value_place *places; /* rows of nfields places */
};

/* The classes of one name. */
struct class_group {
	const char *name;
	const struct event_class **classes;
	size_t count;
};

/*
 * Groups the classes by name, in the order of their first classes. For names with a subsystem
 * (sched:sched_switch) groups by the name alone follow, unless a class has that name.
 */
void class_groups_make(const struct trace *trace, struct class_group **out, size_t *count);
void class_groups_free(struct class_group *groups, size_t count);

/*
 * The shape of a group's table; `group` is borrowed; NULL: the table `events`. Its first hidden
 * column is `yore_where`; with `told` it is `trace`, and `yore_where` the next one. The shape is
 * allocated in `arena`; NULL: in one of its own.
 */
struct shape *shape_new(const struct trace *trace, const struct class_group *group, bool told,
			struct arena *arena);
void shape_free(struct shape *shape); /* NULL is fine */

uint32_t shape_row_sparse(const struct shape *shape, uint32_t class);
/* 1 + number of the class's row in shape->places; 0: not in this table. Only with a group. */
static inline uint32_t shape_row(const struct shape *shape, uint32_t class)
{
	return shape->row ? shape->row[class] : shape_row_sparse(shape, class);
}

/* The slot of a place in an event's fields; NULL: this event has no such value. */
static inline const struct slot *place_slot(const struct value_place *place,
					    const struct fields *fields)
{
	const struct slot *slots;

	if (place->scope == SCOPE_PACKET_CONTEXT)
		slots = fields->packet_context;
	else
		slots = fields->slots + fields->class->slot_base[place->scope];
	for (uint32_t i = 0; i < place->nchosen; i++)
		if (slots[place->chosen[i].slot].n != place->chosen[i].option)
			return NULL;
	return slots ? slots + place->slot : NULL;
}

/* The value at a place as a field; false: not there. */
bool place_field(const struct value_place *place, const struct fields *fields, struct field *out);

#endif
