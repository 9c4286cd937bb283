/*
 * tracing.h - Linux's description of its tracepoints: formats, symbols, names
 *
 * perf.data (feature 1, record 66) and trace.dat have the same block of texts. It is read once.
 * Each format becomes two struct classes, of the common fields and of the event's own, which follow
 * each other in the record and are compiled to one layout. Its `print fmt` is compiled on first
 * use.
 */
#ifndef ENGINE_KERNEL_TRACING_H
#define ENGINE_KERNEL_TRACING_H

#include "engine/base/buf.h"
#include "engine/base/cursor.h"
#include "engine/base/error.h"
#include "engine/event.h"
#include "engine/layout.h"

struct tracing;

struct tracing_page { /* header_page: where the parts of a ring-buffer page are, bytes */
	uint32_t time_at, time_bytes, commit_at, commit_bytes, data_at, data_bytes;
};

struct tracing_format {
	uint32_t id;
	const char *system, *name;            /* "sched", "sched_switch" */
	struct field_class *common, *payload; /* structs; payload NULL: unusable, show raw bytes */
	const struct layout *layout;          /* of both, from the first byte of the record */
	uint32_t slot_base[2]; /* of common and payload */
	uint32_t nslots;
	struct tracing_text *text;  /* private; compiled on first use */
};

/* `arena` must outlive it. Byte order and sizes are those of the traced machine. */
struct tracing *tracing_new(struct arena *arena, bool big_endian, unsigned long_bytes,
			    uint32_t page_bytes);
void tracing_free(struct tracing *tracing);

/* Parse one text of the block, which is copied. False: it is unusable, *err says why; others may be
   good. */
MUST_CHECK bool tracing_header_page(struct tracing *tracing, const char *text, size_t len,
				    struct error *err);
MUST_CHECK bool tracing_header_event(struct tracing *tracing, const char *text, size_t len,
				     struct error *err);
MUST_CHECK bool tracing_add_format(struct tracing *tracing, const char *system, const char *text,
				   size_t len, struct error *err);
MUST_CHECK bool tracing_kallsyms(struct tracing *tracing, const char *text, size_t len,
				 struct error *err);
MUST_CHECK bool tracing_printk(struct tracing *tracing, const char *text, size_t len,
			       struct error *err);
MUST_CHECK bool tracing_cmdlines(struct tracing *tracing, const char *text, size_t len,
				 struct error *err);

/* Read one section each, in this order in version 6 files and perf.data; version 7 files have them
   apart. `in` moves to the end of the section. */
MUST_CHECK bool tracing_read_headers(struct tracing *tracing, struct cursor *in, struct error *err);
MUST_CHECK bool tracing_read_ftrace_formats(struct tracing *tracing, struct cursor *in,
					    struct error *err);
MUST_CHECK bool tracing_read_event_formats(struct tracing *tracing, struct cursor *in,
					   struct error *err);
MUST_CHECK bool tracing_read_kallsyms(struct tracing *tracing, struct cursor *in,
				      struct error *err);
MUST_CHECK bool tracing_read_printk(struct tracing *tracing, struct cursor *in, struct error *err);
MUST_CHECK bool tracing_read_cmdlines(struct tracing *tracing, struct cursor *in,
				      struct error *err);

/*
 * The whole block from its first byte 17 08 44 ("tracing", version, endian, long size, page size),
 * as perf.data has it; cmdlines only from version 0.6 on. NULL and *err: damage before the formats.
 */
MUST_CHECK struct tracing *tracing_read(struct arena *arena, struct cursor *in, struct error *err);

/*
 * Gives the field `id` of raw_syscalls:sys_enter and sys_exit labels, the names of system calls of
 * `arch` (as `uname -m` prints it). Does nothing if machine or events are unknown. Call after the
 * formats are read and before their classes are used.
 */
void tracing_syscalls(struct tracing *tracing, const char *arch);

bool tracing_big_endian(const struct tracing *tracing);
unsigned tracing_long_bytes(const struct tracing *tracing);
const struct tracing_page *tracing_page(const struct tracing *tracing);
uint32_t tracing_count(const struct tracing *tracing);
const struct tracing_format *tracing_at(const struct tracing *tracing, uint32_t i);
const struct tracing_format *tracing_find(const struct tracing *tracing, uint32_t id);
/* Where common_type is in every record, bytes. */
void tracing_type_field(const struct tracing *tracing, uint32_t *at, uint32_t *bytes);

/*
 * A resolver returns the name of the kernel function at `address` and its start, or NULL: unknown.
 * tracing_symbol() calls it before it searches the block's own symbols. It must be thread-safe, and
 * the name must live as long as the tracing.
 */
typedef const char *tracing_resolver(void *arg, uint64_t address, uint64_t *start);
void tracing_set_resolver(struct tracing *tracing, tracing_resolver *resolver, void *arg);
/*
 * Returns the kernel function at `address`: the nearest symbol at or below. NULL: none, as behind
 * the last symbol, whose function's end is unknown.
 */
const char *tracing_symbol(const struct tracing *tracing, uint64_t address, uint64_t *start);
/* Symbol i in order of address. False after the last. */
bool tracing_symbol_at(const struct tracing *tracing, size_t i, uint64_t *start, const char **name);
/* Texts of trace_printk() by address, as printk_formats has them. False after the last. */
bool tracing_printk_at(const struct tracing *tracing, size_t i, uint64_t *address,
		       const char **text);
/* Saved names: pid → comm, in order of pid. False after the last. */
bool tracing_cmdline_at(const struct tracing *tracing, size_t i, int32_t *pid, const char **comm);

/* Adds the text of tracefs's file `format`, with `id` as its ID, to *out. */
void tracing_format_text(const struct tracing_format *format, uint32_t id, struct buf *out);

enum tracing_style {
	TRACING_PERF,    /* as perf script prints: print fmt alone */
	TRACING_TRACECMD /* as trace-cmd report does: its plugins' texts for some events */
};

/*
 * Adds the text of a record, whose first byte is that of common_type, to *out. Thread-safe; never
 * fails: if the print format is unusable, prints "field=value" as the tools do. Leaves out one
 * newline at the end. False: the text surely has no others (kernel_stack has).
 */
bool tracing_text(const struct tracing *tracing, const struct tracing_format *format,
		  enum tracing_style style, const uint8_t *record, size_t size, struct buf *out);

#endif
