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

/* The slots of event i; NULL: its values were not decoded with its head. */
static inline const struct slot *batch_slots(const struct batch *batch, uint32_t i)
{
	return batch->slots && batch->slot[i] != BATCH_NO_VALUES ? batch->slots + batch->slot[i]
								 : NULL;
}

struct fields {
	const struct event_class *class;
	const uint8_t *data; /* positions count from here */
	uint64_t bits;	     /* readable from there */
	const struct slot *packet_header, *packet_context; /* NULL where there is none */
	const struct slot *slots; /* the event's own scopes, at class->slot_base[scope] */
	uint64_t *registers;	  /* values that lengths and tags refer to */
	/* the fields whose `data` has the packet's scopes; NULL: it is this `data` */
	const struct fields *packet;
	uint32_t unread; /* bytes at the record's end that yore does not know how to decode */
};

struct field {
	const struct field_class *class;
	const struct fields *in;
	struct slot slot;	  /* of a STRUCT: unused */
	const struct slot *inside; /* the slots of its scope or element, its members' among them */
};

/*
 * Makes *out a view of the node `class` among `inside`, the slots of its scope or element. A struct
 * has no slot of its own: its members have theirs in `inside`.
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

/* Where a field is in all events of one class: found once, used for each event. */
struct field_path {
	enum scope scope;
	uint32_t slot;                   /* index into the slots of its scope */
	const struct field_class *class; /* NULL: not found */
};

/*
 * Finds a field by `names`, n of them: a member, a member of that member, and so on. Searches the
 * scopes whose bit (1 << scope) is set: payload first, then event context, stream event context
 * (also by field_context_name()), packet context and header. False: not found, or it is inside an
 * array or variant, where only fields_get() finds it.
 */
bool field_path_find(const struct event_class *class, unsigned scopes, const char *const *names,
		     size_t n, struct field_path *out);
/* The same for one name and an integer field. False: there is none; out->class is then NULL. */
bool field_path_find_int(const struct event_class *class, unsigned scopes, const char *name,
			 struct field_path *out);

/* The name without its subsystem: "sched_switch" of "sched:sched_switch". Borrowed from `name`. */
static inline const char *event_bare_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

/* The fields with the IDs of an event's thread and process; class NULL: the class has no such. */
struct event_thread {
	struct field_path tid, pid; /* integers */
	const char *name;           /* name of the field `tid`; NULL: there is none */
};
/*
 * Looks for LTTng's contexts (tid and pid, else vtid and vpid), then the fields of perf's samples,
 * of perf's samples in CTF (perf_tid), and the common_pid of Linux tracepoints.
 */
struct event_thread event_thread_of(const struct event_class *class);
void fields_at(const struct fields *fields, const struct field_path *path, struct field *out);
/* The value of an integer field; `none` where path->class is NULL. */
int64_t fields_number(const struct fields *fields, const struct field_path *path, int64_t none);

/*
 * As field_path_find() and fields_at(), for one event: also finds fields in the selected option of
 * a variant, and array elements (by a decimal number as name). False: this event has none.
 */
bool fields_get(const struct fields *fields, unsigned scopes, const char *const *names, size_t n,
		struct field *out);

/* Iterates over the members of a struct, elements of an array, or the one option of a variant. */
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
