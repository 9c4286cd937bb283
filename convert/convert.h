/*
 * convert.h - a trace written in another format: events and intervals go in, files come out
 *
 *     convert_open → _learn → _event, _loss → _interval → convert_finish → convert_close
 *
 * Files have their names only when convert_finish() was true: work that ends early leaves nothing
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
	const char
		*path; /* of the file or folder; "-": standard output, where one file is written */
	struct thread_pool *pool; /* for what can be made at once; NULL: one thread does all */
	nstime begin, end;       /* what was asked for; NSTIME_MIN, _MAX: all */
	nstime first, last;      /* times of the trace's first and last event */
	struct index *index;     /* of the trace; NULL: not at hand */
	bool all_streams;        /* no stream is left out */
	bool whole;              /* and no event */
	bool picked;             /* events of one class are chosen by values or threads */
	bool partition; /* `path` is a folder of many traces, see convert_kind.partitions */
	const struct rules *rules; /* of the intervals; NULL: there will be none */
	const uint64_t *damaged; /* parts that could not be read so far; NULL: as the trace says */
	struct symbols *symbols; /* names of functions; may be NULL */
	/* of those that convert_has_coding() says the kind has; NULL: none */
	const char *compression, *checksum;
};

/* A format by name; ended by NULL. */
struct convert_kind {
	const char *name, *also; /* also: another name, NULL: none */
	const char *endings; /* of paths that mean it, ".sqlite .db"; "" none */
	bool folder;         /* the path becomes a folder of files */
	bool partitions;     /* it can be one of many traces, to which this one is added */
	bool has_state;      /* it takes intervals */
	bool carries_state;  /* it takes values at the beginning, by convert_carry() */
	/* what packets can be compressed and summed up with: "gzip, bzip2"; NULL: they are not */
	const char *compressions, *checksums;
	bool in_parts;       /* other threads may make rows of events, by convert_beside() */
	bool all_losses;     /* it takes losses even where events are chosen one by one */
	bool needs_times;    /* it has times alone: numbers of events stand as ns */
	/* Each ended by NULL, or NULL: of these it is told names first, by convert_learn(). */
	const char *const *names;
	/* Which intervals it takes by default; NULL: all. */
	const char *const *paths;
};
const struct convert_kind *convert_kind(size_t i);
const struct convert_kind *convert_kind_named(const char *name);   /* NULL: there is none */
const struct convert_kind *convert_kind_of_path(const char *path); /* likewise */

/* Has the kind a compression, and a checksum, of these names? NULL is fine. */
MUST_CHECK bool convert_has_coding(const struct convert_kind *kind, const char *compression,
				   const char *checksum, struct error *err);

/* The caller owns *out and ends it with convert_close(). `options` is copied. */
MUST_CHECK bool convert_open(const struct convert_options *options, struct convert **out,
			     struct error *err);
/* `fields` NULL: they could not be decoded. */
MUST_CHECK bool convert_event(struct convert *convert, nstime t, const struct stream *stream,
			      int32_t cpu, const struct event_class *class,
			      const struct fields *fields, struct error *err);
/*
 * Of a kind whose events come in parts: takes events by convert_event() and no more, for one
 * thread. The caller ends it with convert_close(), before `of`.
 */
struct convert *convert_beside(const struct convert *of);
/* What the events since the last call have made, which is about *bytes. */
struct convert_part *convert_take(struct convert *beside, size_t *bytes);
/* Adds a part behind all events so far and frees it, also where it fails. */
MUST_CHECK bool convert_give(struct convert *convert, struct convert_part *part, struct error *err);
void convert_part_free(struct convert_part *part); /* NULL is fine */
MUST_CHECK bool convert_loss(struct convert *convert, const struct event *loss, struct error *err);
/* Before all else: an interval of the kind's `names`. */
void convert_learn(struct convert *convert, const struct interval *interval);
/*
 * Before all events: what an attribute was at `t`, the beginning. `since`: of the last write,
 * NSTIME_MIN unknown. Only for kinds that carry state.
 */
MUST_CHECK bool convert_carry(struct convert *convert, nstime t, const char *path,
			      const struct value *value, nstime since, struct error *err);
MUST_CHECK bool convert_interval(struct convert *convert, const struct interval *interval,
				 struct error *err);
/* The reader has gone: work may end, and that is no error. */
bool convert_closed(const struct convert *convert);
MUST_CHECK bool convert_finish(struct convert *convert, struct error *err);
void convert_close(struct convert *convert); /* NULL is fine */

#endif
