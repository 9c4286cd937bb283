/*
 * copies.c - records for copies of a trace on other machines, which then scan nothing
 *
 * A segment has the keys of all tables as the store has them, and under "I" the data version and
 * marks of the files. A copy is identified by sizes and digests, since inodes and times differ.
 */
#include "engine/base/mem.h"
#include "index/store/segment.h"
#include "index/tables/build.h"
#include "index/tables/identity.h"
#include "index/tables/write.h"

#include <string.h>

enum { BATCH_BYTES = 16 << 20 };

static const struct bytes marks_key = {(const uint8_t *)"I", 1};

/* Of the keys that begin with a letter: the one behind it is greater than all of them. */
static struct bytes behind_letter(const char *letter)
{
	return (struct bytes){(const uint8_t *)letter, 1};
}

static bool begins_with(struct bytes key, char letter)
{
	return key.size > 1 && key.data[0] == (uint8_t)letter;
}

struct listing {
	struct entry *items;
	size_t count, capacity;
};

static void copies_list(struct store_txn *txn, char letter, struct bytes behind,
			struct listing *out)
{
	struct entry entry = {.key = behind};

	while (store_before(txn, entry.key, false, &entry.key, &entry.value) &&
	       begins_with(entry.key, letter))
		*mem_push(out->items, out->count, out->capacity) = entry;
}

/* Of what the records are; the caller ends it with buf_release(). */
static struct buf copies_describe(const struct index *index)
{
	const uint64_t version = DATA_VERSION;
	struct buf out = {0};

	buf_add(&out, &version, sizeof version);
	marks_take(index->trace, true, &out);
	return out;
}

bool index_export(struct index *index, const char *to, const char *suffix, const char *name,
		  uint64_t incarnation, struct error *err)
{
	struct segment_id id = {.incarnation = incarnation, .to = 1};
	struct listing listing = {0};
	struct store_txn *txn;
	int failed = SEGMENT_DAMAGED;

	if (!index->store)
		return error_set(err, ERR_IO, "the index is kept in memory");
	if (!build_flush(index, err) || !index_read(index, &txn, err))
		return false;
	struct buf marks = copies_describe(index);
	copies_list(txn, 'S', behind_letter("T"), &listing);
	copies_list(txn, 'P', behind_letter("Q"), &listing);
	*mem_push(listing.items, listing.count, listing.capacity) =
		(struct entry){.key = marks_key, .value = {(const uint8_t *)marks.data, marks.len}};
	struct segment_parts parts = {
		.name = name, .entries = listing.items, .count = listing.count};
	if (store_sound(txn))
		failed = segment_write(to, suffix, &parts, true, &id);
	store_read_end(txn);
	mem_free(listing.items);
	buf_release(&marks);
	return !failed ||
	       error_set(err, ERR_IO, "%s: %s", to,
			 failed == SEGMENT_DAMAGED ? "the index is damaged" : strerror(failed));
}

/* ---- importing ---- */

struct importing {
	struct segment *from;
	char letter;
	struct buf key; /* the last one that was put, or one behind all */
	bool more;
};

static bool put_some(struct store_txn *txn, void *arg, struct error *err)
{
	struct importing *importing = arg;
	struct entry entry;

	importing->more = false;
	for (size_t bytes = 0; bytes < BATCH_BYTES; bytes += entry.value.size) {
		struct bytes key = {(const uint8_t *)importing->key.data, importing->key.len};

		if (!segment_find(importing->from, key, KEY_BELOW, &entry) ||
		    !begins_with(entry.key, importing->letter))
			return segment_sound(importing->from) ||
			       error_set(err, ERR_IO, "records are damaged");
		if (!store_put(txn, entry.key, entry.value, err))
			return false;
		buf_clear(&importing->key);
		buf_add(&importing->key, entry.key.data, entry.key.size);
	}
	importing->more = true;
	return true;
}

static bool import_letter(struct index *index, struct segment *from, char letter)
{
	struct importing importing = {.from = from, .letter = letter, .more = true};
	struct error ignored;
	bool good = true;

	buf_add_char(&importing.key, (char)(letter + 1));
	while (importing.more && good)
		good = index_write(index, put_some, &importing, &ignored);
	buf_release(&importing.key);
	return good;
}

static bool is_empty(struct index *index)
{
	struct bytes key, value;
	struct store_txn *txn;
	struct error ignored;

	if (!index_read(index, &txn, &ignored))
		return false;
	bool any =
		store_before(txn, behind_letter("T"), false, &key, &value) && begins_with(key, 'S');
	bool sound = store_sound(txn);
	store_read_end(txn);
	return sound && !any;
}

static bool is_of(const struct index *index, struct bytes marks)
{
	struct buf own = copies_describe(index);
	bool same = own.len == marks.size && !memcmp(own.data, marks.data, own.len);
	buf_release(&own);
	return same;
}

/* A stream's head makes its table count: it comes behind all records. */
bool index_import(struct index *index, const char *from, const char *name, uint64_t incarnation)
{
	struct segment *segment;
	struct entry marks;

	if (index->trace->grows || index->grown || !build_may_store(index) || !is_empty(index) ||
	    segment_open_read(from, name, NULL, &segment))
		return false;
	bool good = segment->id.incarnation == incarnation &&
		    segment_find(segment, marks_key, KEY_SAME, &marks) &&
		    is_of(index, marks.value) && import_letter(index, segment, 'P') &&
		    import_letter(index, segment, 'S');
	segment_close(segment);
	return good;
}
