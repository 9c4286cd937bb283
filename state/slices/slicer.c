/* slicer.c - see slicer.h */
#include "state/slices/slicer.h"

#include "engine/base/mem.h"
#include "state/slices/names.h"

#include <string.h>

struct slicer {
	struct store *store;
	struct encoding encoding;
	uint64_t bytes;
	struct gathered *all[2]; /* with a helper one is filled while the other is stored */
	struct helper *helper;   /* NULL: there is none */
	struct duty duty;
	/* under the helper's lock: */
	struct gathered *given; /* to be stored */
	bool failed;
	struct error error;
};

/* ---- storing ---- */

struct commit {
	const struct gathered *gathered;
	const struct encoding *encoding;
};

static struct bytes bytes_of(const struct buf *buf)
{
	return (struct bytes){(const uint8_t *)buf->data, buf->len};
}

static bool put_meta(struct store_txn *txn, const char *name, const struct buf *value,
		     struct error *err)
{
	struct name_key key = {.bytes = {KEY_META}, .size = 1 + strlen(name)};

	if (!value->len)
		return true;
	memcpy(key.bytes + 1, name, strlen(name));
	return store_put(txn, name_key_bytes(&key), bytes_of(value), err);
}

static bool put_slice(const struct commit *commit, struct store_txn *txn, struct error *err)
{
	const struct encoding *encoding = commit->encoding;
	uint32_t number = commit->gathered->number;
	struct name_key key;

	name_key_data(&key, number, PART_SLICE);
	if (!store_put(txn, name_key_bytes(&key), bytes_of(&encoding->bytes), err))
		return false;
	name_key_data(&key, number, PART_DOMINANT);
	if (encoding->dominant.len &&
	    !store_put(txn, name_key_bytes(&key), bytes_of(&encoding->dominant), err))
		return false;
	name_key_numbers(&key, KEY_SLICE, &number, 1);
	return store_put(
		       txn, name_key_bytes(&key),
		       (struct bytes){(const uint8_t *)&encoding->record, sizeof encoding->record},
		       err) &&
	       fresh_names_put(commit->gathered->names, number, txn, err);
}

static bool commit_work(struct store_txn *txn, void *arg, struct error *err)
{
	const struct commit *commit = arg;

	return (!commit->gathered->open || put_slice(commit, txn, err)) &&
	       put_meta(txn, "resume", &commit->gathered->resume, err) &&
	       put_meta(txn, "damage", &commit->gathered->damage, err) &&
	       put_meta(txn, "complete", &commit->gathered->complete, err);
}

static bool store(struct slicer *slicer, struct gathered *gathered, struct error *err)
{
	struct commit commit = {gathered, &slicer->encoding};

	if (gathered->open)
		gathered_encode(gathered, &slicer->encoding);
	if (!store_write(slicer->store, commit_work, &commit, err))
		return false;
	if (gathered->open)
		slicer->bytes += slicer->encoding.bytes.len;
	gathered_clear(gathered);
	return true;
}

/* ---- the helper's duty ---- */

static bool is_due(void *arg)
{
	return ((const struct slicer *)arg)->given != NULL;
}

static void store_given(void *arg)
{
	struct slicer *slicer = arg;
	struct error err;
	bool good = true;

	if (!slicer->failed) {
		helper_unlock(slicer->helper);
		good = store(slicer, slicer->given, &err);
		helper_lock(slicer->helper);
	}
	if (!good) {
		slicer->failed = true;
		slicer->error = err;
	}
	slicer->given = NULL;
}

struct slicer *slicer_new(struct store *store, struct helper *helper)
{
	struct slicer *slicer = mem_new(sizeof *slicer);

	slicer->store = store;
	slicer->all[0] = gathered_new();
	slicer->helper = helper;
	if (!helper)
		return slicer;
	slicer->all[1] = gathered_new();
	slicer->duty = (struct duty){.due = is_due, .work = store_given, .arg = slicer};
	helper_give(helper, &slicer->duty);
	return slicer;
}

/* What was given before is stored, or failed. Under the lock. */
static void wait_for_given(struct slicer *slicer)
{
	while (slicer->given)
		helper_wait(slicer->helper);
}

void slicer_free(struct slicer *slicer)
{
	if (!slicer)
		return;
	if (slicer->helper) {
		helper_lock(slicer->helper);
		wait_for_given(slicer);
		helper_unlock(slicer->helper);
		helper_end(slicer->helper, &slicer->duty);
	}
	gathered_free(slicer->all[0]);
	gathered_free(slicer->all[1]);
	encoding_release(&slicer->encoding);
	mem_free(slicer);
}

struct gathered *slicer_first(struct slicer *slicer)
{
	return slicer->all[0];
}

/* Waits for what was given before, then gives the next, if there is one. */
static bool hand_over(struct slicer *slicer, struct gathered *gathered, struct error *err)
{
	bool good;

	helper_lock(slicer->helper);
	wait_for_given(slicer);
	good = !slicer->failed;
	if (!good)
		*err = slicer->error;
	else
		slicer->given = gathered;
	helper_changed(slicer->helper);
	helper_unlock(slicer->helper);
	return good;
}

struct gathered *slicer_give(struct slicer *slicer, struct gathered *gathered, struct error *err)
{
	if (!slicer->helper)
		return store(slicer, gathered, err) ? gathered : NULL;
	if (!hand_over(slicer, gathered, err))
		return NULL;
	return slicer->all[gathered == slicer->all[0]];
}

bool slicer_settle(struct slicer *slicer, struct error *err)
{
	return !slicer->helper || hand_over(slicer, NULL, err);
}

uint64_t slicer_bytes(const struct slicer *slicer)
{
	return slicer->bytes;
}
