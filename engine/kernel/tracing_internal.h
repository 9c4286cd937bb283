/* tracing_internal.h - what the files of the kernel's tracing data share: fields, tables, programs
 */
#ifndef ENGINE_KERNEL_TRACING_INTERNAL_H
#define ENGINE_KERNEL_TRACING_INTERNAL_H

#include "engine/kernel/tracing.h"

#include <pthread.h>

/* One `field:` line, as said; classes are made from it, texts read by it. Sizes in bytes. */
struct kernel_field {
	const char *type, *name; /* type with its brackets: "__data_loc char[]" */
	uint32_t offset, size;
	uint32_t array_length;  /* in brackets, 0: none or not a number */
	uint32_t element_bytes; /* what one item of REC->name[i] takes, 0: not known */
	bool is_array, is_pointer, is_signed, is_long;
	bool is_text;     /* array of char, u8 or s8: text when raw output finds it printable */
	bool is_located;  /* __data_loc or __rel_loc */
	bool is_relative; /* __rel_loc */
	bool is_item;     /* one of an array, made by a print format */
};

enum plugin { /* events that trace-cmd prints by code of its own */
	      PLUGIN_NONE,
	      PLUGIN_SWITCH,
	      PLUGIN_WAKEUP,
	      PLUGIN_FUNCTION,
	      PLUGIN_KERNEL_STACK,
	      PLUGIN_RAW_DATA,
	      PLUGIN_KMEM,
	      PLUGIN_HRTIMER_EXPIRE,
	      PLUGIN_HRTIMER_START,
	      PLUGIN_TLB_FLUSH,
	      PLUGIN_FUTEX
};

struct print_program;

/* The inputs from which the text of one format is made. */
struct tracing_text {
	struct kernel_field *fields; /* common ones first, each part as in the format */
	uint32_t nfields, ncommon;
	const char *print; /* behind "print fmt:", "" when there is none */
	bool is_ftrace, is_bprint;
	enum plugin plugin;
	const struct kernel_field *used[8]; /* by the plugin, in its own order; NULL: missing */
	struct print_program *programs[2];  /* by style; made by the first that needs it */
};

struct symbol_row {
	uint64_t address;
	const char *name;
	uint32_t order; /* among all rows said */
};

/*
 * Symbols are hundreds of thousands of lines that most questions need none of: kept as text until
 * the first is asked for.
 */
struct symbol_text {
	struct symbol_text *next;
	size_t len;
	char text[];
};

struct kernel_symbols {
	pthread_mutex_t lock;      /* of reading `texts` */
	struct symbol_text *texts; /* first said first; their names are in use by rows */
	bool ready;                /* atomic: all of `texts` is in `rows` */
	struct symbol_row *rows;   /* by address */
	size_t nrows, capacity;
};

struct cmdline_row {
	int32_t pid;
	const char *comm;
};

struct tracing {
	struct arena *arena;
	struct arena *programs; /* guarded by lock, like making the programs */
	pthread_mutex_t *lock;
	bool big_endian;
	unsigned long_bytes;
	uint32_t page_bytes;
	struct tracing_page page;
	struct tracing_format **formats; /* in order of arrival */
	size_t nformats, formats_capacity;
	struct tracing_format **by_id; /* for IDs below ID_DIRECT */
	size_t nby_id;
	struct kernel_symbols *symbols;
	struct symbol_row *printks;
	size_t nprintks, printks_capacity;
	struct cmdline_row *cmdlines;
	size_t ncmdlines, cmdlines_capacity;
	tracing_resolver *resolver;
	void *resolver_arg;
};

enum {
	RECORD_MAX = 1 << 20, /* bytes: no format's field may lie beyond */
	FIELDS_MAX = 4096     /* of one format */
};

/* format.c */
MUST_CHECK bool format_parse(struct tracing *tracing, const char *system, const char *text,
			     size_t len, struct tracing_format *out, struct error *err);
const struct kernel_field *format_field(const struct tracing_text *text, const char *name);
/* kernel_classes.c */
MUST_CHECK bool format_classes(struct tracing *tracing, struct tracing_format *format,
			       struct error *err);
/* names.c */
const char *printk_find(const struct tracing *tracing, uint64_t address);
uint64_t symbol_address(const struct tracing *tracing, const char *name); /* 0: none */
struct kernel_symbols *symbol_table_new(void);
void symbol_table_free(struct kernel_symbols *table);
/* plugins.c */
void plugin_choose(struct tracing_format *format);

#endif
