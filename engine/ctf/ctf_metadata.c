/*
 * ctf_metadata.c - the text of a metadata file, plain or cut into packets
 *
 *     OFFSET SIZE MEANING, integers in the byte order that the magic shows
 *     0      4    magic 0x75D11D57
 *     4      16   UUID of the trace
 *     20     4    checksum
 *     24     4    content size in bits, this header included
 *     28     4    packet size in bits
 *     32     1    compression, 0 none
 *     33     1    encryption, 0 none
 *     34     1    scheme of the checksum, 0 none
 *     35     2    version: 1, 8, or 2, 0; the text decides which language it is
 *     37          text, then padding
 *
 * The text is cut at arbitrary bytes: joined first, parsed then.
 *
 * Also the form of a UUID, which is the same in both languages.
 */
#include "engine/ctf/description.h"

#include "engine/base/cursor.h"

#include <inttypes.h>
#include <string.h>

enum { HEADER_BYTES = 37 };
static const uint32_t MAGIC = 0x75d11d57;

struct packet_header {
	const uint8_t *uuid;
	uint32_t content, packet; /* bytes */
};

struct metadata {
	const char *name;
	const uint8_t *bytes;
	size_t count;
	bool big_endian;
	const struct notices *notices;
	struct error *err;
};

bool metadata_refuse(const char *name, size_t at, const char *what, struct error *err)
{
	return error_set(err, ERR_FORMAT, "%s: metadata packet at byte %zu: %s", name, at, what);
}

static bool ctf_metadata_refuse(const struct metadata *m, size_t at, const char *what)
{
	return metadata_refuse(m->name, at, what, m->err);
}

static bool read_header(const struct metadata *m, size_t at, struct packet_header *out)
{
	struct cursor in = cursor_over(m->bytes + at, m->count - at);
	uint32_t (*u32)(struct cursor *) = m->big_endian ? cursor_u32be : cursor_u32le;
	uint32_t magic = u32(&in);

	out->uuid = cursor_bytes(&in, 16);
	u32(&in);
	uint32_t content = u32(&in), packet = u32(&in);
	uint8_t compression = cursor_u8(&in), encryption = cursor_u8(&in), scheme = cursor_u8(&in);
	uint8_t major = cursor_u8(&in), minor = cursor_u8(&in);
	if (in.failed)
		return ctf_metadata_refuse(m, at, "its header is cut short");
	if (magic != MAGIC)
		return ctf_metadata_refuse(m, at, "its magic number is wrong");
	if ((major != 1 || minor != 8) && (major != 2 || minor != 0))
		return ctf_metadata_refuse(m, at, "its version is neither 1.8 nor 2.0");
	if (content > packet || content < HEADER_BYTES * 8 || content % 8 || packet % 8)
		return ctf_metadata_refuse(m, at, "its sizes are wrong");
	if (compression || encryption || scheme)
		return ctf_metadata_refuse(
			m, at,
			"it is compressed, encrypted or has a checksum, none of which "
			"is supported");
	out->content = content / 8;
	out->packet = packet / 8;
	return true;
}

bool metadata_cut_off(const char *name, size_t at, const struct notices *notices, struct error *err)
{
	if (!at)
		return metadata_refuse(name, at, "the file ends inside it", err);
	notice(notices, NOTICE_DAMAGE,
	       "%s: the file ends inside the metadata packet at byte %zu, which is left out", name,
	       at);
	return true;
}

void metadata_cut_padding(const char *name, size_t at, const struct notices *notices)
{
	notice(notices, NOTICE_DAMAGE,
	       "%s: the file ends inside the padding of the metadata packet at byte %zu", name, at);
}

static bool join_packets(const struct metadata *m, char *text, size_t *size)
{
	struct packet_header first = {0}, header = {0};

	for (size_t at = 0; at < m->count; at += header.packet) {
		size_t left = m->count - at;
		if (left < HEADER_BYTES)
			return metadata_cut_off(m->name, at, m->notices, m->err);
		if (!read_header(m, at, &header))
			return false;
		if (!at)
			first = header;
		if (memcmp(header.uuid, first.uuid, 16) != 0)
			return ctf_metadata_refuse(m, at,
						   "its UUID differs from the first packet's");
		if (header.content > left)
			return metadata_cut_off(m->name, at, m->notices, m->err);
		memcpy(text + *size, m->bytes + at + HEADER_BYTES, header.content - HEADER_BYTES);
		*size += header.content - HEADER_BYTES;
		if (header.packet > left) {
			metadata_cut_padding(m->name, at, m->notices);
			break;
		}
	}
	return true;
}

static const char magic_comment[] = "/* CTF ";

static bool is_packet(const uint8_t *bytes, size_t count)
{
	return count >= 4 && (load_le(bytes, 4) == MAGIC || load_be(bytes, 4) == MAGIC);
}

static bool has_magic_comment(const uint8_t *bytes, size_t count)
{
	size_t len = sizeof magic_comment - 1;

	return count >= len && !memcmp(bytes, magic_comment, len);
}

bool metadata_is_later(const uint8_t *bytes, size_t count)
{
	return is_packet(bytes, count) || has_magic_comment(bytes, count) ||
	       ctf2_is_metadata((const char *)bytes, count);
}

bool metadata_text(const char *name, const uint8_t *bytes, size_t count, struct arena *arena,
		   const struct notices *notices, char **text, size_t *size, struct error *err)
{
	struct metadata m = {name, bytes, count, false, notices, err};

	*size = 0;
	if (is_packet(bytes, count)) {
		m.big_endian = load_be(bytes, 4) == MAGIC;
		*text = arena_alloc(arena, count + 1);
		return join_packets(&m, *text, size);
	}
	if (!metadata_is_later(bytes, count))
		notice(notices, NOTICE_WARNING, "%s: does not begin with \"%s1.8\"", name,
		       magic_comment);
	*text = count ? arena_strndup(arena, (const char *)bytes, count) : arena_alloc(arena, 1);
	*size = count;
	return true;
}

bool ctf_uuid_parse(const char *text, uint8_t uuid[16], size_t *bad)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	unsigned nibbles = 0;

	*bad = 0;
	if (strlen(text) != sizeof form - 1)
		return false;
	for (size_t i = 0; i < sizeof form - 1; i++) {
		int digit = hex_digit(text[i]);
		*bad = i + 1;
		if (form[i] == '-' ? text[i] != '-' : digit < 0)
			return false;
		if (form[i] == '-')
			continue;
		uuid[nibbles / 2] = (uint8_t)(uuid[nibbles / 2] << 4 | digit);
		nibbles++;
	}
	return true;
}
