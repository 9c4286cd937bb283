/*
 * picture_svg.c - a picture as SVG: a rectangle per run, its value and times where the mouse rests
 *
 * One unit a column. Mixed runs are paler and hatched.
 */
#include "repl/picture_draw.h"

#include <string.h>

enum { ROW = 18, GAP = 4, TOP = 44, CHAR = 7, MARGIN = 8, TEXT_LEAST = 3 };

/* Text that is clean already (picture.c). */
static void put_xml(struct sink *out, const char *text)
{
	for (; *text; text++) {
		char c = *text;
		if (c == '<')
			sink_text(out, "&lt;");
		else if (c == '>')
			sink_text(out, "&gt;");
		else if (c == '&')
			sink_text(out, "&amp;");
		else if (c == '"')
			sink_text(out, "&quot;");
		else
			sink_char(out, c);
	}
}

static void put_color(struct sink *out, const struct value *value)
{
	bool still =
		(value->kind == VALUE_INT && !value->u) ||
		(value->kind == VALUE_BOOL && !value->b) ||
		(value->kind == VALUE_STRING && value->len == 4 && !memcmp(value->text, "idle", 4));
	uint64_t hash = value_hash(value);

	if (still)
		sink_text(out, "#d0d0d0");
	else
		sink_printf(out, "hsl(%u,%u%%,%u%%)", (unsigned)(hash % 360),
			    55 + (unsigned)(hash / 360 % 25), 62 + (unsigned)(hash / 9000 % 14));
}

static size_t label_units(const struct picture *picture)
{
	size_t longest = 0;

	for (size_t i = 0; i < picture->nrows; i++)
		if (strlen(picture_row_label(&picture->rows[i])) > longest)
			longest = strlen(picture_row_label(&picture->rows[i]));
	return longest * CHAR + 2 * MARGIN;
}

static void draw_run(const struct picture *picture, struct times *times,
		     const struct picture_row *row, const struct picture_run *run, size_t x,
		     size_t y, struct sink *out)
{
	struct buf label = {0};
	size_t room = run->count / CHAR;

	picture_label(run->value, &label);
	sink_printf(out, "<rect x=\"%zu\" y=\"%zu\" width=\"%u\" height=\"%d\" fill=\"",
		    x + run->first, y, run->count, ROW);
	put_color(out, &run->value->value);
	sink_text(out, run->mixed ? "\" fill-opacity=\"0.6\"><title>" : "\"><title>");
	put_xml(out, picture_row_label(row));
	sink_text(out, " = ");
	put_xml(out, buf_text(&label));
	sink_char(out, '\n');
	time_add(times, picture_time(picture, run->first), out);
	sink_text(out, " to ");
	time_add(times, picture_time(picture, run->first + run->count), out);
	sink_text(out, run->mixed ? "\nand others</title></rect>\n" : "</title></rect>\n");
	if (run->mixed)
		sink_printf(out,
			    "<rect x=\"%zu\" y=\"%zu\" width=\"%u\" height=\"%d\" "
			    "fill=\"url(#mixed)\" pointer-events=\"none\"/>\n",
			    x + run->first, y, run->count, ROW);
	if (room >= TEXT_LEAST && label.len <= room) {
		sink_printf(out, "<text x=\"%zu\" y=\"%zu\" pointer-events=\"none\">",
			    x + run->first + 2, y + ROW - 5);
		put_xml(out, buf_text(&label));
		sink_text(out, "</text>\n");
	}
	buf_release(&label);
}

static void draw_rows(const struct picture *picture, struct times *times, size_t x,
		      struct sink *out)
{
	struct picture_run run;

	for (size_t i = 0; i < picture->nrows; i++) {
		const struct picture_row *row = &picture->rows[i];
		size_t y = TOP + i * (ROW + GAP);
		sink_printf(out, "<text x=\"%zu\" y=\"%zu\" text-anchor=\"end\">", x - MARGIN,
			    y + ROW - 5);
		put_xml(out, picture_row_label(row));
		sink_text(out, "</text>\n");
		for (uint32_t at = 0; picture_run_at(row, picture->columns, at, &run);
		     at += run.count)
			if (run.value)
				draw_run(picture, times, row, &run, x, y, out);
		sink_row(out);
	}
}

/* Texts of the axis need CHAR units a character: ticks are those of a picture that much narrower.
 */
static void draw_axis(const struct picture *picture, struct times *times, size_t x, size_t bottom,
		      struct sink *out)
{
	struct picture narrow = *picture;
	struct picture_tick tick;

	narrow.columns = picture->columns / CHAR ? picture->columns / CHAR : 1;
	for (bool more = picture_first_tick(&narrow, times, &tick); more;
	     more = picture_next_tick(&narrow, times, &tick)) {
		unsigned __int128 into = (uint64_t)tick.t - (uint64_t)picture->begin;
		size_t at = x + (size_t)(into * picture->columns /
					 ((uint64_t)picture->end - (uint64_t)picture->begin));
		sink_printf(out,
			    "<line x1=\"%zu\" y1=\"%d\" x2=\"%zu\" y2=\"%zu\" stroke=\"#999\"/>"
			    "<text x=\"%zu\" y=\"%d\">",
			    at, TOP - 16, at, bottom, at + 3, TOP - 8);
		put_xml(out, tick.text);
		sink_text(out, "</text>\n");
	}
}

void picture_draw_svg(const struct picture *picture, struct times *times, struct sink *out)
{
	size_t x = label_units(picture), bottom = TOP + picture->nrows * (ROW + GAP);
	size_t width = x + picture->columns + MARGIN, height = bottom + MARGIN;

	sink_printf(out,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
		    "viewBox=\"0 0 %zu %zu\" font-family=\"monospace\" font-size=\"11\">\n"
		    "<defs><pattern id=\"mixed\" width=\"4\" height=\"4\" "
		    "patternUnits=\"userSpaceOnUse\"><path d=\"M0 4L4 0\" stroke=\"#fff\" "
		    "stroke-width=\"0.8\"/></pattern></defs>\n"
		    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		    "<text x=\"%zu\" y=\"14\">",
		    width, height, width, height, x);
	time_add(times, picture->begin, out);
	sink_text(out, " to ");
	time_add(times, picture->end, out);
	sink_text(out, "</text>\n");
	draw_axis(picture, times, x, bottom, out);
	draw_rows(picture, times, x, out);
	sink_text(out, "</svg>\n");
	sink_row(out);
}
