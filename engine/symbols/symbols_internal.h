/* symbols_internal.h - what the files of symbols*.c share; not for others */
#ifndef ENGINE_SYMBOLS_SYMBOLS_INTERNAL_H
#define ENGINE_SYMBOLS_SYMBOLS_INTERNAL_H

#include "engine/base/arena.h"
#include "engine/base/buf.h"
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
	struct buf text; /* names, a zero behind each */
};

void raw_symbols_add(struct raw_symbols *raw, uint64_t start, uint64_t len, const char *name,
		     size_t nname, bool weak, bool global);
void raw_symbols_release(struct raw_symbols *raw);
/*
 * Sorts, gives lengths to those without, keeps one of several at the same address, as perf does.
 * May be called again after more were added. `kallsyms`: names of modules end in "[module]".
 */
void raw_symbols_finish(struct raw_symbols *raw, bool kallsyms);
/* Finished symbols as an image; `stamp` says what they were made of. */
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
struct Dwfl_Module;
/* It knows the names of registers. */
struct Dwfl_Module *line_reader_module(struct line_reader *reader);

/* symbols_cfi.c: how functions restore their caller's registers ------------------------------- */

struct unwind_load {
	uint64_t offset, size, address; /* in the file, bytes there; virtual */
	bool is_writable;
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
/* Bytes from a virtual address on that no program changes; NULL: none. *size: how many. */
const uint8_t *unwind_constant(const struct unwind_tables *tables, uint64_t address, size_t *size);

/* symbols_expression.c: DWARF expressions ----------------------------------------------------- */

/* A stopped program. Registers go by DWARF's numbers; false: what is asked for is not known. */
struct machine {
	const void *arg;
	bool (*reg)(const void *arg, uint64_t number, uint64_t *out);
	bool (*load)(const void *arg, uint64_t address, unsigned size, uint64_t *out);
	bool (*frame_base)(const void *arg, uint64_t *out); /* NULL: there is none */
	const uint64_t *cfa; /* NULL: not known */
	Dwarf_Attribute *attribute; /* that has the expression; NULL: none */
	uint64_t bias;		    /* added to addresses that the file has */
	unsigned address_bytes;
};

enum expression_end {
	EXPRESSION_DONE,
	EXPRESSION_UNAVAILABLE, /* it needs a register or memory that is not known */
	EXPRESSION_UNKNOWN      /* it has an operation that is not known, or makes no sense */
};

enum place_kind {
	PLACE_NONE,     /* nowhere: optimized out */
	PLACE_MEMORY,   /* at the address `value` */
	PLACE_REGISTER, /* number `value` */
	PLACE_VALUE,    /* it is `value` */
	PLACE_BYTES,    /* dwarf_getlocation_implicit_value() of `op` */
	PLACE_POINTER   /* a pointer that is not kept to something that is */
};

struct expression_place {
	enum place_kind kind;
	uint64_t value;
	const Dwarf_Op *op;
	bool is_piece; /* of `bits` bits, from bit `bit` of the place on */
	uint64_t bits, bit;
};

/*
 * Runs ops[*at..n) up to the end or behind the next DW_OP_piece, which *at then is. `bits` and
 * `is_piece` are told of a piece that fails, too.
 */
enum expression_end expression_run(const struct machine *machine, const Dwarf_Op *ops, size_t n,
				   size_t *at, struct expression_place *out);

/* symbols_values.c: bytes and a type as text -------------------------------------------------- */

enum byte_state {
	BYTE_UNKNOWN, /* not collected */
	BYTE_KNOWN,
	BYTE_ABSENT,  /* optimized out */
	BYTE_POINTER, /* PLACE_POINTER */
	BYTE_ENTRY,   /* what it was when the function was called, by DW_OP_entry_value */
	BYTE_ODD,     /* the expression that tells where it is cannot be run */
	BYTE_STATES
};

/* The program that values are of. */
struct value_context {
	const void *arg;
	bool big_endian, is_x86;
	unsigned address_bytes;
	/* An attribute that is a number, or the expression of one; false: it is not known. */
	bool (*number)(const void *arg, Dwarf_Attribute *attribute, uint64_t *out);
	/* Copies what is known of the memory and sets states[] of it; all are BYTE_UNKNOWN before. */
	void (*memory)(const void *arg, uint64_t address, size_t size, uint8_t *out,
		       uint8_t *states);
	/* Adds " <NAME+OFFSET>" where an address has a name. */
	void (*name)(const void *arg, uint64_t address, struct buf *out);
};

/* The type of a variable, member, element or pointer, peeled; false: none, as of `void *`. */
bool value_type(Dwarf_Die *die, Dwarf_Die *out);
/* Bytes of a peeled type; false: not known. */
bool value_size(const struct value_context *context, Dwarf_Die *type, uint64_t *out);
void value_text(const struct value_context *context, Dwarf_Die *type, const uint8_t *data,
		const uint8_t *states, uint64_t size, struct buf *out);
/* What a pointer or reference is to; false: it is none, not known, 0 or to text. */
bool value_target(const struct value_context *context, Dwarf_Die *type, const uint8_t *data,
		  const uint8_t *states, uint64_t size, Dwarf_Die *to, uint64_t *address);

/* symbols_variables.c: variables of a stopped program ----------------------------------------- */

struct collected_memory {
	uint64_t address;
	const uint8_t *bytes;
	size_t size;
};

enum { REGISTER_BYTES_MAX = 64 };

struct collected_register {
	const char *name;
	size_t size;
	uint8_t bytes[REGISTER_BYTES_MAX]; /* in order of the target */
};

/* What is known of a program that was stopped at `pc`; of memory that is there twice the first. */
struct collected {
	uint64_t pc;
	bool big_endian;
	const struct collected_register *registers;
	size_t nregisters;
	const struct collected_memory *memory;
	size_t nmemory;
	const void *arg;
	void (*name)(const void *arg, uint64_t address, struct buf *out); /* as value_context's */
};

/* Where the code at the pc is in its file. */
struct code_place {
	const struct unwind_tables *file;
	struct line_reader *lines;
	struct inline_reader *functions;
	uint64_t address; /* virtual, in the file */
};

/*
 * Variables of the function and of the file that were collected; *out and names live as long as
 * the arena. 0: nothing is known.
 */
size_t variables_find(const struct code_place *place, const struct collected *collected,
		      struct arena *arena, const struct variable **out);

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
/*
 * The innermost function at a virtual address, and the one with code of its own that it was put
 * into, or itself. False: DWARF knows none there.
 */
bool inline_reader_function(struct inline_reader *reader, uint64_t address, Dwarf_Die *function,
			    Dwarf_Die *outermost);
Dwarf *inline_reader_dwarf(const struct inline_reader *reader); /* NULL: there is none */

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

struct stat;
/* Opens regular files alone: a trace can name anything. -1: it is none. */
int symbols_open_file(const char *path, struct stat *st);

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
/* False: the file has no debug information. */
bool object_code_place(struct objects *objects, struct object *object, uint64_t file_offset,
		       struct code_place *out);
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
/* A mapping stays until a new one covers it, or until the next exec. */
void spaces_exec(struct spaces *spaces, nstime t, int64_t pid);
/* What is at the address at t, after all changes of t; borrowed until the next call. NULL: nothing.
 */
const struct range *spaces_find(struct spaces *spaces, nstime t, int64_t pid, uint64_t address);

/* symbols_unwind.c: callers from registers and stack ------------------------------------------ */

enum { X86_REGISTERS = 20 };

/* Registers and stack that were recorded of an x86-64 process. */
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
/* The boot of the recording, as its clock tells it: symbols of another boot name nothing. Borrowed.
 */
void kernel_tell_boot(struct kernel *kernel, const uint8_t boot[16]);
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
