/*
 * ring.c - ring buffers of LTTng-UST in files, as a session that was killed left them
 *
 * `lttng create --shm-path=DIR` keeps a file for each channel and CPU, which is the ring buffer
 * itself: events that applications wrote are in the file, also when all of LTTng was killed. The
 * file begins with a head; integers are in the byte order of its mark.
 *
 *     OFF  SIZE
 *       0    16  17 7B F1 77 BF three times, 17
 *      16     8  bytes of the whole
 *      24     2  0x1234: byte order
 *      26  2, 2  version: 0.0, or 1.0 from LTTng-UST 2.15 on
 *      30     1  bytes of a word
 *      31     1  0: user space
 *      32  11*4  offsets in the file of the counters producer and consumed; of the array of commit
 *                counters, and of the member `seq` in an element; the same of the writer's
 *                sub-buffers and `id`, of the array of pages and the place of their description; of
 *                the pages' place in that; of content_size and packet_size in a packet
 *      76   8*1  bytes of producer, consumed, seq, id, the two places and the two sizes
 *      84   3*4  bytes of an element of the three arrays
 *      96     8  bytes of the ring
 *     104     8  bytes of a sub-buffer, which holds one packet
 *     112     8  sub-buffers
 *     120     4  0: old packets are overwritten, 1: new events are discarded
 *
 * Both counters count bytes through all laps. Packets between them were not yet read; the packet at
 * place i of the ring is in the pages that the writer's sub-buffer i names:
 *
 *      consumed                       producer
 *     |  full   |  full   |  committed  ...   |
 *     | packet  | packet  | events |          |     `seq` bytes were committed one after another
 *
 * ring.c joins the packets to a stream file with the offsets of the file that lttng-crash would
 * write. A packet that was not yet closed has no sizes in its header; ring.c puts the number of
 * committed bytes there. lttng-crash stops at a place without data, but later places may have some:
 * a thread that is killed between two stores leaves such a place.
 */
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/ctf/ctf_internal.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

enum { HEAD_BYTES = 124, LEAST_SUBBUF = 4096 /* a page: LTTng-UST takes no less */ };

enum place {
	AT_PRODUCER,
	AT_CONSUMED,
	AT_COMMITS,
	AT_SEQ,
	AT_WRITER,
	AT_ID,
	AT_ARRAY,
	AT_PAGES,
	AT_BYTES,
	AT_CONTENT,
	AT_PACKET,
	PLACES
};
enum width {
	OF_PRODUCER,
	OF_CONSUMED,
	OF_SEQ,
	OF_ID,
	OF_PAGES,
	OF_BYTES,
	OF_CONTENT,
	OF_PACKET,
	WIDTHS
};
enum array { COMMITS, WRITER, ARRAY, ARRAYS };

struct ring {
	struct source *source;
	struct trace *trace;
	bool big_endian, spare; /* spare: the reader has a sub-buffer of its own */
	unsigned word;          /* bytes */
	uint64_t place[PLACES];
	unsigned width[WIDTHS];
	uint64_t stride[ARRAYS];
	uint64_t bytes, subbuf, count;
	uint64_t producer, consumed;
	struct source_piece *pieces;
	size_t npieces, capacity;
	XXH3_state_t *state; /* hash of all values that decide which packets there are */
};

static bool is_ring(struct source *source)
{
	static const uint8_t magic[16] = {0x17, 0x7b, 0xf1, 0x77, 0xbf, 0x17, 0x7b, 0xf1,
					  0x77, 0xbf, 0x17, 0x7b, 0xf1, 0x77, 0xbf, 0x17};
	uint8_t bytes[sizeof magic];
	struct error ignored;

	return source_size(source) >= sizeof bytes &&
	       source_peek(source, 0, bytes, sizeof bytes, &ignored) &&
	       !memcmp(bytes, magic, sizeof magic);
}

static bool ring_fail(const struct ring *ring, struct error *err, const char *what, uint64_t number)
{
	return error_set(err, ERR_FORMAT, "%s: its ring buffer has %s %" PRIu64,
			 source_name(ring->source), what, number);
}

static uint64_t word_mask(const struct ring *ring)
{
	return ring->word == 8 ? UINT64_MAX : UINT32_MAX;
}

static bool is_power(uint64_t n)
{
	return n && !(n & (n - 1));
}

static bool is_width(unsigned bytes)
{
	return is_power(bytes) && bytes <= 8;
}

static bool check_head(const struct ring *ring, struct error *err)
{
	uint64_t size = source_size(ring->source);

	if (ring->word != 4 && ring->word != 8)
		return ring_fail(ring, err, "words of bytes", ring->word);
	if (!is_power(ring->subbuf) || ring->subbuf < LEAST_SUBBUF || ring->subbuf > size)
		return ring_fail(ring, err, "sub-buffers of bytes", ring->subbuf);
	if (!is_power(ring->count) || ring->count > size / ring->subbuf)
		return ring_fail(ring, err, "a number of sub-buffers of", ring->count);
	if (ring->bytes != ring->count * ring->subbuf)
		return ring_fail(ring, err, "a size other than that of its sub-buffers,",
				 ring->bytes);
	for (size_t i = 0; i < ARRAYS; i++)
		if (ring->stride[i] > size / ring->count)
			return ring_fail(ring, err, "elements of bytes", ring->stride[i]);
	for (size_t i = 0; i < WIDTHS; i++)
		if (!is_width(ring->width[i]) && (i < OF_CONTENT || ring->width[i]))
			return ring_fail(ring, err, "a number of bytes", ring->width[i]);
	for (size_t i = AT_CONTENT; i <= AT_PACKET; i++)
		if (ring->place[i] > LEAST_SUBBUF - 8)
			return ring_fail(ring, err, "the size of a packet at offset",
					 ring->place[i]);
	return true;
}

static bool ring_read_head(struct ring *ring, struct error *err)
{
	uint8_t bytes[HEAD_BYTES];
	struct cursor in = cursor_over(bytes, sizeof bytes);

	if (!source_peek(ring->source, 0, bytes, sizeof bytes, err))
		return false;
	uint16_t mark = (uint16_t)load_le(bytes + 24, 2);
	ring->big_endian = mark == 0x3412;
	if (mark != 0x1234 && !ring->big_endian)
		return ring_fail(ring, err, "the unknown byte order", mark);
	cursor_bytes(&in, 16);
	uint64_t whole = cursor_number(&in, 8, ring->big_endian);
	cursor_bytes(&in, 2);
	uint64_t major = cursor_number(&in, 2, ring->big_endian);
	uint64_t minor = cursor_number(&in, 2, ring->big_endian);
	ring->word = cursor_u8(&in);
	uint8_t type = cursor_u8(&in);
	if (major > 1 || minor)
		return ring_fail(ring, err, major > 1 ? "version" : "minor version",
				 major > 1 ? major : minor);
	if (type)
		return ring_fail(ring, err, "a layout that is not that of user space,", type);
	for (size_t i = 0; i < PLACES; i++)
		ring->place[i] = cursor_number(&in, 4, ring->big_endian);
	for (size_t i = 0; i < WIDTHS; i++)
		ring->width[i] = cursor_u8(&in);
	for (size_t i = 0; i < ARRAYS; i++)
		ring->stride[i] = cursor_number(&in, 4, ring->big_endian);
	ring->bytes = cursor_number(&in, 8, ring->big_endian);
	ring->subbuf = cursor_number(&in, 8, ring->big_endian);
	ring->count = cursor_number(&in, 8, ring->big_endian);
	ring->spare = major || !cursor_number(&in, 4, ring->big_endian);
	if (whole > source_size(ring->source)) {
		struct error cause;
		error_set(&cause, ERR_FORMAT,
			  "%s is cut off: its ring buffer has %" PRIu64 " bytes, the file %" PRIu64,
			  source_name(ring->source), whole, source_size(ring->source));
		trace_damage(ring->trace, "", &cause);
	}
	return check_head(ring, err);
}

/* Reads a number of the file. Sums cannot overflow: offsets have 32 bits or are checked before. */
static bool number_at(const struct ring *ring, uint64_t at, enum width width, uint64_t *out,
		      struct error *err)
{
	uint8_t bytes[8];

	if (!source_peek(ring->source, at, bytes, ring->width[width], err))
		return false;
	*out = ring->big_endian ? load_be(bytes, ring->width[width])
				: load_le(bytes, ring->width[width]);
	XXH3_64bits_update(ring->state, out, sizeof *out);
	return true;
}

static bool element(const struct ring *ring, enum array array, enum place first, uint64_t i,
		    enum width width, uint64_t *out, struct error *err)
{
	return number_at(ring,
			 ring->place[first] + i * ring->stride[array] + ring->place[first + 1],
			 width, out, err);
}

/* Returns the offset in the file of the pages of place i of the ring. */
static bool pages_of(const struct ring *ring, uint64_t i, uint64_t *out, struct error *err)
{
	uint64_t size = source_size(ring->source), id, at;

	if (!element(ring, WRITER, AT_WRITER, i, OF_ID, &id, err))
		return false;
	if (ring->spare) /* the bits above the number say who uses the sub-buffer */
		id &= ring->word == 8 ? UINT32_MAX : UINT16_MAX;
	if (id >= ring->count + ring->spare)
		return ring_fail(ring, err, "no sub-buffer", id);
	if (!element(ring, ARRAY, AT_ARRAY, id, OF_PAGES, &at, err))
		return false;
	if (at > size)
		return ring_fail(ring, err, "the description of pages at offset", at);
	if (!number_at(ring, at + ring->place[AT_BYTES], OF_BYTES, out, err))
		return false;
	return (*out <= size && ring->subbuf <= size - *out) ||
	       ring_fail(ring, err, "pages at offset", *out);
}

/* Returns how many bytes of place i were committed without a gap. */
static bool committed(const struct ring *ring, uint64_t offset, uint64_t i, uint64_t *out,
		      struct error *err)
{
	uint64_t mask = word_mask(ring) / ring->count, seq;

	if (!element(ring, COMMITS, AT_COMMITS, i, OF_SEQ, &seq, err))
		return false;
	uint64_t before = (offset & ~(ring->bytes - 1)) / ring->count; /* in the laps before */
	*out = ((seq - ring->subbuf) & mask) == before ? ring->subbuf : seq & (ring->subbuf - 1);
	return true;
}

static void add_piece(struct ring *ring, const struct source_piece *piece)
{
	*mem_push(ring->pieces, ring->npieces, ring->capacity) = *piece;
}

static void ring_add_file(struct ring *ring, uint64_t from, uint64_t to)
{
	if (from < to)
		add_piece(ring, &(struct source_piece){.off = from, .len = to - from});
}

static void add_size(struct ring *ring, uint64_t at, unsigned width, uint64_t bits)
{
	struct source_piece piece = {.off = at, .len = width, .replaced = true};

	for (unsigned i = 0; i < width; i++)
		piece.bytes[i] = (uint8_t)(bits >> (ring->big_endian ? width - 1 - i : i) * 8);
	add_piece(ring, &piece);
}

/* Adds a packet that was not closed, with both sizes in its header replaced by `len` bytes. */
static void add_open(struct ring *ring, uint64_t at, uint64_t len)
{
	enum { BOTH = 2 };
	unsigned first = ring->place[AT_CONTENT] > ring->place[AT_PACKET];
	uint64_t done = 0;

	for (unsigned k = 0; k < BOTH; k++) {
		unsigned which = k ^ first, width = ring->width[OF_CONTENT + which];
		uint64_t place = ring->place[AT_CONTENT + which];
		if (!width || place < done || place + width > len)
			continue;
		ring_add_file(ring, at + done, at + place);
		add_size(ring, at + place, width, len * 8);
		done = place + width;
	}
	ring_add_file(ring, at + done, at + len);
}

/*
 * Adds a closed packet, whose header has its size. If the consumer holds the packet, the place has
 * the pages that the consumer gave in exchange: those of an older packet, or empty ones.
 */
static bool add_closed(struct ring *ring, uint64_t at, struct error *err)
{
	uint64_t bits = ring->subbuf * 8;

	if (ring->width[OF_PACKET] &&
	    !number_at(ring, at + ring->place[AT_PACKET], OF_PACKET, &bits, err))
		return false;
	if (!bits && ring->spare)
		return true;
	if (!bits || bits % 8 || bits / 8 > ring->subbuf)
		return ring_fail(ring, err, "a packet of bits", bits);
	ring_add_file(ring, at, at + bits / 8);
	return true;
}

static bool add_packet(struct ring *ring, uint64_t offset, struct error *err)
{
	uint64_t i = (offset & (ring->bytes - 1)) / ring->subbuf, at, len;

	if (!committed(ring, offset, i, &len, err))
		return false;
	if (!len)
		return true;
	if (!pages_of(ring, i, &at, err))
		return false;
	if (len == ring->subbuf)
		return add_closed(ring, at, err);
	add_open(ring, at, len);
	return true;
}

/* Adds all packets from the oldest that was not overwritten. Reports and skips damaged ones. */
static bool add_packets(struct ring *ring, struct error *err)
{
	uint64_t mask = word_mask(ring), in_subbuf = ring->subbuf - 1;

	if (!number_at(ring, ring->place[AT_PRODUCER], OF_PRODUCER, &ring->producer, err) ||
	    !number_at(ring, ring->place[AT_CONSUMED], OF_CONSUMED, &ring->consumed, err))
		return false;
	uint64_t first = ring->consumed & ~in_subbuf;
	uint64_t unread = (((ring->producer - first) & mask) + in_subbuf) & ~in_subbuf;
	if (unread > ring->bytes * 2) /* a writer may be a lap ahead before it moves `consumed` */
		return ring_fail(ring, err, "bytes that were not read,", unread);
	uint64_t passed = unread > ring->bytes ? unread - ring->bytes : 0;
	for (uint64_t at = passed; at < unread; at += ring->subbuf) {
		struct error cause;
		if (!add_packet(ring, (first + at) & mask, &cause))
			trace_damage(ring->trace, "", &cause);
	}
	return true;
}

bool ring_arrange(struct trace *trace, struct source *source, struct error *err)
{
	struct ring ring = {.source = source, .trace = trace};

	if (!is_ring(source))
		return true;
	ring.state = XXH3_createState();
	XXH3_64bits_reset(ring.state);
	bool good = ring_read_head(&ring, err) && add_packets(&ring, err);
	if (good) { /* a file's times need not tell that it was written to by a map */
		source_beside(source,
			      &(struct source_stamp){.size = XXH3_64bits_digest(ring.state)});
		source_arrange(source, ring.pieces, ring.npieces);
	} else {
		mem_free(ring.pieces);
	}
	XXH3_freeState(ring.state);
	return good;
}
