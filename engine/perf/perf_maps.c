/*
 * perf_maps.c - changes of address spaces in order of time; deferred parts of call chains by cookie
 *
 * The walk stores time and place of each record that changes an address space: 16 bytes, in the
 * order of the walk. The first query of maps sorts them and reads the records again. A map without
 * build id gets that of its file from the build-id records, which recorders write at the end.
 *
 * A record is identified by its place (perf_place()) and, in the lower 16 bits, its size.
 */
#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/base/search.h"
#include "engine/perf/record_view.h"

#include <sys/mman.h>

enum { RUN_CHANGES = 2048, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, HINT_AHEAD = 8 };
enum { DEFERRED_HEAD = RECORD_HEAD + 16 /* cookie, number of addresses */ };

struct map_change {
	uint64_t key; /* the time, as an unsigned number in the same order; 0: from the start */
	uint64_t record;
};

struct change_run {
	struct change_run *next;
	size_t count;
	struct map_change items[RUN_CHANGES];
};

struct run_list {
	struct change_run *first, *last;
	size_t count;
};

struct perf_changes {
	struct perf_store *store;
	struct run_list maps;
	struct run_list deferred;  /* deferred parts of call chains; keys are their cookies */
	struct map_change *sorted; /* `deferred` sorted by key, made by the first lookup */
	uint64_t *build_ids;       /* build-id records */
	size_t nbuild_ids, build_ids_capacity;
};

/* Noting -------------------------------------------------------------------------------------- */

struct perf_changes *perf_changes_new(struct perf_store *store)
{
	struct perf_changes *changes = mem_new(sizeof *changes);

	changes->store = store;
	return changes;
}

struct perf_changes_mark perf_changes_mark(const struct perf_changes *changes)
{
	return (struct perf_changes_mark){changes->maps.count, changes->deferred.count,
					  changes->nbuild_ids};
}

/* Cuts the list to `count` items; empty runs behind them stay, to be filled again. */
static void cut_list(struct run_list *list, size_t count)
{
	size_t left = list->count = count;

	list->last = list->first;
	for (struct change_run *run = list->first; run; run = run->next) {
		run->count = run->count < left ? run->count : left;
		left -= run->count;
		if (run->count)
			list->last = run;
	}
}

void perf_changes_go_on(struct perf_changes *changes, const struct perf_changes_mark *mark)
{
	if (mark->maps < changes->maps.count)
		cut_list(&changes->maps, mark->maps);
	if (mark->deferred < changes->deferred.count)
		cut_list(&changes->deferred, mark->deferred);
	changes->nbuild_ids = mark->build_ids;
	mem_free(changes->sorted);
	changes->sorted = NULL;
}

void perf_changes_free(struct perf_changes *changes)
{
	if (!changes)
		return;
	mem_free(changes->build_ids);
	mem_free(changes->sorted);
	mem_free(changes);
}

static uint64_t perf_maps_key_of(nstime t)
{
	return (uint64_t)t ^ UINT64_C(1) << 63; /* NSTIME_MIN: 0 */
}

static nstime time_of(uint64_t key)
{
	return (nstime)(key ^ UINT64_C(1) << 63);
}

static bool changes_maps(const struct perf_part *part, const uint8_t *p, uint32_t size)
{
	switch (get32(p, part->swap)) {
	case PERF_MMAP:
		return size >= 40;
	case PERF_MMAP2:
		return size >= 72;
	case PERF_FORK:
		return size >= 32 && !(get16(p + 4, part->swap) & MISC_COMM_EXEC) &&
		       get32(p + 8, part->swap) != get32(p + 12, part->swap);
	case PERF_COMM:
		return size >= 16 && get16(p + 4, part->swap) & MISC_COMM_EXEC;
	case PERF_KSYMBOL:
		return size >= 24;
	default:
		return false;
	}
}

static void add_change(struct perf_store *store, struct run_list *list, struct map_change change)
{
	struct change_run *run = list->last;

	if (run && run->count == RUN_CHANGES && run->next) {
		list->last = run = run->next; /* cut_list() left it */
	} else if (!run || run->count == RUN_CHANGES) {
		run = perf_store_take(store, sizeof *run);
		run->next = NULL;
		run->count = 0;
		if (list->last)
			list->last->next = run;
		else
			list->first = run;
		list->last = run;
	}
	run->items[run->count++] = change;
	list->count++;
}

void perf_changes_note(struct perf_changes *changes, const struct perf_part *part, const uint8_t *p,
		       uint32_t size, const struct record_view *view, uint64_t place)
{
	const uint64_t record = place << 16 | size;
	nstime time = view->has_time ? view->time : NSTIME_MIN;

	if (get32(p, part->swap) == PERF_CALLCHAIN_DEFERRED) {
		if (size >= DEFERRED_HEAD)
			add_change(changes->store, &changes->deferred,
				   (struct map_change){get64(p + RECORD_HEAD, part->swap), record});
	} else if (changes_maps(part, p, size)) {
		add_change(changes->store, &changes->maps,
			   (struct map_change){perf_maps_key_of(time), record});
	}
}

void perf_changes_note_build_id(struct perf_changes *changes, uint32_t size, uint64_t place)
{
	*mem_push(changes->build_ids, changes->nbuild_ids, changes->build_ids_capacity) =
		place << 16 | size;
}

size_t perf_changes_count(const struct perf_changes *changes)
{
	return changes->maps.count;
}

void perf_changes_date(struct perf_changes *changes, size_t first, nstime from)
{
	size_t before = 0;

	for (struct change_run *run = changes->maps.first; run; run = run->next) {
		for (size_t i = first > before ? first - before : 0; i < run->count; i++)
			if (!run->items[i].key)
				run->items[i].key = perf_maps_key_of(from);
		before += run->count;
	}
}

/* Adds the changes in front of the first sample. */
static void note_front(const struct perf_part *part, struct perf_changes *out)
{
	struct perf_iter iter;
	struct perf_record rec;
	struct record_view view;
	struct error ignored; /* the walk reports it */
	enum step step;

	perf_iter_begin(&iter, part);
	while ((step = perf_iter_next(&iter, &rec, &ignored)) != STEP_END) {
		if (step == STEP_ERROR)
			continue;
		uint64_t place = perf_place(part, rec.source, rec.off);
		if (rec.type == PERF_SAMPLE || rec.type == PERF_COMPRESSED ||
		    rec.type == PERF_COMPRESSED2)
			break;
		if (rec.type == PERF_HEADER_BUILD_ID)
			perf_changes_note_build_id(out, rec.size, place);
		else if (record_view_of(part, rec.bytes, rec.type, rec.size, &view))
			perf_changes_note(out, part, rec.bytes, rec.size, &view, place);
	}
	perf_iter_end(&iter);
}

/* Sorting ------------------------------------------------------------------------------------- */

/* One pass of a radix sort: changes of equal digits keep their order. */
static void sort_digit(const struct map_change *from, struct map_change *to, size_t count,
		       uint64_t least, unsigned shift)
{
	size_t places[DIGITS] = {0}, sum = 0;

	for (size_t i = 0; i < count; i++)
		places[(from[i].key - least) >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t n = places[i];
		places[i] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[places[(from[i].key - least) >> shift & (DIGITS - 1)]++] = from[i];
}

/*
 * Insertion sort, for recordings of few CPUs, where nearly all changes are in order. False: too
 * many must move too far; changes of equal times are still in their order.
 */
static bool sort_near(struct map_change *items, size_t count)
{
	size_t moves = 4 * count;

	for (size_t i = 1; i < count; i++) {
		struct map_change change = items[i];
		size_t at = i;
		for (; at && items[at - 1].key > change.key && moves; at--, moves--)
			items[at] = items[at - 1];
		items[at] = change;
		if (!moves)
			return false;
	}
	return true;
}

/* Sorts; returns the array, or frees it and returns another one. */
static struct map_change *sort(struct map_change *items, size_t count)
{
	uint64_t least = UINT64_MAX, most = 0;

	if (sort_near(items, count))
		return items;
	struct map_change *other = mem_new_array(count, sizeof *other);

	for (size_t i = 0; i < count; i++) {
		least = items[i].key < least ? items[i].key : least;
		most = items[i].key > most ? items[i].key : most;
	}
	for (unsigned shift = 0; count && shift < 64 && (most - least) >> shift;
	     shift += DIGIT_BITS) {
		struct map_change *from = items;
		sort_digit(from, other, count, least, shift);
		items = other;
		other = from;
	}
	mem_free(other);
	return items;
}

/* Returns the changes with a time, or those without, by time and then in the walk's order. The
   caller frees the array. */
static struct map_change *pick(const struct perf_changes *changes, bool timed, size_t *count)
{
	struct map_change *items = mem_new_array(changes->maps.count, sizeof *items);

	*count = 0;
	for (const struct change_run *run = changes->maps.first; run; run = run->next)
		for (size_t i = 0; i < run->count; i++)
			if (timed == (run->items[i].key != 0))
				items[(*count)++] = run->items[i];
	return timed ? sort(items, *count) : items;
}

/* Build ids by name --------------------------------------------------------------------------- */

struct named_ids {
	struct nameset numbers;           /* name → index in `ids` */
	const struct perf_build_id **ids; /* the first of each name */
	size_t count;
	struct perf_build_id *own; /* of a pipe's records */
};

static void perf_maps_add_named(struct named_ids *ids, const struct perf_build_id *items,
				size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (nameset_add(&ids->numbers, items[i].name, (uint32_t)ids->count))
			ids->ids[ids->count++] = &items[i];
}

/* Reading ------------------------------------------------------------------------------------- */

struct map_reader {
	const struct perf_part *part;
	const struct perf_changes *changes;
	void (*each)(void *arg, const struct map_event *event);
	void *arg;
	struct arena *arena;
	struct named_ids ids;
	uint8_t *record; /* RECORD_MOST bytes and a zero */
};

static const struct perf_source *find_record(const struct perf_part *part, uint64_t record,
					     uint64_t *off)
{
	uint64_t place = record >> 16;
	uint32_t i = 0;

	for (; i + 1 < part->nsources && place >= perf_room(part, i); i++)
		place -= perf_room(part, i);
	*off = part->sources[i].begin + place;
	return &part->sources[i];
}

static bool read_record(const struct map_reader *telling, uint64_t record, struct error *err)
{
	size_t size = record & 0xffff;
	uint64_t off;
	const struct perf_source *source = find_record(telling->part, record, &off);

	telling->record[size] = 0;
	return source_peek(source->source, off, telling->record, size, err);
}

/* Prefetches a record: in order of time, records lie far from each other. */
static void hint_record(const struct map_reader *telling, uint64_t record)
{
	uint64_t off;
	const struct perf_source *source = find_record(telling->part, record, &off);

	source_hint(source->source, off);
	source_hint(source->source, off + 64);
}

static bool name_ids(struct map_reader *telling, struct error *err)
{
	const struct perf_part *part = telling->part;
	const struct perf_changes *changes = telling->changes;
	struct named_ids *ids = &telling->ids;
	size_t nown = 0;

	ids->own = mem_new_array(changes->nbuild_ids, sizeof *ids->own);
	for (size_t i = 0; i < changes->nbuild_ids; i++) {
		if (!read_record(telling, changes->build_ids[i], err))
			return false;
		nown += perf_read_build_id(part, telling->record,
					   get16(telling->record + 6, part->swap), telling->arena,
					   &ids->own[nown]);
	}
	ids->ids = mem_new_array(part->nbuild_ids + nown, sizeof(struct perf_build_id *));
	perf_maps_add_named(ids, part->build_ids, part->nbuild_ids);
	perf_maps_add_named(ids, ids->own, nown);
	return true;
}

static int64_t pid_at(const uint8_t *p, bool swap)
{
	return (int32_t)get32(p, swap);
}

/* Returns the text at p[at], which ends at a zero, the id trailer or the record's end. */
static const char *text_at(const uint8_t *p, uint32_t at)
{
	return (const char *)p + at;
}

static void fill_map(const struct map_reader *telling, uint32_t type, struct map_event *out)
{
	const bool swap = telling->part->swap;
	const uint8_t *p = telling->record;

	out->kind = MAP_ADD;
	out->start = get64(p + 16, swap);
	out->len = get64(p + 24, swap);
	out->file_offset = get64(p + 32, swap);
	out->name = text_at(p, type == PERF_MMAP2 ? 72 : 40);
	out->data = type == PERF_MMAP2 ? !(get32(p + 64, swap) & PROT_EXEC)
				       : get16(p + 4, swap) & MISC_MMAP_DATA;
	if (type == PERF_MMAP2 && get16(p + 4, swap) & MISC_MMAP_BUILD_ID) {
		out->nbuild_id = p[40] < 20 ? p[40] : 20;
		out->build_id = p + 44;
		return;
	}
	uint32_t at;
	if (nameset_find(&telling->ids.numbers, out->name, &at)) {
		const struct perf_build_id *id = telling->ids.ids[at];
		out->build_id = id->id;
		out->nbuild_id = id->size;
	}
}

static void fill_event(const struct map_reader *telling, struct map_event *out)
{
	const bool swap = telling->part->swap;
	const uint8_t *p = telling->record;
	uint32_t type = get32(p, swap);

	out->pid = pid_at(p + 8, swap);
	out->parent = -1;
	switch (type) {
	case PERF_FORK:
		out->kind = MAP_FORK;
		out->parent = pid_at(p + 12, swap);
		break;
	case PERF_COMM:
		out->kind = MAP_EXEC;
		break;
	case PERF_KSYMBOL:
		out->kind = MAP_KERNEL_SYMBOL;
		out->pid = -1;
		out->start = get64(p + 8, swap);
		out->len = get16(p + 22, swap) & 1 ? 0 : get32(p + 16, swap); /* 1: unregistered */
		out->name = text_at(p, 24);
		break;
	default:
		fill_map(telling, type, out);
		break;
	}
}

static bool tell_changes(const struct map_reader *telling, bool timed, struct error *err)
{
	size_t count;
	struct map_change *items = pick(telling->changes, timed, &count);
	bool ok = true;

	for (size_t i = 0; ok && i < count; i++) {
		struct map_event event = {.t = time_of(items[i].key)};
		if (i + HINT_AHEAD < count)
			hint_record(telling, items[i + HINT_AHEAD].record);
		ok = read_record(telling, items[i].record, err);
		if (!ok)
			break;
		fill_event(telling, &event);
		telling->each(telling->arg, &event);
	}
	mem_free(items);
	return ok;
}

static bool tell_all(const struct perf_part *part, const struct perf_changes *changes, bool timed,
		     void (*each)(void *arg, const struct map_event *event), void *arg,
		     struct error *err)
{
	struct map_reader telling = {.part = part, .changes = changes, .each = each, .arg = arg};

	telling.arena = arena_new();
	telling.record = mem_new(RECORD_MOST + 1);
	bool ok = name_ids(&telling, err) && tell_changes(&telling, false, err) &&
		  (!timed || tell_changes(&telling, true, err));
	nameset_release(&telling.ids.numbers);
	mem_free(telling.ids.ids);
	mem_free(telling.ids.own);
	mem_free(telling.record);
	arena_free(telling.arena);
	return ok;
}

bool perf_maps(const struct part *part, void (*each)(void *arg, const struct map_event *event),
	       void *arg, struct error *err)
{
	const struct perf_part *perf = part->priv;

	return tell_all(perf, perf_walk_changes(perf->walk), true, each, arg, err);
}

/* With --tail-synthesize perf writes these records at the end. */
bool perf_first_maps(const struct part *part,
		     void (*each)(void *arg, const struct map_event *event), void *arg,
		     struct error *err)
{
	const struct perf_part *perf = part->priv;
	struct perf_store *store = perf_store_new();
	struct perf_changes *front = perf_changes_new(store);

	note_front(perf, front);
	bool ok = tell_all(perf, front->maps.count ? front : perf_walk_changes(perf->walk), false,
			   each, arg, err);
	perf_changes_free(front);
	perf_store_free(store);
	return ok;
}

/* Deferred parts of call chains --------------------------------------------------------------- */

void perf_changes_sort_deferred(struct perf_changes *changes)
{
	const size_t count = changes->deferred.count;
	size_t n = 0;

	if (changes->sorted || !count)
		return;
	struct map_change *items = mem_new_array(count, sizeof *items);
	for (const struct change_run *run = changes->deferred.first; run; run = run->next)
		for (size_t i = 0; i < run->count; i++)
			items[n++] = run->items[i];
	changes->sorted = sort(items, n);
}

/* Reads thread and time of a deferred part from its id trailer; false: it lacks them. */
static bool deferred_by(const struct perf_part *part, const uint8_t *record, uint32_t size,
			int64_t *tid, nstime *t)
{
	struct record_view view;

	if (!record_view_of(part, record, PERF_CALLCHAIN_DEFERRED, size, &view) || !view.has_time)
		return false;
	uint32_t trailer = perf_trailer_bytes(view.attr);
	if (!trailer || !(view.attr->sample_type & SAMPLE_TID) || trailer + DEFERRED_HEAD > size)
		return false;
	*tid = (int32_t)get32(record + size - trailer + 4,
			      part->swap); /* TID is first in the trailer */
	*t = view.time;
	return true;
}

/* Finds the first deferred part with the cookie that the thread wrote at or after `t`. */
static bool find_deferred(const struct perf_part *part, const struct perf_changes *changes,
			  uint64_t cookie, nstime t, int64_t tid, uint8_t *record)
{
	const size_t count = changes->deferred.count;
	const struct map_change *items = changes->sorted;
	uint64_t found = 0, off;
	nstime best = NSTIME_MAX;
	struct error ignored;

	for (size_t i = search_first(k, 0, count, items[k].key < cookie);
	     i < count && items[i].key == cookie; i++) {
		const struct perf_source *source = find_record(part, items[i].record, &off);
		uint32_t size = items[i].record & 0xffff;
		int64_t by;
		nstime at;
		if (source_peek(source->source, off, record, size, &ignored) &&
		    deferred_by(part, record, size, &by, &at) && by == tid && at >= t &&
		    at < best) {
			best = at;
			found = items[i].record;
		}
	}
	if (best == NSTIME_MAX)
		return false;
	const struct perf_source *source = find_record(part, found, &off);
	return source_peek(source->source, off, record, found & 0xffff, &ignored);
}

void perf_deferred(const struct part *part, nstime t, int64_t tid, uint64_t cookie, struct buf *out)
{
	const struct perf_part *perf = part->priv;
	const struct perf_changes *changes = perf_walk_deferred(perf->walk);
	uint8_t *record = changes->sorted ? mem_new(RECORD_MOST + 1) : NULL;

	if (record && find_deferred(perf, changes, cookie, t, tid, record)) {
		uint32_t size = get16(record + 6, perf->swap);
		uint64_t n = get64(record + RECORD_HEAD + 8, perf->swap);
		for (uint64_t i = 0; i < n && i < (size - DEFERRED_HEAD) / 8u; i++) {
			uint64_t value = get64(record + DEFERRED_HEAD + i * 8, perf->swap);
			buf_add(out, &value, sizeof value);
		}
	}
	mem_free(record);
}

void perf_set_resolver(struct part *part, kernel_resolver *resolver, void *arg)
{
	struct perf_part *perf = part->priv;

	if (perf->tracing)
		tracing_set_resolver(perf->tracing, resolver, arg);
}
