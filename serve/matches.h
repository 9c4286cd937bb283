/* matches.h - the events of a range for which a condition of the rule language is true */
#ifndef SERVE_MATCHES_H
#define SERVE_MATCHES_H

#include "serve/serving.h"

struct match { /* valid during the call of each() */
	struct event event;
	const struct fields *fields; /* NULL: not requested, or not decodable */
};

struct matches_asked {
	nstime begin, end;
	const char *where; /* NULL: all events */
	bool fields;       /* decode the fields of each event */
	/* Called in order of time. If it returns false, matches_each() ends and returns true. */
	bool (*each)(void *arg, const struct match *match);
	void *arg;
};

MUST_CHECK bool matches_each(struct served_request *request, const struct matches_asked *asked);

#endif
