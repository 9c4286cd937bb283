/*
 * aux.h - raw hardware-trace bytes, laid end to end per CPU or thread
 *
 * A recorder copies a hardware buffer out in chunks, which may overlap, have padding, or restart
 * their offsets. aux_place() turns them into a list of pieces per buffer that, laid end to end, are
 * its bytes in order. No bytes are copied: a piece refers to bytes of the trace's sources.
 */
#ifndef ENGINE_HWTRACE_AUX_H
#define ENGINE_HWTRACE_AUX_H

#include "engine/base/hash_index.h"
#include "engine/reader.h"

struct aux_piece {
	struct source *source; /* borrowed from the trace */
	uint64_t at, len;      /* in the source */
	uint64_t offset;       /* in the hardware buffer, as the recorder counts */
	uint64_t position;     /* in the bytes laid end to end */
	uint64_t reference;
	bool truncated; /* the recorder lost the bytes that follow */
	bool joined;    /* continues the piece before; else bytes are missing between them, or
			   offsets restarted */
};

struct aux_buffer { /* of a CPU, else of a thread, else with number `index` */
	int32_t cpu;
	int64_t tid;
	uint32_t index;
	struct aux_piece *pieces; /* none is empty */
	size_t npieces, capacity;
	size_t run;       /* first piece since offsets last restarted */
	uint64_t size;    /* bytes of all pieces */
	uint64_t dropped; /* bytes left out, as earlier chunks had them: overlap, padding */
};

struct aux {
	struct aux_kind kind;       /* name NULL: the part does not say it */
	struct aux_buffer *buffers; /* in order of their first chunks */
	size_t nbuffers, capacity;
	struct hash_index by_thread; /* of `buffers`, by CPU, thread and index */
};

/* Places one chunk. *aux begins as {0}; the caller frees it with aux_release(). */
MUST_CHECK bool aux_place(struct aux *aux, const struct aux_chunk *chunk, struct error *err);
void aux_release(struct aux *aux);

/*
 * Places all chunks of a part, which may have none. On an error *out has the chunks before it.
 */
MUST_CHECK bool aux_read(const struct part *part, struct aux *out, struct error *err);

#endif
