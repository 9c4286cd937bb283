/*
 * description.h - what CTF metadata says, whichever language it was written in
 *
 * The parsers of TSDL (1.8), JSON (2) and the 2010 proposal's language all build a struct
 * ctf_description. Every use of a type has nodes of its own (see engine/field.h); `ref`s of
 * sequences and variants point to nodes of the same or an earlier scope.
 */
#ifndef ENGINE_CTF_DESCRIPTION_H
#define ENGINE_CTF_DESCRIPTION_H

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/event.h"
#include "engine/field.h"
#include "engine/trace.h"

/*
 * Roles of fields: bits of a node's `roles`. CTF 2 metadata states them; in CTF 1.8 and before a
 * field has its role by its name (ctf_name_roles()).
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
	bool numbered;       /* 2010: the number in a file's name is a stream's, not a CPU */
	bool lost_at_end; /* 2010: a packet's count of discarded events is that at its end */
	/* 2010: the member of event_context with the size of the payload in bytes; NULL: none */
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
	uint32_t session;            /* every packet must have this session id */
	uint32_t word;               /* alignment of a 64-bit integer, in bits; 8: all is packed */
	struct ctf_stream **by_name; /* the streams (sections), sorted by name */
	const char *rules;           /* rules of the state, in yore's language; NULL: none */
	const struct rfc_key *key;   /* for encrypted packets; NULL: the user gave none */
};

/*
 * Sets the roles of members of packet header, packet context and event header by their names (CTF
 * 1.8, 5.1, 5.2, 6.1).
 */
void ctf_name_roles(struct ctf_description *description);

/*
 * Finds the integer with that role in a decoded scope (the last one, if several) and returns its
 * value and its length in bits (`bits` may be NULL; 7 for each byte of a LEB128). False: none.
 */
bool ctf_role_value(const struct field_class *scope, const struct slot *slots, enum ctf_role role,
		    uint64_t *value, unsigned *bits);

/*
 * Parses TSDL text (already unpacked) to a description that lives in `arena`. `name` is the file's,
 * for messages. Errors name line and column. Warnings go to `notices`. Never reads beyond `size`,
 * which must be below 2 GB, as in the parsers below.
 * `strict`: the known mistakes of tracers are errors, too.
 */
MUST_CHECK bool tsdl_parse(const char *name, const char *text, size_t size, bool strict,
			   struct arena *arena, const struct notices *notices,
			   struct ctf_description *out, struct error *err);

/*
 * Parses the 36 characters of a UUID (RFC 9562, section 4). False: *bad is the position, from 1, of
 * the first wrong character; 0: the length is wrong.
 */
bool ctf_uuid_parse(const char *text, uint8_t uuid[16], size_t *bad);

/* Is this (already unpacked) a CTF 2 metadata stream? CTF 2, "Metadata stream". */
bool ctf2_is_metadata(const char *text, size_t size);

/*
 * Parses a CTF 2 metadata stream (already unpacked) to a description that lives in `arena`. Errors
 * name the fragment's number and offset, and the place in its JSON. Sets *head (may be NULL) to the
 * offset of the first event record class, or to `size` if there is none.
 */
MUST_CHECK bool ctf2_parse(const char *name, const char *text, size_t size, struct arena *arena,
			   const struct notices *notices, struct ctf_description *out, size_t *head,
			   struct error *err);

/*
 * Returns the text of a metadata file, which may be plain or packetized in either byte order, in
 * `arena`, with a zero behind it that *size does not count. If the file ends inside a packet, the
 * text is that of the packets before it, with a notice of damage.
 */
MUST_CHECK bool metadata_text(const char *name, const uint8_t *bytes, size_t count,
			      struct arena *arena, const struct notices *notices, char **text,
			      size_t *size, struct error *err);

/* Do the first bytes of a metadata file show that it is of CTF 1.8 or 2? */
bool metadata_is_later(const uint8_t *bytes, size_t count);

/* Sets *err to "NAME: metadata packet at byte AT: WHAT"; always false. */
MUST_CHECK bool metadata_refuse(const char *name, size_t at, const char *what, struct error *err);
/* The file ends inside the packet: false and *err if it is the first, else a notice of damage. */
MUST_CHECK bool metadata_cut_off(const char *name, size_t at, const struct notices *notices,
				 struct error *err);
void metadata_cut_padding(const char *name, size_t at, const struct notices *notices);

#endif
