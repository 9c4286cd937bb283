/* key_value.c - the small store for other rooms: named values, among the keys of the index */
#include "engine/base/mem.h"
#include "index/tables/build.h"
#include "index/tables/write.h"

#include <string.h>

struct putting {
	const struct index_value *values;
	size_t count;
};

static bool put_work(struct store_txn *txn, void *arg, struct error *err)
{
	const struct putting *putting = arg;

	for (size_t i = 0; i < putting->count; i++) {
		const struct index_value *one = &putting->values[i];

		if (!store_put(txn, (struct bytes){one->key, one->nkey},
			       (struct bytes){one->value, one->nvalue}, err))
			return false;
	}
	return true;
}

static bool delete_work(struct store_txn *txn, void *arg, struct error *err)
{
	const struct bytes *prefix = arg;

	(void)err;
	store_delete_prefix(txn, *prefix);
	return true;
}

bool index_writable(const struct index *index)
{
	return index->store && index_may_write(index) && store_lock(index->store) == 0;
}

bool index_put_all(struct index *index, const struct index_value *values, size_t count,
		   struct error *err)
{
	struct putting putting = {values, count};

	return index_write(index, put_work, &putting, err);
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

/* The key, or the greatest one up to it that begins with its first `prefix` bytes; both copied. */
static bool find_pair(struct index *index, struct bytes key, size_t prefix, void **found_key,
		      size_t *nfound_key, void **value, size_t *nvalue)
{
	struct bytes found = key, content;
	struct store_txn *txn;
	struct error ignored;
	bool any;

	if (!index->store || !index_read(index, &txn, &ignored))
		return false;
	if (prefix < key.size)
		any = store_before(txn, key, true, &found, &content) && found.size >= prefix &&
		      !memcmp(found.data, key.data, prefix);
	else
		any = store_get(txn, key, &content);
	if (any) {
		*found_key = copy_bytes(found, nfound_key);
		*value = copy_bytes(content, nvalue);
	}
	bool sound = store_sound(txn);
	store_read_end(txn);
	if (any && !sound) {
		mem_free(*found_key);
		mem_free(*value);
	}
	return any && sound;
}

bool index_get(struct index *index, const void *key, size_t nkey, void **value, size_t *nvalue)
{
	size_t ignored;
	void *same;
	bool any =
		find_pair(index, (struct bytes){key, nkey}, nkey, &same, &ignored, value, nvalue);

	if (any)
		mem_free(same);
	return any;
}

bool index_get_before(struct index *index, const void *key, size_t nkey, size_t prefix,
		      void **found_key, size_t *nfound_key, void **value, size_t *nvalue)
{
	return find_pair(index, (struct bytes){key, nkey}, prefix, found_key, nfound_key, value,
			 nvalue);
}

bool index_delete_prefix(struct index *index, const void *prefix, size_t nprefix, struct error *err)
{
	struct bytes begin = {prefix, nprefix};

	return index_write(index, delete_work, &begin, err);
}
