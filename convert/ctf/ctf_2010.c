/*
 * ctf_2010.c - sections and packets of the 2010 proposal
 *
 * A file is a stream of a section. If the source's own files are named SECTION_CPU they keep their
 * names; else file names have the source's stream numbers, the metadata says that these are no CPUs
 * (`cpu = none`), and packet contexts have the CPU.
 *
 *     48 bytes of header (engine/ctf/rfc.h), the section's own members of the packet's context,
 *     then the content: compressed, summed up as it is stored; zeros up to a multiple of 4096 bytes
 *
 * An event header is of type 2: 32 bits of time and 16 of class. If either needs more, the class is
 * 65535, and 64 bits of time and 32 of class follow.
 */
#include "convert/ctf/ctf_internal.h"

#include "engine/base/mem.h"

#include <bzlib.h>
#include <nettle/nettle-meta.h>
#include <stdio.h>
#include <string.h>

#define MAGIC UINT32_C(0xc1fc1fc1)
enum { HEADER_BYTES = 48, PAGE = 4096, LONG_ID = 65535, TEXT_BYTES = 64 << 10 };
enum { SCHEME_BZIP2 = 1, SCHEME_GZIP = 2, SCHEME_MD5 = 1, SCHEME_SHA1 = 2 };

/* ---- names ---- */

/*
 * Is the stream's file named SECTION_CPU, in the spelling of this writer? *len: length of SECTION.
 */
static bool is_of_cpu(const struct stream *stream, size_t *len)
{
	const char *base = ctf_base_of(stream->name), *last = strrchr(base, '_');
	struct buf plain = {0};
	char number[16];

	if (!ctf_is_path(stream) || stream->cpu < 0 || !last || last == base)
		return false;
	snprintf(number, sizeof number, "%d", stream->cpu);
	*len = (size_t)(last - base);
	ctf_add_plain(&plain, base);
	bool same = !strcmp(last + 1, number) && !strcmp(buf_text(&plain), base);
	buf_release(&plain);
	return same;
}

/* Readers order streams by file name: files keep their names only if that is the source's order. */
void ctf_2010_number_files(struct ctf_writer *writer)
{
	const struct trace *trace = writer->of.options.trace;
	const char **last = mem_new_array(trace->nparts + 1, sizeof *last);

	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		struct ctf_folder *folder = &writer->folders[stream->part];
		const char *base = ctf_base_of(stream->name), *before = last[stream->part];
		size_t len;
		folder->numbered |=
			!is_of_cpu(stream, &len) || (before && strverscmp(before, base) >= 0);
		last[stream->part] = base;
	}
	mem_free(last);
}

void ctf_2010_section(const struct ctf_folder *folder, const struct stream *stream,
		      struct buf *section, int64_t *number)
{
	const char *format = folder->part->reader->format;
	struct buf name = {0};
	size_t len;

	bool state = stream == &folder->writer->state_stream;
	*number = !folder->numbered ? -1 : state ? 0 : (int64_t)stream->index + 1;
	if (!folder->numbered && is_of_cpu(stream, &len)) {
		buf_add(&name, ctf_base_of(stream->name), len);
		*number = stream->cpu;
	} else {
		buf_add_text(&name, *stream->section ? stream->section : format);
	}
	ctf_add_plain(section, buf_text(&name));
	buf_release(&name);
}

/* ---- packets ---- */

static bool make_bzip2(const char *from, size_t size, struct buf *out, struct error *err)
{
	size_t bound = size + size / 100 + 600; /* bzip2's manual, 3.5.1 */
	unsigned made = bound <= UINT32_MAX ? (unsigned)bound : 0;
	enum { BLOCKS = 9 };

	char *to = buf_room(out, bound);
	if (BZ2_bzBuffToBuffCompress(to, &made, (char *)(uintptr_t)from, (unsigned)size, BLOCKS, 0,
				     0) != BZ_OK)
		return error_set(err, ERR_IO, "libbz2 cannot compress %zu bytes", size);
	out->len += made;
	return true;
}

/* Compresses all behind the first `head` bytes, in place. *number: the scheme, 0 none. */
static bool compress_content(const char *scheme, struct buf *packet, size_t head, uint8_t *number,
			     struct error *err)
{
	bool gzip = scheme && strcmp(scheme, "gzip") == 0;
	struct buf made = {0};

	*number = 0;
	if (!scheme || packet->len == head) /* nothing compresses to nothing */
		return true;
	*number = gzip ? SCHEME_GZIP : SCHEME_BZIP2;
	bool ok =
		(gzip ? out_gzip : make_bzip2)(packet->data + head, packet->len - head, &made, err);
	packet->len = head;
	if (ok)
		buf_add(packet, made.data, made.len);
	buf_release(&made);
	return ok;
}

/* The first four bytes of the digest, as a big-endian number. */
static uint32_t sum_content(const char *scheme, const struct buf *packet, size_t head,
			    uint8_t *number)
{
	bool md5 = scheme && strcmp(scheme, "md5") == 0;
	const struct nettle_hash *hash = md5 ? &nettle_md5 : &nettle_sha1;
	uint8_t digest[4];

	*number = !scheme ? 0 : md5 ? SCHEME_MD5 : SCHEME_SHA1;
	if (!scheme)
		return 0;
	void *context = mem_new(hash->context_size);
	hash->init(context);
	hash->update(context, packet->len - head, (const uint8_t *)packet->data + head);
	hash->digest(context, sizeof digest, digest);
	mem_free(context);
	return (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 |
	       digest[3];
}

struct packet_2010 { /* header values that seal_packet() cannot compute */
	uint64_t sequence, begin, end, discarded;
};

static void put_le(uint8_t **to, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*(*to)++ = (uint8_t)(value >> 8 * i);
}

/*
 * Compresses and sums the content behind the first `head` bytes, and fills in the header before it.
 */
static bool seal_packet(const struct ctf_folder *folder, struct buf *packet, size_t head,
			const struct packet_2010 *says, struct error *err)
{
	const struct convert_options *options = &folder->writer->of.options;
	uint32_t session = (uint32_t)folder->uuid[0] << 24 | (uint32_t)folder->uuid[1] << 16 |
			   (uint32_t)folder->uuid[2] << 8 | folder->uuid[3];
	uint8_t compression, checksum;

	if (packet->len > UINT32_MAX - PAGE)
		return error_set(err, ERR_FORMAT, "a packet of %zu bytes: its size has 32 bits",
				 packet->len);
	if (!compress_content(options->compression, packet, head, &compression, err))
		return false;
	uint32_t sum = sum_content(options->checksum, packet, head, &checksum);
	size_t content = packet->len, whole = (content + PAGE - 1) / PAGE * PAGE;
	memset(buf_room(packet, whole - content), 0, whole - content);
	packet->len = whole;
	uint8_t *to = (uint8_t *)packet->data;
	put_le(&to, MAGIC, 4);
	put_le(&to, session, 4);
	put_le(&to, content, 4);
	put_le(&to, whole, 4);
	put_le(&to, sum, 4);
	put_le(&to, says->sequence, 4);
	put_le(&to, says->begin, 8);
	put_le(&to, says->end, 8);
	put_le(&to, says->discarded, 4);
	put_le(&to, 32, 1);
	put_le(&to, compression, 1);
	put_le(&to, 0, 1);
	put_le(&to, checksum, 1);
	return true;
}

static void open_2010(struct written_stream *stream)
{
	static const uint8_t room[HEADER_BYTES];

	encode_bytes(&stream->encoder, room, sizeof room);
}

static void head_2010(struct written_stream *stream, const struct written_class *class,
		      uint64_t last)
{
	struct encoder *e = &stream->encoder;
	bool is_long = class->id >= LONG_ID || stream->clock - last > UINT32_MAX;

	if (stream->class->clock < 0)
		stream->clock = 0;
	encode_number(e, is_long ? 0 : stream->clock & UINT32_MAX, 32);
	encode_number(e, is_long ? LONG_ID : class->id, 16);
	if (!is_long)
		return;
	encode_number(e, stream->clock, 64);
	encode_number(e, class->id, 32);
}

static bool seal_2010(struct ctf_writer *writer, struct written_stream *stream, struct error *err)
{
	struct encoder *e = &stream->encoder;
	const struct packet_2010 says = {.sequence = stream->sequence,
					 .begin = ctf_bound_cycles(stream, stream->first),
					 .end = ctf_bound_cycles(stream, stream->last),
					 .discarded = stream->discarded};

	(void)writer;
	if (!seal_packet(stream->class->folder, &e->out, stream->head, &says, err))
		return error_while(err, "%s", stream->from->name);
	e->at = e->out.len * UINT64_C(8);
	return true;
}

const struct ctf_packing ctf_packing_2010 = {.is_2010 = true,
					     .numbers = 1u << NUMBER_CPU | 1u << NUMBER_BEFORE_ALL |
							1u << NUMBER_TID | 1u << NUMBER_PID |
							1u << NUMBER_RANK | 1u << NUMBER_APP,
					     .header = HEADER_BYTES,
					     .far = INT64_MAX,
					     .open = open_2010,
					     .event = head_2010,
					     .seal = seal_2010};

/* Packs the metadata into packets with one text each: whole lines, ended by a zero byte. */
bool ctf_2010_pack(const struct ctf_folder *folder, struct buf *text, struct error *err)
{
	struct packet_2010 says = {0};
	struct buf out = {0}, packet = {0};
	bool ok = true;

	for (size_t at = 0, end; ok && at < text->len; at = end, says.sequence++) {
		const char *newline;
		end = text->len - at > TEXT_BYTES ? at + TEXT_BYTES : text->len;
		newline = memchr(text->data + end - 1, '\n', text->len - end + 1);
		end = newline ? (size_t)(newline - text->data) + 1 : text->len;
		buf_clear(&packet);
		memset(buf_room(&packet, HEADER_BYTES), 0, HEADER_BYTES);
		packet.len = HEADER_BYTES;
		buf_add(&packet, text->data + at, end - at);
		buf_add_char(&packet, 0);
		ok = seal_packet(folder, &packet, HEADER_BYTES, &says, err);
		if (ok)
			buf_add(&out, packet.data, packet.len);
	}
	buf_release(&packet);
	buf_release(text);
	*text = out;
	return ok || error_while(err, "metadata");
}
