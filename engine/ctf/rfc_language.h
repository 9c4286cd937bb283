/* rfc_language.h - what the files that read the language of the 2010 proposal share */
#ifndef ENGINE_CTF_RFC_LANGUAGE_H
#define ENGINE_CTF_RFC_LANGUAGE_H

#include "engine/base/buf.h"
#include "engine/ctf/rfc.h"
#include "engine/ctf/tsdl.h"

/* How deep types may be nested, by braces or by names; bounds every recursion. */
enum { RFC_MAX_DEPTH = 256, RFC_PACKED = 8 };

enum rfc_kind {
	RFC_INTEGER,
	RFC_BITFIELD, /* gcc_bitfield */
	RFC_FLOAT,
	RFC_ENUM,
	RFC_STRING,
	RFC_STRUCT,
	RFC_ARRAY,
	RFC_SEQUENCE,
	RFC_OPTIONAL, /* yore's own, as all that follows: see docs/ctf.md */
	RFC_VARIANT
};

/* The meaning of an integer or of a list of bytes. */
enum rfc_meaning { MEANS_NUMBER, MEANS_BOOLEAN, MEANS_BITS, MEANS_FLAGS, MEANS_BLOB };

struct rfc_label {
	const char *name;
	uint64_t low, high; /* two's complement when negative */
	bool low_negative, high_negative;
	uint32_t at;
};

struct rfc_member {
	const char *name;
	const struct rfc_type *type;
};

/* A declared type with the attributes that it inherits; constant after its declaration. */
struct rfc_type {
	enum rfc_kind kind;
	bool is_abstract;
	bool is_signed, big_endian;
	bool is_text;                                /* char: an array of it is a text */
	uint64_t size, unit_size, exp_dig, mant_dig; /* bits; 0: not given */
	uint32_t align;                              /* bits; 0: not given */
	uint32_t boundary;                           /* bits: a value begins at a multiple of it */
	const struct rfc_label *labels;
	uint32_t nlabels;
	const struct rfc_member *members;
	uint32_t nmembers;
	bool has_length;
	uint64_t length; /* of an array */
	const struct rfc_type *element, *length_type, *tag_type;
	uint8_t base; /* to show it in; 0: not given */
	enum rfc_meaning meaning;
	uint32_t depth;
	size_t first, end; /* its tokens: two declarations of one name must have equal ones */
};

struct rfc_members { /* its address is the space of the members' names in struct tsdl_names */
	struct rfc_member *items;
	size_t count, capacity;
};

struct rfc_section {
	const char *name;
	uint8_t header_type;                /* 0: not given */
	bool has_size;                      /* event_size = true */
	struct rfc_members context, packet; /* of events; of packets, behind the fixed header */
	bool no_cpu;                        /* the number in a file's name is not a CPU */
	bool no_clock;                      /* events have no time */
	bool lost_at_end; /* a packet's count of discarded events is that at its end */
	struct buf rules;
	uint32_t at;
	size_t nevents;
	uint64_t most; /* greatest event id */
};

struct rfc_event {
	const char *name, *section; /* name NULL: not given */
	uint64_t id;
	bool has_id;
	int32_t loglevel;              /* -1 none */
	const struct rfc_type *fields; /* NULL: no payload */
	struct buf rules;
	uint32_t at;
	size_t index; /* of its section in rfc.sections */
};

struct rfc {
	struct tsdl t; /* text, tokens, names, messages */
	uint32_t word; /* bits that a 64-bit value is aligned to by default */
	uint64_t major, minor, frequency;
	int64_t offset; /* ns */
	bool has_offset;
	unsigned depth; /* of braces */
	struct rfc_section **sections;
	size_t nsections, section_capacity;
	struct rfc_event *events;
	size_t nevents, event_capacity;
	uint64_t nodes;
	char types, predeclared, section_names; /* only their addresses count: name spaces */
};

static inline const char *rfc_word(const struct tsdl_token *token)
{
	return token->kind == TOKEN_NAME || token->kind == TOKEN_KEYWORD ? token->text : "";
}

/* Parses a name or a text in quotes; `what` is for the error. */
bool rfc_parse_word(struct rfc *r, const char *what, const char **out);
/* Skips a value of any shape, up to its ';' or the '}' behind it. */
bool rfc_skip_value(struct rfc *r);
/* Parses the ';' behind a value, which may be missing behind and before a closing brace. */
bool rfc_end_value(struct rfc *r);

/* rfc_type.c */
void rfc_find_word(struct rfc *r);    /* sets r->word by all declarations of the text */
bool rfc_declare_type(struct rfc *r); /* parses a declaration at `type` or `abstract_type` */
/* Parses a name of a type, or `type { ... }`; an abstract type is an error. */
bool rfc_parse_type(struct rfc *r, const struct rfc_type **out);
/* Parses `{ TYPE, NAME }`. */
bool rfc_parse_member(struct rfc *r, struct rfc_member *out);
const struct rfc_type *rfc_predeclared(struct rfc *r, const char *name); /* NULL: no such type */
/* Returns the default alignment, in bits, of an integer of `bits` bits. */
uint32_t rfc_natural(const struct rfc *r, uint64_t bits);

/* rfc_build.c */
bool rfc_build(struct rfc *r);

#endif
