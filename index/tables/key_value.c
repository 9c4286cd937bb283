/*
 * key_value.c - the small store for other rooms: named values that are true of these very files
 *
 * Keys of other rooms stand behind one letter. Beside the first value the marks of all files are
 * stored, under "I": per stream its id (8 bytes), its part's identity (16), their number (8) and
 * the marks (64 each). When they are no longer the same, all values go: what was decoded to make
 * them cannot be compared.
 */
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "index/tables/write.h"

#include <stdlib.h>
#include <string.h>

enum { USER_KEY = 'u', MARKS_HEAD = 4 };

static const struct bytes marks_key = {(const uint8_t *)"I", 1};

static void add_marks(const struct index *index, struct buf *out)
{
	for (size_t i = 0; i < index->trace->nstreams; i++) {
		const struct stream *stream = index->trace->streams[i];
		const struct part *part = index->trace->parts[stream->part];
		uint64_t head[MARKS_HEAD] = {identity_stream(index->trace, stream),
					     part->identity[0], part->identity[1],
					     stream->nsources};
		buf_add(out, head, sizeof head);
		for (uint32_t s = 0; s < stream->nsources; s++) {
			struct source_mark mark = {0};
			mark_source(stream, s, &mark);
			buf_add(out, &mark, sizeof mark);
		}
	}
}

struct stream_id {
	uint64_t id;
	const struct stream *stream;
};

static int by_id(const void *a, const void *b)
{
	const struct stream_id *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->stream->index < y->stream->index ? -1 : x->stream->index > y->stream->index;
}

/* All streams, by their ids; the caller frees. */
static struct stream_id *stream_ids(const struct trace *trace)
{
	struct stream_id *ids = mem_new_array(trace->nstreams + 1, sizeof *ids);

	for (size_t i = 0; i < trace->nstreams; i++)
		ids[i] = (struct stream_id){identity_stream(trace, trace->streams[i]),
					    trace->streams[i]};
	if (trace->nstreams)
		qsort(ids, trace->nstreams, sizeof *ids, by_id);
	return ids;
}

static const struct stream *stream_of(const struct stream_id *ids, size_t count, uint64_t id)
{
	size_t at = search_first(i, 0, count, ids[i].id < id);

	return at < count && ids[at].id == id ? ids[at].stream : NULL;
}

static enum sameness compare_with(const struct index *index, const struct stream_id *ids,
				  struct bytes value)
{
	enum sameness worst = SOURCES_SAME;
	size_t nstreams = 0;

	for (size_t at = 0; at < value.size; nstreams++) {
		uint64_t head[MARKS_HEAD], count;
		if (value.size - at < sizeof head)
			return SOURCES_CHANGED;
		memcpy(head, value.data + at, sizeof head);
		at += sizeof head;
		count = head[MARKS_HEAD - 1];
		if (count > (value.size - at) / sizeof(struct source_mark))
			return SOURCES_CHANGED;
		const struct stream *stream = stream_of(ids, index->trace->nstreams, head[0]);
		if (!stream || memcmp(index->trace->parts[stream->part]->identity, head + 1, 16))
			return SOURCES_CHANGED;
		struct source_mark *marks = mem_new_array((size_t)count, sizeof *marks);
		memcpy(marks, value.data + at, (size_t)count * sizeof *marks);
		at += (size_t)count * sizeof *marks;
		enum sameness one = marks_compare(stream, marks, (uint32_t)count);
		mem_free(marks);
		worst = one > worst ? one : worst;
	}
	if (nstreams != index->trace->nstreams && worst < SOURCES_AHEAD)
		return SOURCES_CHANGED;
	return worst;
}

static enum sameness compare_marks(const struct index *index, struct bytes value)
{
	struct stream_id *ids = stream_ids(index->trace);
	enum sameness same = compare_with(index, ids, value);

	mem_free(ids);
	return same;
}

static bool forget_work(struct store_txn *txn, void *arg, struct error *err)
{
	const uint8_t letter = USER_KEY;

	(void)arg;
	return store_delete_prefix(txn, (struct bytes){&letter, 1}, err) &&
	       store_delete(txn, marks_key, err);
}

static enum values_state judge(struct index *index)
{
	struct store_txn *txn;
	struct bytes value;
	struct error ignored;

	if (!store_read(index->store, &txn, &ignored))
		return VALUES_BAD;
	index->values_store = store_txn_generation(txn);
	bool any = store_get(txn, marks_key, &value);
	enum sameness same = any ? compare_marks(index, value) : SOURCES_SAME;
	bool sound = store_sound(txn);
	store_read_end(txn);
	if (!sound)
		return VALUES_BAD;
	if (!any)
		return VALUES_NONE;
	if (same == SOURCES_SAME)
		return VALUES_GOOD;
	if (same == SOURCES_AHEAD || !store_lock(index->store) ||
	    !store_write(index->store, forget_work, NULL, &ignored))
		return VALUES_BAD;
	return VALUES_NONE;
}

/* Looked at once, and again while there is none: another process may have put some. */
static enum values_state values_look(struct index *index)
{
	pthread_mutex_lock(&index->values_lock);
	if (index->values == VALUES_UNKNOWN || index->values == VALUES_NONE ||
	    index->values_store != store_generation(index->store))
		index->values = judge(index);
	enum values_state state = index->values;
	pthread_mutex_unlock(&index->values_lock);
	return state;
}

struct user {
	uint8_t key[STORE_KEY_MAX];
	size_t nkey;
};

struct putting {
	const struct index_value *values;
	size_t count;
	const struct buf *marks; /* to be written, too; NULL: they are there */
};

static bool user_key(struct user *user, const void *key, size_t nkey)
{
	if (nkey > sizeof user->key - 1)
		return false;
	user->key[0] = USER_KEY;
	if (nkey)
		memcpy(user->key + 1, key, nkey);
	user->nkey = nkey + 1;
	return true;
}

static bool put_work(struct store_txn *txn, void *arg, struct error *err)
{
	const struct putting *putting = arg;
	struct user user;
	struct bytes marks;

	/* the file was damaged, and another one begins: values without marks would be anybody's */
	if (!putting->marks && !store_get(txn, marks_key, &marks))
		return error_set(err, ERR_IO, "the index was made anew");
	if (putting->marks &&
	    !store_put(txn, marks_key,
		       (struct bytes){(const uint8_t *)putting->marks->data, putting->marks->len},
		       err))
		return false;
	for (size_t i = 0; i < putting->count; i++) {
		const struct index_value *one = &putting->values[i];

		if (!user_key(&user, one->key, one->nkey))
			return error_set(err, ERR_RANGE, "a key of %zu bytes is too long",
					 one->nkey);
		if (!store_put(txn, (struct bytes){user.key, user.nkey},
			       (struct bytes){one->value, one->nvalue}, err))
			return false;
	}
	return header_write(txn, err);
}

static bool delete_work(struct store_txn *txn, void *arg, struct error *err)
{
	const struct user *user = arg;

	return store_delete_prefix(txn, (struct bytes){user->key, user->nkey}, err);
}

bool index_writable(const struct index *index)
{
	return index->store && store_lock(index->store);
}

bool index_put_all(struct index *index, const struct index_value *values, size_t count,
		   struct error *err)
{
	struct putting putting = {.values = values, .count = count};

	if (!index->store)
		return error_set(err, ERR_IO, "the index is kept in memory");
	enum values_state state = values_look(index);
	if (state == VALUES_BAD)
		return error_set(err, ERR_IO, "%s: is of other files", index->path);
	if (state == VALUES_GOOD)
		return store_write(index->store, put_work, &putting, err);
	struct buf marks = {0};
	add_marks(index, &marks);
	putting.marks = &marks;
	bool good = store_write(index->store, put_work, &putting, err);
	buf_release(&marks);
	if (good)
		index->values = VALUES_GOOD;
	return good;
}

bool index_put(struct index *index, const void *key, size_t nkey, const void *value, size_t nvalue,
	       struct error *err)
{
	const struct index_value one = {key, nkey, value, nvalue};

	return index_put_all(index, &one, 1, err);
}

static void *copy_bytes(struct bytes from, size_t *size)
{
	uint8_t *copy = mem_new(from.size + 1);

	if (from.size)
		memcpy(copy, from.data, from.size);
	*size = from.size;
	return copy;
}

bool index_get(struct index *index, const void *key, size_t nkey, void **value, size_t *nvalue)
{
	struct user user;
	struct store_txn *txn;
	struct bytes found;
	struct error ignored;

	if (!index->store || !user_key(&user, key, nkey) || values_look(index) != VALUES_GOOD ||
	    !store_read(index->store, &txn, &ignored))
		return false;
	bool any = store_get(txn, (struct bytes){user.key, user.nkey}, &found);
	if (any)
		*value = copy_bytes(found, nvalue);
	bool sound = store_sound(txn) && store_txn_generation(txn) == index->values_store;
	store_read_end(txn);
	if (any && !sound)
		mem_free(*value);
	return any && sound;
}

bool index_get_before(struct index *index, const void *key, size_t nkey, size_t prefix,
		      void **found_key, size_t *nfound_key, void **value, size_t *nvalue)
{
	struct user user;
	struct store_txn *txn;
	struct bytes found, content;
	struct error ignored;

	if (!index->store || prefix > nkey || !user_key(&user, key, nkey) ||
	    values_look(index) != VALUES_GOOD || !store_read(index->store, &txn, &ignored))
		return false;
	bool any = store_before(txn, (struct bytes){user.key, user.nkey}, true, &found, &content) &&
		   found.size > prefix && !memcmp(found.data, user.key, prefix + 1);
	if (any) {
		*found_key = copy_bytes((struct bytes){found.data + 1, found.size - 1}, nfound_key);
		*value = copy_bytes(content, nvalue);
	}
	bool sound = store_sound(txn) && store_txn_generation(txn) == index->values_store;
	store_read_end(txn);
	if (any && !sound) {
		mem_free(*found_key);
		mem_free(*value);
	}
	return any && sound;
}

bool index_delete_prefix(struct index *index, const void *prefix, size_t nprefix, struct error *err)
{
	struct user user = {0};

	if (!index->store)
		return error_set(err, ERR_IO, "the index is kept in memory");
	if (!user_key(&user, prefix, nprefix))
		return error_set(err, ERR_RANGE, "a key of %zu bytes is too long", nprefix);
	return store_write(index->store, delete_work, &user, err);
}
