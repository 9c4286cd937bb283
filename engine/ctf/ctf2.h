/*
 * ctf2.h - what the files of the CTF 2 metadata reader share
 *
 *     metadata stream -> fragments (json_fragments) -> values with their place (json_item) ->
 *     classes (json_parse), their field classes (json_class) and field locations (json_location)
 *     -> struct ctf_description
 *
 * Section names in comments are those of CTF2-SPEC-2.0. The dialect of the release candidate
 * CTF2-SPECRC-7.0 is read, too: any property of it makes the whole stream that dialect.
 */
#ifndef ENGINE_CTF_CTF2_H
#define ENGINE_CTF_CTF2_H

#include "engine/ctf/description.h"
#include "engine/ctf/tsdl_names.h"

#include <json-c/json.h>

/* How deep field classes may be nested, by braces or by aliases; bounds every recursion. */
enum { CTF2_MAX_DEPTH = 256 };

/* A JSON value, and the way to it from its fragment's root. */
struct item {
	struct json_object *value; /* NULL: not there, or null */
	const struct item *up;     /* NULL: the fragment */
	const char *key;           /* of a member; NULL: an element */
	size_t index;
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
	uint8_t dialect;            /* enum dialect: what it is a mark of */
	uint32_t allowed, required; /* bits 1 << kind: of which kinds of objects */
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
	struct arena *arena;   /* of the description */
	struct arena *scratch; /* of this reading */
	const struct notices *notices;
	struct error *err;
	struct ctf_description *out;
	struct tsdl_names names;
	unsigned warnings;

	size_t fragment, at; /* the one being read: number from 1, offset in the file's text */
	bool has_trace, is_lttng, has_events;
	size_t head; /* offset of the first event record class */
	enum dialect dialect;
	const char *dialect_mark; /* what said so, and in which fragment */
	size_t dialect_fragment;

	struct json_object **aliases; /* their field classes, owned */
	size_t naliases, alias_capacity;
	struct clock *clocks;
	bool *has_origin; /* of each */
	size_t nclocks, clock_capacity, origin_capacity;
	struct stream_class **streams;
	size_t nstreams, stream_capacity;

	/* the scope that is being built */
	bool dry; /* an alias is looked at: nothing is decoded before or after it */
	int scope;
	struct field_class *roots[SCOPE_COUNT]; /* finished, or under way in the current scope */
	struct json_frame frames[CTF2_MAX_DEPTH + 1];
	unsigned nframes;
	int32_t clock;  /* of the stream, -1 none */
	uint64_t nodes; /* made so far */
};

/* json_fragments.c */
/* Calls `each` for every fragment, in order; false when it does, or a fragment is no JSON. */
bool fragments_read(struct ctf2 *t, const char *text,
		    bool (*each)(struct ctf2 *t, const struct item *fragment));

/* json_item.c */
/* Sets the error "FILE: fragment N at byte B: PATH: ..."; always false. */
bool item_fail(struct ctf2 *t, const struct item *item, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void item_warn(struct ctf2 *t, const struct item *item, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * The properties of an object of that kind, out[i] that of table[i]; value NULL where it is not
 * there. Unknown ones, missing ones and extensions are errors, other types than stated, too.
 */
bool item_properties(struct ctf2 *t, const struct item *object, unsigned kind,
		     const struct property *table, size_t count, struct item *out);
/* Element i of an array. */
struct item item_element(const struct item *array, size_t i);
size_t item_count(const struct item *array);
bool item_is(const struct item *item, enum value_type type);
/* `out` stays as it is when the item is not there. */
bool item_unsigned(struct ctf2 *t, const struct item *item, uint64_t least, uint64_t most,
		   uint64_t *out);
bool item_integer(struct ctf2 *t, const struct item *item, int64_t *out);
/* Interned. An error when it has a zero character. */
bool item_string(struct ctf2 *t, const struct item *item, const char **out);
/* The index of the string in `words`, which ends with NULL. */
bool item_word(struct ctf2 *t, const struct item *item, const char *const *words, unsigned *out);
/* The stream is of that dialect: an error when it was of another. */
bool item_dialect(struct ctf2 *t, const struct item *item, enum dialect dialect, const char *mark);

/* json_class.c */
/* The field class, or the alias that is named, as a node of its own. */
bool class_build(struct ctf2 *t, const struct item *item, struct field_class **out);
/* The structure of a scope; *out NULL when the item is not there. */
bool class_scope(struct ctf2 *t, enum scope scope, const struct item *item,
		 struct field_class **out);
static inline const void *alias_space(const struct ctf2 *t)
{
	return &t->aliases;
}

/* json_location.c */
enum location_use { LOCATION_LENGTH, LOCATION_SELECTOR };
/* Finds what a length or selector location of `user` means: sets its ref and may_lack. */
bool location_resolve(struct ctf2 *t, const struct item *item, enum location_use use,
		      struct field_class *user);

#endif
