/*
 * gdb_internal.h - what the files of the reader of GDB's trace files share
 *
 *     gdb_open.c    magic, text lines up to an empty one, settings; the stream of frames
 *     lines.c       the text lines: status, variables, tracepoints
 *     registers.c   the target description, or an architecture's order → names, sizes, offsets
 *     gdb_classes.c two event classes for each tracepoint: with a register block, and without
 *     frames.c      the bytes of a frame → its blocks
 *     ctf.c         the CTF form: its definitions, frames and blocks
 *     gdb_decode.c  scan and decoder: a frame is an event; text
 */
#ifndef ENGINE_GDB_GDB_INTERNAL_H
#define ENGINE_GDB_GDB_INTERNAL_H

#include "engine/base/cursor.h"
#include "engine/reader.h"

enum { TRACEPOINT_MAX = INT16_MAX, REGISTERS_MAX = 4096 };

struct gdb_register {
	const char *name;
	uint32_t bits;   /* a multiple of 8 */
	uint32_t number; /* GDB's number; registers in the block are in its order */
	uint32_t offset; /* in the block */
	bool is_float, is_code, is_address;
};

struct gdb_tracepoint {
	uint32_t number;
	uint64_t address;    /* of its first location */
	uint32_t nlocations; /* T lines */
	bool enabled, fast, is_static;
	uint64_t step, pass, hits;
	const char *at, *condition; /* source text; NULL: the file does not have it */
	struct buf commands;        /* source text, "; " between them */
	uint32_t class_of[2];       /* [1]: for frames with a register block, [0]: without */
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
	uint32_t register_bytes; /* size of a register block */

	const char *architecture; /* by the target description; "": unknown */
	struct buf description;   /* the XML text */
	struct gdb_register *registers;
	uint32_t nregisters;
	size_t registers_capacity;
	const struct gdb_register *pc; /* the program counter; NULL: unknown */

	struct gdb_tracepoint **tracepoints; /* in order of the file */
	uint32_t ntracepoints;
	size_t tracepoints_capacity;
	struct gdb_tracepoint *by_number[TRACEPOINT_MAX + 1];
	uint32_t unknown_class[2]; /* for frames of tracepoints that no text line defines */
	struct gdb_variable *variables;
	uint32_t nvariables;
	size_t variables_capacity;

	struct env_entry *env;
	size_t nenv, env_capacity;
	/* greatest numbers over all classes' layouts; references: values that lengths refer to */
	uint32_t greatest_slots, greatest_references;
};

const struct gdb_file *gdb_file_of(const struct stream *stream);

/* ---- lines.c ---- */

/* Parses one text line, without its newline; false: *err says what is wrong with it. */
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
 * Sets names and places of registers: by the description that was read; else by `architecture` if
 * not NULL; else by the first known order in which frames have their tracepoint's address as
 * program counter.
 */
void gdb_find_registers(struct gdb_file *file, const char *architecture);
bool gdb_knows_architecture(const char *name);
/* Does the target description name an architecture that is known to be big-endian? */
bool gdb_is_big(const struct gdb_file *file);

/* ---- classes.c ---- */

MUST_CHECK bool gdb_add_classes(struct gdb_file *file, struct error *err);
uint32_t gdb_class_of(const struct gdb_file *file, int16_t tracepoint, bool registers);
/* Finds a frame's program counter: by its register block, or if that is NULL by its tracepoint. */
bool gdb_pc(const struct gdb_file *file, const struct gdb_tracepoint *tracepoint,
	    const uint8_t *registers, uint64_t *pc);

/* ---- frames.c ---- */

enum { FRAME_HEAD = 6 };

enum frame_step {
	FRAME_GOOD,
	FRAME_ODD,  /* a block cannot be read; those before it are good */
	FRAME_LAST, /* no frame, but the mark behind the last one */
	FRAME_CUT,  /* the bytes end inside the frame */
	FRAME_LOST  /* CTF: no packet begins there */
};

struct gdb_frame {
	int16_t tracepoint;
	size_t size; /* head included */
	const uint8_t *blocks;
	size_t nblocks;
	const uint8_t *registers; /* register block; NULL: none was collected */
	uint32_t nmemory, nvariables, ntexts;
	size_t bad;      /* FRAME_ODD: offset of the bad block from the frame's first byte */
	const char *why; /* FRAME_ODD: what is wrong with it */
};

struct gdb_block {
	char kind;           /* 'R' 'M' 'V' 'S'; 'F', only in CTF, has no data */
	const uint8_t *data; /* registers; bytes of memory; text */
	size_t size;
	uint64_t address;
	int32_t variable;
	int64_t value;
};

/* Parses the frame at data[0..size). */
enum frame_step gdb_frame(const struct gdb_file *file, const uint8_t *data, size_t size,
			  struct gdb_frame *out);
/* Parses the block at blocks[*at], and moves *at; false: the end, or an unreadable block. */
bool gdb_block(const struct gdb_file *file, const uint8_t *blocks, size_t size, size_t *at,
	       struct gdb_block *out);

size_t gdb_head_bytes(const struct gdb_file *file); /* size of a frame's head */
/* Returns a frame's size by its head; false: it is no head of a frame. */
bool gdb_frame_bytes(const struct gdb_file *file, const uint8_t *head, uint64_t *out);

/* ---- ctf.c ---- */

enum { CTF_HEAD = 14 };
#define CTF_MAGIC UINT32_C(0xc1fc1fc1)

bool gdb_ctf_is_metadata(const char *text);
/* Reads metadata and definitions; `big` is the byte order, -1: that of the metadata. */
MUST_CHECK bool gdb_ctf_open(struct gdb_file *file, const char *metadata, int big,
			     struct error *err);
/* Returns a packet's bytes, and those of its content, by its head; false: no packet's head. */
bool gdb_ctf_sizes(const struct gdb_file *file, const uint8_t *head, uint64_t *packet,
		   uint64_t *content);
/* As gdb_block(); *at counts from the packet's first byte. */
bool gdb_ctf_block(const struct gdb_file *file, const uint8_t *packet, size_t size, size_t *at,
		   struct gdb_block *out);

/* ---- open.c ---- */

MUST_CHECK bool gdb_open(struct trace *trace, const char *path, const char *settings,
			 enum source_mode mode, struct error *err);
void gdb_close(struct part *part);

#endif
