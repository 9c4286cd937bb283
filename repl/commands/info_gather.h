/*
 * info_gather.h - what `info` and `catalog` say of a trace: range, packets, bytes and losses of its
 * streams
 *
 * Stream ranges are those of events, so that they agree with `events`: one head at each end of each
 * stream is decoded.
 */
#ifndef REPL_COMMANDS_INFO_GATHER_H
#define REPL_COMMANDS_INFO_GATHER_H

#include "repl/commands/info_live.h"
#include "repl/render/contradicted.h"
#include "repl/render/info_losses.h"
#include "state/program/cpus.h"

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

#endif
