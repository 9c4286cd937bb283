/* render_event_internal.h - what the files of render_event*.c share; not for others */
#ifndef REPL_RENDER_RENDER_EVENT_INTERNAL_H
#define REPL_RENDER_RENDER_EVENT_INTERNAL_H

#include "engine/base/arena.h"
#include "engine/reader.h"
#include "repl/render/render.h"
#include "repl/render/render_plan.h"
#include "repl/render/thread_names.h"

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
