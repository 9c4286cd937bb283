/* analysis.h - runs an analysis that comes with yore, and returns its output */
#ifndef SERVE_ANALYSIS_H
#define SERVE_ANALYSIS_H

#include "serve/serving.h"

/*
 * Runs the analysis over the range and appends its JSON lines to *out. `args` must never come from
 * a client, since an option may name a file. False: request->err; ERR_RANGE if there is no such
 * analysis.
 */
MUST_CHECK bool analysis_run(struct served_request *request, const char *name,
			     const char *const *args, size_t nargs, const struct asked_range *range,
			     struct buf *out);

#endif
