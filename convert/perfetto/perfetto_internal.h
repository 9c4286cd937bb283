/*
 * perfetto_internal.h - what the files of the writer of Perfetto's protobuf share
 *
 * Numbers of fields are those of Perfetto's protos/perfetto/trace, as of version 58.
 */
#ifndef CONVERT_PERFETTO_PERFETTO_INTERNAL_H
#define CONVERT_PERFETTO_PERFETTO_INTERNAL_H

#include "convert/convert_internal.h"
#include "convert/protobuf.h"
#include "convert/track_names.h"
#include "engine/base/arena.h"
#include "engine/base/hash_index.h"

/* ---- packets ---- */

/* Fields of TracePacket. */
enum {
	TRACE_FTRACE_EVENTS = 1,
	TRACE_PROCESS_TREE = 2,
	TRACE_CLOCK_SNAPSHOT = 6,
	TRACE_TIMESTAMP = 8,
	TRACE_SEQUENCE_ID = 10,
	TRACE_TRACK_EVENT = 11,
	TRACE_INTERNED_DATA = 12,
	TRACE_SEQUENCE_FLAGS = 13,
	TRACE_SYSTEM_INFO = 45,
	TRACE_DEFLATED = 50,
	TRACE_CLOCK_ID = 58,
	TRACE_DEFAULTS = 59,
	TRACE_TRACK_DESCRIPTOR = 60,
	TRACE_PERF_SAMPLE = 66,
	TRACE_ZSTD = 133
};

/* Fields of TrackEvent, and its types. */
enum {
	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_INTEGER = 30,
	EVENT_DOUBLE = 44
};
enum { TYPE_INSTANT = 3, TYPE_COUNTER = 4, TYPE_STATE = 5 };

/* Builtin clocks, and the first number of clocks that one sequence defines. */
enum { CLOCK_REALTIME_ID = 1, CLOCK_MONOTONIC_ID = 3, CLOCK_BOOTTIME_ID = 6, CLOCK_OWN_ID = 64 };

/* Tables of InternedData, by their field numbers. */
enum intern_table {
	INTERN_EVENT_NAMES = 2,
	INTERN_ANNOTATION_NAMES = 3,
	INTERN_FUNCTION_NAMES = 5,
	INTERN_FRAMES = 6,
	INTERN_CALLSTACKS = 7,
	INTERN_MAPPING_PATHS = 17,
	INTERN_MAPPINGS = 19
};

/*
 * A sequence of packets with its own tables of interned data; an entry is written in the first
 * packet that uses it. At INTERNED_MAX entries the tables start again, empty.
 */
enum { INTERNED_MAX = 1 << 16, NAME_CACHE = 1 << 12 };
struct sequence {
	uint32_t id;
	bool steps;          /* times are differences, on the sequence's own clock */
	nstime last;         /* with steps: time of the packet before */
	const char *sample;  /* name of the sampled events, of a sequence of stacks; else NULL */
	bool begun;          /* a packet told readers to clear the tables */
	uint32_t generation; /* counts clearings of the tables, from 1 */
	struct interned {
		enum intern_table table;
		const void *key;
		size_t len;
	} * entries;
	size_t count, capacity;
	struct arena *arena;
	struct hash_index index;
	struct buf fresh; /* new entries, to be written with the open packet */
};

/* ---- tracks ---- */

enum track_kind_of {
	PLACE_GROUP,  /* number: enum track_group */
	PLACE_CPU,    /* of the group of CPUs */
	PLACE_STREAM, /* of the group of streams */
	PLACE_THREAD,
	PLACE_LOSSES, /* number: of the stream */
	PLACE_PATH    /* an attribute, by its path */
};

enum track_group { TRACKS_CPUS, TRACKS_STREAMS, TRACKS_STATE, TRACKS_GROUPS };

struct perfetto_track {
	enum track_kind_of kind;
	int64_t number;
	const char *path; /* of PLACE_PATH; else NULL */
	/* of a state: its end, `end`, is not written yet */
	bool open, lost;
	nstime end;
};

/* ---- scheduling ---- */

enum sched_kind { SCHED_UNSEEN, SCHED_NONE, SCHED_SWITCH, SCHED_WAKING };
enum { SWITCH_FIELDS = 7, WAKING_FIELDS = 4 };

struct perfetto_plan { /* how events of a class are written */
	bool made;
	struct event_thread thread;
	uint32_t name_generation;
	uint64_t name; /* interned in that generation */
	bool frames;
	struct sequence *samples;
	enum sched_kind sched;
	struct field_path sched_fields[SWITCH_FIELDS], flags;
};

struct sched_cpu;

struct perfetto {
	struct convert of;
	struct buf text;   /* finished packets, not yet written */
	struct buf packet; /* the open packet, without its length */
	struct sequence *open;
	nstime base; /* subtracted from all times: 0, or the first event's time below 0 */
	struct arena *arena;
	struct perfetto_plan *classes;
	struct sequence events, states;
	struct sequence **samples; /* one per name of events with stacks */
	size_t nsamples, samples_capacity;
	struct perfetto_track *tracks; /* uuid: index + 1 */
	size_t ntracks, tracks_capacity;
	struct hash_index track_index;
	struct name_cache {
		const void *key;
		uint32_t generation;
		uint64_t iid;
	} * name_cache;
	struct buf scratch;
	bool begun;          /* begin_trace() has written names of threads */
	bool *of_first_host; /* by part: it is of the trace's first host */
	bool wakeups;        /* the trace has no sched_waking: use sched_wakeup */
	nstime whole;        /* value of sched_cpu.whole for CPUs without events so far */
	struct sched_cpu *cpus;
	size_t ncpus;
};

/* Can it be the number of a thread or process? */
static inline bool is_pid(int64_t number)
{
	return number >= 0 && number <= INT32_MAX;
}

/* ---- perfetto.c ---- */

/*
 * Begins a packet of the sequence at `t`; NSTIME_MIN: without time. Returns the buffer for its
 * fields. Only one packet is open at a time.
 */
struct buf *perfetto_packet(struct perfetto *perfetto, struct sequence *sequence, nstime t);
MUST_CHECK bool perfetto_packet_end(struct perfetto *perfetto, struct error *err);
/*
 * Finds or adds an entry of a table, for the open packet, and returns its number. *fresh: it is
 * new, and the caller must append it to sequence->fresh.
 */
uint64_t perfetto_intern(struct sequence *sequence, enum intern_table table, const void *key,
			 size_t len, bool *fresh);
/* The same for a text; new ones are appended here. */
uint64_t perfetto_intern_text(struct sequence *sequence, enum intern_table table, const char *text);
/*
 * Reads the event's thread, and its process (else the thread's number). False: the event has none.
 */
bool perfetto_thread_of(const struct perfetto *perfetto, const struct perfetto_plan *plan,
			const struct fields *fields, int64_t *tid, int64_t *pid);
/* The sequence of stacks for events of that name, which must live as long as the trace. */
struct sequence *perfetto_samples(struct perfetto *perfetto, const char *name);
/* Converts a time to the output's nanoseconds; times before `base` become 0. */
uint64_t perfetto_ns(const struct perfetto *perfetto, nstime t);
/* Adds bytes as a text field; bytes that are not UTF-8 become the characters U+0080 to U+00FF. */
void perfetto_text(struct buf *out, unsigned field, const void *bytes, size_t len);

/* ---- perfetto_tracks.c ---- */

/* Returns the track's uuid; its first use writes its description. Not while a packet is open. */
MUST_CHECK bool perfetto_track_cpu(struct perfetto *perfetto, int64_t cpu, uint64_t *uuid,
				   struct error *err);
MUST_CHECK bool perfetto_track_stream(struct perfetto *perfetto, const struct stream *stream,
				      uint64_t *uuid, struct error *err);
MUST_CHECK bool perfetto_track_thread(struct perfetto *perfetto, int64_t tid, int64_t pid,
				      uint64_t *uuid, struct error *err);
MUST_CHECK bool perfetto_interval(struct perfetto *perfetto, const struct interval *interval,
				  struct error *err);
MUST_CHECK bool perfetto_loss(struct perfetto *perfetto, const struct event *loss,
			      struct error *err);
/* Writes the ends of all open states. */
MUST_CHECK bool perfetto_states_end(struct perfetto *perfetto, struct error *err);
/* Writes a process tree of all threads that have names or processes. */
MUST_CHECK bool perfetto_threads(struct perfetto *perfetto, struct error *err);

/* ---- perfetto_args.c ---- */

/* Adds an event's values as debug annotations to the open track event. */
void perfetto_args(struct perfetto *perfetto, struct buf *out, const struct fields *fields);

/* Adds the numbers of lost events and packets, as far as they are known. */
void perfetto_loss_args(struct buf *out, const struct event *loss);

/* ---- perfetto_sched.c ---- */

MUST_CHECK bool perfetto_sched_event(struct perfetto *perfetto, nstime t, int32_t cpu,
				     const struct event_class *class, const struct fields *fields,
				     struct error *err);
/* Ends scheduling columns of the CPU with the loss; of all CPUs if it is unknown. */
MUST_CHECK bool perfetto_sched_loss(struct perfetto *perfetto, const struct event *loss,
				    struct error *err);
/* Are the CPU's switches written as scheduling events, so that readers draw its threads? */
bool perfetto_sched_has(const struct perfetto *perfetto, int64_t cpu);
MUST_CHECK bool perfetto_sched_flush(struct perfetto *perfetto, struct error *err);
void perfetto_sched_release(struct perfetto *perfetto);

/* ---- perfetto_stacks.c ---- */

MUST_CHECK bool perfetto_stack(struct perfetto *perfetto, nstime t, int32_t cpu,
			       const struct event_class *class, const struct fields *fields,
			       struct error *err);

#endif
