/*
 * large.c - see large.h
 *
 * The table of blocks has a fixed size, since each block is larger than a megabyte and there are
 * few. When it is full, further blocks stay in memory.
 */
#include "engine/base/large.h"

#include "engine/base/budget.h"
#include "engine/base/paged.h"

#include <pthread.h>

enum { MOST = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the table */
static struct paged blocks[MOST];
static unsigned used; /* places; those with bytes NULL are free */
static atomic_size_t limit;

atomic_uint large_count;

void large_limit(size_t anonymous)
{
	atomic_store(&limit, anonymous);
}

/* The index of a block, under the lock; MOST: it is not in the table. */
static unsigned find_block(const void *block)
{
	unsigned i = 0;

	while (i < used && blocks[i].bytes != block)
		i++;
	return i < used ? i : MOST;
}

static bool add_paged(const struct paged *paged)
{
	pthread_mutex_lock(&lock);
	unsigned i = find_block(NULL);
	if (i == MOST && used < MOST)
		i = used++;
	if (i < MOST) {
		blocks[i] = *paged;
		atomic_fetch_add(&large_count, 1);
	}
	pthread_mutex_unlock(&lock);
	return i < MOST;
}

void *large_new(size_t size, bool must)
{
	size_t most = atomic_load_explicit(&limit, memory_order_relaxed);
	struct paged paged = {0};

	if (size < LARGE_LEAST || !most || (!must && memory_used().anonymous + size <= most))
		return NULL;
	if (!paged_map(&paged, size))
		return NULL;
	if (add_paged(&paged))
		return paged.bytes;
	paged_free(&paged);
	return NULL;
}

bool large_find(const void *block)
{
	pthread_mutex_lock(&lock);
	bool found = find_block(block) < MOST;
	pthread_mutex_unlock(&lock);
	return found;
}

size_t large_size(const void *block)
{
	pthread_mutex_lock(&lock);
	size_t size = blocks[find_block(block)].size;
	pthread_mutex_unlock(&lock);
	return size;
}

void *large_resize(void *block, size_t size)
{
	pthread_mutex_lock(&lock);
	struct paged *paged = &blocks[find_block(block)];
	void *bytes = paged_remap(paged, size) ? paged->bytes : NULL;
	pthread_mutex_unlock(&lock);
	return bytes;
}

void large_free(void *block)
{
	pthread_mutex_lock(&lock);
	unsigned i = find_block(block);
	struct paged paged = blocks[i];
	blocks[i] = (struct paged){0};
	atomic_fetch_sub(&large_count, 1);
	pthread_mutex_unlock(&lock);
	paged_free(&paged);
}
