/* values_text.c - a value of a column as text */
#include "convert/sheets/values_text.h"

#include "engine/base/quote.h"
#include "engine/columns/json.h"

bool values_are_numbers(const struct sheet_values *values)
{
	return !values->list && (values->kind == CELL_INT || values->kind == CELL_UINT ||
				 values->kind == CELL_TIME || values->kind == CELL_BOOL);
}

static void add_float(uint64_t bits, struct buf *out)
{
	double number;

	memcpy(&number, &bits, sizeof number);
	json_add_float(out, number);
}

static void values_text_add_number(const struct sheet_values *values, uint64_t number,
				   struct buf *out)
{
	if (values->kind == CELL_FLOAT)
		add_float(number, out);
	else if (values->kind == CELL_BOOL)
		buf_add_text(out, number ? "true" : "false");
	else if (values->kind == CELL_UINT)
		buf_add_u64(out, number);
	else
		buf_add_i64(out, (int64_t)number);
}

static void add_list(const struct sheet_values *values, size_t row, struct buf *out)
{
	size_t from = row ? values->list_ends[row - 1] : 0;

	buf_add_char(out, '[');
	for (size_t i = from; i < values->list_ends[row]; i++) {
		if (i > from)
			buf_add_char(out, ',');
		values_text_add_number(values, values_get_element(values, i), out);
	}
	buf_add_char(out, ']');
}

void values_add_text(const struct sheet_values *values, size_t row, struct buf *out)
{
	const char *text;
	double number;
	uint64_t bits;
	size_t len;

	if (values->list) {
		add_list(values, row, out);
	} else if (values->kind == CELL_TEXT || values->kind == CELL_BYTES) {
		text = texts_get(&values->texts, values->index[row], &len);
		if (values->kind == CELL_BYTES)
			quote_hex(out, text, len);
		else
			buf_add(out, text, len);
	} else if (values->kind == CELL_FLOAT) { /* NaN and infinities without JSON's quotes */
		bits = values_get(values, row);
		memcpy(&number, &bits, sizeof number);
		if (number != number)
			buf_add_text(out, "NaN");
		else if (number - number != 0)
			buf_add_text(out, number < 0 ? "-Infinity" : "Infinity");
		else
			json_add_float(out, number);
	} else {
		values_text_add_number(values, values_get(values, row), out);
	}
}
