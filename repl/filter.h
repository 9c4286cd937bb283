/*
 * filter.h - the filters of the command line, in two halves
 *
 * Time, class, stream, CPU and whatever needs no state go down into the cursor. What reads the state
 * (threads, cpu[3]/irq == 5) is asked of each event that comes out.
 */
#ifndef REPL_FILTER_H
#define REPL_FILTER_H

#include "index/events.h"
#include "repl/session.h"
#include "state/filter/where.h"

struct filter;

/* `backward`: in which order filter_pass() will be asked. */
MUST_CHECK bool filter_open(struct session *session, const struct options *options, bool backward,
			    struct filter **out, struct error *err);
/*
 * By one expression alone, whatever else was asked for; `option` is where it stands, for messages.
 */
MUST_CHECK bool filter_open_where(struct session *session, const char *option, const char *text,
				  struct filter **out, struct error *err);
void filter_close(struct filter *filter); /* NULL is fine */

/* The cursor's half; what it points to lives as long as the filter. */
void filter_fill(const struct filter *filter, struct events_options *out);
/* The same for a thread of a sweep, which asks where_select() itself; NULL: all pass. */
struct where_pass *filter_pass_new(const struct filter *filter);
/* True when filter_pass() must be asked: the state is read. */
bool filter_per_event(const struct filter *filter);
/* True when only some events were asked for by name or value: losses are then left out. */
bool filter_selects(const struct filter *filter);
/* The same of options alone. */
bool filter_picks(const struct options *options);
/* True when events within the range may be left out, for whatever reason. */
bool filter_hides(const struct filter *filter);
/* Does the event that `events` gave last pass? False: *err. */
MUST_CHECK bool filter_pass(struct filter *filter, struct events *events, bool *pass,
			    struct error *err);

/*
 * Looks the filters' names up in the trace: a plain name or CPU that it does not have is an error,
 * a pattern that matches nothing is noted. Once per command, before filter_open().
 */
MUST_CHECK bool filter_look_up(struct session *session, const struct options *options,
			       struct error *err);
/* "3" or "0-3", a word of the option. */
MUST_CHECK bool filter_parse_range(const char *option, const char *word, struct where_range *out,
				   struct error *err);
bool filter_is_name(const char *word); /* of --tid: not a number, which begins with a digit */
bool filter_has_cpu(struct session *session, const char *word); /* some CPU of a word of --cpu */
/* Words of --cpu alone. */
MUST_CHECK bool filter_look_up_cpus(struct session *session, const struct words *words,
				    struct error *err);
/* Is the stream of a word of --stream? Without words every one is. */
bool filter_has_stream(const struct trace *trace, const struct words *words,
		       const struct stream *stream);
MUST_CHECK bool filter_look_up_streams(struct session *session, const struct options *options,
				       struct error *err); /* --stream alone */

#endif
