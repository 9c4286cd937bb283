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
#include "engine/field.h"
#include "engine/trace.h"

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
};

struct ctf_description {
	uint8_t major, minor;
	bool big_endian;
	uint8_t uuid[16];
	bool has_uuid;
	struct field_class *packet_header; /* struct; NULL none */
	struct env_entry *env;
	size_t nenv;
	struct clock *clocks;
	size_t nclocks;
	struct ctf_stream *streams;
	size_t nstreams;
};

/*
 * TSDL text (already unpacked) to a description whose memory is `arena`'s. `name` is the file's,
 * for messages. Errors name line and column. Warnings go to `notices`. Never reads beyond `size`.
 * `strict`: what known tracers are known to write wrong is an error, too.
 */
bool tsdl_parse(const char *name, const char *text, size_t size, bool strict, struct arena *arena,
		const struct notices *notices, struct ctf_description *out, struct error *err);

/*
 * The text of a metadata file, which may be plain or packetized in either byte order; allocated in
 * `arena`, ended by a zero that *size does not count. A packet that is cut off at the end of a
 * growing or damaged file leaves the whole ones before it, with a notice of damage.
 */
bool metadata_text(const char *name, const uint8_t *bytes, size_t count, struct arena *arena,
		   const struct notices *notices, char **text, size_t *size, struct error *err);

#endif
