/*
 * events_table.h - events as rows of texts: found by rank, by time, or by pattern in either
 * direction
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

/*
 * Appends a cell's text; nothing if the event has no such value. `fields` NULL: they could not be
 * decoded.
 */
void event_cell(const struct event *event, const struct fields *fields, enum event_column column,
		struct buf *out);

/* PCRE2 patterns, one per column at most. An event matches if each is found in its cell. */
struct cell_patterns;
/* Adds a pattern; *patterns is NULL at first. False: *err says what is wrong with the text. */
MUST_CHECK bool cell_patterns_add(struct cell_patterns **patterns, enum event_column column,
				  const char *text, struct error *err);
void cell_patterns_free(struct cell_patterns *patterns); /* NULL is fine */
bool cell_patterns_match(struct cell_patterns *patterns, const struct event *event,
			 const struct fields *fields);

/* A cursor that also returns the rank of its events: the number of events before. */
struct ranked_events;
struct ranked_event {
	struct event event;
	struct fields fields; /* if has_fields */
	bool has_fields;      /* the fields could be decoded */
	uint64_t rank;
};
/*
 * Opens a cursor at the event of that rank. False: request->err, also while events are not counted
 * yet.
 */
MUST_CHECK bool ranked_open(struct served_request *request, uint64_t rank,
			    struct ranked_events **out);
void ranked_close(struct ranked_events *ranked); /* NULL is fine */
/* Borrowed until the next call. */
MUST_CHECK enum step ranked_next(struct ranked_events *ranked, struct ranked_event *out,
				 struct error *err);
/* Counts the events before `t`, and those at `t` before `position` (NULL: none of these). */
MUST_CHECK bool rank_of(struct served_request *request, nstime t, const struct position *position,
			uint64_t *out);
/* Searches a matching event, from the one of `rank` on or backward from it; *out: its rank. */
MUST_CHECK bool rank_search(struct served_request *request, uint64_t rank, bool backward,
			    struct cell_patterns *patterns, bool *found, uint64_t *out);

#endif
