/* identity.c - see identity.h */
#include "index/tables/identity.h"

#include "engine/reader.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { HEAD = 4096, BLOCK = 512, BLOCKS = 8, NAMED_BY = 256 };

/* Bytes that cannot be read have a digest of their own. */
static void add_range(XXH3_state_t *state, struct source *source, uint64_t from, uint64_t to)
{
	uint8_t bytes[HEAD];
	uint64_t range[2] = {from, to};
	struct error ignored;

	XXH3_64bits_update(state, range, sizeof range);
	if (from < to && to - from <= sizeof bytes &&
	    source_peek(source, from, bytes, (size_t)(to - from), &ignored))
		XXH3_64bits_update(state, bytes, (size_t)(to - from));
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Where the bytes begin that stay while a file grows. */
static uint64_t head_offset(const struct stream *stream, uint32_t source)
{
	return source ? 0 : stream->head_bytes;
}

static uint64_t digest_head(XXH3_state_t *state, struct source *source, uint64_t off, uint64_t size)
{
	XXH3_64bits_reset(state);
	add_range(state, source, least(off, size), least(off + HEAD, size));
	return XXH3_64bits_digest(state);
}

/* The last block ends where the file does. */
static uint64_t digest_blocks(XXH3_state_t *state, struct source *source, uint64_t off,
			      uint64_t size)
{
	uint64_t room = size > off + BLOCK ? size - off - BLOCK : 0;

	XXH3_64bits_reset(state);
	for (uint64_t i = 1; i <= BLOCKS; i++) {
		uint64_t from = off + room / BLOCKS * i + (i == BLOCKS ? room % BLOCKS : 0);
		add_range(state, source, least(from, size), least(from + BLOCK, size));
	}
	return XXH3_64bits_digest(state);
}

struct file_mark {             /* of a file; stored as it is */
	uint64_t size;         /* bytes of the source; of a decompressed copy, not of its file */
	uint64_t stamp;        /* XXH3 of size, inode and times; 0: equals no other one */
	uint64_t head, blocks; /* digests: of the first bytes; of blocks from there to the end */
};

/* Digests of its first `size` bytes. */
static void digest_source(const struct stream *stream, uint32_t i, uint64_t size,
			  struct file_mark *mark)
{
	XXH3_state_t *state = XXH3_createState();
	uint64_t off = head_offset(stream, i);

	mark->head = digest_head(state, stream->sources[i], off, size);
	if (!source_is_far(stream->sources[i])) /* that has an identity of its own */
		mark->blocks = digest_blocks(state, stream->sources[i], off, size);
	XXH3_freeState(state);
}

/*
 * A UUID is that of a session: its snapshots and chunks, opened one by one, are told apart by their
 * first bytes, which stay while a trace grows.
 */
static void add_first_bytes(XXH3_state_t *state, const struct trace *trace, uint32_t part)
{
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		if (stream->part != part || !stream->nsources)
			continue;
		uint64_t off = head_offset(stream, 0), size = source_size(stream->sources[0]);
		XXH3_state_t *first = XXH3_createState();
		XXH3_64bits_reset(first);
		add_range(first, stream->sources[0], least(off, size), least(off + NAMED_BY, size));
		uint64_t hash = XXH3_64bits_digest(first);
		XXH3_freeState(first);
		XXH3_128bits_update(state, &hash, sizeof hash);
		return;
	}
}

static uint64_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* `inodes`: its files are told from copies of them. */
static XXH128_hash_t identity_of(const struct trace *trace, bool inodes)
{
	XXH3_state_t *state = XXH3_createState();

	XXH3_128bits_reset(state);
	for (uint32_t i = 0; i < trace->nparts; i++) {
		const struct part *part = trace->parts[i];
		uint64_t inode = inodes ? inode_of(part->path) : 0;
		XXH3_128bits_update(state, part->reader->format, strlen(part->reader->format) + 1);
		XXH3_128bits_update(state, &part->offset, sizeof part->offset);
		XXH3_128bits_update(state, &inode, sizeof inode);
		if (part->settings)
			XXH3_128bits_update(state, part->settings, strlen(part->settings) + 1);
		if (part->has_uuid)
			XXH3_128bits_update(state, part->uuid, sizeof part->uuid);
		else /* its description stands in */
			XXH3_128bits_update(state, part->identity, sizeof part->identity);
		add_first_bytes(state, trace, i);
	}
	for (size_t i = 0; i < trace->nclocks; i++)
		if (trace->clocks[i].moved)
			XXH3_128bits_update(state, &trace->clocks[i].base,
					    sizeof trace->clocks[i].base);
	XXH128_hash_t hash = XXH3_128bits_digest(state);
	XXH3_freeState(state);
	return hash;
}

void identity_name(const struct trace *trace, char out[IDENTITY_NAME])
{
	XXH128_hash_t hash = identity_of(trace, true);

	snprintf(out, IDENTITY_NAME, "%016llx%016llx", (unsigned long long)hash.high64,
		 (unsigned long long)hash.low64);
}

uint64_t identity_anywhere(const struct trace *trace)
{
	return identity_of(trace, false).low64;
}

void identity_uuid(const struct trace *trace, nstime first, nstime last, uint8_t out[16])
{
	XXH128_hash_t name = identity_of(trace, false);
	const uint64_t of[] = {name.high64, name.low64, (uint64_t)first, (uint64_t)last,
			       trace_bytes(trace)};
	XXH128_canonical_t bytes;

	XXH128_canonicalFromHash(&bytes, XXH3_128bits(of, sizeof of));
	memcpy(out, bytes.digest, 16);
	out[6] = (uint8_t)((out[6] & 0x0f) | 0x80); /* version 8: of one's own (RFC 9562) */
	out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

uint64_t identity_stream(const struct stream *stream)
{
	return XXH3_64bits_withSeed(stream->name, strlen(stream->name), stream->part);
}

/* Of which files the marks are, in which order. */
static uint64_t digest_of_files(const struct trace *trace)
{
	XXH3_state_t *state = XXH3_createState();

	XXH3_64bits_reset(state);
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		const struct part *part = trace->parts[stream->part];
		const uint64_t of[] = {identity_stream(stream), stream->nsources, part->identity[0],
				       part->identity[1]};
		XXH3_64bits_update(state, of, sizeof of);
	}
	uint64_t digest = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return digest;
}

/* What spares the reading. */
static struct file_mark mark_place(const struct source *source)
{
	struct source_stamp stamp;
	bool final = source_stamp(source, &stamp);

	return (struct file_mark){.size = source_size(source),
				  .stamp = final ? XXH3_64bits(&stamp, sizeof stamp) : 0};
}

/* False: one equals no other mark. `copies`: also of copies, whose inodes and times are others. */
static bool add_marks(const struct trace *trace, bool digests, bool copies, struct buf *out)
{
	uint64_t files = digest_of_files(trace);
	bool final = true;

	buf_add(out, &files, sizeof files);
	for (size_t i = 0; i < trace->nstreams; i++)
		for (uint32_t k = 0; k < trace->streams[i]->nsources; k++) {
			struct file_mark mark = mark_place(trace->streams[i]->sources[k]);
			if (digests)
				digest_source(trace->streams[i], k, mark.size, &mark);
			final = final && mark.stamp;
			mark.stamp = copies ? 0 : mark.stamp;
			buf_add(out, &mark, sizeof mark);
		}
	return final;
}

uint64_t marks_fold(const struct trace *trace)
{
	struct buf marks = {0};
	bool final = add_marks(trace, false, false, &marks);
	uint64_t fold = final ? XXH3_64bits(marks.data, marks.len) : 0;

	buf_release(&marks);
	return fold;
}

void marks_take(const struct trace *trace, bool copies, struct buf *out)
{
	add_marks(trace, true, copies, out);
}

static bool size_on_disk_reaches(const struct source *source, uint64_t size)
{
	struct stat st;

	return stat(source_name(source), &st) == 0 && (uint64_t)st.st_size >= size;
}

static enum sameness compare_one(const struct stream *stream, uint32_t i,
				 const struct file_mark *mark)
{
	const struct source *source = stream->sources[i];
	struct file_mark now = mark_place(source);

	if (now.size == mark->size && now.stamp && now.stamp == mark->stamp)
		return SOURCES_SAME;
	if (source_is_far(source))
		return SOURCES_CHANGED;
	if (now.size < mark->size)
		return size_on_disk_reaches(source, mark->size) ? SOURCES_AHEAD : SOURCES_CHANGED;
	digest_source(stream, i, mark->size, &now);
	if (now.head != mark->head || (now.size == mark->size && now.blocks != mark->blocks))
		return SOURCES_CHANGED;
	return SOURCES_TOUCHED;
}

enum sameness marks_compare(const struct trace *trace, const uint8_t *marks, size_t size)
{
	enum sameness worst = SOURCES_SAME;
	uint64_t files = digest_of_files(trace);
	struct file_mark mark;

	if (size < sizeof files || memcmp(marks, &files, sizeof files) != 0)
		return SOURCES_TOUCHED;
	size -= sizeof files;
	marks += sizeof files;
	for (size_t i = 0; i < trace->nstreams; i++)
		for (uint32_t k = 0; k < trace->streams[i]->nsources; k++) {
			if (size < sizeof mark)
				return SOURCES_CHANGED;
			memcpy(&mark, marks, sizeof mark);
			enum sameness one = compare_one(trace->streams[i], k, &mark);
			worst = one > worst ? one : worst;
			size -= sizeof mark;
			marks += sizeof mark;
		}
	return worst;
}

/* ---- of a trace that grows ---- */

static uint64_t inode_of_source(const struct source *source)
{
	struct source_stamp stamp = {0};

	(void)source_stamp(source, &stamp);
	return stamp.inode;
}

void grown_mark_take(const struct stream *stream, uint32_t i, uint64_t size, struct grown_mark *out)
{
	struct file_mark mark = {.size = size};

	digest_source(stream, i, size, &mark);
	*out = (struct grown_mark){.stream = identity_stream(stream),
				   .file = i,
				   .inode = inode_of_source(stream->sources[i]),
				   .size = size,
				   .head = mark.head,
				   .blocks = mark.blocks};
}

/* From number `near` on: new streams stand between the others. NULL: it is gone. */
static const struct stream *stream_with(const struct trace *trace, uint64_t id, size_t near)
{
	for (size_t n = 0; n < trace->nstreams; n++) {
		const struct stream *stream = trace->streams[(near + n) % trace->nstreams];

		if (identity_stream(stream) == id)
			return stream;
	}
	return NULL;
}

static enum sameness compare_grown(const struct stream *stream, const struct grown_mark *mark)
{
	const struct source *source;
	struct grown_mark now;

	if (!stream || mark->file >= stream->nsources)
		return SOURCES_TOUCHED;
	source = stream->sources[mark->file];
	if (inode_of_source(source) != mark->inode)
		return SOURCES_TOUCHED;
	if (source_size(source) < mark->size)
		return size_on_disk_reaches(source, mark->size) ? SOURCES_AHEAD : SOURCES_CHANGED;
	grown_mark_take(stream, (uint32_t)mark->file, mark->size, &now);
	return memcmp(&now, mark, sizeof now) ? SOURCES_CHANGED : SOURCES_SAME;
}

enum sameness grown_marks_compare(const struct trace *trace, const uint8_t *marks, size_t size)
{
	enum sameness worst = SOURCES_SAME;
	const struct stream *stream = NULL;
	struct grown_mark mark;

	for (size_t at = 0; at + sizeof mark <= size; at += sizeof mark) {
		memcpy(&mark, marks + at, sizeof mark);
		stream = stream_with(trace, mark.stream, stream ? stream->index : 0);
		enum sameness one = compare_grown(stream, &mark);
		worst = one > worst ? one : worst;
	}
	return size % sizeof mark ? SOURCES_CHANGED : worst;
}
