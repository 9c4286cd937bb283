/*
 * perf_made.h - for tests: perf.data files of every form, with the list of what is in them
 */
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
	uint32_t id_index; /* buffers that an ID_INDEX names without their CPU; 0 none */
	uint32_t late;     /* every so many-th sample comes behind its successor; 0 never */
};

struct made_whose { /* what a file says of whom it records */
	int32_t opened_on;   /* the thread that ID_INDEX says its buffers are of, 0: all */
	int32_t map_of;      /* the thread that a THREAD_MAP names, -1: all; 0: there is none */
	const char *command; /* of the recorder, words with one blank between; in pipes */
};

struct want { /* one event of the list */
	nstime time;
	int32_t cpu; /* -1: nothing tells it */
	int32_t tid;
};

struct made {
	const struct shape *shape;
	const struct made_whose *whose;
	struct buf head, data, parts[MADE_CPUS];
	struct want *wants;
	size_t nwants, capacity;
};

/* Makes the file in memory; end it with made_release(). */
void made_new(const struct shape *shape, struct made *made);
void made_new_of(const struct shape *shape, const struct made_whose *whose, struct made *made);
void made_release(struct made *made);
/* Writes the first `size` bytes into `folder`; the path is the caller's. */
char *made_write(const struct made *made, const char *folder, size_t size);
/* Overwrites `bytes` bytes at `at`. */
void made_set(struct buf *in, size_t at, uint64_t value, unsigned bytes, bool big);

#endif
