/*
 * print.h - a print format, compiled: pieces of text, each with the expression that it prints
 *
 *     "comm=%s cpu=%03d", REC->comm, REC->cpu & 0xff
 *        │ print_parse.c: expressions        print_compile.c: pieces
 *        ▼
 *     LITERAL "comm=" · FIELD_TEXT comm · LITERAL " cpu=" · NUMBER %03d (AND (FIELD cpu) 255)
 *        │ print_run.c, on a record's bytes
 *
 * Values are unsigned 64-bit and fields are not sign-extended, since that is how the tools count;
 * a conversion cuts them to its own width. What a record is too short for reads as 0.
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
	NODE_CAST,    /* a, of which `number` is kept */
	NODE_INVERT,  /* ~a */
	NODE_NOT,     /* !a */
	NODE_BINARY,  /* a op b */
	NODE_CHOICE,  /* a ? b : c */
	NODE_FLAGS,   /* of a, `text` between */
	NODE_SYMBOL,  /* of a; `text` where no label fits, NULL: the number */
	NODE_HEX,     /* b bytes of a, `text` between */
	NODE_NUMBERS, /* b items of a, c bytes each; b NULL: all there are */
	NODE_SCSI,    /* the command in the bytes of a */
	NODE_LE16,    /* the first two bytes of a, the lower one first */
	NODE_STRING,  /* of a located field */
	NODE_BITMASK, /* the same */
	NODE_CPUMASK,
	NODE_LOCATED, /* the bytes of a located field */
	NODE_LENGTH,  /* how many they are */
	NODE_DEVICE,  /* a as major:minor, as jbd2's helper prints it */
	NODE_UNKNOWN  /* an argument that cannot be evaluated: `text` stands for it */
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
		*field; /* FIELD, STRING..LENGTH; NULL: the event has no such one */
	const struct print_node *a, *b, *c;
	const struct label *labels;
	uint64_t pointed; /* CAST to a pointer: mask of what it points to, else 0 */
};

struct print_spec { /* of one conversion */
	bool left, zero, alternate, plus, space;
	char conversion;      /* d u x X o c s p */
	int8_t longs;         /* how many l, minus how many h */
	int width, precision; /* -1: none */
};

enum piece_kind {
	PIECE_LITERAL,
	PIECE_DECIMAL,    /* a field, plainly: %d %u and their longs */
	PIECE_HEX,        /* a field, plainly: %x, %lx */
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
	const struct print_node *arg, *width, *precision; /* NULL: not by an argument */
	/*
	 * Plain pieces, in records of program->need bytes and more. DECIMAL, HEX, `texts`: eight
	 * bytes from `at`, which end within these, shifted and masked; `sign` is the sign bit, 0
	 * when unsigned. FIELD_TEXT: 16 characters from `at`.
	 */
	bool plain;
	uint32_t at, shift;
	uint64_t mask, sign;
	const struct ready_texts *texts; /* STRING; NULL: it depends on more than one number */
};

/*
 * What a %s prints of a field's small numbers and single bits, made when the format is compiled:
 * the states and reasons that are told in words are such.
 */
enum { READY_SMALL = 16, READY_BITS = 16, READY_TEXT = 16 };
struct ready_texts {
	uint8_t len[READY_SMALL + READY_BITS]; /* READY_TEXT + 1: longer ones are not kept */
	char text[READY_SMALL + READY_BITS][READY_TEXT];
};

/* Where a number's text is; READY_SMALL + READY_BITS: there is none. */
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
	size_t room; /* of all literals, padded, and plain numbers */
	size_t need; /* bytes of a record that all plain pieces lie in; SIZE_MAX: do not count on
			it */
	const struct print_piece
		*state;            /* sched_switch: how the thread left its CPU; NULL: not found */
	bool failed;               /* the tools print all fields instead */
	bool lines;                /* it may print newlines, not counting one at its end */
	bool texts;                /* it prints texts of the record, which may have some */
};

struct print_record {
	const struct tracing *tracing;
	const uint8_t *data;
	size_t size;
};

/* print_parse.c: the format's text, unescaped only of quotes, and its arguments; NULL: cannot be */
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
/* Reads one conversion at *at (a '%'), moves behind it. False: not one; *at is then behind it too.
 */
bool print_conversion(const char **at, struct print_piece *out, bool *star_width,
		      bool *star_precision);

/* print_run.c */
void print_run(const struct print_program *program, const struct print_record *record,
	       struct buf *out);
void print_piece(const struct print_piece *piece, const struct print_record *record,
		 struct buf *out);
/* The same; a plain piece is not formatted where its text is known beforehand. */
void print_prepared(const struct print_program *program, const struct print_piece *piece,
		    const struct print_record *record, struct buf *out);
uint64_t print_value(const struct print_record *record, const struct print_node *node);
uint64_t print_field(const struct print_record *record, const struct kernel_field *field);
/* Where a located field's bytes are; both within the record. */
void print_locate(const struct print_record *record, const struct kernel_field *field, size_t *at,
		  size_t *len);
uint64_t print_load(const struct print_record *record, size_t at, uint32_t bytes);

/* Adds bytes and no zero behind them: tracing_text() ends what it made. */
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

/* print_raw.c: " name=value" of each own field */
void print_raw(const struct print_record *record, const struct tracing_text *text, struct buf *out);
/* print_bprint.c */
void print_bprint(const struct print_record *record, const struct tracing_text *text,
		  struct buf *out);
/* plugins.c: false: print fmt goes on behind what was added. `program` is that of print fmt. */
bool plugin_text(const struct print_record *record, const struct tracing_text *text,
		 const struct print_program *program, struct buf *out);

#endif
