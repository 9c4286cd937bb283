/*
 * comms.h - names of threads at moments
 *
 * The first 64 names are looked up in the state one by one. A query that needs more reads the names
 * of all threads over the whole trace once, and finds each by bisection. For a short window of time
 * (state_set_lists()) the names in its events are read; up to 64 others are looked up one by one.
 */
#ifndef ROWS_COMMS_H
#define ROWS_COMMS_H

#include "rows/row_host.h"
#include "state/model/value.h"

struct comms;
struct interval;

void comms_free(struct comms *comms); /* NULL is fine */
/* Reads the names of [begin, end), a window, unless they were read. */
MUST_CHECK bool comms_of_window(struct row_host *host, nstime begin, nstime end, struct error *err);
/* Were the names of [begin, end) read? */
bool comms_have_window(const struct row_host *host, nstime begin, nstime end);
/*
 * In place of comms_of_window(), for a caller that reads other lists of the window with the same
 * pass: comms_along_begin(), comms_along_add() for each interval of COMMS_LIST, comms_along_end().
 */
void comms_along_begin(struct row_host *host);
void comms_along_add(struct row_host *host, const struct interval *interval);
MUST_CHECK bool comms_along_end(struct row_host *host, nstime begin, nstime end, struct error *err);
/*
 * *out is the name that the thread had at `t`, or last before it, borrowed until the next call;
 * NULL: unknown.
 */
MUST_CHECK bool comms_at(struct row_host *host, const struct value *tid, nstime t, const char **out,
			 struct error *err);
/* The name of the thread that `value` is (cpu[3]/thread), else that `path` begins with (thread[7]/
 * state); *out is NULL where neither is a thread. */
MUST_CHECK bool comms_of_row(struct row_host *host, const char *path, const struct value *value,
			     nstime t, const char **out, struct error *err);

#endif
