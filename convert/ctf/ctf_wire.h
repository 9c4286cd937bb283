/*
 * ctf_wire.h - field classes as they are written to a CTF trace
 *
 * A wire is a field class of the source in terms that every CTF language has: texts become
 * null-terminated strings; lengths and selectors are members that stand before their array or
 * variant. If a path can name the source's own length or selector, that one is used; else the
 * writer adds a member whose name begins with `__yore_`, which yore's reader hides:
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

/* What a metadata language can express; the encoder sees only the wires. */
struct ctf_means {
	bool variable;    /* integers of variable length */
	bool half;        /* floating point numbers of 16 bits */
	bool optionals;   /* optionals, selected by any integer or boolean */
	bool any_tag;     /* integer ranges select a variant's options; else labels do */
	bool identifiers; /* member names must be identifiers and no keywords */
	bool own_context; /* an event's own context may hold lengths and tags */
	bool no_context;  /* events have no contexts of their own */
	bool in_front;    /* lengths and selectors stand directly before their array or variant */
	bool packed;      /* no alignment above a byte */
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
	const char *name;               /* in the language's spelling; NULL: elements and roots */
	struct wire *parent;            /* NULL: a root */
	uint32_t bits, align;           /* in bits; align: also of whole structures and arrays */
	bool is_signed, big_endian, is_variable;
	enum scope scope; /* in which it is written; source: that of the source's member */
	enum scope source;
	struct wire **members; /* STRUCT: members; VARIANT, OPTIONAL: options */
	size_t nmembers, capacity;
	struct wire *element; /* ARRAY */
	uint64_t length;      /* constant length of an ARRAY or BYTES, if `count` is NULL */
	struct wire *count;   /* length or selector, a wire that is written earlier */
	bool is_context;      /* an event's own context, as first member of the payload */
	const struct wire
		*of; /* of an INT that the writer added: the wire whose length or selector it is */
};

/* How metadata names a wire: a path from a scope's root, or relative to the user. */
struct wire_path {
	bool absolute;
	enum scope scope;
	unsigned up; /* relative: structures to go up before the first name; 0: the user's own */
	const char *names[64];
	size_t count;
};

struct wires; /* the roots of one event class; allocated in the arena */

struct wires *wires_new(struct arena *arena, const struct ctf_means *means);
/*
 * Makes the root of `scope`. It joins the structures `classes` of the source, each of scope
 * sources[i]; NULL entries are skipped. Add roots in the order of decoding, since later ones refer
 * to earlier ones. Returns NULL for an empty root. Members of the packet context that have a role
 * are left out.
 */
struct wire *wires_add(struct wires *wires, enum scope scope,
		       const struct field_class *const *classes, const enum scope *sources,
		       size_t count);
/*
 * Makes both roots of an event class: its own context and its payload. babeltrace2 2.0.4 aborts on
 * lengths and tags in an event's own context; for a language that cannot have them there, the
 * context becomes the first member of the payload, under a name by which yore's reader restores it.
 */
void wires_add_event(struct wires *wires, const struct event_class *class, bool common,
		     struct wire **context, struct wire **payload);
/* Roots of another event class of the same stream; they may refer to `earlier`, too. */
struct wires *wires_after(struct arena *arena, const struct wires *earlier);
/*
 * Number of values that are wrapped in a structure of the writer's own, the only place for their
 * length or selector.
 */
uint64_t wires_wrapped(const struct wires *wires);

/* The path by which `from` names its length or selector. */
void wire_path_of(const struct wire *from, struct wire_path *out);

/* ---- values of wires as bits of a packet ---- */

struct encoder {        /* appends to a packet; its first bytes may be in the file already */
	struct buf out; /* bytes of the packet from `gone` on */
	uint64_t gone;  /* bytes of the packet that are in the file */
	uint64_t at;    /* position in bits, from the packet's first byte */
	struct buf scratch; /* of texts */
};

void encoder_release(struct encoder *encoder);
void encode_align(struct encoder *encoder, uint32_t bits);
/* Appends whole bytes, after padding to a byte. */
void encode_bytes(struct encoder *encoder, const void *bytes, size_t count);
void encode_number(struct encoder *encoder, uint64_t value, uint32_t bits); /* little-endian */
/* Aligns, then appends the members of a root with values from an event's `fields`. */
void encode_root(struct encoder *encoder, const struct wire *root, const struct fields *fields);
/* The same without alignment: other members of the structure come first. */
void encode_members(struct encoder *encoder, const struct wire *root, const struct fields *fields);

#endif
