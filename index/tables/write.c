/*
 * write.c - see write.h
 *
 * The header, under the key "H":
 *
 *     OFFSET  SIZE  MEANING
 *          0     8  "yore\0idx"
 *          8     4  byte order: the number 0x01020304 as this machine writes it
 *         12     4  version of all that is stored
 */
#include "index/tables/write.h"

#include "index/tables/build.h"

#include "engine/base/mem.h"

#include <string.h>

static const char magic[8] = {'y', 'o', 'r', 'e', 0, 'i', 'd', 'x'};
static const struct bytes header_key = {(const uint8_t *)"H", 1};

static void header_fill(uint8_t out[16])
{
	const uint32_t order = 0x01020304, version = DATA_VERSION;

	memcpy(out, magic, sizeof magic);
	memcpy(out + 8, &order, sizeof order);
	memcpy(out + 12, &version, sizeof version);
}

enum header header_look(struct store_txn *txn)
{
	uint8_t right[16];
	struct bytes value;

	if (!store_get(txn, header_key, &value))
		return HEADER_NONE;
	header_fill(right);
	return value.size == sizeof right && !memcmp(value.data, right, sizeof right)
		       ? HEADER_GOOD
		       : HEADER_OTHER;
}

bool header_write(struct store_txn *txn, struct error *err)
{
	uint8_t right[16];

	if (header_look(txn) == HEADER_GOOD)
		return true;
	header_fill(right);
	return store_put(txn, header_key, (struct bytes){right, sizeof right}, err);
}

struct group {
	struct build_step *const *steps;
	size_t count;
	bool stale;
	uint64_t rewritten;
};

static bool write_work(struct store_txn *txn, void *arg, struct error *err)
{
	struct group *group = arg;

	group->stale = false;
	group->rewritten = 0;
	if (!header_write(txn, err))
		return false;
	for (size_t i = 0; i < group->count; i++) {
		bool stale;
		uint64_t rewritten;
		if (!pages_apply(txn, group->steps[i], &stale, &rewritten, err))
			return error_while(err, "storing %s", group->steps[i]->stream->name);
		group->stale |= stale;
		group->rewritten += rewritten;
	}
	return true;
}

bool write_steps(struct index *index, struct build_step *const *steps, size_t count, bool *again,
		 struct error *err)
{
	struct group group = {steps, count, false, 0};

	bool good = store_write(index->store, write_work, &group, err);
	*again = group.stale;
	/* merging costs what is stored, so it pays to merge more at once */
	if (group.rewritten > 2 * index->step_records && index->step_factor < STEP_FACTOR_MAX)
		index->step_factor = index->step_factor * 2;
	return good;
}

bool build_flush(struct index *index, struct error *err)
{
	pthread_mutex_lock(&index->pending_lock);
	struct pending *all = index->pending;
	index->pending = NULL;
	index->npending = 0;
	pthread_mutex_unlock(&index->pending_lock);
	size_t count = 0, i = 0;
	for (struct pending *one = all; one; one = one->next)
		count++;
	if (!count)
		return true;
	struct build_step **steps = mem_new_array(count, sizeof(struct build_step *));
	for (struct pending *one = all; one; one = one->next)
		steps[i++] = &one->step;
	bool again, good = write_steps(index, steps, count, &again, err);
	mem_free(steps);
	for (struct pending *next; all; all = next) {
		next = all->next;
		all->step.record_list = (struct record_list){0}; /* the table's */
		mem_free(all->step.marks);
		buf_release(&all->step.errors);
		mem_free(all);
	}
	return good;
}
