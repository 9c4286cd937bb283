/*
 * block_decoder.h - a decoder for packets that are one run of bytes of the stream's first source
 *
 * A format puts these functions into its struct reader, and adds a block_heads that finds event
 * heads from front to back. State of its own is in `own`.
 */
#ifndef ENGINE_BLOCK_DECODER_H
#define ENGINE_BLOCK_DECODER_H

#include "engine/event.h"
#include "engine/reader.h"

/* Adds heads to the batch, from d->at on. False: the packet is damaged, see *err. */
typedef bool block_heads(struct decoder *d, struct batch *b, struct error *err);

struct decoder {
	const struct stream *stream;
	struct packet_info info;
	struct block block;
	bool open;
	size_t at;      /* of the next event, in the block */
	uint32_t index; /* of the next event, in the packet */
	struct slot *slots;
	void *own; /* the format's */
	block_heads *heads;
};

/* `slots`: the most that one event has; `own_bytes`: size of `own`, zero-filled. */
struct decoder *block_decoder_new(const struct stream *stream, size_t slots, size_t own_bytes,
				  block_heads *heads);
void block_decoder_free(struct decoder *d); /* NULL is fine */
MUST_CHECK bool block_decoder_open(struct decoder *d, const struct packet_info *info,
				   struct error *err);
void block_decoder_leave(struct decoder *d);
enum step block_decoder_next(struct decoder *d, struct batch *b, struct error *err);
void block_decoder_mark(const struct decoder *d, struct mark *mark);
void block_decoder_seek(struct decoder *d, const struct mark *mark);

#endif
