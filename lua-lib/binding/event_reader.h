/*
 * event_reader.h - the values that columns have at an event of a run
 *
 *     cursor of a script ──> its reader ──> Lua
 *     workers of a sweep ──> one reader each ──> groups
 *
 * Nothing here knows Lua, or changes what readers of several threads share: columns are parsed, and
 * their fields are looked up (bind_column.h), before a thread other than the script's reads them.
 */
#ifndef LUA_LIB_BINDING_EVENT_READER_H
#define LUA_LIB_BINDING_EVENT_READER_H

#include "engine/base/buf.h"
#include "index/filters/run_column.h"
#include "state/model/value.h"

/* Where one event class has a field of a name; looked up once. */
struct bind_name {
	const char *name;
	unsigned scopes;
	bool direct;  /* the class has the field, at `path` */
	bool integer; /* an integer, not of the packet: `column` loads it */
	struct field_path path;
	struct run_field column;
	struct bind_name *next;
};

enum column_kind {
	COLUMN_T,
	COLUMN_NAME,
	COLUMN_CPU,
	COLUMN_STREAM,
	COLUMN_FIELD,
	COLUMN_LABEL, /* the first label of an enumeration's value */
	COLUMN_EXPR,  /* any other expression of conditions */
	COLUMN_STATE  /* one that reads the state, which bind_column.h evaluates */
};

struct bind_expr { /* an expression of conditions; the cursor's */
	const char *text;
	struct where *where;     /* NULL: not compiled yet */
	struct reading *reading; /* NULL: it reads no state */
	uint32_t number;         /* which no other expression of the cursor has */
	struct bind_expr *next;
};

struct bind_column { /* parsed by bind_column_parse() */
	enum column_kind kind;
	unsigned scopes;
	const char *key, *name;          /* the script's text; the field's name */
	const struct bind_name **places; /* by class; NULL: not looked up */
	struct bind_expr *expr;          /* of EXPR and STATE */
	bool test;                       /* a condition; it has no value unless it is true */
};

static inline bool bind_column_is_field(const struct bind_column *column)
{
	return column->kind == COLUMN_FIELD || column->kind == COLUMN_LABEL;
}

/* The column's value of the expression's, *value. */
static inline void bind_column_tested(const struct bind_column *column, struct value *value)
{
	if (column->test && !(value->kind == VALUE_BOOL && value->b))
		*value = (struct value){.kind = VALUE_UNKNOWN};
}

struct event_reader {       /* {0}: there is no event */
	struct run run;     /* of the current event; count 0: it is a loss, or there is none */
	uint32_t entry;     /* the current event, in the run's batch */
	struct event event; /* of an event: time, class, stream and cpu; of a loss: all members */
	uint64_t serial;    /* another one for each event */
	uint64_t decoded;   /* serial of the event that `fields` belong to */
	struct fields fields;
	/* An event could not be decoded, and its values are unknown. The owner clears the flag. */
	bool failed;
	struct error error;
	struct where_pass **passes; /* of expressions, by their numbers */
	size_t npasses;
};

void event_reader_release(struct event_reader *reader);
/* Turns to a run, or a loss, that the owner wrote to reader->run; it has no current event yet. */
void event_reader_turn(struct event_reader *reader);

/* Makes an entry of the run the current event. */
static inline void event_reader_move(struct event_reader *reader, const struct trace *trace,
				     uint32_t entry)
{
	const struct batch *batch = reader->run.batch;

	reader->entry = entry;
	reader->event.time = batch->time[entry];
	reader->event.class = trace->classes[batch->class_index[entry]];
	reader->serial++;
}

/* The current event's fields, decoded by the first call. NULL: reader->failed. Not of a loss. */
const struct fields *event_reader_fields(struct event_reader *reader);
/* The value of an integer field, if possible without decoding the event; false: it is none. */
bool event_reader_integer(struct event_reader *reader, const struct bind_name *place, int64_t *out);
/* The field there; false: the event has none. */
bool event_reader_field(struct event_reader *reader, const struct bind_name *place,
			struct field *out);
/* The value of an expression that reads no state; texts live until the next call with it. */
void event_reader_expr(struct event_reader *reader, const struct bind_expr *expr,
		       struct value *out);
/*
 * The current event's value of a column that reads no state and whose field was looked up in the
 * event's class; unknown where it has none. Texts live until the next call with `scratch`.
 */
void event_reader_value(struct event_reader *reader, const struct bind_column *column,
			struct buf *scratch, struct value *out);

#endif
