/*
 * lookup.h - checks names of a question against the trace and its rules
 *
 * A plain name that does not exist is an error: ERR_RANGE, with the nearest names and the command
 * that lists all. A glob or range that matches nothing is no error: true, and *note (unless NULL)
 * gets one sentence about it. Reads only descriptions, rules and packet tables, never events.
 */
#ifndef STATE_PROGRAM_LOOKUP_H
#define STATE_PROGRAM_LOOKUP_H

#include "index/index.h"
#include "state/program/program.h"

bool lookup_is_glob(const char *word); /* * ? [ */
/* Does the glob match the whole name, or the part after its last `separator`? */
bool lookup_glob(const char *glob, const char *name, char separator);

/*
 * Does the word match the stream? It is a glob of its name, of the part after the last slash, of
 * its section, or of HOST/SECTION or DOMAIN/SECTION.
 */
bool lookup_is_stream(const struct trace *trace, const char *word, const struct stream *stream);
/*
 * Offset of EVENT in a word SECTION/EVENT or HOST/SECTION/EVENT; 0: the word has no scope. An event
 * name of the trace that has slashes itself has no scope.
 */
size_t lookup_scope(const struct trace *trace, const char *word);
/* Is the stream in the word's scope? `event` is what lookup_scope() returned. */
bool lookup_in_scope(const struct trace *trace, const char *word, size_t event,
		     const struct stream *stream);

/* Has the trace such an event class and a stream in the word's scope; has it such a stream? */
bool lookup_has_event(const struct trace *trace, const char *word);
bool lookup_has_stream(const struct trace *trace, const char *word);

/* Checks an event class: its name, or the part after the last colon, with or without scope. */
MUST_CHECK bool lookup_event(const struct trace *trace, const char *name, struct buf *note,
			     struct error *err);
/* Checks a stream, as lookup_is_stream() matches it. */
MUST_CHECK bool lookup_stream(const struct trace *trace, const char *name, struct buf *note,
			      struct error *err);
/* Checks CPUs from `low` to `high`. If the trace does not say its CPUs, all are accepted. */
MUST_CHECK bool lookup_cpu(struct index *index, uint64_t low, uint64_t high, struct buf *note,
			   struct error *err);
/* Checks that some event class has the field, in any scope. */
MUST_CHECK bool lookup_field(const struct trace *trace, const char *name, struct error *err);

/*
 * Checks a PATH: its names must be attributes of the rules, its CPUs (unless `index` is NULL) those
 * of the trace. The note says that it is a node without a value of its own, or that no event of the
 * trace writes it.
 */
MUST_CHECK bool lookup_path(const struct program *program, struct index *index,
			    const struct query *query, struct buf *note, struct error *err);
/*
 * The step of thread["make"]/state that is a thread's name, if threads are numbers and have names;
 * 0: there is none.
 */
uint32_t lookup_thread_name(const struct program *program, const struct query *query);
/*
 * Checks PATH=VALUE, after lookup_path(): if rules write only constants to the attribute, VALUE
 * must be one of them.
 */
MUST_CHECK bool lookup_value(const struct program *program, const struct query *query,
			     const struct value *value, struct buf *note, struct error *err);

/* Shared by the files that check paths. */

/* Does a line, an `initial` or a view give a value to attributes of the shape? */
bool lookup_has_shape(const struct program *program, uint32_t shape);

#endif
