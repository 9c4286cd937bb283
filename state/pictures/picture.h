/*
 * picture.h - intervals over a range, as rows of columns: what `timeline` draws
 *
 *     cpu[0]/thread   | 0 | 0 | 7 | 7*| 0*| 0 |     one row an attribute, one cell a column
 *     cpu[1]/thread   | 9 | 9 | 9 | 9 |   | 9 |     *: several values; the longest is shown
 *
 * A picture does not know where its intervals come from: code that has them, or sums of them, adds
 * them row after row, each row in order of time.
 */
#ifndef STATE_PICTURES_PICTURE_H
#define STATE_PICTURES_PICTURE_H

#include "engine/base/arena.h"
#include "state/intervals/sums.h"
#include "state/model/moment.h"

struct picture_cell {
	uint32_t value; /* 1 + place in the row's values; 0: none is known */
	bool mixed;     /* it is not the only one */
	bool unknown;   /* value 0: it is unknown, and not none; where the picture tells it */
	bool open;      /* sums did not decide: it needs the column's intervals */
};

struct picture_value {
	struct value value; /* text is the picture's */
	const char *name;   /* of the thread or function, NULL: none; the picture's */
};

struct picture_row {
	const char *path;           /* as it may be shown */
	const char *label;          /* with the name of its thread; NULL: the path alone */
	const char *asked;          /* as it came */
	struct picture_cell *cells; /* as many as the picture has columns */
	struct picture_value *values;
	size_t nvalues, values_capacity;
};

struct picture {
	nstime begin, end; /* begin < end */
	uint32_t columns;  /* at least one; none is shorter than 1 ns */
	size_t limit;      /* rows at most; further ones are counted only */
	struct picture_row *rows;
	size_t nrows, rows_capacity, left_out;
	bool tells_unknown; /* cells without a value tell whether it is unknown or none */
	struct arena *arena;
	uint32_t part_first, part_end; /* columns that are being filled */
	struct picture_open *open;     /* the row that is being added */
};

/* Cells of one look: the same value, mixed or not. */
struct picture_run {
	uint32_t first, count;             /* columns */
	const struct picture_value *value; /* NULL: it is none, or not known */
	bool mixed, unknown;
};

void picture_init(struct picture *picture, nstime begin, nstime end, uint32_t columns,
		  size_t limit);
void picture_release(struct picture *picture);
/*
 * What follows is of columns [first, end): a picture may be filled part by part, so that all
 * intervals need not be there at once. Without a call, it is of all columns.
 */
void picture_part(struct picture *picture, uint32_t first, uint32_t end);
/*
 * Adds [begin, end) of an attribute; open ends are NSTIME_MIN and NSTIME_MAX. Within a part all
 * intervals of one path come together and rise. What is outside of the part is cut off.
 */
void picture_add(struct picture *picture, const struct interval *interval);
/*
 * Sums in place of intervals (state/intervals/sums.h), of what lies in one column. A cell that they
 * leave open is to be filled by all intervals of its column, as a part.
 */
void picture_add_sums(struct picture *picture, const char *path, const struct sums *sums);
/* Columns [first, end) of an attribute, whose value is known as it is shown. */
void picture_set(struct picture *picture, const char *path, uint32_t first, uint32_t end,
		 const struct value *value, bool mixed);
void picture_part_end(struct picture *picture); /* cells of the part tell whether they are open */
void picture_finish(struct picture *picture);   /* after the last one: rows are in order of path */

/*
 * Before the first interval is added: rows and columns of another picture, which is finished, as
 * far as its time goes; a column takes the one in which it begins.
 */
void picture_go_on(struct picture *picture, const struct picture *from);

/* Where a column of [begin, end) begins; of the number of columns, the end. */
nstime column_begin(nstime begin, nstime end, uint32_t columns, uint32_t column);
/* The column that a time of [begin, end) falls into. */
uint32_t column_find(nstime begin, nstime end, uint32_t columns, nstime t);

/* Where column c begins; of the number of columns, the picture's end. */
nstime picture_time(const struct picture *picture, uint32_t column);
/* The run that begins at column `at`; false: there is no such column. */
bool picture_run_at(const struct picture_row *row, uint32_t columns, uint32_t at,
		    struct picture_run *out);
static inline const char *picture_row_label(const struct picture_row *row)
{
	return row->label ? row->label : row->path;
}
/*
 * What is written on a run: the value, strings without quotes, and the thread's name; of an address
 * the function alone.
 */
void picture_label(const struct picture_value *value, struct buf *out);

#endif
