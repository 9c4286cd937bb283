/* opened_ftrace.c - see opened_ftrace.h */
#include "tests/engine/opened_ftrace.h"

#include "engine/base/mem.h"
#include "engine/event.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

bool open_bytes(const void *bytes, size_t size, struct opened *out)
{
	*out = (struct opened){.folder = scratch_folder()};
	out->path = path_join(out->folder, "trace.dat");
	write_file(out->path, bytes, size);
	return decoded_open(out->path, &out->said, &out->trace, &out->err);
}

void opened_release(struct opened *opened)
{
	trace_close(opened->trace);
	mem_free(opened->path);
	scratch_remove(opened->folder);
}

bool open_made(struct made *made, struct opened *out)
{
	made_write(made);
	return open_bytes(made->file.data, made->file.len, out);
}

const struct stream *stream_of(const struct trace *trace, const char *name)
{
	for (size_t i = 0; i < trace->nstreams; i++)
		if (!strcmp(trace->streams[i]->name, name))
			return trace->streams[i];
	fail_msg("no stream %s", name);
	return NULL;
}

void got_release(struct got *got)
{
	mem_free(got->times);
	mem_free(got->numbers);
}

uint64_t number_of(const struct fields *fields, const char *name)
{
	struct field field;

	if (!fields_get(fields, 1u << SCOPE_PAYLOAD | 1u << SCOPE_STREAM_EVENT_CONTEXT, &name, 1,
			&field))
		fail_msg("no field %s", name);
	return field.slot.u;
}

static void got_add(struct got *got, const struct batch *batch, uint32_t i,
		    const struct fields *fields)
{
	if (got->count == got->capacity) {
		got->capacity = got->capacity * 2 + 64;
		got->times = mem_resize(got->times, got->capacity, sizeof *got->times);
		got->numbers = mem_resize(got->numbers, got->capacity, sizeof *got->numbers);
	}
	got->times[got->count] = batch->time[i];
	got->numbers[got->count] = UINT32_MAX;
	if (fields->class->id == MADE_ID) {
		got->numbers[got->count] = (uint32_t)number_of(fields, "n");
		assert_true(number_of(fields, "common_pid") == MADE_PID);
		assert_true(number_of(fields, "common_type") == MADE_ID);
	}
	got->count++;
}

void decode(const struct reader *reader, const struct stream *stream,
	    const struct packet_info *info, uint32_t capacity, bool again, struct got *out)
{
	struct decoder *decoder = reader->decoder_new(stream);
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	enum step step = STEP_END;
	struct error err = {0};
	struct mark mark;

	if (!reader->decoder_open(decoder, info, &err))
		step = STEP_ERROR;
	else
		do {
			batch->capacity = capacity;
			reader->decoder_mark(decoder, &mark);
			step = reader->decoder_next(decoder, batch, &err);
			if (again) {
				reader->decoder_seek(decoder, &mark);
				step = reader->decoder_next(decoder, batch, &err);
			}
			for (uint32_t i = 0; i < batch->count; i++) {
				struct fields fields;
				struct error why;
				if (!reader->decoder_fields(decoder, batch, i, &fields, &why))
					fail_msg("%s", why.text);
				got_add(out, batch, i, &fields);
			}
		} while (step == STEP_ITEM);
	if (step == STEP_ERROR) {
		out->errors++;
		snprintf(out->last, sizeof out->last, "%s", err.text);
	}
	reader->decoder_free(decoder);
	batch_free(batch);
}

void decode_stream(const struct trace *trace, const struct stream *stream, struct records *records,
		   struct got *out)
{
	records_scan(trace, stream, NULL, records);
	for (size_t i = 0; i < records->count; i++)
		decode(decoded_reader(trace, stream), stream, &records->items[i], 1024, false, out);
}

/* Checks that the computed table has the same records. */
static void check_computed(const struct reader *reader, const struct stream *stream,
			   const struct records *records)
{
	uint64_t count = 0;

	assert_true(reader->computed(stream, &count));
	assert_int_equal(count, records->count);
	for (uint64_t i = 0; i < count; i++) {
		struct packet_info info;
		struct error err;
		if (!reader->packet_at(stream, i, &info, &err))
			fail_msg("%s", err.text);
		assert_memory_equal(&info.rec, &records->items[i].rec, sizeof info.rec);
		assert_int_equal(info.nextents, records->items[i].nextents);
		assert_true(info.plain_size == records->items[i].plain_size);
	}
}

void check_stream(const struct trace *trace, const struct made_cpu *cpu,
		  const struct stream *stream)
{
	const struct reader *reader = decoded_reader(trace, stream);
	struct records records = {0};
	size_t end = cpu->count;

	records_scan(trace, stream, NULL, &records);
	assert_int_equal(records.errors, 0);
	check_computed(reader, stream, &records);
	for (size_t i = records.count; i-- > 0;) {
		const struct packet *rec = &records.items[i].rec;
		struct got got = {0};
		decode(reader, stream, &records.items[i], i % 2 ? 7 : 1024, i % 3 == 0, &got);
		assert_int_equal(got.errors, 0);
		assert_true(got.count && got.count <= end);
		end -= got.count;
		for (size_t k = 0; k < got.count; k++) {
			assert_int_equal(got.numbers[k], cpu->events[end + k].n);
			assert_true(got.times[k] == (nstime)cpu->events[end + k].stamp);
			assert_true(got.times[k] >= rec->min && got.times[k] <= rec->max);
		}
		got_release(&got);
	}
	assert_int_equal(end, 0);
	records_release(&records);
}

void add_page(struct made *made, uint64_t stamp, unsigned count, uint32_t *n)
{
	struct made_page page;

	made_page_begin(&page, stamp);
	for (unsigned i = 0; i < count; i++)
		made_event(made, &page, 0, stamp + i, (*n)++);
	made_page_end(made, &page, 0);
}
