/*
 * partials.h - a sweep in parts, for commands whose answer is sums: `--chunk I/N --partial FILE`
 * in N processes, then `--merge FILE...`
 *
 *     partials_begin()     reads the options; of --merge all files, which are compared
 *     --chunk              the command sweeps `chunk` and gives what it counted to partials_write()
 *     --merge              it joins partials_body() of each file and answers as always
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
	struct sweep_chunk chunk; /* of CHUNK */
	struct partial own;    /* of CHUNK: what will be written; of MERGE: what files must say */
	struct partial *items; /* of MERGE, by chunk */
	const char **files;    /* of these */
	uint32_t count;
	bool bounded; /* the options leave some packets out */
};

/* What the options ask for; false: they do not go together, *err. */
MUST_CHECK bool partials_asked(const struct options *options, enum partials_mode *out,
			       struct error *err);
/*
 * `question` is all that the answer depends on beside the trace and the options of filters, range
 * and rules, which are added; it is copied. Filters were opened before. Once, also where nothing of
 * this is asked for; the caller ends *out with partials_end(), also after false.
 */
MUST_CHECK bool partials_begin(struct session *session, enum partial_kind kind,
			       const char *question, size_t len, struct partials *out,
			       struct error *err);
void partials_end(struct partials *partials); /* of zeroed bytes, too */
/*
 * Writes what the chunk counted and says so. `whole`: of all packets of the trace, where
 * options leave none out, so that it can be verified that each was taken once.
 */
MUST_CHECK bool partials_write(struct partials *partials, const struct buf *body, bool whole,
			       struct sink *sink, struct error *err);
/* An error of a room's work in the words of this: which file, or why there are no sums. False. */
bool partials_explain(const struct partials *partials, const struct partial_work *work,
		      struct error *err);
/* Of MERGE: the body of file i, from its beginning. */
struct cursor partials_body(const struct partials *partials, uint32_t i);
/* The error that the body of file i is not what it should be, or too much to be joined. False. */
bool partials_refuse(const struct partials *partials, uint32_t i, enum partial_taken why,
		     struct error *err);
/* What a room is told to sweep into `body`, or to join; its `bodies` are ended with mem_free(). */
struct partial_work partials_work(struct partials *partials, struct buf *body);
/* Why a question cannot be answered in parts; `why` goes on after "since". False. */
bool partials_not_sums(const struct options *options, const char *why, struct error *err);

#endif
