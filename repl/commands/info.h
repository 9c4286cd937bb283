/*
 * info.h - gathers and prints what `info` and `catalog` show of a trace: range, packets, bytes and
 * losses of streams, which questions it can answer, and how far a running recording has come
 *
 * Ranges of streams are those of their events, as in `events`: the first and last head of each
 * stream are decoded for it.
 */
#ifndef REPL_COMMANDS_INFO_H
#define REPL_COMMANDS_INFO_H

#include "follow/watermark.h"
#include "repl/render/info_losses.h"
#include "state/program/cpus.h"

/* A running recording: how far it has come, what is final, how far it is behind the wall clock. */
struct info_live {
	nstime reached;    /* the newest time of any stream; NSTIME_MIN: no event yet */
	nstime final;      /* events before this time are final; NSTIME_MIN: not known;
			      NSTIME_MAX: the recording has ended */
	const char *holds; /* the stream with the least watermark; NULL: none is behind */
	size_t others;     /* further streams with a watermark before `reached` */
	bool has_wall;     /* `behind` is known: times count from the epoch */
	int64_t behind;    /* ns from `reached` to the wall clock */
	int64_t written;   /* ns since a file was last written; -1: not known */
	uint64_t packets, bytes;
};

/*
 * For the session's trace, which is open as one that grows. `beside` must have been read before the
 * trace was opened. Texts in *out belong to the trace.
 */
MUST_CHECK bool info_live_find(struct session *session, const struct beside *beside,
			       struct info_live *out, struct error *err);
/* Writes a span, rounded down to ms, or to s if it is long. */
void info_live_span(int64_t ns, struct sink *out);
/* Writes the lines of `info`; `lost`: lost events of all streams. */
void info_live_text(const struct info_live *live, struct times *times, uint64_t lost,
		    struct sink *out);
void info_live_json(const struct info_live *live, uint64_t lost, struct sink *out); /* a member */

struct stream_info {
	uint64_t packets, bytes;
	nstime begin, end; /* of the recording if known, else of events; NSTIME_MIN: none */
	struct contradicted contradicted; /* if info->counted */
	struct cpus cpus;                 /* CPUs in its packets, or the stream's */
};

struct info {
	struct session *session;
	const struct trace *trace;
	struct index *index;
	struct stream_info *streams; /* one for each stream of the trace */
	struct info_losses *losses;  /* likewise */
	uint64_t untold;             /* events lost at unknown places */
	bool shared;  /* streams share files: bytes of a stream are those of its packets */
	bool counted; /* contradictions were counted */
	nstime begin, end;
	struct times times;
	bool is_live; /* the recording goes on, and `live` is set */
	struct info_live live;
};

/*
 * For the session's trace, which is open with its index: sets the members above `times`, except
 * those on contradictions. The caller ends *info with info_release(), also after false.
 */
MUST_CHECK bool info_gather(struct info *info, struct error *err);
uint64_t info_lost(const struct info *info); /* lost events, as far as known */
void info_release(struct info *info);

/* info_parts.c */
/* Write the fields that all packets or events of a stream have; JSON member "stream_classes". */
void info_json_stream_classes(const struct trace *trace, struct sink *out);
void info_text_stream_classes(const struct trace *trace, struct sink *out);
/* Write event classes; in JSON, member "classes". */
void info_json_classes(const struct trace *trace, struct sink *out);
void info_text_classes(const struct trace *trace, struct sink *out);
void info_json_uuid(bool has, const uint8_t uuid[16], struct sink *out);
/* Write the name of a trace, a clock or its origin in CTF 2; nothing if it has none. */
void info_json_full_name(const char *key, const struct full_name *name, struct sink *out);
void info_text_full_name(const char *label, const struct full_name *name, struct sink *out);

/* Write the clocks; in JSON, member "clocks". */
void info_json_clocks(const struct trace *trace, struct sink *out);
void info_text_clocks(const struct trace *trace, struct sink *out);

/* Which attributes the trace's events can tell */
struct capability {
	const char *path; /* with `*` for keys: cpu[*]/thread */
	bool known;
	char *from;        /* if known: the event classes that write it; owned */
	const char *needs; /* else: the event classes that would */
};

struct capabilities {
	struct capability *items;
	size_t count, capacity;
};

MUST_CHECK bool capabilities_find(struct session *session, struct capabilities *out,
				  struct error *err);
void capabilities_release(struct capabilities *capabilities);

#endif
