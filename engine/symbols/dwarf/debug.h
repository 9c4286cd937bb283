/* debug.h - DWARF: source lines, unwinding, inlined functions, variables; for engine/symbols alone
 */
#ifndef ENGINE_SYMBOLS_DWARF_DEBUG_H
#define ENGINE_SYMBOLS_DWARF_DEBUG_H

#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/symbols/symbols.h"

#include <elfutils/libdw.h>

/* lines.c: source lines by DWARF -------------------------------------------------------------- */

struct line_reader;
/* `debug`: path of the debug file; NULL: the file itself has the DWARF. Returns NULL on failure. */
struct line_reader *line_reader_new(const char *path, const char *debug);
void line_reader_free(struct line_reader *reader);
/* *file lives until line_reader_free(). */
bool line_reader_find(struct line_reader *reader, uint64_t file_offset, const char **file,
		      uint32_t *line);
struct Dwfl_Module;
/* The module of libdwfl, for the names of registers. */
struct Dwfl_Module *line_reader_module(struct line_reader *reader);

/* cfi.c: how functions restore their caller's registers --------------------------------------- */

struct unwind_load {
	uint64_t offset, size, address; /* place and size in the file, bytes; virtual address */
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
/* The file's read-only bytes from a virtual address on; *size: how many. NULL: none. */
const uint8_t *unwind_constant(const struct unwind_tables *tables, uint64_t address, size_t *size);

/* expression.c: DWARF expressions ------------------------------------------------------------- */

/* A stopped program. Registers have DWARF's numbers. Functions return false if a value is unknown.
 */
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
	PLACE_POINTER   /* DW_OP_implicit_pointer: the pointer itself was optimized out */
};

struct expression_place {
	enum place_kind kind;
	uint64_t value;
	const Dwarf_Op *op;
	bool is_piece; /* the place has only `bits` bits of the value, from its bit `bit` on */
	uint64_t bits, bit;
};

/*
 * Runs ops[*at..n) up to the end or the next DW_OP_piece, and moves *at behind that. out->bits and
 * out->is_piece are also set when a piece fails.
 */
enum expression_end expression_run(const struct machine *machine, const Dwarf_Op *ops, size_t n,
				   size_t *at, struct expression_place *out);

/* values.c: bytes and a type as text ---------------------------------------------------------- */

enum byte_state {
	BYTE_UNKNOWN, /* not collected */
	BYTE_KNOWN,
	BYTE_ABSENT,  /* optimized out */
	BYTE_POINTER, /* PLACE_POINTER */
	BYTE_ENTRY,   /* needs DW_OP_entry_value, the value when the function was called */
	BYTE_ODD,     /* its location expression cannot be run */
	BYTE_STATES
};

/* Access to the program whose values are shown. */
struct value_context {
	const void *arg;
	bool big_endian, is_x86;
	unsigned address_bytes;
	/* The value of an attribute that is a number or an expression; false: it is not known. */
	bool (*number)(const void *arg, Dwarf_Attribute *attribute, uint64_t *out);
	/* Copies the known bytes of a range of memory and sets their states[]; the caller has set
	   all of these to BYTE_UNKNOWN. */
	void (*memory)(const void *arg, uint64_t address, size_t size, uint8_t *out,
		       uint8_t *states);
	/* Appends " <NAME+OFFSET>" if the address has a name. */
	void (*name)(const void *arg, uint64_t address, struct buf *out);
};

/* The type of a variable, member, element or pointer, "peeled": without typedefs and qualifiers.
 * False: none, as of `void *`. */
bool value_type(Dwarf_Die *die, Dwarf_Die *out);
/* The size of a peeled type in bytes; false: not known. */
bool value_size(const struct value_context *context, Dwarf_Die *type, uint64_t *out);
void value_text(const struct value_context *context, Dwarf_Die *type, const uint8_t *data,
		const uint8_t *states, uint64_t size, struct buf *out);
/* Type and address of a pointer's or reference's target; false: it is none, not known, 0, or points
 * to text. */
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
	uint8_t bytes[REGISTER_BYTES_MAX]; /* in the target's byte order */
};

/* What was collected of a program stopped at `pc`. Where runs of memory overlap, the first counts.
 */
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

/* The file that has the code at the pc, and the pc's address in it. */
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

/* inline.c: inlined functions ----------------------------------------------------------------- */

struct inline_reader;
struct inline_reader *inline_reader_new(const char *path, struct arena *arena); /* NULL: no ELF */
void inline_reader_free(struct inline_reader *reader);
/*
 * The functions at a virtual address, the innermost inlined one first; an entry NULL in *names is
 * `function`, the symbol table's name. Returns how many, 0: unknown. Names live in the arena.
 */
size_t inline_reader_find(struct inline_reader *reader, uint64_t address, const char *function,
			  const char *const **names);
/*
 * The innermost function at a virtual address, and the outermost one, into which it was inlined (or
 * the same one). False: DWARF has no function there.
 */
bool inline_reader_function(struct inline_reader *reader, uint64_t address, Dwarf_Die *function,
			    Dwarf_Die *outermost);
Dwarf *inline_reader_dwarf(const struct inline_reader *reader); /* NULL: there is none */

#endif
