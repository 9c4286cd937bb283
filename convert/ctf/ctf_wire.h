/*
 * ctf_wire.h - field classes as they are written to a CTF trace
 *
 * A wire is a field class of the source, said with what every CTF language has: texts are
 * null-terminated strings, whatever they were; lengths and selectors are members that stand in
 * front. Where the source's own length or selector can be named by its path it is; else the writer
 * adds a member of its own, whose name begins with `__yore_`, which yore's reader hides:
 *
 *     source: pid, ips (hidden length), state: variant <outside tag> { a, b }
 *     wires:  pid, __yore_length_ips, ips[__yore_length_ips], __yore_option_state, state
 *
 * Every language prints the same wires, and one encoder writes their values.
 */
#ifndef CONVERT_CTF_CTF_WIRE_H
#define CONVERT_CTF_CTF_WIRE_H

#include "engine/base/arena.h"
#include "engine/event.h"

/* Types of a metadata language; the encoder sees only the result. */
struct ctf_means {
	bool variable;    /* integers of variable length */
	bool half;        /* floating point numbers of 16 bits */
	bool optionals;   /* selected by any integer or boolean */
	bool any_tag;     /* variants are selected by ranges of any integer, not by labels */
	bool identifiers; /* names of members are identifiers, and some words are taken */
	bool own_context; /* an event's own context may hold lengths and tags */
	bool no_context;  /* events have no contexts of their own */
	bool in_front;    /* lengths and selectors stand right in front of what they are of */
	bool packed;      /* what is aligned to bytes is aligned to no more */
};

enum wire_kind {
	WIRE_INT,
	WIRE_FLOAT,
	WIRE_STRING, /* ends with a zero */
	WIRE_BYTES,  /* a blob */
	WIRE_ARRAY,
	WIRE_STRUCT,
	WIRE_VARIANT,
	WIRE_OPTIONAL
};

struct wire {
	enum wire_kind kind;
	const struct field_class *from; /* NULL: a structure or number of the writer's own */
	const char *name;               /* as the language writes it; NULL: of elements and roots */
	struct wire *parent;            /* NULL: a root */
	uint32_t bits, align;           /* bits; of whole structures and arrays, too */
	bool is_signed, big_endian, is_variable;
	enum scope scope; /* in which it is written; of a root's member, where it comes from */
	enum scope source;
	struct wire **members; /* STRUCT: members; VARIANT, OPTIONAL: options */
	size_t nmembers, capacity;
	struct wire *element; /* ARRAY */
	uint64_t length;      /* ARRAY, BYTES of constant length, when `count` is NULL */
	struct wire *count;   /* its length or selector, which stands somewhere in front */
	bool is_context;      /* a whole context, as the payload's first member */
	const struct wire
		*of; /* an INT of the writer's own: what it is the length or selector of */
};

/* Where a wire is named from: by path from a scope's structure, or relative to its own place. */
struct wire_path {
	bool absolute;
	enum scope scope;
	unsigned up; /* relative: how many structures up the first name stands, 0: in its own */
	const char *names[64];
	size_t count;
};

struct wires; /* the roots of one event class; frees nothing: all is the arena's */

struct wires *wires_new(struct arena *arena, const struct ctf_means *means);
/*
 * A root for `scope`. `classes` are structures of the source that become one, each of scope
 * sources[i]; a NULL one is passed over. Roots are made in order of decoding, since later ones
 * refer to earlier ones. NULL: there is nothing in it. Members of the packet context that have a
 * role are left out.
 */
struct wire *wires_add(struct wires *wires, enum scope scope,
		       const struct field_class *const *classes, const enum scope *sources,
		       size_t count);
/*
 * The same two roots of one event, its own context and its payload. babeltrace2 2.0.4 aborts on
 * lengths and tags in an event's own context; where the language cannot have them there, the
 * context becomes the first member of the payload, under a name by which yore's reader puts it
 * back.
 */
void wires_add_event(struct wires *wires, const struct event_class *class, bool common,
		     struct wire **context, struct wire **payload);
/* A later class of the same stream refers to these roots, too. */
struct wires *wires_after(struct arena *arena, const struct wires *earlier);
/* How many values stand inside a structure of the writer's own, since nothing else holds a length
   or selector there. */
uint64_t wires_wrapped(const struct wires *wires);

/* The path by which `from` names its length or selector. */
void wire_path_of(const struct wire *from, struct wire_path *out);

/* ---- values of wires as bits of a packet ---- */

struct encoder {        /* it appends to a packet whose first bytes may be in its file already */
	struct buf out; /* bytes of the packet from `gone` on */
	uint64_t gone;  /* bytes in front that are in the file */
	uint64_t at;    /* bits from the packet's first byte */
	struct buf scratch; /* of texts */
};

void encoder_release(struct encoder *encoder);
void encode_align(struct encoder *encoder, uint32_t bits);
/* Whole bytes, behind padding to a byte. */
void encode_bytes(struct encoder *encoder, const void *bytes, size_t count);
void encode_number(struct encoder *encoder, uint64_t value, uint32_t bits); /* little-endian */
/* The members of a root, behind its alignment; `fields` are those of an event. */
void encode_root(struct encoder *encoder, const struct wire *root, const struct fields *fields);
/* The same of a root that other members stand in front of. */
void encode_members(struct encoder *encoder, const struct wire *root, const struct fields *fields);

#endif
