/*
 * tsdl.h - what the files of the TSDL reader share
 *
 *     text -> tokens (tsdl_lex) -> types and blocks (tsdl_parse, tsdl_attribute, tsdl_type,
 *     tsdl_block) -> nodes, one tree per use (tsdl_build) -> struct ctf_description
 *
 * A `type` is what was declared, once; it is never changed after its declaration, and the uses of a
 * named type share it. tsdl_build.c copies types to the nodes of engine/field.h.
 */
#ifndef ENGINE_CTF_TSDL_H
#define ENGINE_CTF_TSDL_H

#include "engine/ctf/description.h"
#include "engine/ctf/tsdl_names.h"

#include <stdint.h>

/* ---- tokens: 16 bytes each, all of a text in one array ---- */

/* Punctuation of one character is its own kind. */
enum token_kind {
	TOKEN_END,
	TOKEN_NAME = 128,  /* text */
	TOKEN_KEYWORD,     /* text, word */
	TOKEN_INT,         /* number */
	TOKEN_STRING,      /* text, up to its first zero */
	TOKEN_CHAR,        /* text */
	TOKEN_TYPE_ASSIGN, /* := */
	TOKEN_ELLIPSIS,    /* ... */
	TOKEN_ARROW        /* -> */
};

enum word {
	WORD_NONE,
	WORD_ALIGN,
	WORD_CALLSITE,
	WORD_CONST,
	WORD_CLOCK,
	WORD_ENUM,
	WORD_ENV,
	WORD_EVENT,
	WORD_FLOATING_POINT,
	WORD_INTEGER,
	WORD_STREAM,
	WORD_STRING,
	WORD_STRUCT,
	WORD_TRACE,
	WORD_TYPEALIAS,
	WORD_TYPEDEF,
	WORD_VARIANT,
	WORD_C_TYPE /* char, unsigned, _Bool ...: parts of the names of types */
};

struct tsdl_token {
	uint32_t at; /* offset into the text */
	uint8_t kind;
	uint8_t word;
	union {
		const char *text; /* interned */
		uint64_t number;
	};
};

/* How deep types may be nested, by braces or by names; bounds every recursion. */
enum { TSDL_MAX_DEPTH = 1024 };

enum { PATH_RELATIVE = -1, PATH_ENV = SCOPE_COUNT };

struct tsdl_path { /* a length or a tag */
	uint32_t at;
	int scope; /* PATH_RELATIVE, PATH_ENV or the scope of an absolute path */
	const char **parts;
	uint32_t count;
	/* where it was found when its type was declared: a member of a struct type */
	const void *owner; /* identity of that struct type, NULL: not found */
	uint32_t index;
};

struct matched { /* which labels select which option, kept for the tag type that was seen last */
	const struct enum_label *labels;
	const struct member *options; /* only their ranges */
};

struct type_member {
	const char *name, *written; /* both interned */
	const struct type *type;
	uint32_t at;
};

struct type {
	struct field_class shape; /* what is copied to a node; no pointers to other nodes */
	const void *identity;     /* STRUCT, VARIANT: space of its members' names; NULL else */
	const struct type_member *members;
	const struct type *element;
	struct tsdl_path *path; /* SEQUENCE: length, VARIANT: tag, NULL none */
	uint32_t depth;
	uint32_t unit_align; /* of a bit-field `T name:bits`: alignment and size of T; else 0 */
	uint32_t unit_bits;
	bool encoded;            /* integer with an encoding */
	struct matched *matched; /* VARIANT with a tag */
};

struct lexical { /* where names of types are looked up, inside out */
	struct lexical *parent;
	char types, structs, variants, enums; /* their addresses are the name spaces */
};

struct body { /* a struct or variant whose members are being read */
	struct body *parent;
	const void *identity;
	bool is_variant;
	size_t first; /* in tsdl.pending */
};

struct unbound { /* a path that the declaration could not place */
	struct tsdl_path *path;
	bool placed;
};

struct tsdl_event {
	struct ctf_event event;
	const struct type *context, *payload;
	uint64_t stream_id; /* once it is known, the stream's index */
	uint32_t at;
	bool has_stream_id;
};

/* A known remainder of an offset into the packet, in bits: offset mod unit == at. */
struct known_offset {
	uint64_t at, unit; /* unit is a power of two */
};

struct stream_block {
	struct ctf_stream stream;
	const struct type *packet_context, *event_header, *event_context;
	uint32_t at;
	size_t nevents;
	bool lacks_id; /* event headers have none, and there are several classes */
	const void *ids;    /* name space of its events' ids */
	struct known_offset place; /* of an event's context */
};

struct tsdl {
	const char *name; /* of the file */
	const char *text;
	size_t size;
	bool strict;           /* LTTng's known faults are errors */
	bool broken_strings;   /* newlines may stand in them */
	struct arena *arena;   /* of the description */
	struct arena *scratch; /* of this reading */
	const struct notices *notices;
	struct error *err;
	struct ctf_description *out;
	unsigned warnings;

	struct tsdl_names names;
	struct tsdl_token *tokens;
	size_t ntokens, token_capacity, pos;

	struct lexical *lexical;
	struct body *body;
	unsigned depth;
	struct type_member *pending; /* members of the open bodies, innermost last */
	size_t npending, pending_capacity;
	struct unbound *unbound;
	size_t nunbound, unbound_capacity;

	bool has_trace, has_env, is_lttng, is_barectf;
	const struct type *packet_header;
	struct clock *clocks;
	size_t nclocks, clock_capacity;
	struct env_entry *env;
	size_t nenv, env_capacity;
	struct stream_block *streams;
	size_t nstreams, stream_capacity;
	struct tsdl_event *events;
	size_t nevents, event_capacity;
	uint64_t nodes; /* nodes, labels and options that were made for uses, so far */
};

/* tsdl_lex.c */
bool tsdl_lex(struct tsdl *t);
/* Sets the error "FILE:LINE:COLUMN: ..."; always false. `at` is an offset into the text. */
bool tsdl_fail(struct tsdl *t, uint32_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void tsdl_warn(struct tsdl *t, uint32_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "expected WHAT, found TOKEN" at the current token; always false. */
bool tsdl_expected(struct tsdl *t, const char *what);

static inline const struct tsdl_token *peek(const struct tsdl *t)
{
	return &t->tokens[t->pos];
}

static inline const struct tsdl_token *peek_next(const struct tsdl *t)
{
	return &t->tokens[t->pos + (t->tokens[t->pos].kind != TOKEN_END)];
}

static inline bool is_word(const struct tsdl_token *token, enum word word)
{
	return token->kind == TOKEN_KEYWORD && token->word == word;
}

/* Goes on when the current token is of that kind. */
static inline bool accept_token(struct tsdl *t, int kind)
{
	bool is = peek(t)->kind == kind;

	t->pos += is;
	return is;
}

static inline bool expect_token(struct tsdl *t, int kind, const char *what)
{
	return accept_token(t, kind) || tsdl_expected(t, what);
}

/* tsdl_attribute.c: values, and the types that have attributes only */
struct tsdl_value {
	enum { VALUE_INT, VALUE_STRING, VALUE_WORD } kind; /* a word may have dots */
	bool negative;
	uint64_t magnitude;
	const char *text;
	uint32_t at;
};

bool parse_value(struct tsdl *t, struct tsdl_value *out);
/* name { "." name }, keywords allowed, joined by dots. */
bool parse_dotted(struct tsdl *t, const char **out);
bool value_unsigned(struct tsdl *t, const struct tsdl_value *value, const char *what,
		    uint64_t *out);
bool value_signed(struct tsdl *t, const struct tsdl_value *value, const char *what, int64_t *out);
bool value_bool(struct tsdl *t, const struct tsdl_value *value, bool *out);
bool parse_integer(struct tsdl *t, const struct type **out);
bool parse_float(struct tsdl *t, const struct type **out);
bool parse_string(struct tsdl *t, const struct type **out);
/* `name` in a list that ends with NULL, -1 when it is not there. */
int attribute_index(const char *const *names, const char *name);

/* tsdl_parse.c: declarations, structs, variants, enumerations */
bool parse_declaration(struct tsdl *t); /* up to its ";", included */
bool starts_declaration(const struct tsdl *t);
/* A type as it stands right of ":=". */
bool parse_type(struct tsdl *t, const struct type **out);
void lexical_open(struct tsdl *t);
void lexical_close(struct tsdl *t);

/* tsdl_type.c: making types of parts; paths */
struct type *type_new(struct tsdl *t, enum field_kind kind);
bool tsdl_path(struct tsdl *t, const char *what, struct tsdl_path **out);
bool type_array(struct tsdl *t, const struct type *element, uint64_t length, uint32_t at,
		const struct type **out);
bool type_sequence(struct tsdl *t, const struct type *element, struct tsdl_path *path,
		   const struct type **out);
/* `variant` with this tag; binds the path to what is open now. */
bool type_tagged(struct tsdl *t, const struct type *variant, struct tsdl_path *path,
		 const struct type **out);
bool type_bit_field(struct tsdl *t, const struct type *base, uint64_t bits, uint32_t at,
		    const struct type **out);
bool body_open(struct tsdl *t, struct body *body, struct type *type);
bool body_add(struct tsdl *t, const char *name, const struct type *type, uint32_t at);
bool body_close(struct tsdl *t, struct type *type, uint32_t at);
bool check_length_type(struct tsdl *t, const struct tsdl_path *path,
		       const struct field_class *target);
bool check_tag_type(struct tsdl *t, const struct tsdl_path *path, const struct field_class *target);
/* Fills the ranges of the variant's options for this tag; false when no option can be selected. */
bool variant_match(struct tsdl *t, const struct type *variant, const struct field_class *tag,
		   const struct member **out);
const char *path_text(struct tsdl *t, const struct tsdl_path *path);
const char *without_underscore(struct tsdl *t, const char *name); /* interned */
/* Index of the member; as written first when `shown` is false, else compared as shown. */
bool member_find(struct tsdl *t, const void *identity, const char *name, bool shown,
		 uint32_t *index);

/* tsdl_block.c */
bool parse_blocks(struct tsdl *t);

/* tsdl_check.c: warns of members whose names mean something that they cannot be. */
void check_meanings(struct tsdl *t);

/* tsdl_build.c */
bool build_description(struct tsdl *t);

#endif
