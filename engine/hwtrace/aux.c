/*
 * aux.c - places chunks of a hardware trace
 *
 * A chunk has the offset in its buffer at which it begins. Bytes in front of the end of the pieces
 * placed before must equal those placed:
 *
 *     placed   0 |-------------------------| 4096      equal: these bytes are dropped, the rest is
 *     chunk                       3072 |-----====| 5120      appended
 *     placed   0 |--------------------000| 48          zeros at the end, up to a word: padding, cut
 *     chunk                        44 |========| 100         off; the chunk is appended
 *     placed   0 |-------------------------| 4096      different: the buffer was overwritten
 *     chunk    0 |=========================| 4096            (snapshots); a new run begins
 *
 * An offset beyond the end means a gap; the piece still gets the next position, and its `joined` is
 * false.
 */
#include "engine/hwtrace/aux.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <string.h>

enum { PADDING = 8, AT_ONCE = 1 << 16 };

static struct aux_buffer *buffer_of(struct aux *aux, const struct aux_chunk *chunk)
{
	struct aux_buffer of = {.cpu = chunk->cpu, .tid = chunk->cpu >= 0 ? -1 : chunk->tid};

	of.index = of.cpu >= 0 || of.tid >= 0 ? 0 : chunk->index;
	uint64_t hash = hash_number(hash_number((uint64_t)of.tid) + (uint32_t)of.cpu) + of.index;
	uint32_t at =
		hash_index_find(&aux->by_thread, hash, i,
				aux->buffers[i].cpu == of.cpu && aux->buffers[i].tid == of.tid &&
					aux->buffers[i].index == of.index);
	if (at == HASH_INDEX_NONE) {
		*mem_push(aux->buffers, aux->nbuffers, aux->capacity) = of;
		at = hash_index_add(&aux->by_thread, hash, aux->nbuffers - 1);
	}
	return &aux->buffers[at];
}

static uint64_t piece_end(const struct aux_piece *piece)
{
	return piece->offset + piece->len;
}

static void append(struct aux_buffer *buffer, const struct aux_chunk *chunk, uint64_t skip)
{
	const struct aux_piece *last =
		buffer->npieces ? &buffer->pieces[buffer->npieces - 1] : NULL;
	struct aux_piece piece = {.source = chunk->source,
				  .at = chunk->at + skip,
				  .len = chunk->len - skip,
				  .offset = chunk->offset + skip,
				  .position = buffer->size,
				  .reference = chunk->reference,
				  .truncated = chunk->truncated};

	piece.joined = last && buffer->npieces > buffer->run && piece_end(last) == piece.offset;
	*mem_push(buffer->pieces, buffer->npieces, buffer->capacity) = piece;
	buffer->size += piece.len;
	buffer->dropped += skip;
}

/* Returns how many of the first `len` bytes at at_a and at_b are equal. */
static bool equal_bytes(struct source *a, uint64_t at_a, struct source *b, uint64_t at_b,
			uint64_t len, uint64_t *equal, struct error *err)
{
	struct block one, other;

	for (*equal = 0; *equal < len;) {
		size_t n = len - *equal < AT_ONCE ? (size_t)(len - *equal) : AT_ONCE, i = 0;
		if (!source_get(a, at_a + *equal, n, &one, err))
			return false;
		if (!source_get(b, at_b + *equal, n, &other, err)) {
			source_put(&one);
			return false;
		}
		if (memcmp(one.data, other.data, n) == 0)
			i = n;
		while (i < n && one.data[i] == other.data[i])
			i++;
		source_put(&one);
		source_put(&other);
		*equal += i;
		if (i < n)
			break;
	}
	return true;
}

/* Returns the index of the first piece of the run that ends behind `offset`. */
static size_t piece_at(const struct aux_buffer *buffer, uint64_t offset)
{
	return search_first(i, buffer->run, buffer->npieces,
			    piece_end(&buffer->pieces[i]) <= offset);
}

/* Sets *out to how many of the chunk's first bytes the run already has. */
static bool repeated(const struct aux_buffer *buffer, const struct aux_chunk *chunk, uint64_t *out,
		     struct error *err)
{
	*out = 0;
	for (size_t i = piece_at(buffer, chunk->offset); i < buffer->npieces; i++) {
		const struct aux_piece *piece = &buffer->pieces[i];
		uint64_t at = chunk->offset + *out, equal;
		if (piece->offset > at || *out == chunk->len)
			break;
		uint64_t most = piece_end(piece) - at;
		most = most < chunk->len - *out ? most : chunk->len - *out;
		if (!equal_bytes(piece->source, piece->at + (at - piece->offset), chunk->source,
				 chunk->at + *out, most, &equal, err))
			return false;
		*out += equal;
		if (equal < most)
			break;
	}
	return true;
}

/* Cuts padding, zeros from `offset` on, off the last piece; false: those bytes are no padding. */
static bool cut_padding(struct aux_buffer *buffer, uint64_t offset, struct error *err)
{
	struct aux_piece *last = &buffer->pieces[buffer->npieces - 1];
	uint64_t more = piece_end(last) - offset;
	uint8_t bytes[PADDING] = {0};

	if (more >= PADDING || more >= last->len)
		return false;
	if (!source_peek(last->source, last->at + last->len - more, bytes, (size_t)more, err))
		return false;
	for (uint64_t i = 0; i < more; i++)
		if (bytes[i])
			return false;
	last->len -= more;
	buffer->size -= more;
	buffer->dropped += more;
	return true;
}

static bool place(struct aux_buffer *buffer, const struct aux_chunk *chunk, struct error *err)
{
	struct aux_piece *last = &buffer->pieces[buffer->npieces - 1];
	uint64_t end = piece_end(last), same;

	if (chunk->offset >= end) {
		append(buffer, chunk, 0);
		return true;
	}
	*err = (struct error){0};
	if (chunk->len >= end - chunk->offset && cut_padding(buffer, chunk->offset, err)) {
		append(buffer, chunk, 0);
		return true;
	}
	if (err->kind != ERR_NONE || !repeated(buffer, chunk, &same, err))
		return false;
	if (same == chunk->len) {
		buffer->dropped += same;
		last->truncated |= chunk->truncated && chunk->offset + chunk->len == end;
		return true;
	}
	if (chunk->offset + same == end) {
		append(buffer, chunk, same);
		return true;
	}
	bool padding = cut_padding(buffer, chunk->offset + same, err);
	if (err->kind != ERR_NONE)
		return false;
	if (!padding)
		buffer->run = buffer->npieces;
	append(buffer, chunk, padding ? same : 0);
	return true;
}

bool aux_place(struct aux *aux, const struct aux_chunk *chunk, struct error *err)
{
	uint64_t size = source_size(chunk->source), end;

	if (chunk->len > size || chunk->at > size - chunk->len)
		return error_set(err, ERR_FORMAT,
				 "%s: hardware trace of %llu bytes at offset %llu is cut short",
				 source_name(chunk->source), (unsigned long long)chunk->len,
				 (unsigned long long)chunk->at);
	if (__builtin_add_overflow(chunk->offset, chunk->len, &end))
		return error_set(err, ERR_FORMAT,
				 "%s: hardware trace at offset %llu claims the place %llu",
				 source_name(chunk->source), (unsigned long long)chunk->at,
				 (unsigned long long)chunk->offset);
	struct aux_buffer *buffer = buffer_of(aux, chunk);
	if (!chunk->len) {
		if (buffer->npieces && chunk->truncated)
			buffer->pieces[buffer->npieces - 1].truncated = true;
		return true;
	}
	if (buffer->npieces)
		return place(buffer, chunk, err);
	append(buffer, chunk, 0);
	return true;
}

void aux_release(struct aux *aux)
{
	for (size_t i = 0; i < aux->nbuffers; i++)
		mem_free(aux->buffers[i].pieces);
	mem_free(aux->buffers);
	hash_index_release(&aux->by_thread);
	*aux = (struct aux){0};
}

static bool place_chunk(void *arg, const struct aux_chunk *chunk, struct error *err)
{
	return aux_place(arg, chunk, err);
}

bool aux_read(const struct part *part, struct aux *out, struct error *err)
{
	const struct reader_aux *aux = part->reader->aux;

	*out = (struct aux){0};
	return !aux || aux->chunks(part, &out->kind, place_chunk, out, err);
}
