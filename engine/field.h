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
	FORM_BOOL, /* 1 when any of its bits is 1 */
	FORM_BITS, /* a bit array: never a length or selector */
	FORM_FLAGS /* a bit map: the same, and `low` of each label is the mask of its bits */
};

/* Encoding of text in arrays of bytes. STRINGs are ENCODING_UTF8. */
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
 * Where the bytes of an ARRAY of plain scalars are. The kernel's dynamic arrays have a 32-bit word
 * in the record: the low half is the offset of their bytes, the high half their count (ftrace
 * format files, `__data_loc` and `__rel_loc`).
 */
enum field_place {
	PLACE_HERE,     /* behind the field before it */
	PLACE_DATA_LOC, /* at an offset from where the layout began */
	PLACE_REL_LOC,  /* at an offset from the end of the word */
	PLACE_REST,     /* here; as many whole elements as fit before the end of the data */
	PLACE_ENDED     /* here; text up to the first code unit that is zero */
};

struct field_class;

struct member {
	const char *name;    /* as shown: without the one leading underscore that writers add */
	const char *written; /* as in the description */
	struct field_class *class;
	/* of a variant's option: which values of the tag select it (several ranges may) */
	const struct enum_label *ranges;
	uint32_t nranges;
	bool hidden; /* needed for decoding alone: never shown, and not found by name */
};

struct layout;

struct field_class {
	enum field_kind kind;
	uint32_t align; /* bits, a power of two, at least 1 */
	uint32_t bits;	/* INT 1..64, FLOAT 16, 32, 64 */
	uint32_t gap;   /* unused space before it, bits; a multiple of 8 */
	/* INT: bits, a power of two. A field that would cross a multiple of `unit` begins at that
	   multiple, as C bit-fields do; 0: it may cross. */
	uint32_t unit;
	enum field_place place; /* ARRAY of plain scalars; else PLACE_HERE */
	bool is_signed, big_endian;
	bool is_text; /* INT of 8 bits with an encoding: arrays of it are text up to the first 0 */
	bool is_enum;
	bool is_blob; /* ARRAY, SEQUENCE of bytes that are shown as base64 */
	bool is_address; /* INT: a place in code or data; shown in hex, may have a symbol */
	/* ARRAY of bits or bytes: an integer of over 64 bits, whose value is hexadecimal text */
	bool is_wide;
	bool is_variable; /* INT: LEB128, of up to 10 bytes; `bits` is 64 */
	bool is_reversed; /* INT, FLOAT: the order of its bits is reversed */
	bool is_optional; /* VARIANT with one option, present or not: slot.n is 0 if present, else 1
			   */
	bool may_lack; /* the `ref` may be absent from an event; decoding this field then fails */
	uint8_t base; /* preferred display: 2, 8, 10, 16 */
	enum int_form form;
	enum text_encoding encoding; /* ARRAY, SEQUENCE of bytes of text */
	const char *media_type;	     /* ARRAY, SEQUENCE that are a blob; NULL: not given */
	uint16_t roles;              /* what the value is used for; each reader defines the bits */
	int32_t clock; /* INT: index of the trace's clock that the value is a timestamp of, -1 none
			*/
	const struct enum_label *labels; /* in order of declaration; several may hold one value */
	uint32_t nlabels;
	bool labels_rise;       /* labels are sorted and do not overlap: found by binary search */
	struct member *members; /* STRUCT: members; VARIANT: options */
	uint32_t nmembers;
	struct field_class *element; /* ARRAY, SEQUENCE */
	uint64_t length;	     /* ARRAY */
	struct field_class *ref;     /* SEQUENCE: its length; VARIANT: its tag; an INT decoded earlier */
	/* Where a `ref` can mean several nodes (in different options), the one decoded last counts:
	   all of them link to one node, which has the registers. NULL: this one. */
	struct field_class *same;

	/* written by layout_compile() */
	uint32_t slot;           /* index into the slots of its scope or of its array element */
	uint32_t value_register; /* 1 + the register that keeps the value for `ref`s, 0 none */
	uint32_t there_register; /* 1 + the register that is 0 when it is absent; 0: never absent */
	struct layout *element_layout; /* decodes one element; NULL: elements are plain scalars */
};

/* Follows `same`: the node that has the registers of this one. */
static inline struct field_class *field_same(const struct field_class *class)
{
	while (class->same)
		class = class->same;
	return (struct field_class *)(uintptr_t)class;
}

/* The structs that a value can be part of, in order of decoding. */
enum scope {
	SCOPE_PACKET_HEADER,
	SCOPE_PACKET_CONTEXT,
	SCOPE_EVENT_HEADER,
	SCOPE_STREAM_EVENT_CONTEXT,
	SCOPE_EVENT_CONTEXT,
	SCOPE_PAYLOAD,
	SCOPE_COUNT
};

/* Finds a member that is not hidden by its shown name, else its written one; NULL: none. */
const struct member *field_member(const struct field_class *structure, const char *name);
/*
 * The name under which member `name` of `own`, an event's stream event context, is shown:
 * "context_NAME" when `other`, its event context (NULL: none), has a member of that name, else the
 * name itself. Borrowed from `name` or from *scratch.
 */
const char *field_context_name(const struct field_class *own, const struct field_class *other,
			       const char *name, struct buf *scratch);
/* The reverse: the member of `own` that is shown as the "context_NAME" `shown`; NULL: none. */
const struct member *field_context_member(const struct field_class *own,
					  const struct field_class *other, const char *shown);
bool enum_label_holds(const struct enum_label *label, bool is_signed, uint64_t value);
/*
 * The names of all labels that hold `value`, joined by '|'. Borrowed from the label or, where there
 * are several, from *scratch. NULL: no label holds it.
 */
const char *field_labels(const struct field_class *integer, uint64_t value, struct buf *scratch);
/* Iterates over the labels that hold `value`; *next is 0 at first. NULL: no more. */
const char *field_label(const struct field_class *integer, uint64_t value, uint32_t *next);

#endif
