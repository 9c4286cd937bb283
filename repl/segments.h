/*
 * segments.h - intervals of attributes as rows of segments, of bounded number: what an SVG shows
 *
 *     row       |--- a ---|b|c|b|     |------ a ------|
 *     segments  |--- a ---|several    |------ a ------|
 *
 * Segments are exact as long as there are few. When there are more than SEGMENTS_MOST, short ones
 * that lie within one cell of a grid of time become one, which tells the time that each tone had.
 * The grid doubles until they are few enough. Cells of a grid lie in cells of the next, so the
 * result does not depend on the order in which rows or parts of the range come.
 */
#ifndef REPL_SEGMENTS_H
#define REPL_SEGMENTS_H

#include "engine/base/arena.h"
#include "engine/base/nameset.h"
#include "lua-lib/drawing/drawing.h"
#include "state/state.h"

enum { SEGMENTS_MOST = 300000 };

struct segment_shares { /* of several intervals */
	uint64_t count;
	uint64_t time[TONES]; /* ns; the rest is unknown, or none */
};

struct segment {
	nstime begin, end;
	uint32_t value;                /* place among the values; of `shares`: 0 */
	struct segment_shares *shares; /* NULL: it is one interval */
};

struct segment_value {
	struct value value;
	enum drawing_tone tone;
	bool thread;      /* of a path that ends in /thread: it is the number of one */
	const char *name; /* of that thread, see segments_name(); NULL: not known */
	uint32_t other;   /* 1 + place of the same value with another name; 0: none */
};

struct segment_row {
	const char *path, *label; /* label: for the owner to set */
	bool lost;                /* places where events were lost */
	struct segment *items;    /* rising; gaps are unknown or none */
	size_t count, capacity;
	struct segment pending; /* the last, which may go on; begin == end: none */
};

/* The colour of a value. */
enum drawing_tone value_tone(const struct value *value);

struct segments {
	nstime begin, end;
	nstime grain; /* length of a cell; 0: all segments are exact */
	size_t limit, left_out;
	struct segment_row *rows;
	size_t nrows, capacity;
	size_t total; /* segments of all rows */
	struct segment_value *values;
	size_t nvalues, values_capacity;
	uint32_t *slots; /* 1 + place among the values, by hash; a power of two, or none */
	size_t nslots;
	struct nameset paths; /* 1 + place among the rows; 0: it is one too many */
	size_t last;          /* 1 + the row that was added to last */
	struct arena *arena;
};

/* Rows of [begin, end), at most `limit`. */
void segments_init(struct segments *segments, nstime begin, nstime end, size_t limit);
void segments_release(struct segments *segments);
/* Intervals of one path rise; what lies outside of the range is cut off. */
void segments_add(struct segments *segments, const struct interval *interval);
/* Of a row for losses, which does not count as one of `limit`; before all others. */
void segments_add_loss(struct segments *segments, nstime begin, nstime end, const char *text);
void segments_finish(struct segments *segments); /* rows are then in order, losses first */
/* After that: the thread that is the segment's value had this name then; the text is borrowed. */
void segments_name(struct segments *segments, struct segment *segment, const char *name);

#endif
