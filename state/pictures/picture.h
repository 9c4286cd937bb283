/*
 * picture.h - intervals over a range, as rows of columns: what `timeline` draws
 *
 *     cpu[0]/thread   | 0 | 0 | 7 | 7*| 0*| 0 |     one row an attribute, one cell a column
 *     cpu[1]/thread   | 9 | 9 | 9 | 9 |   | 9 |     *: several values; the longest is shown
 *
 * A picture does not read intervals itself: callers add intervals, or sums of them, row after row,
 * each row in order of time.
 */
#ifndef STATE_PICTURES_PICTURE_H
#define STATE_PICTURES_PICTURE_H

#include "engine/base/arena.h"
#include "state/intervals/sums.h"
#include "state/model/moment.h"

struct picture_cell {
	uint32_t value; /* 1 + index into the row's values; 0: no value */
	bool mixed;     /* the column has other values, too */
	bool unknown;   /* value 0: the attribute is unknown, not none; see tells_unknown */
	bool open;      /* sums did not decide the value: the column's intervals are needed */
};

struct picture_value {
	struct value value; /* text lives in the picture's arena */
	const char *name;   /* of the thread or function, in the arena; NULL: none */
};

struct picture_row {
	const char *path;           /* without control characters, for display */
	const char *label;          /* path with its thread's name; NULL: the path alone */
	const char *asked;          /* the path as it was added */
	struct picture_cell *cells; /* as many as the picture has columns */
	struct picture_value *values;
	size_t nvalues, values_capacity;
};

struct picture {
	nstime begin, end; /* begin < end */
	uint32_t columns;  /* at least 1; each lasts at least 1 ns */
	size_t limit;      /* rows at most; further ones are counted only */
	struct picture_row *rows;
	size_t nrows, rows_capacity, left_out;
	bool tells_unknown; /* `unknown` of cells without a value is set */
	struct arena *arena;
	uint32_t part_first, part_end; /* the columns being filled */
	struct picture_open *open;     /* the row being filled */
};

/* Neighbouring cells with equal value, mixed and unknown. */
struct picture_run {
	uint32_t first, count;             /* columns */
	const struct picture_value *value; /* NULL: none or unknown */
	bool mixed, unknown;
};

void picture_init(struct picture *picture, nstime begin, nstime end, uint32_t columns,
		  size_t limit);
void picture_release(struct picture *picture);
/*
 * Begins a part: what is added next is of columns [first, end). So a picture can be filled without
 * all intervals in memory at once. Without a call the part is the whole picture.
 */
void picture_part(struct picture *picture, uint32_t first, uint32_t end);
/*
 * Adds an interval; unknown ends are NSTIME_MIN and NSTIME_MAX. Within a part the intervals of one
 * path come one after the other, in order of time. Time outside of the part is cut off.
 */
void picture_add(struct picture *picture, const struct interval *interval);
/*
 * Adds sums over (a piece of) one column in place of intervals (state/intervals/sums.h). Where they
 * do not decide a cell (`open`), the caller adds all intervals of that column as a part.
 */
void picture_add_sums(struct picture *picture, const char *path, const struct sums *sums);
/* Sets the cells [first, end) of an attribute's row. */
void picture_set(struct picture *picture, const char *path, uint32_t first, uint32_t end,
		 const struct value *value, bool mixed);
void picture_part_end(struct picture *picture); /* ends it: `open` of its cells is valid now */
void picture_finish(struct picture *picture); /* after the last part: sorts the rows by path */

/*
 * Copies what a finished picture has of the same time, before the first interval is added. A column
 * copies the cells of the other picture's column in which it begins.
 */
void picture_go_on(struct picture *picture, const struct picture *from);

/* Where a column of [begin, end) begins; `end` for column == columns. */
nstime column_begin(nstime begin, nstime end, uint32_t columns, uint32_t column);
/* The column that a time of [begin, end) falls into. */
uint32_t column_find(nstime begin, nstime end, uint32_t columns, nstime t);

/* The same for a picture's columns. */
nstime picture_time(const struct picture *picture, uint32_t column);
/* The longest run that begins at column `at`; false: there is no such column. */
bool picture_run_at(const struct picture_row *row, uint32_t columns, uint32_t at,
		    struct picture_run *out);
static inline const char *picture_row_label(const struct picture_row *row)
{
	return row->label ? row->label : row->path;
}
/*
 * Appends the label of a run: the value, and the name of a thread; strings without quotes, of an
 * address only the function.
 */
void picture_label(const struct picture_value *value, struct buf *out);

#endif
