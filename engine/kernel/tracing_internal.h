/* tracing_internal.h - shared by the files of this room: fields, tables, compiled print formats */
#ifndef ENGINE_KERNEL_TRACING_INTERNAL_H
#define ENGINE_KERNEL_TRACING_INTERNAL_H

#include "engine/kernel/tracing.h"

#include <pthread.h>

/* One `field:` line; classes are made from it, and print formats read by it. Sizes in bytes. */
struct kernel_field {
	const char *type, *name; /* type with its brackets: "__data_loc char[]" */
	uint32_t offset, size;
	uint32_t array_length;  /* the number in brackets; 0: none, or no number */
	uint32_t element_bytes; /* size of one item of REC->name[i]; 0: unknown */
	bool is_array, is_pointer, is_signed, is_long;
	bool is_text;     /* array of char, u8 or s8: raw output shows it as text if printable */
	bool is_located;  /* __data_loc or __rel_loc */
	bool is_relative; /* __rel_loc */
	bool is_item;     /* an item of an array, REC->name[3] in a print format */
};

enum plugin { /* events for which trace-cmd has a plugin */
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
	const char *print; /* the text behind "print fmt:"; "": none */
	bool is_ftrace, is_bprint;
	enum plugin plugin;
	const struct kernel_field *used[8]; /* fields that the plugin prints; NULL: missing */
	struct print_program *programs[2];  /* by tracing_style; compiled on first use */
};

struct symbol_row {
	uint64_t address;
	const char *name;
	uint32_t order; /* in the file */
};

/*
 * Symbols are hundreds of thousands of lines that most queries do not need: they stay text until
 * the first lookup.
 */
struct symbol_text {
	struct symbol_text *next;
	size_t len;
	char text[];
};

struct kernel_symbols {
	pthread_mutex_t lock;      /* guards parsing of `texts` */
	struct symbol_text *texts; /* in order of the file; names of rows point into them */
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
