/*
 * rfc_packet.c - verifies, decrypts and decompresses the content of a packet of the 2010 proposal
 *
 * A writer compresses, then encrypts, then sums up (proposal, 5); so the checksum is compared
 * first. The proposal names AES, but no mode. yore reads AES-GCM, which detects a wrong key and a
 * changed byte for certain:
 *
 *     12 bytes of nonce, what was encrypted, 16 bytes of tag; no additional data
 */
#include "engine/ctf/rfc.h"

#include "engine/base/cursor.h"
#include "engine/base/expansion.h"
#include "engine/base/mem.h"
#include "engine/base/source.h"
#include "engine/ctf/ctf_internal.h"

#include <bzlib.h>
#include <nettle/memops.h>
#include <nettle/nettle-meta.h>
#include <string.h>
#include <zlib.h>

enum { COMPRESSION_BZIP2 = 1, COMPRESSION_GZIP = 2, ENCRYPTION_AES = 1 };
enum { SUM_MD5 = 1, SUM_SHA1 = 2 };
enum { NONCE_BYTES = 12, TAG_BYTES = 16, FIRST_ROOM = 64 << 10, KEY_FILE_MAX = 4096 };

bool rfc_head_read(const uint8_t *bytes, struct rfc_head *out)
{
	bool big_endian = load_be(bytes, 4) == CTF_MAGIC;
	struct cursor in = cursor_over(bytes, RFC_HEADER_BYTES);

	if (!big_endian && load_le(bytes, 4) != CTF_MAGIC)
		return false;
	*out = (struct rfc_head){.big_endian = big_endian};
	cursor_bytes(&in, 4);
	out->session = (uint32_t)cursor_number(&in, 4, big_endian);
	out->content = (uint32_t)cursor_number(&in, 4, big_endian);
	out->packet = (uint32_t)cursor_number(&in, 4, big_endian);
	out->coding.checksum = (uint32_t)cursor_number(&in, 4, big_endian);
	cursor_bytes(&in, 24);
	out->sequence_bits = cursor_u8(&in);
	if (!out->sequence_bits || out->sequence_bits > 32)
		out->sequence_bits = 32;
	out->coding.compression = cursor_u8(&in);
	out->coding.encryption = cursor_u8(&in);
	out->coding.checksum_scheme = cursor_u8(&in);
	return true;
}

static bool is_key_size(size_t size)
{
	return size == 16 || size == 24 || size == 32;
}

/* Hexadecimal digits, with a newline behind them. */
static bool key_from_digits(const uint8_t *text, size_t count, struct rfc_key *out)
{
	while (count && (text[count - 1] == '\n' || text[count - 1] == '\r'))
		count--;
	if (count % 2 || !is_key_size(count / 2))
		return false;
	for (size_t i = 0; i < count; i += 2) {
		int high = hex_digit((char)text[i]), low = hex_digit((char)text[i + 1]);
		if (high < 0 || low < 0)
			return false;
		out->bytes[i / 2] = (uint8_t)(high << 4 | low);
	}
	out->size = (unsigned)(count / 2);
	return true;
}

/* The first `nout` bytes of the digest, which has as many. */
static void digest_of(const struct nettle_hash *hash, const uint8_t *bytes, size_t size,
		      uint8_t *out, size_t nout)
{
	void *context = mem_new(hash->context_size);

	hash->init(context);
	hash->update(context, size, bytes);
	hash->digest(context, nout, out);
	mem_free(context);
}

static void identify_key(struct rfc_key *key)
{
	uint8_t digest[8];

	digest_of(&nettle_sha256, key->bytes, key->size, digest, sizeof digest);
	key->identity = load_be(digest, sizeof digest);
}

bool rfc_key_read(const char *path, struct rfc_key *out, struct error *err)
{
	struct source *source;
	struct block block;
	bool ok = false;

	if (!source_open(path, SOURCE_READ, &source, err))
		return false;
	uint64_t size = source_size(source);
	if (size > KEY_FILE_MAX)
		size = KEY_FILE_MAX; /* no key is as long */
	if (source_get(source, 0, (size_t)size, &block, err)) {
		ok = key_from_digits(block.data, block.size, out);
		if (!ok && is_key_size(block.size)) {
			memcpy(out->bytes, block.data, block.size);
			out->size = (unsigned)block.size;
			ok = true;
		}
		if (ok)
			identify_key(out);
		else
			error_set(err, ERR_FORMAT,
				  "%s: no key of AES: want 16, 24 or 32 bytes, or as many in "
				  "hexadecimal digits",
				  path);
		source_put(&block);
	}
	source_close(source);
	return ok;
}

void rfc_room_release(struct rfc_room *room)
{
	for (int i = 0; i < 2; i++)
		mem_free(room->bytes[i]);
	*room = (struct rfc_room){0};
}

static uint8_t *room_for(struct rfc_room *room, int which, size_t size)
{
	if (size > room->capacity[which]) {
		room->bytes[which] = mem_resize(room->bytes[which], size, 1);
		room->capacity[which] = size;
	}
	return room->bytes[which];
}

/* The digest of the stored content; its first four bytes must be the header's number. */
static bool check_sum(const struct rfc_coding *coding, const uint8_t *content, size_t size,
		      struct error *err)
{
	const struct nettle_hash *scheme = coding->checksum_scheme == SUM_MD5    ? &nettle_md5
					   : coding->checksum_scheme == SUM_SHA1 ? &nettle_sha1
										 : NULL;
	uint8_t digest[4];

	if (!coding->checksum_scheme)
		return true;
	if (!scheme)
		return error_set(err, ERR_FORMAT, "checksum scheme %u is not known",
				 coding->checksum_scheme);
	digest_of(scheme, content, size, digest, sizeof digest);
	uint32_t sum = (uint32_t)load_be(digest, sizeof digest);
	if (sum == coding->checksum)
		return true;
	return error_set(err, ERR_FORMAT, "its content has the checksum 0x%08x, its header 0x%08x",
			 sum, coding->checksum);
}

/* False: the tag is not that of these bytes and this key. */
static bool open_sealed(const struct rfc_key *key, const uint8_t *sealed, size_t size, uint8_t *out)
{
	const struct nettle_aead *cipher = key->size == 16   ? &nettle_gcm_aes128
					   : key->size == 24 ? &nettle_gcm_aes192
							     : &nettle_gcm_aes256;
	void *context = mem_new(cipher->context_size);
	uint8_t tag[TAG_BYTES];

	cipher->set_decrypt_key(context, key->bytes);
	cipher->set_nonce(context, sealed);
	cipher->decrypt(context, size, out, sealed + NONCE_BYTES);
	cipher->digest(context, sizeof tag, tag);
	mem_free(context);
	return memeql_sec(tag, sealed + NONCE_BYTES + size, sizeof tag);
}

/* Replaces *content by the decrypted bytes, in the room behind space for the header. */
static bool decrypt(const struct rfc_coding *coding, const struct rfc_key *key, size_t head,
		    struct rfc_room *room, const uint8_t **content, size_t *size, struct error *err)
{
	if (!coding->encryption)
		return true;
	if (coding->encryption != ENCRYPTION_AES)
		return error_set(err, ERR_FORMAT, "encryption scheme %u is not known",
				 coding->encryption);
	if (!key)
		return error_set(err, ERR_FORMAT, "it is encrypted: --key-file gives its key");
	if (*size < NONCE_BYTES + TAG_BYTES)
		return error_set(err, ERR_FORMAT, "%zu bytes are no content that AES-GCM encrypted",
				 *size);
	size_t plain = *size - NONCE_BYTES - TAG_BYTES;
	uint8_t *out = room_for(room, 0, head + plain) + head;

	if (!open_sealed(key, *content, plain, out))
		return error_set(err, ERR_FORMAT,
				 "it does not decrypt: the key is another one, or bytes changed");
	*content = out;
	*size = plain;
	return true;
}

struct expansion { /* one stream of compressed bytes, all of a content */
	const uint8_t *in;
	size_t size;
	struct rfc_room *room;
	size_t head;  /* bytes of the place for the header */
	size_t plain; /* bytes so far, behind it */
	struct error *err;
};

/* Doubles the room for plain bytes; false: an implausible size. */
static bool expansion_grow(struct expansion *e, uint8_t **next, unsigned *more)
{
	size_t had = e->room->capacity[1];
	size_t want = had < e->head + FIRST_ROOM ? e->head + FIRST_ROOM : had;

	if (e->head + e->plain == had)
		want = had * 2;
	if (!expansion_fits(e->size, e->plain))
		return error_set(e->err, ERR_FORMAT,
				 "over %zu bytes come out of %zu: more than any recording",
				 e->plain, e->size);
	uint8_t *bytes = room_for(e->room, 1, want);
	size_t left = want - e->head - e->plain;
	*more = left < INT32_MAX ? (unsigned)left : INT32_MAX;
	*next = bytes + e->head + e->plain;
	return true;
}

static bool expand_gzip(struct expansion *e)
{
	z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)e->in, .avail_in = (uInt)e->size};
	enum { GZIP_ONLY = 16 + MAX_WBITS };
	int code = inflateInit2(&z, GZIP_ONLY);
	unsigned more;

	if (code != Z_OK)
		return error_set(e->err, ERR_FORMAT, "zlib cannot begin");
	while (code == Z_OK) {
		if (!expansion_grow(e, &z.next_out, &more)) {
			inflateEnd(&z);
			return false;
		}
		z.avail_out = more;
		code = inflate(&z, Z_NO_FLUSH);
		e->plain += more - z.avail_out;
	}
	bool whole = code == Z_STREAM_END && !z.avail_in;
	if (!whole)
		error_set(e->err, ERR_FORMAT, "gzip: %s",
			  code == Z_STREAM_END ? "bytes behind the end"
			  : z.msg              ? z.msg
					       : "the data ends too soon");
	inflateEnd(&z);
	return whole;
}

static bool expand_bzip2(struct expansion *e)
{
	bz_stream bz = {.next_in = (char *)(uintptr_t)e->in, .avail_in = (unsigned)e->size};
	int code = BZ2_bzDecompressInit(&bz, 0, 0);
	unsigned more;
	uint8_t *next;

	if (code != BZ_OK)
		return error_set(e->err, ERR_FORMAT, "libbz2 cannot begin");
	while (code == BZ_OK) {
		if (!expansion_grow(e, &next, &more)) {
			BZ2_bzDecompressEnd(&bz);
			return false;
		}
		bz.next_out = (char *)next;
		bz.avail_out = more;
		code = BZ2_bzDecompress(&bz);
		e->plain += more - bz.avail_out;
		if (code == BZ_OK && bz.avail_out && !bz.avail_in)
			code = BZ_UNEXPECTED_EOF;
	}
	bool whole = code == BZ_STREAM_END && !bz.avail_in;
	if (code == BZ_UNEXPECTED_EOF)
		error_set(e->err, ERR_FORMAT, "bzip2: the data ends too soon");
	else if (!whole)
		error_set(e->err, ERR_FORMAT,
			  code == BZ_STREAM_END ? "bzip2: bytes behind the end"
						: "bzip2: the data is damaged");
	BZ2_bzDecompressEnd(&bz);
	return whole;
}

static bool expand(const struct rfc_coding *coding, size_t head, struct rfc_room *room,
		   const uint8_t **content, size_t *size, struct error *err)
{
	struct expansion e = {
		.in = *content, .size = *size, .room = room, .head = head, .err = err};
	bool good;

	if (!coding->compression)
		return true;
	if (coding->compression == COMPRESSION_GZIP)
		good = expand_gzip(&e);
	else if (coding->compression == COMPRESSION_BZIP2)
		good = expand_bzip2(&e);
	else
		good = error_set(err, ERR_FORMAT, "compression scheme %u is not known",
				 coding->compression);
	if (!good)
		return false;
	*content = room->bytes[1] + head;
	*size = e.plain;
	return true;
}

bool rfc_packet_plain(const struct rfc_coding *coding, const struct rfc_key *key,
		      const uint8_t *packet, size_t head, size_t content, struct rfc_room *room,
		      const uint8_t **out, size_t *size, struct error *err)
{
	const uint8_t *inner = packet + head;
	size_t n = content - head;

	if (!check_sum(coding, inner, n, err) ||
	    (n && (!decrypt(coding, key, head, room, &inner, &n, err) ||
		   !expand(coding, head, room, &inner, &n, err))))
		return false;
	*out = inner - head;
	*size = head + n;
	for (int i = 0; i < 2; i++)
		if (*out == room->bytes[i] && *out)
			memcpy(room->bytes[i], packet, head);
	return true;
}
