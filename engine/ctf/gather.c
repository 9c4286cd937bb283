/*
 * gather.c - files that hold packets of any stream, or something else between them
 *
 *     prefix=N   | N bytes | packet | N bytes | packet |      what a network's capture has
 *     scan       ???? packet ??????? packet packet ????       a RAM image, a core file
 *
 * A packet is known by its magic number, the UUID of the metadata, a stream that the metadata has,
 * and sizes and times that can be. Of a scan every such header counts: where one lies inside of
 * another's content, the latter was overwritten and ends there. Packets of the same stream class
 * and instance are one stream, whichever files they are in, in the order of order.c.
 */
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/ctf/ctf_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_READ = 4096, WINDOW = 1 << 20, MAGIC_BYTES = 4 };

struct found { /* a packet */
	const struct ctf_stream_class *class;
	uint64_t instance;
	bool has_instance;
	size_t number;          /* in the order in which they are found */
	struct ctf_listed item; /* the source's number is that of the file */
};

struct gather {
	struct ctf_part *part;
	const struct ctf_input *input;
	struct source *const *sources;
	size_t file; /* that is looked at */
	uint8_t magic[MAGIC_BYTES];
	struct found *items;
	size_t count, capacity;
};

/* What the header says at `off`; false: there is no packet that could be. */
static bool look(const struct gather *gather, uint64_t off, struct found *out, struct error *err)
{
	struct source *source = gather->sources[gather->file];
	uint64_t left = source_size(source) - off;
	size_t n = left < HEAD_READ ? (size_t)left : HEAD_READ;
	struct packet_head *head = &out->item.head;
	uint8_t bytes[HEAD_READ];

	*out = (struct found){.item.place = {.off = off, .source = (uint32_t)gather->file}};
	if (!source_peek(source, off, bytes, n, err))
		return false;
	out->class = ctf_stream_class_of(gather->part, bytes, n, &out->instance, &out->has_instance,
					 err);
	if (!out->class)
		return error_while(err, "%s: packet at offset %" PRIu64, source_name(source), off);
	if (!packet_head_of(out->class, source, off, head, err))
		return false;
	if (!head->has_size)
		return error_set(err, ERR_FORMAT,
				 "%s: packet at offset %" PRIu64 ": it does not say its size",
				 source_name(source), off);
	out->item.place.kind = head->other ? PLACE_OTHER : PLACE_PACKET;
	out->item.place.len = head->packet_bits / 8;
	out->item.place.begin = head->begin;
	return true;
}

static bool is_plausible(const struct gather *gather, const struct found *found)
{
	const struct packet_head *head = &found->item.head;
	uint64_t left = source_size(gather->sources[gather->file]) - found->item.place.off;

	return found->item.place.len <= left &&
	       (!head->has_begin || !head->has_end || head->begin <= head->end);
}

static void keep(struct gather *gather, const struct found *found)
{
	gather->items =
		mem_grow(gather->items, gather->count, &gather->capacity, sizeof *gather->items);
	gather->items[gather->count] = *found;
	gather->items[gather->count].number = gather->count;
	gather->count++;
}

/* The next magic number at or behind `from`; the file's size: there is none. */
static uint64_t next_magic(const struct gather *gather, uint64_t from)
{
	struct source *source = gather->sources[gather->file];
	uint64_t size = source_size(source);
	struct error ignored; /* what cannot be read holds no packet */
	struct block block;

	for (; from < size && size - from >= MAGIC_BYTES; from += WINDOW) {
		uint64_t left = size - from, most = WINDOW + MAGIC_BYTES - 1;
		size_t n = left < most ? (size_t)left : (size_t)most;
		if (!source_get(source, from, n, &block, &ignored))
			continue;
		const uint8_t *hit = memmem(block.data, n, gather->magic, MAGIC_BYTES);
		uint64_t at = hit ? from + (uint64_t)(hit - block.data) : size;
		source_put(&block);
		if (hit)
			return at;
	}
	return size;
}

/* The next packet at or behind `from`; false: there is none. */
static bool search(const struct gather *gather, uint64_t from, struct found *out)
{
	uint64_t size = source_size(gather->sources[gather->file]);
	struct error ignored;

	for (; (from = next_magic(gather, from)) < size; from++)
		if (look(gather, from, out, &ignored) && is_plausible(gather, out))
			return true;
	return false;
}

/* Packets behind prefixes. What cannot be read is told, up to the next that can. */
static void walk_prefixed(struct gather *gather)
{
	const struct source *source = gather->sources[gather->file];
	uint64_t size = source_size(source), prefix = gather->input->prefix, at = 0;
	struct found found;
	struct error cause;

	while (at < size) {
		if (size - at <= prefix) {
			error_set(&cause, ERR_FORMAT,
				  "%s: the file ends in what stands before a packet, at %" PRIu64,
				  source_name(source), size);
			trace_damage(gather->part->trace, "", &cause);
			return;
		}
		at += prefix;
		if (!look(gather, at, &found, &cause)) {
			trace_damage(gather->part->trace, "", &cause);
			if (!search(gather, at + 1, &found))
				return;
			at = found.item.place.off;
		}
		if (found.item.place.len > size - at)
			found.item.place.len = size - at;
		keep(gather, &found);
		at += found.item.place.len;
		/* sizes of another session's packets, whose header may be another, are doubted */
		if (found.item.place.kind == PLACE_OTHER && at < size &&
		    (size - at <= prefix || next_magic(gather, at + prefix) != at + prefix)) {
			if (!search(gather, found.item.place.off + 1, &found))
				return;
			at = found.item.place.off - prefix;
		}
	}
}

/* Ends packets where another one of this session begins in them. */
static void end_overwritten(struct gather *gather, size_t first)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = gather->count; i-- > first;) {
		struct ctf_place *place = &gather->items[i].item.place;
		if (place->kind != PLACE_PACKET)
			continue;
		if (place->len > next - place->off)
			place->len = next - place->off;
		next = place->off;
	}
}

/* Headers of other sessions that stand in a packet of this one are what it did not overwrite. */
static void search_all(struct gather *gather)
{
	size_t first = gather->count;
	uint64_t end = 0;
	struct found found;

	for (uint64_t at = 0; search(gather, at, &found); at = found.item.place.off + 1) {
		const struct ctf_place *place = &found.item.place;
		if (place->kind == PLACE_OTHER && place->off < end)
			continue;
		keep(gather, &found);
		if (place->kind == PLACE_PACKET && place->off + place->len > end)
			end = place->off + place->len;
	}
	end_overwritten(gather, first);
}

/* Packets of other sessions are counted, and not kept. */
static void drop_others(struct gather *gather)
{
	struct part *part = gather->part->part;
	char uuid[UUID_TEXT] = "";
	size_t kept = 0;

	for (size_t i = 0; i < gather->count; i++) {
		const struct found *found = &gather->items[i];
		if (found->item.place.kind == PLACE_PACKET) {
			gather->items[kept++] = *found;
			continue;
		}
		if (!part->others++)
			uuid_put(found->item.head.uuid, uuid);
	}
	gather->count = kept;
	if (part->others)
		notice(&gather->part->trace->notices, NOTICE_WARNING,
		       "%s: %" PRIu64
		       " packet%s of another session %s left out, the first of UUID %s",
		       part->path, part->others, part->others == 1 ? "" : "s",
		       part->others == 1 ? "is" : "are", uuid);
}

static int by_stream(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->has_instance != y->has_instance)
		return x->has_instance < y->has_instance ? -1 : 1;
	if (x->instance != y->instance)
		return x->instance < y->instance ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool same_stream(const struct found *x, const struct found *y)
{
	return x->class == y->class && x->has_instance == y->has_instance &&
	       x->instance == y->instance;
}

static const char *name_of(const struct gather *gather, const struct found *first, size_t count,
			   const char *file)
{
	struct arena *arena = gather->part->trace->arena;
	uint64_t id = first->class->description->id;

	if (count == gather->count)
		return file;
	return first->has_instance
		       ? arena_printf(arena, "%s/%" PRIu64 ".%" PRIu64, file, id, first->instance)
		       : arena_printf(arena, "%s/%" PRIu64, file, id);
}

/* Numbers of files become numbers of the stream's sources; packets stand file by file. */
static void set_sources(const struct gather *gather, struct stream *stream, struct found *packets,
			size_t count)
{
	struct arena *arena = gather->part->trace->arena;
	struct ctf_stream_state *state = stream->priv;
	uint32_t n = 1;

	for (size_t i = 1; i < count; i++)
		n += packets[i].item.place.source != packets[i - 1].item.place.source;
	stream->sources = arena_array(arena, n, sizeof(struct source *));
	state->sources = arena_array(arena, n, sizeof *state->sources);
	for (size_t i = 0; i < count; i++) {
		uint32_t file = packets[i].item.place.source;
		struct source *source = gather->sources[file];
		if (!i || stream->sources[stream->nsources - 1] != source)
			stream->sources[stream->nsources++] = source;
		packets[i].item.place.source = stream->nsources - 1;
	}
}

/* A stream of packets [0, count), which are in the order in which they were found. */
static void add_stream(const struct gather *gather, struct found *packets, size_t count,
		       const char *const *names)
{
	struct trace *trace = gather->part->trace;
	const char *name = name_of(gather, packets, count, names[packets->item.place.source]);
	struct stream *stream = trace_add_stream(trace, gather->part->part, name);
	struct ctf_stream_state *state = arena_alloc(trace->arena, sizeof *state);
	struct ctf_listing listing = {0};

	state->class = packets->class;
	state->instance = packets->instance;
	state->has_instance = packets->has_instance;
	state->order = ctf_order_new();
	stream->priv = state;
	ctf_describe(stream, packets->class);
	set_sources(gather, stream, packets, count);
	stream->cpu = packets->item.head.cpu;
	for (size_t i = 0; i < count; i++) {
		const struct ctf_listed *item = &packets[i].item;
		if (item->head.cpu != stream->cpu)
			stream->cpu = -1;
		stream->bytes += item->place.len;
		stream->pieces |= item->place.len > 1 << 20;
		ctf_listing_add(&listing, item);
	}
	ctf_order_list(stream, &listing);
	mem_free(listing.items);
	ctf_split_by_cpu(trace, stream);
}

static bool find_magic(struct gather *gather, struct error *err)
{
	const struct field_class *magic =
		gather->part->description.nstreams ? gather->part->classes[0].magic : NULL;

	for (unsigned i = 0; magic && i < MAGIC_BYTES; i++)
		gather->magic[i] = (uint8_t)(CTF_MAGIC >> (magic->big_endian ? 3 - i : i) * 8);
	return magic || error_set(err, ERR_FORMAT,
				  "ctf: packets of this trace do not begin with a magic number, by "
				  "which they could be found");
}

bool ctf_gather(struct ctf_part *part, struct source *const *sources, const char *const *names,
		size_t count, const struct ctf_input *input, struct error *err)
{
	struct gather gather = {.part = part, .input = input, .sources = sources};

	if (!find_magic(&gather, err))
		return false;
	for (; gather.file < count; gather.file++) {
		if (input->scan)
			search_all(&gather);
		else
			walk_prefixed(&gather);
	}
	drop_others(&gather);
	if (gather.count)
		qsort(gather.items, gather.count, sizeof *gather.items, by_stream);
	for (size_t i = 0, n; i < gather.count; i += n) {
		for (n = 1;
		     i + n < gather.count && same_stream(&gather.items[i], &gather.items[i + n]);)
			n++;
		add_stream(&gather, &gather.items[i], n, names);
	}
	mem_free(gather.items);
	return gather.count || error_set(err, ERR_FORMAT, "%s: no packet of this metadata is in it",
					 part->part->path);
}
