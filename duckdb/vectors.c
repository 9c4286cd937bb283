/* vectors.c - stores values in the columns of a chunk */
#include "duckdb/duckdb_internal.h"

#include "engine/base/quote.h"

struct duck_column duck_column_of(struct duck_chunk *chunk, uint64_t i)
{
	struct duck_vector *vector = duck.data_chunk_get_vector(chunk, i);

	return (struct duck_column){.vector = vector, .data = duck.vector_get_data(vector)};
}

void duck_put_nulls(struct duck_column *column, uint64_t row, uint64_t count)
{
	if (!column->valid) {
		duck.vector_ensure_validity_writable(column->vector);
		column->valid = duck.vector_get_validity(column->vector);
	}
	for (uint64_t i = row; i < row + count; i++)
		column->valid[i / 64] &= ~(UINT64_C(1) << i % 64);
}

void duck_put_null(struct duck_column *column, uint64_t row)
{
	duck_put_nulls(column, row, 1);
}

static const char *vectors_bytes_of(const struct duck_string *string)
{
	return string->length > DUCK_INLINE_MOST ? string->pointer : string->prefix;
}

void duck_put_blob(struct duck_column *column, uint64_t row, const void *bytes, size_t len)
{
	struct duck_string *out = &((struct duck_string *)column->data)[row];

	if (len > DUCK_INLINE_MOST) {
		duck.vector_assign_string_element_len(column->vector, row, bytes, len);
	} else {
		char inlined[DUCK_INLINE_MOST] = {0};
		if (len)
			memcpy(inlined, bytes, len);
		out->length = (uint32_t)len;
		memcpy(out->prefix, inlined, sizeof out->prefix);
		memcpy(out->rest, inlined + sizeof out->prefix, sizeof out->rest);
	}
	column->last = out;
}

void duck_put_text(struct duck_column *column, uint64_t row, const void *bytes, size_t len)
{
	const struct duck_string *last = column->last;
	struct buf mended = {0};

	if (last && last->length == len && !memcmp(vectors_bytes_of(last), bytes, len)) {
		((struct duck_string *)column->data)[row] = *last;
		return;
	}
	if (utf8_is(bytes, len)) {
		duck_put_blob(column, row, bytes, len);
		return;
	}
	utf8_mend(&mended, bytes, len);
	duck_put_blob(column, row, buf_text(&mended), mended.len);
	column->last = NULL; /* other bytes than what was put */
	buf_release(&mended);
}

void duck_repeat_text(struct duck_column *column, uint64_t from, uint64_t to, uint64_t count)
{
	struct duck_string *strings = column->data, string = strings[from];

	for (uint64_t i = to; i < to + count; i++)
		strings[i] = string;
}

void duck_put_numbers(struct duck_column *column, uint64_t row, unsigned bytes,
		      const uint64_t *numbers, uint64_t count)
{
	switch (bytes) {
	case 1:
		for (uint64_t i = 0; i < count; i++)
			((uint8_t *)column->data)[row + i] = (uint8_t)numbers[i];
		return;
	case 2:
		for (uint64_t i = 0; i < count; i++)
			((uint16_t *)column->data)[row + i] = (uint16_t)numbers[i];
		return;
	case 4:
		for (uint64_t i = 0; i < count; i++)
			((uint32_t *)column->data)[row + i] = (uint32_t)numbers[i];
		return;
	default:
		memcpy((uint64_t *)column->data + row, numbers, count * sizeof *numbers);
	}
}

void duck_put_value(struct duck_column *column, uint64_t row, const struct value *value,
		    struct buf *scratch)
{
	if (!value_exists(value)) {
		duck_put_null(column, row);
		return;
	}
	if (value->kind == VALUE_STRING) {
		duck_put_text(column, row, value->text, value->len);
		return;
	}
	buf_clear(scratch);
	value_add_json(value, scratch);
	duck_put_text(column, row, buf_text(scratch), scratch->len);
}
