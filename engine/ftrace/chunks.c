/*
 * chunks.c - compressed pages: u32 chunks, then each u32 compressed bytes, u32 plain bytes, data
 *
 * A packet is a run of chunks, 64 KB together, each an extent. Open reads the heads of all chunks,
 * unless an earlier run stored their places (chunk_cache.c). Times and losses of a packet record
 * need its chunks decompressed, which is done once per packet (struct survey), as searches read the
 * same records again and again. Losses in front of all its pages are added up.
 */
#include "engine/base/expansion.h"
#include "engine/base/search.h"
#include "engine/ftrace/ftrace_internal.h"

#include <inttypes.h>

enum { CHUNK_PLAIN_MAX = 64 << 20, HEAD_MAX = 64, COUNT_BYTES = 4, CHUNK_HEAD = 8, LOOKED_AT = 16 };

struct survey {                       /* heads of a packet's pages */
	struct page_head begin;       /* of the first page; used 0: it has no entries */
	struct page_head first, last; /* of the first and last page with entries; used 0: none */
	uint64_t lost;
	bool unknown, falls;
	bool has_begin, whole; /* `begin` is set; all fields are set */
};

struct chunk_list {
	struct chunk *items;
	size_t count, capacity;
	uint64_t bytes, plain; /* sums over all chunks */
};

static bool chunks_read_head(const struct ftrace_file *file, struct source *source, uint64_t at,
			     struct chunk *out)
{
	uint8_t head[CHUNK_HEAD];
	struct error ignored;

	if (!source_peek(source, at, head, sizeof head, &ignored))
		return false;
	*out = (struct chunk){at + sizeof head, (uint32_t)ftrace_load(head, 4, file->big_endian),
			      (uint32_t)ftrace_load(head + 4, 4, file->big_endian)};
	return true;
}

static bool same_chunk(const struct chunk *a, const struct chunk *b)
{
	return a->offset == b->offset && a->bytes == b->bytes && a->plain == b->plain;
}

static bool makes_sense(const struct ftrace_stream *own, const struct chunk *chunk)
{
	return chunk->plain && chunk->plain <= CHUNK_PLAIN_MAX &&
	       chunk->plain % own->page_bytes == 0;
}

static void found_add(struct chunk_list *found, const struct chunk *chunk)
{
	*mem_push(found->items, found->count, found->capacity) = *chunk;
	found->bytes += chunk->bytes;
	found->plain += chunk->plain;
}

static bool add_chunk(struct ftrace_stream *own, struct source *source, uint64_t *at,
		      struct chunk_list *found, struct error *err)
{
	struct chunk chunk;

	if (!chunks_read_head(own->file, source, *at, &chunk))
		return error_set(err, ERR_FORMAT, "the file ends before chunk %zu", found->count);
	if (chunk.bytes > source_size(source) - chunk.offset)
		return error_set(err, ERR_FORMAT, "the file ends inside chunk %zu", found->count);
	if (!makes_sense(own, &chunk))
		return error_set(err, ERR_FORMAT,
				 "chunk %zu at offset %" PRIu64 " claims %u "
				 "bytes, which are no whole pages",
				 found->count, *at, chunk.plain);
	if (!expansion_fits(found->bytes + chunk.bytes, found->plain + chunk.plain))
		return error_set(err, ERR_FORMAT,
				 "chunk %zu at offset %" PRIu64 ": over %" PRIu64
				 " bytes come out of %" PRIu64 ": more than any recording",
				 found->count, *at, found->plain, found->bytes + chunk.bytes);
	if (!ftrace_reserve(own->file, CHUNK_HEAD + chunk.bytes, err))
		return error_while(err, "chunk %zu", found->count);
	found_add(found, &chunk);
	*at = chunk.offset + chunk.bytes;
	return true;
}

/* Adds the chunks of an earlier run, if they follow one another and some heads agree. */
static bool add_kept(struct ftrace_stream *own, struct source *source, uint64_t at,
		     uint64_t claimed, struct chunk_list *found)
{
	uint64_t count, begin = at, end = source_size(source), bytes = 0, plain = 0;
	const struct chunk *kept = chunk_cache_find(own->file, at - COUNT_BYTES, &count);
	struct error ignored;
	struct chunk seen;

	if (!kept || count != claimed)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		const struct chunk *chunk = &kept[i];
		if (chunk->offset != at + CHUNK_HEAD || chunk->offset > end ||
		    chunk->bytes > end - chunk->offset || !makes_sense(own, chunk))
			return false;
		if ((i % (count / LOOKED_AT + 1) == 0 || i + 1 == count) &&
		    (!chunks_read_head(own->file, source, at, &seen) || !same_chunk(chunk, &seen)))
			return false;
		bytes += chunk->bytes;
		plain += chunk->plain;
		if (!expansion_fits(bytes, plain))
			return false;
		at = chunk->offset + chunk->bytes;
	}
	if (!ftrace_reserve(own->file, at - begin, &ignored))
		return false;
	for (uint64_t i = 0; i < count; i++)
		found_add(found, &kept[i]);
	return true;
}

static void group_chunks(struct ftrace_stream *own, struct arena *arena)
{
	const uint32_t most = ftrace_packet_bytes(own);
	uint64_t plain = most;
	uint32_t inside = 0;

	own->packets = arena_array(arena, own->nchunks + 1, sizeof *own->packets);
	for (uint32_t i = 0; i < own->nchunks; i++) {
		if (plain + own->chunks[i].plain > most || inside > PACKET_EXTENTS_MAX / 2) {
			own->packets[own->npackets++] = i;
			plain = inside = 0;
		}
		plain += own->chunks[i].plain;
		inside++;
	}
	own->packets[own->npackets] = own->nchunks;
	own->surveys = arena_array(arena, own->npackets, sizeof *own->surveys);
}

static void take_found(struct ftrace_stream *own, struct chunk_list *found)
{
	struct arena *arena = own->file->trace->arena;

	own->nchunks = (uint32_t)found->count;
	own->chunks = arena_array(arena, found->count, sizeof *own->chunks);
	own->extents = arena_array(arena, found->count, sizeof *own->extents);
	for (size_t i = 0; i < found->count; i++) {
		own->chunks[i] = found->items[i];
		own->extents[i] = (struct extent){found->items[i].offset, found->items[i].bytes};
	}
	mem_free(found->items);
	group_chunks(own, arena);
}

bool chunks_find(struct ftrace_stream *own, struct source *source, uint64_t at, struct error *err)
{
	uint8_t count[COUNT_BYTES];
	struct chunk_list found = {0};
	struct error ignored;
	bool good = source_peek(source, at, count, sizeof count, &ignored);
	uint64_t claimed = good ? ftrace_load(count, sizeof count, own->file->big_endian) : 0;
	uint64_t from = at + sizeof count;

	if (!good)
		error_set(err, ERR_FORMAT, "the file ends before them");
	bool kept = good && add_kept(own, source, from, claimed, &found);
	while (good && found.count < claimed)
		good = add_chunk(own, source, &from, &found, err);
	own->cut = false; /* the error of chunks reports it */
	if (good)
		chunk_cache_add(own->file, at, found.items, found.count, !kept);
	take_found(own, &found);
	return good;
}

bool chunks_at(const struct ftrace_stream *own, uint64_t offset, uint32_t *out)
{
	uint32_t low = search_first(i, 0, own->nchunks, own->chunks[i].offset < offset);

	*out = low;
	return low < own->nchunks && own->chunks[low].offset == offset;
}

/* Does the file have this chunk? If not, deletes the stored table that it may come from. */
static bool chunk_is_there(const struct ftrace_stream *own, struct source *source,
			   const struct chunk *chunk, struct error *err)
{
	struct chunk seen;

	if (chunks_read_head(own->file, source, chunk->offset - CHUNK_HEAD, &seen) &&
	    same_chunk(chunk, &seen))
		return true;
	chunk_cache_forget(own->file);
	return error_set(err, ERR_FORMAT,
			 "the chunk at offset %" PRIu64
			 " has another size now: the file has changed",
			 chunk->offset);
}

bool chunks_expand(const struct stream *stream, uint32_t first, uint32_t nchunks, uint8_t **out,
		   size_t *capacity, size_t *size, struct error *err)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	uint64_t plain = 0;
	struct block block;

	if (nchunks > own->nchunks || first > own->nchunks - nchunks)
		return error_set(err, ERR_FORMAT, "a chunk that is not there");
	for (uint32_t i = 0; i < nchunks; i++)
		plain += own->chunks[first + i].plain;
	if (plain > *capacity) {
		*out = mem_resize(*out, plain, 1);
		*capacity = plain;
	}
	*size = 0;
	for (uint32_t i = 0; i < nchunks; i++) {
		const struct chunk *chunk = &own->chunks[first + i];
		if (!chunk_is_there(own, stream->sources[0], chunk, err) ||
		    !source_get(stream->sources[0], chunk->offset, chunk->bytes, &block, err))
			return false;
		bool good = codec_expand(own->file->codec, block.data, block.size, *out + *size,
					 chunk->plain, err);
		source_put(&block);
		if (!good)
			return error_while(err, "chunk at offset %" PRIu64, chunk->offset);
		*size += chunk->plain;
	}
	return true;
}

static void survey_pages(const struct ftrace_stream *own, const uint8_t *data, size_t size,
			 struct survey *out)
{
	*out = (struct survey){.has_begin = true, .whole = true};
	for (size_t at = 0; at < size; at += own->page_bytes) {
		struct page_head head;
		page_head_parse(own->file, data + at, &head);
		uint64_t lost = page_lost(own->file, data + at, own->page_bytes, &head);
		out->unknown |= head.missed && !lost;
		if (__builtin_add_overflow(out->lost, lost, &out->lost))
			out->lost = UINT64_MAX - 1;
		if (at == 0)
			out->begin = head;
		if (!head.used)
			continue;
		out->falls |= out->last.used && head.stamp < out->last.stamp;
		out->last = head;
		if (!out->first.used)
			out->first = head;
	}
}

/* Returns a copy of packet i's survey so far: chunks are decompressed without the lock. */
static struct survey survey_known(const struct ftrace_stream *own, uint32_t i)
{
	pthread_mutex_lock(&own->file->lock);
	struct survey known = own->surveys[i];
	pthread_mutex_unlock(&own->file->lock);
	return known;
}

static void survey_keep(const struct ftrace_stream *own, uint32_t i, const struct survey *survey)
{
	pthread_mutex_lock(&own->file->lock);
	if (!own->surveys[i].whole)
		own->surveys[i] = *survey;
	pthread_mutex_unlock(&own->file->lock);
}

/* Returns the head of a packet's first page; `used` is 0 if it is unreadable. */
static struct page_head packet_begin(const struct stream *stream, uint32_t i)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	const struct chunk *chunk = &own->chunks[own->packets[i]];
	struct survey known = survey_known(own, i);
	uint8_t bytes[HEAD_MAX];
	struct block block;
	struct error ignored;

	if (known.has_begin ||
	    !source_get(stream->sources[0], chunk->offset, chunk->bytes, &block, &ignored))
		return known.begin;
	if (codec_begin(own->file->codec, block.data, block.size, bytes, own->file->page.data_at,
			&ignored)) {
		page_head_parse(own->file, bytes, &known.begin);
		known.has_begin = true;
		survey_keep(own, i, &known);
	}
	source_put(&block);
	return known.begin;
}

/* Surveys all pages of packet i. False: its chunks are damaged. */
static bool survey_packet(const struct stream *stream, uint32_t i, struct survey *out)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	uint32_t first = own->packets[i], end = own->packets[i + 1];
	size_t capacity = 0, size = 0;
	uint8_t *data = NULL;
	struct error ignored;

	*out = survey_known(own, i);
	if (out->whole)
		return true;
	bool good = chunks_expand(stream, first, end - first, &data, &capacity, &size, &ignored);
	survey_pages(own, data, good ? size : 0, out);
	if (good)
		survey_keep(own, i, out);
	mem_free(data);
	return good;
}

static void begin_record(const struct stream *stream, uint32_t i, struct packet_info *out)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	uint32_t first = own->packets[i], end = own->packets[i + 1];

	*out = (struct packet_info){.rec = {.off = own->chunks[first].offset,
					    .len = own->chunks[first].bytes,
					    .seq = PACKET_NONE,
					    .events = UINT32_MAX,
					    .cpu = stream->cpu,
					    .flags = PACKET_COMPRESSED},
				    .extents = own->extents + first + 1,
				    .nextents = end - first - 1};
	for (uint32_t k = first; k < end; k++)
		out->plain_size += own->chunks[k].plain;
}

static void chunks_range_of(const struct stream *stream, const struct survey *survey,
			    const struct page_head *next, struct packet_info *out)
{
	struct stamp_clock clock;
	nstime first, last;
	bool fell;

	stamp_clock_of(stream, &clock);
	out->rec.min = out->rec.max = stamp_to_ns_clamped(&clock, survey->first.stamp);
	if (next->used && !next->missed && next->stamp >= survey->last.stamp && !survey->falls)
		out->rec.max = stamp_to_ns_clamped(&clock, next->stamp);
	else if (packet_times(stream, out, &first, &last, &fell)) {
		out->rec.min = first;
		out->rec.max = last;
		out->rec.flags |=
			PACKET_EXACT_MIN | PACKET_EXACT_MAX | (fell ? PACKET_UNSORTED : 0);
	}
}

bool chunks_packet(const struct stream *stream, uint32_t i, bool regular, nstime after,
		   struct packet_info *out)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	struct page_head next = {0};
	struct survey survey;

	begin_record(stream, i, out);
	bool good = survey_packet(stream, i, &survey);
	if (i + 1 < own->npackets)
		next = packet_begin(stream, i + 1);
	out->rec.lost = survey.lost;
	out->rec.flags |= survey.unknown ? PACKET_LOST_UNKNOWN : 0;
	if (survey.first.used)
		chunks_range_of(stream, &survey, &next, out);
	else
		out->rec.min = out->rec.max = after > NSTIME_MIN ? after : NSTIME_MIN + 1;
	if (!good)
		out->rec.flags |= PACKET_DAMAGED;
	else if (!survey.first.used)
		out->rec.flags |= PACKET_EMPTY;
	return !regular ||
	       (good && survey.first.used && !survey.falls && out->rec.max >= out->rec.min);
}
