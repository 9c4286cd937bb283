/*
 * event.h - the values of one event: decoded slots, and fields found in them by name
 *
 * Decoding an event fills slots, one per scalar, string, array or variant of its tree. A struct
 * field is a typed view of one slot. Views are dead at the next decode with the same decoder.
 */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include "engine/base/buf.h"
#include "engine/batch.h"
#include "engine/trace.h"

#include <string.h>

struct slot {
	union {
		uint64_t u;   /* INT; a signed one is sign-extended; FLOAT: bits of a double */
		int64_t s;
		double f;
		const uint8_t *bytes; /* STRING */
		uint64_t at;	      /* ARRAY, SEQUENCE: first element, in bits */
	};
	uint64_t n; /* STRING: bytes without the zero; ARRAY, SEQUENCE: elements; VARIANT: option;
		       INT of variable length: bytes */
};

/* The values of event i, when they were decoded with its head; NULL: they were not. */
static inline const struct slot *batch_slots(const struct batch *batch, uint32_t i)
{
	return batch->slots && batch->slot[i] != BATCH_NO_VALUES ? batch->slots + batch->slot[i]
								 : NULL;
}

struct fields {
	const struct event_class *class;
	const uint8_t *data; /* what positions count from */
	uint64_t bits;	     /* readable from there */
	const struct slot *packet_header, *packet_context; /* NULL where there is none */
	const struct slot *slots; /* the event's own scopes, at class->slot_base[scope] */
	uint64_t *registers;	  /* values that lengths and tags refer to */
	/* what the packet's scopes are read from, when that is not `data`; NULL: it is */
	const struct fields *packet;
	uint32_t unread; /* bytes of the record that belong to no value: their kind is not known */
};

struct field {
	const struct field_class *class;
	const struct fields *in;
	struct slot slot;	  /* of a STRUCT: unused */
	const struct slot *inside; /* slots that this field's members stand in */
};

/*
 * The field of that class among `inside`, the slots of its scope or element: a leaf's slot is its
 * own; a struct's members stand where the struct stands.
 */
static inline void field_view(const struct field_class *class, const struct fields *in,
			      const struct slot *inside, struct field *out)
{
	*out = (struct field){.class = class, .in = in, .inside = inside};
	if (class->kind != FIELD_STRUCT)
		out->slot = inside[class->slot];
}

/* A whole scope as a struct field; false when the event has no such scope. */
bool fields_scope(const struct fields *fields, enum scope scope, struct field *out);

/* Where a field of a class is, found once: used for every event of the class. */
struct field_path {
	enum scope scope;
	uint32_t slot; /* place in its scope's run of slots; struct members only on the way */
	const struct field_class *class; /* NULL: not found */
};

/*
 * Finds `names` (n of them, a member of a member...) in the scopes whose bit (1 << scope) is in
 * `scopes`, payload first, then event context, stream event context (whose members may have
 * their field_context_name(), too), packet context. False when
 * there is none, or when the way leads through an array or variant: then use fields_get().
 */
bool field_path_find(const struct event_class *class, unsigned scopes, const char *const *names,
		     size_t n, struct field_path *out);
/* The same of one name, where the field is an integer. False: there is none; then out->class is
 * NULL. */
bool field_path_find_int(const struct event_class *class, unsigned scopes, const char *name,
			 struct field_path *out);

/* Of "sched:sched_switch" what stands behind the last colon; a name without one as it is. */
static inline const char *event_bare_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

/* Where an event of the class says which thread it is of, and which process; class NULL: nowhere.
 */
struct event_thread {
	struct field_path tid, pid; /* integers */
	const char *name;           /* of the field that is tid; NULL: there is none */
};
/*
 * The thread by the contexts of LTTng (tid and pid, else vtid and vpid), by perf's sample, by
 * perf's sample in CTF (perf_tid), or by what all tracepoints of Linux begin with (common_pid).
 */
struct event_thread event_thread_of(const struct event_class *class);
void fields_at(const struct fields *fields, const struct field_path *path, struct field *out);
/* The number that an integer field has; `none` where the path has no class. */
int64_t fields_number(const struct fields *fields, const struct field_path *path, int64_t none);

/*
 * As above per event, through variants (the chosen option is looked into) and array elements
 * (names that are decimal numbers). False when this event has no such field.
 */
bool fields_get(const struct fields *fields, unsigned scopes, const char *const *names, size_t n,
		struct field *out);

/*
 * Members of a struct, elements of an array, the option of a variant (one item), in order.
 */
struct field_iter {
	const struct field *of;
	uint64_t index, count;
	uint64_t at; /* position of the next element, bits */
	struct slot *scratch;
	const char *name; /* of the item: member or option name; NULL for elements */
	struct field item;
};
void field_iter_begin(struct field_iter *iter, const struct field *of); /* `of` is borrowed */
bool field_iter_next(struct field_iter *iter);
void field_iter_end(struct field_iter *iter); /* always call it */

/* Text: STRING, arrays of text elements (up to the first zero), and integers of over 64 bits. */
bool field_is_text(const struct field *field);
/*
 * Bytes of a text (UTF-8) or blob; copies into *scratch only when they are not whole bytes in the
 * packet, or text of another encoding.
 */
const uint8_t *field_bytes(const struct field *field, struct buf *scratch, size_t *len);

#endif
