/*
 * intervals.h - what `state`, `when` and `longest` share: asking for intervals and printing them
 */
#ifndef REPL_COMMANDS_INTERVALS_H
#define REPL_COMMANDS_INTERVALS_H

#include "repl/render/names.h"
#include "repl/render/render.h"
#include "repl/session.h"
#include "state/intervals/named.h"

/* PATH or PATH=VALUE words, parsed. */
struct wanted_path {
	struct query *query;
	bool has_value, noted; /* noted: a note was said of it, see asked.h */
	bool met;              /* wanteds_hold() saw an interval of the path, of any value */
	struct value value;
};

struct wanteds {
	struct wanted_path *items;
	const struct query **queries; /* of all items */
	size_t count;
	/* once threads that are meant by name were put in place of the words that mean them: */
	struct named_queries named;
	struct wanted_path *asked; /* as they were before; NULL: no word does */
	size_t nasked;
};

enum want_value { VALUE_FORBIDDEN, VALUE_OPTIONAL, VALUE_NEEDED };

MUST_CHECK bool wanteds_parse(const struct words *words, enum want_value value, struct wanteds *out,
			      struct error *err);
/*
 * Puts the threads that have a name over the command's range in place of each word that means them
 * by it; nothing may be left then. Once; asked_paths() does it.
 */
MUST_CHECK bool wanteds_find_threads(struct session *session, struct wanteds *wanteds,
				     struct error *err);
void wanteds_release(struct wanteds *wanteds);
/* Does an interval that some query gave hold a value that is wanted? */
bool wanteds_hold(struct wanteds *wanteds, const struct interval *interval);

/*
 * Rows {path, begin, end, value, comm}, in any format; text gets the length, and names of threads
 * beside values that are threads, with `of_path` also of thread[T]/..., at the end.
 */
struct interval_writer;

MUST_CHECK bool interval_writer_new(struct session *session, const struct options *options,
				    bool of_path, struct sink *sink, struct interval_writer **out,
				    struct error *err);
/* False: stop; then interval_writer_failed() or the reader has gone. `interval` is borrowed. */
bool interval_write(struct interval_writer *writer, const struct interval *interval);
/*
 * The same with the names of its thread and its function, which are known (NULL: it has none), and
 * are not looked for. so_far NSTIME_MIN, or until when it is known to go on.
 */
bool interval_write_told(struct interval_writer *writer, const struct interval *interval,
			 const char *name, const char *function, nstime so_far);
/* Writes what waits. */
MUST_CHECK bool interval_writer_flush(struct interval_writer *writer, struct error *err);
/* Of which moment the name of an interval's thread is. */
nstime interval_name_time(const struct session *session, nstime begin, nstime end);
/* Writes what waits and frees; false: *err. */
MUST_CHECK bool interval_writer_finish(struct interval_writer *writer, bool drop,
				       struct error *err);

/* May rows of the word show threads, as values or (of_path) in their paths? */
bool intervals_show_threads(const char *word, bool of_path);

struct spells;

/*
 * Asks over --begin --end; each interval that is wanted goes to `each` as state_intervals() does.
 * Before them `names` is given the names of all threads over the range; NULL: it is not asked for.
 */
MUST_CHECK bool intervals_each(struct session *session, const struct wanteds *wanteds,
			       struct spells *names,
			       bool (*each)(void *arg, const struct interval *interval), void *arg,
			       struct error *err);

/* `state` and `when`: the intervals that the command's words want, up to --limit. */
MUST_CHECK bool intervals_run(struct session *session, const struct options *options,
			      struct sink *sink, struct error *err);
/* What `explain` prints: the range, and how the state at its end would be found. */
MUST_CHECK bool intervals_explain(struct session *session, const struct options *options,
				  struct sink *sink, struct error *err);
/* intervals_follow.c: with --follow an interval is a row when its end is final. */
MUST_CHECK bool intervals_follow(struct session *session, const struct options *options,
				 enum want_value value, struct sink *sink, struct error *err);

#endif
