/*
 * rfc.h - what sets the proposal of October 2010 ("RFC v1") apart from CTF 1.8
 *
 *     rfc_metadata.c  packets of metadata → text
 *     rfc_parse.c     blocks of the text → sections and events
 *     rfc_type.c      types of the text, with what they inherit
 *     rfc_build.c     types → trees of field classes, struct ctf_description
 *     rfc_packet.c    checksum, cypher and compression of a packet's content
 *
 * Description, layouts, head loops, packets and scans are shared with CTF 1.8. docs/ctf.md lists
 * yore's choices where the proposal leaves something open.
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

/* Parses the RFC_HEADER_BYTES at `bytes`; false: the magic number is missing. */
bool rfc_head_read(const uint8_t *bytes, struct rfc_head *out);

static inline bool rfc_is_coded(const struct rfc_coding *coding)
{
	return coding->compression || coding->encryption || coding->checksum_scheme;
}

struct rfc_key { /* of AES */
	uint8_t bytes[32];
	unsigned size;     /* bytes: 16, 24, 32 */
	uint64_t identity; /* a hash: differs from other keys', and does not reveal the key */
};

/* Reads a key file: 16, 24 or 32 bytes, or the same number of bytes in hexadecimal digits. */
MUST_CHECK bool rfc_key_read(const char *path, struct rfc_key *out, struct error *err);

struct rfc_room { /* buffers for decrypted and decompressed contents; begins as zeros */
	uint8_t *bytes[2];
	size_t capacity[2];
};
void rfc_room_release(struct rfc_room *room);

/*
 * Verifies the checksum of a packet, decrypts and decompresses its content. Its first `content`
 * bytes are at `packet`, of which `head` are its header. *out is the header and the plain content
 * behind it; it lies in `packet`, or in the room until the next call. `key` NULL: the user gave
 * none.
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
 * Joins the texts of all packets to one in the arena, with a newline for the zero that ends each.
 * Sets *session and *big_endian from the packets. If the file ends inside a packet, that packet is
 * left out with a notice of damage; if it is the first one, that is an error.
 */
MUST_CHECK bool rfc_metadata_text(const char *name, const uint8_t *bytes, size_t count,
				  const struct rfc_key *key, struct arena *arena,
				  const struct notices *notices, char **text, size_t *size,
				  uint32_t *session, bool *big_endian, struct error *err);

/*
 * Parses the text to a description that lives in `arena`. The caller has set *out's big_endian,
 * session and key. `name` is the file's, for messages, which name line and column.
 */
MUST_CHECK bool rfc_parse(const char *name, const char *text, size_t size, struct arena *arena,
			  const struct notices *notices, struct ctf_description *out,
			  struct error *err);

/*
 * Finds the section of a file by the file's name (SECTION_CPU or SECTION): *index is its index in
 * the description's streams, *cpu is -1 if the name has no CPU. False: there is no such section.
 */
bool rfc_section_of(const struct ctf_description *description, const char *file, size_t *index,
		    int32_t *cpu);

#endif
