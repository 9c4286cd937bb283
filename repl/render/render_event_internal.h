/* render_event_internal.h - shared by render_plan.c and render_event*.c only */
#ifndef REPL_RENDER_RENDER_EVENT_INTERNAL_H
#define REPL_RENDER_RENDER_EVENT_INTERNAL_H

#include "engine/base/arena.h"
#include "engine/reader.h"
#include "repl/render/render.h"
#include "repl/render/thread_names.h"

/*
 * render_plan.c: compiles event classes to plans, by which their values are written
 *
 * A plan is the flattened list of a class' members: constant text, a value, constant text ...
 *
 *     {"prev_comm": <text> ,"prev_tid": <int> ,"prev_prio": <int> ... }
 *
 * Texts are padded for copy_padded(). The plan knows the room that all texts and numbers take, so
 * the buffer is checked only at values of other kinds.
 */
enum leaf { LEAF_UNSIGNED, LEAF_SIGNED, LEAF_HEX, LEAF_STRING, LEAF_ANY };

struct render_token {
	const char *text; /* constant text before the value */
	uint32_t len;
	enum leaf leaf;
	uint32_t slot, base; /* slot of the value; first slot of its scope */
	uint64_t mask;       /* of LEAF_HEX: the bits of the value's width */
	const struct field_class *class;
	const char *name; /* name of the column, if values are cells */
};

struct render_plan {
	struct render_token *tokens;
	size_t count, capacity;
	const char *tail;
	size_t ntail;
	size_t room; /* bytes that all texts and numbers take at most */
	bool json;
	bool plain; /* all values are integers or floats, so that slots can be compared */
	/* set before plan_make(): leave out a member of this class; NULL: none */
	const struct field_class *without;
	/* likewise: values become CSV cells, each behind a comma, with names of this prefix */
	const char *cells;
};

/*
 * Makes a plan of the members of `a` and then of `b` (each may be NULL); their slots begin at
 * base_a and base_b. A member of `a` whose name `b` has, too, gets its field_context_name(). Texts
 * live in the arena; the caller frees plan->tokens with mem_free().
 */
void plan_make(struct arena *arena, bool json, struct render_plan *plan,
	       const struct field_class *a, uint32_t base_a, const struct field_class *b,
	       uint32_t base_b);

/* Writes an event's values, in `slots`, by the plan. */
void plan_put(struct sink *out, const struct render_plan *plan, const struct fields *fields,
	      const struct slot *slots);

/* Writes a number in the form of its token, in at most NUMBER_ROOM bytes; returns the end. */
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
	/* writes the format's own text, as in lines of kernel traces; NULL: the class has none */
	enum event_words (*text)(const struct fields *fields, struct buf *out);
	bool chain, address;      /* has a call chain, or an address, to be shown by symbols */
	bool tells_names;         /* has names of threads */
	bool has_thread;          /* a field has the thread in which it happened: */
	struct field_path thread; /* an integer */
	uint32_t thread_slot;     /* its index in fields->slots */
};

struct stream_plan {
	struct ready begin; /* `,"stream":"x","cpu":3` or ` x cpu 3 `; text NULL: not made */
	int32_t cpu;        /* the CPU in `begin` */
	const struct field_class *class; /* the packet context for which `packet` was made */
	struct render_plan packet;
	uint64_t *values; /* slots of the packet context that `text` shows */
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
	size_t nclasses, nstreams; /* copies: the trace may be closed before the writer is freed */
	struct thread_names *names;
	struct symbols *symbols; /* NULL: call chains stay numbers */
	struct frame_texts *places; /* a cache for frames; NULL without symbols */
	unsigned want;
	struct rows rows; /* table, csv */
	bool json;
	bool typed; /* csv with a column per field */
	bool mixed; /* some streams have times, others only ordinals */
	bool learns; /* learn thread names from this event, for its line and later ones */
	/* json: digits of the seconds of the last time, and the time at which that second began */
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
 * Writes a time of `stream`; if that has no clock, t is the number of the event. NSTIME_MIN, an
 * event that holds from the start, is "-" in text, else empty.
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
