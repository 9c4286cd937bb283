/*
 * ovni_internal.h - what the files of the ovni reader share
 *
 *     find.c      a folder → the folders below it that are streams
 *     ovni_metadata.c stream.json → the stream's loom, process, thread, CPUs, models
 *     ovni_clocks.c  clock-offsets.txt → the offset of a host's clock
 *     describe.c  metadata of all streams → environment, warnings of conflicts
 *     ovni_classes.c models → event classes, and the table by MCV
 *     models.c    generated from models/: events of each model, their arguments and descriptions
 *     ovni_open.c all of it → parts (one per host), clocks, streams
 *     ovni_scan.c stream.obs → packet records
 *     ovni_decode.c  one packet → heads → fields
 *     ovni_text.c ovnidump's text of an event, from its bytes
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
	JUMBO_HEAD = 16, /* in front of a jumbo event's payload: with its size */
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

/* ---- stream.json ---- */

struct ovni_cpu {
	int64_t index, phyid;
};

struct ovni_named { /* a model and its version, or a setting and its text */
	const char *name, *text;
};

struct ovni_metadata {
	const char *path, *name; /* the stream's folder; the same relative to the trace's */
	bool finished;
	int64_t tid, pid;          /* -1: the stream is not a thread's */
	int64_t app, rank, nranks; /* -1: unknown */
	const char *loom, *host;   /* host: the loom's name up to its first dot */
	struct ovni_cpu *cpus;
	size_t ncpus, cpus_capacity;
	struct ovni_named *models;
	size_t nmodels, models_capacity;
	struct ovni_named *settings; /* all other values, such as "ovni.lib.version" */
	size_t nsettings, settings_capacity;
	uint64_t digest;
};

/* ---- an opened trace ---- */

struct ovni_loom {
	const char *name;
	struct ovni_cpu *cpus; /* CPUs that its streams list, sorted by index, each once */
	size_t ncpus;
};

/* How to classify events of a known MCV. */
struct ovni_shape {
	uint32_t class_index;
	uint32_t elsewhere; /* class if the event names a CPU that the loom does not have */
	uint32_t least;     /* least bytes of payload, without the size of a jumbo event */
	bool is_jumbo, has_cpu;
};

enum { MCV_CHARS = 128 };

/* The classes of one host and byte order, by MCV: models[model][category * MCV_CHARS + value] is 1
   + the index in `shapes`, 0: unknown. */
struct ovni_classes {
	const uint16_t *models[MCV_CHARS]; /* NULL: an unknown model */
	const struct ovni_shape *shapes;
	uint32_t unknown; /* class of all other events */
	uint32_t most_slots;
};

struct ovni_piece {       /* a piece of an event's text: letters, then maybe an argument */
	const char *text; /* for copy_padded() */
	uint32_t len;
	uint32_t at; /* offset of the argument in the payload */
	bool has_argument, is_hex;
	enum ovni_type type;
};

/* An event_class's priv. */
struct ovni_class {
	const struct ovni_piece *pieces;
	uint32_t npieces;
	uint32_t room; /* most bytes of the text, without string arguments */
	bool big_endian;
	bool tells_cpu; /* the context has the CPU's physical number, `phyid` */
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
	uint64_t bytes; /* of the whole event */
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

/* Parses an event's head; `room` bytes are readable. CUT: the event is longer; out->bytes is its
   size as far as it is known. */
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

/* find.c: is there a stream at or below the folder? `path` may also be a file stream.obs. */
bool ovni_has_stream(const char *path);
/* Calls `each` for folders of streams, in natural order. Reports a stream with one of its two files
   as damage. */
void ovni_find(struct trace *trace, const char *path,
	       void (*each)(void *arg, const char *folder, const char *name), void *arg);

/* ovni_metadata.c: texts live in the arena. False: the stream is unusable. */
MUST_CHECK bool ovni_read_metadata(struct arena *arena, const char *folder, const char *name,
				   struct ovni_metadata *out, struct error *err);
/* Appends a whole file of at most 16 MB to *out; on failure appends nothing. */
MUST_CHECK bool ovni_read_text(const char *path, struct buf *out, struct error *err);

/* ovni_clocks.c */
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
 * Searches the table in the folder, in the three above it (the user may have named the folder of a
 * loom or thread), and then in those below it down to the streams.
 */
void ovni_read_offsets(struct trace *trace, const char *folder, const struct ovni_metadata *streams,
		       size_t count, struct ovni_offsets *out);
bool ovni_offset_of(const struct ovni_offsets *offsets, const char *host, int64_t *ns);

/* describe.c: fills attributes of each process from its streams; warns of conflicts. */
void ovni_merge(struct trace *trace, struct ovni_metadata *streams, size_t count);
/* Collects the CPUs of a loom from all its streams; warns of conflicts. */
const struct ovni_loom *ovni_make_loom(struct trace *trace, const struct ovni_metadata *streams,
				       size_t count, const char *name);
void ovni_describe(struct trace *trace, struct part *part, const struct ovni_metadata *streams,
		   const struct ovni_loom *const *looms, size_t count);
void ovni_warn_models(struct trace *trace, const struct ovni_metadata *streams, size_t count);

/* ovni_classes.c: adds classes of model O and of the models that streams of the part's host name;
   a stream that names none may use all. */
MUST_CHECK const struct ovni_classes *ovni_add_classes(struct trace *trace, struct part *part,
						       const struct ovni_metadata *streams,
						       size_t count, bool big_endian,
						       struct error *err);

/* ovni_open.c */
MUST_CHECK bool ovni_open(struct trace *trace, const char *path, const char *settings,
			  enum source_mode mode, struct error *err);

/* ovni_scan.c */
MUST_CHECK enum step ovni_scan(const struct stream *stream, struct scan *scan,
			       struct packet_info *out, struct error *err);
/* As trace_watermark(): NSTIME_MAX if the thread has ended; false: unknown. */
bool ovni_watermark(const struct stream *stream, nstime *until);

/* ovni_text.c */
enum event_words ovni_text(const struct fields *fields, struct buf *out);

#endif
