/*
 * trace.h - an opened trace: immutable, shared by any number of cursors and threads
 *
 * A trace is one or more parts on one time line: a part is what one reader made of one CTF trace
 * folder, perf.data or trace.dat (a session folder with kernel and user space has two parts).
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

/* The identity by which CTF 2 tells classes of several traces apart; NULL: not given. */
struct full_name {
	const char *space, *name, *uid;
};

/* How a clock is known to be on one line of time with those of the first trace: engine/clocks.h. */
enum clock_relation {
	CLOCK_FIRST,        /* it is of the first trace, or no stream uses it */
	CLOCK_SAME_UUID,    /* it is the clock `same_as` */
	CLOCK_SAME_COUNTER, /* likewise: the same clock of the kernel of the same host */
	CLOCK_SAME_ORIGIN,  /* both count from the Unix epoch, or what CTF 2 names as origin */
	CLOCK_SHIFTED,      /* by --offset */
	CLOCK_UNRELATED
};

struct clock {
	const char *name, *description; /* "" when not given */
	/* The kernel's clock that it is, "monotonic", "sched_clock", ...; NULL: not known. */
	const char *counter;
	uint8_t uuid[16];
	bool has_uuid;
	bool epoch; /* its origin is the Unix epoch */
	uint64_t precision, accuracy; /* cycles; 0: not given */
	struct full_name full_name;
	struct full_name origin; /* when it has a name of its own */
	struct timebase base;
	enum clock_relation relation;
	int32_t same_as; /* into trace->clocks, -1: no earlier one is the same */
	uint32_t path;   /* that brought it: number of --with, 0 the trace itself */
	bool moved;      /* it got the origin of a clock that is the same */
};

struct env_entry {
	const char *name;
	const char *text; /* NULL: a number */
	int64_t number;
};

/* Whose events a recording has: a tracer asked for CPUs has what every thread does there. */
enum recording { RECORDING_UNKNOWN, RECORDING_CPUS, RECORDING_TASKS };

struct part {
	uint32_t index; /* into trace->parts */
	const struct reader *reader;
	const char *path;    /* its folder or file */
	const char *version; /* of the format: "1.8" */
	const char *host;    /* env hostname, "" unknown and no other part's known alone */
	const char *domain;  /* env domain: "kernel", "ust"; "" unknown */
	int8_t big_endian;   /* of what is written: 1 big, 0 little, -1 unknown */
	uint8_t word_bits;   /* of the machine that was traced, 0 unknown */
	uint8_t uuid[16];
	bool has_uuid;
	struct full_name full_name;
	const struct env_entry *env;
	size_t nenv;
	nstime offset; /* asked for by --offset; already in all times */
	nstime origin; /* of its streams' clock, where that is one that counts ns; else 0 */
	const char *settings; /* how to read it, of --input; NULL: content says it */
	uint64_t others;      /* packets of other sessions that opening it passed over */
	uint64_t skipped;     /* bytes that are in no packet, of files in which packets are searched */
	enum recording recording;
	const int64_t *tasks; /* that the tracer was pointed at, as far as the file names them */
	size_t ntasks;
	const char *rules;    /* that it brings along, as a text of rules; NULL: none */
	uint64_t identity[2]; /* digest of the description: changes when its meaning may */
	void *priv;	      /* the reader's */
};

/* The host's name; "" unknown. */
static inline const char *part_host(const struct part *part)
{
	return part->host ? part->host : "";
}

/* A text of the part's environment; NULL: it has none of that name. */
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
	int64_t tid, pid;    /* of the thread and process that all its events are of, -1 unknown */
	int64_t rank, app;   /* of that process, -1 none */
	const char *loom;    /* "" none */
	bool has_time;	     /* false: times are ordinals, counted from 0 */
	bool gathered;       /* its packets lie among those of others: more streams may turn up */
	bool anew;           /* of a trace that grows: no record of the trace before holds */
	bool may_be_late;    /* of a trace that grows: packets before its last ones may come yet */
	bool late_events;    /* each kind of event was enabled at its own time, behind its first record */
	bool tells_end;	     /* packets say until when they cover what happened, events or not */
	bool shared;	     /* events of other streams lie between its own */
	bool pieces;	     /* packets may have to be cut while they are scanned: scan reads all */
	enum lost_kind lost_kind;
	bool lost_elsewhere; /* a stream of the same packets says how many: here it is not known */
	uint8_t lost_bits, seq_bits; /* widths of the counters, 0 none */
	struct source **sources;     /* borrowed; in the order in which their packets are numbered */
	uint32_t nsources;
	uint64_t head_bytes;	     /* at the start of source 0, rewritten when its writer ends */
	uint64_t bytes;		     /* of all its sources together */
	void *priv;		     /* the reader's */
};

/*
 * The source that a record or position names. Where packets do not lie in their order, numbers rise
 * by nsources with each step back, so that (source, offset) is the order of packets.
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
	bool unlisted;     /* no trace of today has such events: lists of classes leave it out */
	int32_t loglevel;  /* -1 none */
	const char *address; /* member of the payload that tells where the program was; NULL: none */
	/* struct classes, NULL where there is none */
	struct field_class *scope[SCOPE_COUNT];
	/* first slot of each of the event's own scopes in struct fields; packet's are apart */
	uint32_t slot_base[SCOPE_COUNT];
	uint32_t nslots; /* of STREAM_EVENT_CONTEXT, EVENT_CONTEXT and PAYLOAD together */
	const struct layout *layout; /* decodes these three, in this order */
	void *priv;
};

/* A file that will be of a stream, in a trace that grows. */
struct empty_file {
	const char *path;
	int32_t clock; /* into trace->clocks: of streams beside it; -1: not known */
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
	const char *spill_dir; /* as asked for by the options */
	uint32_t packet_bytes, cache_least; /* the same; 0: as is usual with the format */
	bool strict;           /* the same */
	const char *key_file;  /* the same; NULL: none */
	bool grows;            /* the same: see struct trace_options */
	const struct trace *before; /* the same, while streams may be compared with its own */
	size_t awaited; /* of a trace that grows: files and folders with nothing to be read yet, */
	struct empty_file *empties; /* but for files that are there and empty */
	size_t nempties, empties_capacity;
	int64_t moving; /* likewise: files are being moved, which takes so many ns at most; 0: none
			 */
	const char *lacks; /* likewise: what is known at its end alone, in words; NULL: nothing */
	const char **copies;   /* files there that are this trace's, if they exist */
	size_t ncopies;
	struct notices notices;
	_Atomic uint64_t packets_decoded, events_decoded;
	_Atomic uint64_t packets_skipped; /* not decoded: their packet filters said enough */
	/* The last messages about packets: streams that share one give it once. */
	pthread_mutex_t told_lock;
	uint64_t told[TRACE_TOLD]; /* hashes of the messages */
	unsigned ntold;
	_Atomic uint64_t late;	/* events that came after later ones: what was read was out of order */
	_Atomic uint64_t strayed; /* packets whose events lie where a search may miss them */
	_Atomic uint64_t bytes; /* trace_bytes(), once it was called; 0: not yet */
	struct buf damages; /* what was said of it: texts, each with a zero; under told_lock */
	_Atomic uint64_t damaged; /* packets and files of which something could not be read */
	_Atomic uint64_t unknown; /* kinds of things met that this version does not know */
};

struct trace_options {
	const char *const *paths; /* the trace, then what is merged to it */
	const nstime *offsets;    /* per path, NSTIME_MIN: not given; NULL: none is */
	size_t npaths;
	const char *input; /* --input FORMAT[,key=value...], NULL: by content */
	bool strict;       /* refuse what known tracers are known to write wrong */
	const char *key_file; /* the key of what is encrypted, NULL: none */
	enum source_mode mode;
	/* A folder, in which decompressed copies are kept for later runs. NULL: they end with the
	   trace. */
	const char *spill_dir;
	/*
	 * Of perf.data, trace.dat and ovni: bytes of a packet, and from how many bytes (perf.data)
	 * or chunks (trace.dat) on a cache file is written. 0: as is usual with the format.
	 */
	uint32_t packet_bytes, cache_least;
	/*
	 * Its writers are at work: a packet, record or file that is not whole yet is no damage, and is
	 * left for the next time it is opened. What opening it meets is not told.
	 */
	bool grows;
	/*
	 * The same trace as it was opened before, or NULL. What it knows of files that only grew is
	 * taken over. Borrowed until trace_forget_before(); then it is only good for being closed.
	 */
	struct trace *before;
	struct notices notices; /* copied; damage is told here while the trace lives */
};

/*
 * Where readers find what a path names that is no file or folder of this machine, to be freed; NULL
 * with err->kind ERR_NONE: at the path itself. `keep` is spill_dir. For the whole process, before
 * the first trace is opened; without it, and for a trace that grows, all paths are files.
 */
void trace_locate_by(char *(*locate)(const char *path, const char *keep, struct error *err));

/* Opens and merges; the caller owns *out and ends it with trace_close(). */
MUST_CHECK bool trace_open(const struct trace_options *options, struct trace **out,
			   struct error *err);
void trace_close(struct trace *trace);
/*
 * The same stream of trace->before. All of its files but the last are what they were, the last one
 * may be longer, and more may have followed. NULL: there is none.
 */
const struct stream *trace_stream_before(const struct trace *trace, const struct stream *stream);
void trace_forget_before(struct trace *trace); /* trace->before is no longer needed */
/*
 * Before *until no event comes that is not there yet: NSTIME_MIN: nothing is known; NSTIME_MAX:
 * none comes any more. False: the format does not tell it, but for the times of its packets.
 */
bool trace_watermark(const struct trace *trace, const struct stream *stream, nstime *until);
/*
 * How often events turned out to come late, or to lie where a search by packets misses them. When
 * the number grows, what was read before was read out of order.
 */
uint64_t trace_disorder(const struct trace *trace);

uint64_t trace_events_decoded(const struct trace *trace);
uint64_t trace_bytes_read(const struct trace *trace); /* over all sources, as --stats counts */
/* Of the sources that hold events; one that streams share counts once. */
uint64_t trace_bytes(const struct trace *trace);
size_t trace_listed_classes(const struct trace *trace); /* how many lists of classes have */
/* There are streams, and none has a clock: times are the numbers of events. */
bool trace_has_ordinals(const struct trace *trace);
/* The name of the first host that a part names; "" unknown. */
const char *trace_host(const struct trace *trace);
/* ns of the count 0 of the clock that the first stream with a clock has; 0: there is none. */
int64_t trace_clock_offset(const struct trace *trace);
/* Days mean something: every clock that streams use counts from the epoch. */
bool trace_has_epoch(const struct trace *trace);

/* For readers, while opening: each adds one entry; pointers stay valid until trace_close(). */
struct part *trace_add_part(struct trace *trace, const struct reader *reader, const char *path);
struct stream *trace_add_stream(struct trace *trace, const struct part *part, const char *name);
struct event_class *trace_add_class(struct trace *trace, const struct part *part, const char *name);
/* Whose events the part has; the numbers are copied, NULL for all but RECORDING_TASKS. */
void part_set_recording(struct trace *trace, struct part *part, enum recording recording,
			const int64_t *tasks, size_t ntasks);
/* Bits of a word of what `uname -m` names so, 0: not known. */
uint8_t machine_word_bits(const char *machine);
int32_t trace_add_clock(struct trace *trace, const struct clock *clock);
/* The trace takes the source: streams of any part may name it, trace_close() ends it. */
void trace_add_source(struct trace *trace, struct source *source);
/* A file in spill_dir that a reader keeps, or would, for this trace; the path is copied. */
void trace_add_copy(struct trace *trace, const char *path);
/*
 * Says that something of `where` could not be read, and counts it: exit status 3. A cause of
 * ERR_UNKNOWN is no damage: it is a warning that is said once, and counted in trace->unknown.
 */
void trace_damage(struct trace *trace, const char *where, const struct error *cause);
/*
 * Texts of what was reported so, each ended by a zero; those of ERR_UNKNOWN begin with
 * TRACE_UNKNOWN_MARK. What does not read the place again reports them again.
 */
enum { TRACE_UNKNOWN_MARK = 1 };
void trace_damages(struct trace *trace, struct buf *out);
void trace_damage_again(struct trace *trace, const char *text); /* unless it was said */
/* The same of a packet; file and offset are put before a cause that does not name the file. */
void trace_damage_at(struct trace *trace, const struct stream *stream, uint32_t source,
		     uint64_t offset, const struct error *cause);

#endif
