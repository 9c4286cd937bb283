/*
 * events_table.h - events as rows of texts: by rank, by time, forward or backward, by pattern
 */
#ifndef SERVE_EVENTS_TABLE_H
#define SERVE_EVENTS_TABLE_H

#include "serve/serving.h"

enum event_column {
	COLUMN_TIME,
	COLUMN_CPU,
	COLUMN_NAME,
	COLUMN_CONTENTS,
	COLUMN_TID,
	COLUMN_STREAM,
	EVENT_COLUMNS
};

/* A cell's text; empty where the event has none. `fields` NULL: they could not be decoded. */
void event_cell(const struct event *event, const struct fields *fields, enum event_column column,
		struct buf *out);

/* Patterns of cells (PCRE2), all of which are found in the cells of an event that matches. */
struct cell_patterns;
/* False: *err says what is wrong with the text. Adds to *patterns, which is NULL at first. */
MUST_CHECK bool cell_patterns_add(struct cell_patterns **patterns, enum event_column column,
				  const char *text, struct error *err);
void cell_patterns_free(struct cell_patterns *patterns); /* NULL is fine */
bool cell_patterns_match(struct cell_patterns *patterns, const struct event *event,
			 const struct fields *fields);

/* A cursor that knows the rank of its events: the number of those before. */
struct ranked_events;
struct ranked_event {
	struct event event;
	struct fields fields; /* where has_fields */
	bool has_fields;      /* they could be decoded */
	uint64_t rank;
};
/* At the event of that rank. False: request->err; also where events were not counted yet. */
MUST_CHECK bool ranked_open(struct served_request *request, uint64_t rank,
			    struct ranked_events **out);
void ranked_close(struct ranked_events *ranked); /* NULL is fine */
/* Borrowed until the next call. */
MUST_CHECK enum step ranked_next(struct ranked_events *ranked, struct ranked_event *out,
				 struct error *err);
/* How many events come before the moment, and at it before `position` (NULL: none)? */
MUST_CHECK bool rank_of(struct served_request *request, nstime t, const struct position *position,
			uint64_t *out);
/* The rank of the nearest event that matches, from that of `rank` on, or backward. */
MUST_CHECK bool rank_search(struct served_request *request, uint64_t rank, bool backward,
			    struct cell_patterns *patterns, bool *found, uint64_t *out);

#endif
