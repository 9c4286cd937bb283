/*
 * timeline_svg.c - writes a timeline as one SVG file
 *
 *     title, range, legend
 *     axis
 *     label | pieces, and hatching where nothing is known     a row an attribute
 *     ...
 *     notes
 *     <metadata>  the same as JSON, for the script that zooms (lua-lib/drawing/timeline.js)
 *
 * Viewers without scripts show the static drawing of the whole range. A pixel with several pieces
 * is a stack of their shares, so that long pieces do not hide short ones.
 */
#include "repl/pictures/picture_draw.h"

#include "engine/base/mem.h"
#include "repl/render/info_losses.h"
#include "repl/render/lanes.h"
#include "repl/render/names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROW = 20,        /* height of a row, in units of the SVG */
	STEP = 22,       /* from one row to the next */
	TOP = 106,       /* where rows begin */
	CHAR = 8,        /* width of a character, rounded up */
	LABEL_MOST = 40, /* characters of a label that have room */
	MARGIN = 8,
	NOTE = 18,
	LOSSES_MOST = 2000, /* separate losses; of more, neighbours are joined */
	ROWS_FINE = 100     /* rows drawn pixel by pixel; with more, several pixels are one */
};

/* ---- Losses ---- */

struct lost {
	nstime begin, end;
	uint64_t events, streams;
	bool unknown;
};

struct lost_list {
	struct lost *items;
	size_t count, capacity;
};

static void add_lost(struct lost_list *list, const struct loss *loss)
{
	nstime end = loss->until > loss->time ? loss->until : loss->time + 1;

	if (loss->time == NSTIME_MIN || loss->until == NSTIME_MIN)
		return; /* its time is unknown */
	*mem_push(list->items, list->count, list->capacity) =
		(struct lost){loss->time, end, loss->unknown ? 0 : loss->lost, 1,
			      loss->unknown || loss->lost_packets};
}

static int timeline_svg_by_begin(const void *a, const void *b)
{
	const struct lost *p = a, *q = b;

	return (p->begin > q->begin) - (p->begin < q->begin);
}

/* Joins losses that overlap, or are at most `gap` ns apart. */
static void join_lost(struct lost_list *list, uint64_t gap)
{
	size_t count = 0;

	if (list->count)
		qsort(list->items, list->count, sizeof *list->items, timeline_svg_by_begin);
	for (size_t i = 0; i < list->count; i++) {
		struct lost *last = count ? &list->items[count - 1] : NULL;
		const struct lost *item = &list->items[i];

		if (!last || (item->begin > last->end &&
			      (uint64_t)item->begin - (uint64_t)last->end > gap)) {
			list->items[count++] = *item;
			continue;
		}
		last->end = item->end > last->end ? item->end : last->end;
		last->events += item->events;
		last->streams += item->streams;
		last->unknown |= item->unknown;
	}
	list->count = count;
}

static void draw_lost(struct lanes *lanes, const struct lost *lost)
{
	char text[128];
	const char *least = lost->unknown ? " or more" : "";

	if (lost->events)
		snprintf(text, sizeof text, "%llu%s lost events", (unsigned long long)lost->events,
			 least);
	else
		snprintf(text, sizeof text, "lost events, not known how many");
	if (lost->streams > 1)
		snprintf(text + strlen(text), sizeof text - strlen(text), ", %llu losses",
			 (unsigned long long)lost->streams);
	lanes_add_loss(lanes, lost->begin, lost->end, text);
}

bool timeline_svg_losses(const struct timeline_svg *svg, struct error *err)
{
	const struct trace *trace = session_trace(svg->session, err);
	struct index *index = session_index(svg->session, err);
	struct lost_list list = {0};
	bool good = trace && index;

	for (size_t i = 0; good && i < trace->nstreams; i++) {
		struct info_losses losses = {0};
		struct table *table;

		good = index_table(index, trace->streams[i], &table, err) &&
		       info_losses_read(trace->streams[i], table, &losses, err);
		for (size_t k = 0; good && k < losses.count; k++)
			add_lost(&list, &losses.items[k]);
		info_losses_release(&losses);
	}
	uint64_t span = (uint64_t)svg->lanes->end - (uint64_t)svg->lanes->begin;
	join_lost(&list, 0);
	if (list.count > LOSSES_MOST)
		join_lost(&list, span / LOSSES_MOST);
	for (size_t i = 0; good && i < list.count; i++)
		draw_lost(svg->lanes, &list.items[i]);
	mem_free(list.items);
	return good;
}

/* ---- Names ---- */

/* Names pieces whose value is a thread or an address, by its name at that time. */
static bool name_values(const struct timeline_svg *svg, struct error *err)
{
	struct lanes *lanes = svg->lanes;
	struct named *items = mem_new_array(lanes->total + 1, sizeof *items);
	struct lane_piece **places = mem_new_array(lanes->total + 1, sizeof(struct lane_piece *));
	size_t count = 0;

	for (size_t i = 0; i < lanes->nrows; i++) {
		const struct lane *row = &lanes->rows[i];

		for (size_t k = 0; k < row->count; k++) {
			struct lane_piece *piece = &row->items[k];
			const struct lane_value *value = &lanes->values[piece->value];
			if (piece->shares || !value->has_name)
				continue;
			places[count] = piece;
			items[count++] = (struct named){
				.t = piece->begin, .path = row->path, .value = value->value};
		}
	}
	bool good = !count || names_in(svg->session, items, count, NULL, lanes->arena, err);
	for (size_t i = 0; good && i < count; i++)
		if (named_value(&items[i]))
			lanes_name(lanes, places[i], named_value(&items[i]));
	mem_free(items);
	mem_free(places);
	return good;
}

/* Labels rows of threads with the thread's last name in the range. */
static bool name_rows(const struct timeline_svg *svg, struct error *err)
{
	struct lanes *lanes = svg->lanes;
	struct named *items = mem_new_array(lanes->nrows + 1, sizeof *items);

	for (size_t i = 0; i < lanes->nrows; i++)
		items[i] = (struct named){.t = lanes->end - 1,
					  .path = lanes->rows[i].path,
					  .value = {.kind = VALUE_NONE},
					  .of_path = !lanes->rows[i].lost};
	bool good = names_in(svg->session, items, lanes->nrows, NULL, lanes->arena, err);
	for (size_t i = 0; good && i < lanes->nrows; i++) {
		struct lane *row = &lanes->rows[i];
		row->label = items[i].name
				     ? arena_printf(lanes->arena, "%s %s", row->path, items[i].name)
				     : row->path;
	}
	mem_free(items);
	return good;
}

/* ---- The static drawing ---- */

struct canvas {
	const struct lanes *lanes;
	struct times *times;
	struct sink *sink;
	struct buf *out;         /* the sink's buffer */
	size_t left, width;      /* where pieces are drawn */
	size_t grid;             /* pixels that are drawn as one */
	struct buf tones[TONES]; /* per tone: SVG path of the row that is drawn */
	double shares[TONES];    /* of each tone in the pixel that is being filled */
	int64_t pixel;           /* where that pixel begins; -1: none */
};

static double x_of(const struct canvas *canvas, nstime t)
{
	const struct lanes *lanes = canvas->lanes;
	uint64_t span = (uint64_t)lanes->end - (uint64_t)lanes->begin;

	return (double)((uint64_t)t - (uint64_t)lanes->begin) / (double)span *
	       (double)canvas->width;
}

static void add_box(struct canvas *canvas, size_t tone, int64_t x, double y, int64_t width,
		    double height)
{
	buf_printf(&canvas->tones[tone], "M%lld %.1fh%lldv%.1fh-%lldz",
		   (long long)x + (long long)canvas->left, y, (long long)width, height,
		   (long long)width);
}

static void end_pixel(struct canvas *canvas)
{
	double y = ROW;

	for (size_t i = 0; canvas->pixel >= 0 && i < TONES; i++) {
		double height = canvas->shares[i] * ROW;
		if (height > 0.05) {
			y -= height;
			add_box(canvas, i, canvas->pixel, y > 0 ? y : 0, (int64_t)canvas->grid,
				height);
		}
		canvas->shares[i] = 0;
	}
	canvas->pixel = -1;
}

static void fill_pixel(struct canvas *canvas, const struct lane_piece *piece, double share)
{
	const struct lane_shares *shares = piece->shares;
	double span = (double)((uint64_t)piece->end - (uint64_t)piece->begin);

	if (!shares) {
		canvas->shares[canvas->lanes->values[piece->value].tone] += share;
		return;
	}
	for (size_t i = 0; i < TONES; i++)
		canvas->shares[i] += share * (double)shares->time[i] / span;
}

static void draw_piece(struct canvas *canvas, const struct lane_piece *piece)
{
	double x = x_of(canvas, piece->begin), end = x_of(canvas, piece->end);
	double grid = (double)canvas->grid;

	while (x < end) {
		int64_t at = (int64_t)(floor(x / grid) * grid);
		int64_t whole = (int64_t)(floor(end / grid) * grid) - at;
		if (at != canvas->pixel) {
			end_pixel(canvas);
			canvas->pixel = at;
		}
		if (x <= (double)at && whole > 0 && !piece->shares) {
			size_t tone = canvas->lanes->values[piece->value].tone;
			add_box(canvas, tone, at, 0, whole, ROW);
			x = (double)(at + whole);
			continue;
		}
		double next = (double)at + grid < end ? (double)at + grid : end;
		fill_pixel(canvas, piece, (next - x) / grid);
		x = next;
	}
}

static void lane_text(const struct lane_value *value, struct buf *out)
{
	picture_label(&(struct picture_value){.value = value->value, .name = value->name}, out);
}

static void draw_value(struct canvas *canvas, const struct lane_piece *piece)
{
	double x = x_of(canvas, piece->begin), end = x_of(canvas, piece->end);
	const struct lane_value *value = &canvas->lanes->values[piece->value];
	struct buf label = {0};

	if (piece->shares || end - x < 3 * CHAR)
		return;
	lane_text(value, &label);
	if ((double)label.len * CHAR <= end - x) {
		buf_printf(canvas->out, "<text class=\"on on%d\" x=\"%.1f\" y=\"%d\">",
			   (int)value->tone, (double)canvas->left + x + 3, ROW - 6);
		drawing_text(canvas->out, buf_text(&label), label.len);
		buf_add_text(canvas->out, "</text>");
	}
	buf_release(&label);
}

/* Writes at most LABEL_MOST characters, with an ellipsis if cut. */
static void draw_label(struct canvas *canvas, const char *label)
{
	size_t bytes, len = strlen(label);

	picture_text_width(label, len, LABEL_MOST, &bytes);
	buf_printf(canvas->out, "<text x=\"%d\" y=\"%d\">", MARGIN, ROW - 6);
	drawing_text(canvas->out, label, bytes);
	buf_add_text(canvas->out, bytes < len ? "…</text>" : "</text>");
}

static void draw_row(struct canvas *canvas, size_t number)
{
	const struct lane *row = &canvas->lanes->rows[number];

	buf_printf(canvas->out,
		   "<g class=\"row\" transform=\"translate(0 %zu)\">"
		   "<rect class=\"%s\" x=\"%zu\" width=\"%zu\" height=\"%d\"/>",
		   TOP + number * STEP, row->lost ? "ground band" : "ground unknown", canvas->left,
		   canvas->width, ROW);
	draw_label(canvas, row->label);
	canvas->pixel = -1;
	for (size_t i = 0; i < row->count; i++)
		draw_piece(canvas, &row->items[i]);
	end_pixel(canvas);
	for (size_t i = 0; i < TONES; i++) {
		if (!canvas->tones[i].len)
			continue;
		if (row->lost)
			buf_add_text(canvas->out, "<path class=\"lost\" d=\"");
		else
			buf_printf(canvas->out, "<path class=\"t%zu\" d=\"", i);
		buf_add_text(canvas->out, buf_text(&canvas->tones[i]));
		buf_add_text(canvas->out, "\"/>");
		buf_clear(&canvas->tones[i]);
	}
	for (size_t i = 0; i < row->count && !row->lost; i++)
		draw_value(canvas, &row->items[i]);
	buf_add_text(canvas->out, "</g>\n");
	sink_row(canvas->sink);
}

/* Draws the ticks of a picture in which each column is CHAR units wide, as characters are. */
static void draw_axis(struct canvas *canvas, size_t bottom)
{
	const struct lanes *lanes = canvas->lanes;
	size_t columns = canvas->width / CHAR;
	struct picture frame = {.begin = lanes->begin,
				.end = lanes->end,
				.columns = columns ? (uint32_t)columns : 1};
	struct picture_tick tick;

	buf_add_text(canvas->out, "<g id=\"axis\">");
	for (bool more = picture_first_tick(&frame, canvas->times, &tick); more;
	     more = picture_next_tick(&frame, canvas->times, &tick)) {
		double x = (double)canvas->left + x_of(canvas, tick.t);
		buf_printf(canvas->out,
			   "<path class=\"tick\" d=\"M%.1f %dV%zu\"/><text class=\"faint\" "
			   "x=\"%.1f\" y=\"%d\">",
			   x, TOP - 18, bottom, x + 3, TOP - 8);
		drawing_text(canvas->out, tick.text, strlen(tick.text));
		buf_add_text(canvas->out, "</text>");
	}
	buf_add_text(canvas->out, "</g>\n");
}

static const char *const tone_names[TONES] = {"running", "ready", "sleeping", "blocked",
					      "idle, dead, 0"};

static const char *tone_name(size_t tone)
{
	return tone < TONE_OTHERS ? tone_names[tone] : "other values";
}

static void legend_item(struct canvas *canvas, const char *class, const char *text, size_t *x)
{
	buf_printf(canvas->out,
		   "<rect class=\"%s\" x=\"%zu\" y=\"60\" width=\"22\" height=\"14\"/>"
		   "<text x=\"%zu\" y=\"72\">%s</text>",
		   class, *x, *x + 28, text);
	*x += 28 + (strlen(text) + 2) * CHAR;
}

/* Draws a legend of the tones that occur, but for that of other values. */
static void draw_legend(struct canvas *canvas)
{
	const struct lanes *lanes = canvas->lanes;
	bool there[TONE_OTHERS] = {false};
	size_t x = canvas->left;

	for (size_t i = 0; i < lanes->nvalues; i++)
		if (lanes->values[i].tone < TONE_OTHERS)
			there[lanes->values[i].tone] = true;
	buf_add_text(canvas->out, "<g id=\"legend\">");
	for (size_t i = 0; i < TONE_OTHERS; i++) {
		char class[] = "t0";
		class[1] = (char)('0' + i);
		if (there[i])
			legend_item(canvas, class, tone_name(i), &x);
	}
	legend_item(canvas, "unknown", "unknown, or none", &x);
	if (lanes->nrows && lanes->rows[0].lost)
		legend_item(canvas, "lost", "lost events", &x);
	buf_printf(canvas->out,
		   "<text class=\"faint\" x=\"%zu\" y=\"72\">stack: several in a pixel"
		   "</text></g>\n",
		   x);
}

static void draw_head(struct canvas *canvas, const char *title)
{
	const struct lanes *lanes = canvas->lanes;

	buf_printf(canvas->out,
		   "<g id=\"head\"><rect class=\"page\" width=\"100%%\" height=\"%d\"/>"
		   "<text class=\"title\" x=\"%d\" y=\"18\">",
		   TOP - 2, MARGIN);
	drawing_text(canvas->out, title, strlen(title));
	buf_printf(canvas->out, "</text>\n<text id=\"range\" x=\"%zu\" y=\"34\">", canvas->left);
	time_add(canvas->times, lanes->begin, canvas->sink);
	buf_add_text(canvas->out, " to ");
	time_add(canvas->times, lanes->end, canvas->sink);
	buf_add_text(canvas->out, ", ");
	time_span_add(canvas->times, time_span(lanes->begin, lanes->end), canvas->sink);
	buf_add_text(canvas->out, "</text>\n");
	draw_legend(canvas);
	buf_add_text(canvas->out, "</g>\n");
}

/* Writes what the picture leaves out; returns how many lines. */
static size_t draw_notes(struct canvas *canvas, size_t y)
{
	const struct lanes *lanes = canvas->lanes;
	size_t lines = 0;

	if (!lanes->nrows)
		buf_printf(canvas->out,
			   "<text x=\"%d\" y=\"%zu\">no value of them is known here</text>\n",
			   MARGIN, y + NOTE * ++lines);
	if (lanes->grain) {
		buf_printf(canvas->out,
			   "<text class=\"faint\" x=\"%d\" y=\"%zu\">What is shorter than ", MARGIN,
			   y + NOTE * ++lines);
		time_span_add(canvas->times, lanes->grain, canvas->sink);
		buf_add_text(canvas->out, " is drawn together with its neighbours: a picture of a "
					  "shorter range (--begin, --end) shows more.</text>\n");
	}
	if (lanes->left_out)
		buf_printf(canvas->out,
			   "<text class=\"faint\" x=\"%d\" y=\"%zu\">%zu more attributes are left "
			   "out: --limit says how many to draw.</text>\n",
			   MARGIN, y + NOTE * ++lines, lanes->left_out);
	return lines;
}

/* ---- The data ---- */

/* Writes the time style, and the base that the script adds to times from the picture's begin. */
static void data_time(struct canvas *canvas)
{
	static const char *const names[] = {"clock", "iso", "seconds", "ns", "relative", "ordinal"};
	struct times *times = canvas->times;
	__int128 base = canvas->lanes->begin;
	int64_t zone = 0;

	if (times->style == TIME_RELATIVE)
		base -= times->first;
	if (times->style == TIME_CLOCK || times->style == TIME_ISO)
		zone = time_zone(times, canvas->lanes->begin);
	base += (__int128)zone * 1000000000;
	buf_printf(canvas->out, "\"time\":{\"style\":\"%s\",\"epoch\":%s,\"base\":\"",
		   names[times->style], times->epoch ? "true" : "false");
	if (base >= INT64_MIN && base <= INT64_MAX)
		buf_add_i64(canvas->out, (int64_t)base);
	else
		buf_add_i64(canvas->out, canvas->lanes->begin);
	buf_add_text(canvas->out, "\"}");
}

static void data_values(struct canvas *canvas)
{
	const struct lanes *lanes = canvas->lanes;
	struct buf label = {0};

	buf_add_text(canvas->out, ",\"tones\":[");
	for (size_t i = 0; i < TONES; i++)
		buf_printf(canvas->out, "%s\"%s\"", i ? "," : "", tone_name(i));
	buf_add_text(canvas->out, "],\n\"values\":[");
	for (size_t i = 0; i < lanes->nvalues; i++) {
		buf_clear(&label);
		lane_text(&lanes->values[i], &label);
		buf_printf(canvas->out, "%s[%d,", i ? ",\n" : "", (int)lanes->values[i].tone);
		drawing_json(canvas->out, buf_text(&label), label.len);
		buf_add_char(canvas->out, ']');
	}
	buf_add_text(canvas->out, "],\n");
	buf_release(&label);
}

static void data_piece(struct canvas *canvas, const struct lane_piece *piece, nstime after)
{
	const struct lane_shares *shares = piece->shares;
	uint64_t span = (uint64_t)piece->end - (uint64_t)piece->begin;
	bool more = false;

	buf_add_char(canvas->out, '[');
	buf_add_u64(canvas->out, (uint64_t)piece->begin - (uint64_t)after);
	buf_add_char(canvas->out, ',');
	buf_add_u64(canvas->out, span);
	buf_add_char(canvas->out, ',');
	if (!shares) {
		buf_add_u64(canvas->out, piece->value);
		buf_add_char(canvas->out, ']');
		return;
	}
	buf_add_text(canvas->out, "-1,");
	buf_add_u64(canvas->out, shares->count);
	buf_add_text(canvas->out, ",[");
	for (size_t i = 0; i < TONES; i++) {
		if (!shares->time[i])
			continue;
		buf_printf(canvas->out, "%s%zu,%.0f", more ? "," : "", i,
			   (double)shares->time[i] * 10000 / (double)span);
		more = true;
	}
	buf_add_text(canvas->out, "]]");
}

static void write_data(struct canvas *canvas)
{
	const struct lanes *lanes = canvas->lanes;

	buf_printf(canvas->out,
		   "<metadata>{\"left\":%zu,\"top\":%d,\"row\":%d,\"step\":%d,\"width\":%zu,",
		   canvas->left, TOP, ROW, STEP, canvas->width);
	buf_printf(canvas->out, "\"span\":%llu,\"grain\":%lld,",
		   (unsigned long long)((uint64_t)lanes->end - (uint64_t)lanes->begin),
		   (long long)lanes->grain);
	data_time(canvas);
	data_values(canvas);
	buf_add_text(canvas->out, "\"rows\":[");
	for (size_t i = 0; i < lanes->nrows; i++) {
		const struct lane *row = &lanes->rows[i];
		nstime after = lanes->begin;

		buf_add_text(canvas->out, i ? ",\n{\"label\":" : "\n{\"label\":");
		drawing_json(canvas->out, row->label, strlen(row->label));
		buf_printf(canvas->out, ",\"lost\":%s,\"s\":[", row->lost ? "true" : "false");
		for (size_t k = 0; k < row->count; k++) {
			if (k)
				buf_add_char(canvas->out, ',');
			data_piece(canvas, &row->items[k], after);
			after = row->items[k].end;
		}
		buf_add_text(canvas->out, "]}");
		sink_row(canvas->sink);
	}
	buf_add_text(canvas->out, "]}</metadata>\n");
}

static size_t label_units(const struct lanes *lanes)
{
	size_t longest = 0;

	for (size_t i = 0; i < lanes->nrows; i++) {
		size_t len = strlen(lanes->rows[i].label);
		longest = len > longest ? len : longest;
	}
	return (longest < LABEL_MOST ? longest : LABEL_MOST + 1) * CHAR + 2 * MARGIN;
}

static void timeline_svg_draw(struct canvas *canvas, const char *title)
{
	const struct lanes *lanes = canvas->lanes;
	size_t bottom = TOP + lanes->nrows * STEP, notes = 3;
	size_t width = canvas->left + canvas->width + MARGIN;

	drawing_begin(canvas->out, width, bottom + notes * NOTE + MARGIN, title);
	for (size_t i = 0; i < lanes->nrows; i++)
		draw_row(canvas, i);
	draw_notes(canvas, bottom);
	draw_head(canvas, title);
	draw_axis(canvas, bottom);
	write_data(canvas);
	drawing_end(canvas->out, "timeline");
	sink_row(canvas->sink);
}

bool timeline_svg_write(const struct timeline_svg *svg, const char *path, struct error *err)
{
	struct buf title = {0};
	struct sink_file file;
	struct times times;

	if (!name_values(svg, err) || !name_rows(svg, err) ||
	    !session_times(svg->session, &times, err) || !sink_file_open(&file, path, err))
		return false;
	sink_set_exact(&file.sink, true);
	struct canvas canvas = {.lanes = svg->lanes,
				.times = &times,
				.sink = &file.sink,
				.out = &file.sink.buf,
				.left = label_units(svg->lanes),
				.width = svg->width,
				.grid = 1 + svg->lanes->nrows / ROWS_FINE};
	buf_printf(&title, "yore timeline of %s", svg->session->path);
	timeline_svg_draw(&canvas, buf_text(&title));
	for (size_t i = 0; i < TONES; i++)
		buf_release(&canvas.tones[i]);
	buf_release(&title);
	return sink_file_close(&file, true, err);
}
