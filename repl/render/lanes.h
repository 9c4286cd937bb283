/*
 * lanes.h - joins intervals of attributes to a bounded number of pieces, for an SVG
 *
 *     intervals   |--- a ---|b|c|b|     |------ a ------|
 *     pieces      |--- a ---|several    |------ a ------|
 *
 * At first, a piece is one interval. With more than PIECES_MOST pieces, short ones within one cell
 * of a grid of time become one piece, which has the time that each tone held. The cells double in
 * length until there are few enough pieces. Each cell lies within one of the next coarser grid, so
 * the result does not depend on the order in which rows or parts of the range are added.
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

struct lane_shares { /* sums over the intervals of one piece */
	uint64_t count;
	uint64_t time[TONES]; /* ns per tone; in the rest, the value is unknown or none */
};

struct lane_piece {
	nstime begin, end;
	uint32_t value;             /* index in lanes->values; 0 with `shares` */
	struct lane_shares *shares; /* NULL: the piece is one interval */
};

struct lane_value {
	struct value value;
	enum drawing_tone tone;
	bool has_name;    /* the value is a thread's number, or an address on a stack */
	const char *name; /* of that thread or function, see lanes_name(); NULL: unknown */
	uint32_t other;   /* 1 + index of the same value with another name; 0: none */
};

struct lane {
	const char *path, *label; /* the owner sets the label */
	bool lost;                /* the row shows losses, not an attribute */
	struct lane_piece *items; /* in order of time; in gaps, the value is unknown or none */
	size_t count, capacity;
	struct lane_piece pending; /* the last piece, which may still grow; begin == end: none */
};

struct lanes {
	nstime begin, end;
	nstime grain;           /* length of a cell; 0: each piece is one interval */
	size_t limit, left_out; /* greatest number of rows; rows left out for it */
	struct lane *rows;
	size_t nrows, capacity;
	size_t total; /* pieces of all rows */
	struct lane_value *values;
	size_t nvalues, values_capacity;
	struct hash_index value_index;
	struct nameset paths; /* path to 1 + index of its row; 0: the row is left out */
	size_t last;          /* 1 + index of the row that lanes_add() used last */
	struct arena *arena;
};

/* Starts rows over [begin, end), at most `limit` of them. */
void lanes_init(struct lanes *lanes, nstime begin, nstime end, size_t limit);
void lanes_release(struct lanes *lanes);
/* Adds an interval, cut to the range. Those of one path must be added in order of time. */
void lanes_add(struct lanes *lanes, const struct interval *interval);
/* Adds a piece to the row of losses, which `limit` does not count; call it before lanes_add(). */
void lanes_add_loss(struct lanes *lanes, nstime begin, nstime end, const char *text);
void lanes_finish(struct lanes *lanes); /* ends all pieces, and sorts the rows, losses first */
/* Sets the name of the thread or function that a finished piece has as its value. Borrows it. */
void lanes_name(struct lanes *lanes, struct lane_piece *piece, const char *name);

#endif
