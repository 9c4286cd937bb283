/*
 * tracepoints.h - event classes as the kernel's formats, and events as records of them
 *
 * Tracepoints of perf.data and trace.dat keep their formats, and their records are copied. Of other
 * classes a format is made: integers of 8, 16, 32 or 64 bits, texts, bytes and lists of integers as
 * __data_loc; floats have no place there.
 */
#ifndef CONVERT_TRACEDAT_TRACEPOINTS_H
#define CONVERT_TRACEDAT_TRACEPOINTS_H

#include "engine/base/buf.h"
#include "engine/trace.h"

struct fields;
struct tracepoints;

struct tracepoints *tracepoints_new(const struct trace *trace);
void tracepoints_free(struct tracepoints *all); /* NULL is fine */
/* Of the machine whose tracepoints are copied; little-endian and 8 where none are. */
bool tracepoints_big_endian(const struct tracepoints *all);
unsigned tracepoints_long_bytes(const struct tracepoints *all);
/*
 * Makes the record of an event in `out`, which is empty. False: it cannot be said. A thread that is
 * not known is -1.
 */
bool tracepoints_record(struct tracepoints *all, const struct event_class *class,
			const struct stream *stream, const struct fields *fields, struct buf *out);
/* After the last event: puts formats in the order in which they are told. */
void tracepoints_sort(struct tracepoints *all);
/* One format after the other, by system. False after the last; *system is borrowed. */
bool tracepoints_format(const struct tracepoints *all, size_t i, const char **system,
			struct buf *text);
/* kallsyms and printk_formats of the machine; nothing where it is not known. */
void tracepoints_symbols(const struct tracepoints *all, struct buf *kallsyms, struct buf *printk);
/* Says once what could not be said in formats. */
void tracepoints_tell(const struct tracepoints *all);

#endif
