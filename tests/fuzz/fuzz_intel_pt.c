/*
 * fuzz_intel_pt.c - reads any bytes as a hardware trace: chunks at any place, and packets
 *
 *     byte 0   how many chunks
 *     each     4 bytes: count of the buffer, place in the rest, length, flags
 *     rest     what the chunks are of; then all of it as one Intel PT stream
 *
 * Promises: pieces follow each other and are within the file, no byte is written twice in a run,
 * and every byte of a stream is in one row.
 */
#include "engine/hwtrace/aux.h"
#include "engine/hwtrace/intel_pt.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHUNK = 4, GUARDED = 1 << 20 };

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void check_pieces(const struct aux *aux, const struct source *source, uint64_t given)
{
	uint64_t all = 0;

	for (size_t i = 0; i < aux->nbuffers; i++) {
		const struct aux_buffer *buffer = &aux->buffers[i];
		uint64_t at = 0;
		for (size_t k = 0; k < buffer->npieces; k++) {
			const struct aux_piece *piece = &buffer->pieces[k];
			require(piece->len && piece->position == at);
			require(piece->at + piece->len <= source_size(source));
			require(k <= buffer->run ||
				piece->offset >= piece[-1].offset + piece[-1].len);
			require(!piece->joined ||
				piece->offset == piece[-1].offset + piece[-1].len);
			at += piece->len;
		}
		require(buffer->size == at);
		all += at + buffer->dropped;
	}
	require(all == given);
}

static void place_chunks(const uint8_t *data, size_t count, struct source *source)
{
	struct aux aux = {0};
	struct error err;
	uint64_t given = 0;

	for (size_t i = 0; i < count; i++, data += CHUNK) {
		struct aux_chunk chunk = {.cpu = data[3] & 1 ? 0 : -1,
					  .tid = data[3] & 2 ? 1 : -1,
					  .index = data[3] >> 6,
					  .offset = data[0],
					  .source = source,
					  .at = data[1],
					  .len = data[2],
					  .truncated = data[3] & 4};
		if (data[3] & 8) /* near the greatest offset */
			chunk.offset = UINT64_MAX - 255 + data[0];
		if (aux_place(&aux, &chunk, &err))
			given += chunk.len;
	}
	check_pieces(&aux, source, given);
	aux_release(&aux);
}

static void list_packets(struct source *source)
{
	struct intel_pt *pt = intel_pt_open(source, 0, source_size(source));
	struct pt_row row;
	struct error err;
	uint64_t at = 0;

	while (intel_pt_next(pt, &row, &err) == STEP_ITEM) {
		require(row.at == at && row.size && row.name && memchr(row.text, 0, PT_TEXT_MAX));
		at += row.size;
	}
	require(at == source_size(source));
	intel_pt_close(pt);
}

/*
 * Copies the bytes to the end of readable memory, since libipt is built without sanitizers. NULL:
 * too many.
 */
static const uint8_t *at_the_edge(const uint8_t *bytes, size_t size)
{
	static uint8_t *mapping;

	if (!mapping) {
		mapping = mmap(NULL, 2 * (size_t)GUARDED, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		require(mapping != MAP_FAILED && !mprotect(mapping + GUARDED, GUARDED, PROT_NONE));
	}
	return size > GUARDED ? NULL : memcpy(mapping + GUARDED - size, bytes, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t count = size ? data[0] : 0;

	if (!size || size - 1 < count * CHUNK)
		return 0;
	size_t left = size - 1 - count * CHUNK;
	const uint8_t *rest = at_the_edge(data + 1 + count * CHUNK, left);
	if (!rest)
		return 0;
	struct source *source = source_over("fuzz", rest, left);
	place_chunks(data + 1, count, source);
	list_packets(source);
	source_close(source);
	return 0;
}
