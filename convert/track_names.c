/* track_names.c - a table by kind and number; the names of one come in order of time */
#include "convert/track_names.h"

#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <string.h>

struct named {
	nstime begin;
	const char *text;
};

struct entry {
	enum track_kind kind;
	int64_t key, process;
	struct named *names;
	size_t count, capacity;
};

struct track_names {
	struct arena *arena;
	struct entry *entries;
	size_t count, capacity;
	uint32_t *places; /* 1 + entry by hash */
	size_t nplaces;
};

struct track_names *track_names_new(void)
{
	struct track_names *names = mem_new(sizeof *names);

	names->arena = arena_new();
	names->nplaces = 1024;
	names->places = mem_new_array(names->nplaces, sizeof *names->places);
	return names;
}

void track_names_free(struct track_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->count; i++)
		mem_free(names->entries[i].names);
	mem_free(names->entries);
	mem_free(names->places);
	arena_free(names->arena);
	mem_free(names);
}

static size_t place_of(const struct track_names *names, enum track_kind kind, int64_t key)
{
	uint64_t hash = ((uint64_t)key * 4 + kind) * 0x9e3779b97f4a7c15u;
	size_t at = (size_t)(hash >> 32) & (names->nplaces - 1);

	while (names->places[at]) {
		const struct entry *entry = &names->entries[names->places[at] - 1];
		if (entry->kind == kind && entry->key == key)
			break;
		at = (at + 1) & (names->nplaces - 1);
	}
	return at;
}

static void grow(struct track_names *names)
{
	mem_free(names->places);
	names->nplaces *= 2;
	names->places = mem_new_array(names->nplaces, sizeof *names->places);
	for (size_t i = 0; i < names->count; i++)
		names->places[place_of(names, names->entries[i].kind, names->entries[i].key)] =
			(uint32_t)i + 1;
}

static const struct entry *find(const struct track_names *names, enum track_kind kind, int64_t key)
{
	uint32_t place = names->places[place_of(names, kind, key)];

	return place ? &names->entries[place - 1] : NULL;
}

static struct entry *get(struct track_names *names, enum track_kind kind, int64_t key)
{
	size_t at = place_of(names, kind, key);

	if (names->places[at])
		return &names->entries[names->places[at] - 1];
	names->entries =
		mem_grow(names->entries, names->count, &names->capacity, sizeof *names->entries);
	names->entries[names->count] = (struct entry){.kind = kind, .key = key, .process = -1};
	names->places[at] = (uint32_t)++names->count;
	if (names->count * 2 > names->nplaces)
		grow(names);
	return &names->entries[names->count - 1];
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
	struct entry *entry = get(names, kind, key);

	entry->names = mem_grow(entry->names, entry->count, &entry->capacity, sizeof *entry->names);
	entry->names[entry->count++] =
		(struct named){interval->begin, arena_strndup(names->arena, interval->value.text,
							      interval->value.len)};
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
	const struct entry *entry = find(names, kind, key);

	if (!entry || !entry->count)
		return NULL;
	/* the last that begins by then, else the first */
	return entry->names[search_first(i, 1, entry->count, entry->names[i].begin <= t) - 1].text;
}

const char *track_name_at(const struct track_names *names, enum track_kind kind, int64_t key,
			  nstime t)
{
	const struct entry *entry = find(names, kind, key);

	return entry && entry->count && entry->names[0].begin <= t ? track_name(names, kind, key, t)
								   : NULL;
}

int64_t track_process(const struct track_names *names, int64_t tid)
{
	const struct entry *entry = find(names, TRACK_THREAD, tid);

	return entry ? entry->process : -1;
}
