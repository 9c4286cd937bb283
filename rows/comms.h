/*
 * comms.h - names of threads at moments, one after the other
 *
 * The first few are asked for one by one. A query that needs more gets the names of all threads
 * over the whole trace, once, and then each by bisection. Of a range that is a window
 * (state_set_lists()) those that its events tell are read, and some of the others are asked for.
 */
#ifndef ROWS_COMMS_H
#define ROWS_COMMS_H

#include "rows/row_host.h"
#include "state/model/value.h"

struct comms;
struct interval;

void comms_free(struct comms *comms); /* NULL is fine */
/* Names will be asked for in [begin, end), which is a window. */
MUST_CHECK bool comms_of_window(struct row_host *host, nstime begin, nstime end, struct error *err);
/* Were they read already? */
bool comms_have_window(const struct row_host *host, nstime begin, nstime end);
/*
 * They come with other lists of the window, instead: first comms_along_begin(), then each interval
 * of COMMS_LIST, then comms_along_end().
 */
void comms_along_begin(struct row_host *host);
void comms_along_add(struct row_host *host, const struct interval *interval);
MUST_CHECK bool comms_along_end(struct row_host *host, nstime begin, nstime end, struct error *err);
/*
 * The name that the thread had at `t`, or last before; *out is NULL where none is known, else
 * borrowed until the next call.
 */
MUST_CHECK bool comms_at(struct row_host *host, const struct value *tid, nstime t, const char **out,
			 struct error *err);
/* The same of what a row of `path` with that value shows; *out is NULL where that is no thread. */
MUST_CHECK bool comms_of_row(struct row_host *host, const char *path, const struct value *value,
			     nstime t, const char **out, struct error *err);

#endif
