/*
 * rows.h - values of attributes over a range, in as many columns as a viewer has pixels
 *
 *     paths ──> picture (from timelines: state/pictures) ──> names of threads ──> JSON, the owner's
 */
#ifndef SERVE_ROWS_H
#define SERVE_ROWS_H

#include "serve/serving.h"
#include "state/pictures/picture.h"

struct rows_asked {
	unsigned config; /* number of the rule set; 0: the trace's own */
	nstime begin, end;
	uint32_t columns;
	size_t limit; /* most rows */
	bool names;   /* add names of threads: to values, and as labels of rows */
};

/* Options for the rows of the whole trace: rows then stay when a viewer zooms. */
static inline struct rows_asked rows_of_trace(const struct served *served, size_t limit)
{
	return (struct rows_asked){.begin = served->first,
				   .end = served->last < NSTIME_MAX ? served->last + 1 : NSTIME_MAX,
				   .limit = limit};
}
/*
 * Fills a picture of the paths' attributes; paths may have wildcards. The caller frees *out with
 * picture_release(), also on failure.
 */
MUST_CHECK bool rows_sample(struct served_request *request, const struct rows_asked *asked,
			    const char *const *paths, size_t npaths, struct picture *out);

/* An attribute with a value in the range, and for how long. */
struct row_found {
	char *path;
	char *name;      /* name of its thread; NULL: none */
	uint64_t known;  /* ns with a value, a lower bound */
	uint64_t active; /* ns with an active value: not idle, sleeping, blocked, 0 */
};
struct rows_found {
	struct row_found *items;
	size_t count, capacity;
	bool more; /* there are more rows than `limit` */
};
/*
 * Lists the attributes of `path` that have a value in the range, ordered by path. The caller frees
 * *out with rows_found_release().
 */
MUST_CHECK bool rows_find(struct served_request *request, const struct rows_asked *asked,
			  const char *path, struct rows_found *out);
void rows_found_release(struct rows_found *rows);

struct answers;
/*
 * The value of a path at a moment, and the event that set it. The caller releases *out, also on
 * failure.
 */
MUST_CHECK bool rows_why(struct served_request *request, unsigned config, const char *path,
			 nstime t, struct answers *out);

#endif
