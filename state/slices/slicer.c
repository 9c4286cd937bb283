/* slicer.c - see slicer.h */
#include "state/slices/slicer.h"

#include "engine/base/mem.h"
#include "state/slices/names.h"

#include <pthread.h>
#include <string.h>

struct slicer {
	struct store *store;
	struct encoding encoding;
	uint64_t bytes;
	struct gathered *all[2]; /* with a thread one is filled while the other is stored */
	bool thread;
	pthread_t id;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct gathered *given; /* being stored */
	bool ending;
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
	name_key_data(&key, number, PART_TOPS);
	if (encoding->tops.len &&
	    !store_put(txn, name_key_bytes(&key), bytes_of(&encoding->tops), err))
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

/* ---- the thread ---- */

static void *slicer_run(void *arg)
{
	struct slicer *slicer = arg;
	struct error err;

	pthread_mutex_lock(&slicer->lock);
	while (slicer->given || !slicer->ending) {
		if (!slicer->given) {
			pthread_cond_wait(&slicer->changed, &slicer->lock);
			continue;
		}
		pthread_mutex_unlock(&slicer->lock);
		bool good = slicer->failed || store(slicer, slicer->given, &err);
		pthread_mutex_lock(&slicer->lock);
		if (!good) {
			slicer->failed = true;
			slicer->error = err;
		}
		slicer->given = NULL;
		pthread_cond_broadcast(&slicer->changed);
	}
	pthread_mutex_unlock(&slicer->lock);
	return NULL;
}

struct slicer *slicer_new(struct store *store, bool thread)
{
	struct slicer *slicer = mem_new(sizeof *slicer);

	slicer->store = store;
	slicer->all[0] = gathered_new();
	pthread_mutex_init(&slicer->lock, NULL);
	pthread_cond_init(&slicer->changed, NULL);
	slicer->thread = thread && !pthread_create(&slicer->id, NULL, slicer_run, slicer);
	if (slicer->thread)
		slicer->all[1] = gathered_new();
	return slicer;
}

void slicer_free(struct slicer *slicer)
{
	if (!slicer)
		return;
	if (slicer->thread) {
		pthread_mutex_lock(&slicer->lock);
		slicer->ending = true;
		pthread_cond_broadcast(&slicer->changed);
		pthread_mutex_unlock(&slicer->lock);
		pthread_join(slicer->id, NULL);
	}
	pthread_cond_destroy(&slicer->changed);
	pthread_mutex_destroy(&slicer->lock);
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

	pthread_mutex_lock(&slicer->lock);
	while (slicer->given)
		pthread_cond_wait(&slicer->changed, &slicer->lock);
	good = !slicer->failed;
	if (!good)
		*err = slicer->error;
	else
		slicer->given = gathered;
	pthread_cond_broadcast(&slicer->changed);
	pthread_mutex_unlock(&slicer->lock);
	return good;
}

struct gathered *slicer_give(struct slicer *slicer, struct gathered *gathered, struct error *err)
{
	if (!slicer->thread)
		return store(slicer, gathered, err) ? gathered : NULL;
	if (!hand_over(slicer, gathered, err))
		return NULL;
	return slicer->all[gathered == slicer->all[0]];
}

bool slicer_settle(struct slicer *slicer, struct error *err)
{
	return !slicer->thread || hand_over(slicer, NULL, err);
}

uint64_t slicer_bytes(const struct slicer *slicer)
{
	return slicer->bytes;
}
