/*
 * tracepoints.h - the kernel's format texts of event classes, and records of events
 *
 * Tracepoints of perf.data and trace.dat keep their formats, and their records are copied. For
 * other classes a format is made: integers of 8, 16, 32 or 64 bits; texts, bytes and lists of
 * integers as __data_loc. Floats are left out.
 */
#ifndef CONVERT_TRACEDAT_TRACEPOINTS_H
#define CONVERT_TRACEDAT_TRACEPOINTS_H

#include "engine/base/buf.h"
#include "engine/trace.h"

struct fields;
struct tracepoints;

struct tracepoints *tracepoints_new(const struct trace *trace);
void tracepoints_free(struct tracepoints *all); /* NULL is fine */
/* Of the machine whose records are copied; without one little-endian and 8 bytes. */
bool tracepoints_big_endian(const struct tracepoints *all);
unsigned tracepoints_long_bytes(const struct tracepoints *all);
/*
 * Makes an event's record in `out`, which must be empty. False: no format can express it. The
 * thread number is -1 if the event has none.
 */
bool tracepoints_record(struct tracepoints *all, const struct event_class *class,
			const struct stream *stream, const struct fields *fields, struct buf *out);
/* Call after the last event: sorts the formats for tracepoints_format(). */
void tracepoints_sort(struct tracepoints *all);
/*
 * Appends the i-th format, ordered by system, to `text`. False: i is past the last. *system is
 * borrowed.
 */
bool tracepoints_format(const struct tracepoints *all, size_t i, const char **system,
			struct buf *text);
/* Appends the machine's kallsyms and printk_formats; nothing if unknown. */
void tracepoints_symbols(const struct tracepoints *all, struct buf *kallsyms, struct buf *printk);
/* Prints one note on fields and classes that were left out. */
void tracepoints_tell(const struct tracepoints *all);

#endif
