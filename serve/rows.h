/*
 * rows.h - what attributes were over a range, as many columns as a viewer has pixels
 *
 *     paths ──> picture (from timelines: state/pictures) ──> names of threads ──> JSON, the owner's
 */
#ifndef SERVE_ROWS_H
#define SERVE_ROWS_H

#include "serve/serving.h"
#include "state/pictures/picture.h"

struct rows_asked {
	unsigned config; /* the number of the rule set */
	nstime begin, end;
	uint32_t columns;
	size_t limit; /* rows at most */
	bool names;   /* of threads: on runs, and as labels of rows */
};

/* Rows of all the trace, whatever the range: a row does not go while one zooms. */
static inline struct rows_asked rows_of_trace(const struct served *served, size_t limit)
{
	return (struct rows_asked){.begin = served->first,
				   .end = served->last < NSTIME_MAX ? served->last + 1 : NSTIME_MAX,
				   .limit = limit};
}
/* The caller ends *out with picture_release(), also when it fails. Paths may have wildcards. */
MUST_CHECK bool rows_sample(struct served_request *request, const struct rows_asked *asked,
			    const char *const *paths, size_t npaths, struct picture *out);

/* A row that has a value in a range, how much of it, and how much of that it was active. */
struct row_found {
	char *path;
	char *name;      /* of its thread; NULL: it has none */
	uint64_t known;  /* ns with a value, at least */
	uint64_t active; /* of these with a value that is not still: not idle, sleeping, blocked, 0
			  */
};
struct rows_found {
	struct row_found *items;
	size_t count, capacity;
	bool more; /* there are more than `limit` */
};
/* In the order of their paths. The caller ends *out with rows_found_release(). */
MUST_CHECK bool rows_find(struct served_request *request, const struct rows_asked *asked,
			  const char *path, struct rows_found *out);
void rows_found_release(struct rows_found *rows);

struct answers;
/* The value of a path at a moment, with what set it. The caller releases *out, also when it fails.
 */
MUST_CHECK bool rows_why(struct served_request *request, unsigned config, const char *path,
			 nstime t, struct answers *out);

#endif
