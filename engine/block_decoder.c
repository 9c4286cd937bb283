/* block_decoder.c - see block_decoder.h */
#include "engine/block_decoder.h"

#include "engine/base/mem.h"

#include <inttypes.h>

struct decoder *block_decoder_new(const struct stream *stream, size_t slots, size_t own_bytes,
				  block_heads *heads)
{
	struct decoder *d = mem_new(sizeof *d);

	d->stream = stream;
	d->slots = mem_new_array(slots + 1, sizeof *d->slots);
	d->own = mem_new(own_bytes + 1);
	d->heads = heads;
	return d;
}

void block_decoder_leave(struct decoder *d)
{
	source_put(&d->block);
	d->open = false;
}

void block_decoder_free(struct decoder *d)
{
	if (!d)
		return;
	block_decoder_leave(d);
	mem_free(d->slots);
	mem_free(d->own);
	mem_free(d);
}

bool block_decoder_open(struct decoder *d, const struct packet_info *info, struct error *err)
{
	struct source *source = d->stream->sources[0];

	block_decoder_leave(d);
	d->info = *info;
	d->index = 0;
	d->at = 0;
	d->open = source_get(source, info->rec.off, (size_t)packet_bytes(info), &d->block, err);
	return d->open || error_while(err, "%s: packet at offset %" PRIu64, source_name(source),
				      info->rec.off);
}

enum step block_decoder_next(struct decoder *d, struct batch *b, struct error *err)
{
	b->count = 0;
	b->first = d->index;
	if (!d->open)
		return STEP_END;
	bool good = d->heads(d, b, err);
	if (source_intact(d->stream->sources[0], err) && good)
		return b->count ? STEP_ITEM : STEP_END;
	d->at = d->block.size; /* the packet has ended */
	return STEP_ERROR;
}

void block_decoder_mark(const struct decoder *d, struct mark *mark)
{
	*mark = (struct mark){.at = (uint64_t)d->at * 8, .index = d->index};
}

void block_decoder_seek(struct decoder *d, const struct mark *mark)
{
	d->at = mark->at / 8 <= d->block.size ? (size_t)(mark->at / 8) : d->block.size;
	d->index = mark->index;
}
