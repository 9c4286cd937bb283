/*
 * walk.c - the one walk over all records → packet records of every stream
 *
 * The recorder copies one ring buffer after the other, so that the records of one CPU come in runs
 * between those of others. Each record goes to a bin: that of its CPU (there are two: rings that
 * are overwritten run backwards), of a lane, or of records without CPU or time. A bin gathers runs
 * until it has 256 KB, or a LOST record comes; then they become a packet of the bin's stream, also
 * if the runs are of several rounds.
 *
 *     file    00001111 r 0000 11111 r 00        r: round marks, included as gaps
 *     cpu0    ^^^^       ^^^^         ^^  → packet of three extents
 *
 * Lanes replace CPUs if records do not say them: one per ring buffer. When time falls, the record
 * goes to the lane with the greatest end that is not later than it, else to an empty lane.
 *
 * All streams share the walk. A thread that needs a packet that was not found yet continues the
 * walk, a window at a time; packets found before are returned without waiting for the walking
 * thread. A stored scan has its number of packets: a new process walks up to that number and finds
 * the same ones.
 *
 * In a growing trace, the walk stops in front of an incomplete record. The records in the bins then
 * become packets that are OPEN, as they may still get records; when the trace is opened anew, it
 * takes over the state of the walk before these packets were made, and continues.
 */
#include "engine/base/mem.h"
#include "engine/perf/walk_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
	GAP = 8, /* bytes of a round mark; an extent may include such gaps */
	WINDOW = 4 << 20,
	LANES_MOST = 1024,
	PACKET_BYTES = 256 << 10, /* of records, most */
	LIST_IN_MEMORY = 64 << 10 /* bytes of a stream's packets, of a trace that grows */
};

static void note_damage(struct perf_walk *walk, uint64_t off, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void note_damage(struct perf_walk *walk, uint64_t off, const char *fmt, ...)
{
	const struct perf_source *from = &walk->part->sources[walk->now.source];
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	pthread_mutex_lock(&walk->listing);
	if (!walk->ndamages++)
		error_set(&walk->damage, ERR_FORMAT, "%s: the record at offset %" PRIu64 " %s",
			  from->name, off, text);
	pthread_mutex_unlock(&walk->listing);
}

static void note_unread(struct perf_walk *walk, uint32_t type, uint64_t off)
{
	pthread_mutex_lock(&walk->listing);
	perf_note_unread(&walk->unread, type, walk->now.source, off);
	pthread_mutex_unlock(&walk->listing);
}

/* Allocates extents; those of packets that the next step makes anew are freed then. */
static struct extent *extents_room(struct perf_walk *walk, size_t count)
{
	struct pause *pause = &walk->pause;

	if (!pause->bins)
		return perf_store_take(walk->store, count * sizeof(struct extent));
	return *mem_push(pause->extents, pause->nextents, pause->capacity) =
		       mem_new_array(count, sizeof(struct extent));
}

static struct packet_extents *push_packet(const struct perf_walk *walk, struct packet_list *list)
{
	if (!walk->part->trace->grows)
		return mem_push(list->items, list->count, list->capacity);
	if (list->count == list->capacity) {
		list->capacity += list->capacity + 1;
		list->items = paged_resize_closed(
			&list->memory, list->capacity * sizeof *list->items, LIST_IN_MEMORY);
	}
	return &list->items[list->count++];
}

/* Makes a packet of the bin's records, and adds it to the bin's stream. */
static void flush(struct perf_walk *walk, struct bin *bin, bool open)
{
	struct packet *rec = &bin->rec;
	struct packet_list *list = &walk->lists[bin->stream];
	struct extent *extents = NULL;

	if (!rec->events)
		return;
	if (bin->nextents > 1) {
		extents = extents_room(walk, bin->nextents - 1);
		memcpy(extents, bin->extents + 1, (bin->nextents - 1) * sizeof *extents);
	}
	rec->off = bin->extents[0].off;
	rec->len = (uint32_t)bin->extents[0].len;
	rec->seq = PACKET_NONE;
	rec->flags = walk->part->sources[walk->now.source].spill ? PACKET_SPILL : 0;
	rec->flags |= PACKET_FOREIGN | (open ? PACKET_OPEN : 0) | (bin->cut ? PACKET_DAMAGED : 0);
	walk->now.flushed = rec->max > walk->now.flushed ? rec->max : walk->now.flushed;
	if (bin->timeless) {
		rec->flags |= PACKET_BEFORE_ALL;
		rec->min = rec->max = NSTIME_MIN;
	} else {
		rec->flags |= PACKET_EXACT_MIN | PACKET_EXACT_MAX;
		if (bin->fell)
			rec->flags |=
				bin->backward && !bin->rose ? PACKET_DESCENDING : PACKET_UNSORTED;
	}
	pthread_mutex_lock(&walk->listing);
	*push_packet(walk, list) = (struct packet_extents){
		*rec, extents, (uint32_t)(bin->nextents ? bin->nextents - 1 : 0)};
	pthread_mutex_unlock(&walk->listing);
	*rec = (struct packet){.source = rec->source, .cpu = rec->cpu};
	bin->bytes = 0;
	bin->nextents = 0;
	bin->fell = bin->rose = bin->cut = false;
}

static bool is_last_source(const struct perf_walk *walk)
{
	return walk->now.source + 1 == walk->part->nsources;
}

static void flush_all(struct perf_walk *walk)
{
	/* packets of a growing file in front of its copy are final: it only gets round marks */
	bool open = walk->part->sources[walk->now.source].grows &&
		    (!walk->part->spilled || is_last_source(walk));

	for (size_t i = 0; i < walk->nbins; i++)
		flush(walk, &walk->bins[i], open);
}

static void add_extent(struct bin *bin, uint64_t off)
{
	*mem_push(bin->extents, bin->nextents, bin->capacity) = (struct extent){off, 0};
}

static inline void add_record(struct perf_walk *walk, struct bin *bin, nstime time, uint64_t off,
			      uint32_t size)
{
	struct packet *rec = &bin->rec;

	if (bin->bytes + size > walk->packet_bytes)
		flush(walk, bin, false);
	if (!rec->events) {
		rec->source = walk->now.source;
		rec->min = rec->max = time;
		bin->last = time;
		add_extent(bin, off);
	} else if (bin->next != off) {
		if (bin->nextents == PACKET_EXTENTS_MAX) {
			flush(walk, bin, false);
			rec->source = walk->now.source;
			rec->min = rec->max = time;
			bin->last = time;
		}
		add_extent(bin, off);
	}
	struct extent *extent = &bin->extents[bin->nextents - 1];
	walk->latest = bin;
	extent->len = off + size - extent->off;
	bin->next = off + size;
	bin->bytes += size;
	bin->fell |= time < bin->last;
	bin->rose |= time > bin->last;
	bin->last = time;
	rec->min = time < rec->min ? time : rec->min;
	rec->max = time > rec->max ? time : rec->max;
	rec->events++;
}

/* Chooses the lane of a record whose time is before the end of the current lane. */
static struct bin *change_lane(struct perf_walk *walk, nstime time)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < walk->now.nlanes_used; i++) {
		nstime end = walk->bins[2 * i].end;
		if (end <= time && (best == SIZE_MAX || end > walk->bins[2 * best].end))
			best = i;
	}
	if (best == SIZE_MAX && walk->now.nlanes_used < walk->places)
		best = walk->now.nlanes_used++;
	if (best != SIZE_MAX)
		walk->now.lane = best;
	return &walk->bins[2 * walk->now.lane];
}

static struct bin *lane_of(struct perf_walk *walk, const struct record_view *view)
{
	struct bin *bin = &walk->bins[2 * walk->now.lane];

	if (view->attr->backward)
		return &walk->bins[1];
	if (view->time < bin->end)
		bin = change_lane(walk, view->time);
	if (view->time > bin->end)
		bin->end = view->time;
	return bin;
}

static struct bin *bin_of(struct perf_walk *walk, const struct record_view *view, uint64_t off)
{
	if (!view->has_time)
		return side_bin(walk, true);
	if (!walk->part->by_cpu)
		return lane_of(walk, view);
	if (view->cpu >= 0 && (size_t)view->cpu < walk->places)
		return &walk->bins[2 * (size_t)view->cpu + view->attr->backward];
	if (view->cpu >= 0)
		note_damage(walk, off, "names CPU %d, which the recording does not know",
			    view->cpu);
	return side_bin(walk, false);
}

/*
 * In files without id trailers, most records other than samples have no time: they get that of the
 * last record with a time. Each is a packet of its own, whose time range gives the decoder the
 * time.
 */
static bool has_place(const struct perf_walk *walk, const struct record_view *view, uint32_t type)
{
	return type != PERF_SAMPLE && !(view->attr->flags & ATTR_SAMPLE_ID_ALL) &&
	       walk->now.time != NSTIME_MIN;
}

static inline void note_change(struct perf_walk *walk, const uint8_t *p, uint32_t type,
			       uint32_t size, const struct record_view *view, uint64_t off)
{
	if (perf_may_change_maps(type))
		perf_changes_note(walk->changes, walk->part, p, size, view,
				  perf_place(walk->part, walk->now.source, off));
}

/* Notes what a record with a time says of a thread, to compare later turns' records without one. */
static inline void note_told(struct perf_walk *walk, const uint8_t *p, uint32_t type, uint32_t size)
{
	if (type == PERF_COMM || type == PERF_FORK || type == PERF_EXIT)
		(void)perf_told_again(walk->told, p, size, walk->part->swap, true);
}

/* Handles any kernel record, off the fast path. */
static __attribute__((noinline)) void take_any(struct perf_walk *walk, const uint8_t *p,
					       uint32_t type, uint32_t size, uint64_t off)
{
	struct record_view view;

	if (!record_view_any(walk->part, p, type, size, &view)) {
		note_damage(walk, off, "%s",
			    view.attr ? "is too short" : "is of an event without attribute");
		return;
	}
	if (walk->told && perf_told_again(walk->told, p, size, walk->part->swap, view.has_time)) {
		if (type != PERF_FORK)
			note_change(walk, p, type, size, &view, off);
		return;
	}
	note_change(walk, p, type, size, &view, off);
	bool placed = !view.has_time && has_place(walk, &view, type);
	struct bin *bin = placed ? side_bin(walk, false) : bin_of(walk, &view, off);
	/* the kernel writes LOST in front of the first record after the loss */
	bool lost = type == PERF_LOST && size >= 24;
	if (lost || placed)
		flush(walk, bin, false);
	if (view.has_time)
		walk->now.time = view.time;
	add_record(walk, bin, view.has_time || placed ? walk->now.time : NSTIME_MIN, off, size);
	if (lost)
		bin->rec.lost = get64(p + 16, walk->part->swap);
	if (placed)
		flush(walk, bin, false);
}

/*
 * Fast path: views a plain record with time and CPU other than LOST. False: call take_any().
 */
static inline bool look_plain(const struct perf_walk *walk, const uint8_t *p, uint32_t type,
			      uint32_t size, struct record_view *view)
{
	return type != PERF_LOST && record_view_fixed(walk->part, p, type, size, view) &&
	       (size_t)(uint32_t)view->cpu < walk->places;
}

static inline struct bin *plain_bin(const struct perf_walk *walk, const struct record_view *view)
{
	return &walk->bins[2 * (size_t)view->cpu + view->attr->backward];
}

/*
 * Adds the plain records that follow the latest one as long as they go to the same bin in order of
 * time. Most do, as ring buffers are copied piecewise. Returns their bytes, at most `room`.
 */
static uint64_t take_followers(struct perf_walk *walk, const uint8_t *p, uint64_t room,
			       uint64_t off)
{
	struct bin *bin = walk->latest;
	const bool swap = walk->part->swap;
	uint64_t left = walk->packet_bytes > bin->bytes ? walk->packet_bytes - bin->bytes : 0;
	uint64_t most = room < left ? room : left, at = 0;
	nstime last = bin->last;
	uint32_t events = 0;

	while (most - at >= RECORD_HEAD) {
		uint32_t type = get32(p + at, swap), size = get16(p + at + 6, swap);
		struct record_view view;
		__builtin_prefetch(p + at + PERF_AHEAD);
		if (type - 1 >= PERF_KNOWN_TYPES - 1 || size < RECORD_HEAD || size > most - at ||
		    !look_plain(walk, p + at, type, size, &view) || plain_bin(walk, &view) != bin ||
		    view.time < last)
			break;
		if (walk->told)
			note_told(walk, p + at, type, size);
		note_change(walk, p + at, type, size, &view, off + at);
		last = view.time;
		at += size;
		events++;
	}
	bin->rose |= last > bin->last;
	bin->last = walk->now.time = last;
	bin->rec.max = last > bin->rec.max ? last : bin->rec.max;
	bin->rec.events += events;
	bin->bytes += at;
	bin->next += at;
	bin->extents[bin->nextents - 1].len += at;
	return at;
}

/* Adds a kernel record and its followers. Returns their bytes, at most `room`. */
static inline uint64_t take_record(struct perf_walk *walk, const uint8_t *p, uint32_t type,
				   uint32_t size, uint64_t room, uint64_t off)
{
	struct record_view view;

	if (__builtin_expect(!look_plain(walk, p, type, size, &view), 0)) {
		take_any(walk, p, type, size, off);
		return size;
	}
	if (walk->told)
		note_told(walk, p, type, size);
	note_change(walk, p, type, size, &view, off);
	add_record(walk, plain_bin(walk, &view), view.time, off, size);
	return size + take_followers(walk, p + size, room - size, off + size);
}

/*
 * A round copies the content that each ring buffer has at that moment. So records of the next round
 * are not older than the latest record of the round before this one.
 */
static void end_round(struct perf_walk *walk)
{
	nstime latest = walk->now.round;

	for (size_t i = 0; i < walk->nbins; i++)
		if (walk->bins[i].rec.events && walk->bins[i].rec.max > latest)
			latest = walk->bins[i].rec.max;
	walk->now.final = walk->now.round;
	walk->now.round = latest > walk->now.flushed ? latest : walk->now.flushed;
}

/*
 * Walks the records of one window. Returns the bytes walked; the rest is a record that crosses the
 * window's end, or damage. The result exceeds `size` if bytes behind a record do.
 */
static uint64_t walk_window(struct perf_walk *walk, const uint8_t *data, uint64_t size)
{
	const bool swap = walk->part->swap;
	uint64_t at = 0;

	while (size - at >= RECORD_HEAD) {
		const uint8_t *p = data + at;
		uint32_t type = get32(p, swap), bytes = get16(p + 6, swap);
		uint64_t off = walk->now.off + at;
		__builtin_prefetch(p + PERF_AHEAD);
		if (__builtin_expect(type == PERF_COMPRESSED2, 0) && size - at >= 16) {
			uint64_t left = walk->part->sources[walk->now.source].end - off;
			uint64_t wrapped = perf_wrapped_bytes(p, left, swap);
			at += wrapped;
			if (at > size)
				break;
			if (wrapped)
				continue;
		}
		if (bytes < RECORD_HEAD || bytes > size - at)
			break;
		if (__builtin_expect(type - 1 < PERF_KNOWN_TYPES - 1, 1)) {
			at += take_record(walk, p, type, bytes, size - at, off);
			continue;
		}
		if (!perf_is_tools(type))
			note_unread(walk, type, off);
		if (type - 1 < PERF_KERNEL_TYPES - 1) {
			take_any(walk, p, type, bytes, off);
			at += bytes;
			continue;
		}
		uint64_t extra = bytes >= 16 ? perf_extra(p, type, bytes, swap) : 0;
		if (extra > walk->part->sources[walk->now.source].end - off - bytes)
			break;
		if (type == PERF_HEADER_BUILD_ID)
			perf_changes_note_build_id(walk->changes, bytes,
						   perf_place(walk->part, walk->now.source, off));
		if (type == PERF_FINISHED_ROUND)
			end_round(walk);
		if (bytes <= GAP && !extra && walk->latest && walk->latest->next == off)
			walk->latest->next += bytes; /* include the mark as a gap */
		at += bytes + extra;                 /* may be beyond the window */
		if (at > size)
			break;
	}
	return at;
}

/* Returns the next offset from `from` on where plausible records begin, or the source's end. */
static uint64_t walk_search(struct perf_walk *walk, uint64_t from)
{
	const struct perf_source *source = &walk->part->sources[walk->now.source];
	struct error ignored;

	while (from < source->end) {
		uint64_t room = source->end - from;
		size_t size = room < WINDOW ? (size_t)room : WINDOW;
		bool last = size == room;
		struct block block;
		if (!source_get(source->source, from, size, &block, &ignored))
			return source->end;
		/*
		 * a chain of records needs room: the last quarter is searched in the next window
		 */
		size_t stop = last ? size : size - size / 4;
		for (size_t i = 0; i < stop; i++)
			if (perf_plausible(walk->part, block.data + i, size - i, last)) {
				source_put(&block);
				return from + i;
			}
		source_put(&block);
		from += stop;
	}
	return source->end;
}

/*
 * A file that may grow ends inside a record: adds the piece to the latest packet, which is OPEN, so
 * that decoding reports it. When the rest is written, the next step makes the packet anew.
 */
static bool take_cut(struct perf_walk *walk, uint64_t off, uint64_t room)
{
	struct bin *bin = walk->latest;

	if (!bin || !bin->rec.events || bin->nextents == PACKET_EXTENTS_MAX)
		return false;
	add_extent(bin, off);
	bin->extents[bin->nextents - 1].len = room;
	bin->cut = true;
	return true;
}

/* At an impossible record: moves to the next good one, and notes the damage. */
static void pass_damage(struct perf_walk *walk, const uint8_t *p, uint64_t room)
{
	struct perf_source *from = &walk->part->sources[walk->now.source];
	uint32_t bytes = room >= RECORD_HEAD ? get16(p + 6, walk->part->swap) : 0;
	uint64_t next = walk_search(walk, walk->now.off + 1), at = walk->now.off;

	walk->now.off = next;
	if (next == from->end && (room < RECORD_HEAD || bytes >= RECORD_HEAD)) {
		if (!from->cut_told && !(from->grows && take_cut(walk, at, room)))
			note_damage(walk, at, "is cut off: the file ends at offset %" PRIu64,
				    from->end);
		return;
	}
	note_damage(walk, at, "%s; records up to offset %" PRIu64 " are lost",
		    bytes < RECORD_HEAD ? "has a size below 8" : "does not fit", next);
}

static void next_source(struct perf_walk *walk)
{
	const struct perf_part *part = walk->part;

	if (perf_may_go_on(part) && is_last_source(walk))
		perf_pause_begin(walk);
	flush_all(walk);
	for (size_t i = 0; i < walk->nbins; i++)
		walk->bins[i].next = UINT64_MAX;
	if (walk->told && (is_last_source(walk) || part->sources[walk->now.source + 1].turn !=
							   part->sources[walk->now.source].turn))
		perf_walk_end_turn(walk);
	walk->now.source++;
	if (walk->now.source < part->nsources)
		walk->now.off = part->sources[walk->now.source].begin;
	if (perf_may_go_on_here(walk))
		perf_pause_begin(walk);
	if (walk->now.source < part->nsources)
		return;
	pthread_mutex_lock(&walk->listing);
	walk->ended = true;
	pthread_mutex_unlock(&walk->listing);
}

/* Does the file end inside the record at p? `room` bytes are left in the file. */
static bool is_cut(const struct perf_walk *walk, const uint8_t *p, uint64_t room)
{
	const bool swap = walk->part->swap;
	uint32_t bytes = room >= RECORD_HEAD ? get16(p + 6, swap) : 0;

	if (room < RECORD_HEAD || bytes > room)
		return true;
	return bytes >= 16 && perf_extra(p, get32(p, swap), bytes, swap) > room - bytes;
}

/*
 * In a decompressed copy: ends the rounds whose marks, in the compressed file, stand up to the
 * current offset. Returns the bytes to the next mark.
 */
static uint64_t end_rounds(struct perf_walk *walk)
{
	uint64_t mark;

	while ((mark = perf_spilled_mark(walk->part, walk->mark)) <= walk->now.off) {
		end_round(walk);
		walk->mark++;
	}
	return mark - walk->now.off;
}

/* Walks one window further. */
static void walk_on(struct perf_walk *walk)
{
	struct perf_source *from = &walk->part->sources[walk->now.source];
	uint64_t room = from->end - walk->now.off;
	uint64_t round = from->spill ? end_rounds(walk) : UINT64_MAX;
	uint64_t most = round < room ? round : room;
	size_t size = most < WINDOW ? (size_t)most : WINDOW;
	struct block block;
	struct error err;

	if (!room) {
		next_source(walk);
		return;
	}
	if (!source_get(from->source, walk->now.off, size, &block, &err)) {
		note_damage(walk, walk->now.off, "cannot be read: %s", err.text);
		next_source(walk);
		return;
	}
	uint64_t done = walk_window(walk, block.data, size);
	walk->now.off += done;
	if (done < size && size == round && round < room)
		walk->mark += !done; /* skip a mark that lies inside a record */
	else if (done < size && size == room && walk->part->trace->grows && from->grows &&
		 is_cut(walk, block.data + done, size - done))
		next_source(walk);
	else if (done < size && (size == room || !done)) /* else a record is cut by the window */
		pass_damage(walk, block.data + done, size - done);
	source_put(&block);
}

static bool found(struct perf_walk *walk, size_t list, uint64_t n, struct packet_info *out,
		  bool *ended)
{
	pthread_mutex_lock(&walk->listing);
	bool there = n < (walk->told ? walk->lists[list].told : walk->lists[list].count);
	*ended = walk->ended;
	if (there) {
		const struct packet_extents *stored = &walk->lists[list].items[n];
		*out = (struct packet_info){.rec = stored->rec,
					    .extents = stored->extents,
					    .nextents = stored->nextents};
	}
	pthread_mutex_unlock(&walk->listing);
	return there;
}

/*
 * Ends the scan of a stream. Before that, the part's first stream returns, as STEP_ERROR, a warning
 * for each kind of unread records, and the damage of the whole walk.
 */
static enum step end_of_stream(struct perf_walk *walk, size_t list, struct scan *scan,
			       struct error *err)
{
	if (walk->part->trace->grows)
		return STEP_END; /* reported when the trace is complete */
	if (!list && scan->priv[1] < walk->unread.count && scan->priv[1] < UINT8_MAX) {
		perf_unread_text(walk->part, &walk->unread.items[scan->priv[1]++], err);
		return STEP_ERROR;
	}
	if (list || !walk->ndamages || scan->priv[0])
		return STEP_END;
	scan->priv[0] = 1;
	*err = walk->damage;
	if (walk->ndamages > 1) {
		size_t len = strlen(err->text);
		snprintf(err->text + len, sizeof err->text - len, " (and %zu more)",
			 walk->ndamages - 1);
	}
	return STEP_ERROR;
}

enum step perf_scan(const struct stream *stream, struct scan *scan, struct packet_info *out,
		    struct error *err)
{
	struct perf_walk *walk = perf_part_of(stream)->walk;
	size_t list = stream->index - walk->first_stream;
	bool ended;

	while (!found(walk, list, scan->emitted, out, &ended)) {
		if (ended)
			return end_of_stream(walk, list, scan, err);
		pthread_mutex_lock(&walk->walking);
		/* another thread may have found it while this one waited for the lock */
		if (!found(walk, list, scan->emitted, out, &ended) && !ended)
			walk_on(walk);
		pthread_mutex_unlock(&walk->walking);
	}
	scan->emitted++;
	scan->source = out->rec.source;
	scan->next = out->rec.off + out->rec.len;
	return STEP_ITEM;
}

static const struct perf_changes *walk_to_end(struct perf_walk *walk, bool deferred)
{
	pthread_mutex_lock(&walk->walking);
	while (!walk->ended)
		walk_on(walk);
	if (deferred)
		perf_changes_sort_deferred(walk->changes);
	pthread_mutex_unlock(&walk->walking);
	return walk->changes;
}

const struct perf_changes *perf_walk_changes(struct perf_walk *walk)
{
	return walk_to_end(walk, false);
}

const struct perf_changes *perf_walk_deferred(struct perf_walk *walk)
{
	return walk_to_end(walk, true);
}

static void bin_init(struct perf_walk *walk, size_t i, uint32_t list, int32_t cpu)
{
	walk->bins[i] = (struct bin){
		.rec = {.cpu = cpu}, .stream = list, .end = NSTIME_MIN, .next = UINT64_MAX};
}

/* `section` is perf's own name for the files of CPUs when it converts to CTF. */
static void add_part_stream(struct perf_part *part, const char *name, const char *section,
			    int32_t cpu)
{
	struct stream *stream = trace_add_stream(part->trace, part->part, name);

	stream->section = section;
	stream->cpu = cpu;
	stream->clock = part->clock;
	stream->has_time = true;
	stream->late_events = true;
	stream->lost_kind = LOST_COUNT_BEFORE; /* a packet is cut at each loss */
	stream->lost_bits = 64;
	stream->sources = part->stream_sources;
	stream->nsources = (uint32_t)part->nsources;
	stream->head_bytes = part->pipe ? 0 : FILE_HEAD;
	for (size_t i = 0; i < part->nsources; i++)
		stream->bytes += source_size(part->sources[i].source);
	stream->priv = part;
}

static struct perf_walk *walk_new(struct perf_part *part, size_t places)
{
	struct perf_walk *walk = mem_new(sizeof *walk);

	walk->part = part;
	walk->packet_bytes = part->trace->packet_bytes ? part->trace->packet_bytes : PACKET_BYTES;
	walk->first_stream = (uint32_t)part->trace->nstreams;
	walk->places = places;
	walk->nbins = 2 * places + 2;
	walk->bins = mem_new_array(walk->nbins, sizeof *walk->bins);
	walk->nlists = places + 1;
	walk->lists = mem_new_array(walk->nlists, sizeof *walk->lists);
	walk->now.nlanes_used = 1;
	walk->now.time = walk->now.round = walk->now.final = walk->now.flushed = walk->now.reached =
		NSTIME_MIN;
	walk->told = part->nturns ? perf_told_new() : NULL;
	walk->store = perf_store_new();
	walk->changes = perf_changes_new(walk->store);
	walk->now.off = part->sources[0].begin;
	pthread_mutex_init(&walk->walking, NULL);
	pthread_mutex_init(&walk->listing, NULL);
	return walk;
}

void perf_walk_free(struct perf_walk *walk)
{
	if (!walk)
		return;
	perf_pause_end(walk);
	perf_told_free(walk->told);
	perf_bins_free(walk->bins, walk->nbins);
	for (size_t i = 0; i < walk->nlists; i++)
		if (walk->part->trace->grows)
			paged_free(&walk->lists[i].memory);
		else
			mem_free(walk->lists[i].items);
	pthread_mutex_destroy(&walk->walking);
	pthread_mutex_destroy(&walk->listing);
	perf_changes_free(walk->changes);
	perf_store_free(walk->store);
	mem_free(walk->lists);
	mem_free(walk->unread.items);
	mem_free(walk);
}

void perf_add_streams(struct perf_part *part)
{
	size_t lanes = !part->nbuffers               ? 1
		       : part->nbuffers > LANES_MOST ? LANES_MOST
						     : part->nbuffers;
	size_t places = part->by_cpu ? (size_t)(part->most_cpu + 1) : lanes;
	struct arena *arena = part->trace->arena;

	part->stream_sources = arena_array(arena, part->nsources, sizeof *part->stream_sources);
	for (size_t i = 0; i < part->nsources; i++)
		part->stream_sources[i] = part->sources[i].source;
	part->walk = walk_new(part, places);
	for (uint32_t i = 0; i < places; i++) {
		int32_t cpu = part->by_cpu ? (int32_t)i : -1;
		bin_init(part->walk, 2 * i, i, cpu);
		bin_init(part->walk, 2 * i + 1, i, cpu);
		part->walk->bins[2 * i + 1].backward = true;
		add_part_stream(part, arena_printf(arena, part->by_cpu ? "cpu%u" : "lane%u", i),
				"perf_stream", cpu);
	}
	bin_init(part->walk, 2 * places, (uint32_t)places, -1);
	bin_init(part->walk, 2 * places + 1, (uint32_t)places, -1);
	side_bin(part->walk, true)->timeless = true;
	add_part_stream(part, "side", "side", -1);
	perf_walk_go_on(part->walk);
}
