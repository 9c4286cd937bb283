/*
 * tracing_judge.h - compares two readers of the kernel's formats, yore's and libtraceevent, on
 * records of random bytes
 */
#ifndef TESTS_ENGINE_TRACING_JUDGE_H
#define TESTS_ENGINE_TRACING_JUDGE_H

#include "engine/base/buf.h"
#include "engine/kernel/tracing.h"

#include <event-parse.h>

struct pair {
	struct arena *arena;
	struct tracing *tracing;
	struct tep_handle *tep;
	struct tep_plugin_list *plugins;
	bool big_endian;
};

/* `plugins`: load libtraceevent's, as trace-cmd does; without them texts are those of perf. */
void pair_open(struct pair *pair, bool big_endian, unsigned long_bytes, bool plugins);
void pair_close(struct pair *pair);
/* Adds a format to both readers. */
void pair_format(struct pair *pair, const char *system, const char *text, size_t len);
/* Adds texts of printk formats or of symbols. */
void pair_names(struct pair *pair, bool printk, const char *text, size_t len);
/*
 * Opens a pair over the formats in a block of trace.dat version 6 or of perf.data; `other_order`:
 * with the byte order reversed.
 */
void pair_walk(const uint8_t *at, bool plugins, bool other_order, struct pair *pair);

enum { RECORD = 8192 };

struct made {
	uint8_t bytes[RECORD];
	size_t size;
};

/* Makes a record of random values: small and large numbers, terminated texts. */
void made_record(struct made *made, const struct tep_event *event, bool big_endian);
/* Fails the test if the readers print the record differently. */
void pair_agree(struct pair *pair, const struct tracing_format *format, struct made *made,
		bool plugins);
/*
 * The same for 20 records of every format that libtraceevent prints correctly; returns how many
 * formats.
 */
size_t pair_all_agree(struct pair *pair, bool plugins);

typedef void with_block(const uint8_t *block, size_t size, const char *name);
/*
 * Calls `with` for each undamaged file of a corpus folder that has such a block; returns how many.
 */
size_t each_tracing_block(const char *folder, const char *file, with_block *with);

#define COMMON                                                                 \
	"format:\n"                                                            \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* A format with all kinds of fields and that `print fmt`; free it with mem_free(). */
char *own_format(const char *print);
extern const char symbols[]; /* as in kallsyms */
void made_store(struct made *made, size_t at, unsigned bytes, uint64_t value, bool big_endian);
/* Prints random bytes with every format, in both styles. */
void print_all(struct tracing *tracing);

#endif
