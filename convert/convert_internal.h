/* convert_internal.h - the interface that each format implements: a table of functions */
#ifndef CONVERT_CONVERT_INTERNAL_H
#define CONVERT_CONVERT_INTERNAL_H

#include "convert/convert.h"
#include "convert/out.h"
#include "engine/base/nameset.h"

/* First member of the writer of each format. The format's functions get the writer as `self`. */
struct convert {
	const struct convert_format *format;
	struct convert_options options;
	struct out out;            /* the output, of a format that is one file, */
	struct out_folder folder;  /* or a folder; the format's open() opens it */
	struct track_names *names; /* of a kind with names: all that convert_learn() stored */
	struct tables *tables;     /* of the formats of tables, see sheets/tables.h */
};

struct convert_format {
	struct convert_kind kind;
	size_t size; /* of the writer; its other members are zero at open() */
	bool (*open)(void *self, struct error *err); /* after a failure close() is called, too */
	bool (*event)(void *self, nstime t, const struct stream *stream, int32_t cpu,
		      const struct event_class *class, const struct fields *fields,
		      struct error *err); /* NULL: the state says it all */
	bool (*loss)(void *self, const struct event *loss, struct error *err); /* may be NULL */
	bool (*interval)(void *self, const struct interval *interval,
			 struct error *err); /* NULL: the format has no intervals */
	bool (*carry)(void *self, nstime t, const char *path, const struct value *value,
		      nstime since, struct error *err); /* may be NULL */
	bool (*finish)(void *self, struct error *err);
	void (*close)(void *self); /* frees the writer's own members; may be NULL */
};

extern const struct convert_format convert_parquet, convert_csv, convert_sqlite, convert_chrome,
	convert_folded, convert_prv, convert_tracedat, convert_pages, convert_ctf, convert_ctf2,
	convert_ctf2010, convert_perfetto, convert_pprof;

/* The requested range, cut to the times of the trace's events. */
struct convert_range {
	nstime first, last;
};
struct convert_range convert_range(const struct convert_options *options);
/* Cuts an interval to it, both ends included. False: nothing is left. */
bool convert_visible(const struct convert_options *options, const struct interval *interval,
		     struct convert_range *out);

/* Appends "NAME " (unless `name` is NULL), then the value: strings as they are, others as JSON. */
void convert_add_value(struct buf *out, const char *name, const struct value *value);

/*
 * Returns "NAME.ENDING" with '_' or '.' for characters that file systems or tools treat specially.
 * The name is new in `taken` and is added to it. Free it with mem_free(), after `taken`.
 */
char *convert_file_name(const char *name, const char *ending, struct nameset *taken);

/* ---- facts of traces ---- */

/* The kernel's release, from the environment of the first part that has one; or NULL. */
const char *trace_kernel_release(const struct trace *trace);
/*
 * The kernel clock that the trace's times are read from, such as "monotonic". NULL: not known, or
 * the times are shifted, or there are several clocks.
 */
const char *trace_counter(const struct trace *trace);

#endif
