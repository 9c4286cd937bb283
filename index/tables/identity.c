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

/* Digests of its first `size` bytes. */
static void digest_source(const struct stream *stream, uint32_t i, uint64_t size,
			  struct source_mark *mark)
{
	XXH3_state_t *state = XXH3_createState();
	uint64_t off = head_offset(stream, i);

	mark->head = digest_head(state, stream->sources[i], off, size);
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

void identity_name(const struct trace *trace, char out[IDENTITY_NAME])
{
	XXH3_state_t *state = XXH3_createState();

	XXH3_128bits_reset(state);
	for (uint32_t i = 0; i < trace->nparts; i++) {
		const struct part *part = trace->parts[i];
		uint64_t inode = inode_of(part->path);
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
	snprintf(out, IDENTITY_NAME, "%016llx%016llx", (unsigned long long)hash.high64,
		 (unsigned long long)hash.low64);
}

uint64_t identity_stream(const struct trace *trace, const struct stream *stream)
{
	(void)trace;
	return XXH3_64bits_withSeed(stream->name, strlen(stream->name), stream->part);
}

/* What spares the reading. */
static void mark_place(const struct source *source, struct source_mark *mark)
{
	mark->size = source_size(source);
	if (!source_stamp(source, &mark->stamp))
		mark->stamp.changed = 0;
}

void mark_source(const struct stream *stream, uint32_t source, struct source_mark *mark)
{
	mark_place(stream->sources[source], mark);
	digest_source(stream, source, mark->size, mark);
}

static bool size_on_disk_reaches(const struct source *source, uint64_t size)
{
	struct stat st;

	return stat(source_name(source), &st) == 0 && (uint64_t)st.st_size >= size;
}

static enum sameness compare_one(const struct stream *stream, uint32_t i,
				 const struct source_mark *mark)
{
	const struct source *source = stream->sources[i];
	struct source_mark now;

	mark_place(source, &now);
	if (now.size == mark->size && now.stamp.changed &&
	    !memcmp(&now.stamp, &mark->stamp, sizeof now.stamp))
		return SOURCES_SAME;
	if (now.size < mark->size)
		return size_on_disk_reaches(source, mark->size) ? SOURCES_AHEAD : SOURCES_CHANGED;
	digest_source(stream, i, mark->size, &now);
	if (now.head != mark->head || (now.size == mark->size && now.blocks != mark->blocks))
		return SOURCES_CHANGED;
	return SOURCES_TOUCHED;
}

enum sameness marks_compare(const struct stream *stream, const struct source_mark *marks,
			    uint32_t nmarks)
{
	enum sameness worst = SOURCES_SAME;

	for (uint32_t i = 0; i < nmarks && i < stream->nsources; i++) {
		enum sameness one = compare_one(stream, i, &marks[i]);
		if (one > worst)
			worst = one;
	}
	if (nmarks > stream->nsources && worst < SOURCES_AHEAD)
		worst = SOURCES_CHANGED;
	if (nmarks < stream->nsources && worst < SOURCES_TOUCHED)
		worst = SOURCES_TOUCHED;
	return worst;
}
