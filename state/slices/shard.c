/* shard.c - see shard.h */
#include "state/slices/shard.h"
#include "engine/base/mem.h"
#include "state/slices/names.h"

#include <string.h>

static bool shard_damaged(struct error *err, const char *what)
{
	return error_set(err, ERR_FORMAT, "timelines: %s", what);
}

static bool load_records(struct shard *shard, uint32_t slices, struct error *err)
{
	size_t capacity = 0;
	nstime reach = NSTIME_MAX;
	struct name_key key;
	struct bytes value;

	while (shard->nslices < slices) {
		struct slice_record *record;

		if (!store_get(shard->txn, name_key_record(&key, shard->nslices), &value))
			break;
		if (value.size != sizeof *record)
			return shard_damaged(err, "a record has the wrong size");
		shard->records =
			mem_grow(shard->records, shard->nslices, &capacity, sizeof *record);
		record = &shard->records[shard->nslices];
		memcpy(record, value.data, sizeof *record);
		if (record->end < record->begin ||
		    (shard->nslices && record->begin <= record[-1].end))
			return shard_damaged(err, "records are out of order");
		shard->nslices++;
	}
	if (slices != UINT32_MAX && shard->nslices != slices)
		return shard_damaged(err, "slices are missing");
	shard->reach = mem_new_array((size_t)shard->nslices + 1, sizeof *shard->reach);
	for (uint32_t i = shard->nslices; i-- > 0;) {
		if (shard->records[i].least_from < reach)
			reach = shard->records[i].least_from;
		shard->reach[i] = reach;
	}
	shard->reach[shard->nslices] = NSTIME_MAX;
	return true;
}

bool shard_open(struct store *store, uint32_t slices, struct attrs *attrs, struct shard **out,
		struct error *err)
{
	return shard_open_held(store, NULL, slices, attrs, out, err);
}

bool shard_open_held(struct store *store, struct store_txn *txn, uint32_t slices,
		     struct attrs *attrs, struct shard **out, struct error *err)
{
	struct shard *shard = mem_new(sizeof *shard);
	bool ok;

	shard->held = txn;
	shard->store = store;
	shard->numbers = numbers_new(attrs);
	shard->slice_number = UINT32_MAX;
	ok = shard_begin(shard, err);
	if (ok) {
		ok = load_records(shard, slices, err) && shard_names_load(shard, err);
		if (!shard_end(shard))
			ok = shard_damaged(err, "a checksum is wrong");
	}
	if (ok)
		*out = shard;
	else
		shard_close(shard);
	return ok;
}

void shard_close(struct shard *shard)
{
	if (!shard)
		return;
	numbers_free(shard->numbers);
	mem_free(shard->attrs_of.items);
	shard_side_release(shard);
	mem_free(shard->records);
	mem_free(shard->reach);
	mem_free(shard);
}

bool shard_begin(struct shard *shard, struct error *err)
{
	shard->txn = shard->held;
	if (!shard->held && !store_read(shard->store, &shard->txn, err))
		return false;
	shard->numbers->txn = shard->txn;
	return true;
}

bool shard_end(struct shard *shard)
{
	bool sound = store_sound(shard->txn) && !shard->damaged;

	if (!shard->held)
		store_read_end(shard->txn);
	shard->txn = shard->numbers->txn = NULL;
	shard->slice_number = UINT32_MAX;
	return sound;
}

uint32_t shard_slice_at(const struct shard *shard, nstime t)
{
	return (uint32_t)nstime_last(shard->records, shard->nslices, sizeof *shard->records, t);
}

const struct slice *shard_slice(struct shard *shard, uint32_t slice)
{
	struct error ignored;
	struct name_key key;
	struct bytes value;

	if (shard->slice_number == slice)
		return &shard->slice;
	shard->slice_number = UINT32_MAX;
	if (store_get(shard->txn, name_key_data(&key, slice, PART_SLICE), &value) &&
	    slice_open(value.data, value.size, &shard->damaged, &shard->slice, &ignored) &&
	    shard->slice.number == slice && shard->slice.begin == shard->records[slice].begin) {
		shard->slice_number = slice;
		return &shard->slice;
	}
	shard->damaged = true;
	return NULL;
}

/* The slice that has t; NULL: there is none, or damage. */
static const struct slice *slice_with(struct shard *shard, nstime t)
{
	return shard->nslices ? shard_slice(shard, shard_slice_at(shard, t)) : NULL;
}

bool shard_dominant(struct shard *shard, uint32_t slice, struct dominant *out)
{
	struct name_key key;
	struct bytes value;

	return store_get(shard->txn, name_key_data(&key, slice, PART_DOMINANT), &value) &&
	       dominant_open(value, out);
}

/* ---- one number ---- */

nstime shard_tick_since(const struct slice *slice, uint32_t number, uint32_t tick)
{
	struct slice_fill fill;

	if (slice->fills.count && slice_fill(slice, number, tick, &fill) && fill.tick == tick &&
	    fill.final)
		return fill.from;
	return slice_tick_time(slice, tick);
}

/* The last change up to t in this slice. */
static bool change_in(const struct slice *slice, uint32_t number, nstime t,
		      struct slice_value *value, nstime *since)
{
	uint32_t tick;

	if (slice->nticks == 0 || t < slice->begin ||
	    !slice_change(slice, number, slice_tick_at(slice, t), value, &tick))
		return false;
	if (since)
		*since = shard_tick_since(slice, number, tick);
	return true;
}

nstime shard_since_before(struct shard *shard, uint32_t number, uint32_t slice, uint64_t age)
{
	const struct slice *read = age > slice ? NULL : shard_slice(shard, slice - (uint32_t)age);
	struct slice_value ignored;
	nstime since = NSTIME_MIN;

	if (!read || !change_in(read, number, NSTIME_MAX, &ignored, &since))
		shard->damaged = true;
	return since;
}

bool shard_at(struct shard *shard, uint32_t number, nstime t, struct slice_value *value,
	      nstime *since)
{
	const struct slice *slice = slice_with(shard, t);
	uint64_t age;

	if (!slice)
		return false;
	if (change_in(slice, number, t, value, since))
		return true;
	if (!slice_before(slice, number, value, &age))
		return false;
	if (since)
		*since = shard_since_before(shard, number, slice->number, age);
	return true;
}

bool shard_row(struct shard *shard, uint32_t number, nstime t, bool back, struct slice_value *value,
	       nstime *out)
{
	const struct slice *slice = slice_with(shard, t);
	uint32_t tick;

	if (!slice || slice->fills.count || !slice->nticks || t < slice->begin ||
	    !slice_row(slice, number, slice_tick_at(slice, t), back, value, &tick))
		return false;
	*out = slice_tick_time(slice, tick);
	return !shard->damaged;
}

bool shard_tombstone_at(struct shard *shard, uint32_t number, nstime t, struct slice_value *value,
			nstime *since)
{
	uint32_t at = shard->nslices ? shard_slice_at(shard, t) + 1 : 0;
	const struct slice *slice;

	if (at && shard_side(shard, at)) {
		const struct side_item *item = side_find(&shard->tombstones, number, t, true);

		if (item) {
			*since = item->at;
			*value = item->fill.value;
		}
		return item != NULL;
	}
	while (at-- > 0 && (slice = shard_slice(shard, at)))
		if (change_in(slice, number, t, value, since))
			return true;
	return false;
}

bool shard_tombstone_next(struct shard *shard, uint32_t number, nstime after, nstime until,
			  nstime *at)
{
	const struct slice *slice;
	struct slice_value ignored;
	uint32_t s, last, tick;

	if (!shard->nslices)
		return false;
	s = shard_slice_at(shard, after);
	last = shard_slice_at(shard, until);
	if (shard_side(shard, last - s + 1)) {
		const struct side_item *item = side_find(&shard->tombstones, number, after, false);

		*at = item ? item->at : after;
		return item && item->at <= until;
	}
	for (; s <= last && (slice = shard_slice(shard, s)); s++)
		if (slice_change_behind(slice, number, after, &ignored, &tick)) {
			*at = slice_tick_time(slice, tick);
			return *at <= until;
		}
	return false;
}

bool shard_reaches(const struct shard *shard, uint32_t slice, nstime t)
{
	return slice < shard->nslices && shard->reach[slice] <= t;
}

bool shard_fill(struct shard *shard, uint32_t number, nstime t, nstime *until,
		struct slice_fill *out)
{
	const struct slice *slice;

	if (shard->side == SIDE_GATHERED) {
		const struct side_item *item = side_find(&shard->fills, number, t, false);

		if (!item || item->fill.from > t)
			return false;
		*until = item->at;
		*out = item->fill;
		return true;
	}
	for (uint32_t at = shard_slice_at(shard, t); shard_reaches(shard, at, t); at++) {
		if (shard->records[at].least_from > t)
			continue;
		shard->steps++;
		slice = shard_slice(shard, at);
		if (!slice)
			return false;
		if (slice_fill(slice, number, slice_tick_behind(slice, t), out)) {
			*until = slice_tick_time(slice, out->tick);
			return out->from <= t;
		}
	}
	return false;
}
