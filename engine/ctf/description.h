/*
 * description.h - what CTF metadata says, whichever language it was written in
 *
 * TSDL (1.8), JSON (2) and the 2010 proposal's language all become this. Every use of a type has
 * nodes of its own (see engine/field.h); `ref`s of sequences and variants are resolved to nodes of
 * the same or an earlier scope.
 */
#ifndef ENGINE_CTF_DESCRIPTION_H
#define ENGINE_CTF_DESCRIPTION_H

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/event.h"
#include "engine/field.h"
#include "engine/trace.h"

/*
 * What values are used for: bits of a node's `roles`. CTF 2 states them; CTF 1.8 and before have
 * names for them (ctf_name_roles()).
 */
enum ctf_role {
	ROLE_MAGIC = 1 << 0,
	ROLE_UUID = 1 << 1,
	ROLE_STREAM_ID = 1 << 2,
	ROLE_STREAM_INSTANCE = 1 << 3,
	ROLE_PACKET_SIZE = 1 << 4,
	ROLE_CONTENT_SIZE = 1 << 5,
	ROLE_BEGIN = 1 << 6, /* CTF 2: of an event header, too */
	ROLE_END = 1 << 7,
	ROLE_DISCARDED = 1 << 8,
	ROLE_SEQUENCE = 1 << 9,
	ROLE_CPU = 1 << 10,
	ROLE_EVENT_ID = 1 << 11,
	ROLE_CODING = 1 << 12 /* 2010: what was done to a packet's content */
};

/* Bits that an integer takes: 7 for each byte of a LEB128 (CTF 2, clock value update procedure). */
static inline unsigned integer_bits(const struct field_class *class, const struct slot *slot)
{
	return class->is_variable ? (unsigned)slot->n * 7 : class->bits;
}

struct rfc_key;

struct ctf_event {
	uint64_t id;
	const char *name; /* NULL: not given */
	const char *emf_uri;
	int32_t loglevel; /* -1 none */
	struct field_class *context, *payload; /* structs; NULL none */
};

struct ctf_stream {
	uint64_t id;
	bool has_id;
	const char *name; /* NULL: not given */
	struct field_class *packet_context, *event_header, *event_context; /* structs; NULL none */
	int32_t clock; /* default clock, index into clocks; -1 none */
	struct ctf_event *events;
	size_t nevents;
	uint8_t header_type; /* 2010: 1 or 2; `event_header` is its short form */
	bool numbered;       /* 2010: numbers in names of files are streams', and no CPUs */
	bool lost_at_end;    /* 2010: discarded events are counted to the end of a packet */
	/* 2010: the member of event_context that tells the bytes of a payload; NULL: none */
	struct field_class *payload_size;
};

struct ctf_description {
	uint8_t major, minor;
	bool big_endian;
	uint8_t uuid[16]; /* CTF 2: of the metadata stream */
	bool has_uuid;
	struct full_name full_name;	   /* CTF 2: of the trace class */
	struct field_class *packet_header; /* struct; NULL none */
	struct env_entry *env;
	size_t nenv;
	struct clock *clocks;
	size_t nclocks;
	struct ctf_stream *streams;
	size_t nstreams;
	/* of the 2010 proposal alone */
	bool is_2010;
	bool has_session;
	uint32_t session; /* that packets must have */
	uint32_t word;    /* bits that a 64-bit integer is aligned to; 8: all is packed */
	struct ctf_stream **by_name; /* the streams, which are sections, in order of their names */
	const char *rules;         /* in yore's language, what events do to the state; NULL: none */
	const struct rfc_key *key; /* of encrypted packets; NULL: none was given */
};

/*
 * Gives the members of packet header, packet context and event header whose names CTF 1.8 gives a
 * meaning (5.1, 5.2, 6.1) their roles.
 */
void ctf_name_roles(struct ctf_description *description);

/*
 * The value of the last integer with that role, in order of decoding, that `slots` of a scope have.
 * *bits (NULL: not wanted) is its length; a LEB128's is 7 for each byte. False: there is none.
 */
bool ctf_role_value(const struct field_class *scope, const struct slot *slots, enum ctf_role role,
		    uint64_t *value, unsigned *bits);

/*
 * TSDL text (already unpacked) to a description whose memory is `arena`'s. `name` is the file's,
 * for messages. Errors name line and column. Warnings go to `notices`. Never reads beyond `size`,
 * which is below 2 GB, here and for metadata of other kinds.
 * `strict`: what known tracers are known to write wrong is an error, too.
 */
MUST_CHECK bool tsdl_parse(const char *name, const char *text, size_t size, bool strict,
			   struct arena *arena, const struct notices *notices,
			   struct ctf_description *out, struct error *err);

/*
 * The 36 characters of a UUID (RFC 9562, section 4). False: *bad is the number of the first wrong
 * character, from 1; 0: there are fewer or more.
 */
bool ctf_uuid_parse(const char *text, uint8_t uuid[16], size_t *bad);

/* Is this (already unpacked) a CTF 2 metadata stream? CTF 2, "Metadata stream". */
bool ctf2_is_metadata(const char *text, size_t size);

/*
 * A CTF 2 metadata stream (already unpacked) to a description whose memory is `arena`'s. Errors
 * name the fragment's number and offset, and the place in its JSON. *head (NULL: not wanted) is the
 * offset of the first event record class, `size` without any.
 */
MUST_CHECK bool ctf2_parse(const char *name, const char *text, size_t size, struct arena *arena,
			   const struct notices *notices, struct ctf_description *out, size_t *head,
			   struct error *err);

/*
 * The text of a metadata file, which may be plain or packetized in either byte order; allocated in
 * `arena`, ended by a zero that *size does not count. A packet that is cut off at the end of a
 * growing or damaged file leaves the whole ones before it, with a notice of damage.
 */
MUST_CHECK bool metadata_text(const char *name, const uint8_t *bytes, size_t count,
			      struct arena *arena, const struct notices *notices, char **text,
			      size_t *size, struct error *err);

/* Do the first bytes of a metadata file show that it is of CTF 1.8 or 2? */
bool metadata_is_later(const uint8_t *bytes, size_t count);

/* What is said of the metadata packet at byte `at`. False, and *err: it cannot be read. */
MUST_CHECK bool metadata_refuse(const char *name, size_t at, const char *what, struct error *err);
/* The file ends inside it: refused when it is the first, else the ones before it count. */
MUST_CHECK bool metadata_cut_off(const char *name, size_t at, const struct notices *notices,
				 struct error *err);
void metadata_cut_padding(const char *name, size_t at, const struct notices *notices);

#endif
