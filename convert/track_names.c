/* track_names.c - a table by kind and number; the names of one come in order of time */
#include "convert/track_names.h"

#include "engine/base/arena.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <string.h>

const char *const track_names_paths[] = {"thread[*]/name", "thread[*]/process", "irq[*]/name",
					 "softirq[*]/name", NULL};
const char *const track_thread_names_paths[] = {"thread[*]/name", NULL};
const char *const track_paths[] = {"cpu[*]/thread",    "cpu[*]/irq",        "cpu[*]/softirq",
				   "cpu[*]/frequency", "thread[*]/syscall", NULL};

struct track_name {
	nstime begin;
	const char *text;
};

struct track_entry {
	enum track_kind kind;
	int64_t key, process;
	struct track_name *names;
	size_t count, capacity;
};

struct track_names {
	struct arena *arena;
	struct track_entry *entries;
	size_t count, capacity;
	struct hash_index index;
};

struct track_names *track_names_new(void)
{
	struct track_names *names = mem_new(sizeof *names);

	names->arena = arena_new();
	return names;
}

void track_names_free(struct track_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->count; i++)
		mem_free(names->entries[i].names);
	mem_free(names->entries);
	hash_index_release(&names->index);
	arena_free(names->arena);
	mem_free(names);
}

static uint32_t place_of(const struct track_names *names, enum track_kind kind, int64_t key)
{
	return hash_index_find(&names->index, hash_number((uint64_t)key * 4 + kind), i,
			       names->entries[i].kind == kind && names->entries[i].key == key);
}

static const struct track_entry *find(const struct track_names *names, enum track_kind kind,
				      int64_t key)
{
	uint32_t place = place_of(names, kind, key);

	return place == HASH_INDEX_NONE ? NULL : &names->entries[place];
}

static struct track_entry *get(struct track_names *names, enum track_kind kind, int64_t key)
{
	uint32_t place = place_of(names, kind, key);

	if (place == HASH_INDEX_NONE) {
		*mem_push(names->entries, names->count, names->capacity) =
			(struct track_entry){.kind = kind, .key = key, .process = -1};
		place = hash_index_add(&names->index, hash_number((uint64_t)key * 4 + kind),
				       names->count - 1);
	}
	return &names->entries[place];
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

static void learn_name(struct track_names *names, enum track_kind kind, int64_t key,
		       const struct interval *interval)
{
	struct track_entry *entry = get(names, kind, key);

	*mem_push(entry->names, entry->count, entry->capacity) = (struct track_name){
		interval->begin,
		arena_strndup(names->arena, interval->value.text, interval->value.len)};
}

bool track_names_learn(struct track_names *names, const struct interval *interval)
{
	static const char *const roots[] = {"thread", "irq", "softirq"};
	const struct value *value = &interval->value;
	const char *rest;
	int64_t key;

	for (unsigned i = 0; i < sizeof roots / sizeof *roots; i++) {
		if (!path_split(interval->path, roots[i], &key, &rest))
			continue;
		if (strcmp(rest, "name") == 0 && value->kind == VALUE_STRING)
			learn_name(names, (enum track_kind)i, key, interval);
		else if (i == TRACK_THREAD && strcmp(rest, "process") == 0 &&
			 value->kind == VALUE_INT)
			get(names, TRACK_THREAD, key)->process = (int64_t)value->u;
		else
			return false;
		return true;
	}
	return false;
}

const char *track_name(const struct track_names *names, enum track_kind kind, int64_t key, nstime t)
{
	const struct track_entry *entry = find(names, kind, key);

	if (!entry || !entry->count)
		return NULL;
	/* the last that begins by then, else the first */
	return entry->names[search_first(i, 1, entry->count, entry->names[i].begin <= t) - 1].text;
}

const char *track_name_at(const struct track_names *names, enum track_kind kind, int64_t key,
			  nstime t)
{
	const struct track_entry *entry = find(names, kind, key);

	return entry && entry->count && entry->names[0].begin <= t ? track_name(names, kind, key, t)
								   : NULL;
}

bool track_next_thread(const struct track_names *names, size_t *at, int64_t *tid)
{
	while (*at < names->count) {
		const struct track_entry *entry = &names->entries[(*at)++];
		if (entry->kind != TRACK_THREAD)
			continue;
		*tid = entry->key;
		return true;
	}
	return false;
}

int64_t track_process(const struct track_names *names, int64_t tid)
{
	const struct track_entry *entry = find(names, TRACK_THREAD, tid);

	return entry ? entry->process : -1;
}
