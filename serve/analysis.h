/* analysis.h - runs an analysis that comes with yore, and keeps what it prints */
#ifndef SERVE_ANALYSIS_H
#define SERVE_ANALYSIS_H

#include "serve/serving.h"

/*
 * JSON lines of the analysis over [begin, end) into *out. `args` are the caller's own words, never
 * a client's: an option may name a file. False: *err, ERR_RANGE where there is no such analysis.
 */
MUST_CHECK bool analysis_run(struct served *served, struct worker *worker, const char *name,
			     const char *const *args, size_t nargs, nstime begin, nstime end,
			     struct buf *out, struct error *err);

#endif
