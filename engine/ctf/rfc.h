/*
 * rfc.h - what sets the proposal of October 2010 ("RFC v1") apart from CTF 1.8
 *
 *     rfc_metadata.c  packets of metadata → text
 *     rfc_parse.c     blocks of the text → sections and events
 *     rfc_type.c      types of the text, with what they inherit
 *     rfc_build.c     types → trees of field classes, struct ctf_description
 *     rfc_packet.c    checksum, cypher and compression of a packet's content
 *
 * The description, layouts, head loops, packets and scans are those of CTF 1.8. docs/ctf.md has
 * what the proposal leaves open and yore decided.
 */
#ifndef ENGINE_CTF_RFC_H
#define ENGINE_CTF_RFC_H

#include "engine/base/arena.h"
#include "engine/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctf_description;

/*
 * The header of every packet (proposal, 5): fixed, natural alignment and packed agree.
 *
 *     OFFSET SIZE MEANING, integers in the byte order that the magic shows
 *     0      4    magic 0xC1FC1FC1
 *     4      4    session id, the same in all packets and the metadata
 *     8      4    content size in bytes, this header included, as it is stored
 *     12     4    packet size in bytes, padding included
 *     16     4    checksum: the first 4 bytes of the digest, as a big-endian number
 *     20     4    sequence number
 *     24     8    begin, cycles
 *     32     8    end, cycles
 *     40     4    events that were discarded before the packet's first one, running
 *     44     1    significant bits of the sequence number; 0 and above 32 mean 32
 *     45     1    compression: 0 none, 1 bzip2, 2 gzip
 *     46     1    encryption: 0 none, 1 AES
 *     47     1    scheme of the checksum: 0 none, 1 md5, 2 sha1
 */
enum { RFC_HEADER_BYTES = 48 };

struct rfc_coding { /* what was done to a packet's content */
	uint32_t checksum;
	uint8_t compression, encryption, checksum_scheme;
};

struct rfc_head {
	bool big_endian;
	uint32_t session, content, packet; /* bytes */
	uint8_t sequence_bits;             /* 1..32 */
	struct rfc_coding coding;
};

/* Of the RFC_HEADER_BYTES at `bytes`; false: they have not the magic number. */
bool rfc_head_read(const uint8_t *bytes, struct rfc_head *out);

static inline bool rfc_is_coded(const struct rfc_coding *coding)
{
	return coding->compression || coding->encryption || coding->checksum_scheme;
}

struct rfc_key { /* of AES */
	uint8_t bytes[32];
	unsigned size;     /* bytes: 16, 24, 32 */
	uint64_t identity; /* tells it from other keys, and does not tell the key */
};

/* A key file: 16, 24 or 32 bytes, or as many in hexadecimal digits. */
MUST_CHECK bool rfc_key_read(const char *path, struct rfc_key *out, struct error *err);

struct rfc_room { /* where contents are decoded to; zeros at first */
	uint8_t *bytes[2];
	size_t capacity[2];
};
void rfc_room_release(struct rfc_room *room);

/*
 * The packet whose first `content` bytes are at `packet`, `head` of them its header, as it was
 * before its content was compressed, encrypted and summed up, in this order: the header, then the
 * plain content. *out lives in `packet` or the room until the next call. `key` NULL: none was
 * given.
 */
MUST_CHECK bool rfc_packet_plain(const struct rfc_coding *coding, const struct rfc_key *key,
				 const uint8_t *packet, size_t head, size_t content,
				 struct rfc_room *room, const uint8_t **out, size_t *size,
				 struct error *err);

/* Does a metadata file begin with a packet of the proposal? */
bool rfc_is_packet(const uint8_t *bytes, size_t count);
/* Is this text of the proposal's language: does it have a block `section {`? */
bool rfc_is_text(const char *text, size_t size);

/*
 * Joins the texts of all packets, with a newline for the zero that ends each. *session and
 * *big_endian are those of the packets. The text is the arena's. A packet that the end of the file
 * cuts off is left out, with a notice of damage, unless it is the first.
 */
MUST_CHECK bool rfc_metadata_text(const char *name, const uint8_t *bytes, size_t count,
				  const struct rfc_key *key, struct arena *arena,
				  const struct notices *notices, char **text, size_t *size,
				  uint32_t *session, bool *big_endian, struct error *err);

/*
 * The text to a description whose memory is `arena`'s; *out has big_endian, session and key
 * already. `name` is the file's, for messages, which name line and column.
 */
MUST_CHECK bool rfc_parse(const char *name, const char *text, size_t size, struct arena *arena,
			  const struct notices *notices, struct ctf_description *out,
			  struct error *err);

/*
 * The section that a file holds by its name (SECTION_CPU or SECTION), as an index into the
 * description's streams; *cpu is -1 where the name has none. False: there is no such section.
 */
bool rfc_section_of(const struct ctf_description *description, const char *file, size_t *index,
		    int32_t *cpu);

#endif
