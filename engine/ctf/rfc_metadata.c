/*
 * rfc_metadata.c - the text of a metadata file of the 2010 proposal
 *
 * The section `metadata` has packets as all sections do; their events are texts, each ended by a
 * zero, without header, context or padding between them (proposal, 7). The texts are pieces of one:
 * joined first, parsed then. Bare text without packets is read too.
 */
#include "engine/ctf/rfc.h"

#include "engine/base/buf.h"
#include "engine/base/cursor.h"
#include "engine/ctf/ctf_internal.h"

#include <string.h>

bool rfc_is_packet(const uint8_t *bytes, size_t count)
{
	return count >= 4 && (load_be(bytes, 4) == CTF_MAGIC || load_le(bytes, 4) == CTF_MAGIC);
}

struct rfc_text {
	const char *name;
	const uint8_t *bytes;
	size_t count;
	const struct rfc_key *key;
	const struct notices *notices;
	struct error *err;
};

static bool rfc_metadata_read_head(const struct rfc_text *m, size_t at,
				   const struct rfc_head *first, struct rfc_head *out)
{
	const char *wrong = NULL;

	if (!rfc_head_read(m->bytes + at, out))
		wrong = "its magic number is wrong";
	else if (at && out->big_endian != first->big_endian)
		wrong = "its byte order differs from the first packet's";
	else if (at && out->session != first->session)
		wrong = "its session id differs from the first packet's";
	else if (out->content < RFC_HEADER_BYTES || out->content > out->packet)
		wrong = "its sizes are wrong";
	return !wrong || metadata_refuse(m->name, at, wrong, m->err);
}

static bool rfc_metadata_add_text(const struct rfc_text *m, size_t at, const struct rfc_head *head,
				  struct rfc_room *room, struct buf *text)
{
	const uint8_t *plain;
	size_t size, begin = text->len;

	if (!rfc_packet_plain(&head->coding, m->key, m->bytes + at, RFC_HEADER_BYTES, head->content,
			      room, &plain, &size, m->err))
		return error_while(m->err, "%s: metadata packet at byte %zu", m->name, at);
	buf_add(text, plain + RFC_HEADER_BYTES, size - RFC_HEADER_BYTES);
	for (size_t i = begin; i < text->len; i++)
		if (!text->data[i])
			text->data[i] = '\n';
	return true;
}

static bool join_packets(const struct rfc_text *m, struct rfc_head *first, struct rfc_room *room,
			 struct buf *text)
{
	struct rfc_head head;

	for (size_t at = 0; at < m->count; at += head.packet) {
		size_t left = m->count - at;
		if (left < RFC_HEADER_BYTES)
			return metadata_cut_off(m->name, at, m->notices, m->err);
		if (!rfc_metadata_read_head(m, at, first, &head))
			return false;
		if (!at)
			*first = head;
		if (head.content > left)
			return metadata_cut_off(m->name, at, m->notices, m->err);
		if (!rfc_metadata_add_text(m, at, &head, room, text))
			return false;
		if (head.packet <= left)
			continue;
		metadata_cut_padding(m->name, at, m->notices);
		break;
	}
	return true;
}

bool rfc_metadata_text(const char *name, const uint8_t *bytes, size_t count,
		       const struct rfc_key *key, struct arena *arena,
		       const struct notices *notices, char **text, size_t *size, uint32_t *session,
		       bool *big_endian, struct error *err)
{
	const struct rfc_text m = {name, bytes, count, key, notices, err};
	struct rfc_room room = {0};
	struct rfc_head first = {0};
	struct buf joined = {0};
	bool ok = join_packets(&m, &first, &room, &joined);

	if (ok) {
		*text = arena_strndup(arena, buf_text(&joined), joined.len);
		*size = joined.len;
		*session = first.session;
		*big_endian = first.big_endian;
	}
	buf_release(&joined);
	rfc_room_release(&room);
	return ok;
}
