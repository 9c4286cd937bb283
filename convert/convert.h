/*
 * convert.h - writes a trace in another format: the caller passes events and intervals, and gets
 * files
 *
 *     convert_open → _learn → _event, _loss → _interval → convert_finish → convert_close
 *
 * Files get their final names in convert_finish(). If it fails or is not reached, nothing is left
 * behind.
 */
#ifndef CONVERT_CONVERT_H
#define CONVERT_CONVERT_H

#include "engine/symbols/symbols.h"
#include "index/events.h"
#include "state/model/moment.h"
#include "state/rules/rules.h"

struct thread_pool;
struct convert;
struct convert_part;

struct convert_options {
	const struct trace *trace;
	const char *to; /* name of a format */
	const char *path;         /* file or folder to write; "-": standard output, for one file */
	struct thread_pool *pool; /* to make parts of the output in parallel; NULL: one thread */
	nstime begin, end;        /* the requested range; NSTIME_MIN, _MAX: all */
	nstime first, last;      /* times of the trace's first and last event */
	struct index *index;     /* the trace's index; NULL: none */
	bool all_streams;        /* the caller's filter leaves out no stream */
	bool whole;              /* the caller's filter leaves out no event */
	bool picked;             /* the filter chooses single events, by values or threads */
	bool partition; /* `path` is a folder of many traces, see convert_kind.partitions */
	const struct rules *rules; /* rules that made the intervals; NULL: no intervals follow */
	const uint64_t *damaged;   /* count of unreadable parts; NULL: trace->damaged counts them */
	struct symbols *symbols; /* names of functions; may be NULL */
	/* names that convert_has_coding() accepts for the format; NULL: none */
	const char *compression, *checksum;
};

/* A format by name; ended by NULL. */
struct convert_kind {
	const char *name, *also; /* also: a second name or NULL */
	const char *endings;     /* path endings that choose the format: ".sqlite .db"; or "" */
	bool folder;         /* the path becomes a folder of files */
	bool partitions;     /* the folder can hold many traces; this one is added */
	bool has_state;      /* convert_interval() may be called */
	bool carries_state;  /* convert_carry() may be called */
	/* Compressions and checksums of packets that can be chosen: "gzip, bzip2"; NULL: none. */
	const char *compressions, *checksums;
	bool in_parts;    /* other threads may encode events, through convert_beside() */
	bool all_losses;  /* losses are written even where single events are chosen */
	bool needs_times; /* in a trace without clock, event numbers are written as ns */
	/*
	 * Both lists end with NULL. names: paths whose intervals the caller passes to
	 * convert_learn() before all else; NULL: none.
	 */
	const char *const *names;
	/* Paths of the intervals that are written by default; NULL: all. */
	const char *const *paths;
};
const struct convert_kind *convert_kind(size_t i);
const struct convert_kind *convert_kind_named(const char *name);   /* NULL: there is none */
const struct convert_kind *convert_kind_of_path(const char *path); /* likewise */

/* Can packets of this kind have this compression and this checksum? NULL: none. False: *err. */
MUST_CHECK bool convert_has_coding(const struct convert_kind *kind, const char *compression,
				   const char *checksum, struct error *err);

/* The caller owns *out and frees it with convert_close(). `options` is copied. */
MUST_CHECK bool convert_open(const struct convert_options *options, struct convert **out,
			     struct error *err);
/* Writes one event. `fields` NULL: they could not be decoded. */
MUST_CHECK bool convert_event(struct convert *convert, nstime t, const struct stream *stream,
			      int32_t cpu, const struct event_class *class,
			      const struct fields *fields, struct error *err);
/*
 * For kinds with in_parts: an encoder of events for another thread. Only convert_event(),
 * convert_take() and convert_close() may be called on it; close it before `of`.
 */
struct convert *convert_beside(const struct convert *of);
/* Returns the rows made of the events since the last call; their size is about *bytes. */
struct convert_part *convert_take(struct convert *beside, size_t *bytes);
/* Appends a part after all events so far and frees it, also on failure. */
MUST_CHECK bool convert_give(struct convert *convert, struct convert_part *part, struct error *err);
void convert_part_free(struct convert_part *part); /* NULL is fine */
MUST_CHECK bool convert_loss(struct convert *convert, const struct event *loss, struct error *err);
/*
 * Stores names of threads and interrupts from an interval of the kind's `names`. Call it before all
 * others.
 */
void convert_learn(struct convert *convert, const struct interval *interval);
/*
 * Writes the value of an attribute at `t`, the beginning of the range; call it before all events.
 * `since`: time of the last write; NSTIME_MIN: unknown. Only for kinds with carries_state.
 */
MUST_CHECK bool convert_carry(struct convert *convert, nstime t, const char *path,
			      const struct value *value, nstime since, struct error *err);
MUST_CHECK bool convert_interval(struct convert *convert, const struct interval *interval,
				 struct error *err);
/* Has the reader of the output pipe gone? Then the caller may stop; that is no error. */
bool convert_closed(const struct convert *convert);
MUST_CHECK bool convert_finish(struct convert *convert, struct error *err);
void convert_close(struct convert *convert); /* NULL is fine */

#endif
