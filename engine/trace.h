/*
 * trace.h - an opened trace: immutable, shared by any number of cursors and threads
 *
 * A trace is one or more parts on one time line. A part is one CTF trace folder, perf.data or
 * trace.dat, opened by one reader (a session folder with kernel and user space has two parts).
 * Streams, event classes and clocks of all parts stand in flat tables, so that the rooms above
 * need not know of parts.
 */
#ifndef ENGINE_TRACE_H
#define ENGINE_TRACE_H

#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/base/source.h"
#include "engine/field.h"
#include "engine/packet.h"
#include "engine/timebase.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader;
struct layout;

/* The identity that CTF 2 gives a trace, clock or origin: namespace, name, UID; NULL: not given. */
struct full_name {
	const char *space, *name, *uid;
};

/* Why times of a clock can be compared with those of the first trace: see engine/clocks.h. */
enum clock_relation {
	CLOCK_FIRST,        /* it belongs to the first trace, or no stream uses it */
	CLOCK_SAME_UUID,    /* its UUID is that of the clock `same_as` */
	CLOCK_SAME_COUNTER, /* it is the same kernel clock of the same host as `same_as` */
	CLOCK_SAME_ORIGIN,  /* both count from the Unix epoch, or from one origin named by CTF 2 */
	CLOCK_SHIFTED,      /* the user placed it with --offset */
	CLOCK_UNRELATED     /* nothing relates it */
};

struct clock {
	const char *name, *description; /* "" when not given */
	/* Which of the kernel's clocks it is: "monotonic", "sched_clock", ...; NULL: not known. */
	const char *counter;
	uint8_t uuid[16];
	bool has_uuid;
	bool epoch; /* its origin is the Unix epoch */
	uint64_t precision, accuracy; /* cycles; 0: not given */
	struct full_name full_name;
	struct full_name origin; /* of an origin that CTF 2 names; else all NULL */
	struct timebase base;
	enum clock_relation relation;
	int32_t same_as; /* into trace->clocks, -1: no earlier one is the same */
	uint32_t path;   /* the path whose trace has it: 0 the trace itself, i the i-th --with */
	bool moved;      /* its origin was replaced by that of a clock which is the same */
};

struct env_entry {
	const char *name;
	const char *text; /* NULL: a number */
	int64_t number;
};

/* What the tracer recorded: CPUs, with all threads that ran there, or single tasks (threads). */
enum recording { RECORDING_UNKNOWN, RECORDING_CPUS, RECORDING_TASKS };

struct part {
	uint32_t index; /* into trace->parts */
	const struct reader *reader;
	const char *path;    /* its folder or file */
	const char *version; /* of the format: "1.8" */
	const char *host;    /* env hostname, or the only one that other parts name; "" unknown */
	const char *domain;  /* env domain: "kernel", "ust"; "" unknown */
	int8_t big_endian;   /* byte order of the recording: 1 big, 0 little, -1 unknown */
	uint8_t word_bits;   /* of the machine that was traced, 0 unknown */
	uint8_t uuid[16];
	bool has_uuid;
	struct full_name full_name;
	const struct env_entry *env;
	size_t nenv;
	nstime offset;        /* by --offset; all times of the part include it */
	nstime origin;        /* ns of count 0 of its streams' clock, if that counts ns; else 0 */
	const char *settings; /* how to read it, from --input; NULL: the content decides */
	uint64_t others;      /* packets of other sessions, skipped when the part was opened */
	uint64_t skipped; /* bytes outside of all packets, in files that are searched for packets */
	enum recording recording;
	const int64_t *tasks; /* thread IDs that were traced, as far as the file names them */
	size_t ntasks;
	const char *rules; /* text of a rule set that the trace contains; NULL: none */
	uint64_t identity[2]; /* digest of the metadata: changes when its meaning may */
	void *priv;	      /* the reader's */
};

/* The host's name; "" unknown. */
static inline const char *part_host(const struct part *part)
{
	return part->host ? part->host : "";
}

/* The value of a text entry of the part's environment; NULL: there is none of that name. */
const char *part_env_text(const struct part *part, const char *name);

enum lost_kind {
	LOST_NONE,	    /* records carry no count */
	LOST_AT_END,	    /* running counter, value at the packet's end (CTF 1.8, 2) */
	LOST_AT_FIRST,	    /* running counter, value at its first event (2010 proposal) */
	LOST_COUNT_BEFORE,  /* events lost before its first event (trace.dat, perf) */
	LOST_SUM_INSIDE	    /* events lost somewhere inside the packet */
};

struct stream {
	uint32_t index; /* into trace->streams; orders events of equal time */
	uint32_t part;
	uint64_t id;	     /* stream class id, or what the format has */
	const char *name;    /* unique in the trace: "kernel/channel0_3" */
	const char *section; /* name of the stream class or channel; "" none */
	int32_t cpu;	     /* -1: unknown, or its packets say */
	int32_t clock;	     /* into trace->clocks, -1 none */
	int64_t tid, pid;    /* the thread and process that wrote all its events, -1 unknown */
	int64_t rank, app;   /* MPI rank and application of that process, -1 none */
	const char *loom;    /* ovni's name for the node or node part; "" none */
	bool has_time;	     /* false: times are ordinals, counted from 0 */
	bool gathered;    /* its file mixes packets of several streams: more streams may turn up */
	bool anew;        /* of a trace that grows: no packet record found earlier is valid */
	bool may_be_late; /* of a trace that grows: packets may still arrive out of order */
	bool late_events; /* each event class was enabled at a time of its own, after the begin */
	bool tells_end;   /* packets have end times, up to which they cover the stream */
	bool shared;      /* its packets may also hold bytes of events that are not its own */
	bool pieces;      /* the scan may have to cut long packets, and then reads all bytes */
	enum lost_kind lost_kind;
	bool lost_elsewhere; /* another stream of the same packets has the count of lost events */
	uint8_t lost_bits, seq_bits; /* widths of the counters, 0 none */
	struct source **sources;     /* borrowed; see stream_source() */
	uint32_t nsources;
	uint64_t head_bytes;	     /* at the start of source 0, rewritten when its writer ends */
	uint64_t bytes;              /* sizes of all its sources added up */
	void *priv;		     /* the reader's */
};

/*
 * The source with the number of a packet record or position. In a file whose packets are out of
 * order, the number rises by nsources at each step back, so that packets sort by (source, offset).
 */
static inline struct source *stream_source(const struct stream *stream, uint32_t number)
{
	if (number >= stream->nsources)
		number = stream->nsources ? number % stream->nsources : 0;
	return stream->nsources ? stream->sources[number] : NULL;
}
/* The inode of one of the stream's sources; 0: it has no such source. */
static inline uint64_t stream_inode(const struct stream *stream, uint32_t source)
{
	struct source_stamp stamp = {0};

	if (source < stream->nsources)
		(void)source_stamp(stream->sources[source], &stamp);
	return stamp.inode;
}

struct event_class {
	uint32_t index;	   /* into trace->classes */
	uint32_t part;
	uint64_t id;	   /* as the format numbers it */
	uint64_t stream_id; /* the stream class that it belongs to */
	const char *name;  /* never NULL; an unnamed class is "#ID" */
	bool unlisted;     /* a class for records of a future kernel: lists of classes omit it */
	int32_t loglevel;  /* -1 none */
	const char *address; /* payload member with the program counter; NULL: none */
	/* struct classes, NULL where there is none */
	struct field_class *scope[SCOPE_COUNT];
	/* first slot of each event scope in fields.slots; the packet's scopes have other slots */
	uint32_t slot_base[SCOPE_COUNT];
	uint32_t nslots; /* of STREAM_EVENT_CONTEXT, EVENT_CONTEXT and PAYLOAD together */
	const struct layout *layout; /* decodes these three scopes, in this order */
	void *priv;
};

/* A file that is still empty and will hold a stream, in a trace that grows. */
struct empty_file {
	const char *path;
	int32_t clock; /* into trace->clocks: the one of the streams beside it; -1: not known */
};

enum { TRACE_TOLD = 16, TRACE_DAMAGES = 64 << 10 /* bytes of texts, about */ };

struct trace {
	struct arena *arena; /* all names and tables below */
	const char *path;    /* of the first part, as given */
	struct part **parts;
	size_t nparts;
	struct clock *clocks;
	size_t nclocks;
	struct stream **streams;
	size_t nstreams;
	struct event_class **classes;
	size_t nclasses;
	struct source **sources; /* owned; streams may share them */
	size_t nsources;
	/* from struct trace_options: */
	const char *spill_dir;
	uint32_t packet_bytes, cache_least;
	bool strict;
	const char *key_file;
	bool grows;
	const struct trace *before; /* until trace_forget_before() */
	size_t awaited; /* of a trace that grows: files and folders that cannot be read yet, */
	struct empty_file *empties; /* without the empty files, which are listed here */
	size_t nempties, empties_capacity;
	int64_t moving; /* likewise: files are being moved, for at most so many ns; 0: none are */
	const char *lacks;   /* likewise: what the file will tell at its end alone; NULL: nothing */
	const char **copies; /* paths of cache files of this trace in spill_dir, if they exist */
	size_t ncopies;
	struct notices notices;
	_Atomic uint64_t packets_decoded, events_decoded;
	_Atomic uint64_t packets_skipped; /* passed over because of their packet filters */
	/* The last damage messages: damage that several streams share is reported once. */
	pthread_mutex_t told_lock;
	uint64_t told[TRACE_TOLD]; /* hashes of the messages */
	unsigned ntold;
	_Atomic uint64_t late;    /* events that a cursor returned after events of a later time */
	_Atomic uint64_t strayed; /* packets with events outside of their record's time range */
	_Atomic uint64_t bytes;   /* what trace_bytes() returned first; 0: not called yet */
	struct buf damages;       /* all damage messages, each ended by a zero; under told_lock */
	_Atomic uint64_t damaged; /* packets and files that could not be read completely */
	_Atomic uint64_t unknown; /* things in the trace that this version of yore does not know */
};

struct trace_options {
	const char *const *paths; /* the trace, then those that are merged with it (--with) */
	const nstime *offsets;    /* per path, NSTIME_MIN: not given; NULL: none is */
	size_t npaths;
	const char *input; /* --input FORMAT[,key=value...], NULL: by content */
	bool strict;       /* refuse known errors of tracers instead of working around them */
	const char *key_file; /* the key of what is encrypted, NULL: none */
	enum source_mode mode;
	/* Folder for cache files, such as decompressed copies, that later runs reuse. NULL: copies
	   are temporary. */
	const char *spill_dir;
	/*
	 * For perf.data, trace.dat and ovni: bytes of a packet, and the least number of bytes
	 * (perf.data) or chunks (trace.dat) for a cache file. 0: the format's default.
	 */
	uint32_t packet_bytes, cache_least;
	/*
	 * The trace is still being written: an incomplete packet, record or file is no damage, and
	 * is read when the trace is opened again. trace_open() reports no damage.
	 */
	bool grows;
	/*
	 * The same trace as it was opened before, or NULL: readers reuse what it knows of files
	 * that only grew. Borrowed until trace_forget_before(); after that it may only be closed.
	 */
	struct trace *before;
	struct notices notices; /* copied; damage is reported here while the trace lives */
};

/*
 * Sets the function that maps a path, such as a URL, to one of this machine. locate() returns the
 * local path, which is freed; NULL with err->kind ERR_NONE: the path is local already. `keep` is
 * spill_dir. To be called before the first trace is opened. Without it, and for a trace that grows,
 * all paths are local.
 */
void trace_locate_by(char *(*locate)(const char *path, const char *keep, struct error *err));

/* Opens all paths as one trace; the caller ends *out with trace_close(). */
MUST_CHECK bool trace_open(const struct trace_options *options, struct trace **out,
			   struct error *err);
void trace_close(struct trace *trace);
/*
 * The stream of trace->before with the same files, of which only the last one may have become
 * longer; files may have been added behind it. NULL: there is none.
 */
const struct stream *trace_stream_before(const struct trace *trace, const struct stream *stream);
void trace_forget_before(struct trace *trace); /* trace->before is no longer needed */
/*
 * The watermark of a stream that is followed: all its events before *until are in the trace.
 * NSTIME_MIN: not known; NSTIME_MAX: no more come. False: only its packets' times tell that.
 */
bool trace_watermark(const struct trace *trace, const struct stream *stream, nstime *until);
/*
 * How many events came late, and how many packets have events outside of their listed time range.
 * When the number grows during a pass, that pass may have read events out of order.
 */
uint64_t trace_disorder(const struct trace *trace);

uint64_t trace_events_decoded(const struct trace *trace);
uint64_t trace_bytes_read(const struct trace *trace); /* over all sources, as --stats counts */
/* Size of all sources that hold events, bytes; a source shared by streams counts once. */
uint64_t trace_bytes(const struct trace *trace);
size_t trace_listed_classes(const struct trace *trace); /* event classes that are not `unlisted` */
/* True when there are streams and none has a clock: times are then numbers of events. */
bool trace_has_ordinals(const struct trace *trace);
/* The name of the first host that a part names; "" unknown. */
const char *trace_host(const struct trace *trace);
/* The time of count 0 of the first clock that a stream uses, ns; 0: there is none. */
int64_t trace_clock_offset(const struct trace *trace);
/* True when all clocks that streams use count from the Unix epoch: times can be shown as dates. */
bool trace_has_epoch(const struct trace *trace);

/* For readers, while opening: each adds one entry; pointers stay valid until trace_close(). */
struct part *trace_add_part(struct trace *trace, const struct reader *reader, const char *path);
struct stream *trace_add_stream(struct trace *trace, const struct part *part, const char *name);
struct event_class *trace_add_class(struct trace *trace, const struct part *part, const char *name);
/* Sets what was recorded; `tasks` are copied thread IDs, NULL for all but RECORDING_TASKS. */
void part_set_recording(struct trace *trace, struct part *part, enum recording recording,
			const int64_t *tasks, size_t ntasks);
/* Word size in bits of a machine by its name from `uname -m`, 0: not known. */
uint8_t machine_word_bits(const char *machine);
int32_t trace_add_clock(struct trace *trace, const struct clock *clock);
/* The trace owns the source from now on; streams of any part may use it. */
void trace_add_source(struct trace *trace, struct source *source);
/* Notes the path (copied) of a cache file of this trace in spill_dir, which need not exist. */
void trace_add_copy(struct trace *trace, const char *path);
/*
 * Reports that something in `where` could not be read, and counts it: exit status 3. A cause of
 * ERR_UNKNOWN is no damage: it is reported once, as a warning, and counted in trace->unknown.
 */
void trace_damage(struct trace *trace, const char *where, const struct error *cause);
/*
 * Adds the messages reported so far to *out, each ended by a zero; those of ERR_UNKNOWN begin with
 * TRACE_UNKNOWN_MARK. A later run that need not read the place again reports them from a store.
 */
enum { TRACE_UNKNOWN_MARK = 1 };
void trace_damages(struct trace *trace, struct buf *out);
void trace_damage_again(struct trace *trace, const char *text); /* unless it was reported before */
/* As trace_damage(), of a packet; adds file and offset to a cause that does not name the file. */
void trace_damage_at(struct trace *trace, const struct stream *stream, uint32_t source,
		     uint64_t offset, const struct error *cause);

#endif
