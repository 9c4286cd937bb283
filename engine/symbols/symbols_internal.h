/* symbols_internal.h - what the files of symbols*.c share; not for others */
#ifndef ENGINE_SYMBOLS_SYMBOLS_INTERNAL_H
#define ENGINE_SYMBOLS_SYMBOLS_INTERNAL_H

#include "engine/base/arena.h"
#include "engine/base/source.h"
#include "engine/reader.h"
#include "engine/symbols/symbols.h"

#include <elfutils/libdw.h>

enum { BUILD_ID_MAX = 20 };

struct build_id {
	uint8_t bytes[BUILD_ID_MAX];
	size_t n; /* 0: not known */
};

bool build_id_equal(const struct build_id *a, const struct build_id *b);
char *build_id_text(const struct build_id *id, char text[2 * BUILD_ID_MAX + 1]); /* hex */

/* symbols_table.c: functions in order of address ---------------------------------------------- */

/*
 * A table is one run of bytes, the same in memory and in its file (see symbols_table.c), so that a
 * cached one is mapped and searched in place.
 */
struct symbol_table {
	const uint8_t *image;
	size_t size;
	uint64_t count;
	const uint64_t *starts, *lens; /* rising; bytes of each function */
	const uint32_t *names;         /* offsets into text; mangled */
	const char *text;
	uint64_t ntext;

	uint8_t *own; /* one of these keeps the image */
	struct source *source;
	struct block block;
};

/* Where symbols are collected, in any order. */
struct raw_symbol {
	uint64_t start, len; /* len 0: to the next one */
	uint64_t name;       /* offset into text */
	uint32_t order;      /* ties keep it */
	bool weak, global;
};

struct raw_symbols {
	struct raw_symbol *items;
	size_t count, capacity;
	char *text;
	size_t ntext, text_capacity;
};

void raw_symbols_add(struct raw_symbols *raw, uint64_t start, uint64_t len, const char *name,
		     size_t nname, bool weak, bool global);
void raw_symbols_release(struct raw_symbols *raw);
/*
 * Sorts, gives lengths to those without, keeps one of several at the same address, as perf does.
 * May be called again after more were added. `kallsyms`: names of modules end in "[module]".
 */
void raw_symbols_settle(struct raw_symbols *raw, bool kallsyms);
/* Settled symbols as an image; `stamp` says what they were made of. */
void symbol_table_make(const struct raw_symbols *raw, uint64_t stamp, struct symbol_table *out);
/* Looks at an image that may be damaged; false: it is no table, or not of that stamp (0: any). */
bool symbol_table_check(const uint8_t *image, size_t size, uint64_t stamp,
			struct symbol_table *out);
void symbol_table_release(struct symbol_table *table);
/* The symbol that holds `address`: its index. False: none. */
bool symbol_table_find(const struct symbol_table *table, uint64_t address, uint64_t *index);
const char *symbol_table_name(const struct symbol_table *table, uint64_t index);

/* symbols_cache.c: tables as files ------------------------------------------------------------ */

bool symbol_cache_load(const char *folder, const char *name, uint64_t stamp,
		       struct symbol_table *out);
void symbol_cache_store(const char *folder, const char *name, const struct symbol_table *table);

/* symbols_elf.c: the symbols of an ELF file --------------------------------------------------- */

/* The note of the file; false when it has none, or is no ELF file. */
bool elf_build_id(int fd, struct build_id *out);
/* .gnu_debuglink: a file name, which the caller frees with mem_free(); NULL: none. */
char *elf_debug_link(int fd);
bool elf_has_symtab(int fd);
/*
 * Functions and data of `symbols` (a debug file, or the same as `runtime`), by their offset in the
 * `runtime` file, which is what was mapped and has the PLT. Either may be -1.
 */
bool elf_symbols(int symbols, int runtime, struct raw_symbols *out);
/* The same of an ELF image in memory. */
bool elf_symbols_memory(const void *image, size_t size, struct raw_symbols *out,
			struct build_id *id);

/* symbols_lines.c: source lines by DWARF ------------------------------------------------------ */

struct line_reader;
/* `debug` may be NULL: the file itself has what there is. NULL: there is nothing. */
struct line_reader *line_reader_new(const char *path, const char *debug);
void line_reader_free(struct line_reader *reader);
/* *file lives until line_reader_free(). */
bool line_reader_find(struct line_reader *reader, uint64_t file_offset, const char **file,
		      uint32_t *line);

/* symbols_cfi.c: how functions restore their caller's registers ------------------------------- */

struct unwind_load {
	uint64_t offset, size, address; /* in the file, bytes there; virtual */
};

struct unwind_tables {
	Dwarf_CFI *cfi;  /* .eh_frame; NULL: there is none */
	uint64_t header; /* virtual address of .eh_frame_hdr */
	struct unwind_load *loads;
	size_t nloads, capacity;
	const uint8_t *image; /* the file */
	size_t size;

	int fd;
	Elf *elf;
};

struct unwind_tables *unwind_tables_new(const char *path); /* NULL: no ELF file */
void unwind_tables_free(struct unwind_tables *tables);
bool unwind_address(const struct unwind_tables *tables, uint64_t file_offset, uint64_t *out);
bool unwind_word(const struct unwind_tables *tables, uint64_t file_offset, uint64_t *out);

/* symbols_inline.c: functions that were put into others --------------------------------------- */

struct inline_reader;
struct inline_reader *inline_reader_new(const char *path, struct arena *arena); /* NULL: no ELF */
void inline_reader_free(struct inline_reader *reader);
/*
 * The functions at a virtual address, the innermost first; NULL in *names: `function` itself, which
 * is what the symbol table says. 0: nothing is known. Names live as long as the arena.
 */
size_t inline_reader_find(struct inline_reader *reader, uint64_t address, const char *function,
			  const char *const **names);

/* symbols_object.c: files that were mapped ---------------------------------------------------- */

struct object {
	const char *name; /* as mapped, or as it is shown */
	struct build_id id;
	struct object *next; /* of the same hash */
	bool loaded, plain;  /* plain: its addresses are those of the process (perf-PID.map) */
	struct symbol_table table;
	struct line_reader *lines;
	struct unwind_tables *unwind;
	struct inline_reader *inlines;
	bool lines_tried, unwind_tried, inlines_tried;
	char *file, *debug; /* where it was found; NULL not */
	const char **shown; /* demangled names by index; NULL not yet. Texts in the arena */
};

/*
 * What was found lately: programs are sampled at the same addresses again and again, and a search
 * hops through a whole table.
 */
struct memo {
	struct memo_entry {
		const struct symbol_table *table;
		uint64_t address, index; /* index UINT64_MAX: no symbol is there */
	} * entries;                     /* NULL until the first question */
};
/* As symbol_table_find(); the table lives as long as the memo. */
bool memo_find(struct memo *memo, const struct symbol_table *table, uint64_t address,
	       uint64_t *index);

/* A symbol of a file that was found lately. */
struct found {
	const struct object *object; /* NULL: not in use */
	unsigned want;
	struct symbol symbol;
};

struct objects {
	struct arena *arena;
	const char *cache; /* folder, NULL none */
	struct object *hash[256];
	struct memo memo;    /* the kernel's */
	struct found *found; /* NULL until the first question */
};

void objects_release(struct objects *objects);
/* `jit`: the process whose code without a file it is, 0 none. */
struct object *objects_get(struct objects *objects, const char *name, const struct build_id *id,
			   int64_t jit);
/* Looks in the object, which is loaded when it was not. Borrowed until the next call. */
const struct symbol *object_find(struct objects *objects, struct object *object, uint64_t at,
				 unsigned want);
/* NULL: there is no such file. */
const struct unwind_tables *object_unwind_tables(struct objects *objects, struct object *object);
/* A word of the file, little-endian. False: there is none. */
bool object_read(struct objects *objects, struct object *object, uint64_t file_offset,
		 uint64_t *out);
/* As inline_reader_find(), for what object_find() has found. */
size_t object_inlined(struct objects *objects, struct object *object, const struct symbol *symbol,
		      const char *const **names);
char *symbol_demangle(const char *name); /* NULL: it is not mangled. Freed by mem_free() */

/* symbols_space.c: address spaces in time ----------------------------------------------------- */

struct range {
	uint64_t start, end;  /* half-open, end not 0 */
	uint64_t file_offset; /* of start */
	struct object *object;
	uint64_t old; /* 1: of the program before exec; so that there is no gap */
};

struct spaces;
struct spaces *spaces_new(void);
void spaces_free(struct spaces *spaces);
/* Changes are told in order of time. */
void spaces_map(struct spaces *spaces, nstime t, int64_t pid, const struct range *range);
void spaces_unmap(struct spaces *spaces, nstime t, int64_t pid, uint64_t start, uint64_t end);
void spaces_fork(struct spaces *spaces, nstime t, int64_t pid, int64_t parent);
/* What was mapped stays until something new covers it, or until the next exec. */
void spaces_exec(struct spaces *spaces, nstime t, int64_t pid);
/* What is at the address at t, after all changes of t; borrowed until the next call. NULL: nothing.
 */
const struct range *spaces_find(struct spaces *spaces, nstime t, int64_t pid, uint64_t address);

/* symbols_unwind.c: callers from registers and stack ------------------------------------------ */

enum { X86_REGISTERS = 20 };

/* What was recorded of an x86-64 process. */
struct user_stack {
	uint64_t registers[X86_REGISTERS]; /* as perf orders them */
	uint64_t pointer;                  /* address of the first byte */
	const uint8_t *bytes;
	size_t size;
};

/* Addresses of frames, the innermost first, at most `room`; calls, not where they return to. */
size_t unwind(struct objects *objects, struct spaces *spaces, nstime t, int64_t pid,
	      const struct user_stack *stack, uint64_t *out, size_t room);

/* symbols_kernel.c: the kernel's own ---------------------------------------------------------- */

struct kernel; /* of one part */
struct kernel *kernel_new(const struct part *part, struct objects *objects);
void kernel_free(struct kernel *kernel);
void kernel_tell(struct kernel *kernel, const struct map_event *event);
bool kernel_find(struct kernel *kernel, nstime t, uint64_t address, struct symbol *out);

/* symbols_texts.c: kernel functions in texts ----------------------------------------------------
 */

struct text_names; /* of one part */
/* From now on the part's texts ask here, from any thread. NULL: its reader has what there is. */
struct text_names *text_names_new(struct part *part, const char *cache);
void text_names_free(struct text_names *names); /* NULL is fine */

#endif
