/*
 * yore.h - libyore: opens a trace and gives its events, in C
 *
 *     struct yore *yore;
 *     struct yore_events *events;
 *     struct yore_error err;
 *
 *     if (yore_open("trace", NULL, &yore, &err) != 0)
 *             die(err.text);
 *     if (yore_events_open(yore, NULL, &events, &err) != 0)
 *             die(err.text);
 *     while ((status = yore_events_next(events, &err)) == 1)
 *             printf("%s\n", yore_class_name(yore_event_class(events)));
 *     yore_events_close(events);
 *     yore_close(yore);
 *
 * It reads every format that yore reads. The library prints nothing and never ends the process,
 * with one exception: when memory runs out it calls the hook of yore_on_no_memory(), then abort(3).
 *
 * Errors. A function that can fail returns int: 0 (or more) when done, -1 when not; then *err says
 * why. `err` may be NULL.
 *
 * Times are nanoseconds since the Unix epoch where the trace's clock says so, else since the
 * clock's origin; they may be negative. Ranges are half-open. A stream without a clock has ordinals
 * instead, counted from 0.
 *
 * Threads. An opened trace does not change: several threads may use one `struct yore` at once, and
 * each may have cursors of its own. A cursor, and the fields that come from it, belong to one
 * thread at a time. yore_close() comes last. `say` may be called by each thread that uses the
 * trace.
 *
 * Memory. Nothing is freed by the caller but traces and cursors. What is borrowed from a trace (its
 * streams, classes, texts) lives until yore_close(); what is borrowed from an event (its fields,
 * texts and bytes) until the next call of yore_events_next(), _seek() or _close() with its cursor.
 * Text is UTF-8 as the trace has it, ended by a zero that lengths do not count.
 *
 * Structures with a member `size` grow at their end; a program sets it to sizeof of the structure
 * that it was compiled with, and what it does not know counts as zero.
 */
#ifndef YORE_H
#define YORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define YORE_API __attribute__((visibility("default")))
#else
#define YORE_API
#endif

#define YORE_TIME_MIN INT64_MIN /* of a range: unbounded; of an event: it has no time */
#define YORE_TIME_MAX INT64_MAX

/* Errors -------------------------------------------------------------------------------------- */

enum yore_error_kind {
	YORE_ERROR_NONE,
	YORE_ERROR_IO,     /* the system says no: errno's text is in the message */
	YORE_ERROR_FORMAT, /* the file is not what its format asks for */
	YORE_ERROR_RANGE,  /* a time or number that does not fit */
	YORE_ERROR_QUERY   /* the call asks for what the trace does not have */
};

/* One line without its end. Of damage it names the file, the byte offset in it, and the cause. */
struct yore_error {
	enum yore_error_kind kind;
	char text[512];
};

enum yore_notice {
	YORE_INFO,    /* something was done that the user may wonder about */
	YORE_WARNING, /* the trace is odd or lost something; what it gives stands */
	YORE_DAMAGE   /* a part of the trace could not be read; its events are missing */
};

/* A trace ------------------------------------------------------------------------------------- */

struct yore;
struct yore_part; /* one folder or file: its format, host and environment */
struct yore_clock;
struct yore_stream;
struct yore_class; /* of events */
struct yore_field_class;

struct yore_options {
	size_t size; /* sizeof(struct yore_options) */
	/* FORMAT[,KEY=VALUE...] as of the program's option --input; NULL: found out by content */
	const char *input;
	/* Further traces that are merged with the first one, and nanoseconds that are added to the
	   times of each: 1 + nmore offsets, or NULL. INT64_MIN: none for that trace. Clocks that
	   are known to be one are aligned where no offset is given; clocks without a known
	   relation are merged as their times are. */
	const char *const *more;
	size_t nmore;
	const int64_t *offsets;
	int strict; /* refuse what known tracers are known to write wrong */
	/* Read by pread(2), never map files: one that is cut short meanwhile sends no SIGBUS. */
	int no_map;
	/* Where packet tables are stored; NULL: $YORE_INDEX_DIR, then the XDG cache folder. */
	const char *index_dir;
	int no_index; /* store nothing, anywhere */
	/* Is told of warnings and damage, one line each; may be NULL. The text is borrowed. */
	void (*say)(void *arg, enum yore_notice kind, const char *text);
	void *arg;
};

YORE_API const char *yore_version(void); /* "1.2" */

/*
 * Opens a file or folder. `options` may be NULL. The caller ends *out with yore_close(); after -1
 * *out is NULL.
 */
YORE_API int yore_open(const char *path, const struct yore_options *options, struct yore **out,
		       struct yore_error *err);
YORE_API void yore_close(struct yore *yore); /* NULL is fine; its cursors are closed before */

/*
 * Least and greatest event time; ordinals when no stream has a clock. 1: done; 0: the trace has no
 * event.
 */
YORE_API int yore_range(struct yore *yore, int64_t *first, int64_t *last, struct yore_error *err);

/* Packets and files, up to now, of which something could not be read: `say` was told what. */
YORE_API uint64_t yore_damaged(const struct yore *yore);

/*
 * For a SIGBUS handler; async-signal-safe. When `address` lies in a mapped file of a trace that was
 * cut short, puts zeros there and returns 1: the handler returns, and the reader finds damage.
 */
YORE_API int yore_absorb_fault(const void *address);

/*
 * What to call, in whatever thread, when `bytes` more are not to be had: it may not allocate, nor
 * call the library, and ends the process or the thread. NULL, or where it returns: abort(3). For
 * the whole process; best set before the first trace is opened.
 */
YORE_API void yore_on_no_memory(void (*hook)(size_t bytes));

YORE_API size_t yore_part_count(const struct yore *yore);
YORE_API const struct yore_part *yore_part(const struct yore *yore, size_t i);
YORE_API const char *yore_part_path(const struct yore_part *part);
YORE_API const char *yore_part_format(const struct yore_part *part);  /* "ctf", "perf", ... */
YORE_API const char *yore_part_version(const struct yore_part *part); /* "1.8"; "": has none */
YORE_API const char *yore_part_host(const struct yore_part *part);    /* "": not known */
YORE_API const char *yore_part_domain(const struct yore_part *part);  /* "kernel"; "": none */
YORE_API const uint8_t *yore_part_uuid(const struct yore_part *part); /* 16 bytes; NULL: none */
/* Entry i of the environment, 0 <= i < count: a text, or where that is NULL a number. */
YORE_API size_t yore_part_environment(const struct yore_part *part);
YORE_API const char *yore_part_variable(const struct yore_part *part, size_t i, const char **text,
					int64_t *number);

YORE_API size_t yore_clock_count(const struct yore *yore);
YORE_API const struct yore_clock *yore_clock(const struct yore *yore, size_t i);
YORE_API const char *yore_clock_name(const struct yore_clock *clock);
YORE_API const char *yore_clock_description(const struct yore_clock *clock); /* "": none */
YORE_API uint64_t yore_clock_frequency(const struct yore_clock *clock);      /* Hz */
YORE_API uint64_t yore_clock_precision(const struct yore_clock *clock); /* cycles; 0: not given */
/* From the clock's origin to its cycle 0: seconds, and cycles besides. */
YORE_API int64_t yore_clock_offset(const struct yore_clock *clock, int64_t *cycles);
YORE_API int yore_clock_is_epoch(const struct yore_clock *clock); /* its origin is the Unix epoch */
YORE_API const uint8_t *yore_clock_uuid(const struct yore_clock *clock); /* 16 bytes; NULL */

YORE_API size_t yore_stream_count(const struct yore *yore);
YORE_API const struct yore_stream *yore_stream(const struct yore *yore, size_t i);
YORE_API size_t yore_stream_index(const struct yore_stream *stream);     /* among these */
YORE_API const char *yore_stream_name(const struct yore_stream *stream); /* unique in the trace */
YORE_API const char *yore_stream_section(const struct yore_stream *stream); /* channel; "": none */
YORE_API uint64_t yore_stream_id(const struct yore_stream *stream); /* of its stream class */
/* -1: not known, or by packet. Packets may be of others than the first: yore_event_cpu() tells. */
YORE_API int yore_stream_cpu(const struct yore_stream *stream);
YORE_API int yore_stream_has_time(const struct yore_stream *stream);   /* 0: ordinals */
YORE_API uint64_t yore_stream_bytes(const struct yore_stream *stream); /* of all its files */
YORE_API const struct yore_clock *yore_stream_clock(const struct yore *yore,
						    const struct yore_stream *stream); /* or NULL */
YORE_API const struct yore_part *yore_stream_part(const struct yore *yore,
						  const struct yore_stream *stream);

YORE_API size_t yore_class_count(const struct yore *yore);
YORE_API const struct yore_class *yore_class(const struct yore *yore, size_t i);
YORE_API size_t yore_class_index(const struct yore_class *event_class); /* among these */
YORE_API const char *yore_class_name(const struct yore_class *event_class);
YORE_API uint64_t yore_class_id(const struct yore_class *event_class);
YORE_API uint64_t yore_class_stream_id(const struct yore_class *event_class);
YORE_API int yore_class_loglevel(const struct yore_class *event_class); /* -1: none */
YORE_API const struct yore_part *yore_class_part(const struct yore *yore,
						 const struct yore_class *event_class);

/* Field classes ------------------------------------------------------------------------------- */

enum yore_kind {
	YORE_BOOL,
	YORE_INT,  /* signed, up to 64 bits */
	YORE_UINT, /* unsigned, up to 64 bits */
	YORE_DOUBLE,
	YORE_STRING,
	YORE_BYTES,   /* a blob */
	YORE_STRUCT,  /* members */
	YORE_ARRAY,   /* elements of one class; of fixed length or not */
	YORE_VARIANT, /* one of several options; none when the tag chose none */
	YORE_OPTIONAL /* there, or not */
};

/* Parts of an event, in the order in which they stand in the trace. */
enum yore_scope {
	YORE_PACKET_HEADER,
	YORE_PACKET_CONTEXT,
	YORE_STREAM_CONTEXT, /* of the event, by its stream class ("stream event context") */
	YORE_EVENT_CONTEXT,  /* of the event, by its own class */
	/* Both as one structure. A member of the first whose name the second has, too, is named
	   context_NAME here. It has no field class of its own. */
	YORE_CONTEXT,
	YORE_PAYLOAD
};

/* A structure; NULL: the class has no such scope. */
YORE_API const struct yore_field_class *yore_class_scope(const struct yore_class *event_class,
							 enum yore_scope scope);
YORE_API enum yore_kind yore_field_class_kind(const struct yore_field_class *field_class);
YORE_API unsigned yore_field_class_bits(const struct yore_field_class *field_class);
/* How an integer is meant to be shown: 2, 8, 10 or 16. */
YORE_API unsigned yore_field_class_base(const struct yore_field_class *field_class);
/* Members of a STRUCT, options of a VARIANT, 1 of an ARRAY (its element) or OPTIONAL, else 0. */
YORE_API size_t yore_field_class_count(const struct yore_field_class *field_class);
/* One of these; *name (if wanted) is that of a member or option, else NULL. */
YORE_API const struct yore_field_class *
yore_field_class_item(const struct yore_field_class *field_class, size_t i, const char **name);
/* Labels of an enumeration or flags of a bit map; 0: it is neither. */
YORE_API size_t yore_field_class_labels(const struct yore_field_class *field_class);
/*
 * The name of label i and its least and greatest value, two's complement when signed; of a bit map
 * *low is the mask of its bits.
 */
YORE_API const char *yore_field_class_label(const struct yore_field_class *field_class, size_t i,
					    uint64_t *low, uint64_t *high);

/* Events -------------------------------------------------------------------------------------- */

struct yore_events; /* a cursor */
struct yore_field;

struct yore_events_options {
	size_t size;        /* sizeof(struct yore_events_options) */
	int64_t begin, end; /* [begin, end); YORE_TIME_MIN, YORE_TIME_MAX: unbounded */
	int backward;
	int losses;               /* also give what was lost: yore_event_class() is NULL */
	const char *const *names; /* globs: events of these names only; NULL: all */
	size_t nnames;
	const struct yore_stream *const *streams; /* of these only; NULL: all */
	size_t nstreams;
	int fields; /* those of most events will be asked for: decoded earlier, which is cheaper */
};

/* All events, forward: for an initializer. */
#define YORE_EVENTS_ALL                                                                          \
	{                                                                                        \
		sizeof(struct yore_events_options), YORE_TIME_MIN, YORE_TIME_MAX, 0, 0, NULL, 0, \
			NULL, 0, 0                                                               \
	}

/*
 * A cursor over events in order of time, of equal times in order of streams; backward is exactly
 * the reverse. The first one is found by binary search over packets. `options` may be NULL: all,
 * forward. Streams without a clock come after those with one, whole, when `end` is unbounded.
 */
YORE_API int yore_events_open(struct yore *yore, const struct yore_events_options *options,
			      struct yore_events **out, struct yore_error *err);
YORE_API void yore_events_close(struct yore_events *events); /* NULL is fine */
/* The same cursor, turned to another range. */
YORE_API int yore_events_seek(struct yore_events *events, int64_t begin, int64_t end,
			      struct yore_error *err);
/* 1: there is a next event, which the functions below are about; 0: there is none. */
YORE_API int yore_events_next(struct yore_events *events, struct yore_error *err);

/* Events as columns --------------------------------------------------------------------------- */

/* Apache Arrow's C data interface, as https://arrow.apache.org/docs/format/CDataInterface.html has it. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};

struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

#endif

struct yore_columns_options {
	size_t size;                /* sizeof(struct yore_columns_options) */
	int64_t begin, end;         /* [begin, end); YORE_TIME_MIN, YORE_TIME_MAX: unbounded */
	const char *const *columns; /* only these, in the table's order; NULL: all */
	size_t ncolumns;
	size_t rows; /* of a batch, at most 16,777,216; 0: 65,536 */
};

/* All columns of all events: for an initializer. */
#define YORE_COLUMNS_ALL                                                                           \
	{                                                                                          \
		sizeof(struct yore_columns_options), YORE_TIME_MIN, YORE_TIME_MAX, NULL, 0, 0      \
	}

/*
 * The events of one name as a table, batch by batch, in order of time. Its columns are those of
 * SQL's table of that name: ts, stream, cpu, then the fields; members of structures are a_b, labels
 * of an enumeration x_label. ts is a timestamp in ns (UTC) where the clock counts from the Unix
 * epoch, else a duration since the clock's origin; NULL of an event without time. The caller
 * releases *out, as Arrow's interface says, and uses it in one thread at a time; that may be after
 * yore_close(), which then leaves the trace open until the last stream is released. Batches belong
 * to who got them. `options` may be NULL: all columns.
 */
YORE_API int yore_columns_open(struct yore *yore, const char *name,
			       const struct yore_columns_options *options,
			       struct ArrowArrayStream *out, struct yore_error *err);

/* A trace that is being written --------------------------------------------------------------- */

struct yore_follow;

struct yore_follow_options {
	size_t size;      /* sizeof(struct yore_follow_options) */
	int64_t patience; /* ns that a stream which brings nothing holds back the others; 0: 2 s */
	int64_t begin;    /* events from then on; YORE_TIME_MIN: all */
	const char *const *names; /* globs: events of these names only, also of classes that come
				     later; NULL: all */
	size_t nnames;
	int losses, fields; /* as in struct yore_events_options */
};

/* All events: for an initializer. */
#define YORE_FOLLOW_ALL                                                             \
	{                                                                           \
		sizeof(struct yore_follow_options), 0, YORE_TIME_MIN, NULL, 0, 0, 0 \
	}

/*
 * Follows a file or folder while it is written: its events come, in order of time, when no earlier
 * one can come any more, so that they are those of the finished trace. A folder need not be a trace
 * yet; a FIFO, or "-" for standard input, is copied to a file by a thread. Options, and what they
 * point to, are borrowed until yore_follow_close(), which the caller ends *out with; after -1 *out
 * is NULL.
 */
YORE_API int yore_follow_open(const char *path, const struct yore_options *options,
			      const struct yore_follow_options *follow, struct yore_follow **out,
			      struct yore_error *err);
YORE_API void yore_follow_close(struct yore_follow *follow); /* NULL is fine */
/*
 * Waits for the next event, at most so many ms (-1: without end). 1: there is one, which *events is
 * at: the functions below are about it, until the next call. 0: the recording has ended, as far as
 * it says so. 2: nothing came in that time.
 */
YORE_API int yore_follow_next(struct yore_follow *follow, int timeout_ms,
			      struct yore_events **events, struct yore_error *err);
/* The trace as it is open until the next call of yore_follow_next(); NULL: there is none yet. */
YORE_API struct yore *yore_follow_trace(const struct yore_follow *follow);
/* Events and losses that came when later events had been given: they are left out. */
YORE_API uint64_t yore_follow_late(const struct yore_follow *follow);

/* Of an event that yore_events_next() or yore_follow_next() came to ---------------------------- */

/* YORE_TIME_MIN: it has no time, and holds from the start. */
YORE_API int64_t yore_event_time(const struct yore_events *events);
YORE_API const struct yore_class *yore_event_class(const struct yore_events *events);
YORE_API const struct yore_stream *yore_event_stream(const struct yore_events *events);
YORE_API int yore_event_cpu(const struct yore_events *events); /* -1: not known */
/*
 * Where it is: the file, the offset of its packet in the file in bytes, and its own place in the
 * packet in bits. Not of a loss: NULL.
 */
YORE_API const char *yore_event_place(const struct yore_events *events, uint64_t *packet,
				      uint64_t *bits);

struct yore_loss {
	int64_t until;    /* events of this time and later are whole; YORE_TIME_MAX: none are */
	uint64_t events;  /* discarded */
	int known;        /* 0: events were discarded, and their count is not known */
	uint64_t packets; /* missing */
};
/* Of a loss, whose time is the last one known good: 1; of an event: 0. */
YORE_API int yore_event_loss(const struct yore_events *events, struct yore_loss *out);

/* Fields -------------------------------------------------------------------------------------- */

/*
 * A scope as a STRUCT. NULL: the event has none (YORE_ERROR_QUERY), or its values cannot be
 * decoded. Values are decoded when the first field of an event is asked for.
 */
YORE_API const struct yore_field *yore_event_scope(struct yore_events *events,
						   enum yore_scope scope, struct yore_error *err);
/*
 * A field by its name: of the payload, else of the event's context, of its stream's, of its packet.
 * "a/b" is a member of a member, "a/0" an element. NULL: there is none, or as above.
 */
YORE_API const struct yore_field *yore_event_field(struct yore_events *events, const char *name,
						   struct yore_error *err);
/*
 * The event in the words of its format, as the format's own tool prints its payload ("perf script",
 * "trace-cmd report"). NULL: there are none.
 */
YORE_API const char *yore_event_text(struct yore_events *events, struct yore_error *err);

YORE_API const struct yore_field_class *yore_field_class(const struct yore_field *field);
YORE_API enum yore_kind yore_field_kind(const struct yore_field *field);
/* Of BOOL, INT and UINT: the 64 bits, sign-extended when signed. Of all others 0. */
YORE_API int64_t yore_field_int(const struct yore_field *field);
YORE_API uint64_t yore_field_uint(const struct yore_field *field);
YORE_API double yore_field_double(const struct yore_field *field); /* of numbers; else 0 */
/* Label i of those that hold an integer's value, or are set in a bit map's; NULL: no more. */
YORE_API const char *yore_field_label(const struct yore_field *field, size_t i);
/*
 * Of STRING; NULL of all others. `len` may be NULL. An integer of over 64 bits is a STRING in
 * hexadecimal.
 */
YORE_API const char *yore_field_text(const struct yore_field *field, size_t *len);
YORE_API const void *yore_field_bytes(const struct yore_field *field, size_t *len); /* or BYTES */
/* Members, elements; of VARIANT and OPTIONAL 1 when something is there; 0 of all others. */
YORE_API uint64_t yore_field_count(const struct yore_field *field);
/* One of these; NULL: i is not below the count. */
YORE_API const struct yore_field *yore_field_item(const struct yore_field *field, uint64_t i);
/* Its name: of members and of the option that is chosen; NULL of others. */
YORE_API const char *yore_field_item_name(const struct yore_field *field, uint64_t i);
/* The member, the option, or the element whose number `name` is; NULL: there is none. */
YORE_API const struct yore_field *yore_field_get(const struct yore_field *field, const char *name);

#ifdef __cplusplus
}
#endif

#endif
