/*
 * partials.h - splits the sweep of a command whose answer is sums: `--chunk I/N --partial FILE` in
 * N processes, then `--merge FILE...`
 *
 *     partials_begin()     reads the options; with --merge reads and compares all files
 *     --chunk              the command sweeps `chunk`, and passes its counts to partials_write()
 *     --merge              it joins partials_body() of each file, and answers as usual
 */
#ifndef REPL_COMMANDS_PARTIALS_H
#define REPL_COMMANDS_PARTIALS_H

#include "aggregate/partial.h"
#include "index/sweep/sweep.h"
#include "repl/session.h"
#include "repl/sink.h"

enum partials_mode { PARTIALS_NONE, PARTIALS_CHUNK, PARTIALS_MERGE };

struct partials {
	enum partials_mode mode;
	struct session *session;
	const struct options *options;
	struct sweep_chunk chunk; /* with --chunk */
	struct partial own;       /* the header to write, or which the files must have */
	struct partial *items;    /* with --merge: the files, by chunk */
	const char **files;       /* their names */
	uint32_t count;
	bool bounded; /* the options leave out some packets */
};

/* Which mode the options select; false: they do not go together, *err. */
MUST_CHECK bool partials_asked(const struct options *options, enum partials_mode *out,
			       struct error *err);
/*
 * `question` (copied) is what the answer depends on, beside the trace and the options of filters,
 * range and rules, which this adds. Call it once, after filters were opened, also without these
 * options. The caller ends *out with partials_end(), also after false.
 */
MUST_CHECK bool partials_begin(struct session *session, enum partial_kind kind,
			       const char *question, size_t len, struct partials *out,
			       struct error *err);
void partials_end(struct partials *partials); /* zeroed bytes are fine */
/*
 * Writes the chunk's counts to FILE, and prints that. `whole`: the command reads all packets unless
 * options leave some out, so that --merge can verify that each packet was read once.
 */
MUST_CHECK bool partials_write(struct partials *partials, const struct buf *body, bool whole,
			       struct sink *sink, struct error *err);
/* Sets *err for work that failed: the file that was refused, or why there are no sums. False. */
bool partials_explain(const struct partials *partials, const struct partial_work *work,
		      struct error *err);
/* With --merge: a cursor at the start of the body of file i. */
struct cursor partials_body(const struct partials *partials, uint32_t i);
/* Sets *err: the body of file i is invalid, or too large to join. Returns false. */
bool partials_refuse(const struct partials *partials, uint32_t i, enum partial_taken why,
		     struct error *err);
/* The work for another room: sweep a chunk into `body`, or join `bodies`; mem_free() these. */
struct partial_work partials_work(struct partials *partials, struct buf *body);
/* Sets *err: the question cannot be answered in parts, since `why`. Returns false. */
bool partials_not_sums(const struct options *options, const char *why, struct error *err);

#endif
