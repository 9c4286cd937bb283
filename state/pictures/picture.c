/*
 * picture.c - see picture.h
 *
 * Rows are looked up by path when the next part has more of them. Parts end at edges of columns, so
 * no column is open between parts. A column that one interval covers gets its value at once. For
 * any other a small hash adds up how long each value held, until the row moves to the next column.
 *
 * With sums these times are lower bounds. A value is certainly the longest when no other, listed or
 * not, can have held as long. Whether a column has several values is always certain.
 */
#include "state/pictures/picture.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/base/quote.h"

#include <stdlib.h>
#include <string.h>

struct held_value { /* a value of the column that is being filled */
	struct value value;
	uint64_t time;  /* ns that it held at least */
	uint64_t known; /* ns of bounds.most from sums that list the value */
};

struct bounds { /* what the sums of a column leave open; all 0: nothing */
	bool any;
	bool several;   /* there are unlisted values, or none */
	uint64_t slack; /* ns that each value may have held longer, */
	uint64_t most;  /* and more ns, but not in sums that list it */
};

struct picture_open {
	struct picture_row *row; /* NULL: no row, or one beyond the limit */
	bool any;                /* a row was begun */
	struct nameset seen;     /* path to 1 + index of its row; 0: it was beyond the limit */
	char *path;
	uint32_t column;
	uint64_t covered; /* ns of the column that intervals cover */
	struct bounds bounds;
	struct held_value *held;
	size_t nheld, held_capacity;
	struct hash_index held_index;
	struct arena *texts; /* of `held` */
};

void picture_init(struct picture *picture, nstime begin, nstime end, uint32_t columns, size_t limit)
{
	uint64_t span = (uint64_t)end - (uint64_t)begin;

	*picture = (struct picture){.begin = begin,
				    .end = end,
				    .columns = columns < span ? columns : (uint32_t)span,
				    .limit = limit,
				    .arena = arena_new(),
				    .open = mem_new(sizeof(struct picture_open))};
	picture->part_end = picture->columns;
	picture->open->texts = arena_new();
}

void picture_release(struct picture *picture)
{
	struct picture_open *open = picture->open;

	for (size_t i = 0; i < picture->nrows; i++)
		mem_free(picture->rows[i].values);
	mem_free(picture->rows);
	arena_free(picture->arena);
	if (open) {
		arena_free(open->texts);
		mem_free(open->path);
		mem_free(open->held);
		hash_index_release(&open->held_index);
		nameset_release(&open->seen);
	}
	mem_free(open);
	*picture = (struct picture){0};
}

nstime column_begin(nstime begin, nstime end, uint32_t columns, uint32_t column)
{
	uint64_t span = (uint64_t)end - (uint64_t)begin;

	return (nstime)((uint64_t)begin + (uint64_t)((unsigned __int128)span * column / columns));
}

uint32_t column_find(nstime begin, nstime end, uint32_t columns, nstime t)
{
	uint64_t span = (uint64_t)end - (uint64_t)begin, into = (uint64_t)t - (uint64_t)begin;
	uint32_t column = (uint32_t)((unsigned __int128)into * columns / span);

	/* columns begin at rounded-down times, so t may be in the next one */
	while (column + 1 < columns && column_begin(begin, end, columns, column + 1) <= t)
		column++;
	return column;
}

nstime picture_time(const struct picture *picture, uint32_t column)
{
	return column_begin(picture->begin, picture->end, picture->columns, column);
}

static uint32_t column_of(const struct picture *picture, nstime t)
{
	return column_find(picture->begin, picture->end, picture->columns, t);
}

/* Bytes of the UTF-8 character that begins here, 0 when it is none or a control character. */
static size_t shown_bytes(const uint8_t *at, size_t left)
{
	if (*at < 32 || *at == 127 || (*at == 0xc2 && left > 1 && at[1] < 0xa0))
		return 0;
	return utf8_length(at, left);
}

/* Appends text that is safe for terminals and XML: other bytes become question marks. */
static void add_clean(const char *text, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len;) {
		size_t n = shown_bytes((const uint8_t *)text + i, len - i);
		if (n)
			buf_add(out, text + i, n);
		else
			buf_add_char(out, '?');
		i += n ? n : 1;
	}
}

/* 1 + the index of the value among the row's values; adds it when it is new. */
static uint32_t row_value(struct picture *picture, struct picture_row *row,
			  const struct value *value)
{
	for (size_t i = row->nvalues; i-- > 0;)
		if (value_equal(&row->values[i].value, value))
			return (uint32_t)i + 1;
	*mem_push(row->values, row->nvalues, row->values_capacity) =
		(struct picture_value){.value = value_copy(picture->arena, value)};
	return (uint32_t)row->nvalues;
}

/* The column being filled */

static void hold(struct picture_open *open, const struct value *value, uint64_t time,
		 uint64_t known)
{
	uint64_t hash = value_hash(value);
	uint32_t at = hash_index_find(&open->held_index, hash, i,
				      value_equal(&open->held[i].value, value));

	if (at == HASH_INDEX_NONE) {
		*mem_push(open->held, open->nheld, open->held_capacity) =
			(struct held_value){.value = value_copy(open->texts, value)};
		at = hash_index_add(&open->held_index, hash, open->nheld - 1);
	}
	open->held[at].time += time;
	open->held[at].known += known;
}

/* Is it certain that no other value held as long? */
static bool is_decided(const struct picture_open *open, const struct held_value *longest)
{
	const struct bounds *bounds = &open->bounds;

	if (!bounds->any)
		return true;
	if (bounds->slack + bounds->most >= longest->time)
		return false; /* one that is listed nowhere */
	for (size_t i = 0; i < open->nheld; i++) {
		const struct held_value *held = &open->held[i];
		uint64_t most = held->time + bounds->slack + bounds->most - held->known;

		if (held != longest && most >= longest->time)
			return false;
	}
	return true;
}

/* Sets the cell of the finished column; of values that held equally long the first wins. */
static void close_column(struct picture *picture)
{
	struct picture_open *open = picture->open;
	struct picture_cell *cell = &open->row->cells[open->column];
	const struct held_value *longest = open->held;

	if (!open->nheld)
		return;
	for (size_t i = 0; i < open->nheld; i++)
		longest = open->held[i].time > longest->time ? &open->held[i] : longest;
	uint64_t whole = (uint64_t)picture_time(picture, open->column + 1) -
			 (uint64_t)picture_time(picture, open->column);
	*cell = (struct picture_cell){.open = true};
	if (is_decided(open, longest))
		*cell = (struct picture_cell){
			.value = row_value(picture, open->row, &longest->value),
			.mixed = open->nheld > 1 || open->bounds.several || open->covered < whole};
	open->nheld = 0;
	open->covered = 0;
	open->bounds = (struct bounds){0};
	hash_index_clear(&open->held_index);
	arena_reset(open->texts);
}

static void to_column(struct picture *picture, uint32_t column)
{
	struct picture_open *open = picture->open;

	if (open->nheld && open->column != column)
		close_column(picture);
	open->column = column;
}

static void fill_column(struct picture *picture, uint32_t column, const struct value *value,
			uint64_t time)
{
	to_column(picture, column);
	hold(picture->open, value, time, 0);
	picture->open->covered += time;
}

/* Rows */

static uint32_t add_picture_row(struct picture *picture, const char *path)
{
	struct buf clean = {0};

	if (picture->nrows == picture->limit) {
		picture->left_out++;
		return 0;
	}
	add_clean(path, strlen(path), &clean);
	*mem_push(picture->rows, picture->nrows, picture->rows_capacity) =
		(struct picture_row){.path = arena_strdup(picture->arena, buf_text(&clean)),
				     .asked = arena_strdup(picture->arena, path),
				     .cells = arena_array(picture->arena, picture->columns,
							  sizeof(struct picture_cell))};
	buf_release(&clean);
	return (uint32_t)picture->nrows;
}

static void end_row(struct picture *picture)
{
	if (picture->open->row)
		close_column(picture);
	picture->open->row = NULL;
	picture->open->any = false;
}

static void begin_row(struct picture *picture, const char *path)
{
	struct picture_open *open = picture->open;
	uint32_t row;

	end_row(picture);
	open->any = true;
	mem_free(open->path);
	open->path = mem_strdup(path);
	if (!nameset_find(&open->seen, path, &row)) {
		row = add_picture_row(picture, path);
		nameset_add(&open->seen, path, row);
	}
	open->row = row ? &picture->rows[row - 1] : NULL;
}

void picture_part_end(struct picture *picture)
{
	end_row(picture);
}

void picture_part(struct picture *picture, uint32_t first, uint32_t end)
{
	end_row(picture);
	picture->part_first = first;
	picture->part_end = end;
}

static int picture_by_path(const void *a, const void *b)
{
	const struct picture_row *p = a, *q = b;

	return strverscmp(p->path, q->path);
}

void picture_finish(struct picture *picture)
{
	end_row(picture);
	if (picture->nrows)
		qsort(picture->rows, picture->nrows, sizeof *picture->rows, picture_by_path);
}

/* Copies a cell's value; `places` remembers which values of that row were copied. */
static uint32_t take_value(struct picture *picture, struct picture_row *row,
			   const struct picture_row *from, uint32_t value, uint32_t *places)
{
	if (value && !places[value - 1]) {
		const struct picture_value *own = &from->values[value - 1];

		places[value - 1] = row_value(picture, row, &own->value);
		row->values[places[value - 1] - 1].name =
			own->name ? arena_strdup(picture->arena, own->name) : NULL;
	}
	return value ? places[value - 1] : 0;
}

static void take_row(struct picture *picture, const struct picture *from,
		     const struct picture_row *taken, uint32_t first, uint32_t end)
{
	uint32_t *places = mem_new_array(taken->nvalues + 1, sizeof *places);
	uint32_t number = add_picture_row(picture, taken->asked);

	nameset_add(&picture->open->seen, taken->asked, number);
	for (uint32_t c = first; c < end && number; c++) {
		struct picture_row *row = &picture->rows[number - 1];
		const struct picture_cell *cell =
			&taken->cells[column_of(from, picture_time(picture, c))];

		row->cells[c] = *cell;
		row->cells[c].value = take_value(picture, row, taken, cell->value, places);
	}
	if (number && taken->label)
		picture->rows[number - 1].label = arena_strdup(picture->arena, taken->label);
	mem_free(places);
}

/* Does the row have a value in some column that overlaps [begin, end)? */
static bool has_some(const struct picture *picture, const struct picture_row *row, nstime begin,
		     nstime end)
{
	uint32_t last = column_of(picture, end - 1);

	for (uint32_t c = column_of(picture, begin); c <= last; c++)
		if (row->cells[c].value)
			return true;
	return false;
}

void picture_go_on(struct picture *picture, const struct picture *from)
{
	nstime begin = picture->begin > from->begin ? picture->begin : from->begin;
	nstime end = picture->end < from->end ? picture->end : from->end;
	uint32_t first = 0, last;

	if (begin >= end)
		return;
	while (first < picture->columns && picture_time(picture, first) < begin)
		first++;
	for (last = first; last < picture->columns && picture_time(picture, last) < end;)
		last++;
	for (size_t i = 0; i < from->nrows; i++)
		if (has_some(from, &from->rows[i], begin, end))
			take_row(picture, from, &from->rows[i], first, last);
}

/* False: the row is beyond the limit. */
static bool to_row(struct picture *picture, const char *path)
{
	struct picture_open *open = picture->open;

	if (!open->any || strcmp(open->path, path) != 0)
		begin_row(picture, path);
	return open->row != NULL;
}

void picture_add(struct picture *picture, const struct interval *interval)
{
	struct picture_open *open = picture->open;
	nstime from = picture_time(picture, picture->part_first);
	nstime to = picture_time(picture, picture->part_end);
	nstime begin = interval->begin > from ? interval->begin : from;
	nstime end = interval->end < to ? interval->end : to;

	if (begin >= end || !to_row(picture, interval->path))
		return;
	uint32_t first = column_of(picture, begin), last = column_of(picture, end - 1);
	for (uint32_t column = first; column <= last; column++) {
		if (column > first && column < last) { /* the interval covers the column */
			if (open->nheld)
				close_column(picture);
			open->row->cells[column].value =
				row_value(picture, open->row, &interval->value);
			continue;
		}
		nstime low = picture_time(picture, column),
		       high = picture_time(picture, column + 1);
		low = low > begin ? low : begin;
		high = high < end ? high : end;
		fill_column(picture, column, &interval->value, (uint64_t)high - (uint64_t)low);
	}
}

void picture_add_sums(struct picture *picture, const char *path, const struct sums *sums)
{
	struct picture_open *open = picture->open;

	if (!sums->count || !to_row(picture, path))
		return;
	to_column(picture, column_of(picture, sums->begin));
	for (size_t i = 0; i < sums->count; i++)
		hold(open, &sums->values[i].value, sums->values[i].time, sums->most);
	open->covered += (uint64_t)sums->end - (uint64_t)sums->begin;
	open->bounds.any = true;
	open->bounds.several |= sums->none || sums->others;
	open->bounds.slack += sums->slack;
	open->bounds.most += sums->most;
}

void picture_set(struct picture *picture, const char *path, uint32_t first, uint32_t end,
		 const struct value *value, bool mixed)
{
	if (!to_row(picture, path))
		return;
	struct picture_row *row = picture->open->row;
	uint32_t number = row_value(picture, row, value);
	for (uint32_t column = first; column < end; column++)
		row->cells[column] = (struct picture_cell){.value = number, .mixed = mixed};
}

bool picture_run_at(const struct picture_row *row, uint32_t columns, uint32_t at,
		    struct picture_run *out)
{
	if (at >= columns)
		return false;
	const struct picture_cell *cell = &row->cells[at];
	*out = (struct picture_run){.first = at,
				    .value = cell->value ? &row->values[cell->value - 1] : NULL,
				    .mixed = cell->mixed,
				    .unknown = cell->unknown};
	while (at + out->count < columns && row->cells[at + out->count].value == cell->value &&
	       row->cells[at + out->count].mixed == cell->mixed &&
	       row->cells[at + out->count].unknown == cell->unknown)
		out->count++;
	return true;
}

void picture_label(const struct picture_value *value, struct buf *out)
{
	const struct value *shown = &value->value;

	if (shown->kind == VALUE_STRING && value->name) {
		add_clean(value->name, strlen(value->name), out);
		return;
	}
	if (shown->kind == VALUE_STRING) {
		add_clean(shown->text, shown->len, out);
	} else if (shown->kind == VALUE_INT) {
		if (shown->negative)
			buf_add_i64(out, (int64_t)shown->u);
		else
			buf_add_u64(out, shown->u);
	} else if (shown->kind == VALUE_FLOAT) {
		buf_printf(out, "%g", shown->f);
	} else if (shown->kind == VALUE_BOOL) {
		buf_add_text(out, shown->b ? "true" : "false");
	}
	if (value->name) {
		buf_add_char(out, ' ');
		add_clean(value->name, strlen(value->name), out);
	}
}
