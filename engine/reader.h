/*
 * reader.h - what a format is: one constant table of functions
 *
 * A new format is a folder of engine/, its table's name below and one line in detect.c. Nothing
 * outside that folder knows which format it works on.
 *
 *     probe ── open ──┬── scan ─────── packet records, in file order, resumable
 *                     ├── packet_at ── record i, where the table can be computed
 *                     └── decoder ──── one packet → batches of heads → fields of an event
 */
#ifndef ENGINE_READER_H
#define ENGINE_READER_H

#include "engine/batch.h"
#include "engine/columns/column.h"
#include "engine/event.h"
#include "engine/packet.h"
#include "engine/trace.h"

struct buf;
struct tracing;
struct tracing_format;

enum step { STEP_ITEM, STEP_END, STEP_ERROR };

struct probe {
	const char *path;
	bool is_folder;
	const uint8_t *head; /* first bytes of a file */
	size_t nhead;
};

/* The words of a format's own tool for an event. */
enum event_words {
	WORDS_NONE, /* it has none for events of this class */
	WORDS_LINE,
	WORDS_LINES /* newlines may be among them */
};

/*
 * What changed in an address space, in order of time: what symbols are found by. Names and build
 * ids are borrowed for the call.
 */
enum map_event_kind {
	MAP_ADD,  /* [start, start + len) of process `pid` shows `name` from `file_offset` on */
	MAP_FORK, /* process `pid` begins with a copy of the maps of `parent` */
	MAP_EXEC, /* process `pid` loses its maps */
	MAP_KERNEL_SYMBOL /* [start, start + len) is the function `name`; len 0: gone */
};

struct map_event {
	enum map_event_kind kind;
	nstime t;            /* NSTIME_MIN: holds from the start */
	int64_t pid, parent; /* -1: the kernel */
	uint64_t start, len, file_offset;
	const char *name;
	const uint8_t *build_id;
	size_t nbuild_id; /* 0: not known */
	bool data;        /* MAP_ADD: it was not to be executed */
};

/*
 * The kernel function at or below an address, and where it begins; NULL: not known. Thread-safe;
 * names live as long as the resolver is set.
 */
typedef const char *kernel_resolver(void *arg, uint64_t address, uint64_t *start);

/* Where raw hardware-trace bytes go: one run of bytes of one CPU's or thread's buffer. */
struct aux_chunk {
	int32_t cpu;        /* -1: of a thread */
	int64_t tid;        /* -1: of a CPU */
	uint32_t index;     /* number of the buffer, where neither is known */
	uint64_t offset;    /* in that buffer, bytes */
	uint64_t reference; /* the recorder's mark of when it copied them */
	struct source *source;
	uint64_t at, len; /* the bytes, in the source */
	bool truncated;   /* the recorder lost what follows */
};

/* How to read the bytes; fields of engine/perf's fact sheet, decoded. */
struct aux_kind {
	const char *name; /* "intel_pt", "arm_spe", ... */
	bool is_intel_pt;
	uint16_t time_shift;
	uint32_t time_mult;
	uint64_t time_zero;
	bool has_time;
	uint32_t mtc_freq, tsc_ctc_numerator, tsc_ctc_denominator;
	uint8_t max_non_turbo_ratio;
};

enum { SCAN_PRIV_MAX = 64 };

/* Where a scan stands; plain data, stored with the table, so that a grown trace is caught up. */
struct scan {
	uint32_t source; /* being scanned */
	uint32_t reserved;
	uint64_t next;               /* offset of the next packet in it */
	uint64_t emitted;            /* records so far */
	uint8_t priv[SCAN_PRIV_MAX]; /* the reader's; all zeros at the start */
};

/* A restart point inside a packet: what a decoder needs to go on from an event. Plain data. */
struct mark {
	uint64_t at;    /* bits */
	uint64_t clock; /* carried cycles */
	uint64_t more[2];
	uint32_t index; /* number of the event in its packet */
};

/* A tracepoint's record as the kernel wrote it, from its common_type on, and what it says of it. */
struct tracepoint {
	const struct tracing *tracing;
	const struct tracing_format *format;
	const uint8_t *record;
	size_t size;
};

struct decoder;

/* Events in the words of the format's own tool. Each function but write() may be NULL. */
struct reader_text {
	/*
	 * Adds the event as the tool prints its payload, without a line's end. `fields` is what
	 * decoder_fields() gave.
	 */
	enum event_words (*write)(const struct fields *fields, struct buf *out);
	/*
	 * False: events of this class are no tracepoints of Linux. `fields` NULL: out->record is
	 * not asked for.
	 */
	bool (*tracepoint)(const struct event_class *class, const struct fields *fields,
			   struct tracepoint *out);
	/*
	 * Texts ask `resolver` for kernel functions before what the part brings along; NULL ends
	 * that. Not while texts are made.
	 */
	void (*set_resolver)(struct part *part, kernel_resolver *resolver, void *arg);
};

/* Whose an address is, by the event that has it. */
enum whose {
	WHOSE_PROCESS,
	WHOSE_KERNEL,
	WHOSE_OTHERS /* a hypervisor, guests, and what the event does not say: no maps tell of it */
};

/* Which files were mapped at which addresses. */
struct reader_maps {
	/* Calls `each` for all changes of address spaces, in order of time. */
	bool (*all)(const struct part *part, void (*each)(void *arg, const struct map_event *event),
		    void *arg, struct error *err);
	/* Only those that hold from the start; little is read where they stand in front. Or NULL.
	 */
	bool (*first)(const struct part *part,
		      void (*each)(void *arg, const struct map_event *event), void *arg,
		      struct error *err);
	/*
	 * Whose the member `ip` of an event of decoder_fields() is; false: the event does not say
	 * it. Or NULL.
	 */
	bool (*whose)(const struct fields *fields, enum whose *out);
	/*
	 * Adds the process' addresses, 64 bits each and marks among them, that a call chain of
	 * thread `tid` at `t` promised under `cookie`; none where they were not recorded. Or NULL.
	 */
	void (*deferred)(const struct part *part, nstime t, int64_t tid, uint64_t cookie,
			 struct buf *out);
};

/* Raw hardware traces. */
struct reader_aux {
	/* Calls `each` for all chunks, in file order; false from it ends. */
	bool (*chunks)(const struct part *part, struct aux_kind *kind,
		       bool (*each)(void *arg, const struct aux_chunk *chunk, struct error *err),
		       void *arg, struct error *err);
};

struct reader {
	const char *format;     /* "ctf", "perf", "ftrace", ...: the FORMAT of rules */
	const char *looks_like; /* for people: its name, and which files or folders it is */
	bool values; /* decoder_next() decodes values where the batch has room for them */
	bool falls;  /* times may fall inside of a packet whose record does not say so */
	bool rises;  /* events are written as time goes on: where times fall, the clock stepped back */

	/* How sure: 0 not this format, 100 certain. */
	int (*probe)(const struct probe *probe);
	/*
	 * Of a folder that probe() knows: does it hold traces that were recorded apart, which
	 * open() would merge? May be NULL: a folder is one trace.
	 */
	bool (*is_collection)(const char *path);
	/* Adds parts, clocks, streams and classes. `settings` is what follows FORMAT in --input. */
	bool (*open)(struct trace *trace, const char *path, const char *settings,
		     enum source_mode mode, struct error *err);
	void (*close)(struct part *part); /* frees what the part's and its streams' priv own */

	/*
	 * The next record in file order. STEP_ERROR: the rest of this source cannot be found (the
	 * caller reports it; calling again goes on with the next source, if any).
	 * What *out points to lives until the next call with the same `scan`... in priv of it.
	 */
	enum step (*scan)(const struct stream *stream, struct scan *scan, struct packet_info *out,
			  struct error *err);
	/* May be NULL. How many records the stream has, when record i can be had without a scan. */
	bool (*computed)(const struct stream *stream, uint64_t *count);
	/* Record i of a computed table; false when the file is not as regular as it seemed. */
	bool (*packet_at)(const struct stream *stream, uint64_t i, struct packet_info *out,
			  struct error *err);

	/* A decoder reads one packet at a time of one stream and belongs to one thread. */
	struct decoder *(*decoder_new)(const struct stream *stream);
	void (*decoder_free)(struct decoder *decoder);
	/* Turns to a packet. `info` is copied; its extents must live until the next open. */
	bool (*decoder_open)(struct decoder *decoder, const struct packet_info *info,
			     struct error *err);
	/* Gives back the packet's bytes; decoder_free() does it too. */
	void (*decoder_leave)(struct decoder *decoder);
	/*
	 * Fills *batch with up to batch->capacity heads, in file order. STEP_ITEM: count > 0.
	 * STEP_ERROR: damage; count may be > 0, and these events are good. The packet has ended.
	 * Fills batch->slots too, where `values` is true.
	 */
	enum step (*decoder_next)(struct decoder *decoder, struct batch *batch, struct error *err);
	/*
	 * Prefetches the bytes that decoder_next() begins with: a thread that goes from one of
	 * many decoders to the next would wait for them. A packet is open. NULL: nothing is
	 * prefetched.
	 */
	void (*decoder_prefetch)(const struct decoder *decoder);
	/* Between two batches: where the decoder stands, and back to there (same packet). */
	void (*decoder_mark)(const struct decoder *decoder, struct mark *mark);
	void (*decoder_seek)(struct decoder *decoder, const struct mark *mark);
	/*
	 * The values of event i of a batch of the packet that is open. *out is borrowed until the
	 * next call with this decoder.
	 */
	bool (*decoder_fields)(struct decoder *decoder, const struct batch *batch, uint32_t i,
			       struct fields *out, struct error *err);

	/*
	 * Bits that event i of a batch of the packet that is open takes: its header, contexts and
	 * payload, and what must lie between it and the next event's header. 0: it cannot be found.
	 */
	uint64_t (*event_bits)(struct decoder *decoder, const struct batch *batch, uint32_t i);
	/* Events follow one another: what one takes ends where the next of its batch begins. */
	bool gapless;

	/* Each below may be NULL: the format has no such thing. */

	/* As trace_watermark(), of a stream of a trace that grows, all of whose records were found. */
	bool (*watermark)(const struct stream *stream, nstime *until);

	/*
	 * May a scan go on from where one stood when the trace was shorter? Not where what came
	 * since changes records of before, as packets do that lie out of their order.
	 */
	bool (*goes_on)(const struct stream *stream, const struct scan *scan);

	/*
	 * Loads the value at `place`, which column_place() found, of entries[0..n) of the batch;
	 * all are of one class. False: not all can be had so, and decoder_fields() says why.
	 */
	bool (*decoder_column)(struct decoder *decoder, const struct batch *batch,
			       const uint16_t *entries, uint32_t n,
			       const struct column_place *place, uint64_t *values);
	const struct reader_text *text;
	const struct reader_maps *maps;
	const struct reader_aux *aux;
};

/* One per format, each defined in its folder. */
extern const struct reader ctf_reader, perf_reader, ftrace_reader, ovni_reader, gdb_reader,
	sel4_reader;

/* As reader->goes_on, true where it is NULL. */
static inline bool reader_goes_on(const struct reader *reader, const struct stream *stream,
				  const struct scan *scan)
{
	return !reader->goes_on || reader->goes_on(stream, scan);
}
/* A `watermark` of formats whose files are written when the recording has ended. */
bool reader_watermark_whole(const struct stream *stream, nstime *until);
/* The reader that knows the file or folder best; NULL and ERR_FORMAT when none does. */
MUST_CHECK const struct reader *reader_detect(const char *path, struct error *err);
/*
 * The same for a search through many files; *sure, 1 to 100, is how well the reader knows the path.
 * NULL with err->kind ERR_NONE: no reader knows it.
 */
MUST_CHECK const struct reader *reader_guess(const char *path, int *sure, struct error *err);
const struct reader *reader_named(const char *format); /* NULL when there is none */
const struct reader *reader_at(size_t i);              /* all there are; NULL behind the last */
/* Adds the names of all formats: "ctf, perf or ftrace" where `last` is " or ". */
void reader_names(struct buf *out, const char *last);
/* For tests: puts one more reader before the built-in ones. Not for use while traces are open. */
void reader_register(const struct reader *reader);

#endif
