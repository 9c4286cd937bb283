/*
 * filter.h - the filters of the command line
 *
 * The cursor applies filters on time, class, stream and CPU, and conditions without state.
 * Conditions that read the state (threads, cpu[3]/irq == 5) are evaluated for each event that it
 * returns.
 */
#ifndef REPL_FILTER_H
#define REPL_FILTER_H

#include "index/events.h"
#include "repl/session.h"
#include "state/filter/where.h"

struct filter;

/* `backward`: filter_pass() will be called for events from the last to the first. */
MUST_CHECK bool filter_open(struct session *session, const struct options *options, bool backward,
			    struct filter **out, struct error *err);
/* A filter of only this expression and the range. `option`: its option, for messages. */
MUST_CHECK bool filter_open_where(struct session *session, const char *option, const char *text,
				  struct filter **out, struct error *err);
void filter_close(struct filter *filter); /* NULL is fine */

/* Sets the cursor's filters in *out; what they point to lives as long as the filter. */
void filter_fill(const struct filter *filter, struct events_options *out);
/* The same for a thread of a sweep, which calls where_select() itself; NULL: all events pass. */
struct where_pass *filter_pass_new(const struct filter *filter);
const struct condition *filter_condition(const struct filter *filter); /* lives as long */
/* Does it read the state? Then filter_pass() must be called for each event. */
bool filter_per_event(const struct filter *filter);
/* Does it select events by name or value? Then rows of losses are left out. */
bool filter_selects(const struct filter *filter);
/* The same, from options without an open filter. */
bool filter_picks(const struct options *options);
/* May it leave out events within the range, for whatever reason? */
bool filter_hides(const struct filter *filter);
/* Sets *pass: does the last event of the cursor `events` pass? False: *err. */
MUST_CHECK bool filter_pass(struct filter *filter, struct events *events, bool *pass,
			    struct error *err);
/* The next event of the cursor that passes, or the next loss. Ctrl-C: ERR_INTERRUPTED. */
enum step filter_next(struct filter *filter, struct events *events, struct event *out,
		      struct error *err);
/* The same for the next run; if the filter must see each event, a run has one. */
enum step filter_next_run(struct filter *filter, struct events *events, struct run *out,
			  struct error *err);

/*
 * Looks up the filters' names in the trace. An unknown plain name or CPU is an error, a pattern
 * without a match is noted. Call it once per command, before filter_open().
 */
MUST_CHECK bool filter_look_up(struct session *session, const struct options *options,
			       struct error *err);
/* Parses a word of `option`, "3" or "0-3". */
MUST_CHECK bool filter_parse_range(const char *option, const char *word, struct where_range *out,
				   struct error *err);
bool filter_is_name(const char *word); /* a word of --tid: a name, no number or range? */
/* Does the trace have a CPU of this word of --cpu? */
bool filter_has_cpu(struct session *session, const char *word);
/* As filter_look_up(), for words of --cpu only. */
MUST_CHECK bool filter_look_up_cpus(struct session *session, const struct words *words,
				    struct error *err);
/* Does a word of --stream match the stream? True if there are no words. */
bool filter_has_stream(const struct trace *trace, const struct words *words,
		       const struct stream *stream);
MUST_CHECK bool filter_look_up_streams(struct session *session, const struct options *options,
				       struct error *err); /* --stream alone */

#endif
