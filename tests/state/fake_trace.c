/* fake_trace.c - see fake_trace.h */
#include "tests/state/fake_trace.h"

#include "engine/base/mem.h"
#include "state/events/event_filter.h"

#include <stdlib.h>
#include <string.h>

struct decoder { /* at one item */
	struct fake_trace *fake;
	size_t at;
};

static bool decoder_fields(struct decoder *decoder, const struct batch *batch, uint32_t i,
			   struct fields *out, struct error *err)
{
	(void)batch;
	(void)i;
	(void)err;
	*out = (struct fields){.class = decoder->fake->items[decoder->at].class,
			       .slots = &decoder->fake->slots[decoder->at * FAKE_FIELDS]};
	return true;
}

static const struct reader fake_format = {.format = "fake", .decoder_fields = decoder_fields};

static bool is_context(const char *field)
{
	return field && field[0] == '@';
}

/* Makes a structure of fields [first, last) of the class. */
static struct field_class *scope_of(struct arena *arena, const struct fake_class *from,
				    uint32_t first, uint32_t last)
{
	struct field_class *scope = arena_alloc(arena, sizeof *scope);

	scope->kind = FIELD_STRUCT;
	scope->align = 1;
	scope->members = arena_array(arena, FAKE_FIELDS, sizeof *scope->members);
	for (uint32_t i = first; i < last; i++) {
		struct field_class *class = arena_alloc(arena, sizeof *class);
		struct member *member = &scope->members[scope->nmembers++];
		bool text = from->fields[i][0] == '$', is_signed = from->fields[i][0] == '-';

		*class = (struct field_class){.kind = text ? FIELD_STRING : FIELD_INT,
					      .align = 8,
					      .bits = text ? 0 : 64,
					      .base = 10,
					      .is_signed = is_signed,
					      .clock = -1,
					      .slot = i - first};
		member->name = member->written =
			from->fields[i] + (text || is_signed || is_context(from->fields[i]));
		member->class = class;
	}
	return scope;
}

static void add_scopes(struct arena *arena, const struct fake_class *from,
		       struct event_class *class)
{
	uint32_t first = 0, last;

	while (first < FAKE_FIELDS && is_context(from->fields[first]))
		first++;
	for (last = first; last < FAKE_FIELDS && from->fields[last]; last++)
		;
	if (first)
		class->scope[SCOPE_EVENT_CONTEXT] = scope_of(arena, from, 0, first);
	class->scope[SCOPE_PAYLOAD] = scope_of(arena, from, first, last);
	class->slot_base[SCOPE_PAYLOAD] = first;
	class->nslots = last;
}

static void make_trace(struct fake_trace *fake, uint32_t nstreams, const struct fake_class *classes,
		       size_t nclasses)
{
	struct trace *trace = &fake->trace;
	struct part *part;

	trace->arena = arena_new();
	trace->path = "fake";
	part = trace_add_part(trace, &fake_format, "fake");
	for (uint32_t i = 0; i < nstreams; i++) {
		struct stream *stream =
			trace_add_stream(trace, part, arena_printf(trace->arena, "s%u", i));
		stream->section = "ch";
		stream->cpu = (int32_t)i;
		stream->has_time = true;
	}
	for (size_t i = 0; i < nclasses; i++) {
		struct event_class *class = trace_add_class(trace, part, classes[i].name);

		add_scopes(trace->arena, &classes[i], class);
	}
}

static int by_order(const void *a, const void *b)
{
	return order_compare(&((const struct event_item *)a)->order,
			     &((const struct event_item *)b)->order);
}

static void make_item(struct fake_trace *fake, size_t i, const struct fake_event *from)
{
	struct event_item *item = &fake->items[i];
	struct event *event = &item->event;
	bool loss = from->class == FAKE_LOSS;

	item->kind = loss ? ITEM_LOSS : ITEM_EVENT;
	item->stream = event->stream = fake->trace.streams[from->stream];
	item->class = event->class = loss ? NULL : fake->trace.classes[from->class];
	item->order = (struct order){.time = from->time,
				     .rank = from->stream + 1,
				     .source = loss ? UINT32_MAX : 0,
				     .index = (uint32_t)i};
	event->time = from->time;
	event->cpu = item->stream->cpu;
	event->position = (struct position){.stream = from->stream, .index = (uint32_t)i};
	event->lost = loss;
	event->until = from->until;
	for (uint32_t f = 0; !loss && f < item->class->nslots; f++) {
		struct slot *slot = &fake->slots[i * FAKE_FIELDS + f];

		slot->u = from->numbers[f];
		if (fake->classes[from->class].fields[f][0] == '$') {
			slot->bytes = (const uint8_t *)from->texts[f];
			slot->n = strlen(from->texts[f]);
		}
	}
}

/* ---- the event source ---- */

struct event_source_cursor {
	struct fake_trace *fake;
	struct event_source_range range;
	struct batch *batch; /* one item, for an event filter */
	size_t at;           /* forward: the next; backward: one above the next */
};

static bool cursor_open(struct event_source *event_source, const struct event_source_range *range,
			struct event_source_cursor **out, struct error *err)
{
	struct event_source_cursor *cursor = mem_new(sizeof *cursor);

	(void)err;
	cursor->fake = (struct fake_trace *)event_source;
	cursor->range = *range;
	cursor->at = range->backward ? cursor->fake->nitems : 0;
	if (range->event_filter) {
		cursor->batch = batch_new(BATCH_MAX, 0, NULL);
		event_filter_begin(range->event_filter, &cursor->range, range->from.time,
				   range->to.time);
	}
	*out = cursor;
	return true;
}

static void cursor_close(struct event_source_cursor *cursor)
{
	batch_free(cursor->batch);
	mem_free(cursor);
}

static bool has(const uint64_t *bits, uint32_t i)
{
	return !bits || bits[i / 64] & UINT64_C(1) << i % 64;
}

static bool wanted(const struct event_source_range *range, const struct event_item *item)
{
	if (order_compare(&item->order, &range->from) < 0 ||
	    order_compare(&item->order, &range->to) >= 0 ||
	    !has(range->streams, item->stream->index))
		return false;
	return item->class ? has(range->classes, item->class->index) : range->losses;
}

static bool passes(struct event_source_cursor *cursor, size_t at)
{
	const struct event_item *item = &cursor->fake->items[at];
	struct decoder decoder = {cursor->fake, at};
	struct run run = {.stream = item->stream,
			  .cpu = item->event.cpu,
			  .batch = cursor->batch,
			  .count = 1,
			  .decoder = &decoder,
			  .reader = &fake_format};
	uint16_t entries[1];

	if (!item->class || !cursor->range.event_filter ||
	    !event_filter_chooses(cursor->range.event_filter))
		return true;
	cursor->batch->count = 1;
	cursor->batch->time[0] = item->event.time;
	cursor->batch->class_index[0] = item->class->index;
	return event_filter_select(cursor->range.event_filter, &run, entries) == 1;
}

static enum step cursor_next(struct event_source_cursor *cursor, struct event_item *out,
			     struct error *err)
{
	struct fake_trace *fake = cursor->fake;

	(void)err;
	while (cursor->range.backward ? cursor->at > 0 : cursor->at < fake->nitems) {
		size_t at = cursor->range.backward ? --cursor->at : cursor->at++;
		const struct event_item *item = &fake->items[at];
		if (!wanted(&cursor->range, item) || !passes(cursor, at))
			continue;
		*out = *item;
		fake->given++;
		return STEP_ITEM;
	}
	return STEP_END;
}

static bool cursor_fields(struct event_source_cursor *cursor, const struct event_item *item,
			  struct fields *out, struct error *err)
{
	size_t i = cursor->range.backward ? cursor->at : cursor->at - 1;

	(void)err;
	*out = (struct fields){.class = item->class,
			       .slots = &cursor->fake->slots[i * FAKE_FIELDS]};
	return true;
}

static bool span(struct event_source *event_source, nstime *first, nstime *last, struct error *err)
{
	const struct fake_trace *fake = (struct fake_trace *)event_source;

	(void)err;
	*first = fake->nitems ? fake->items[0].event.time : 0;
	*last = fake->nitems ? fake->items[fake->nitems - 1].event.time : 0;
	return true;
}

static const struct event_source_ops fake_ops = {.open = cursor_open,
						 .close = cursor_close,
						 .next = cursor_next,
						 .fields = cursor_fields,
						 .span = span};

struct fake_trace *fake_trace_new(uint32_t nstreams, const struct fake_class *classes,
				  size_t nclasses, const struct fake_event *events, size_t nevents)
{
	struct fake_trace *fake = mem_new(sizeof *fake);
	struct slot *unsorted;

	fake->event_source.ops = &fake_ops;
	fake->event_source.trace = &fake->trace;
	fake->classes = classes;
	make_trace(fake, nstreams, classes, nclasses);
	fake->nitems = nevents;
	fake->items = mem_new_array(nevents, sizeof *fake->items);
	fake->slots = mem_new_array(nevents * FAKE_FIELDS, sizeof *fake->slots);
	for (size_t i = 0; i < nevents; i++)
		make_item(fake, i, &events[i]);
	qsort(fake->items, nevents, sizeof *fake->items, by_order);
	unsorted = fake->slots;
	fake->slots = mem_new_array(nevents * FAKE_FIELDS, sizeof *fake->slots);
	for (size_t i = 0; i < nevents; i++)
		memcpy(&fake->slots[i * FAKE_FIELDS],
		       &unsorted[fake->items[i].event.position.index * FAKE_FIELDS],
		       FAKE_FIELDS * sizeof *unsorted);
	mem_free(unsorted);
	return fake;
}

void fake_trace_begins(struct fake_trace *fake, const nstime *begins)
{
	size_t size = fake->trace.nstreams * sizeof *begins;

	mem_free(fake->event_source.begins);
	fake->event_source.begins = mem_new(size);
	memcpy(fake->event_source.begins, begins, size);
}

void fake_trace_late_events(struct fake_trace *fake, uint64_t streams)
{
	for (size_t i = 0; i < fake->trace.nstreams; i++)
		((struct stream *)fake->trace.streams[i])->late_events = streams >> i & 1;
}

void fake_trace_free(struct fake_trace *fake)
{
	arena_free(fake->trace.arena);
	mem_free(fake->event_source.begins);
	mem_free(fake->trace.parts);
	mem_free(fake->trace.streams);
	mem_free(fake->trace.classes);
	mem_free(fake->trace.clocks);
	mem_free(fake->items);
	mem_free(fake->slots);
	mem_free(fake);
}
