/*
 * ctf2.h - what the files of the CTF 2 metadata reader share
 *
 *     metadata stream -> fragments (json_fragments) -> values with their place (json_item) ->
 *     classes (json_parse), their field classes (json_class) and field locations (json_location)
 *     -> struct ctf_description
 *
 * Section names in comments are those of CTF2-SPEC-2.0. The parser also reads the dialect of the
 * release candidate CTF2-SPECRC-7.0: one property that only it has puts the whole stream in it.
 */
#ifndef ENGINE_CTF_CTF2_H
#define ENGINE_CTF_CTF2_H

#include "engine/ctf/description.h"
#include "engine/ctf/tsdl_names.h"

#include <json-c/json.h>

/* How deep field classes may be nested, by braces or by aliases; bounds every recursion. */
enum { CTF2_MAX_DEPTH = 256 };

/* A JSON value, and the path to it from its fragment's root. */
struct item {
	struct json_object *value; /* NULL: absent, or JSON's null */
	const struct item *up;     /* the object or array that holds it; NULL: it is the fragment */
	const char *key;           /* of a member of an object; NULL: an element of an array */
	size_t index;              /* of an element */
};

enum dialect { DIALECT_ANY, DIALECT_FINAL, DIALECT_RC7 };

enum value_type {
	VALUE_UNSIGNED,
	VALUE_INTEGER,
	VALUE_BOOL,
	VALUE_STRING,
	VALUE_OBJECT,
	VALUE_ARRAY,
	VALUE_STRING_OR_OBJECT, /* a field class, an origin */
	VALUE_ARRAY_OR_OBJECT   /* a field location */
};

struct property {
	const char *name;
	uint8_t type;               /* enum value_type */
	uint8_t dialect;            /* enum dialect: only this dialect has the property */
	uint32_t allowed, required; /* bits 1 << kind: kinds of objects that may, must have it */
};

struct json_frame { /* a node that is not finished */
	struct field_class *node;
	uint32_t current; /* the member that is being built */
};

struct stream_class {
	struct ctf_stream stream;
	size_t event_capacity;
};

struct ctf2 {
	const char *name; /* of the file */
	size_t size;
	struct arena *arena;   /* for the description */
	struct arena *scratch; /* freed after parsing */
	const struct notices *notices;
	struct error *err;
	struct ctf_description *out;
	struct tsdl_names names;
	unsigned warnings;

	size_t fragment, at; /* the current fragment: number from 1, offset in the file's text */
	bool has_trace, is_lttng, has_events;
	size_t head; /* offset of the first event record class */
	enum dialect dialect;
	const char *dialect_mark; /* the property that decided it, and its fragment */
	size_t dialect_fragment;

	struct json_object **aliases; /* their field classes, owned */
	size_t naliases, alias_capacity;
	struct clock *clocks;
	bool *has_origin; /* of each clock */
	size_t nclocks, clock_capacity, origin_capacity;
	struct stream_class **streams;
	size_t nstreams, stream_capacity;

	/* the scope that is being built */
	bool dry; /* only checks an alias: its field locations are not resolved */
	int scope;
	struct field_class *roots[SCOPE_COUNT]; /* finished trees, and the current scope's so far */
	struct json_frame frames[CTF2_MAX_DEPTH + 1];
	unsigned nframes;
	int32_t clock;  /* of the stream, -1 none */
	uint64_t nodes; /* created so far, for a limit */
};

/* json_fragments.c */
/* Calls `each` for every fragment, in order. False: `each` failed, or a fragment is no JSON. */
bool fragments_read(struct ctf2 *t, const char *text,
		    bool (*each)(struct ctf2 *t, const struct item *fragment));

/* json_item.c */
/* Sets the error "FILE: fragment N at byte B: PATH: ..."; always false. */
bool item_fail(struct ctf2 *t, const struct item *item, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void item_warn(struct ctf2 *t, const struct item *item, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Finds the properties of an object of that kind: out[i] is that of table[i], with value NULL if
 * absent. Errors: unknown properties, missing ones, extensions, and values of a wrong type.
 */
bool item_properties(struct ctf2 *t, const struct item *object, unsigned kind,
		     const struct property *table, size_t count, struct item *out);
/* Element i of an array. */
struct item item_element(const struct item *array, size_t i);
size_t item_count(const struct item *array);
bool item_is(const struct item *item, enum value_type type);
/* The next four leave *out unchanged if the item is absent; a wrong value is an error. */
bool item_unsigned(struct ctf2 *t, const struct item *item, uint64_t least, uint64_t most,
		   uint64_t *out);
bool item_integer(struct ctf2 *t, const struct item *item, int64_t *out);
/* Interned. An error when it has a zero character. */
bool item_string(struct ctf2 *t, const struct item *item, const char **out);
/* The index of the string in `words`, which ends with NULL. */
bool item_word(struct ctf2 *t, const struct item *item, const char *const *words, unsigned *out);
/* Notes that `mark` shows the stream's dialect; an error if an earlier mark showed another one. */
bool item_dialect(struct ctf2 *t, const struct item *item, enum dialect dialect, const char *mark);

/* json_class.c */
/* Builds a new node for the field class, or for the alias that the item names. */
bool class_build(struct ctf2 *t, const struct item *item, struct field_class **out);
/* Builds the structure of a scope; *out is NULL if the item is absent. */
bool class_scope(struct ctf2 *t, enum scope scope, const struct item *item,
		 struct field_class **out);
static inline const void *alias_space(const struct ctf2 *t)
{
	return &t->aliases;
}

/* json_location.c */
enum location_use { LOCATION_LENGTH, LOCATION_SELECTOR };
/* Finds the fields that are the length or selector of `user`: sets its `ref` and `may_lack`. */
bool location_resolve(struct ctf2 *t, const struct item *item, enum location_use use,
		      struct field_class *user);

#endif
