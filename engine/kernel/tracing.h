/*
 * tracing.h - what Linux says of its own tracepoints: formats, symbols, names
 *
 * perf.data (feature 1, record 66) and trace.dat carry the same block of texts. It is read once;
 * each format becomes two struct classes, the common fields and the event's own, that follow each
 * other in the record and are compiled to one layout; its `print fmt` is compiled when first used.
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
	struct field_class *common, *payload; /* structs; NULL payload: nothing usable, raw bytes */
	const struct layout
		*layout;       /* of both, from the first byte of the record; base 0 and ncommon */
	uint32_t slot_base[2]; /* of common and payload */
	uint32_t nslots;
	uint32_t pid_at, pid_bytes; /* common_pid, bytes from the record's first; 0 bytes: none */
	struct tracing_text *text;  /* private; compiled on first use */
};

/* Everything lives in `arena` or until tracing_free(). Sizes of the traced machine. */
struct tracing *tracing_new(struct arena *arena, bool big_endian, unsigned long_bytes,
			    uint32_t page_bytes);
void tracing_free(struct tracing *tracing);

/* Parts of the block; texts are copied. False: unusable, *err says why; the rest may go on. */
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

/* Sections 1 to 5 below in this order, as version 6 files and perf.data have them; each alone too,
   as version 7 files have them. `in` is read to the end of the section. */
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
 * as perf.data has it: cmdlines only from version 0.6 on. NULL and *err on damage before formats.
 */
MUST_CHECK struct tracing *tracing_read(struct arena *arena, struct cursor *in, struct error *err);

/*
 * Gives the `id` of raw_syscalls:sys_enter and sys_exit the names of the system calls of `arch` (as
 * `uname -m` says it) as labels. Nothing happens when the machine or the events are not known.
 * After the formats, before anybody reads their classes.
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
 * Asked for kernel functions before the block's own symbols are, by all that print them:
 * thread-safe, the text lives as long as the tracing does. NULL from it: not known.
 */
typedef const char *tracing_resolver(void *arg, uint64_t address, uint64_t *start);
void tracing_set_resolver(struct tracing *tracing, tracing_resolver *resolver, void *arg);
/*
 * The kernel function that holds `address`: nearest symbol at or below, behind the last one none
 * (where that function ends is not known). NULL: none.
 */
const char *tracing_symbol(const struct tracing *tracing, uint64_t address, uint64_t *start);
/* Symbols in order of address. False after the last. */
bool tracing_symbol_at(const struct tracing *tracing, size_t i, uint64_t *start, const char **name);
/* Texts of trace_printk() by address, as printk_formats has them. False after the last. */
bool tracing_printk_at(const struct tracing *tracing, size_t i, uint64_t *address,
		       const char **text);
/* Saved names: pid → comm, in order of pid. False after the last. */
bool tracing_cmdline_at(const struct tracing *tracing, size_t i, int32_t *pid, const char **comm);

/* Adds the format as tracefs' file `format` has it, with `id` for its ID. */
void tracing_format_text(const struct tracing_format *format, uint32_t id, struct buf *out);

enum tracing_style {
	TRACING_PERF,    /* as perf script prints: print fmt alone */
	TRACING_TRACECMD /* as trace-cmd report does: its plugins' texts for some events */
};

/*
 * Adds the text of a record (its first byte is the common_type). Thread-safe; never fails: what
 * the kernel's format cannot say becomes "field=value" as the tools do. One newline at its end is
 * left out; others (kernel_stack) are in it. False: there are surely none.
 */
bool tracing_text(const struct tracing *tracing, const struct tracing_format *format,
		  enum tracing_style style, const uint8_t *record, size_t size, struct buf *out);

#endif
