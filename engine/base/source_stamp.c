/*
 * source_stamp.c - stamps, by which stored data is told to be of a file as it is now
 *
 * A file that changes twice within the resolution of its times keeps its stamp. So a stamp is final
 * only if it was taken so much later than the file's times that a further change would differ.
 */
#include "engine/base/mem.h"
#include "engine/base/source_internal.h"
#include "engine/base/wait.h"

#include <string.h>
#include <time.h>

enum {
	TICK_NS = 11000000,    /* resolution of file times, for a kernel with 100 ticks a second */
	COARSE_NS = 2000000000 /* the same of file systems that store whole seconds */
};

void source_take_stamp(struct source *source, const struct stat *st)
{
	struct source_stamp *stamp = &source->stamp;

	stamp->size = (uint64_t)st->st_size;
	stamp->inode = st->st_ino;
	stamp->modified = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	stamp->changed = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
	source->newest = stamp->modified > stamp->changed ? stamp->modified : stamp->changed;
	source->looked = clock_ns(CLOCK_REALTIME);
}

/* How long after the file time `t` a change of the file is sure to get another time. */
static int64_t tick_of(int64_t t)
{
	return t % 1000000000 ? TICK_NS : COARSE_NS;
}

static bool is_stamp_final(const struct source *source)
{
	return source->looked - source->newest >= tick_of(source->newest);
}

bool source_goes_on(const struct source *source, const struct source *then)
{
	const struct source_stamp *a = &source->stamp, *b = &then->stamp;

	return a->inode && a->inode == b->inode && a->size >= b->size;
}

bool source_stamp(const struct source *source, struct source_stamp *out)
{
	*out = source->stamp;
	return source->newest && is_stamp_final(source);
}

void source_made_of(struct source *source, const struct source *from)
{
	source->stamp = from->stamp;
	source->looked = from->looked;
	source->newest = from->newest;
	mem_free(source->made_of);
	source->made_of = mem_strdup(from->made_of ? from->made_of : from->name);
}

void source_beside(struct source *source, const struct source_stamp *beside)
{
	const uint64_t words[5] = {beside->size, beside->inode, (uint64_t)beside->modified,
				   (uint64_t)beside->changed, beside->beside};
	uint64_t fold = source->stamp.beside + 1;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		fold = (fold ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		fold ^= fold >> 29;
	}
	source->stamp.beside = fold;
}

/* Takes the stamp again: if it is the same, it is as final as a stamp taken now. */
static void look_again(struct source *source)
{
	struct source now = {0};
	struct stat st;

	if (stat(source->made_of ? source->made_of : source->name, &st) != 0)
		return;
	source_take_stamp(&now, &st);
	now.stamp.beside = source->stamp.beside;
	if (!memcmp(&now.stamp, &source->stamp, sizeof now.stamp))
		source->looked = now.looked;
}

void sources_wait_tick(struct source *const *sources, size_t count)
{
	int64_t now = clock_ns(CLOCK_REALTIME), wait = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t left = sources[i]->newest + TICK_NS - now;
		if (sources[i]->newest && left > wait && left <= TICK_NS)
			wait = left;
	}
	if (wait)
		nanosleep(&(struct timespec){.tv_nsec = (long)wait}, NULL);
	/* also of files whose tick ended after their stamp was taken */
	for (size_t i = 0; i < count; i++)
		if (sources[i]->newest && !is_stamp_final(sources[i]))
			look_again(sources[i]);
}
