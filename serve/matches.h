/* matches.h - the events of a range for which an expression of the rule language is true */
#ifndef SERVE_MATCHES_H
#define SERVE_MATCHES_H

#include "serve/serving.h"

struct match { /* borrowed for the call */
	struct event event;
	const struct fields *fields; /* NULL: not asked for, or they could not be decoded */
};

struct matches_asked {
	nstime begin, end;
	const char *where; /* NULL: all events */
	bool fields;       /* of each event are wanted */
	/* In order of time; false ends it, which is no failure. */
	bool (*each)(void *arg, const struct match *match);
	void *arg;
};

MUST_CHECK bool matches_each(struct served_request *request, const struct matches_asked *asked);

#endif
