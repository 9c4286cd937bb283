/* analysis.h - runs an analysis that comes with yore, and keeps what it prints */
#ifndef SERVE_ANALYSIS_H
#define SERVE_ANALYSIS_H

#include "serve/serving.h"

/*
 * JSON lines of the analysis over the range into *out. `args` are the caller's own words, never
 * a client's: an option may name a file. False: request->err, ERR_RANGE where there is no such
 * analysis.
 */
MUST_CHECK bool analysis_run(struct served_request *request, const char *name,
			     const char *const *args, size_t nargs, const struct asked_range *range,
			     struct buf *out);

#endif
