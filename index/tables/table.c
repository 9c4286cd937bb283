/* table.c - see table.h */
#include "index/tables/table.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "index/tables/build.h"
#include "index/tables/far.h"

#include <stdatomic.h>
#include <string.h>

enum {
	SEEN_MAX = 1024,
	REBUILD_MAX = 1 << 20,
	WIDE_MAX = 256,
	NEAR = 64,
	CPUS_LOOKED = 32,
	EXACT = PACKET_EXACT_MIN | PACKET_EXACT_MAX,
	CORRECTIONS_EXACT = 1 << 16, /* right ones are remembered up to so many */
	CORRECTIONS_WRONG = 64       /* more wrong ones: the table is built anew */
};

struct scratch { /* extents of the record that a thread got last */
	struct scratch *next;
	pthread_t owner;
	struct extent *extents;
	uint32_t capacity;
};

struct seen { /* a record of a computed table that was looked at */
	uint64_t i;
	nstime min, max;
};

/* A cache of plain records, i at i % NEAR: searches read the same few records again and again. */
struct near_records {
	uint64_t number[NEAR]; /* 1 + i; 0: none */
	struct packet recs[NEAR];
};

/* The true ranges that decoding found, by record number. */
struct corrections {
	struct correction {
		uint64_t record; /* its number */
		nstime min, max;
	} * items;
	size_t count, capacity, wrong;
	struct hash_index by_record;
};

struct table {
	struct index *index;
	const struct stream *stream;
	struct table *older;
	bool own; /* it belongs to one question, whose corrections are here */
	struct table *base; /* of an own table: the shared one that has the records; or NULL */
	uint32_t base_generation; /* base->generation when this table was made */
	uint64_t id;              /* stored */
	struct stored_table stored;
	/* a read transaction, for as long as the table lives; NULL: none could be begun */
	struct store_txn *txn;
	_Atomic uint64_t count;
	_Atomic(struct record_list *) record_list; /* in memory */
	bool computed;               /* unless in memory */
	_Atomic bool other_cpus;     /* a packet has another CPU than the stream, */
	_Atomic bool cpus_looked;    /* in a computed table: among the records read so far */
	pthread_mutex_t lock;        /* of all below */
	struct reach reach;
	struct corrections corrections;
	uint64_t **wides; /* all lists that table_wide() returned: callers may use older ones */
	size_t nwides, wides_capacity, nwide;
	bool wide_changed;
	struct scratch *scratch;
	struct seen *seen;
	size_t nseen;
	struct near_records *near; /* unless in memory; made when something is got */
	_Atomic uint32_t generation;
};

static struct table *table_new(struct index *index, const struct stream *stream)
{
	struct table *table = mem_new(sizeof *table);

	table->index = index;
	table->stream = stream;
	table->reach.d = REACH_FIRST;
	table->wide_changed = true;
	pthread_mutex_init(&table->lock, NULL);
	return table;
}

/* The table that has the records. */
static struct table *listing(const struct table *table)
{
	return table->base ? table->base : (struct table *)(uintptr_t)table;
}

static void say_damaged(const struct table *table)
{
	notice(&table->index->options.notices, NOTICE_WARNING,
	       "%s: the times of its packets overlap without order, each search reads all of it",
	       table->stream->name);
}

struct table *table_new_stored(struct index *index, const struct stream *stream, uint64_t id,
			       struct stored_table *taken)
{
	struct table *table = table_new(index, stream);
	struct error ignored;

	table->id = id;
	table->stored = *taken;
	*taken = (struct stored_table){0};
	if (!store_read(index->store, &table->txn, &ignored))
		table->txn = NULL;
	table->count = table->stored.head.count;
	table->other_cpus = table->stored.head.flags & TABLE_OTHER_CPUS;
	table->reach = table->stored.reach;
	table->stored.reach = (struct reach){0};
	if (!table->reach.d)
		table->reach.d = REACH_FIRST;
	if (table->reach.damaged)
		say_damaged(table);
	return table;
}

static bool row_at(void *arg, uint64_t i, struct packet *out, struct error *err)
{
	const struct record_list *record_list = arg;

	(void)err;
	*out = record_list->recs[i];
	return true;
}

/* Makes it a table in memory with these rows; takes `reach`, which is of the rows before `from`. */
static void adopt_rows(struct table *table, struct record_list *taken, struct reach reach,
		       uint64_t from)
{
	struct record_list *record_list = mem_new(sizeof *record_list);
	bool was_damaged = reach.damaged;
	struct reach old = table->reach;
	struct error err;

	*record_list = *taken;
	*taken = (struct record_list){0};
	table->other_cpus |= record_list_have_other_cpu(record_list, from, table->stream);
	struct reach_from rows = {row_at, record_list, record_list->count};
	MAY_FAIL(reach_update(&reach, from, &rows, &err));
	table->reach = reach;
	reach_release(&old);
	if (table->reach.damaged && !was_damaged)
		say_damaged(table);
	table->wide_changed = true;
	table->count = record_list->count;
	table->record_list = record_list;
}

struct table *table_new_rows(struct index *index, const struct stream *stream,
			     struct record_list *taken)
{
	struct table *table = table_new(index, stream);

	adopt_rows(table, taken, (struct reach){.d = REACH_FIRST}, 0);
	return table;
}

struct table *table_new_grown(struct index *index, const struct stream *stream,
			      struct record_list *taken, struct table *before, uint64_t from)
{
	struct table *table = table_new(index, stream);
	struct reach reach = before->reach;

	before->reach = (struct reach){.d = REACH_FIRST};
	table->other_cpus = before->other_cpus;
	adopt_rows(table, taken, reach, from);
	return table;
}

void table_take_rows(struct table *table, struct record_list *out)
{
	struct record_list *record_list = table->record_list;

	*out = *record_list;
	table->record_list = NULL;
	mem_free(record_list);
}

const struct record_list *table_rows(const struct table *table)
{
	return listing(table)->record_list;
}

void table_free(struct table *table)
{
	while (table) {
		struct table *older = table->older;
		struct record_list *record_list = table->record_list;
		if (record_list)
			record_list_release(record_list);
		mem_free(record_list);
		reach_release(&table->reach);
		stored_release(&table->stored);
		if (table->txn)
			store_read_end(table->txn);
		mem_free(table->corrections.items);
		hash_index_release(&table->corrections.by_record);
		while (table->nwides)
			mem_free(table->wides[--table->nwides]);
		mem_free(table->wides);
		for (struct scratch *next, *old = table->scratch; old; old = next) {
			next = old->next;
			mem_free(old->extents);
			mem_free(old);
		}
		mem_free(table->seen);
		mem_free(table->near);
		pthread_mutex_destroy(&table->lock);
		mem_free(table);
		table = older;
	}
}

/*
 * Scans the stream and makes this a table in memory, when the file is not regular or the stored
 * table is damaged.
 */
static bool become_rows(struct table *table, struct error *err)
{
	bool good = true;

	pthread_mutex_lock(&table->lock);
	if (!table->record_list) {
		struct record_list record_list = {0};
		good = build_rows(table->index, table->stream, &record_list, err);
		if (good) {
			adopt_rows(table, &record_list, (struct reach){.d = REACH_FIRST}, 0);
			table->generation++;
		}
	}
	pthread_mutex_unlock(&table->lock);
	return good;
}

/* Do two records that were seen, the earlier first, fit a table in order with the usual reach? */
static bool pair_fits(const struct seen *early, const struct seen *late)
{
	return early->min <= late->min &&
	       (late->i - early->i < REACH_FIRST || early->max <= late->min);
}

/* Compares a record with two neighbours to each side, among the first SEEN_MAX that were read. */
static bool fits_what_was_seen(struct table *table, const struct seen *now)
{
	size_t at = table->nseen;

	while (at && table->seen[at - 1].i >= now->i)
		at--;
	bool known = at < table->nseen && table->seen[at].i == now->i;
	for (size_t k = at > 2 ? at - 2 : 0; k < at; k++)
		if (!pair_fits(&table->seen[k], now))
			return false;
	for (size_t k = at + known; k < table->nseen && k < at + known + 2; k++)
		if (!pair_fits(now, &table->seen[k]))
			return false;
	if (known || table->nseen == SEEN_MAX)
		return true;
	if (!table->seen)
		table->seen = mem_new_array(SEEN_MAX, sizeof *table->seen);
	memmove(table->seen + at + 1, table->seen + at, (table->nseen - at) * sizeof *table->seen);
	table->seen[at] = *now;
	table->nseen++;
	return true;
}

static bool in_order(struct table *table, uint64_t i, const struct packet *rec)
{
	/* an empty packet's end reaches nothing */
	struct seen now = {i, rec->min, rec->flags & PACKET_EMPTY ? rec->min : rec->max};

	pthread_mutex_lock(&table->lock);
	bool good = fits_what_was_seen(table, &now);
	pthread_mutex_unlock(&table->lock);
	return good;
}

static bool computed_get(struct table *table, uint64_t i, struct packet_info *out)
{
	const struct reader *reader = table->index->trace->parts[table->stream->part]->reader;
	struct error ignored;

	*out = (struct packet_info){0};
	if (!reader->packet_at(table->stream, i, out, &ignored))
		return false;
	if (packet_is_of_other_cpu(table->stream, &out->rec))
		table->other_cpus = true;
	if (out->rec.flags & PACKET_SUSPECT) /* only a whole list of them can be searched */
		return false;
	return in_order(table, i, &out->rec);
}

struct table *table_new_computed(struct index *index, const struct stream *stream, uint64_t count)
{
	struct table *table = table_new(index, stream);
	struct packet_info info;

	table->computed = true;
	table->count = count;
	far_expect_tables(index);
	for (uint64_t k = 0; count && k < TABLE_SAMPLES; k++) {
		if (computed_get(table, table_sample(count, k), &info))
			continue;
		table_free(table);
		return NULL;
	}
	return table;
}

static struct extent *scratch_room(struct table *table, uint32_t count)
{
	struct scratch *mine;

	pthread_mutex_lock(&table->lock);
	for (mine = table->scratch; mine; mine = mine->next)
		if (pthread_equal(mine->owner, pthread_self()))
			break;
	if (!mine) {
		mine = mem_new(sizeof *mine);
		mine->owner = pthread_self();
		mine->next = table->scratch;
		table->scratch = mine;
	}
	pthread_mutex_unlock(&table->lock);
	if (mine->capacity < count) {
		mine->extents = mem_resize(mine->extents, count, sizeof *mine->extents);
		mine->capacity = count;
	}
	return mine->extents;
}

/* `found` points to memory of the caller; what outlives it is the thread's. */
static void keep_extents(struct table *table, struct packet_info *found)
{
	if (!found->nextents)
		return;
	struct extent *room = scratch_room(table, found->nextents);
	memcpy(room, found->extents, found->nextents * sizeof *room);
	found->extents = room;
}

static bool near_get(struct table *table, uint64_t i, struct packet_info *out)
{
	pthread_mutex_lock(&table->lock);
	const struct near_records *near = table->near;
	bool found = near && near->number[i % NEAR] == i + 1;
	if (found)
		*out = (struct packet_info){.rec = near->recs[i % NEAR]};
	pthread_mutex_unlock(&table->lock);
	return found;
}

static void near_put(struct table *table, uint64_t i, const struct packet *recs, uint32_t count)
{
	pthread_mutex_lock(&table->lock);
	if (!table->near)
		table->near = mem_new(sizeof *table->near);
	for (uint32_t k = 0; k < count; k++) {
		table->near->number[(i + k) % NEAR] = recs[k].side ? 0 : i + k + 1;
		table->near->recs[(i + k) % NEAR] = recs[k];
	}
	pthread_mutex_unlock(&table->lock);
}

/* Reads a stored record, and those around it into `near`, since they are mostly read next. */
static bool stored_get(struct table *table, uint64_t i, struct packet_info *out,
		       struct extent *extents)
{
	uint64_t from = i - i % NEAR;
	struct packet recs[NEAR];

	if (!table->txn || !pages_get(table->txn, table->id, &table->stored, i, out, extents))
		return false;
	if (out->rec.side)
		return true;
	uint32_t n = pages_run(table->txn, table->id, &table->stored, from, NEAR, recs);
	if (from + n <= i) /* i is in the chunk behind */
		n = pages_run(table->txn, table->id, &table->stored, from = i, 1, recs);
	near_put(table, from, recs, n);
	return true;
}

/* It is all in its record. */
static bool table_is_plain(const struct packet_info *info)
{
	return !info->nextents && !info->ncarried && !info->plain_size &&
	       info->rec.len != UINT32_MAX;
}

/* As listed, without what decoding proved. */
static bool listed_get(struct table *table, uint64_t i, struct packet_info *out, struct error *err)
{
	struct extent extents[PACKET_EXTENTS_MAX];

	table = listing(table);
	for (;;) {
		const struct record_list *record_list = table->record_list;
		if (i >= table->count)
			return error_set(err, ERR_RANGE, "%s: no packet %llu", table->stream->name,
					 (unsigned long long)i);
		bool good = true;
		if (record_list)
			record_list_get(record_list, i, out, extents);
		else if (near_get(table, i, out))
			return true;
		else
			good = table->computed ? computed_get(table, i, out)
					       : stored_get(table, i, out, extents);
		if (good && !record_list && table->computed && table_is_plain(out))
			near_put(table, i, &out->rec, 1);
		if (good) {
			keep_extents(table, out);
			out->rec.side = 0;
			return true;
		}
		if (!become_rows(table, err))
			return false;
	}
}

bool table_peek(struct table *table, uint64_t i, struct packet_info *out, struct error *err)
{
	table = listing(table);
	const struct reader *reader = table->index->trace->parts[table->stream->part]->reader;

	if (!table->computed || table->record_list)
		return listed_get(table, i, out, err);
	*out = (struct packet_info){0};
	return reader->packet_at(table->stream, i, out, err);
}

bool table_has_other_cpus(struct table *table)
{
	struct packet_info info;
	struct error ignored;

	table = listing(table);
	if (!table->computed || table->record_list || table->cpus_looked)
		return table->other_cpus;
	for (uint64_t i = 0; table->count <= CPUS_LOOKED && i < table->count; i++)
		if (!listed_get(table, i, &info, &ignored))
			break;
	table->cpus_looked = true;
	return table->other_cpus;
}

uint64_t table_count(const struct table *table)
{
	return listing(table)->count;
}

uint32_t table_generation(const struct table *table)
{
	return listing(table)->generation;
}

/* The order of the table rests on listed begins, so a begin only ever moves down. */
static void apply_correction(const struct correction *known, struct packet *rec)
{
	if (known->min < rec->min || known->max > rec->max)
		rec->flags |= PACKET_MENDED | PACKET_CONTRADICTED;
	if (known->min <= rec->min) {
		rec->min = known->min;
		rec->flags |= PACKET_EXACT_MIN;
	}
	rec->max = known->max;
	rec->flags |= PACKET_EXACT_MAX;
	rec->flags &= ~(uint32_t)PACKET_SUSPECT;
}

/* With the lock. HASH_INDEX_NONE: there is none. */
static uint32_t correction_place(const struct corrections *all, uint64_t record)
{
	return hash_index_find(&all->by_record, hash_number(record), i,
			       all->items[i].record == record);
}

/* What decoding proved of record i; false: it was not decoded. */
static bool correction_get(struct table *table, uint64_t i, struct correction *out)
{
	if (!table->own)
		return false;
	pthread_mutex_lock(&table->lock);
	uint32_t place = correction_place(&table->corrections, i);
	if (place != HASH_INDEX_NONE)
		*out = table->corrections.items[place];
	pthread_mutex_unlock(&table->lock);
	return place != HASH_INDEX_NONE;
}

bool table_get(struct table *table, uint64_t i, struct packet_info *out, struct error *err)
{
	struct correction known;

	if (!listed_get(table, i, out, err))
		return false;
	if (correction_get(table, i, &known))
		apply_correction(&known, &out->rec);
	return true;
}

bool table_listed(struct table *table, uint64_t i, struct packet *out, struct error *err)
{
	struct packet_info info;

	if (!listed_get(table, i, &info, err))
		return false;
	*out = info.rec;
	return true;
}

/* A search for the first record with min >= t goes on in [low, high). */
struct bracket {
	uint64_t low, high;
	nstime before, behind; /* begins of records low - 1 and high; or NSTIME_MIN, NSTIME_MAX */
};

/* Sets the bracket by the records that were read before. */
static void table_narrow(struct table *table, nstime t, struct bracket *out)
{
	*out = (struct bracket){0, table->count, NSTIME_MIN, NSTIME_MAX};
	pthread_mutex_lock(&table->lock);
	size_t at = search_first(k, 0, table->nseen, table->seen[k].min < t);
	if (at) {
		out->low = table->seen[at - 1].i + 1;
		out->before = table->seen[at - 1].min;
	}
	if (at < table->nseen) {
		out->high = table->seen[at].i;
		out->behind = table->seen[at].min;
	}
	pthread_mutex_unlock(&table->lock);
}

/* Where the record is if all packets take equally long; or the middle. */
static uint64_t guess(const struct bracket *in, nstime t, bool interpolates)
{
	uint64_t count = in->high - in->low, place = count / 2;

	if (interpolates && in->before > NSTIME_MIN && in->behind < NSTIME_MAX)
		place = (uint64_t)((unsigned __int128)time_span(in->before, t) * (count + 1) /
				   time_span(in->before, in->behind));
	return in->low + (place < count ? place : count - 1);
}

/*
 * Reads record `middle`, then others at distances from it that grow by SEARCH_STEP, until the one
 * that is searched lies between two of them. False: the table must become rows.
 */
static bool gallop(struct table *table, nstime t, uint64_t middle, struct bracket *in)
{
	bool up = true, down = true;
	struct packet_info info;

	for (uint64_t step = 1; in->low < in->high && (up || down); step *= SEARCH_STEP) {
		if (!computed_get(table, middle, &info))
			return false;
		if (info.rec.min < t) {
			in->low = middle + 1;
			in->before = info.rec.min;
			down = false;
		} else {
			in->high = middle;
			in->behind = info.rec.min;
			up = false;
		}
		uint64_t left = in->high - in->low;
		step = step < left ? step : left;
		middle = up ? in->low + step - 1 : in->high - step;
	}
	return true;
}

/* Each second guess is the middle, so that few steps are enough. False: it must become rows. */
static bool computed_lower_bound(struct table *table, nstime t, uint64_t *out)
{
	struct bracket in;
	bool good = true;

	table_narrow(table, t, &in);
	bool searches = in.low < in.high;
	for (unsigned round = 0; good && in.low < in.high; round++) {
		uint64_t middle = guess(&in, t, round % 2 == 0);
		far_expect_search(table->stream, table->count, in.low, middle, in.high);
		good = gallop(table, t, middle, &in);
	}
	if (searches)
		far_expect_found(table->stream, table->count, in.low);
	*out = in.low;
	return good;
}

void table_expect(const struct table *table, uint64_t first, uint64_t end)
{
	table = listing(table);
	if (table->computed && !table->record_list)
		far_expect_headers(table->stream, table->count, first, end);
}

bool table_computed_bound(struct table *table, nstime t, uint64_t *out)
{
	table = listing(table);
	return table->computed && !table->record_list && computed_lower_bound(table, t, out);
}

bool table_lower_bound(struct table *table, nstime t, uint64_t *out, struct error *err)
{
	table = listing(table);
	for (;;) {
		const struct record_list *record_list = table->record_list;
		if (record_list) {
			*out = record_list_lower_bound(record_list, t);
			return true;
		}
		if (table->computed ? computed_lower_bound(table, t, out)
				    : table->txn && pages_lower_bound(table->txn, table->id,
								      &table->stored, t, out))
			return true;
		if (!become_rows(table, err))
			return false;
	}
}

uint32_t table_reach(const struct table *table)
{
	struct table *own = (struct table *)(uintptr_t)table; /* for its lock */

	pthread_mutex_lock(&own->lock);
	uint64_t reach = own->reach.damaged ? table_count(own) : own->reach.d;
	pthread_mutex_unlock(&own->lock);
	return reach < UINT32_MAX ? (uint32_t)reach : UINT32_MAX;
}

const uint64_t *table_wide(const struct table *table, size_t *count)
{
	/* the list that is given out is a cache: it changes nothing that can be asked */
	struct table *own = (struct table *)(uintptr_t)table;

	pthread_mutex_lock(&own->lock);
	if (own->wide_changed) {
		uint64_t *copy = mem_new_array(own->reach.nwide, sizeof *copy);
		if (own->reach.nwide)
			memcpy(copy, own->reach.wide, own->reach.nwide * sizeof *copy);
		*mem_push(own->wides, own->nwides, own->wides_capacity) = copy;
		own->nwide = own->reach.nwide;
		own->wide_changed = false;
	}
	const uint64_t *wide = own->wides[own->nwides - 1];
	*count = own->nwide;
	pthread_mutex_unlock(&own->lock);
	return wide;
}

/* Does a search with the current reach and list miss the true range of record i? */
static bool out_of_reach(struct table *table, uint64_t i, const struct packet *listed,
			 nstime true_min, nstime true_max)
{
	struct packet_info later;
	struct error ignored;

	pthread_mutex_lock(&table->lock);
	uint32_t d = table->reach.d;
	pthread_mutex_unlock(&table->lock);
	if (true_min < listed->min)
		return true;
	if (true_max <= listed->max || table_count(table) - i <= d)
		return false;
	return !listed_get(table, i + d, &later, &ignored) || true_max > later.rec.min;
}

/*
 * May another question's search miss events of the true range? Below its begin it opens the last
 * record, and of others those that claim to reach it.
 */
static bool may_be_missed(struct table *table, uint64_t i, const struct packet *listed,
			  nstime true_min, nstime true_max)
{
	struct packet_info next;
	struct error ignored;

	if (true_min < listed->min)
		return true;
	if (true_max <= listed->max || i + 1 >= table_count(table))
		return false;
	return !listed_get(table, i + 1, &next, &ignored) || true_max >= next.rec.min;
}

static void note_wrong(struct table *table, uint64_t i, bool wide)
{
	table->corrections.wrong++;
	if (!wide || table->reach.damaged)
		return;
	reach_add(&table->reach, i);
	table->wide_changed = true;
	if (table->reach.nwide <= WIDE_MAX + REACH_SUSPECT)
		return;
	table->reach.damaged = true;
	table->reach.nwide = 0;
	say_damaged(table);
}

bool table_correct(struct table *table, uint64_t i, nstime true_min, nstime true_max)
{
	struct correction known;
	struct packet_info info;
	struct error ignored;

	if (correction_get(table, i, &known) || true_min > true_max || i >= table_count(table) ||
	    !listed_get(table, i, &info, &ignored))
		return true;
	const struct packet *rec = &info.rec;
	if ((rec->flags & EXACT) == EXACT && rec->min == true_min && rec->max == true_max)
		return true;
	if (!table->own)
		return false;
	bool wrong = true_min < rec->min || true_max > rec->max || rec->flags & PACKET_SUSPECT;
	bool wide = wrong && out_of_reach(table, i, rec, true_min, true_max);
	bool strays = wrong && may_be_missed(table, i, rec, true_min, true_max);
	pthread_mutex_lock(&table->lock);
	struct corrections *all = &table->corrections;
	if (correction_place(all, i) == HASH_INDEX_NONE &&
	    (wrong || all->count < CORRECTIONS_EXACT)) {
		*mem_push(all->items, all->count, all->capacity) =
			(struct correction){i, true_min, true_max};
		hash_index_add(&all->by_record, hash_number(i), all->count - 1);
		if (wrong)
			note_wrong(table, i, wide);
		if (strays)
			atomic_fetch_add(&index_trace(table->index)->strayed, 1);
	}
	pthread_mutex_unlock(&table->lock);
	return true;
}

bool table_true_begin(struct table *table, uint64_t i, const struct packet *rec, nstime *min)
{
	struct correction known;
	struct packet_info info;
	struct error ignored;

	*min = rec->min;
	if ((rec->flags & EXACT) == EXACT)
		return true;
	if (correction_get(table, i, &known)) {
		*min = known.min;
		return true;
	}
	if (!listed_get(table, i, &info, &ignored) || (info.rec.flags & EXACT) != EXACT)
		return false;
	*min = info.rec.min;
	return true;
}

bool table_proved(struct table *table, uint64_t i)
{
	static const struct packet unknown;
	nstime ignored;

	return table_true_begin(table, i, &unknown, &ignored);
}

struct table *table_own(struct table *shared)
{
	struct table *table = table_new(shared->index, shared->stream);

	table->own = true;
	table->base = shared;
	pthread_mutex_lock(&shared->lock);
	table->base_generation = shared->generation;
	reach_copy(&table->reach, &shared->reach);
	pthread_mutex_unlock(&shared->lock);
	return table;
}

bool table_is_current(const struct table *own)
{
	return !own->base || own->base->generation == own->base_generation;
}

bool table_has_numbers_of(const struct table *a, const struct table *b)
{
	return listing(a) == listing(b);
}

struct table *table_shared(const struct table *table)
{
	return table->own ? table->base : listing(table);
}

void table_put_behind(struct table *table, struct table *older)
{
	while (table->older)
		table = table->older;
	table->older = older;
}

struct table *table_rebuilt(struct table *old, struct error *err)
{
	struct record_list record_list = {0};
	struct packet_info info;
	struct correction known;

	pthread_mutex_lock(&old->lock);
	bool time_for_it =
		old->corrections.wrong > CORRECTIONS_WRONG && table_count(old) <= REBUILD_MAX;
	pthread_mutex_unlock(&old->lock);
	if (!time_for_it)
		return NULL;
	for (uint64_t i = 0; i < table_count(old); i++) {
		if (!listed_get(old, i, &info, err)) {
			record_list_release(&record_list);
			return NULL;
		}
		if (correction_get(old, i, &known)) {
			info.rec.min = known.min;
			apply_correction(&known, &info.rec);
		}
		record_list_add(&record_list, &info);
	}
	record_list_sort(&record_list);
	struct table *table = table_new_rows(old->index, old->stream, &record_list);
	table->own = true;
	table->older = old;
	return table;
}
