/* identity.c - see identity.h */
#include "index/identity.h"

#include "engine/reader.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

/* Hash of `len` bytes; 0 when they cannot be read, which equals no hash that was stored. */
static uint64_t hash_range(struct source *source, uint64_t off, uint32_t len)
{
	uint8_t bytes[HEAD_HASHED];
	struct error err;

	if (len > sizeof bytes || !source_peek(source, off, bytes, len, &err))
		return 0;
	uint64_t hash = XXH3_64bits(bytes, len);
	return hash ? hash : 1;
}

/* Where the bytes begin that stay while a file grows, and how many of them are hashed. */
static uint64_t head_offset(const struct stream *stream, uint32_t source)
{
	return source ? 0 : stream->head_bytes;
}

static uint32_t head_length(uint64_t size, uint64_t off)
{
	if (off >= size)
		return 0;
	return size - off < HEAD_HASHED ? (uint32_t)(size - off) : HEAD_HASHED;
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
		uint64_t off = head_offset(stream, 0);
		uint32_t len = head_length(source_size(stream->sources[0]), off);
		uint64_t hash = hash_range(stream->sources[0], off,
					   len < LAST_HASHED ? len : LAST_HASHED);
		XXH3_128bits_update(state, &hash, sizeof hash);
		return;
	}
}

void identity_name(const struct trace *trace, char out[IDENTITY_NAME])
{
	XXH3_state_t *state = XXH3_createState();

	XXH3_128bits_reset(state);
	for (uint32_t i = 0; i < trace->nparts; i++) {
		const struct part *part = trace->parts[i];
		XXH3_128bits_update(state, part->reader->format, strlen(part->reader->format) + 1);
		XXH3_128bits_update(state, &part->offset, sizeof part->offset);
		if (part->has_uuid)
			XXH3_128bits_update(state, part->uuid, sizeof part->uuid);
		else /* its description stands in */
			XXH3_128bits_update(state, part->identity, sizeof part->identity);
		add_first_bytes(state, trace, i);
	}
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

/* What spares the reading; all zeros for memory. */
static void mark_place(const struct source *source, struct source_mark *mark)
{
	struct stat st;

	mark->changed = 0;
	mark->device = mark->inode = 0;
	if (stat(source_name(source), &st) != 0)
		return;
	mark->changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	mark->device = st.st_dev;
	mark->inode = st.st_ino;
}

void mark_source(const struct stream *stream, uint32_t source, struct source_mark *mark)
{
	struct source *from = stream->sources[source];
	uint64_t off = head_offset(stream, source);

	mark->size = source_size(from);
	mark->head_len = head_length(mark->size, off);
	mark->head_hash = hash_range(from, off, mark->head_len);
	mark_place(from, mark);
}

void mark_last(const struct stream *stream, uint32_t source, uint64_t off, uint64_t len,
	       struct source_mark *mark)
{
	uint64_t size = source_size(stream->sources[source]);

	if (off >= size)
		return;
	if (len > size - off)
		len = size - off;
	mark->last_off = off;
	mark->last_len = len < LAST_HASHED ? (uint32_t)len : LAST_HASHED;
	mark->last_hash = hash_range(stream->sources[source], off, mark->last_len);
}

static bool size_on_disk_reaches(const struct source *source, uint64_t size)
{
	struct stat st;

	return stat(source_name(source), &st) == 0 && (uint64_t)st.st_size >= size;
}

static bool content_agrees(struct source *source, uint64_t head, const struct source_mark *mark)
{
	if (hash_range(source, head, mark->head_len) != mark->head_hash && mark->head_len)
		return false;
	return !mark->last_len ||
	       hash_range(source, mark->last_off, mark->last_len) == mark->last_hash;
}

static enum sameness compare_one(struct source *source, uint64_t head,
				 const struct source_mark *mark)
{
	uint64_t size = source_size(source);
	struct source_mark now = {.size = size};

	mark_place(source, &now);
	if (size == mark->size && now.changed && now.changed == mark->changed &&
	    now.device == mark->device && now.inode == mark->inode)
		return SOURCES_SAME;
	if (size < mark->size)
		return size_on_disk_reaches(source, mark->size) ? SOURCES_AHEAD : SOURCES_CHANGED;
	if (!content_agrees(source, head, mark))
		return SOURCES_CHANGED;
	return size > mark->size ? SOURCES_GROWN : SOURCES_MOVED;
}

enum sameness marks_compare(const struct stream *stream, const struct source_mark *marks,
			    uint32_t nmarks)
{
	enum sameness worst = SOURCES_SAME;

	for (uint32_t i = 0; i < nmarks && i < stream->nsources; i++) {
		enum sameness one = compare_one(stream->sources[i], head_offset(stream, i), &marks[i]);
		if (one > worst)
			worst = one;
	}
	if (nmarks > stream->nsources && worst < SOURCES_AHEAD)
		worst = SOURCES_CHANGED;
	if (nmarks < stream->nsources && worst < SOURCES_GROWN)
		worst = SOURCES_GROWN;
	return worst;
}
