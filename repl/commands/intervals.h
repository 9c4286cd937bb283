/*
 * intervals.h - reads and prints intervals for `state`, `when` and `longest`
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
	bool has_value, noted; /* noted: a note was printed on it, see asked.h */
	bool met;              /* wanteds_hold() saw an interval of the path, with any value */
	struct value value;
};

struct wanteds {
	struct wanted_path *items;
	const struct query **queries; /* of all items */
	size_t count;
	/* set by wanteds_find_threads() if words have threads by name */
	struct named_queries named;
	struct wanted_path *asked; /* the items before; NULL: no word has a name */
	size_t nasked;
};

enum want_value { VALUE_FORBIDDEN, VALUE_OPTIONAL, VALUE_NEEDED };

MUST_CHECK bool wanteds_parse(const struct words *words, enum want_value value, struct wanteds *out,
			      struct error *err);
/*
 * Replaces each word with a thread's name by the threads that have it in the command's range; there
 * may be none. asked_paths() calls it, once.
 */
MUST_CHECK bool wanteds_find_threads(struct session *session, struct wanteds *wanteds,
				     struct error *err);
void wanteds_release(struct wanteds *wanteds);
/* Does the interval, from one of the queries, have a wanted value? */
bool wanteds_hold(struct wanteds *wanteds, const struct interval *interval);

/*
 * Writes rows {path, begin, end, value, comm} in any format. Text also has the length; names stand
 * beside values that are threads, and with `of_path` at the end of rows of thread[T]/....
 */
struct interval_writer;

MUST_CHECK bool interval_writer_new(struct session *session, const struct options *options,
				    bool of_path, struct sink *sink, struct interval_writer **out,
				    struct error *err);
/* Adds a row, and copies its texts. False: stop, after an error or as the reader has gone. */
bool interval_write(struct interval_writer *writer, const struct interval *interval);
/*
 * The same with names of thread and function that the caller has found (NULL: none). so_far: time
 * up to which the interval is known to last, if it may go on; NSTIME_MIN: it has ended.
 */
bool interval_write_told(struct interval_writer *writer, const struct interval *interval,
			 const char *name, const char *function, nstime so_far);
/* Writes rows that wait for names. */
MUST_CHECK bool interval_writer_flush(struct interval_writer *writer, struct error *err);
/* The time at which the name of an interval's thread is taken. */
nstime interval_name_time(const struct session *session, nstime begin, nstime end);
/* Writes rows that wait, or drops them, and frees. False: an error so far, *err unless `drop`. */
MUST_CHECK bool interval_writer_finish(struct interval_writer *writer, bool drop,
				       struct error *err);

/* May rows of the word show threads, as values or (of_path) in their paths? */
bool intervals_show_threads(const char *word, bool of_path);

struct comm_spells;

/*
 * Reads the range of --begin and --end, and calls `each` for intervals of the queries, in the order
 * of state_intervals(). First adds the names of all threads over the range to `names`, unless NULL.
 */
MUST_CHECK bool intervals_each(struct session *session, const struct wanteds *wanteds,
			       struct comm_spells *names,
			       bool (*each)(void *arg, const struct interval *interval), void *arg,
			       struct error *err);

/* `state` and `when`: prints the wanted intervals, up to --limit. */
MUST_CHECK bool intervals_run(struct session *session, const struct options *options,
			      struct sink *sink, struct error *err);
/* `explain`: prints the range, and how the state at its end would be found. */
MUST_CHECK bool intervals_explain(struct session *session, const struct options *options,
				  struct sink *sink, struct error *err);
/* intervals_follow.c: --follow, which prints an interval once its end is final. */
MUST_CHECK bool intervals_follow(struct session *session, const struct options *options,
				 enum want_value value, struct sink *sink, struct error *err);

#endif
