/* perf_made.h - for tests: makes perf.data files of every form, with the list of their events */
#ifndef TESTS_ENGINE_PERF_MADE_H
#define TESTS_ENGINE_PERF_MADE_H

#include "engine/base/buf.h"
#include "engine/timebase.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MADE_IP = 1 << 0,
	MADE_TID = 1 << 1,
	MADE_TIME = 1 << 2,
	MADE_ADDR = 1 << 3,
	MADE_CPU = 1 << 7,
	MADE_PERIOD = 1 << 8,
	MADE_IDENTIFIER = 1 << 16,
	MADE_USUAL = MADE_IP | MADE_TID | MADE_TIME | MADE_CPU | MADE_PERIOD,
	MADE_CPUS = 3,
	MADE_ROUND = 50 /* samples between round marks */
};
#define MADE_ENABLE_ON_EXEC (UINT64_C(1) << 12)
#define MADE_ID_ALL (UINT64_C(1) << 18)
#define MADE_BACKWARD (UINT64_C(1) << 27)

enum form {
	FORM_FILE,
	FORM_PIPE,
	FORM_DIRECTORY,
	FORM_ZSTD,
	FORM_OPEN, /* no size in the header */
	FORM_OLD, /* version 1 */
	FORM_OLDEST /* version 1 without features */
};

struct shape {
	const char *name;
	enum form form;
	bool big;
	uint32_t attr_bytes; /* 64 and up */
	uint64_t sample_type, flags;
	uint32_t samples;
	uint32_t nattrs;   /* several need IDENTIFIER */
	uint32_t id_index; /* buffers that an ID_INDEX lists without their CPU; 0: none */
	uint32_t late;     /* every n-th sample comes after its successor; 0: none */
};

struct made_whose {          /* whom a file records */
	int32_t opened_on;   /* thread of its buffers in ID_INDEX; 0: all */
	int32_t map_of;      /* thread in a THREAD_MAP; -1: all; 0: no such map */
	const char *command; /* the recorder's command, words with one blank between; in pipes */
};

struct want { /* an event in the file */
	nstime time;
	int32_t cpu; /* -1: unknown */
	int32_t tid;
};

struct made {
	const struct shape *shape;
	const struct made_whose *whose;
	struct buf head, data, parts[MADE_CPUS];
	struct want *wants;
	size_t nwants, capacity;
};

/* Makes the file in memory; free it with made_release(). */
void made_new(const struct shape *shape, struct made *made);
void made_new_of(const struct shape *shape, const struct made_whose *whose, struct made *made);
void made_release(struct made *made);
/* Writes the first `size` bytes to a file in `folder`; the caller frees the returned path. */
char *made_write(const struct made *made, const char *folder, size_t size);
/* Overwrites `bytes` bytes at `at`. */
void made_set(struct buf *in, size_t at, uint64_t value, unsigned bytes, bool big);

#endif
