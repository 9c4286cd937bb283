/* convert_internal.h - what a format is, inside the room: a table of functions */
#ifndef CONVERT_CONVERT_INTERNAL_H
#define CONVERT_CONVERT_INTERNAL_H

#include "convert/convert.h"
#include "convert/out.h"
#include "engine/base/nameset.h"

/* What the writer of each format begins with: its own functions get it as `self`. */
struct convert {
	const struct convert_format *format;
	struct convert_options options;
	struct out out;            /* of a format that is a file, */
	struct out_folder folder;  /* or a folder: open() opens it */
	struct track_names *names; /* of a kind with names: all that it was told */
	struct tables *tables;     /* of the formats of tables, see sheets/tables.h */
};

struct convert_format {
	struct convert_kind kind;
	size_t size; /* of the writer, which is zero-filled but for the members above */
	bool (*open)(void *self, struct error *err); /* where it fails, it is closed, too */
	bool (*event)(void *self, nstime t, const struct stream *stream, int32_t cpu,
		      const struct event_class *class, const struct fields *fields,
		      struct error *err);
	bool (*loss)(void *self, const struct event *loss, struct error *err); /* may be NULL */
	bool (*interval)(void *self, const struct interval *interval,
			 struct error *err); /* NULL: takes none */
	bool (*carry)(void *self, nstime t, const char *path, const struct value *value,
		      nstime since, struct error *err); /* may be NULL */
	bool (*finish)(void *self, struct error *err);
	void (*close)(void *self); /* frees what it has besides the above; may be NULL */
};

extern const struct convert_format convert_parquet, convert_csv, convert_sqlite, convert_chrome,
	convert_folded, convert_prv, convert_tracedat, convert_pages, convert_ctf, convert_ctf2,
	convert_ctf2010, convert_perfetto, convert_pprof;

/* What was asked for of the times that the trace has. */
struct convert_range {
	nstime first, last;
};
struct convert_range convert_range(const struct convert_options *options);

/* Adds the name and a space, unless it is NULL, then the value: a string as it is, else JSON. */
void convert_add_value(struct buf *out, const char *name, const struct value *value);

/*
 * "NAME.ENDING" with nothing in it that a file system or a tool minds; it is one that is not
 * in `taken`, and is then. The caller frees it with mem_free(), after `taken`.
 */
char *convert_file_name(const char *name, const char *ending, struct nameset *taken);

/* ---- facts of traces ---- */

/* The release of the kernel, by the environment of the first part that has it; NULL: none. */
const char *trace_kernel_release(const struct trace *trace);
/*
 * The clock of the kernel ("monotonic") whose stamps the trace's times are; NULL: they are of none,
 * or shifted, or of several.
 */
const char *trace_counter(const struct trace *trace);

#endif
