/* events_values.c - xColumn of the tables of events: fields, labels, scopes as JSON, offsets */
#include "sql/tables/events_internal.h"

#include "engine/columns/json.h"

static void events_values_put_text(sqlite3_context *out, const char *text)
{
	sqlite3_result_text(out, text, -1, SQLITE_STATIC); /* it lives as long as the trace */
}

static void put_field(struct events_cursor *cursor, sqlite3_context *out, uint32_t number)
{
	const struct value_place *place = events_place(cursor, number);
	struct buf scratch = {0};
	struct field field;
	size_t len;

	if (!place->class)
		return;
	if (!events_decode(cursor) || !place_field(place, &cursor->fields, &field))
		return;
	if (place->class->kind == FIELD_INT) {
		sqlite3_result_int64(out, field.slot.s);
	} else if (place->class->kind == FIELD_FLOAT) {
		sqlite3_result_double(out, field.slot.f);
	} else if (field_is_text(&field)) {
		const uint8_t *bytes = field_bytes(&field, &scratch, &len);
		sqlite3_result_text64(out, (const char *)bytes, len, SQLITE_TRANSIENT, SQLITE_UTF8);
	} else if (place->class->is_blob) {
		const uint8_t *bytes = field_bytes(&field, &scratch, &len);
		sqlite3_result_blob64(out, bytes, len, SQLITE_TRANSIENT);
	} else {
		json_add_field(&scratch, &field);
		sqlite3_result_text64(out, buf_text(&scratch), scratch.len, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
	}
	buf_release(&scratch);
}

static void events_values_put_label(struct events_cursor *cursor, sqlite3_context *out,
				    uint32_t number)
{
	const struct value_place *place = events_place(cursor, number);
	const struct slot *slot;
	const char *labels;

	if (!place->class || place->class->kind != FIELD_INT || !events_decode(cursor))
		return;
	slot = place_slot(place, &cursor->fields);
	labels = slot ? field_labels(place->class, slot->u, &cursor->text) : NULL;
	if (labels)
		sqlite3_result_text(out, labels, -1,
				    labels == cursor->text.data ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

/* The members of these scopes as one JSON object. */
static void put_scopes(struct events_cursor *cursor, sqlite3_context *out, unsigned scopes)
{
	struct buf *text = &cursor->text;

	if (!events_decode(cursor))
		return;
	buf_clear(text);
	json_add_scopes(text, &cursor->fields, scopes);
	sqlite3_result_text64(out, buf_text(text), text->len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* yore_where of a row is the text of the scan's condition. */
static void put_condition(const struct events_cursor *cursor, sqlite3_context *out)
{
	if (cursor->told.text)
		events_values_put_text(out, cursor->told.text);
	else
		sqlite3_result_error(
			out,
			"yore_where has no value: yore_where MATCH 'TEXT' stands alone "
			"or beside AND; inside of TEXT || and ! join conditions",
			-1);
}

static void put_place(struct events_cursor *cursor, sqlite3_context *out, enum column_kind kind)
{
	const struct run *run = &cursor->run;

	if (kind == COLUMN_FILE)
		events_values_put_text(
			out, source_name(stream_source(run->stream, run->packet->rec.source)));
	else if (kind == COLUMN_OFFSET)
		sqlite3_result_int64(out, (int64_t)run->packet->rec.off);
	else if (kind == COLUMN_INDEX)
		sqlite3_result_int64(out, run_index(run, cursor->at));
	else if (cursor->host->path)
		events_values_put_text(out, cursor->host->path);
}

/* Column i of the current row of the key index; columns that the query does not read stay NULL. */
static void put_indexed(const struct events_cursor *cursor, sqlite3_context *out, size_t i)
{
	const struct key_row *row = key_index_row(cursor->serving, cursor->key_at);
	const struct column *columns = cursor->shape->columns;
	uint64_t before = cursor->plan->columns & ((UINT64_C(1) << i) - 1);
	size_t n = 0;

	if (columns[i].kind == COLUMN_TS)
		sqlite3_result_int64(out, row->time);
	else if (columns[i].kind == COLUMN_STREAM)
		events_values_put_text(out, row->stream->name);
	else if (columns[i].kind == COLUMN_NAME)
		events_values_put_text(out, cursor->host->trace->classes[row->class]->name);
	else if (columns[i].kind == COLUMN_CPU && row->cpu >= 0)
		sqlite3_result_int(out, row->cpu);
	if (columns[i].kind != COLUMN_FIELD)
		return;
	for (size_t k = 0; before >> k; k++)
		n += (before >> k & 1) && columns[k].kind == COLUMN_FIELD;
	if (!(row->nulls >> n & 1))
		sqlite3_result_int64(out, key_index_value(cursor->serving, cursor->key_at, n));
}

int events_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	struct events_cursor *cursor = (struct events_cursor *)base;
	const struct column *column = &cursor->shape->columns[i];
	const struct run *run = &cursor->run;
	nstime time;

	if (cursor->serving) {
		if (cursor->plan->columns >> i & 1)
			put_indexed(cursor, out, (size_t)i);
		return SQLITE_OK;
	}
	switch (column->kind) {
	case COLUMN_TS:
		time = cursor->time[cursor->at];
		if (!cursor->untimed && time != NSTIME_MIN)
			sqlite3_result_int64(out, time);
		break;
	case COLUMN_STREAM:
		events_values_put_text(out, run->stream->name);
		break;
	case COLUMN_CPU:
		if (run->cpu >= 0)
			sqlite3_result_int(out, run->cpu);
		break;
	case COLUMN_NAME:
		events_values_put_text(
			out,
			cursor->host->trace->classes[run->batch->class_index[cursor->at]]->name);
		break;
	case COLUMN_CONTEXT:
		put_scopes(cursor, out,
			   1u << SCOPE_STREAM_EVENT_CONTEXT | 1u << SCOPE_EVENT_CONTEXT);
		break;
	case COLUMN_FIELDS:
		put_scopes(cursor, out, 1u << SCOPE_PAYLOAD);
		break;
	case COLUMN_PACKET:
		put_scopes(cursor, out, 1u << SCOPE_PACKET_CONTEXT);
		break;
	case COLUMN_FIELD:
		put_field(cursor, out, column->field);
		break;
	case COLUMN_LABEL:
		events_values_put_label(cursor, out, column->field);
		break;
	case COLUMN_WHERE:
		put_condition(cursor, out);
		break;
	default:
		put_place(cursor, out, column->kind);
		break;
	}
	return SQLITE_OK;
}
