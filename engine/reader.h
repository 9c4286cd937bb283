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

/* Whether the format's own tool (trace-cmd, perf script, ...) has a text for an event. */
enum event_words {
	WORDS_NONE, /* no text for events of this class */
	WORDS_LINE,
	WORDS_LINES /* the text may contain newlines */
};

/*
 * A change of an address space; symbols are found by these. Names and build ids are borrowed for
 * the call.
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
	bool data;        /* MAP_ADD: the mapping is not executable */
};

/*
 * Returns the name of the kernel function at or below an address, and its address in *start; NULL:
 * not known. Thread-safe; names live as long as the resolver is set.
 */
typedef const char *kernel_resolver(void *arg, uint64_t address, uint64_t *start);

/* A piece of a raw hardware trace: consecutive bytes of the buffer of one CPU or thread. */
struct aux_chunk {
	int32_t cpu;        /* -1: of a thread */
	int64_t tid;        /* -1: of a CPU */
	uint32_t index;     /* number of the buffer, where neither is known */
	uint64_t offset;    /* in that buffer, bytes */
	uint64_t reference; /* perf's reference number of the record that holds them */
	struct source *source;
	uint64_t at, len; /* the bytes, in the source */
	bool truncated;   /* the recorder lost what follows */
};

/* Parameters for decoding the bytes, from perf's PERF_RECORD_AUXTRACE_INFO. */
struct aux_kind {
	const char *name; /* "intel_pt", "arm_spe", ... */
	bool is_intel_pt;
	uint16_t time_shift;
	uint32_t time_mult;
	uint64_t time_zero;
	bool has_time;
};

enum { SCAN_PRIV_MAX = 64 };

/* How far a scan has come. Plain data, stored with the table: the scan of a grown trace resumes. */
struct scan {
	uint32_t source; /* being scanned */
	uint32_t reserved;
	uint64_t next;               /* offset of the next packet in it */
	uint64_t emitted;            /* records so far */
	uint8_t priv[SCAN_PRIV_MAX]; /* the reader's; all zeros at the start */
};

/* A restart point inside a packet: the state a decoder needs to go on from an event. Plain data. */
struct mark {
	uint64_t at;      /* position in the packet, bits */
	uint64_t clock;   /* the clock's value so far, cycles */
	uint64_t more[2]; /* the format's */
	uint32_t index; /* number of the event in its packet */
};

/* A tracepoint's record as the kernel wrote it, from common_type on, and the format that it has. */
struct tracepoint {
	const struct tracing *tracing;
	const struct tracing_format *format;
	const uint8_t *record;
	size_t size;
};

struct decoder;

/* Events as the format's own tool prints them. Each function but write() may be NULL. */
struct reader_text {
	/*
	 * Appends the payload as the tool prints it, without a newline at the end. `fields` come
	 * from decoder_fields().
	 */
	enum event_words (*write)(const struct fields *fields, struct buf *out);
	/*
	 * Fills *out. False: the class is no tracepoint of Linux. With `fields` NULL out->record
	 * and out->size are not set.
	 */
	bool (*tracepoint)(const struct event_class *class, const struct fields *fields,
			   struct tracepoint *out);
	/*
	 * Sets the resolver that names kernel functions in texts, before the part's own symbols;
	 * NULL removes it. Not to be called while texts are made.
	 */
	void (*set_resolver)(struct part *part, kernel_resolver *resolver, void *arg);
};

/* The address space that an event's address belongs to. */
enum whose {
	WHOSE_PROCESS,
	WHOSE_KERNEL,
	WHOSE_OTHERS /* a hypervisor's or a guest's, or not known: no maps cover it */
};

/* Which files were mapped at which addresses. */
struct reader_maps {
	/* Calls `each` for all changes of address spaces, by rising time. */
	bool (*all)(const struct part *part, void (*each)(void *arg, const struct map_event *event),
		    void *arg, struct error *err);
	/* As all(), but only for changes with t NSTIME_MIN: cheap where a file begins with them.
	   May be NULL. */
	bool (*first)(const struct part *part,
		      void (*each)(void *arg, const struct map_event *event), void *arg,
		      struct error *err);
	/*
	 * The address space of the event's member `ip`; false: the event does not tell it. May be
	 * NULL.
	 */
	bool (*whose)(const struct fields *fields, enum whose *out);
	/*
	 * Appends the user-space addresses, 64 bits each with marks among them, that perf recorded
	 * later under `cookie` for a call chain of thread `tid` at `t`; none if missing. May be
	 * NULL.
	 */
	void (*deferred)(const struct part *part, nstime t, int64_t tid, uint64_t cookie,
			 struct buf *out);
};

/* Raw hardware traces. */
struct reader_aux {
	/* Fills *kind and calls `each` for all chunks, in file order, until it returns false. */
	bool (*chunks)(const struct part *part, struct aux_kind *kind,
		       bool (*each)(void *arg, const struct aux_chunk *chunk, struct error *err),
		       void *arg, struct error *err);
};

struct reader {
	const char *format;     /* "ctf", "perf", "ftrace", ...: the FORMAT of rules */
	const char *looks_like; /* for people: its name, and which files or folders it is */
	bool values; /* decoder_next() decodes values where the batch has room for them */
	bool falls;  /* times may fall inside a packet without PACKET_UNSORTED in its record */
	bool rises; /* events are written in order of time: a falling time is a clock's step back */

	/* How sure the reader is that the path is of its format: 0 not at all, 100 certain. */
	int (*probe)(const struct probe *probe);
	/* Format whose reader also accepts a folder that probe() accepted, since it has its form;
	   NULL: none. */
	const char *form_of;
	/*
	 * Does a folder that probe() accepted hold several traces recorded independently, which
	 * open() would merge? NULL: a folder is always one trace.
	 */
	bool (*is_collection)(const char *path);
	/* Adds parts, clocks, streams and classes. `settings` is what follows FORMAT in --input. */
	bool (*open)(struct trace *trace, const char *path, const char *settings,
		     enum source_mode mode, struct error *err);
	void (*close)(struct part *part); /* frees `priv` of the part and of its streams */

	/*
	 * The next packet record in file order. STEP_ERROR: no more packets can be found in this
	 * source (the caller reports it; the next call goes on with the next source, if any). What
	 * *out points to lives until the next call with the same `scan`.
	 */
	enum step (*scan)(const struct stream *stream, struct scan *scan, struct packet_info *out,
			  struct error *err);
	/* True, and the count of records, when packet_at() can read any of them without a scan.
	   May be NULL. */
	bool (*computed)(const struct stream *stream, uint64_t *count);
	/* Record i of a computed table; false: the file is not as regular as computed() took it. */
	bool (*packet_at)(const struct stream *stream, uint64_t i, struct packet_info *out,
			  struct error *err);

	/* A decoder reads one packet at a time of one stream and belongs to one thread. */
	struct decoder *(*decoder_new)(const struct stream *stream);
	void (*decoder_free)(struct decoder *decoder);
	/* Opens a packet. `info` is copied; its extents must live until the next open. */
	bool (*decoder_open)(struct decoder *decoder, const struct packet_info *info,
			     struct error *err);
	/* Releases the packet's bytes; decoder_free() does it too. */
	void (*decoder_leave)(struct decoder *decoder);
	/*
	 * Fills *batch with up to batch->capacity heads, in file order. STEP_ITEM: count > 0.
	 * STEP_ERROR: damage; count may be > 0, and these events are good. The packet has ended.
	 * Fills batch->slots too, where `values` is true.
	 */
	enum step (*decoder_next)(struct decoder *decoder, struct batch *batch, struct error *err);
	/*
	 * Prefetches the bytes that decoder_next() will read first, so that a thread with many
	 * decoders need not wait for them. A packet must be open. May be NULL.
	 */
	void (*decoder_prefetch)(const struct decoder *decoder);
	/* Between two batches: save the decoder's position, and return to it (same packet). */
	void (*decoder_mark)(const struct decoder *decoder, struct mark *mark);
	void (*decoder_seek)(struct decoder *decoder, const struct mark *mark);
	/*
	 * The values of event i of a batch of the packet that is open. *out is borrowed until the
	 * next call with this decoder.
	 */
	bool (*decoder_fields)(struct decoder *decoder, const struct batch *batch, uint32_t i,
			       struct fields *out, struct error *err);

	/*
	 * Size in bits of event i of a batch of the open packet: header, contexts, payload, and
	 * the padding before the next event's header. 0: its end cannot be found.
	 */
	uint64_t (*event_bits)(struct decoder *decoder, const struct batch *batch, uint32_t i);
	/* An event's size is the distance to the next event of its batch: nothing lies between. */
	bool gapless;

	/* Each below may be NULL: the format has no such thing. */

	/* As trace_watermark(), of a stream of a growing trace that was scanned to its end. */
	bool (*watermark)(const struct stream *stream, nstime *until);

	/*
	 * May a scan of a grown trace resume at *scan? False where new bytes change records that
	 * were found before, as packets out of order do.
	 */
	bool (*goes_on)(const struct stream *stream, const struct scan *scan);

	/*
	 * Loads the value at `place`, which column_place() found, of entries[0..n) of the batch;
	 * all are of one class. False: some could not be loaded; decoder_fields() tells why.
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
/* reader->watermark of formats whose files are complete as soon as they exist. */
bool reader_watermark_whole(const struct stream *stream, nstime *until);
/*
 * The reader whose probe() is surest of the path; NULL and ERR_FORMAT when none accepts it.
 * *beside: another one that accepts it, if it is a folder; or NULL.
 */
MUST_CHECK const struct reader *reader_detect(const char *path, const struct reader **beside,
					      struct error *err);
/*
 * The same for a search through many files; *sure is what probe() returned, 1 to 100. NULL with
 * err->kind ERR_NONE: no reader accepts the path.
 */
MUST_CHECK const struct reader *reader_guess(const char *path, int *sure, struct error *err);
const struct reader *reader_named(const char *format); /* NULL when there is none */
const struct reader *reader_at(size_t i);              /* the i-th of all; NULL behind the last */
/* Appends the names of all formats: "ctf, perf or ftrace" where `last` is " or ". */
void reader_names(struct buf *out, const char *last);
/* For tests: puts one more reader before the built-in ones. Not for use while traces are open. */
void reader_register(const struct reader *reader);

#endif
