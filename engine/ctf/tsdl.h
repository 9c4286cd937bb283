/*
 * tsdl.h - what the files of the TSDL reader share
 *
 *     text -> tokens (tsdl_lex) -> types and blocks (tsdl_parse, tsdl_attribute, tsdl_type,
 *     tsdl_block) -> nodes, one tree per use (tsdl_build) -> struct ctf_description
 *
 * A struct type is one declaration. It is constant afterwards, and all uses of a named type share
 * it; tsdl_build.c copies it to nodes (engine/field.h) for each use.
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
	/* the member of a struct type that the path begins with, found at the declaration */
	const void *owner; /* identity of that struct type; NULL: not found */
	uint32_t index;    /* of the member */
};

struct matched { /* cache of the last tag type of a variant: which labels select which option */
	const struct enum_label *labels; /* of the tag type */
	const struct member *options;    /* only their ranges are set */
};

struct type_member {
	const char *name, *written; /* both interned */
	const struct type *type;
	uint32_t at;
};

struct type {
	struct field_class shape; /* copied to each node; has no pointers to other nodes */
	const void *identity;     /* STRUCT, VARIANT: name space of its members; else NULL */
	const struct type_member *members;
	const struct type *element;
	struct tsdl_path *path; /* SEQUENCE: length, VARIANT: tag, NULL none */
	uint32_t depth;
	uint32_t unit_align; /* of a bit-field `T name:bits`: alignment and size of T; else 0 */
	uint32_t unit_bits;
	bool encoded;            /* an integer with encoding UTF8 or ASCII */
	struct matched *matched; /* VARIANT with a tag */
};

struct lexical { /* a scope of type names; lookups go from the innermost scope out */
	struct lexical *parent;
	char types, structs, variants, enums; /* only their addresses count: name spaces */
};

struct body { /* a struct or variant whose members are being parsed */
	struct body *parent;
	const void *identity;
	bool is_variant;
	size_t first; /* its first member in tsdl.pending */
};

struct unbound { /* a path whose field was not found when its type was declared */
	struct tsdl_path *path;
	bool placed; /* tsdl_build.c found it where the type is used */
};

struct tsdl_event {
	struct ctf_event event;
	const struct type *context, *payload;
	uint64_t stream_id; /* as declared; later the stream's index in tsdl.streams */
	uint32_t at;
	bool has_stream_id;
};

/* What is known of an offset in the packet, in bits: offset mod unit == at. */
struct known_offset {
	uint64_t at, unit; /* unit is a power of two */
};

struct stream_block {
	struct ctf_stream stream;
	const struct type *packet_context, *event_header, *event_context;
	uint32_t at;
	size_t nevents;
	bool lacks_id;      /* event headers have no id, though there are several event classes */
	const void *ids;    /* name space of its events' ids */
	struct known_offset place; /* where an event's context begins */
};

struct tsdl {
	const char *name; /* of the file */
	const char *text;
	size_t size;
	bool strict;           /* LTTng's known mistakes are errors */
	bool broken_strings;   /* strings may contain newlines */
	struct arena *arena;   /* for the description */
	struct arena *scratch; /* freed after parsing */
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
	uint64_t nodes; /* nodes, labels and options created so far, for a limit */
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

/* Consumes the current token and returns true if it is of that kind. */
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
/* Parses name { "." name }, keywords included, to one text with dots. */
bool parse_dotted(struct tsdl *t, const char **out);
bool value_unsigned(struct tsdl *t, const struct tsdl_value *value, const char *what,
		    uint64_t *out);
bool value_signed(struct tsdl *t, const struct tsdl_value *value, const char *what, int64_t *out);
bool value_bool(struct tsdl *t, const struct tsdl_value *value, bool *out);
bool parse_integer(struct tsdl *t, const struct type **out);
bool parse_float(struct tsdl *t, const struct type **out);
bool parse_string(struct tsdl *t, const struct type **out);
/* Returns the index of `name` in a list that ends with NULL; -1: it is not in the list. */
int attribute_index(const char *const *names, const char *name);

/* tsdl_parse.c: declarations, structs, variants, enumerations */
bool parse_declaration(struct tsdl *t); /* its ";" included */
bool starts_declaration(const struct tsdl *t);
/* Parses the type right of ":=". */
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
/* A copy of `variant` with this tag; binds the path to a member of the open bodies if it can. */
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
/* Sets *out to options with the ranges of the tag that select them. False: none is selectable. */
bool variant_match(struct tsdl *t, const struct type *variant, const struct field_class *tag,
		   const struct member **out);
const char *path_text(struct tsdl *t, const struct tsdl_path *path);
const char *without_underscore(struct tsdl *t, const char *name); /* interned */
/* Finds a member by its written name, or by its name without underscore (`shown`); sets *index. */
bool member_find(struct tsdl *t, const void *identity, const char *name, bool shown,
		 uint32_t *index);

/* tsdl_block.c */
bool parse_blocks(struct tsdl *t);

/* tsdl_check.c: warns of members with a reserved name whose type does not fit the meaning. */
void check_meanings(struct tsdl *t);

/* tsdl_build.c */
bool build_description(struct tsdl *t);

#endif
