/*
 * perf_internal.h - what the files of the perf.data reader share
 *
 *     header.c    file, pipe, directory or turns → attributes, features: struct perf_part
 *     metadata.c  records in front of the first sample → attributes of a pipe, ids, CPUs
 *     features.c  feature payloads → host, kernel, command line, names of events
 *     target.c    did perf record CPUs or tasks?
 *     perf_unknown.c warnings of bits, records and features that only a newer kernel or perf has
 *     records.c   one record: its size, event id, time and CPU; all records of a part in file order
 *     spill.c     compressed records → one decompressed copy per file
 *     copy_cache.c decompressed copies, stored on the disk for later runs
 *     perf_classes.c attributes and record types → event classes
 *     flat.c      items of a class at constant places → a list of loads
 *     walk.c      the one walk over all records → packet records of every stream
 *     turns.c     finds the files of a folder that are turns of one recording
 *     perf_decode.c one packet → heads → fields
 *     perf_maps.c changes of address spaces, in order of time
 *     perf_aux.c  chunks of hardware traces
 *
 * All streams of a part have the same sources: the files, then their decompressed copies; in a
 * recording in turns, each file with its copy behind it.
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
	PERF_KNOWN_TYPES = 23,  /* records of lesser types have a known body */
	PERF_KERNEL_TYPES = 64, /* lesser types: the kernel wrote them, with an id trailer */
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
	PERF_TOOL_TYPES = 87 /* from 64 to 86: the known types that perf itself writes */
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

enum { PERF_ABI_64 = 2 }; /* the greatest known `abi` of sampled registers */
enum { RECORD_HEAD = 8, RECORD_MOST = 65535, FILE_HEAD = 104, PIPE_HEAD = 16 };

/* Places of time, CPU and event id in records of one attribute, in bytes. 0: not in the record. */
struct perf_places {
	uint16_t time, cpu, id;                /* in samples: from the record's first byte */
	uint16_t time_back, cpu_back, id_back; /* in other records: from the record's end */
	uint16_t least, least_side;            /* least size of a sample, of another record */
};

struct perf_attr;

/*
 * Places for one event's plain records: little-endian, in a file where every record or its id gives
 * time and CPU. [1] is for samples, from the first byte; [0] for others, from the end (negative).
 */
struct perf_plain {
	const struct perf_attr *attr;
	uint32_t least[2];          /* least bytes of a record; UINT32_MAX: records are not plain */
	int32_t cpu;                /* if cpu_at is 0: the CPU of the event */
	int16_t time[2], cpu_at[2]; /* cpu_at 0: the records do not have the CPU */
};

struct perf_plains {
	struct perf_plain *items; /* indexed by id - first; without by_id there is one for all */
	bool by_id;
	int16_t id[2];         /* place of the id, as in struct perf_plain */
	uint32_t least[2];     /* least bytes of a record; UINT32_MAX: no record is plain */
	uint64_t first, count; /* range of ids */
};

struct perf_attr {
	uint32_t index, type;
	uint64_t config, sample_type, read_format, flags;
	uint64_t branch_sample_type, regs_user, regs_intr;
	int32_t clockid;
	const char *name; /* NULL: the file does not name it */
	uint64_t off;     /* offset of the attribute in the first source */
	uint32_t tail;    /* offset in it of the first non-zero byte of an unknown field; 0: none */
	struct perf_places places;
	bool backward;                       /* newest first: perf record --overwrite */
	const struct tracing_format *format; /* of a tracepoint; NULL: unknown */
	const struct perf_class *sample;
	const struct perf_class *side[PERF_KERNEL_TYPES][2]; /* [1]: MMAP2 with a build id */
};

struct perf_id { /* one open event: of one attribute on one CPU or thread */
	uint64_t id;
	uint32_t attr; /* index in part->attrs; UINT32_MAX: only ID_INDEX has the id */
	int32_t cpu;   /* by ID_INDEX; -1: unknown */
	bool has_tid;
	int32_t tid; /* by ID_INDEX: the thread that the event was opened on; -1: any on the CPU */
};

struct perf_source {
	struct source *source;
	const char *name;    /* for messages */
	uint64_t begin, end; /* of the records, bytes */
	uint32_t turn;       /* number of the turn, see turns.c; else 0 */
	bool spill;          /* it is a decompressed copy */
	bool grows;          /* its writer may still be at work */
	bool cut_told;       /* damage was reported: the file ends inside a record */
	/* Of a turn: the time of its first record with a time (NSTIME_MIN: none), and its build ids
	   among the part's. */
	nstime first_time;
	size_t build_ids_at, nbuild_ids;
};

struct perf_walk;

struct perf_build_id { /* build id of a file, for maps without one */
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
	uint32_t *id_table; /* [id - id_first]: 1 + index in ids, 0: none; NULL: ids are sparse */
	uint64_t id_first, id_span;
	struct perf_plains plains;
	bool has_id_index;
	bool map_of_cpus, map_of_tasks; /* THREAD_MAP: events were opened on CPUs, on `tasks` */
	int64_t *tasks;                 /* sorted once opened */
	size_t ntasks, tasks_capacity;
	uint32_t nbuffers; /* ring buffers, by ID_INDEX; 0: unknown */
	int32_t most_cpu;  /* greatest known CPU; -1: none */
	struct perf_source *sources;
	size_t nsources, sources_capacity;
	uint32_t nturns; /* files of a recording in turns; else 0 */
	void *stream;    /* zstd stream after decompressing turn stream_turn; NULL: none */
	uint32_t stream_turn;
	bool unfinished;                /* the recorder is still writing the last turn */
	struct source **stream_sources; /* `sources` as an array for struct stream */
	struct tracing *tracing;        /* NULL: no tracing data */
	bool by_cpu;                    /* each record or its id gives the CPU; false: use lanes */
	int32_t clock;                  /* index in trace->clocks */
	/* features, as text for the environment */
	struct env_entry *env;
	size_t nenv, env_capacity;
	const char *arch;
	uint32_t cpus_available, cpus_online;
	int64_t wall_offset; /* ns: wall clock = time + this, when has_wall */
	bool has_wall;
	/* how many unknown features there are; number and offset of the first */
	uint32_t unknown_features, unknown_feature;
	uint64_t unknown_feature_off;
	struct perf_build_id *build_ids;
	size_t nbuild_ids, build_ids_capacity;
	uint32_t most_slots; /* of all classes */
	uint32_t registers;
	struct perf_walk *walk;
	/* If the only file grows: its decompressed copy so far; else NULL. */
	struct perf_spilled *spilled;
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "get64() swaps elsewhere");

/* records.c */

/* One record, as it is in its source. */
struct perf_record {
	uint32_t type, size; /* size: of its header, without extra_len */
	uint16_t misc;
	uint32_t source;      /* index in part->sources */
	uint64_t off;         /* of its first byte, in the source */
	const uint8_t *bytes; /* `size` bytes; valid until the next step */
	/* payload behind `size` (AUXTRACE, tracing data, COMPRESSED2 whose size wraps) */
	uint64_t extra_off, extra_len;
};

/*
 * Iterates over all records of a part, or of one source, in file order, decompressed copies
 * included. Skips compressed records that have a copy.
 */
struct perf_iter {
	const struct perf_part *part;
	uint32_t source, last; /* sources [source, last) remain */
	uint64_t off;          /* of the next record */
	struct block block;    /* window on the source */
	uint64_t block_off;    /* offset of the window in the source */
};

void perf_iter_begin(struct perf_iter *iter, const struct perf_part *part);
void perf_iter_begin_source(struct perf_iter *iter, const struct perf_part *part, uint32_t source);
/* STEP_ERROR: an impossible record; the next call continues with the next source. */
MUST_CHECK enum step perf_iter_next(struct perf_iter *iter, struct perf_record *out,
				    struct error *err);
void perf_iter_end(struct perf_iter *iter); /* always call it */

/*
 * perf 6.16 and later pad COMPRESSED2 to a multiple of 8 bytes; if that reaches 65,536, the 16 bits
 * of the header's size wrap. Such a record has no padding, and its data size is right. Returns its
 * bytes; 0: not such a record. At least 16 bytes at `p` are readable, and `room` are left.
 */
static inline uint64_t perf_wrapped_bytes(const uint8_t *p, uint64_t room, bool swap)
{
	uint64_t data = get64(p + 8, swap), filled = (data + 16 + 7) & ~UINT64_C(7);

	if (get32(p, swap) != PERF_COMPRESSED2 || data > room - 16 || filled <= RECORD_MOST ||
	    (filled & RECORD_MOST) != get16(p + 6, swap))
		return 0;
	return data + 16;
}

/* Returns the bytes behind a record that belong to it. */
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

/* Returns the bytes of the id trailer of records other than samples. */
uint32_t perf_trailer_bytes(const struct perf_attr *attr);

/*
 * Does a chain of plausible records begin at p? For the search behind damage. `room` bytes are
 * readable; to_end: the source ends there, so the chain may be shorter.
 */
bool perf_plausible(const struct perf_part *part, const uint8_t *p, uint64_t room, bool to_end);

/* features.c */
void perf_feature(struct perf_part *part, uint32_t feature, const uint8_t *data, size_t size);
/* Parses a record of the build-id feature, or of a pipe; copies the name to the arena. */
bool perf_read_build_id(const struct perf_part *part, const uint8_t *p, uint32_t size,
			struct arena *arena, struct perf_build_id *out);
void perf_name_events(struct perf_part *part);

/* header.c */
MUST_CHECK bool perf_open(struct trace *trace, const char *path, const char *settings,
			  enum source_mode mode, struct error *err);
void perf_close(struct part *part);
/* Returns the format's version by its magic, 8 bytes (0: no magic); *swap: a big-endian file. */
unsigned perf_version(const uint8_t *magic, bool *swap);

/* turns.c */
struct perf_turn {
	char *path;
	bool headless; /* perf is still writing it: its head is all zeros */
};
struct perf_turns {
	struct perf_turn *items;
	size_t count, capacity;
};
bool perf_has_turns(const char *folder); /* Is there a file named as a turn, with perf's magic? */
bool perf_has_others(const char *folder); /* Is there a file that is no turn of one recording? */
/*
 * Lists the files of the folder's one recording in turns, in order. Call perf_turns_release() also
 * on failure. `before`: the part as opened before, if the trace grows; else NULL.
 */
MUST_CHECK bool perf_turns_find(const char *folder, const struct perf_part *before,
				struct perf_turns *out, struct error *err);
void perf_turns_release(struct perf_turns *turns);

/* target.c */
void perf_read_thread_map(struct perf_part *part, const uint8_t *bytes, uint32_t size);
void perf_find_recording(struct perf_part *part); /* once ids and features are known */

/* perf_unknown.c */

/* Records that yore does not decode, counted by kind of type. */
struct perf_unread {
	uint32_t type;  /* of the first record */
	uint32_t more;  /* 1: records of other types are counted here, too */
	uint64_t count; /* records */
	uint64_t off;   /* of the first record, in `source` */
	uint32_t source;
};
struct perf_unread_list {
	struct perf_unread *items; /* in order of their first records */
	size_t count, capacity;
};
void perf_note_unread(struct perf_unread_list *list, uint32_t type, uint32_t source, uint64_t off);
/* Sets *out to the warning (ERR_UNKNOWN) of one item. */
void perf_unread_text(const struct perf_part *part, const struct perf_unread *unread,
		      struct error *out);
/* Warns of unknown bits and bytes of attributes, and of unknown features. */
void perf_tell_unknown(struct perf_part *part);
/* Is a record of this type written by perf itself, and known to hold no event? */
static inline bool perf_is_tools(uint32_t type)
{
	return type >= PERF_HEADER_ATTR && type < PERF_TOOL_TYPES && type != PERF_STAT &&
	       type != PERF_SCHEDSTAT_CPU;
}

/* spill.c */
/* Adds a decompressed copy of source i's compressed records, if it has any. */
MUST_CHECK bool perf_spill(struct perf_part *part, uint32_t i, struct error *err);
void perf_spill_end(struct perf_part *part); /* after the last perf_spill(): frees its stream */
void perf_spilled_free(struct perf_spilled *spilled); /* NULL is fine */
/*
 * For a part with perf_part.spilled: since it was opened before, did the file get records that are
 * neither compressed nor round marks? A walk that continues in the copy would miss them.
 */
bool perf_spilled_plain(const struct perf_part *part);
/*
 * Returns behind how many bytes of the copy the file has round mark i, counted from those that the
 * file got since it was opened before. UINT64_MAX: there is no mark i.
 */
uint64_t perf_spilled_mark(const struct perf_part *part, size_t i);

/* Memory that is freed with the store; beyond a few MB it is in a temporary file. */
struct perf_store;
struct perf_store *perf_store_new(void);
void perf_store_free(struct perf_store *store);
void *perf_store_take(struct perf_store *store, size_t size);

/* copy_cache.c */
/* The stored copy of a source. copy_cache_new() returns NULL if it is not to be stored. */
struct copy_cache;
struct copy_cache *copy_cache_new(struct perf_part *part, uint32_t i);
void copy_cache_free(struct copy_cache *copy); /* NULL is fine */
/*
 * Opens and verifies the copy of an earlier run. The caller closes *fd and frees *sums, which are
 * for source_verify(); *size is the bytes of its records. False: there is no good copy.
 */
bool copy_cache_open(struct copy_cache *copy, int *fd, uint64_t *size, uint64_t **sums);
const char *copy_cache_path(const struct copy_cache *copy); /* borrowed */
/* Creates a new copy and returns its file, which the caller writes and closes; -1: impossible. */
int copy_cache_create(struct copy_cache *copy);
/* Adds bytes that the caller has written to the sums. */
void copy_cache_add(struct copy_cache *copy, const uint8_t *bytes, size_t size);
/* Call before closing the file: completes the copy, or deletes it if it is not whole. */
void copy_cache_end(struct copy_cache *copy, int fd, uint64_t size, bool whole);

/* classes.c */

/*
 * How to read one item of a sample, an id trailer or another record's body. flat.c joins runs of
 * ITEM_PASS and ITEM_INT to one ITEM_INTS, so the decoder meets neither of the two.
 */
enum perf_op_kind {
	ITEM_PASS,      /* 8 bytes that no member shows */
	ITEM_INT,       /* `bytes` bytes, signed or not */
	ITEM_INTS,      /* several integers, `bytes` bytes in all */
	ITEM_MISC,      /* a bit of the record's misc */
	ITEM_READ,      /* values of counters */
	ITEM_CHAIN,     /* u64 count, addresses; slot 2: the second address */
	ITEM_RAW,       /* u32 size, a tracepoint's record by its format */
	ITEM_RAW_BLOB,  /* u32 size, bytes */
	ITEM_RAW_BEGIN, /* u32 size: of the items up to ITEM_RAW_END */
	ITEM_RAW_END,   /* no bytes */
	ITEM_BRANCHES,  /* u64 count, u64 index if has_index, entries of 24 bytes, */
	/* as many counters of 8 bytes if has_counters */
	ITEM_REGS,     /* u64 abi, then `count` registers unless that is 0 */
	ITEM_STACK,    /* u64 size, bytes, u64 size in use */
	ITEM_SIZED,    /* u64 size, bytes */
	ITEM_WEIGHTS,  /* u32, u16, u16; in the other order in big-endian files */
	ITEM_BUILD_ID, /* u8 length, 3 bytes, 20 bytes */
	ITEM_PAIRS,    /* u64 count, pairs of u64 */
	ITEM_POKE,     /* u16 old length, u16 new length, both runs of bytes */
	ITEM_BYTES,    /* `count` bytes */
	ITEM_REST,     /* all remaining bytes */
	ITEM_STRING,   /* up to a zero or the end of the body */
	ITEM_TRAILER   /* the items that follow are those of the id trailer */
};

enum { ITEM_SLOTS = 5 };
#define ITEM_NO_SLOT UINT32_MAX

struct perf_op {
	uint8_t kind;
	bool is_signed, has_index, has_counters;
	uint16_t bytes, bit, count;
	uint32_t ngroups; /* INTS */
	const struct layout_integer *integers;
	uint32_t slot[ITEM_SLOTS]; /* of the item's values, in the record's order; ITEM_NO_SLOT */
	uint64_t format;           /* ITEM_READ: read_format */
	struct field_class *node[ITEM_SLOTS]; /* the field classes of these slots */
};

/*
 * The flat part of a class's records: all items, from the record's first byte, in front of the
 * first item of variable size. Its fields have constant places. Little-endian files only.
 */
struct perf_flat {
	const struct layout_integer *integers;
	uint32_t ngroups;
	uint32_t bytes; /* of the flat part; 0: there is none */
	uint32_t nops;  /* how many ops it replaces */
	bool exact;     /* includes the id trailer: usable only if the record has `bytes` bytes */
};

struct perf_class {
	const struct event_class *class;
	uint32_t index; /* of `class` in trace->classes */
	const struct tracing *tracing;
	const struct tracing_format *format; /* ITEM_RAW; its bytes are in slot class->nslots */
	uint32_t trailer;                    /* bytes of the id trailer; 0 in samples */
	uint32_t type;                       /* of the record; 0: a sample */
	struct perf_op *ops;
	uint32_t nops;
	struct perf_flat flat;
	atomic_bool *told;    /* the warning of bytes behind the fields was given */
	bool swap, is_switch; /* is_switch: SWITCH or SWITCH_CPU_WIDE */
	bool keeps_record; /* slot class->nslots has the record: switches, samples without format */
};
MUST_CHECK bool perf_add_classes(struct perf_part *part, struct error *err);

/* flat.c */
/* Joins ops of integers and makes perf->flat. Call when class, type and ops are set. */
void perf_flatten(struct perf_class *perf, bool swap, struct arena *arena);

/* walk.c */
void perf_walk_free(struct perf_walk *walk);
void perf_add_streams(struct perf_part *part);
/* As trace_watermark(), by round marks. */
bool perf_watermark(const struct stream *stream, nstime *until);
/*
 * Growing trace: returns the part as opened before, if this part can continue its walk: its file
 * only grew, or all turns that had ended are unchanged. Else NULL.
 */
const struct perf_part *perf_part_before(const struct perf_part *part);
/* Growing trace: returns the part of the same path as opened before; NULL: there is none. */
const struct perf_part *perf_part_then(const struct perf_part *part);
/* Returns that part's same source, if it is a turn that had ended and is unchanged; else NULL. */
const struct perf_source *perf_turn_then(const struct perf_part *part, uint32_t source);
/* Where the walk of `before` paused: source and offset in it. */
void perf_walked(const struct perf_part *before, uint32_t *source, uint64_t *off);
MUST_CHECK enum step perf_scan(const struct stream *stream, struct scan *scan,
			       struct packet_info *out, struct error *err);
/* Completes the walk and returns all changes of address spaces, borrowed from the walk. */
const struct perf_changes *perf_walk_changes(struct perf_walk *walk);
/* The same, with the deferred parts of call chains sorted. */
const struct perf_changes *perf_walk_deferred(struct perf_walk *walk);

static inline struct perf_part *perf_part_of(const struct stream *stream)
{
	return stream->priv;
}

/* maps.c */

/* List of the records that change address spaces, in memory of the store. */
struct perf_changes;
struct record_view;
struct perf_changes *perf_changes_new(struct perf_store *store);
void perf_changes_free(struct perf_changes *changes);  /* NULL is fine */
/* How many records each list has. */
struct perf_changes_mark {
	size_t maps, deferred, build_ids;
};
struct perf_changes_mark perf_changes_mark(const struct perf_changes *changes);
/* Cuts the lists back to the mark. */
void perf_changes_go_on(struct perf_changes *changes, const struct perf_changes_mark *mark);

/* Must a record of this type be passed to perf_changes_note()? */
static inline bool perf_may_change_maps(uint32_t type)
{
	const uint32_t types = 1u << PERF_MMAP | 1u << PERF_MMAP2 | 1u << PERF_FORK |
			       1u << PERF_COMM | 1u << PERF_KSYMBOL | 1u << PERF_CALLCHAIN_DEFERRED;

	return type < 32 && types >> type & 1;
}

/* How many places a source takes: its bytes, or 2^46 if it grows and its copy comes behind it. */
static inline uint64_t perf_room(const struct perf_part *part, uint32_t source)
{
	const struct perf_source *from = &part->sources[source];

	if (part->spilled && source + 1 < part->nsources)
		return UINT64_C(1) << 46;
	return from->end - from->begin;
}

/* Returns a record's place: its offset in all sources, one behind the other. */
static inline uint64_t perf_place(const struct perf_part *part, uint32_t source, uint64_t off)
{
	uint64_t place = off - part->sources[source].begin;

	while (source--)
		place += perf_room(part, source);
	return place;
}

void perf_changes_note(struct perf_changes *changes, const struct perf_part *part, const uint8_t *p,
		       uint32_t size, const struct record_view *view, uint64_t place);
/* How many changes there are; and: gives changes without time, from number `first` on, a time. */
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
