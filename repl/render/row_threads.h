/*
 * row_threads.h - --cpu, --tid, --pid and --comm of commands whose rows are of the state
 *
 * A row is of the thread that its path begins with (thread[T]/...), or that its value is, that of a
 * path which ends in /thread. It is of the CPU in its path (cpu[N]/...), else of the one that its
 * thread was on when it began. A name of --tid and a process mean the threads that have it at some
 * time of the range, as thread["make"]/state does (state/intervals/named.h): all rows of these
 * pass.
 * --comm asks for the name that the thread had when the row began, else the first while it lasts.
 * Of a value at a moment, all that is what holds then.
 */
#ifndef REPL_RENDER_ROW_THREADS_H
#define REPL_RENDER_ROW_THREADS_H

#include "repl/session.h"

struct row_threads;

/* The thread of such a row, and its CPU, of its path alone. False: it has none. */
bool row_thread(const char *path, const struct value *value, struct value *tid);
bool row_cpu(const char *path, struct value *cpu);

/* *out NULL: the options leave all rows. Names are asked for over the command's range. */
MUST_CHECK bool row_threads_open(struct session *session, const struct options *options,
				 struct row_threads **out, struct error *err);
/* The same for rows that are values at moments, all of which are `before` or none. */
MUST_CHECK bool row_threads_open_at(struct session *session, const struct options *options,
				    const struct moment *moments, size_t count,
				    struct row_threads **out, struct error *err);
bool row_threads_pass(struct row_threads *rows, const struct interval *interval);
/* Does a value pass? */
bool row_threads_pass_at(struct row_threads *rows, const struct moment *moment, const char *path,
			 const struct value *value);
/* Notes how many values or intervals were left out since it is not known whose they are; frees. NULL is fine. */
void row_threads_close(struct row_threads *rows);

#endif
