/*
 * print.h - a compiled print format: pieces of text, each with the expression that it prints
 *
 *     "comm=%s cpu=%03d", REC->comm, REC->cpu & 0xff
 *        │ print_parse.c: expressions        print_compile.c: pieces
 *        ▼
 *     LITERAL "comm=" · FIELD_TEXT comm · LITERAL " cpu=" · NUMBER %03d (AND (FIELD cpu) 255)
 *        │ print_run.c, on a record's bytes
 *
 * Values are unsigned 64-bit and fields are not sign-extended, as in perf and trace-cmd; a
 * conversion cuts them to its own width. Fields beyond the record's end are 0.
 */
#ifndef ENGINE_KERNEL_PRINT_H
#define ENGINE_KERNEL_PRINT_H

#include "engine/kernel/tracing_internal.h"

#include <string.h>

enum node_kind {
	NODE_NUMBER,
	NODE_TEXT,
	NODE_FIELD,
	NODE_INDEX,   /* a[b] */
	NODE_CAST,    /* a & number */
	NODE_INVERT,  /* ~a */
	NODE_NOT,     /* !a */
	NODE_BINARY,  /* a op b */
	NODE_CHOICE,  /* a ? b : c */
	NODE_FLAGS,   /* names of a's bits, `text` between them */
	NODE_SYMBOL,  /* name of a; `text` if it has none, and if that is NULL the number */
	NODE_HEX,     /* b bytes of a in hex, `text` between them */
	NODE_NUMBERS, /* b items of a, c bytes each; b NULL: all items */
	NODE_SCSI,    /* the SCSI command in the bytes of a */
	NODE_LE16,    /* the first two bytes of a, little endian */
	NODE_STRING,  /* text of a located field */
	NODE_BITMASK, /* bit mask of a located field */
	NODE_CPUMASK, /* CPU mask of a located field */
	NODE_LOCATED, /* the bytes of a located field */
	NODE_LENGTH,  /* the number of these bytes */
	NODE_DEVICE,  /* a as major:minor, as jbd2's helper prints it */
	NODE_UNKNOWN  /* an argument that cannot be evaluated; prints `text` */
};

enum binary {
	BINARY_OR_ELSE,
	BINARY_AND_THEN,
	BINARY_OR,
	BINARY_XOR,
	BINARY_AND,
	BINARY_EQUAL,
	BINARY_UNEQUAL,
	BINARY_LESS,
	BINARY_GREATER,
	BINARY_LESS_EQUAL,
	BINARY_GREATER_EQUAL,
	BINARY_LEFT,
	BINARY_RIGHT,
	BINARY_ADD,
	BINARY_SUBTRACT,
	BINARY_MULTIPLY,
	BINARY_DIVIDE,
	BINARY_REMAINDER
};

struct label {
	int64_t value;
	const char *text;
};

struct print_node {
	uint8_t kind; /* enum node_kind */
	uint8_t op;   /* enum binary */
	uint32_t nlabels;
	uint64_t number; /* NUMBER; CAST: mask */
	const char *text;
	const struct kernel_field
		*field; /* FIELD, STRING..LENGTH; NULL: the event has no field of the name */
	const struct print_node *a, *b, *c;
	const struct label *labels;
	uint64_t pointed; /* CAST to a pointer: mask of the type that it points to; else 0 */
};

struct print_spec { /* flags, width and so on of one conversion */
	bool left, zero, alternate, plus, space;
	char conversion;      /* d u x X o c s p */
	int8_t longs;         /* how many l, minus how many h */
	int width, precision; /* -1: none */
};

enum piece_kind {
	PIECE_LITERAL,
	PIECE_DECIMAL,    /* a field without flags and width: %d %u %ld %lu ... */
	PIECE_HEX,        /* a field without flags and width: %x %lx ... */
	PIECE_FIELD_TEXT, /* %s of a field of characters */
	PIECE_NUMBER,
	PIECE_STRING,
	PIECE_POINTER
};

struct print_piece {
	uint8_t kind;
	struct print_spec spec;
	const char *text; /* LITERAL, for copy_padded(); POINTER: the letters behind %p */
	uint32_t len;
	const struct print_node *arg, *width, *precision; /* NULL: no argument gives it */
	/*
	 * A plain piece of a record with at least program->need bytes takes a fast path. DECIMAL,
	 * HEX, STRING: load eight bytes at `at`, which end within `need`, shift and mask them;
	 * `sign` is the sign bit, 0: unsigned. FIELD_TEXT: copy 16 characters from `at`.
	 */
	bool plain;
	uint32_t at, shift;
	uint64_t mask, sign;
	const struct ready_texts *texts; /* of a plain STRING; else NULL */
};

/*
 * Prepared texts of a %s that depends on one field: for its small numbers and single bits, made
 * when the format is compiled. States and reasons are mostly such.
 */
enum { READY_SMALL = 16, READY_BITS = 16, READY_TEXT = 16 };
struct ready_texts {
	uint8_t len[READY_SMALL + READY_BITS]; /* READY_TEXT + 1: too long, not prepared */
	char text[READY_SMALL + READY_BITS][READY_TEXT];
};

/* Returns the index of a number's text; READY_SMALL + READY_BITS: there is none. */
static inline size_t ready_place(uint64_t number)
{
	if (number < READY_SMALL)
		return number;
	return number & (number - 1) || number >> READY_BITS
		       ? READY_SMALL + READY_BITS
		       : READY_SMALL + (size_t)__builtin_ctzll(number);
}

struct print_program {
	struct print_piece *pieces;
	size_t capacity;
	uint32_t count;
	size_t room; /* bytes that all literals, padded, and plain pieces may take */
	size_t need; /* least bytes of a record for the fast path of plain pieces; SIZE_MAX: it is
			not possible */
	const struct print_piece
		*state; /* sched_switch: prints the previous thread's state; NULL: not found */
	bool failed;    /* unusable: print all fields, as the tools do */
	bool lines;     /* its own texts may have newlines other than one at the end */
	bool texts;     /* it prints texts of the record, which may have newlines */
};

struct print_record {
	const struct tracing *tracing;
	const uint8_t *data;
	size_t size;
};

/* print_parse.c: parses text->print. False: it cannot be parsed. `format` still has its escapes. */
struct print_args {
	const char *format;
	const struct print_node **args;
	uint32_t count;
};
bool print_parse(const struct tracing *tracing, const struct tracing_text *text, bool plugins,
		 struct arena *arena, struct print_args *out);

/* print_compile.c */
struct print_program *print_compile(const struct tracing *tracing, const struct tracing_text *text,
				    enum tracing_style style, struct arena *arena);
/* Parses the conversion at *at (a '%') and moves *at behind it. False: no valid conversion; *at is
   moved, too. */
bool print_conversion(const char **at, struct print_piece *out, bool *star_width,
		      bool *star_precision);

/* print_run.c */
void print_run(const struct print_program *program, const struct print_record *record,
	       struct buf *out);
void print_piece(const struct print_piece *piece, const struct print_record *record,
		 struct buf *out);
/* The same, by the fast path if the piece is plain. */
void print_prepared(const struct print_program *program, const struct print_piece *piece,
		    const struct print_record *record, struct buf *out);
uint64_t print_value(const struct print_record *record, const struct print_node *node);
uint64_t print_field(const struct print_record *record, const struct kernel_field *field);
/* Finds the bytes of a located field: *at and *len are within the record. */
void print_locate(const struct print_record *record, const struct kernel_field *field, size_t *at,
		  size_t *len);
uint64_t print_load(const struct print_record *record, size_t at, uint32_t bytes);

/* Adds bytes without a zero behind them: tracing_text() adds it. */
static inline void print_add(struct buf *out, const char *bytes, size_t len)
{
	char *to = out->capacity - out->len > len ? out->data + out->len : buf_room(out, len);

	copy_short(to, bytes, len);
	out->len += len;
}

/* print_number.c */
void print_number(struct buf *out, const struct print_spec *spec, uint64_t value);
void print_text(struct buf *out, const struct print_spec *spec, const char *text, size_t len);
void print_decimal(struct buf *out, bool negative, uint64_t value);
void print_hex(struct buf *out, uint64_t value);

/* print_pointer.c */
void print_pointer(const struct print_piece *piece, const struct print_spec *spec,
		   const struct print_record *record, struct buf *out);
void print_bitmask(struct buf *out, const struct print_spec *spec,
		   const struct print_record *record, size_t at, size_t len);
void print_cpumask(struct buf *out, const struct print_spec *spec,
		   const struct print_record *record, size_t at, size_t len, size_t nbits);

/* print_scsi.c: the SCSI command in these bytes */
void print_scsi(struct buf *out, const uint8_t *cdb, size_t len);

/* print_raw.c: " name=value" of each field that is not a common one */
void print_raw(const struct print_record *record, const struct tracing_text *text, struct buf *out);
/* print_bprint.c */
void print_bprint(const struct print_record *record, const struct tracing_text *text,
		  struct buf *out);
/* plugins.c: adds trace-cmd's text. False: the caller adds print fmt's text, too (`program`). */
bool plugin_text(const struct print_record *record, const struct tracing_text *text,
		 const struct print_program *program, struct buf *out);

#endif
