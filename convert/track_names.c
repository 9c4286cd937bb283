/* track_names.c - see track_names.h */
#include "convert/track_names.h"

#include "engine/base/mem.h"
#include "state/model/spells.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const track_names_paths[] = {"thread[*]/name", "thread[*]/process", "irq[*]/name",
					 "softirq[*]/name", NULL};
const char *const track_thread_names_paths[] = {"thread[*]/name", NULL};
const char *const track_paths[] = {"cpu[*]/thread",    "cpu[*]/irq",        "cpu[*]/softirq",
				   "cpu[*]/frequency", "thread[*]/syscall", NULL};

static const char *const roots[] = {
	[TRACK_THREAD] = "thread", [TRACK_IRQ] = "irq", [TRACK_SOFTIRQ] = "softirq"};

/* Keys of spells are paths with a slash behind: "thread[12]/". */
struct track_names {
	struct spells names;     /* of all kinds; also lists each thread that has a process alone */
	struct spells processes; /* of threads */
};

struct track_names *track_names_new(void)
{
	struct track_names *names = mem_new(sizeof *names);

	names->names.arena = names->processes.arena = arena_new();
	return names;
}

void track_names_free(struct track_names *names)
{
	if (!names)
		return;
	spells_release(&names->names);
	spells_release(&names->processes);
	arena_free(names->names.arena);
	mem_free(names);
}

static const struct spells_thing *find(const struct spells *spells, enum track_kind kind,
				       int64_t key)
{
	char path[48];
	int len = snprintf(path, sizeof path, "%s[%" PRId64 "]/", roots[kind], key);

	return spells_find(spells, path, (size_t)len);
}

bool path_split(const char *path, const char *root, int64_t *key, const char **rest)
{
	size_t len = strlen(root);
	bool negative;

	if (strncmp(path, root, len) != 0 || path[len] != '[')
		return false;
	path += len + 1;
	negative = *path == '-';
	path += negative;
	if (*path < '0' || *path > '9')
		return false;
	for (*key = 0; *path >= '0' && *path <= '9'; path++)
		if (__builtin_mul_overflow(*key, 10, key) ||
		    __builtin_add_overflow(*key, *path - '0', key))
			return false;
	*key = negative ? -*key : *key;
	*rest = path + 2;
	return path[0] == ']' && path[1] == '/';
}

bool track_names_learn(struct track_names *names, const struct interval *interval)
{
	enum value_kind kind = interval->value.kind;
	const char *rest;
	int64_t key;

	for (unsigned i = 0; i < sizeof roots / sizeof *roots; i++) {
		if (!path_split(interval->path, roots[i], &key, &rest))
			continue;
		bool name = strcmp(rest, "name") == 0 && kind == VALUE_STRING;
		bool process = i == TRACK_THREAD && !strcmp(rest, "process") && kind == VALUE_INT;
		size_t len = (size_t)(rest - interval->path);
		if (!name && !process)
			return false;
		struct spells_thing *thing = spells_reach(&names->names, interval->path, len);
		if (process)
			thing = spells_reach(&names->processes, interval->path, len);
		spells_add(name ? &names->names : &names->processes, thing, interval->begin,
			   &interval->value);
		return true;
	}
	return false;
}

static const char *name_in(const struct track_names *names, enum track_kind kind, int64_t key,
			   nstime t, nstime until)
{
	const struct spell *spell = spell_at(find(&names->names, kind, key), t, until);

	return spell ? spell->value.text : NULL;
}

const char *track_name(const struct track_names *names, enum track_kind kind, int64_t key, nstime t)
{
	return name_in(names, kind, key, t, NSTIME_MAX);
}

const char *track_name_at(const struct track_names *names, enum track_kind kind, int64_t key,
			  nstime t)
{
	return name_in(names, kind, key, t, t);
}

bool track_next_thread(const struct track_names *names, size_t *at, int64_t *tid)
{
	const char *rest;

	while (*at < names->names.count)
		if (path_split(names->names.things[(*at)++].path, "thread", tid, &rest))
			return true;
	return false;
}

int64_t track_process(const struct track_names *names, int64_t tid)
{
	const struct spell *last =
		spell_at(find(&names->processes, TRACK_THREAD, tid), NSTIME_MAX, NSTIME_MAX);

	return last ? (int64_t)last->value.u : -1;
}
