/*
 * picture_text.c - a picture as lines of text
 *
 *     colours   each value has a background colour; mixed cells are shaded in it
 *     without   ▌ begins a value, ▂ continues it, ▒ is mixed
 *
 * The text of a value is written where it begins, if there is room. Unknown cells are ░, cells
 * without a value blank; a picture that does not tell them apart has blanks for both.
 */
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "repl/pictures/picture_draw.h"
#include "repl/render/lanes.h"
#include "repl/render/names.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_LEAST = 3, LABEL_MIXED = 6, AXIS_AGAIN = 30, GREY = 238, RED = 160 };

/* Light colours of the 256, on which black text is readable. */
static const uint8_t palette[] = {117, 150, 216, 180, 146, 152, 223, 139, 110, 179, 114,
				  174, 183, 109, 187, 222, 80,  217, 144, 153, 120, 209};

size_t picture_text_width(const char *text, size_t len, size_t most, size_t *bytes)
{
	size_t width = 0, i = 0;

	for (; i < len; i++) {
		bool begins = ((unsigned char)text[i] & 0xc0) != 0x80;
		if (begins && width == most)
			break;
		width += begins;
	}
	*bytes = i;
	return width;
}

/* Writes at most `room` characters, with an ellipsis if cut; returns how many. */
static size_t picture_text_put(struct sink *out, const char *text, size_t len, size_t room)
{
	size_t bytes, width = picture_text_width(text, len, room, &bytes);

	if (bytes < len && room) {
		width = picture_text_width(text, len, room - 1, &bytes);
		sink_add(out, text, bytes);
		sink_text(out, "…");
		return width + 1;
	}
	sink_add(out, text, bytes);
	return width;
}

static void put_times(struct sink *out, const char *what, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sink_text(out, what);
}

struct picture_line {
	struct sink *sink;
	struct buf label;                  /* scratch */
	const struct picture_value *shown; /* value of the run before */
	bool labelled;                     /* its label is written */
};

/* Writes the label with or without its name, or cut; a number is not cut. Returns cells used. */
static size_t picture_text_put_label(struct picture_line *line, const struct picture_run *run,
				     size_t room)
{
	struct picture_value bare = {.value = run->value->value};
	size_t len, bytes;

	if (bare.value.kind == VALUE_STRING)
		bare.name = run->value->name;
	if (line->labelled || room < (run->mixed ? LABEL_MIXED : LABEL_LEAST))
		return 0;
	buf_clear(&line->label);
	picture_label(run->value, &line->label);
	len = line->label.len;
	if (picture_text_width(buf_text(&line->label), len, room, &bytes) && bytes < len) {
		buf_clear(&line->label);
		picture_label(&bare, &line->label);
		len = line->label.len;
		picture_text_width(buf_text(&line->label), len, room, &bytes);
		if (bytes < len && (bare.value.kind != VALUE_STRING || room < LABEL_MIXED))
			return 0;
	}
	line->labelled = true;
	return picture_text_put(line->sink, buf_text(&line->label), len, room);
}

static void turn_to_run(struct picture_line *line, const struct picture_run *run)
{
	line->labelled &= line->shown == run->value;
	line->shown = run->value;
}

static void draw_nothing(struct picture_line *line, const struct picture_run *run)
{
	char style[16];

	if (!run->unknown) {
		sink_pad(line->sink, run->count);
		return;
	}
	snprintf(style, sizeof style, "38;5;%u", GREY);
	if (line->sink->color)
		sink_style(line->sink, style);
	put_times(line->sink, "░", run->count);
	if (line->sink->color)
		sink_style(line->sink, "0");
}

static void draw_plain(struct picture_line *line, const struct picture_run *run)
{
	size_t room = run->count;
	bool begins = line->shown != run->value;

	turn_to_run(line, run);
	if (!run->value) {
		draw_nothing(line, run);
		return;
	}
	if (begins) {
		sink_text(line->sink, run->mixed ? "▒" : "▌");
		room--;
	}
	room -= picture_text_put_label(line, run, room);
	put_times(line->sink, run->mixed ? "▒" : "▂", room);
}

static unsigned color_of(const struct value *value)
{
	static const uint8_t tones[TONE_OTHERS] = {71, 214, 252, RED, GREY};
	enum drawing_tone tone = value_tone(value);

	return tone < TONE_OTHERS ? tones[tone] : palette[value_hash(value) % sizeof palette];
}

static void draw_colored(struct picture_line *line, const struct picture_run *run)
{
	size_t room = run->count;

	turn_to_run(line, run);
	if (!run->value) {
		draw_nothing(line, run);
		return;
	}
	unsigned color = color_of(&run->value->value);
	char style[32];
	if (run->mixed)
		snprintf(style, sizeof style, "38;5;%u", color == GREY ? 245 : color);
	else
		snprintf(style, sizeof style, "38;5;%u;48;5;%u", color == GREY  ? 252 : color == RED ? 231 : 16, color);
	sink_style(line->sink, style);
	room -= picture_text_put_label(line, run, room);
	put_times(line->sink, run->mixed ? "▒" : " ", room);
	sink_style(line->sink, "0");
}

static void draw_row(const struct picture *picture, const struct picture_row *row,
		     struct picture_line *line)
{
	struct picture_run run;

	line->shown = NULL;
	line->labelled = false;
	for (uint32_t at = 0; picture_run_at(row, picture->columns, at, &run); at += run.count) {
		if (line->sink->color)
			draw_colored(line, &run);
		else
			draw_plain(line, &run);
	}
}

static size_t longest_label(const struct picture *picture, size_t most)
{
	size_t longest = 0, bytes;

	for (size_t i = 0; i < picture->nrows; i++) {
		const char *path = picture_row_label(&picture->rows[i]);
		size_t width = picture_text_width(path, strlen(path), most, &bytes);
		longest = width > longest ? width : longest;
	}
	return longest;
}

static void draw_axis(const struct picture *picture, struct times *times, size_t margin,
		      struct sink *out)
{
	struct picture_tick tick;
	uint32_t at = 0;

	sink_pad(out, margin + 1);
	for (bool more = picture_first_tick(picture, times, &tick); more;
	     more = picture_next_tick(picture, times, &tick)) {
		size_t width = strlen(tick.text) + 1;
		if (tick.column < at || tick.column + width > picture->columns)
			continue;
		sink_pad(out, tick.column - at);
		sink_printf(out, "│%s", tick.text);
		at = tick.column + (uint32_t)width;
	}
	sink_char(out, '\n');
	sink_row(out);
}

/* The legend for the kinds of cells without a value that the picture has. */
static const char *signs_of(const struct picture *picture)
{
	bool unknown = false, nothing = false;

	for (size_t i = 0; i < picture->nrows; i++)
		for (uint32_t c = 0; c < picture->columns; c++) {
			const struct picture_cell *cell = &picture->rows[i].cells[c];

			unknown |= !cell->value && cell->unknown;
			nothing |= !cell->value && !cell->unknown;
		}
	if (!picture->tells_unknown)
		return nothing ? "; blank is unknown, or none" : "";
	return unknown && nothing ? "; ░ is unknown, blank none"
	       : unknown	  ? "; ░ is unknown"
	       : nothing	  ? "; blank is none"
				  : "";
}

static void draw_head(const struct picture *picture, struct times *times, struct sink *out)
{
	uint64_t span = time_span(picture->begin, picture->end);

	time_add(times, picture->begin, out);
	sink_text(out, " to ");
	time_add(times, picture->end, out);
	if (span) {
		sink_text(out, ", ");
		time_span_add(times, span, out);
		sink_text(out, "; a column is ");
		time_span_add(times, span / picture->columns, out);
	}
	sink_text(out, signs_of(picture));
	sink_char(out, '\n');
	sink_row(out);
}

void picture_draw_text(const struct picture *picture, struct times *times, size_t most_label,
		       struct sink *out)
{
	size_t margin = longest_label(picture, most_label);
	struct picture_line line = {.sink = out};

	draw_head(picture, times, out);
	draw_axis(picture, times, margin, out);
	for (size_t i = 0; i < picture->nrows && !out->closed; i++) {
		const char *path = picture_row_label(&picture->rows[i]);
		size_t width = picture_text_put(out, path, strlen(path), margin);
		sink_pad(out, margin - width + 1);
		draw_row(picture, &picture->rows[i], &line);
		sink_char(out, '\n');
		sink_row(out);
	}
	if (picture->nrows > AXIS_AGAIN)
		draw_axis(picture, times, margin, out);
	if (!picture->nrows)
		sink_text(out, "no value of them is known here\n");
	if (picture->left_out)
		sink_printf(out,
			    "%zu more attributes are left out: --limit says how many to draw\n",
			    picture->left_out);
	sink_row(out);
	buf_release(&line.label);
}

/*
 * Round times for the axis of a picture
 *
 * The step is the least of 1, 2, 5, 10 ... ns, or of round seconds, minutes and hours, for which
 * the texts fit between ticks. Texts have as many decimals as the step needs.
 */

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

enum { GAP = 2 };

/* The next round step after `step`; 0: there is none. */
static nstime next_step(nstime step)
{
	static const nstime coarse[] = {
		SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
		MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
		HOUR,   2 * HOUR,   6 * HOUR,   12 * HOUR,   24 * HOUR};
	nstime unit = 1;

	if (step < SECOND) {
		while (unit * 10 <= step)
			unit *= 10;
		return step < 2 * unit ? 2 * unit : step < 5 * unit ? 5 * unit : 10 * unit;
	}
	for (size_t i = 0; i < sizeof coarse / sizeof *coarse; i++)
		if (coarse[i] > step)
			return coarse[i];
	return step <= INT64_MAX / 2 ? step * 2 : 0;
}

/* Decimals of a second that a multiple of the step can have. */
static unsigned decimals(nstime step)
{
	unsigned count = 9;

	for (nstime unit = 10; count && step % unit == 0; unit *= 10)
		count--;
	return count;
}

static void tick_text(struct times *times, struct picture_tick *tick)
{
	char *end = time_put(times, tick->t, tick->text), *dot;
	unsigned keep = decimals(tick->step);

	*end = 0;
	dot = strrchr(tick->text, '.');
	if (dot && (size_t)(end - dot) > keep + (keep ? 1 : 0)) {
		char *tail = dot + 1 + strspn(dot + 1, "0123456789");
		char *cut = keep ? dot + 1 + keep : dot;
		if (cut < tail)
			memmove(cut, tail, strlen(tail) + 1);
	}
}

/* The last column that begins at t or before. */
static uint32_t column_at(const struct picture *picture, nstime t)
{
	uint32_t low = search_first(i, 0, picture->columns, picture_time(picture, i) <= t);

	return low ? low - 1 : 0;
}

/* The time that counts as 0 for round times: the origin of relative times. */
static nstime origin_of(const struct times *times)
{
	return times->style == TIME_RELATIVE ? times->first : 0;
}

/* Sets *out to the first multiple of the step in the picture's range; false: none. */
static bool first_multiple(const struct picture *picture, const struct times *times, nstime step,
			   nstime *out)
{
	__int128 from = (__int128)picture->begin - origin_of(times);
	__int128 rest = from % step, t = from - rest;

	if (rest > 0)
		t += step;
	t += origin_of(times);
	if (t < picture->begin || t >= picture->end)
		return false;
	*out = (nstime)t;
	return true;
}

static bool picture_text_fits(const struct picture *picture, struct times *times, nstime step)
{
	struct picture_tick tick = {.step = step};
	uint64_t span = (uint64_t)picture->end - (uint64_t)picture->begin;

	if (!first_multiple(picture, times, step, &tick.t))
		return true;
	tick_text(times, &tick);
	return (unsigned __int128)step * picture->columns / span >= strlen(tick.text) + 1 + GAP;
}

bool picture_first_tick(const struct picture *picture, struct times *times,
			struct picture_tick *out)
{
	nstime step = 1;

	while (step && !picture_text_fits(picture, times, step))
		step = next_step(step);
	*out = (struct picture_tick){.step = step};
	if (!step || !first_multiple(picture, times, step, &out->t))
		return false;
	out->column = column_at(picture, out->t);
	tick_text(times, out);
	return true;
}

bool picture_next_tick(const struct picture *picture, struct times *times,
		       struct picture_tick *tick)
{
	if (__builtin_add_overflow(tick->t, tick->step, &tick->t) || tick->t >= picture->end)
		return false;
	tick->column = column_at(picture, tick->t);
	tick_text(times, tick);
	return true;
}

bool picture_name_rows(struct picture *picture, struct session *session, nstime end,
		       const struct comm_spells *told, struct error *err)
{
	size_t count = picture->nrows;
	struct named *items = mem_new_array(count + 1, sizeof *items);

	for (size_t i = 0; i < count; i++)
		items[i] = (struct named){.t = end - 1,
					  .path = picture->rows[i].path,
					  .value = {.kind = VALUE_NONE},
					  .of_path = true};
	bool good = told ? names_range_put(session, told, items, count, picture->arena, err)
			 : names_in(session, items, count, NULL, picture->arena, err);
	for (size_t i = 0; good && i < count; i++)
		if (items[i].name)
			picture->rows[i].label = arena_printf(picture->arena, "%s %s",
							      picture->rows[i].path, items[i].name);
	mem_free(items);
	return good;
}
