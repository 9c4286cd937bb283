/*
 * perf_internal.h - what the files of the perf.data reader share
 *
 *     header.c    file, pipe, directory or turns → attributes, features: struct perf_part
 *     metadata.c  records in front of the first sample → attributes of a pipe, ids, CPUs
 *     features.c  what the recorder tells of its machine and itself
 *     target.c    is it of CPUs or of tasks?
 *     perf_unknown.c what a newer kernel or perf wrote: told, counted
 *     records.c   one record: its size, event id, time and CPU; all records of a part in file order
 *     spill.c     compressed records → one decompressed copy per file
 *     copy_cache.c such a copy, on the disk for later runs
 *     classes.c   attributes and record types → event classes
 *     flat.c      a class' items → loads at places that are known
 *     walk.c      the one walk over all records → packet records of every stream
 *     turns.c     which files of a folder are turns of one recording
 *     decode.c    one packet → heads → fields
 *     maps.c      what was mapped where, in order of time
 *
 * Sources are numbered as in every stream of the part: the files, then their decompressed copies;
 * of a recording in turns, each file with its copy behind it.
 */
#ifndef ENGINE_PERF_PERF_INTERNAL_H
#define ENGINE_PERF_PERF_INTERNAL_H

#include "engine/base/cursor.h"
#include "engine/kernel/tracing.h"
#include "engine/layout_fast.h"
#include "engine/reader.h"

#include <stdatomic.h>
#include <string.h>

/* Record types. linux/perf_event.h, tools/lib/perf/include/perf/event.h. */
enum perf_type {
	PERF_MMAP = 1,
	PERF_LOST = 2,
	PERF_COMM = 3,
	PERF_EXIT = 4,
	PERF_THROTTLE = 5,
	PERF_UNTHROTTLE = 6,
	PERF_FORK = 7,
	PERF_READ = 8,
	PERF_SAMPLE = 9,
	PERF_MMAP2 = 10,
	PERF_AUX = 11,
	PERF_ITRACE_START = 12,
	PERF_LOST_SAMPLES = 13,
	PERF_SWITCH = 14,
	PERF_SWITCH_CPU_WIDE = 15,
	PERF_NAMESPACES = 16,
	PERF_KSYMBOL = 17,
	PERF_BPF_EVENT = 18,
	PERF_CGROUP = 19,
	PERF_TEXT_POKE = 20,
	PERF_AUX_OUTPUT_HW_ID = 21,
	PERF_CALLCHAIN_DEFERRED = 22,
	PERF_KNOWN_TYPES = 23,  /* below: their bodies are known */
	PERF_KERNEL_TYPES = 64, /* below: written by the kernel, with an id trailer */
	PERF_HEADER_ATTR = 64,
	PERF_HEADER_TRACING_DATA = 66,
	PERF_HEADER_BUILD_ID = 67,
	PERF_FINISHED_ROUND = 68,
	PERF_ID_INDEX = 69,
	PERF_AUXTRACE_INFO = 70,
	PERF_AUXTRACE = 71,
	PERF_THREAD_MAP = 73,
	PERF_STAT = 76,
	PERF_EVENT_UPDATE = 78,
	PERF_TIME_CONV = 79,
	PERF_HEADER_FEATURE = 80,
	PERF_COMPRESSED = 81,
	PERF_FINISHED_INIT = 82,
	PERF_COMPRESSED2 = 83,
	PERF_SCHEDSTAT_CPU = 85,
	PERF_TOOL_TYPES = 87 /* from 64 to below: perf's own, as far as they are known */
};

enum perf_sample_bit {
	SAMPLE_IP = 1 << 0,
	SAMPLE_TID = 1 << 1,
	SAMPLE_TIME = 1 << 2,
	SAMPLE_ADDR = 1 << 3,
	SAMPLE_READ = 1 << 4,
	SAMPLE_CALLCHAIN = 1 << 5,
	SAMPLE_ID = 1 << 6,
	SAMPLE_CPU = 1 << 7,
	SAMPLE_PERIOD = 1 << 8,
	SAMPLE_STREAM_ID = 1 << 9,
	SAMPLE_RAW = 1 << 10,
	SAMPLE_BRANCH_STACK = 1 << 11,
	SAMPLE_REGS_USER = 1 << 12,
	SAMPLE_STACK_USER = 1 << 13,
	SAMPLE_WEIGHT = 1 << 14,
	SAMPLE_DATA_SRC = 1 << 15,
	SAMPLE_IDENTIFIER = 1 << 16,
	SAMPLE_TRANSACTION = 1 << 17,
	SAMPLE_REGS_INTR = 1 << 18,
	SAMPLE_PHYS_ADDR = 1 << 19,
	SAMPLE_AUX = 1 << 20,
	SAMPLE_CGROUP = 1 << 21,
	SAMPLE_DATA_PAGE_SIZE = 1 << 22,
	SAMPLE_CODE_PAGE_SIZE = 1 << 23,
	SAMPLE_WEIGHT_STRUCT = 1 << 24,
	SAMPLE_KNOWN = (1 << 25) - 1
};

enum perf_read_bit {
	READ_ENABLED = 1 << 0,
	READ_RUNNING = 1 << 1,
	READ_ID = 1 << 2,
	READ_GROUP = 1 << 3,
	READ_LOST = 1 << 4,
	READ_KNOWN = (1 << 5) - 1
};

#define ATTR_ENABLE_ON_EXEC (UINT64_C(1) << 12)
#define ATTR_SAMPLE_ID_ALL (UINT64_C(1) << 18)
#define ATTR_USE_CLOCKID (UINT64_C(1) << 25)
#define ATTR_WRITE_BACKWARD (UINT64_C(1) << 27)
#define ATTR_FLAGS_KNOWN ((UINT64_C(1) << 40) - 1)
/* In branch_sample_type: */
#define BRANCH_HW_INDEX (UINT64_C(1) << 17)
#define BRANCH_COUNTERS (UINT64_C(1) << 19)
#define BRANCH_KNOWN ((UINT64_C(1) << 20) - 1)

enum perf_feature {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OS_RELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CPU_DESC = 8,
	FEATURE_CPUID = 9,
	FEATURE_TOTAL_MEM = 10,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_AUXTRACE = 18,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_DIR_FORMAT = 24,
	FEATURE_COMPRESSED = 27,
	FEATURE_CLOCK_DATA = 29,
	FEATURES_KNOWN = 34,
	FEATURES = 256
};

/* Bits of misc, by record type. */
enum perf_misc {
	MISC_COMM_EXEC = 1 << 13,
	MISC_MMAP_DATA = 1 << 13,
	MISC_SWITCH_OUT = 1 << 13,
	MISC_SWITCH_PREEMPT = 1 << 14,
	MISC_MMAP_BUILD_ID = 1 << 14
};

enum { PERF_ABI_64 = 2 }; /* the greatest value of what says how registers are laid out */
enum { RECORD_HEAD = 8, RECORD_MOST = 65535, FILE_HEAD = 104, PIPE_HEAD = 16 };

/* Where, in a record of one attribute, what every pass looks at is; bytes. 0: not there. */
struct perf_places {
	uint16_t time, cpu, id;                /* a sample's: from the record's first byte */
	uint16_t time_back, cpu_back, id_back; /* others': from the record's end */
	uint16_t least, least_side;            /* bytes that must be there for these to be read */
};

struct perf_attr;

/*
 * The same of an event whose records are plain: little-endian, in a file where all tell their time
 * and CPU. Places count from a sample's first byte [1], from another's end [0].
 */
struct perf_plain {
	const struct perf_attr *attr;
	uint32_t least[2];          /* bytes of a record; UINT32_MAX: the event's are not plain */
	int32_t cpu;                /* where records do not say it */
	int16_t time[2], cpu_at[2]; /* cpu_at 0: they do not */
};

struct perf_plains {
	struct perf_plain *items; /* by id - first; not by_id: the only one */
	bool by_id;
	int16_t id[2];
	uint32_t least[2];     /* for an id to be read; UINT32_MAX: nothing is plain */
	uint64_t first, count; /* ids */
};

struct perf_attr {
	uint32_t index, type;
	uint64_t config, sample_type, read_format, flags;
	uint64_t branch_sample_type, regs_user, regs_intr;
	int32_t clockid;
	const char *name; /* NULL: not told */
	uint64_t off;     /* of its first byte, in the first source */
	uint32_t tail; /* place of its first byte that is not zero behind all known ones; 0 none */
	struct perf_places places;
	bool backward;                       /* newest first: perf record --overwrite */
	const struct tracing_format *format; /* a tracepoint's; NULL: none known */
	const struct perf_class *sample;
	const struct perf_class *side[PERF_KERNEL_TYPES][2]; /* [1]: MMAP2 with a build id */
};

struct perf_id { /* one open event: of one attribute on one CPU or thread */
	uint64_t id;
	uint32_t attr; /* UINT32_MAX: an id that only ID_INDEX knows */
	int32_t cpu;   /* ID_INDEX; -1 unknown */
	bool has_tid;
	int32_t tid; /* ID_INDEX: the thread that it was opened on, -1: whatever runs there */
};

struct perf_source {
	struct source *source;
	const char *name;    /* for messages */
	uint64_t begin, end; /* of the records, bytes */
	uint32_t turn;       /* of the recording, see turns.c; else 0 */
	bool spill;          /* a decompressed copy */
	bool grows;          /* nothing says that its writer has ended */
	bool cut_told;       /* that it ends inside a record is known and said */
	/* Of a turn: the time of its first record that has one (NSTIME_MIN: none has), and which of
	   the part's build ids it brought. */
	nstime first_time;
	size_t build_ids_at, nbuild_ids;
};

struct perf_walk;

struct perf_build_id { /* of a file, for maps that do not say it */
	const char *name;
	uint8_t id[20];
	uint8_t size;
};

struct perf_part {
	struct trace *trace;
	struct part *part;
	unsigned version; /* of the header: 1 or 2 */
	bool swap;        /* the file is big endian */
	bool pipe;
	struct perf_attr **attrs;
	size_t nattrs, attrs_capacity;
	struct perf_id *ids; /* sorted by id once opened */
	size_t nids, ids_capacity;
	uint32_t *id_table; /* 1 + place in ids, by id - id_first; NULL: ids are far apart */
	uint64_t id_first, id_span;
	struct perf_plains plains;
	bool has_id_index;
	bool map_of_cpus, map_of_tasks; /* THREAD_MAP: events were opened on these */
	int64_t *tasks;                 /* sorted once opened */
	size_t ntasks, tasks_capacity;
	uint32_t nbuffers; /* ring buffers that ID_INDEX tells apart, 0 unknown */
	int32_t most_cpu;  /* greatest CPU that is known of, -1 none */
	struct perf_source *sources;
	size_t nsources, sources_capacity;
	uint32_t nturns; /* files with a header of their own, of a recording in turns; else 0 */
	void *stream;    /* that decompresses, as the file of stream_turn left it; NULL: none */
	uint32_t stream_turn;
	bool unfinished;                /* its last turn is one that the recorder has not ended */
	struct source **stream_sources; /* the same, as streams have them */
	struct tracing *tracing;        /* NULL: no tracing data */
	bool by_cpu;                    /* every record says its CPU, or its id does; else lanes */
	int32_t clock;                  /* in trace->clocks */
	/* features, as text for the environment */
	struct env_entry *env;
	size_t nenv, env_capacity;
	const char *arch;
	uint32_t cpus_available, cpus_online;
	int64_t wall_offset; /* ns: wall clock = time + this, when has_wall */
	bool has_wall;
	/* of features that are not known: how many, number and place of the first */
	uint32_t unknown_features, unknown_feature;
	uint64_t unknown_feature_off;
	struct perf_build_id *build_ids;
	size_t nbuild_ids, build_ids_capacity;
	uint32_t most_slots; /* of all classes */
	uint32_t registers;
	struct perf_walk *walk;
	/* Of the only file, if it grows: what was decompressed of it; NULL: nothing. */
	struct perf_spilled *spilled;
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "get64() swaps elsewhere");

/* records.c */

/* One record as it stands in its source. */
struct perf_record {
	uint32_t type, size; /* size: as its header says, without what may follow */
	uint16_t misc;
	uint32_t source;      /* in part->sources */
	uint64_t off;         /* of its first byte, in the source */
	const uint8_t *bytes; /* `size` bytes; dead at the next step */
	/* payload behind `size` (AUXTRACE, tracing data, COMPRESSED2 whose size wraps) */
	uint64_t extra_off, extra_len;
};

/*
 * All records of a part, or of one source, in file order: metadata, samples and the rest, also
 * those in decompressed copies. Compressed records themselves are passed over where they have a
 * copy.
 */
struct perf_iter {
	const struct perf_part *part;
	uint32_t source, last; /* sources [source, last) are left */
	uint64_t off;          /* of the next record */
	struct block block;    /* window on the source... */
	uint64_t block_off;    /* ...its place */
};

void perf_iter_begin(struct perf_iter *iter, const struct perf_part *part);
void perf_iter_begin_source(struct perf_iter *iter, const struct perf_part *part, uint32_t source);
/* STEP_ERROR: a record that cannot be; calling again goes on with the next source. */
MUST_CHECK enum step perf_iter_next(struct perf_iter *iter, struct perf_record *out,
				    struct error *err);
void perf_iter_end(struct perf_iter *iter); /* always call it */

/*
 * perf 6.16 and later fill COMPRESSED2 up to 8 bytes, and where the sum reaches 65,536 the 16 bits
 * of the header's size wrap. Such a record has no filling: what it says of its data is right.
 * Returns its bytes, 0: it is none; 16 bytes of it are there, and `room` in all.
 */
static inline uint64_t perf_wrapped_bytes(const uint8_t *p, uint64_t room, bool swap)
{
	uint64_t data = get64(p + 8, swap), filled = (data + 16 + 7) & ~UINT64_C(7);

	if (get32(p, swap) != PERF_COMPRESSED2 || data > room - 16 || filled <= RECORD_MOST ||
	    (filled & RECORD_MOST) != get16(p + 6, swap))
		return 0;
	return data + 16;
}

/* Bytes behind a record that belong to it; its `size` bytes, at least 16, are there. */
static inline uint64_t perf_extra(const uint8_t *p, uint32_t type, uint32_t size, bool swap)
{
	if (type == PERF_AUXTRACE && size >= 16)
		return get64(p + 8, swap);
	if (type == PERF_HEADER_TRACING_DATA && size >= 12)
		return get32(p + 8, swap);
	return 0;
}

const struct perf_id *perf_search_id(const struct perf_part *part, uint64_t id);
void perf_find_places(struct perf_attr *attr);
void perf_find_plains(struct perf_part *part); /* once by_cpu and ids are known */

/* Bytes of the id trailer of records that are no samples. */
uint32_t perf_trailer_bytes(const struct perf_attr *attr);

/* Could a record begin here? `room` bytes are there; the search for the next one after damage. */
bool perf_plausible(const struct perf_part *part, const uint8_t *p, uint64_t room, bool to_end);

/* features.c */
void perf_feature(struct perf_part *part, uint32_t feature, const uint8_t *data, size_t size);
/* A record of the build-id feature, or of a pipe; its name is put in the arena. */
bool perf_read_build_id(const struct perf_part *part, const uint8_t *p, uint32_t size,
			struct arena *arena, struct perf_build_id *out);
void perf_name_events(struct perf_part *part);

/* header.c */
MUST_CHECK bool perf_open(struct trace *trace, const char *path, const char *settings,
			  enum source_mode mode, struct error *err);
void perf_close(struct part *part);
/* The version that these 8 bytes are the magic of, 0: none; *swap: of a big-endian file. */
unsigned perf_version(const uint8_t *magic, bool *swap);

/* turns.c */
struct perf_turn {
	char *path;
	bool headless; /* perf has not ended it: its head is all zeros */
};
struct perf_turns {
	struct perf_turn *items;
	size_t count, capacity;
};
bool perf_has_turns(const char *folder); /* Is there a file named as a turn, with perf's magic? */
bool perf_has_others(const char *folder); /* Is there anything but turns of one recording? */
/*
 * The files of the one recording in turns that the folder holds, in order; end it in any case. Of a
 * trace that grows, the folder as it was opened before is `before`; else it is NULL.
 */
MUST_CHECK bool perf_turns_find(const char *folder, const struct perf_part *before,
				struct perf_turns *out, struct error *err);
void perf_turns_release(struct perf_turns *turns);

/* target.c */
void perf_read_thread_map(struct perf_part *part, const uint8_t *bytes, uint32_t size);
void perf_find_recording(struct perf_part *part); /* once ids and features are known */

/* perf_unknown.c */

/* Records of types whose bodies are not known, or that are known not to be read. */
struct perf_unread {
	uint32_t type;  /* of the first */
	uint32_t more;  /* 1 when other types are counted here, too */
	uint64_t count; /* records */
	uint64_t off;   /* of the first, */
	uint32_t source;
};
struct perf_unread_list {
	struct perf_unread *items; /* in the order in which they were met */
	size_t count, capacity;
};
void perf_note_unread(struct perf_unread_list *list, uint32_t type, uint32_t source, uint64_t off);
/* The warning of one of them, ERR_UNKNOWN. */
void perf_unread_text(const struct perf_part *part, const struct perf_unread *unread,
		      struct error *out);
/* Warns of bits and bytes of attributes, and of features, that are not known. */
void perf_tell_unknown(struct perf_part *part);
/* Is a record of this type perf's own, and known to hold nothing that yore reads events from? */
static inline bool perf_is_tools(uint32_t type)
{
	return type >= PERF_HEADER_ATTR && type < PERF_TOOL_TYPES && type != PERF_STAT &&
	       type != PERF_SCHEDSTAT_CPU;
}

/* spill.c */
/* Adds a decompressed copy of source i's compressed records, if it has any. */
MUST_CHECK bool perf_spill(struct perf_part *part, uint32_t i, struct error *err);
void perf_spill_end(struct perf_part *part); /* no more files are decompressed */
void perf_spilled_free(struct perf_spilled *spilled); /* NULL is fine */
/*
 * Of a part with perf_part.spilled: did the file get records since the trace before that are
 * neither compressed nor marks of rounds? They stand in front of its copy.
 */
bool perf_spilled_plain(const struct perf_part *part);
/*
 * The marks of rounds that the file got since the trace before: mark i stands behind so many bytes
 * of the copy. UINT64_MAX: there is none.
 */
uint64_t perf_spilled_mark(const struct perf_part *part, size_t i);

/* Memory that ends with the store; beyond a few MB it lies in a temporary file. */
struct perf_store;
struct perf_store *perf_store_new(void);
void perf_store_free(struct perf_store *store);
void *perf_store_take(struct perf_store *store, size_t size);

/* copy_cache.c */
/* Where the copy of source i is kept; NULL: it is not. */
struct copy_cache;
struct copy_cache *copy_cache_new(struct perf_part *part, uint32_t i);
void copy_cache_free(struct copy_cache *copy); /* NULL is fine */
/*
 * The copy of an earlier run, if it proves good: the caller ends *fd, *size is that of its records,
 * and *sums, to be freed, are for source_verify().
 */
bool copy_cache_open(struct copy_cache *copy, int *fd, uint64_t *size, uint64_t **sums);
const char *copy_cache_path(const struct copy_cache *copy); /* borrowed */
/* A new copy: the file to write to, which the caller ends; -1: it is not to be had. */
int copy_cache_create(struct copy_cache *copy);
void copy_cache_add(struct copy_cache *copy, const uint8_t *bytes, size_t size); /* was written */
/* Before it is closed: a copy that is not whole goes. */
void copy_cache_end(struct copy_cache *copy, int fd, uint64_t size, bool whole);

/* classes.c */

/*
 * How one item of a sample, a trailer or a side record's body is read, in the record's order. The
 * first two are only put together from: what is run are stretches of them, ITEM_INTS.
 */
enum perf_op_kind {
	ITEM_PASS,      /* 8 bytes that no member shows */
	ITEM_INT,       /* `bytes` bytes, signed or not */
	ITEM_INTS,      /* integers from here on, `bytes` bytes in all */
	ITEM_MISC,      /* a bit of the record's misc */
	ITEM_READ,      /* values of counters */
	ITEM_CHAIN,     /* u64 count, addresses; slot 2: the second of them */
	ITEM_RAW,       /* u32 size, a tracepoint's record by its format */
	ITEM_RAW_BLOB,  /* u32 size, bytes */
	ITEM_RAW_BEGIN, /* u32 size: items up to... */
	ITEM_RAW_END,   /* ...here stand in so many bytes */
	ITEM_BRANCHES,  /* u64 count, u64 index if has_index, entries of 24 bytes, */
			/* as many counters of 8 bytes if has_counters */
	ITEM_REGS,      /* u64 abi, then `count` registers unless that is 0 */
	ITEM_STACK,     /* u64 size, bytes, u64 size in use */
	ITEM_SIZED,     /* u64 size, bytes */
	ITEM_WEIGHTS,   /* u32, u16, u16; in the other order in big-endian files */
	ITEM_BUILD_ID,  /* u8 length, 3 bytes, 20 bytes */
	ITEM_PAIRS,     /* u64 count, pairs of u64 */
	ITEM_POKE,      /* u16 old length, u16 new length, both runs of bytes */
	ITEM_BYTES,     /* `count` bytes */
	ITEM_REST,      /* all bytes that are left */
	ITEM_STRING,    /* up to a zero or the end of the body */
	ITEM_TRAILER    /* what follows stands in the id trailer */
};

enum { ITEM_SLOTS = 5 };
#define ITEM_NO_SLOT UINT32_MAX

struct perf_op {
	uint8_t kind;
	bool is_signed, has_index, has_counters;
	uint16_t bytes, bit, count;
	uint32_t ngroups; /* INTS */
	const struct layout_integer *integers;
	uint32_t slot[ITEM_SLOTS]; /* of the event, in the order of the bytes; ITEM_NO_SLOT: none */
	uint64_t format;           /* ITEM_READ: read_format */
	struct field_class *node[ITEM_SLOTS]; /* whose slots these are */
};

/*
 * What stands at the same place in nearly all records of a class: all up to the first item whose
 * size may differ, from the record's first byte on. Little-endian files only.
 */
struct perf_flat {
	const struct layout_integer *integers;
	uint32_t ngroups;
	uint32_t bytes; /* of the record; 0: there is none */
	uint32_t nops;  /* that it stands for */
	bool exact;     /* the id trailer is in it: for records of just that size */
};

struct perf_class {
	const struct event_class *class;
	uint32_t index; /* of it, in trace->classes */
	const struct tracing *tracing;
	const struct tracing_format *format; /* ITEM_RAW; its bytes are in slot class->nslots */
	uint32_t trailer;                    /* bytes; 0 in samples */
	uint32_t type;                       /* of the record; 0: a sample */
	struct perf_op *ops;
	uint32_t nops;
	struct perf_flat flat;
	atomic_bool *told;    /* that records have bytes behind their fields */
	bool swap, is_switch; /* SWITCH and SWITCH_CPU_WIDE */
	bool keeps_record;    /* in slot class->nslots: of switches, and samples without format */
};
MUST_CHECK bool perf_add_classes(struct perf_part *part, struct error *err);

/* flat.c */
/* Once the class, its type and its ops are known. */
void perf_flatten(struct perf_class *perf, bool swap, struct arena *arena);

/* walk.c */
void perf_walk_free(struct perf_walk *walk);
void perf_add_streams(struct perf_part *part);
/* As trace_watermark(): by the marks of rounds. */
bool perf_watermark(const struct stream *stream, nstime *until);
/*
 * The same part of the trace before, whose walk can go on in it: of its file, which only grew, or
 * of a recording in turns, of which the turns that had ended then are the same. NULL: there is
 * none.
 */
const struct perf_part *perf_part_before(const struct perf_part *part);
/* The same path as it was opened before, of a trace that grows; NULL: it was not. */
const struct perf_part *perf_part_then(const struct perf_part *part);
/* The file of a turn as it was then, if it had ended and stands at the same place; NULL: it is new.
 */
const struct perf_source *perf_turn_then(const struct perf_part *part, uint32_t source);
/* In which of its sources, and at which offset, the walk of the trace before goes on. */
void perf_walked(const struct perf_part *before, uint32_t *source, uint64_t *off);
MUST_CHECK enum step perf_scan(const struct stream *stream, struct scan *scan,
			       struct packet_info *out, struct error *err);
/* All changes of address spaces: goes on with the walk to its end. Borrowed from the walk. */
const struct perf_changes *perf_walk_changes(struct perf_walk *walk);
/* The same, with rests of call chains sorted. */
const struct perf_changes *perf_walk_deferred(struct perf_walk *walk);

static inline struct perf_part *perf_part_of(const struct stream *stream)
{
	return stream->priv;
}

/* maps.c */

/* Notes of records that change address spaces, kept in the store. */
struct perf_changes;
struct record_view;
struct perf_changes *perf_changes_new(struct perf_store *store);
void perf_changes_free(struct perf_changes *changes);  /* NULL is fine */
/* How many were noted so far. */
struct perf_changes_mark {
	size_t maps, deferred, build_ids;
};
struct perf_changes_mark perf_changes_mark(const struct perf_changes *changes);
/* Others will be noted in the place of those since the mark. */
void perf_changes_go_on(struct perf_changes *changes, const struct perf_changes_mark *mark);

/* Whether a record's type is one that perf_changes_note() wants to see. */
static inline bool perf_may_change_maps(uint32_t type)
{
	const uint32_t types = 1u << PERF_MMAP | 1u << PERF_MMAP2 | 1u << PERF_FORK |
			       1u << PERF_COMM | 1u << PERF_KSYMBOL | 1u << PERF_CALLCHAIN_DEFERRED;

	return type < 32 && types >> type & 1;
}

/* What a source takes of places: a file that grows in front of its copy takes all that it may get.
 */
static inline uint64_t perf_room(const struct perf_part *part, uint32_t source)
{
	const struct perf_source *from = &part->sources[source];

	if (part->spilled && source + 1 < part->nsources)
		return UINT64_C(1) << 46;
	return from->end - from->begin;
}

/* Where a record is, in all sources one behind the other. */
static inline uint64_t perf_place(const struct perf_part *part, uint32_t source, uint64_t off)
{
	uint64_t place = off - part->sources[source].begin;

	while (source--)
		place += perf_room(part, source);
	return place;
}

void perf_changes_note(struct perf_changes *changes, const struct perf_part *part, const uint8_t *p,
		       uint32_t size, const struct record_view *view, uint64_t place);
/* Those noted so far, and: what was noted without a time since there were `first` holds from then.
 */
size_t perf_changes_count(const struct perf_changes *changes);
void perf_changes_date(struct perf_changes *changes, size_t first, nstime from);
void perf_changes_note_build_id(struct perf_changes *changes, uint32_t size, uint64_t place);

MUST_CHECK bool perf_maps(const struct part *part,
			  void (*each)(void *arg, const struct map_event *event), void *arg,
			  struct error *err);
MUST_CHECK bool perf_first_maps(const struct part *part,
				void (*each)(void *arg, const struct map_event *event), void *arg,
				struct error *err);
/* Sorts the deferred parts of call chains at the first lookup. A lock keeps other threads out. */
void perf_changes_sort_deferred(struct perf_changes *changes);
void perf_deferred(const struct part *part, nstime t, int64_t tid, uint64_t cookie,
		   struct buf *out);
void perf_set_resolver(struct part *part, kernel_resolver *resolver, void *arg);

/* aux.c */
MUST_CHECK bool perf_aux(const struct part *part, struct aux_kind *kind,
			 bool (*each)(void *arg, const struct aux_chunk *chunk, struct error *err),
			 void *arg, struct error *err);

#endif
