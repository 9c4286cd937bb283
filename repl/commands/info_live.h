/*
 * info_live.h - how far a recording that goes on has come, what holds it back, and how far behind
 * the wall clock it is
 */
#ifndef REPL_COMMANDS_INFO_LIVE_H
#define REPL_COMMANDS_INFO_LIVE_H

#include "follow/watermark.h"
#include "repl/session.h"

struct sink;

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

#endif
