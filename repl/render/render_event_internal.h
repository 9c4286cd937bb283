/* render_event_internal.h - what the files of render_event*.c share; not for others */
#ifndef REPL_RENDER_RENDER_EVENT_INTERNAL_H
#define REPL_RENDER_RENDER_EVENT_INTERNAL_H

#include "engine/base/arena.h"
#include "engine/reader.h"
#include "repl/render/render.h"
#include "repl/render/thread_names.h"

/*
 * render_plan.c: how the values of a class are written: what is known of them before
 *
 * A plan is a class' members flattened: ready-made text, then a value, then text ...
 *
 *     {"prev_comm": <text> ,"prev_tid": <int> ,"prev_prio": <int> ... }
 *
 * Texts are padded for copy_padded(), and the room that all of them and all numbers take is known:
 * between two values of other kinds nothing is checked.
 */
enum leaf { LEAF_UNSIGNED, LEAF_SIGNED, LEAF_HEX, LEAF_STRING, LEAF_ANY };

struct render_token {
	const char *text; /* what stands before the value */
	uint32_t len;
	enum leaf leaf;
	uint32_t slot, base; /* the value's slot; where its scope's slots begin */
	uint64_t mask;       /* HEX: the bits that count */
	const struct field_class *class;
	const char *name; /* of cells: the column's */
};

struct render_plan {
	struct render_token *tokens;
	size_t count, capacity;
	const char *tail;
	size_t ntail;
	size_t room; /* of all texts and numbers */
	bool json;
	bool plain; /* all values are integers or floats, so that slots can be compared */
	/* set before plan_make(): a member of this class is left out; NULL: none is */
	const struct field_class *without;
	/* and: values are cells of CSV, a comma before each, their names begin so; NULL: a text */
	const char *cells;
};

/*
 * Members of `a`, whose slots begin at base_a, under their field_context_name() where `b` has one
 * of that name, then of `b`; both may be NULL.
 * Texts live in the arena; plan->tokens is the caller's, for mem_free().
 */
void plan_make(struct arena *arena, bool json, struct render_plan *plan,
	       const struct field_class *a, uint32_t base_a, const struct field_class *b,
	       uint32_t base_b);

/* The plan over an event's slots. */
void plan_put(struct sink *out, const struct render_plan *plan, const struct fields *fields,
	      const struct slot *slots);

/* A number as its token has it; at most NUMBER_ROOM bytes are written. */
static inline char *leaf_put(char *to, enum leaf leaf, uint64_t value, uint64_t mask)
{
	if (leaf == LEAF_HEX) {
		memcpy(to, "0x", 2);
		return hex_put(to + 2, value & mask, 1);
	}
	return leaf == LEAF_SIGNED ? decimal_put_signed(to, (int64_t)value)
				   : decimal_put(to, value);
}

/* Events */

struct ready { /* text that is the same in many rows, for copy_padded() */
	const char *text;
	size_t len;
};

struct class_plan {
	bool made;
	struct ready head; /* `,"name":"x","packet":` or `x: ` */
	struct render_plan context, payload;
	/* the format's own text, lines of kernel traces; NULL: the class has none */
	enum event_words (*text)(const struct fields *fields, struct buf *out);
	bool chain, address;      /* written as frames, or a name */
	bool tells_names;         /* of threads */
	bool has_thread;          /* in which it happened: */
	struct field_path thread; /* an integer */
	uint32_t thread_slot;     /* among fields->slots */
};

struct stream_plan {
	struct ready begin; /* `,"stream":"x","cpu":3` or ` x cpu 3 `; text NULL: not made */
	int32_t cpu;        /* that it names */
	const struct field_class *class; /* of the packet context that `packet` is for */
	struct render_plan packet;
	uint64_t *values; /* of the packet that `text` is of */
	struct sink text;
	bool cached;
};

struct event_writer {
	const struct trace *trace;
	enum format format;
	struct times *times;
	struct sink *sink;
	struct sink scratch;
	struct arena *arena;
	struct class_plan *classes;
	struct stream_plan *streams;
	size_t nclasses, nstreams; /* the trace may be closed before the writer is freed */
	struct thread_names *names;
	struct symbols *symbols; /* NULL: call chains stay numbers */
	struct frame_texts *places; /* with them */
	unsigned want;
	struct rows rows; /* table, csv */
	bool json;
	bool typed; /* csv: each field is a column */
	bool mixed; /* some streams have times, others only ordinals */
	bool learns; /* this event's line may tell names for itself and later ones */
	/* json: the digits of seconds of the time written last, and where that second begins */
	struct ready second;
	char second_text[COPY_PAD];
	nstime second_begin;
};

void class_plan_make(struct event_writer *writer, struct class_plan *plan,
		     const struct event_class *class);
void stream_plan_make(struct event_writer *writer, struct stream_plan *plan,
		      const struct stream *stream, int32_t cpu);

static inline struct class_plan *class_plan(struct event_writer *writer,
					    const struct event_class *class)
{
	struct class_plan *plan = &writer->classes[class->index];

	if (__builtin_expect(!plan->made, 0))
		class_plan_make(writer, plan, class);
	return plan;
}

static inline struct stream_plan *stream_plan(struct event_writer *writer,
					      const struct stream *stream, int32_t cpu)
{
	struct stream_plan *plan = &writer->streams[stream->index];

	if (__builtin_expect(!plan->begin.text || plan->cpu != cpu, 0))
		stream_plan_make(writer, plan, stream, cpu);
	return plan;
}

static inline char *put_ready(char *to, const struct ready *ready)
{
	return copy_padded(to, ready->text, ready->len);
}

/*
 * "" for what holds from the start and has no time, "-" in text. `stream`: whose time it is; where
 * it has no clock, t is the number of its event.
 */
void event_time(struct event_writer *writer, struct sink *out, const struct stream *stream,
		nstime t);

/* The row of an event in each format, as event_write(). */
bool event_text(struct event_writer *writer, struct class_plan *plan, nstime t,
		const struct stream *stream, int32_t cpu, const struct fields *fields);
bool event_json(struct event_writer *writer, nstime t, const struct stream *stream, int32_t cpu,
		const struct event_class *class, const struct fields *fields);
bool event_csv(struct event_writer *writer, nstime t, const struct stream *stream, int32_t cpu,
	       const struct event_class *class, const struct fields *fields);
bool event_cells(struct event_writer *writer, nstime t, const struct stream *stream, int32_t cpu,
		 const struct event_class *class, const struct fields *fields);

#endif
