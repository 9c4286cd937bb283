/*
 * shape.h - the columns of a table of events, and where each class has their values
 *
 *     class: payload { prev_comm, prio, args { fd }, state: enumeration }
 *     table: ts, stream, cpu, prev_comm, prio, args_fd, state, state_label ...
 *
 * A table may be of several classes of one name (two channels, two parts of a trace): its columns
 * are those of all, and a column that an event's class has not is NULL. The tables of SQL and of
 * exported files are these.
 */
#ifndef ENGINE_COLUMNS_SHAPE_H
#define ENGINE_COLUMNS_SHAPE_H

#include "engine/base/buf.h"
#include "engine/event.h"

/* Names of tables and columns are one whatever the case of their letters (ASCII), as in SQL. */
bool shape_same_name(const char *a, const char *b);
/* The name as SQL's statements write it, between '"'. */
void shape_add_name(struct buf *out, const char *name);

enum column_kind {
	COLUMN_TS,
	COLUMN_STREAM,
	COLUMN_CPU,
	COLUMN_NAME,
	COLUMN_CONTEXT, /* JSON of what stands around the payload */
	COLUMN_FIELDS,  /* JSON of the payload */
	COLUMN_PACKET,  /* JSON of the packet's context */
	COLUMN_FILE,    /* of the packet */
	COLUMN_OFFSET,  /* of the packet in it */
	COLUMN_INDEX,   /* of the event in the packet */
	COLUMN_TRACE,   /* the path that the table is told */
	COLUMN_WHERE,   /* the condition that it is told */
	COLUMN_FIELD,
	COLUMN_LABEL
};

struct column {
	enum column_kind kind;
	const char *name;
	const char *type; /* as declared; "" of classes that differ */
	bool hidden;
	bool whole_number; /* FIELD: in every class that has it, an integer, */
	bool hex;          /* and unsigned, shown in hexadecimal */
	uint32_t field;    /* FIELD, LABEL: number among the table's fields */
};

/* A variant on the way: the value is there when its option is the chosen one. */
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
	uint32_t *row;        /* by class: 1 + its row of places, 0: not of this table */
	const struct class_group *group; /* NULL: all events. Borrowed */
	struct shape_row {
		uint32_t class, row;
	} * sparse;           /* of many classes, instead of `row`; by rising class */
	struct value_place *places; /* nfields a row */
};

/* The classes of one name. */
struct class_group {
	const char *name;
	const struct event_class **classes;
	size_t count;
};

/*
 * Groups by name, in the order in which the names came; then, for names with a subsystem
 * (sched:sched_switch), the bare ones, which belong to no subsystem's event.
 */
void class_groups_make(const struct trace *trace, struct class_group **out, size_t *count);
void class_groups_free(struct class_group *groups, size_t count);

/*
 * `group` NULL: the table `events`, else borrowed. `told`: with the hidden column `trace`, the
 * first hidden one; the next one is `yore_where`. `arena` has what the shape is made of; NULL: one
 * of its own.
 */
struct shape *shape_new(const struct trace *trace, const struct class_group *group, bool told,
			struct arena *arena);
void shape_free(struct shape *shape); /* NULL is fine */

uint32_t shape_row_sparse(const struct shape *shape, uint32_t class);
/* 1 + the row of places of a class; 0: it is not of this table. Only with a group. */
static inline uint32_t shape_row(const struct shape *shape, uint32_t class)
{
	return shape->row ? shape->row[class] : shape_row_sparse(shape, class);
}

/* The slot of a place in these fields; NULL: not there in this event. */
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
