/* debug.h - what DWARF tells of a file: lines, callers, inlined functions, variables; for engine/symbols alone */
#ifndef ENGINE_SYMBOLS_DWARF_DEBUG_H
#define ENGINE_SYMBOLS_DWARF_DEBUG_H

#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/symbols/symbols.h"

#include <elfutils/libdw.h>

/* lines.c: source lines by DWARF -------------------------------------------------------------- */

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

/* cfi.c: how functions restore their caller's registers --------------------------------------- */

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

/* expression.c: DWARF expressions ------------------------------------------------------------- */

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

/* values.c: bytes and a type as text ---------------------------------------------------------- */

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

/* variables.c: variables of a stopped program ------------------------------------------------- */

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

/* inline.c: functions that were put into others ----------------------------------------------- */

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

#endif
