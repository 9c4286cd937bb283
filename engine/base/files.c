/* files.c - see files.h */
#include "engine/base/files.h"

#include <stdatomic.h>
#include <sys/resource.h>

/* LIMIT_MOST is enough; with a limit of a billion, programs that close all descriptors are slow. */
enum { LIMIT_MOST = 1 << 16, LIMIT_USUAL = 1024 };

static atomic_uint taken;
static atomic_uint most; /* 0: not known yet */

static unsigned find_most(void)
{
	struct rlimit limit;
	rlim_t soft = LIMIT_USUAL;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		soft = limit.rlim_cur < LIMIT_MOST ? limit.rlim_cur : LIMIT_MOST;
	return soft > 1 ? (unsigned)soft / 2 : 1;
}

void files_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= LIMIT_MOST)
		return;
	limit.rlim_cur = limit.rlim_max < LIMIT_MOST ? limit.rlim_max : LIMIT_MOST;
	setrlimit(RLIMIT_NOFILE, &limit);
	atomic_store(&most, find_most());
}

bool files_take(void)
{
	unsigned limit = atomic_load(&most);

	if (!limit) {
		limit = find_most();
		atomic_store(&most, limit);
	}
	if (atomic_fetch_add(&taken, 1) < limit)
		return true;
	atomic_fetch_sub(&taken, 1);
	return false;
}

void files_give(void)
{
	atomic_fetch_sub(&taken, 1);
}
