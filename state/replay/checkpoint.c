/*
 * checkpoint.c - see checkpoint.h
 *
 * The key in the index is "state", the format's version, the rules' identity, then the time,
 * encoded so that memcmp() orders it.
 */
#include "state/replay/checkpoint.h"

#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <string.h>

enum {
	PREFIX = 24,
	KEY = PREFIX + 8,
	WAITING = 4 << 20, /* bytes in memory before they are stored */
	MEMORY = 64 << 20  /* bytes in memory if there is no store */
};

struct kept_state {
	nstime t;
	struct buf bytes;
};

struct checkpoints {
	struct index *index;
	uint8_t prefix[PREFIX];
	struct kept_state *kept; /* by rising time */
	size_t nkept, capacity;
	size_t bytes;
};

struct checkpoints *checkpoints_new(struct index *index, const uint64_t identity[2])
{
	struct checkpoints *checkpoints = mem_new(sizeof *checkpoints);

	checkpoints->index = index;
	memcpy(checkpoints->prefix, "state\0\0\2", 8);
	memcpy(checkpoints->prefix + 8, identity, 16);
	return checkpoints;
}

static void release_kept(struct checkpoints *checkpoints)
{
	for (size_t i = 0; i < checkpoints->nkept; i++)
		buf_release(&checkpoints->kept[i].bytes);
	checkpoints->nkept = checkpoints->bytes = 0;
}

void checkpoints_forget(struct checkpoints *checkpoints)
{
	struct error ignored; /* if the index cannot be written, nothing was stored */

	release_kept(checkpoints);
	if (checkpoints->index && index_writable(checkpoints->index))
		MAY_FAIL(index_delete_prefix(checkpoints->index, checkpoints->prefix, PREFIX,
					     &ignored));
}

void checkpoints_free(struct checkpoints *checkpoints)
{
	if (!checkpoints)
		return;
	checkpoints_store(checkpoints);
	release_kept(checkpoints);
	mem_free(checkpoints->kept);
	mem_free(checkpoints);
}

static void checkpoint_key_of(const struct checkpoints *checkpoints, nstime t, uint8_t key[KEY])
{
	memcpy(key, checkpoints->prefix, PREFIX);
	nstime_to_key(t, key + PREFIX);
}

/* The newest checkpoint in memory at or before t; NULL: there is none. */
static struct kept_state *kept_before(const struct checkpoints *checkpoints, nstime t)
{
	size_t low = search_first(i, 0, checkpoints->nkept, checkpoints->kept[i].t <= t);

	return low ? &checkpoints->kept[low - 1] : NULL;
}

/* Drops every second checkpoint in memory. */
static void thin_out(struct checkpoints *checkpoints)
{
	size_t kept = 0;

	for (size_t i = 0; i < checkpoints->nkept; i++) {
		if (i % 2 == 0) {
			checkpoints->kept[kept++] = checkpoints->kept[i];
			continue;
		}
		checkpoints->bytes -= checkpoints->kept[i].bytes.len;
		buf_release(&checkpoints->kept[i].bytes);
	}
	checkpoints->nkept = kept;
}

static void keep_checkpoint(struct checkpoints *checkpoints, nstime t, struct buf *bytes)
{
	struct kept_state *before = kept_before(checkpoints, t);
	size_t place = before ? (size_t)(before - checkpoints->kept) + 1 : 0;

	if (before && before->t == t)
		return;
	checkpoints->kept = mem_grow(checkpoints->kept, checkpoints->nkept, &checkpoints->capacity,
				     sizeof *checkpoints->kept);
	memmove(&checkpoints->kept[place + 1], &checkpoints->kept[place],
		(checkpoints->nkept - place) * sizeof *checkpoints->kept);
	checkpoints->kept[place] = (struct kept_state){t, *bytes};
	checkpoints->nkept++;
	checkpoints->bytes += bytes->len;
	*bytes = (struct buf){0};
}

void checkpoints_store(struct checkpoints *checkpoints)
{
	size_t count = checkpoints->nkept;
	struct index_value *values;
	uint8_t(*keys)[KEY];
	struct error ignored; /* checkpoints only save time: without them runs begin earlier */

	if (!count || !checkpoints->index || !index_writable(checkpoints->index))
		return;
	values = mem_new_array(count, sizeof *values);
	keys = mem_new_array(count, sizeof *keys);
	for (size_t i = 0; i < count; i++) {
		const struct buf *bytes = &checkpoints->kept[i].bytes;

		checkpoint_key_of(checkpoints, checkpoints->kept[i].t, keys[i]);
		values[i] = (struct index_value){keys[i], KEY, bytes->data, bytes->len};
	}
	if (index_put_all(checkpoints->index, values, count, &ignored)) {
		for (size_t i = 0; i < count; i++)
			buf_release(&checkpoints->kept[i].bytes);
		checkpoints->nkept = checkpoints->bytes = 0;
	}
	mem_free(values);
	mem_free(keys);
}

size_t checkpoints_put(struct checkpoints *checkpoints, nstime t, const struct cells *cells)
{
	struct buf bytes = {0};
	size_t len;

	cells_write(cells, &bytes);
	len = bytes.len;
	keep_checkpoint(checkpoints, t, &bytes);
	buf_release(&bytes);
	if (checkpoints->bytes > WAITING)
		checkpoints_store(checkpoints);
	while (checkpoints->bytes > MEMORY && checkpoints->nkept > 1)
		thin_out(checkpoints);
	return len;
}

static bool stored_before(struct checkpoints *checkpoints, nstime t, nstime *out, void **value,
			  size_t *nvalue)
{
	void *found;
	size_t nfound;
	uint8_t key[KEY];

	checkpoint_key_of(checkpoints, t, key);
	if (!checkpoints->index ||
	    !index_get_before(checkpoints->index, key, KEY, PREFIX, &found, &nfound, value, nvalue))
		return false;
	*out = nfound == KEY ? (nstime)(load_be((uint8_t *)found + PREFIX, 8) ^ UINT64_C(1) << 63)
			     : NSTIME_MIN;
	mem_free(found);
	if (nfound == KEY)
		return true;
	mem_free(*value);
	return false;
}

bool checkpoints_get(struct checkpoints *checkpoints, nstime t, struct cells *cells, nstime *out)
{
	const struct kept_state *kept = kept_before(checkpoints, t);
	nstime stored;
	void *value;
	size_t nvalue;
	bool ok = false;

	if (stored_before(checkpoints, t, &stored, &value, &nvalue)) {
		if (!kept || stored > kept->t) {
			ok = !cells || cells_read(cells, value, nvalue);
			*out = stored;
		}
		mem_free(value);
	}
	if (!ok && kept) {
		ok = !cells || cells_read(cells, kept->bytes.data, kept->bytes.len);
		*out = kept->t;
	}
	return ok;
}
