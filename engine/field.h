/*
 * field.h - the shape of data: one tree of field classes for every format
 *
 * A format's description (TSDL, JSON, an ftrace format block) becomes such trees; layout.h compiles
 * them to steps. Trees are built once, then read-only. Each use of a type has nodes of its own, so
 * that a node can carry the place (slot) where decoding leaves the value.
 */
#ifndef ENGINE_FIELD_H
#define ENGINE_FIELD_H

#include "engine/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
	FIELD_INT,	/* also enumerations and booleans: nlabels > 0 or is_enum */
	FIELD_FLOAT,	/* IEEE 754, 16, 32 or 64 bits */
	FIELD_STRING,	/* bytes up to the first zero; alignment 8 */
	FIELD_STRUCT,	/* members */
	FIELD_ARRAY,	/* `length` elements */
	FIELD_SEQUENCE, /* as many elements as the value of `ref` says */
	FIELD_VARIANT	/* the option (a member) that the value of `ref` selects */
};

/* The meaning of an INT. */
enum int_form {
	FORM_NUMBER,
	FORM_BOOL, /* 1 when any of its bits is */
	FORM_BITS, /* a row of bits: no length, no selector */
	FORM_FLAGS /* the same; `labels` name bits: `low` is the mask of a label's */
};

/* Of text in arrays of bytes; ENCODING_UTF8 is also what STRINGs are. */
enum text_encoding {
	ENCODING_UTF8,
	ENCODING_UTF16BE,
	ENCODING_UTF16LE,
	ENCODING_UTF32BE,
	ENCODING_UTF32LE
};

struct enum_label { /* inclusive range; signed comparison when the integer is signed */
	const char *name;
	uint64_t low, high; /* two's complement when signed */
};

/*
 * Where an ARRAY of plain scalars stands. The kernel's dynamic arrays leave a 32-bit word in their
 * place: low half the offset of the bytes, high half how many bytes (ftrace format files,
 * `__data_loc` and `__rel_loc`).
 */
enum field_place {
	PLACE_HERE,	/* behind what came before */
	PLACE_DATA_LOC, /* the offset counts from where the layout began */
	PLACE_REL_LOC,	/* the offset counts from the end of the word */
	PLACE_REST,	/* here, as many whole elements as there are to the end of the data */
	PLACE_ENDED	/* here, bytes of text up to the first code unit that is zero */
};

struct field_class;

struct member {
	const char *name;    /* as shown: without the one leading underscore that writers add */
	const char *written; /* as in the description */
	struct field_class *class;
	/* of a variant's option: which values of the tag select it (several ranges may) */
	const struct enum_label *ranges;
	uint32_t nranges;
	bool hidden; /* needed for decoding; no view, search or text shows it */
};

struct layout;

struct field_class {
	enum field_kind kind;
	uint32_t align; /* bits, a power of two, at least 1 */
	uint32_t bits;	/* INT 1..64, FLOAT 16, 32, 64 */
	uint32_t gap;	/* whole bytes, in bits, that lie unused before it */
	/* INT: bits, a power of two. Where it would cross a multiple of them it begins there; 0: it
	   may cross. */
	uint32_t unit;
	enum field_place place; /* ARRAY of plain scalars; else PLACE_HERE */
	bool is_signed, big_endian;
	bool is_text; /* INT of 8 bits with an encoding: an array of it is text up to the first 0 */
	bool is_enum;
	bool is_blob; /* ARRAY, SEQUENCE of bytes that are shown as base64 */
	bool is_address; /* INT: a place in code or data; shown in hex, may have a symbol */
	/* ARRAY of bits or bytes: an integer of over 64 bits, whose value is hexadecimal text */
	bool is_wide;
	bool is_variable; /* INT: LEB128, of up to 10 bytes; `bits` is 64 */
	bool is_reversed; /* INT, FLOAT: the last bit counts as the first */
	bool is_optional; /* VARIANT of one option, which is there or is not: slot.n is 0 or 1 */
	bool may_lack;	  /* `ref` may not be there: using it is an error then */
	uint8_t base; /* preferred display: 2, 8, 10, 16 */
	enum int_form form;
	enum text_encoding encoding; /* ARRAY, SEQUENCE of bytes of text */
	const char *media_type;	     /* ARRAY, SEQUENCE that are a blob; NULL: not given */
	uint16_t roles;		     /* bits of its own to each reader: what the value is used for */
	int32_t clock; /* index into the trace's clocks that this integer is a value of, -1 none */
	const struct enum_label *labels; /* in order of declaration; several may hold one value */
	uint32_t nlabels;
	bool labels_rise; /* and do not overlap: found by halving (system calls are hundreds) */
	struct member *members; /* STRUCT: members; VARIANT: options */
	uint32_t nmembers;
	struct field_class *element; /* ARRAY, SEQUENCE */
	uint64_t length;	     /* ARRAY */
	struct field_class *ref;     /* SEQUENCE: its length; VARIANT: its tag; an INT decoded earlier */
	/* Where a `ref` may be any of several nodes, the one decoded last counts: they are linked to
	   one, which has their registers. NULL: this one. */
	struct field_class *same;

	/* written by layout_compile() */
	uint32_t slot;		/* place in its scope's or, inside an element, its element's slots */
	uint32_t value_register; /* 1 + the register that keeps the value for `ref`s, 0 none */
	uint32_t there_register; /* 1 + the one that says whether it is there, 0: it always is */
	struct layout *element_layout; /* how to decode one element when elements are not plain */
};

/* The node that has the registers of this one. */
static inline struct field_class *field_same(const struct field_class *class)
{
	while (class->same)
		class = class->same;
	return (struct field_class *)(uintptr_t)class;
}

/* Where a value may be; the order is that of decoding. */
enum scope {
	SCOPE_PACKET_HEADER,
	SCOPE_PACKET_CONTEXT,
	SCOPE_EVENT_HEADER,
	SCOPE_STREAM_EVENT_CONTEXT,
	SCOPE_EVENT_CONTEXT,
	SCOPE_PAYLOAD,
	SCOPE_COUNT
};

/* The member of that name (as shown, else as written) that is not hidden; NULL: there is none. */
const struct member *field_member(const struct field_class *structure, const char *name);
/*
 * The name under which a member of `own`, an event's stream event context, is shown beside those
 * of `other`, its event context (NULL: none): its own, or one with `context_` before it when
 * `other` has a member of that name. Borrowed from the member or from *scratch.
 */
const char *field_context_name(const struct field_class *own, const struct field_class *other,
			       const char *name, struct buf *scratch);
/* The member of `own` that is shown under that name because `other` has one of its own. */
const struct member *field_context_member(const struct field_class *own,
					  const struct field_class *other, const char *shown);
bool enum_label_holds(const struct enum_label *label, bool is_signed, uint64_t value);
/*
 * All labels that hold `value`, joined by | where several do: the label itself, or what is then in
 * `scratch`. NULL: none does.
 */
const char *field_labels(const struct field_class *integer, uint64_t value, struct buf *scratch);
/* The next label that holds `value`, NULL when no more do; *next is 0 at first. */
const char *field_label(const struct field_class *integer, uint64_t value, uint32_t *next);

#endif
