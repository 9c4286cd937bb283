/* tsp_xy.c - the protocol's lines over time: event density, CPU use, attributes that are numbers */
#include "engine/base/mem.h"
#include "engine/columns/json.h"
#include "serve/density.h"
#include "serve/rows.h"

#include <math.h>
#include <string.h>

enum { COLUMNS_USUAL = 500, SERIES_MOST = 1000 };

enum xy_kind { XY_DENSITY, XY_CPUS, XY_NUMBERS, XY_NONE };

static enum xy_kind tsp_xy_kind_of(struct served *served, const char *id,
				   const struct row_class **class, unsigned *config)
{
	*class = NULL;
	*config = 0;
	if (!strcmp(id, "density"))
		return XY_DENSITY;
	if (!strcmp(id, "cpu-use"))
		return XY_CPUS;
	if (!strncmp(id, "xy.", 3))
		*class = served_class(served, id + 3, config);
	return *class ? XY_NUMBERS : XY_NONE;
}

/* ---- tree ---- */

static void tsp_xy_add_entry(struct buf *out, uint32_t number, const char *label)
{
	json_printf(out, ",{'id':%u,'parentId':-1,'labels':[%s],'hasData':true,'isDefault':true}",
		    number, label);
}

static bool add_entries(struct served_request *request, const char *path, unsigned config)
{
	struct served *served = request->served;
	struct rows_asked asked = rows_of_trace(served, SERIES_MOST);
	struct rows_found rows = {0};

	asked.config = config;
	bool good = served->first > served->last || rows_find(request, &asked, path, &rows);
	for (size_t i = 0; good && i < rows.count; i++)
		tsp_xy_add_entry(request->out, served_number(served, rows.items[i].path),
				 rows.items[i].path);
	rows_found_release(&rows);
	return good;
}

static bool tree(struct served_request *request)
{
	struct buf *out = request->out;
	const struct row_class *class;
	unsigned config;
	enum xy_kind kind = tsp_xy_kind_of(request->served, request->parts[1], &class, &config);
	bool good = true;

	if (kind == XY_NONE)
		return reply_fails(request->reply, 404, "there is no such output");
	json_printf(out, "{'entries':[");
	if (kind == XY_DENSITY)
		tsp_xy_add_entry(out, served_number(request->served, "(events)"), "Events");
	else
		good = add_entries(request, class ? class->path : "cpu[*]/thread", config);
	json_printf(out, "],'headers':[{'name':'Name','tooltip':''}]}");
	return good;
}

/* ---- series ---- */

static const struct axis {
	const char *label, *unit;
} axes[] = {[XY_DENSITY] = {"Events", ""}, [XY_CPUS] = {"Busy", "%"}, [XY_NUMBERS] = {"Value", ""}};

static bool is_asked(const struct served_request *request, const char *path)
{
	int64_t items[SERIES_MOST];
	size_t count = request_items(request, items, SERIES_MOST);

	for (size_t i = 0; i < count; i++) {
		const char *asked = served_path(request->served, items[i]);
		if (asked && !strcmp(asked, path))
			return true;
	}
	return !count;
}

/* Writes the series of a path if it was requested. A NAN repeats the value before it. */
static void add_series(struct served_request *request, const char *path, const char *name,
		       const struct time_columns *columns, const double *values, enum xy_kind kind)
{
	struct buf *out = request->out;
	double last = 0;

	if (!is_asked(request, path))
		return;
	json_printf(out, ",{'seriesId':%u,'seriesName':%s,'xValues':[",
		    served_number(request->served, path), name);
	for (uint32_t i = 0; i < columns->count; i++)
		json_printf(out, ",%lld", (long long)columns_time(columns, i));
	json_printf(out, "],'yValues':[");
	for (uint32_t i = 0; i < columns->count; i++) {
		last = isnan(values[i]) ? last : values[i];
		buf_add_text(out, i ? "," : "");
		json_add_number(out, last);
	}
	json_printf(out,
		    "],'xValuesDescription':{'label':'Time','unit':'ns','dataType':'TIMESTAMP'},"
		    "'yValuesDescription':{'label':%s,'unit':%s,'dataType':'NUMBER'},"
		    "'style':{'values':{'series-type':'line'}}}",
		    axes[kind].label, axes[kind].unit);
}

static bool add_density(struct served_request *request, const struct time_columns *columns)
{
	double *values = mem_new_array(columns->count, sizeof *values);
	bool good = density_events(request, columns, NULL, values);

	if (good)
		add_series(request, "(events)", "Events", columns, values, XY_DENSITY);
	mem_free(values);
	return good;
}

static bool add_cpus(struct served_request *request, const struct time_columns *columns)
{
	struct cpu_uses uses;
	bool good = density_cpus(request, columns, &uses);

	for (size_t i = 0; good && i < uses.count; i++) {
		const struct cpu_use *use = &uses.items[i];

		for (uint32_t k = 0; k < columns->count; k++)
			use->share[k] *= 100;
		add_series(request, use->path, use->path, columns, use->share, XY_CPUS);
	}
	cpu_uses_release(&uses);
	return good;
}

static double number_of(const struct picture_row *row, uint32_t column)
{
	uint32_t number = row->cells[column].value;
	const struct value *value = number ? &row->values[number - 1].value : NULL;

	if (!value || !value_is_number(value))
		return NAN;
	if (value->kind == VALUE_FLOAT)
		return value->f;
	return value->negative ? (double)(int64_t)value->u : (double)value->u;
}

static bool add_numbers(struct served_request *request, const struct time_columns *columns,
			const struct rows_asked *asked, const char *path)
{
	double *values = mem_new_array(columns->count, sizeof *values);
	struct picture picture;
	bool good = rows_sample(request, asked, &path, 1, &picture);

	for (size_t i = 0; good && i < picture.nrows; i++) {
		const struct picture_row *row = &picture.rows[i];

		for (uint32_t k = 0; k < columns->count; k++)
			values[k] = number_of(row, k);
		add_series(request, row->asked, row->path, columns, values, XY_NUMBERS);
	}
	picture_release(&picture);
	mem_free(values);
	return good;
}

static bool series(struct served_request *request)
{
	const struct asked_range range = request_range(request);
	const struct time_columns columns =
		columns_of(range.begin, range.end, range.columns ? range.columns : COLUMNS_USUAL);
	struct rows_asked asked = {.begin = range.begin,
				   .end = range.end,
				   .columns = columns.count,
				   .limit = SERIES_MOST};
	struct buf *out = request->out;
	const struct row_class *class;
	enum xy_kind kind =
		tsp_xy_kind_of(request->served, request->parts[1], &class, &asked.config);
	bool good;

	if (kind == XY_NONE)
		return reply_fails(request->reply, 404, "there is no such output");
	json_printf(out, "{'title':%s,'series':[", class ? class->path : axes[kind].label);
	if (kind == XY_DENSITY)
		good = add_density(request, &columns);
	else if (kind == XY_CPUS)
		good = add_cpus(request, &columns);
	else
		good = add_numbers(request, &columns, &asked, class->path);
	buf_add_text(out, "]}");
	return good;
}

const struct operation xy_operations[] = {
	{"POST", "tsp/api/experiments/*/outputs/XY/*/tree", tree, OF_MODEL},
	{"POST", "tsp/api/experiments/*/outputs/XY/*/xy", series, OF_MODEL},
	{0},
};
