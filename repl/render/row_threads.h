/*
 * row_threads.h - filters rows of the state by --cpu, --tid, --pid and --comm
 *
 * The thread of a row is in its path (thread[T]/...), or is its value if the path ends in /thread.
 * The CPU of a row is in its path (cpu[N]/...), else it is that of its thread when the row began.
 * --tid NAME and --pid pass all rows of threads that have this name or process at some time of the
 * range, as thread["make"]/state does (state/intervals/named.h). --comm compares the name that the
 * thread had when the row began, else its first name while the row lasts. For values at a moment,
 * it is what holds at that moment.
 */
#ifndef REPL_RENDER_ROW_THREADS_H
#define REPL_RENDER_ROW_THREADS_H

#include "repl/session.h"

struct row_threads;

/* The thread of a row, from path and value, and the CPU, from its path alone. False: none. */
bool row_thread(const char *path, const struct value *value, struct value *tid);
bool row_cpu(const char *path, struct value *cpu);

/* Reads names, processes and CPUs of threads over the command's range. *out NULL: all rows pass. */
MUST_CHECK bool row_threads_open(struct session *session, const struct options *options,
				 struct row_threads **out, struct error *err);
/* The same for rows that are values at these moments. */
MUST_CHECK bool row_threads_open_at(struct session *session, const struct options *options,
				    const struct moment *moments, size_t count,
				    struct row_threads **out, struct error *err);
bool row_threads_pass(struct row_threads *rows, const struct interval *interval);
/* Does a value at a moment pass? */
bool row_threads_pass_at(struct row_threads *rows, const struct moment *moment, const char *path,
			 const struct value *value);
/* Notes how many rows were left out because their thread's data is unknown; frees. NULL is fine. */
void row_threads_close(struct row_threads *rows);

#endif
