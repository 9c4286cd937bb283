/*
 * lanes.h - intervals of attributes as rows of pieces, of bounded number: what an SVG shows
 *
 *     intervals   |--- a ---|b|c|b|     |------ a ------|
 *     pieces      |--- a ---|several    |------ a ------|
 *
 * A piece is one interval as long as there are few. When there are more than PIECES_MOST, short
 * ones that lie within one cell of a grid of time become one, which tells the time that each tone
 * had. The grid doubles until they are few enough. Cells of a grid lie in cells of the next, so the
 * result does not depend on the order in which rows or parts of the range come.
 */
#ifndef REPL_RENDER_LANES_H
#define REPL_RENDER_LANES_H

#include "engine/base/arena.h"
#include "engine/base/hash_index.h"
#include "engine/base/nameset.h"
#include "lua-lib/drawing/drawing.h"
#include "state/model/moment.h"

struct state;

enum { PIECES_MOST = 300000 };

struct lane_shares { /* of several intervals */
	uint64_t count;
	uint64_t time[TONES]; /* ns; the rest is unknown, or none */
};

struct lane_piece {
	nstime begin, end;
	uint32_t value;             /* place among the values; of `shares`: 0 */
	struct lane_shares *shares; /* NULL: it is one interval */
};

struct lane_value {
	struct value value;
	enum drawing_tone tone;
	bool has_name;    /* it is the number of a thread, or an address on a stack */
	const char *name; /* of that thread or function, see lanes_name(); NULL: not known */
	uint32_t other;   /* 1 + place of the same value with another name; 0: none */
};

struct lane {
	const char *path, *label; /* label: for the owner to set */
	bool lost;                /* places where events were lost */
	struct lane_piece *items; /* rising; gaps are unknown or none */
	size_t count, capacity;
	struct lane_piece pending; /* the last, which may go on; begin == end: none */
};

struct lanes {
	nstime begin, end;
	nstime grain; /* length of a cell; 0: all pieces are exact */
	size_t limit, left_out;
	struct lane *rows;
	size_t nrows, capacity;
	size_t total; /* pieces of all rows */
	struct lane_value *values;
	size_t nvalues, values_capacity;
	struct hash_index value_index;
	struct nameset paths; /* 1 + place among the rows; 0: it is one too many */
	size_t last;          /* 1 + the row that was added to last */
	struct arena *arena;
};

/* Rows of [begin, end), at most `limit`. */
void lanes_init(struct lanes *lanes, nstime begin, nstime end, size_t limit);
void lanes_release(struct lanes *lanes);
/* Intervals of one path rise; what lies outside of the range is cut off. */
void lanes_add(struct lanes *lanes, const struct interval *interval);
/* Of a row for losses, which does not count as one of `limit`; before all others. */
void lanes_add_loss(struct lanes *lanes, nstime begin, nstime end, const char *text);
void lanes_finish(struct lanes *lanes); /* rows are then in order, losses first */
/* After that: the piece's value, a thread or address, had this name then; the text is borrowed. */
void lanes_name(struct lanes *lanes, struct lane_piece *piece, const char *name);

#endif
