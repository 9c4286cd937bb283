/*
 * lookup.h - names that a question says, looked up in what the trace and its rules have
 *
 * A plain name that is not there is a mistake: ERR_RANGE, with the nearest names and the command
 * that lists all of them. A glob or a range that matches nothing is no mistake: true, and *note,
 * when it is not NULL, gets one sentence that says so. Only descriptions, rules and packet tables
 * are read, never events.
 */
#ifndef STATE_PROGRAM_LOOKUP_H
#define STATE_PROGRAM_LOOKUP_H

#include "index/index.h"
#include "state/program/program.h"

bool lookup_is_glob(const char *word); /* * ? [ */
/* The whole name, or the part after its last `separator`. */
bool lookup_glob(const char *glob, const char *name, char separator);

/*
 * Is the stream meant by the word: its name, or the part after its last slash, its section, or
 * HOST/SECTION or DOMAIN/SECTION, in globs?
 */
bool lookup_is_stream(const struct trace *trace, const char *word, const struct stream *stream);
/*
 * Where the event's own glob begins in SECTION/EVENT or HOST/SECTION/EVENT; 0: the word has no
 * scope. A name with slashes that the trace has is no scope.
 */
size_t lookup_scope(const struct trace *trace, const char *word);
/* Is the stream in the scope of the word, of whose event lookup_scope() said where it begins? */
bool lookup_in_scope(const struct trace *trace, const char *word, size_t event,
		     const struct stream *stream);

/* Has the trace such an event class, and a stream in the scope of the word? */
bool lookup_has_event(const struct trace *trace, const char *word);
bool lookup_has_stream(const struct trace *trace, const char *word);

/* An event class by its name, or the part after its last colon, with or without a scope. */
MUST_CHECK bool lookup_event(const struct trace *trace, const char *name, struct buf *note,
			     struct error *err);
/* A stream as lookup_is_stream() knows it. */
MUST_CHECK bool lookup_stream(const struct trace *trace, const char *name, struct buf *note,
			      struct error *err);
/* CPUs from `low` to `high`. Where the trace does not say of which CPUs it is, all may be. */
MUST_CHECK bool lookup_cpu(struct index *index, uint64_t low, uint64_t high, struct buf *note,
			   struct error *err);
/* A field of some event class, in any of its scopes. */
MUST_CHECK bool lookup_field(const struct trace *trace, const char *name, struct error *err);

/*
 * Of a PATH: its names must be attributes of the rules, its CPUs of the trace; without an index
 * (NULL) these are not looked up. A note says that it is a node without a value of its own, or that
 * no event of the trace writes it.
 */
MUST_CHECK bool lookup_path(const struct program *program, struct index *index,
			    const struct query *query, struct buf *note, struct error *err);
/*
 * thread["make"]/state: the step that is the name of threads, where threads are numbers and have
 * names; 0: the path is not of that form.
 */
uint32_t lookup_thread_name(const struct program *program, const struct query *query);
/*
 * Of PATH=VALUE: where the rules write constants alone, the value must be one of them. The path
 * was looked up.
 */
MUST_CHECK bool lookup_value(const struct program *program, const struct query *query,
			     const struct value *value, struct buf *note, struct error *err);

/* What the two files of paths share. */

/* Does some rule give attributes of the shape a value: a line, an `initial` or a view? */
bool lookup_has_shape(const struct program *program, uint32_t shape);

#endif
