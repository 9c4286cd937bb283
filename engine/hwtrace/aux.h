/*
 * aux.h - raw hardware-trace bytes, laid end to end per CPU or thread
 *
 * A recorder copies a hardware buffer out in chunks; chunks overlap, are padded and begin anew.
 * What is left after placing them is a list of pieces per buffer that, one behind the other, are
 * its bytes in order. Nothing is copied: a piece says where its bytes lie.
 */
#ifndef ENGINE_HWTRACE_AUX_H
#define ENGINE_HWTRACE_AUX_H

#include "engine/base/hash_index.h"
#include "engine/reader.h"

struct aux_piece {
	struct source *source; /* borrowed from the trace */
	uint64_t at, len;      /* in the source */
	uint64_t offset;       /* in the hardware buffer's own count */
	uint64_t position;     /* among the bytes laid end to end */
	uint64_t reference;
	bool truncated; /* the recorder lost what follows */
	bool joined;    /* it continues the piece before; else something lies between, or it begins
			   anew */
};

struct aux_buffer { /* one CPU's, else one thread's, else number `index` */
	int32_t cpu;
	int64_t tid;
	uint32_t index;
	struct aux_piece *pieces; /* none is empty */
	size_t npieces, capacity;
	size_t run;       /* first piece since offsets last began anew */
	uint64_t size;    /* bytes of all pieces */
	uint64_t dropped; /* bytes that had come before: overlap, padding */
};

struct aux {
	struct aux_kind kind;       /* name NULL: the part says nothing of its kind */
	struct aux_buffer *buffers; /* in the order in which they were met */
	size_t nbuffers, capacity;
	struct hash_index by_thread; /* of `buffers`, by CPU, thread and index */
};

/* Begins empty: {0}. The caller ends it with aux_release(). */
MUST_CHECK bool aux_place(struct aux *aux, const struct aux_chunk *chunk, struct error *err);
void aux_release(struct aux *aux);

/*
 * Places all chunks of a part; none when it has no hardware trace. On an error the chunks before
 * it are placed.
 */
MUST_CHECK bool aux_read(const struct part *part, struct aux *out, struct error *err);

#endif
