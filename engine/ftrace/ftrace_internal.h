/*
 * ftrace_internal.h - what the files of the trace.dat reader share
 *
 *     ftrace_open.c a file → part, clocks, streams        raw.c  a folder of page files → the same
 *     file.c        numbers and names at an offset, environment, clocks
 *     file6.c       version 6: one run of texts, then tables of pages
 *     file7.c       version 7: sections and chains of options
 *     options.c     one option → struct ftrace_file        decompress.c  zlib and zstd
 *     ftrace_classes.c formats → event classes
 *     time.c        stamps of the ring buffer → ns
 *     pages.c       page heads; runs of pages → packet records
 *     chunks.c      compressed chunks of pages → packet records
 *     chunk_cache.c the places of chunks, stored on the disk for later runs
 *     ftrace_decode.c one packet → heads → fields
 *     cmdlines.c    the saved command lines as a stream of events
 *     ftrace_maps.c kernel symbols and process maps → changes of address spaces
 */
#ifndef ENGINE_FTRACE_FTRACE_INTERNAL_H
#define ENGINE_FTRACE_FTRACE_INTERNAL_H

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/kernel/tracing.h"
#include "engine/reader.h"

#include <pthread.h>
#include <string.h>

enum { PAGE_MAX = 16 << 20, TYPES = 65536, CPUS_MAX = 1 << 16, OPTION_HEAD = 6 };

enum codec { CODEC_NONE, CODEC_ZLIB, CODEC_ZSTD, CODEC_UNKNOWN };

/* A guest's clock against its host's (option TIME_SHIFT): per CPU, from each sample's time on. */
struct shift_sample {
	uint64_t time;
	int64_t offset, scaling;
	uint32_t fraction; /* bits of `scaling` behind the binary point */
};

struct shift_cpu {
	struct shift_sample *samples; /* in order of time, no two equal */
	uint32_t count;
};

struct time_shift {
	uint32_t flags, ncpus; /* flags: bit 0 interpolate the offset between two samples */
	struct shift_cpu *cpus;
};

struct cpu_pages { /* where one CPU's pages are */
	uint32_t cpu;
	uint64_t offset, size;
};

struct buffer { /* an instance of the kernel's ring buffer; the top one is named "" */
	const char *name, *clock;
	uint32_t page_bytes;
	bool compressed;
	uint64_t at; /* offset of its tables (version 6), of its section (version 7) */
	struct cpu_pages *cpus;
	uint32_t ncpus;
};

/* A part's priv. All memory is the trace's arena's, except what file_release() frees. */
struct ftrace_file {
	struct trace *trace;
	struct part *part;
	const char *path;
	struct source *source; /* the trace's; NULL: a folder of page files */
	struct tracing *tracing;
	struct tracing_page page;
	bool big_endian;
	bool grows; /* the trace is still written */
	unsigned long_bytes;
	uint32_t page_bytes;
	enum codec codec;
	const char *codec_name;

	/* event_class->index by common_type; [TYPES] is for all types without a format */
	uint32_t *class_of;
	uint32_t type_at, type_bytes, greatest_slots;

	/* by options */
	int64_t date_ns, offset_ns;
	bool has_date, has_cpus;
	uint32_t cpus;
	uint32_t tsc_mult, tsc_shift; /* mult 0: stamps are not converted */
	const char *clock;            /* the active clock of TRACECLOCK; NULL: unknown */
	bool clock_follows;           /* version 6: the clock's text is behind the tables */
	struct time_shift shift;
	const char **procmaps;
	size_t nprocmaps, procmaps_capacity;
	struct buffer *buffers;
	size_t nbuffers, buffers_capacity;
	uint64_t reserved;   /* bytes of the file; see ftrace_reserve() */
	uint64_t compressed; /* compressed bytes of all sections that were decompressed */
	uint64_t expanded;   /* their decompressed bytes */
	uint32_t streams;  /* rows of all tables of pages */
	struct env_entry *env;
	size_t nenv, env_capacity;

	/* saved command lines: a piece of the file, or text in memory */
	struct source *cmdlines;
	uint64_t cmdlines_at, cmdlines_bytes;

	struct chunk_cache *cache; /* NULL: no places of chunks are stored */
	void *digest; /* XXH3 state of the description while opening */
	pthread_mutex_t lock;
};

struct chunk {                 /* compressed pages */
	uint64_t offset;       /* of the compressed bytes, in the source */
	uint32_t bytes, plain; /* compressed bytes, decompressed bytes */
};

enum content { CONTENT_PAGES, CONTENT_CHUNKS, CONTENT_CMDLINES };

/* A stream's priv. */
struct ftrace_stream {
	struct ftrace_file *file;
	enum content content;
	uint32_t class_index; /* of the saved command lines' events */
	uint32_t page_bytes;
	uint64_t offset, size; /* of the data in source 0; the last page may be cut off */
	bool cut;              /* the file ends before the pages do */
	struct chunk *chunks;
	struct extent *extents; /* parallel to chunks */
	uint32_t nchunks;
	uint32_t *packets; /* index of each packet's first chunk; [npackets] is nchunks */
	uint32_t npackets;
	struct survey *surveys; /* page heads of each packet so far; guarded by file->lock */
};

/* Returns the bytes of a packet's pages, at least one page. */
static inline uint32_t ftrace_packet_bytes(const struct ftrace_stream *own)
{
	const uint32_t asked = own->file->trace->packet_bytes;

	/* growing trace: a written page never changes, so a packet of one page is final */
	return own->file->grows ? own->page_bytes : asked ? asked : 65536;
}

struct ftrace_class {
	struct ftrace_file *file;
	const struct tracing_format *format; /* NULL: raw bytes */
};

static inline const struct ftrace_stream *ftrace_own(const struct stream *stream)
{
	return stream->priv;
}

/* Reads a number of `count` bytes in the file's byte order. */
static inline uint64_t ftrace_load(const uint8_t *bytes, unsigned count, bool big_endian)
{
	return big_endian ? load_be(bytes, count) : load_le(bytes, count);
}

/* How a stream's stamps become ns. */
struct stamp_clock {
	bool plain; /* ns = stamp + origin, for stamps up to 2^62 */
	nstime plain_origin;
	__int128 origin;
	uint32_t mult, shift;
	const struct shift_cpu *guest; /* NULL: none */
	uint32_t guest_flags;
};

struct page_head {
	uint64_t stamp;
	uint32_t used; /* bytes of entries, unverified */
	bool missed;   /* events were lost before this page */
	bool counted;  /* the number of lost events is behind the entries */
};

/* file.c */
/* Reads a text that ends with a zero, and moves *at behind it. NULL and *err: cut short. */
MUST_CHECK char *ftrace_read_name(struct ftrace_file *file, uint64_t *at, struct error *err);
MUST_CHECK bool ftrace_read_number(struct ftrace_file *file, uint64_t *at, unsigned bytes,
				   uint64_t *out, struct error *err);
/* As source_peek(), but the error's text does not name the file. */
MUST_CHECK bool ftrace_peek(const struct ftrace_file *file, uint64_t at, void *to, size_t bytes,
			    struct error *err);
bool ftrace_cut_short(const struct ftrace_file *file, const char *what, uint64_t at,
		      struct error *err);
/*
 * Counts bytes of options, tables and chunks as read. False: together they are more than the file
 * has, so offsets lead to some of them more than once, maybe in an endless loop.
 */
MUST_CHECK bool ftrace_reserve(struct ftrace_file *file, uint64_t bytes, struct error *err);
void ftrace_digest(struct ftrace_file *file, const void *bytes, size_t count);
void ftrace_env(struct ftrace_file *file, const char *name, const char *text);
int32_t ftrace_add_clock(struct ftrace_file *file, const char *name);

/* open.c */
MUST_CHECK bool ftrace_open(struct trace *trace, const char *path, const char *settings,
			    enum source_mode mode, struct error *err);
void ftrace_close(struct part *part);
/* Adds a stream of pages. The caller has added `source` to the trace. */
struct stream *ftrace_add_pages(struct ftrace_file *file, const struct buffer *buffer,
				const struct cpu_pages *cpu, int32_t clock, struct source *source);
struct ftrace_file *ftrace_file_new(struct trace *trace, const char *path);
/* Sets the part's environment and identity. Call when all is added. */
void ftrace_finish(struct ftrace_file *file);

/* Does header_page describe pages that this reader can read? */
MUST_CHECK bool ftrace_page_known(const struct ftrace_file *file, struct error *err);

/* raw.c */
bool ftrace_is_raw_folder(const char *path);
MUST_CHECK bool ftrace_open_raw(struct trace *trace, const char *path, enum source_mode mode,
				struct error *err);

/* file6.c, file7.c: read the file from byte `at`, behind the common start. False: unusable. */
MUST_CHECK bool ftrace_read_6(struct ftrace_file *file, uint64_t at, struct error *err);
MUST_CHECK bool ftrace_read_7(struct ftrace_file *file, uint64_t at, struct error *err);

/* options.c: behind the `size` bytes at `data` there must be a zero byte */
enum option {
	OPTION_DONE,
	OPTION_DATE,
	OPTION_CPUSTAT,
	OPTION_BUFFER,
	OPTION_TRACECLOCK,
	OPTION_UNAME,
	OPTION_HOOK,
	OPTION_OFFSET,
	OPTION_CPUCOUNT,
	OPTION_VERSION,
	OPTION_PROCMAPS,
	OPTION_TRACEID,
	OPTION_TIME_SHIFT,
	OPTION_GUEST,
	OPTION_TSC2NSEC,
	OPTION_STRINGS,
	OPTION_HEADER_INFO,
	OPTION_FTRACE_EVENTS,
	OPTION_EVENT_FORMATS,
	OPTION_KALLSYMS,
	OPTION_PRINTK,
	OPTION_CMDLINES,
	OPTION_BUFFER_TEXT,
	OPTION_COUNT
};
/* Reads one option into *file. False: it is damaged, *err says how; other options may be good. */
MUST_CHECK bool ftrace_option(struct ftrace_file *file, unsigned id, const uint8_t *data,
			      size_t size, struct error *err);
/* Returns the bracketed word of "local [global] ...", in the arena; NULL: there is none. */
const char *ftrace_active_clock(struct ftrace_file *file, const char *text);
struct buffer *ftrace_add_buffer(struct ftrace_file *file, const char *name);
/* Allocates buffer->cpus for `cpus` rows; false: too many. */
MUST_CHECK bool ftrace_add_cpus(struct ftrace_file *file, struct buffer *buffer, uint32_t cpus,
				struct error *err);

/* decompress.c */
enum codec codec_named(const char *name);
/* Decompresses to exactly `plain` bytes at `out`; any other number is ERR_FORMAT. */
MUST_CHECK bool codec_expand(enum codec codec, const uint8_t *bytes, size_t count, uint8_t *out,
			     size_t plain, struct error *err);
/* Decompresses the first `want` bytes only. */
MUST_CHECK bool codec_begin(enum codec codec, const uint8_t *bytes, size_t count, uint8_t *out,
			    size_t want, struct error *err);

/* classes.c */
MUST_CHECK bool ftrace_add_classes(struct ftrace_file *file, struct error *err);

/* time.c */
void stamp_clock_of(const struct stream *stream, struct stamp_clock *out);
bool stamp_to_ns(const struct stamp_clock *clock, uint64_t stamp, nstime *out);
nstime stamp_to_ns_clamped(const struct stamp_clock *clock, uint64_t stamp);

/* pages.c */
void page_head_parse(const struct ftrace_file *file, const uint8_t *bytes, struct page_head *out);
/* Returns how many events were lost before the page at data[0..bytes); 0: unknown. */
uint64_t page_lost(const struct ftrace_file *file, const uint8_t *data, size_t bytes,
		   const struct page_head *head);
uint64_t pages_count(const struct ftrace_stream *own);
/* As trace_watermark(): the time of the last event, as pages of a CPU are in order of time. */
bool ftrace_watermark(const struct stream *stream, nstime *until);
/* Finds least and greatest time of a packet by decoding; *fell: time falls. False: no events. */
bool packet_times(const struct stream *stream, const struct packet_info *info, nstime *first,
		  nstime *last, bool *fell);
MUST_CHECK enum step ftrace_scan(const struct stream *stream, struct scan *scan,
				 struct packet_info *out, struct error *err);
bool ftrace_computed(const struct stream *stream, uint64_t *count);
MUST_CHECK bool ftrace_packet_at(const struct stream *stream, uint64_t i, struct packet_info *out,
				 struct error *err);

/* chunks.c */
/* Finds the chunks of the table at byte `at`; false: only some, *err says why. */
MUST_CHECK bool chunks_find(struct ftrace_stream *own, struct source *source, uint64_t at,
			    struct error *err);
/* Decompresses `nchunks` chunks from `first` on, one behind the other, to *out, which grows as
   needed; *size is their bytes. */
MUST_CHECK bool chunks_expand(const struct stream *stream, uint32_t first, uint32_t nchunks,
			      uint8_t **out, size_t *capacity, size_t *size, struct error *err);
/* Finds the index of the chunk whose data begin at `offset`; false: there is none. */
bool chunks_at(const struct ftrace_stream *own, uint64_t offset, uint32_t *out);
/* Makes packet record i. `after` is the time of a record without events. With `regular`, returns
   false if the record cannot be in a table in order of time. */
bool chunks_packet(const struct stream *stream, uint32_t i, bool regular, nstime after,
		   struct packet_info *out);

/* chunk_cache.c: the other functions do nothing if file->cache is NULL */
struct chunk_cache *chunk_cache_new(struct ftrace_file *file); /* NULL: no cache is possible */
void chunk_cache_free(struct chunk_cache *cache);
/* Returns the chunks that an earlier run found for the table at byte `at`; NULL: none. */
const struct chunk *chunk_cache_find(const struct ftrace_file *file, uint64_t at, uint64_t *count);
/* Adds the chunks of a table. `searched`: this run read all their heads. */
void chunk_cache_add(struct ftrace_file *file, uint64_t at, const struct chunk *chunks,
		     uint64_t count, bool searched);
/* Stores the tables if they are complete (`whole`) and took a long search; frees the buffers. */
void chunk_cache_end(struct ftrace_file *file, bool whole);
void chunk_cache_forget(const struct ftrace_file *file); /* deletes the stored file: it is wrong */

/* cmdlines.c */
MUST_CHECK bool ftrace_add_cmdlines(struct ftrace_file *file, struct error *err);
bool cmdlines_next(const uint8_t *data, size_t size, size_t *at, size_t *begin);
void cmdlines_fields(const struct event_class *class, const uint8_t *line, size_t size,
		     struct slot *slots);

/* maps.c */
void ftrace_find_recording(struct ftrace_file *file); /* once all options are read */
MUST_CHECK bool ftrace_maps(const struct part *part,
			    void (*each)(void *arg, const struct map_event *event), void *arg,
			    struct error *err);

/* decode.c */
struct decoder *ftrace_decoder_new(const struct stream *stream);
void ftrace_decoder_free(struct decoder *decoder);
MUST_CHECK bool ftrace_decoder_open(struct decoder *decoder, const struct packet_info *info,
				    struct error *err);
void ftrace_decoder_leave(struct decoder *decoder);
MUST_CHECK enum step ftrace_decoder_next(struct decoder *decoder, struct batch *batch,
					 struct error *err);

#endif
