/*
 * gdb_internal.h - a trace file of GDB, opened
 *
 *     open.c        magic, text lines up to an empty one, settings; the stream of frames
 *     lines.c       the text lines: status, variables, tracepoints
 *     registers.c   the target description, or an architecture's order → names, sizes, offsets
 *     classes.c     two event classes for each tracepoint: with a register block, and without
 *     frames.c      the bytes of a frame → its blocks
 *     ctf.c         the CTF form: its definitions, frames and blocks
 *     decode.c      scan and decoder: a frame is an event; text
 */
#ifndef ENGINE_GDB_GDB_INTERNAL_H
#define ENGINE_GDB_GDB_INTERNAL_H

#include "engine/base/cursor.h"
#include "engine/reader.h"

enum { TRACEPOINT_MAX = INT16_MAX, REGISTERS_MAX = 4096 };

struct gdb_register {
	const char *name;
	uint32_t bits;   /* a multiple of 8 */
	uint32_t number; /* GDB's; the order in the block */
	uint32_t offset; /* in the block */
	bool is_float, is_code, is_address;
};

struct gdb_tracepoint {
	uint32_t number;
	uint64_t address;    /* of its first location */
	uint32_t nlocations; /* T lines */
	bool enabled, fast, is_static;
	uint64_t step, pass, hits;
	const char *at, *condition; /* source text; NULL: not told */
	struct buf commands;        /* source text, "; " between them */
	uint32_t class_of[2];       /* without a register block, with one */
};

struct gdb_variable {
	int32_t number;
	int64_t initial;
	bool builtin;
	const char *name;
};

struct gdb_file { /* part->priv */
	struct trace *trace;
	struct part *part;
	struct source *source;
	bool is_ctf; /* a folder by `tsave -ctf` */
	bool big_endian;
	uint64_t frames_at;      /* offset of the first frame */
	uint32_t register_bytes; /* of a block */

	const char *architecture; /* as the target description says it; "" unknown */
	struct buf description;   /* the XML text */
	struct gdb_register *registers;
	uint32_t nregisters;
	size_t registers_capacity;
	const struct gdb_register *pc; /* NULL: not known which it is */

	struct gdb_tracepoint **tracepoints; /* in order of the file */
	uint32_t ntracepoints;
	size_t tracepoints_capacity;
	struct gdb_tracepoint *by_number[TRACEPOINT_MAX + 1];
	uint32_t unknown_class[2]; /* of frames of tracepoints without a line */
	struct gdb_variable *variables;
	uint32_t nvariables;
	size_t variables_capacity;

	struct env_entry *env;
	size_t nenv, env_capacity;
	/* of the layouts of classes; the latter: values that lengths refer to */
	uint32_t greatest_slots, greatest_references;
};

const struct gdb_file *gdb_file_of(const struct stream *stream);

/* ---- lines.c ---- */

/* One text line without its end; false: *err says what is wrong with it. */
MUST_CHECK bool gdb_line(struct gdb_file *file, const char *line, size_t len, struct error *err);
void gdb_env_text(struct gdb_file *file, const char *name, const char *text);
void gdb_env_number(struct gdb_file *file, const char *name, int64_t number);
/* Adds the definitions of tracepoints and variables to the environment. */
void gdb_env_definitions(struct gdb_file *file);

struct gdb_tracepoint *gdb_tracepoint_of(struct gdb_file *file, uint64_t number,
					 uint64_t address);
void gdb_add_command(struct gdb_tracepoint *tracepoint, const char *text);
void gdb_add_variable(struct gdb_file *file, const struct gdb_variable *variable);

/* ---- registers.c ---- */

/* Reads the target description. False: there is none. */
bool gdb_read_description(struct gdb_file *file);
/*
 * Names and places of registers from the description that was read, else from `architecture` if
 * given, else from the order in which the program counters of frames are where tracepoints are.
 */
void gdb_find_registers(struct gdb_file *file, const char *architecture);
bool gdb_knows_architecture(const char *name);
/* Does the target description name an architecture whose byte order is known to be big? */
bool gdb_is_big(const struct gdb_file *file);

/* ---- classes.c ---- */

MUST_CHECK bool gdb_add_classes(struct gdb_file *file, struct error *err);
uint32_t gdb_class_of(const struct gdb_file *file, int16_t tracepoint, bool registers);
/* Where the frame was: by the register block (NULL: there is none), else by the tracepoint. */
bool gdb_pc(const struct gdb_file *file, const struct gdb_tracepoint *tracepoint,
	    const uint8_t *registers, uint64_t *pc);

/* ---- frames.c ---- */

enum { FRAME_HEAD = 6 };

enum frame_step {
	FRAME_GOOD,
	FRAME_ODD,  /* a block cannot be read: those before it are good */
	FRAME_LAST, /* the mark behind the last frame */
	FRAME_CUT,  /* there are too few bytes */
	FRAME_LOST  /* CTF: no packet begins there */
};

struct gdb_frame {
	int16_t tracepoint;
	size_t size; /* head included */
	const uint8_t *blocks;
	size_t nblocks;
	const uint8_t *registers; /* register block, NULL: none was collected */
	uint32_t nmemory, nvariables, ntexts;
	size_t bad; /* ODD: offset of the block from the frame's head */
	const char *why;
};

struct gdb_block {
	char kind;           /* 'R' 'M' 'V' 'S'; 'F' of CTF has nothing */
	const uint8_t *data; /* registers; bytes of memory; text */
	size_t size;
	uint64_t address;
	int32_t variable;
	int64_t value;
};

/* The frame at data[0..size). */
enum frame_step gdb_frame(const struct gdb_file *file, const uint8_t *data, size_t size,
			  struct gdb_frame *out);
/* The block at blocks[*at], and *at behind it; false: the end, or a block that cannot be read. */
bool gdb_block(const struct gdb_file *file, const uint8_t *blocks, size_t size, size_t *at,
	       struct gdb_block *out);

size_t gdb_head_bytes(const struct gdb_file *file); /* that tell how large a frame is */
/* How large it is, by its head; false: no frame begins so. */
bool gdb_frame_bytes(const struct gdb_file *file, const uint8_t *head, uint64_t *out);

/* ---- ctf.c ---- */

enum { CTF_HEAD = 14 };
#define CTF_MAGIC UINT32_C(0xc1fc1fc1)

bool gdb_ctf_is_metadata(const char *text);
/* Definitions of file->source, and what the metadata says of them; `big` -1: it says the order. */
MUST_CHECK bool gdb_ctf_open(struct gdb_file *file, const char *metadata, int big,
			     struct error *err);
/* Bytes of a packet, and of it those with blocks, by its head; false: no packet begins so. */
bool gdb_ctf_sizes(const struct gdb_file *file, const uint8_t *head, uint64_t *packet,
		   uint64_t *content);
/* As gdb_block(); the offset counts from the packet. */
bool gdb_ctf_block(const struct gdb_file *file, const uint8_t *packet, size_t size, size_t *at,
		   struct gdb_block *out);

/* ---- open.c ---- */

MUST_CHECK bool gdb_open(struct trace *trace, const char *path, const char *settings,
			 enum source_mode mode, struct error *err);
void gdb_close(struct part *part);

#endif
