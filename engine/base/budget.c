/* budget.c - see budget.h */
#include "engine/base/budget.h"

#include "engine/base/wait.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LOOK_MS = 20, MEGABYTE = 1 << 20 };

/* ---- the memory of the machine and of control groups ---- */

/* The beginning of a small file as text; false: it cannot be read. */
static bool budget_read_text(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, room - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	return true;
}

struct memory_used memory_used(void)
{
	unsigned long long size, resident, shared, code, libraries, data;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char text[256];

	if (!budget_read_text("/proc/self/statm", text, sizeof text) ||
	    sscanf(text, "%llu %llu %llu %llu %llu %llu", &size, &resident, &shared, &code,
		   &libraries, &data) != 6)
		return (struct memory_used){0};
	return (struct memory_used){.anonymous = resident > shared ? (resident - shared) * page : 0,
				    .size = size * page,
				    .data = data * page};
}

/* The number behind `word` in a file, times `unit`; SIZE_MAX: there is none. */
static size_t number_in(const char *path, const char *word, size_t unit)
{
	char text[8192], *at = text, *end;

	if (!budget_read_text(path, text, sizeof text) || !(at = strstr(text, word)))
		return SIZE_MAX;
	at += strlen(word);
	unsigned long long number = strtoull(at, &end, 10);
	return end == at || number > SIZE_MAX / unit ? SIZE_MAX : (size_t)number * unit;
}

/* The memory that a control group has left, counting pages of files as free; SIZE_MAX: no limit. */
static size_t left_in_group(const char *folder, const char *limit, const char *usage)
{
	char path[PATH_MAX + 64];
	size_t most, used, files;

	snprintf(path, sizeof path, "%s/%s", folder, limit);
	most = number_in(path, "", 1);
	snprintf(path, sizeof path, "%s/%s", folder, usage);
	used = number_in(path, "", 1);
	snprintf(path, sizeof path, "%s/memory.stat", folder);
	files = number_in(path, "inactive_file ", 1);
	if (most == SIZE_MAX || used == SIZE_MAX)
		return SIZE_MAX;
	used -= files < used ? files : 0;
	return used < most ? most - used : 0;
}

/* The least that the group `root`/`path` and all groups above it have left. */
static size_t left_in_groups(const char *root, const char *path, const char *limit,
			     const char *usage)
{
	char folder[PATH_MAX];
	size_t least = SIZE_MAX, base = strlen(root);

	snprintf(folder, sizeof folder, "%s%.*s", root, (int)strcspn(path, "\n"), path);
	for (char *slash = folder; slash; slash = strrchr(folder + base, '/')) {
		if (slash != folder)
			*slash = 0;
		size_t left = left_in_group(folder, limit, usage);
		least = left < least ? left : least;
	}
	return least;
}

static size_t left_on_machine(void)
{
	size_t left = number_in("/proc/meminfo", "MemAvailable:", 1024), group = SIZE_MAX;
	char text[8192];
	const char *at;

	if (!budget_read_text("/proc/self/cgroup", text, sizeof text))
		return left;
	if ((at = strstr(text, ":memory:")))
		group = left_in_groups("/sys/fs/cgroup/memory", at + strlen(":memory:"),
				       "memory.limit_in_bytes", "memory.usage_in_bytes");
	else if ((at = strstr(text, "0::")))
		group = left_in_groups("/sys/fs/cgroup", at + strlen("0::"), "memory.max",
				       "memory.current");
	return group < left ? group : left;
}

/* ---- kinds of data that grow ---- */

static struct grown *_Atomic all;

void grown_add(struct grown *grown, long long bytes)
{
	atomic_fetch_add(&grown->bytes, bytes);
	if (atomic_exchange(&grown->listed, true))
		return;
	grown->next = atomic_load(&all);
	while (!atomic_compare_exchange_weak(&all, &grown->next, grown))
		;
}

static const struct grown *largest(void)
{
	const struct grown *best = NULL;

	for (const struct grown *grown = atomic_load(&all); grown; grown = grown->next)
		if (grown->bytes > (best ? best->bytes : MEGABYTE))
			best = grown;
	return best;
}

/* ---- limits of a question ---- */

static struct { /* written between questions */
	size_t anonymous, size, data;
	bool wanted;
} most = {SIZE_MAX, SIZE_MAX, SIZE_MAX, false};

static atomic_bool grew, telling, over;
static _Atomic int64_t looked;
static char text[320]; /* of budget_text(), set when `over` becomes true */

/* The limit less a reserve, for allocations before the next measurement and for the message. */
static size_t near_limit(__rlimit_resource_t resource, size_t used)
{
	struct rlimit limit;
	size_t at, half;

	if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	at = (size_t)limit.rlim_cur - (size_t)limit.rlim_cur / 8;
	half = used < limit.rlim_cur ? used + ((size_t)limit.rlim_cur - used) / 2 : at;
	return at > half ? at : half;
}

void budget_begin(size_t wanted)
{
	struct memory_used used = memory_used();
	size_t left = wanted ? SIZE_MAX : left_on_machine();

	most.wanted = wanted != 0;
	most.anonymous = wanted             ? wanted
			 : left == SIZE_MAX ? SIZE_MAX
					    : used.anonymous + left - left / 8;
	most.size = near_limit(RLIMIT_AS, used.size);
	most.data = near_limit(RLIMIT_DATA, used.data);
	atomic_store(&over, false);
	atomic_store(&telling, false);
	atomic_store(&grew, true);
}

size_t budget_most(void)
{
	return most.data < most.anonymous ? most.data : most.anonymous;
}

void budget_grew(void)
{
	atomic_store_explicit(&grew, true, memory_order_relaxed);
}

static size_t megabytes(size_t bytes)
{
	return (bytes + MEGABYTE - 1) / MEGABYTE;
}

static void put_message(const struct memory_used *used)
{
	const struct grown *grown = largest();
	size_t limit = most.anonymous;
	const char *of = most.wanted ? "memory (--memory)" : "memory, and there is no more";
	int len;

	if (used->size > most.size) {
		limit = most.size;
		of = "address space (ulimit -v)";
	} else if (used->data > most.data) {
		limit = most.data;
		of = "data (ulimit -d)";
	}
	len = snprintf(text, sizeof text, "the question may take %zu MB of %s", megabytes(limit),
		       of);
	if (grown)
		snprintf(text + len, sizeof text - (size_t)len, "; %s take %zu MB", grown->what,
			 megabytes((size_t)grown->bytes));
}

bool budget_is_over(void)
{
	int64_t now = clock_ms();
	struct memory_used used;

	if (!atomic_load_explicit(&grew, memory_order_relaxed) &&
	    now - atomic_load_explicit(&looked, memory_order_relaxed) < LOOK_MS)
		return atomic_load(&over);
	atomic_store(&looked, now);
	atomic_store(&grew, false);
	used = memory_used();
	if ((used.anonymous > most.anonymous || used.size > most.size || used.data > most.data) &&
	    !atomic_exchange(&telling, true)) {
		put_message(&used);
		atomic_store(&over, true);
	}
	return atomic_load(&over);
}

const char *budget_text(void)
{
	return text;
}
