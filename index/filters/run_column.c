/* run_column.c - see run_column.h */
#include "index/filters/run_column.h"

void run_field_init(struct run_field *field, const struct event_class *class,
		    const struct field_path *path)
{
	*field = (struct run_field){.field = *path};
	field->placed = column_place(class, path, &field->place);
}

static uint32_t decode_column(const struct run *run, const struct run_field *field,
			      const uint16_t *entries, uint32_t n, uint64_t *values, uint16_t *bad)
{
	struct error ignored; /* damage: told where it is found; the event has no values */
	struct fields fields;
	struct field value;
	uint32_t nbad = 0;

	for (uint32_t k = 0; k < n; k++) {
		values[k] = 0;
		if (!run->reader->decoder_fields(run->decoder, run->batch, entries[k], &fields,
						 &ignored)) {
			bad[nbad++] = (uint16_t)k;
			continue;
		}
		fields_at(&fields, &field->field, &value);
		values[k] = value.slot.u;
	}
	return nbad;
}

uint32_t run_column(const struct run *run, const struct run_field *field, const uint16_t *entries,
		    uint32_t n, uint64_t *values, uint16_t *bad)
{
	const struct reader *reader = run->reader;

	if (field->placed && reader->decoder_column &&
	    reader->decoder_column(run->decoder, run->batch, entries, n, &field->place, values))
		return 0;
	return decode_column(run, field, entries, n, values, bad);
}
