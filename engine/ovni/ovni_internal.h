/*
 * ovni_internal.h - what the files of the ovni reader share
 *
 *     find.c      a folder → the folders below it that are streams
 *     metadata.c  stream.json → whose stream it is: loom, process, thread, CPUs, models
 *     clocks.c    clock-offsets.txt → the offset of a host's clock
 *     describe.c  what the trace says of itself, merged from its streams → env, conflicts
 *     classes.c   models → event classes, and the table by MCV
 *     models.c    made from models/: events of each model, their arguments and descriptions
 *     open.c      all of it → parts (one per host), clocks, streams
 *     scan.c      stream.obs → packet records
 *     decode.c    one packet → heads → fields
 *     text.c      ovnidump's text of an event, from its bytes
 *
 * An event is 12 bytes and a payload (trace specification, "stream.obs"):
 *
 *     0   u8   flags: 0x10 jumbo; low 4 bits 0: no payload, else n: n + 1 bytes
 *     1   3    model, category, value: the MCV, printable ASCII
 *     4   u64  clock, ns of CLOCK_MONOTONIC
 *     12       payload; of a jumbo event u32 size and as many bytes
 */
#ifndef ENGINE_OVNI_OVNI_INTERNAL_H
#define ENGINE_OVNI_OVNI_INTERNAL_H

#include "engine/base/buf.h"
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/reader.h"

#include <string.h>

enum {
	OBS_HEAD = 8,    /* "ovni", u32 version 1 */
	EVENT_HEAD = 12, /* in front of the payload */
	JUMBO_HEAD = 16, /* the same with the size of a jumbo event */
	ARGUMENTS_MAX = 3
};
#define OVNI_TIME_MAX (UINT64_C(1) << 62) /* a clock beyond that is damage */

/* ---- models ---- */

enum ovni_type { OVNI_I32, OVNI_U32, OVNI_I64, OVNI_U64, OVNI_STR, OVNI_I64S /* to the end */ };

struct ovni_argument {
	const char *name;
	enum ovni_type type;
};

struct ovni_event {
	char mcv[4];
	bool is_jumbo;
	uint32_t narguments;
	struct ovni_argument arguments[ARGUMENTS_MAX];
	const char *text; /* "%{NAME}" is an argument, "%x{NAME}" in hex */
};

struct ovni_model {
	const char *name;
	char id; /* first character of its MCVs */
	const char *version, *title;
	const struct ovni_event *events;
	size_t nevents;
};

extern const struct ovni_model ovni_models[];
extern const size_t ovni_nmodels;

/* ---- what stream.json says ---- */

struct ovni_cpu {
	int64_t index, phyid;
};

struct ovni_named { /* a model and its version, a setting and its text */
	const char *name, *text;
};

struct ovni_metadata {
	const char *path, *name; /* the stream's folder; the same below the trace's */
	bool finished;
	int64_t tid, pid;          /* -1: a part of another kind than a thread */
	int64_t app, rank, nranks; /* -1: not said */
	const char *loom, *host;   /* the host is the loom's name up to its first dot */
	struct ovni_cpu *cpus;
	size_t ncpus, cpus_capacity;
	struct ovni_named *models;
	size_t nmodels, models_capacity;
	struct ovni_named *settings; /* all else that it says: "ovni.lib.version" */
	size_t nsettings, settings_capacity;
	uint64_t digest;
};

/* ---- an opened trace ---- */

struct ovni_loom {
	const char *name;
	struct ovni_cpu *cpus; /* of all its streams, by index, each once */
	size_t ncpus;
};

/* The class of an event with a known MCV, and the least bytes of its payload. */
struct ovni_shape {
	uint32_t class_index;
	uint32_t elsewhere; /* the class where its CPU is none of the loom's; else class_index */
	uint32_t least;     /* bytes of payload, without the size of a jumbo event */
	bool is_jumbo, has_cpu;
};

enum { MCV_CHARS = 128 };

/* Of one host and byte order. A table by category and value has 1 + the shape's number. */
struct ovni_classes {
	const uint16_t *models[MCV_CHARS]; /* NULL: no events of that model are known */
	const struct ovni_shape *shapes;
	uint32_t unknown; /* class of all other events */
	uint32_t most_slots;
};

struct ovni_piece { /* of an event's text: letters, then maybe an argument */
	const char *text; /* for copy_padded() */
	uint32_t len;
	uint32_t at; /* where the argument begins in the payload */
	bool has_argument, is_hex;
	enum ovni_type type;
};

/* An event_class's priv. */
struct ovni_class {
	const struct ovni_piece *pieces;
	uint32_t npieces;
	uint32_t room; /* of their text, without strings */
	bool big_endian;
	bool tells_cpu; /* its context has the CPU's physical number */
	bool is_unknown;
};

/* A stream's priv. */
struct ovni_stream {
	struct trace *trace;
	const struct ovni_loom *loom;
	const struct ovni_classes *classes;
	bool big_endian;
	bool finished; /* its thread has ended */
};

static inline const struct ovni_stream *ovni_own(const struct stream *stream)
{
	return stream->priv;
}

/* ---- one event's frame ---- */

struct ovni_frame {
	uint64_t bytes; /* all of the event */
	uint64_t clock;
	bool is_jumbo;
};

enum ovni_framed { FRAME_GOOD, FRAME_CUT, FRAME_NOT_PRINTABLE, FRAME_BAD_JUMBO };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "get64() swaps elsewhere");

static inline uint64_t ovni_load64(const uint8_t *bytes, bool big_endian)
{
	return get64(bytes, big_endian);
}

static inline uint32_t ovni_load32(const uint8_t *bytes, bool big_endian)
{
	return get32(bytes, big_endian);
}

static inline bool ovni_printable(uint8_t c)
{
	return c >= ' ' && c < 0x7f;
}

/* `room` bytes are there. CUT: the event is longer; *out then says by how much, if it is known. */
static inline enum ovni_framed ovni_frame(const uint8_t *at, uint64_t room, bool big_endian,
					  struct ovni_frame *out)
{
	out->bytes = EVENT_HEAD;
	if (room < EVENT_HEAD)
		return FRAME_CUT;
	uint8_t code = at[0] & 15;
	out->is_jumbo = at[0] & 0x10;
	out->clock = ovni_load64(at + 4, big_endian);
	out->bytes += code ? code + 1u : 0;
	if (!ovni_printable(at[1]) || !ovni_printable(at[2]) || !ovni_printable(at[3]))
		return FRAME_NOT_PRINTABLE;
	if (out->is_jumbo && code != 3)
		return FRAME_BAD_JUMBO;
	if (out->is_jumbo && room >= JUMBO_HEAD)
		out->bytes += ovni_load32(at + EVENT_HEAD, big_endian);
	return out->bytes <= room ? FRAME_GOOD : FRAME_CUT;
}

static inline bool ovni_is(const uint8_t *at, const char mcv[4])
{
	return at[1] == mcv[0] && at[2] == mcv[1] && at[3] == mcv[2];
}

/* ---- the files ---- */

/* find.c: is there a stream at or below the folder? `path` may be a file stream.obs, too. */
bool ovni_has_stream(const char *path);
/* Folders of streams, in natural order; a stream.obs alone is damage of the trace, and told. */
void ovni_find(struct trace *trace, const char *path,
	       void (*each)(void *arg, const char *folder, const char *name), void *arg);

/* metadata.c: texts live in the arena. False: nothing of the stream can be used. */
MUST_CHECK bool ovni_read_metadata(struct arena *arena, const char *folder, const char *name,
				   struct ovni_metadata *out, struct error *err);
/* All of a file of at most 16 MB, behind what *out holds; on failure nothing of it. */
MUST_CHECK bool ovni_read_text(const char *path, struct buf *out, struct error *err);

/* clocks.c */
struct ovni_offset {
	const char *host;
	int64_t ns;
};
struct ovni_offsets {
	struct ovni_offset *items;
	size_t count, capacity;
	const char *path; /* NULL: there is no table */
	uint64_t digest;
};
/*
 * Looks in the folder, then in the three above it, as a loom or thread may have been named, then in
 * those below it that hold the streams.
 */
void ovni_read_offsets(struct trace *trace, const char *folder, const struct ovni_metadata *streams,
		       size_t count, struct ovni_offsets *out);
bool ovni_offset_of(const struct ovni_offsets *offsets, const char *host, int64_t *ns);

/* describe.c: a warning for each attribute that two streams give differently. */
void ovni_merge(struct trace *trace, struct ovni_metadata *streams, size_t count);
/* CPUs of a loom from all its streams; conflicts are told. */
const struct ovni_loom *ovni_make_loom(struct trace *trace, const struct ovni_metadata *streams,
				       size_t count, const char *name);
void ovni_describe(struct trace *trace, struct part *part, const struct ovni_metadata *streams,
		   const struct ovni_loom *const *looms, size_t count);
void ovni_warn_models(struct trace *trace, const struct ovni_metadata *streams, size_t count);

/* classes.c: `streams` are those of the host, whose models are wanted; without any, all are. */
MUST_CHECK const struct ovni_classes *ovni_add_classes(struct trace *trace, struct part *part,
						       const struct ovni_metadata *streams,
						       size_t count, bool big_endian,
						       struct error *err);

/* open.c */
MUST_CHECK bool ovni_open(struct trace *trace, const char *path, const char *settings,
			  enum source_mode mode, struct error *err);

/* scan.c */
MUST_CHECK enum step ovni_scan(const struct stream *stream, struct scan *scan,
			       struct packet_info *out, struct error *err);
/* As trace_watermark(): a thread that has ended writes no more. */
bool ovni_watermark(const struct stream *stream, nstime *until);

/* text.c */
enum event_words ovni_text(const struct fields *fields, struct buf *out);

#endif
