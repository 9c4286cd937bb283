/* fake_reader.c - see fake_reader.h; the bytes are those of fake_format.h */
#include "engine/base/mem.h"
#include "tests/harness.h"
#include "tests/index/fake_format.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Opening */

struct stream_priv {
	struct file_head head;
	const struct trace *trace;
	uint32_t first_class; /* of its part */
	uint64_t owner;       /* packet_head.owner of its packets */
};

static int fake_probe(const struct probe *probe)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/fake.trace", probe->path);
	return probe->is_folder && access(path, R_OK) == 0 ? 100 : 0;
}

static uint32_t add_classes(struct trace *trace, const struct part *part)
{
	uint32_t first = (uint32_t)trace->nclasses;

	for (uint64_t i = 0; i < FAKE_CLASSES; i++) {
		char name[16];
		snprintf(name, sizeof name, "class%u", (unsigned)i);
		struct event_class *class = trace_add_class(trace, part, name);
		struct field_class *v = arena_alloc(trace->arena, sizeof *v);
		struct field_class *payload = arena_alloc(trace->arena, sizeof *payload);
		struct member *member = arena_alloc(trace->arena, sizeof *member);
		*v = (struct field_class){
			.kind = FIELD_INT, .align = 8, .bits = 64, .base = 10, .clock = -1};
		*member = (struct member){.name = "v", .written = "v", .class = v};
		*payload = (struct field_class){.kind = FIELD_STRUCT,
						.align = 8,
						.clock = -1,
						.members = member,
						.nmembers = 1};
		class->id = i;
		class->scope[SCOPE_PAYLOAD] = payload;
		class->nslots = 1;
	}
	return first;
}

/* Copies the file's bytes to a source without a file. */
static struct source *copy_of(struct trace *trace, struct source *from, struct error *err)
{
	uint64_t size = source_size(from);
	void *bytes = arena_array(trace->arena, size + 1, 1);
	const char *name = arena_printf(trace->arena, "%s (copy)", source_name(from));

	return source_peek(from, 0, bytes, size, err) ? source_over(name, bytes, size) : NULL;
}

/* Opens the file, or returns the source that an earlier stream opened for it. */
static struct source *open_once(struct trace *trace, const char *path, bool spill,
				enum source_mode mode, struct error *err)
{
	struct source *source, *copy;
	char name[4200];

	snprintf(name, sizeof name, spill ? "%s (copy)" : "%s", path);
	for (size_t i = 0; i < trace->nsources; i++)
		if (!strcmp(source_name(trace->sources[i]), name))
			return trace->sources[i];
	if (!source_open(path, mode, &source, err))
		return NULL;
	trace_add_source(trace, source);
	if (!spill)
		return source;
	copy = copy_of(trace, source, err);
	if (copy) {
		source_made_of(copy, source);
		trace_add_source(trace, copy);
	}
	return copy;
}

static bool read_head(const char *path, struct file_head *head)
{
	FILE *file = fopen(path, "r");
	bool good = file && fread(head, sizeof *head, 1, file) == 1 && head->magic == HEAD_MAGIC;

	if (file)
		fclose(file);
	return good;
}

static bool add_stream(struct trace *trace, const struct part *part, uint32_t first_class,
		       const char *name, enum source_mode mode, struct error *err)
{
	struct stream *stream = trace_add_stream(trace, part, name);
	struct stream_priv *priv = arena_alloc(trace->arena, sizeof *priv);
	struct file_head *head = &priv->head;

	priv->trace = trace;
	priv->first_class = first_class;
	if (!read_head(arena_printf(trace->arena, "%s/%s.0", part->path, name), head))
		return error_set(err, ERR_FORMAT, "%s: bad stream", name);
	if (head->shared)
		priv->owner = fake_owner(name);
	stream->sources = arena_array(trace->arena, SOURCES_MAX, sizeof(struct source *));
	for (uint32_t i = 0; i < SOURCES_MAX; i++) {
		const char *path = arena_printf(trace->arena, "%s/%s.%u", part->path,
						head->shared ? "shared" : name, i);
		if (access(path, F_OK) != 0)
			break;
		stream->sources[i] = open_once(trace, path, head->spill, mode, err);
		if (!stream->sources[i])
			return false;
		stream->nsources = i + 1;
		stream->bytes += source_size(stream->sources[i]);
	}
	stream->cpu = head->cpu;
	stream->has_time = !head->no_time;
	stream->pieces = head->pieces;
	stream->lost_kind = (enum lost_kind)head->lost_kind;
	stream->lost_bits = head->lost_bits;
	stream->seq_bits = head->seq_bits;
	stream->priv = priv;
	return true;
}

static bool fake_reader_open(struct trace *trace, const char *path, const char *settings,
			     enum source_mode mode, struct error *err)
{
	char line[4096];

	(void)settings;
	snprintf(line, sizeof line, "%s/fake.trace", path);
	FILE *file = fopen(line, "r");
	if (!file)
		return error_set(err, ERR_IO, "%s cannot be read", line);
	struct part *part = trace_add_part(trace, &fake_reader, path);

	part->version = "1";
	part->identity[0] = 42;
	uint32_t first_class = add_classes(trace, part);
	bool good = true;
	while (good && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = 0;
		good = add_stream(trace, part, first_class, line, mode, err);
	}
	fclose(file);
	return good;
}

struct trace *fake_open(const char *dir, const struct notices *notices)
{
	struct trace_options options = {.paths = &dir, .npaths = 1};
	struct trace *trace;
	struct error err;

	reader_register(&fake_reader);
	if (notices)
		options.notices = *notices;
	if (!trace_open(&options, &trace, &err))
		fail_msg("%s", err.text);
	return trace;
}

/* Scanning; priv of struct scan: the event at which the next piece begins */

static bool head_at(const struct stream *stream, uint32_t source, uint64_t at,
		    struct packet_head *head, struct error *err)
{
	struct source *from = stream->sources[source];

	if (!source_peek(from, at, head, sizeof *head, err))
		return false;
	if (head->magic != PACKET_MAGIC || head->size < sizeof *head)
		return error_set(err, ERR_FORMAT, "%s: bad packet at byte %llu", source_name(from),
				 (unsigned long long)at);
	return true;
}

/* The table of extents lives in a ring per thread: the last few records stay valid. */
static struct extent *extents_room(void)
{
	static _Thread_local struct extent ring[4][PACKET_EXTENTS_MAX];
	static _Thread_local unsigned next;

	return ring[next++ % 4];
}

static void list_extents(const struct packet_head *head, uint64_t at, struct packet_info *out)
{
	uint32_t left = head->nevents,
		 first = left < head->extent_events ? left : head->extent_events;
	uint64_t bytes = first * sizeof(struct file_event);
	uint64_t next = at + sizeof *head + bytes + head->gap;
	struct extent *extents = extents_room();

	out->rec.len = (uint32_t)(sizeof *head + bytes);
	for (left -= first; left && out->nextents < PACKET_EXTENTS_MAX;) {
		uint32_t n = left < head->extent_events ? left : head->extent_events;
		extents[out->nextents++] = (struct extent){next, n * sizeof(struct file_event)};
		next += n * sizeof(struct file_event) + head->gap;
		left -= n;
	}
	out->extents = extents;
}

static void describe(uint32_t source, uint64_t at, const struct packet_head *head,
		     struct packet_info *out)
{
	*out = (struct packet_info){.rec = {.min = head->min,
					    .max = head->max,
					    .off = at,
					    .seq = head->seq,
					    .lost = head->lost,
					    .len = (uint32_t)head->size,
					    .events = head->hide_count ? UINT32_MAX : head->nevents,
					    .source = source,
					    .cpu = head->cpu,
					    .flags = head->flags}};
	if (head->nevents == 0 && !head->hide_count)
		out->rec.flags |= PACKET_EMPTY;
	if (head->extent_events)
		list_extents(head, at, out);
}

static bool event_times(const struct stream *stream, uint32_t source, uint64_t at, uint32_t n,
			nstime *min, nstime *max, struct error *err)
{
	for (uint32_t i = 0; i < n; i++) {
		struct file_event event;
		if (!source_peek(stream->sources[source], at + i * sizeof event, &event,
				 sizeof event, err))
			return false;
		if (i == 0 || event.time < *min)
			*min = event.time;
		if (i == 0 || event.time > *max)
			*max = event.time;
	}
	return true;
}

/*
 * Describes a piece; its carried bytes are the packet's offset and the number of its first event.
 */
static bool describe_piece(const struct stream *stream, const struct packet_head *head,
			   const struct scan *scan, uint64_t first, struct packet_info *out,
			   struct error *err)
{
	uint64_t left = head->nevents - first;
	uint32_t n = (uint32_t)(left < head->piece_events ? left : head->piece_events);
	uint64_t at = scan->next + sizeof *head + first * sizeof(struct file_event);

	describe(scan->source, scan->next, head, out);
	out->rec.off = at;
	out->rec.len = (uint32_t)(n * sizeof(struct file_event));
	out->rec.events = n;
	out->rec.flags |= PACKET_PIECE | PACKET_EXACT_MIN | PACKET_EXACT_MAX;
	out->ncarried = 16;
	memcpy(out->carried, &scan->next, 8);
	memcpy(out->carried + 8, &first, 8);
	return event_times(stream, scan->source, at, n, &out->rec.min, &out->rec.max, err);
}

/* Reads the head of the next complete packet; one that is still written comes later. */
static enum step next_head(const struct stream *stream, struct scan *scan, struct packet_head *head,
			   struct error *err)
{
	for (;;) {
		uint64_t size = source_size(stream->sources[scan->source]);
		if (!scan->next)
			scan->next = sizeof(struct file_head);
		if (scan->next + sizeof *head <= size) {
			if (!head_at(stream, scan->source, scan->next, head, err)) {
				scan->next = size;
				return STEP_ERROR;
			}
			if (head->size <= size - scan->next &&
			    head->owner != ((const struct stream_priv *)stream->priv)->owner) {
				scan->next += head->size;
				continue;
			}
			if (head->size <= size - scan->next)
				return STEP_ITEM;
		}
		if (scan->source + 1 >= stream->nsources)
			return STEP_END;
		scan->source++;
		scan->next = 0;
	}
}

static enum step fake_scan(const struct stream *stream, struct scan *scan, struct packet_info *out,
			   struct error *err)
{
	struct packet_head head;
	uint64_t first;
	enum step step = next_head(stream, scan, &head, err);

	if (step != STEP_ITEM)
		return step;
	memcpy(&first, scan->priv, sizeof first);
	scan->emitted++;
	if (head.piece_events && head.nevents > head.piece_events) {
		if (!describe_piece(stream, &head, scan, first, out, err))
			return STEP_ERROR;
		first += out->rec.events;
	} else {
		describe(scan->source, scan->next, &head, out);
		first = head.nevents;
	}
	if (first >= head.nevents) {
		const struct stream_priv *priv = stream->priv;
		scan->next += head.size;
		if (priv->head.open_last &&
		    scan->next == source_size(stream->sources[scan->source])) {
			out->rec.flags |= PACKET_OPEN;
			out->rec.max += 1000;
		}
		first = 0;
	}
	memcpy(scan->priv, &first, sizeof first);
	return STEP_ITEM;
}

static bool fake_computed(const struct stream *stream, uint64_t *count)
{
	const struct file_head *head = &((const struct stream_priv *)stream->priv)->head;

	if (!head->computed || !head->packet_bytes || stream->nsources != 1)
		return false;
	*count = (source_size(stream->sources[0]) - sizeof *head) / head->packet_bytes;
	return true;
}

static bool fake_packet_at(const struct stream *stream, uint64_t i, struct packet_info *out,
			   struct error *err)
{
	const struct file_head *file = &((const struct stream_priv *)stream->priv)->head;
	struct packet_head head;
	uint64_t at = sizeof *file + i * file->packet_bytes;

	if (!head_at(stream, 0, at, &head, err))
		return false;
	if (head.size != file->packet_bytes)
		return error_set(err, ERR_FORMAT, "packets differ in size");
	describe(0, at, &head, out);
	return true;
}

/* Decoding: a packet's events are read at once */

struct decoder {
	const struct stream *stream;
	struct packet_info info;
	struct packet_head head;
	struct file_event *events;
	struct slot slot;
	uint32_t count, next, limit;
};

static struct decoder *fake_decoder_new(const struct stream *stream)
{
	struct decoder *decoder = mem_new(sizeof *decoder);

	decoder->stream = stream;
	return decoder;
}

static void fake_decoder_leave(struct decoder *decoder)
{
	mem_free(decoder->events);
	decoder->events = NULL;
	decoder->count = decoder->next = decoder->limit = 0;
}

static void fake_decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	fake_decoder_leave(decoder);
	mem_free(decoder);
}

static bool read_events(struct decoder *decoder, uint64_t at, uint64_t bytes, struct error *err)
{
	uint32_t n = (uint32_t)(bytes / sizeof(struct file_event));

	if (n > decoder->head.nevents - decoder->count)
		n = decoder->head.nevents - decoder->count;
	bool good =
		source_peek(decoder->stream->sources[decoder->info.rec.source], at,
			    decoder->events + decoder->count, n * sizeof(struct file_event), err);
	decoder->count += good ? n : 0;
	return good;
}

static bool fake_decoder_open(struct decoder *decoder, const struct packet_info *info,
			      struct error *err)
{
	uint64_t head_at_byte = info->rec.off, first = info->rec.off, skip = sizeof decoder->head;

	fake_decoder_leave(decoder);
	decoder->info = *info;
	if (info->rec.flags & PACKET_PIECE) {
		memcpy(&head_at_byte, info->carried, sizeof head_at_byte);
		skip = 0;
	}
	if (!head_at(decoder->stream, info->rec.source, head_at_byte, &decoder->head, err))
		return false;
	decoder->events = mem_new_array(decoder->head.nevents, sizeof *decoder->events);
	if (!read_events(decoder, first + skip, info->rec.len - skip, err))
		return false;
	for (uint32_t i = 0; i < info->nextents; i++)
		if (!read_events(decoder, info->extents[i].off, info->extents[i].len, err))
			return false;
	decoder->limit = decoder->head.damage_after && decoder->head.damage_after < decoder->count
				 ? decoder->head.damage_after
				 : decoder->count;
	return true;
}

static enum step fake_decoder_next(struct decoder *decoder, struct batch *batch, struct error *err)
{
	uint32_t base = ((const struct stream_priv *)decoder->stream->priv)->first_class;

	batch->count = 0;
	batch->first = decoder->next;
	while (decoder->next < decoder->limit && batch->count < batch->capacity) {
		const struct file_event *event = &decoder->events[decoder->next];
		batch->time[batch->count] = event->time;
		batch->class_index[batch->count] = base + event->class % FAKE_CLASSES;
		batch->flags[batch->count] = event->flags ? HEAD_NO_TIME : 0;
		batch->head[batch->count] = 64;
		batch->at[batch->count++] = decoder->next++ * sizeof *event * 8;
	}
	if (batch->count)
		return STEP_ITEM;
	if (decoder->limit == decoder->count)
		return STEP_END;
	error_set(err, ERR_FORMAT, "event %u of the packet at byte %llu is damaged", decoder->limit,
		  (unsigned long long)decoder->info.rec.off);
	decoder->limit = decoder->count = decoder->next;
	return STEP_ERROR;
}

static void fake_decoder_mark(const struct decoder *decoder, struct mark *mark)
{
	*mark = (struct mark){.index = decoder->next};
}

static void fake_decoder_seek(struct decoder *decoder, const struct mark *mark)
{
	decoder->next = mark->index;
}

static bool fake_decoder_fields(struct decoder *decoder, const struct batch *batch, uint32_t i,
				struct fields *out, struct error *err)
{
	uint64_t event = batch->at[i] / (sizeof(struct file_event) * 8);
	const struct stream_priv *priv = decoder->stream->priv;

	if (event >= decoder->head.nevents || !decoder->events)
		return error_set(err, ERR_RANGE, "no event %llu", (unsigned long long)event);
	decoder->slot = (struct slot){.u = decoder->events[event].v};
	*out = (struct fields){.class = priv->trace->classes[batch->class_index[i]],
			       .data = (const uint8_t *)decoder->events,
			       .bits = decoder->head.nevents * sizeof(struct file_event) * 8,
			       .slots = &decoder->slot};
	return true;
}

static uint64_t fake_event_bits(struct decoder *decoder, const struct batch *batch, uint32_t i)
{
	(void)decoder;
	(void)batch;
	(void)i;
	return sizeof(struct file_event) * 8;
}

const struct reader fake_reader = {
	.format = "fake",
	.probe = fake_probe,
	.open = fake_reader_open,
	.scan = fake_scan,
	.computed = fake_computed,
	.packet_at = fake_packet_at,
	.decoder_new = fake_decoder_new,
	.decoder_free = fake_decoder_free,
	.decoder_open = fake_decoder_open,
	.decoder_leave = fake_decoder_leave,
	.decoder_next = fake_decoder_next,
	.decoder_mark = fake_decoder_mark,
	.decoder_seek = fake_decoder_seek,
	.decoder_fields = fake_decoder_fields,
	.event_bits = fake_event_bits,
};
