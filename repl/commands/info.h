/*
 * info.h - what `info` and `catalog` say of a trace: range, packets, bytes and losses of its
 * streams, what it can answer, and how far a recording that goes on has come
 *
 * Stream ranges are those of events, so that they agree with `events`: one head at each end of each
 * stream is decoded.
 */
#ifndef REPL_COMMANDS_INFO_H
#define REPL_COMMANDS_INFO_H

#include "follow/watermark.h"
#include "repl/render/info_losses.h"
#include "state/program/cpus.h"

/* How far it has come, what holds it back, and how far behind the wall clock it is. */
struct info_live {
	nstime reached;    /* by some stream; NSTIME_MIN: nothing came */
	nstime final;      /* nothing earlier comes; NSTIME_MIN: not known; NSTIME_MAX: nothing
			      comes any more */
	const char *holds; /* the stream that holds it back; NULL: none does */
	size_t others;     /* that do not have what was reached either */
	bool has_wall;     /* times count from the epoch */
	int64_t behind;    /* ns, of what was reached behind the wall clock */
	int64_t written;   /* ns since a file was written last; -1: not known */
	uint64_t packets, bytes;
};

/*
 * Of the session's trace, which is open as one that grows; `beside` was read before that, if
 * it was. What it points to is the trace's.
 */
MUST_CHECK bool info_live_find(struct session *session, const struct beside *beside,
			       struct info_live *out, struct error *err);
/* A span to the ms, or to the s when it is long. */
void info_live_span(int64_t ns, struct sink *out);
/* Lines as `info` has them; `lost`: events of all streams. */
void info_live_text(const struct info_live *live, struct times *times, uint64_t lost,
		    struct sink *out);
void info_live_json(const struct info_live *live, uint64_t lost, struct sink *out); /* a member */

struct stream_info {
	uint64_t packets, bytes;
	nstime begin, end; /* what was recorded, or its events; NSTIME_MIN: nothing */
	struct contradicted contradicted; /* when they are counted */
	struct cpus cpus;                 /* that its packets say, or the stream */
};

struct info {
	struct session *session;
	const struct trace *trace;
	struct index *index;
	struct stream_info *streams; /* of each of the trace's streams, */
	struct info_losses *losses;  /* as these */
	uint64_t untold;             /* events that were lost at no place that is known */
	bool shared;  /* streams have files with others: their bytes are those of their packets */
	bool counted; /* contradictions are */
	nstime begin, end;
	struct times times;
	bool is_live; /* the recording goes on, and */
	struct info_live live;
};

/*
 * Of the session's trace, which is open with its index: fills what stands above `times`, but for
 * contradictions. *info is ended with info_release(), also after false.
 */
MUST_CHECK bool info_gather(struct info *info, struct error *err);
uint64_t info_lost(const struct info *info); /* events, as far as they were counted */
void info_release(struct info *info);

/* info_parts.c */
/* What packets and events of a stream share: the member "stream_classes" of a JSON object. */
void info_json_stream_classes(const struct trace *trace, struct sink *out);
void info_text_stream_classes(const struct trace *trace, struct sink *out);
/* Event classes: the member "classes". */
void info_json_classes(const struct trace *trace, struct sink *out);
void info_text_classes(const struct trace *trace, struct sink *out);
void info_json_uuid(bool has, const uint8_t uuid[16], struct sink *out);
/* What CTF 2 calls a trace, a clock or its origin; nothing is written when it has no name. */
void info_json_full_name(const char *key, const struct full_name *name, struct sink *out);
void info_text_full_name(const char *label, const struct full_name *name, struct sink *out);

/* The member "clocks" of a JSON object; the lines of the text. */
void info_json_clocks(const struct trace *trace, struct sink *out);
void info_text_clocks(const struct trace *trace, struct sink *out);

/* Which questions it can answer, by which classes write which attributes */
struct capability {
	const char *path; /* a shape: cpu[*]/thread */
	bool known;
	char *from;        /* known: the classes that write it; owned */
	const char *needs; /* not known: what would */
};

struct capabilities {
	struct capability *items;
	size_t count, capacity;
};

MUST_CHECK bool capabilities_find(struct session *session, struct capabilities *out,
				  struct error *err);
void capabilities_release(struct capabilities *capabilities);

#endif
