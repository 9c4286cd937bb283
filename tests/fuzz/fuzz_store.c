/*
 * fuzz_store.c - damages the stored files of a trace: answers must stay those of the trace
 *
 * The first input builds index, checkpoints and timelines of a small trace, whole and in shards,
 * and computes the true answers without these files. An input is a list of edits of them:
 *
 *     OFFSET  SIZE  MEANING
 *     0       1     which file, modulo their number
 *     1       1     modulo 5: 0 flip a bit, 1 put bytes, 2 cut, 3 copy a page, 4 fill a page
 *     2       4     where, modulo the file's size
 *     6       1     the bit; how many bytes follow, 16 at most; how many pages further on
 *     7       ...   bytes that are put
 *
 * The edited files are put into a folder, opened and queried.
 */
#include "engine/base/mem.h"
#include "index/events.h"
#include "state/timelines/shards.h"
#include "state/state.h"
#include "state/timelines/timelines.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 64, MOMENTS = 5, KINDS = 3, PAGE = 4096, EDIT_HEAD = 7, PUT_MOST = 16, SHARDS = 2 };

struct stored {
	char name[256];
	uint8_t *bytes, *edited;
	size_t size, now;
};

struct said { /* hashes of all events, and of the state at some moments */
	uint64_t events, state;
	bool ok;
};

static char folder[] = "/tmp/yore-fuzz-store-XXXXXX";
static struct stored files[KINDS][FILES]; /* tables and checkpoints; with timelines; in shards */
static size_t counts[KINDS];
static struct said truth;

static void require(bool promise, const char *what)
{
	if (promise)
		return;
	fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

static void say(void *arg, enum notice_kind kind, const char *text)
{
	(void)arg;
	(void)kind;
	require(text[0] && !strchr(text, '\n'), "a message is one line");
}

static struct trace *open_trace(void)
{
	const char *path = getenv("YORE_FUZZ_TRACE");
	struct trace_options options = {.paths = &path, .npaths = 1, .notices = {.say = say}};
	struct error err = {0};
	struct trace *trace;

	if (!path)
		path = FUZZ_TRACE;
	require(trace_open(&options, &trace, &err), err.text);
	return trace;
}

static struct state *open_state(struct index *index, struct rules *rules, bool stored)
{
	struct state_options options = {
		.rules = rules, .notices = {.say = say}, .no_checkpoints = !stored};
	struct error err = {0};
	struct state *state;

	require(rules_add_builtins(rules, index_trace(index), &err) && rules_check(rules, &err), err.text);
	require(state_open(index, &options, &state, &err), err.text);
	return state;
}

static bool hash_events(struct index *index, uint64_t *hash, struct error *err)
{
	struct events_options all = {.begin = NSTIME_MIN, .end = NSTIME_MAX, .losses = true};
	struct events *events;
	struct event event;
	enum step step;

	*hash = 0;
	if (!events_open(index, &all, &events, err))
		return false;
	while ((step = events_next(events, &event, err)) == STEP_ITEM) {
		uint64_t item[3] = {*hash, (uint64_t)event.time,
				    event.class ? event.class->id : UINT64_MAX};
		*hash = XXH3_64bits(item, sizeof item);
	}
	events_close(events);
	return step == STEP_END;
}

static bool hash_state(struct state *state, uint64_t *hash, struct error *err)
{
	struct moment moments[MOMENTS];
	struct answers answers;
	nstime first, last;

	*hash = 0;
	if (!events_range(state_index(state), &first, &last, err))
		return false;
	for (int i = 0; i < MOMENTS; i++)
		moments[i] = (struct moment){first + (last - first) * i / (MOMENTS - 1), i % 2};
	if (!state_at(state, moments, MOMENTS, NULL, 0, false, &answers, err))
		return false;
	for (size_t i = 0; i < answers.count; i++) {
		const struct answer *answer = &answers.items[i];
		uint64_t item[4] = {*hash, (uint64_t)answer->t, (uint64_t)answer->since,
				    answer->value.kind};
		*hash = XXH3_64bits_withSeed(answer->path, strlen(answer->path),
					     XXH3_64bits(item, sizeof item));
		if (answer->value.kind == VALUE_STRING)
			*hash = XXH3_64bits_withSeed(answer->value.text, answer->value.len, *hash);
		else if (answer->value.kind == VALUE_INT)
			*hash = XXH3_64bits_withSeed(&answer->value.u, sizeof answer->value.u,
						     *hash);
	}
	answers_release(&answers);
	return true;
}

/* Queries everything; `build` stores files before that. */
static struct said ask(bool stored, void (*build)(struct index *index, struct state *state))
{
	struct index_options options = {
		.dir = folder, .none = !stored, .jobs = 1, .notices = {.say = say}};
	struct trace *trace = open_trace();
	struct rules *rules = rules_new();
	struct error err = {0};
	struct index *index;
	struct said said = {0};

	require(index_open(trace, &options, &index, &err), err.text);
	struct state *state = open_state(index, rules, stored);
	if (build)
		build(index, state);
	said.ok = hash_events(index, &said.events, &err) && hash_state(state, &said.state, &err);
	if (!said.ok)
		fprintf(stderr, "%s\n", err.text);
	state_close(state);
	rules_free(rules);
	index_close(index);
	trace_close(trace);
	return said;
}

static void build_tables(struct index *index, struct state *state)
{
	struct error err = {0};

	(void)state;
	require(index_build(index, &err), err.text);
}

static void build_timelines(struct index *index, struct state *state)
{
	struct timelines_built built;
	struct error err = {0};

	build_tables(index, state);
	require(timelines_build(state, 1, &built, &err), err.text);
}

/* Builds one shard completely, and only the state before the other. */
static void build_shards(struct index *index, struct state *state)
{
	struct shards_plan plan = {0};
	struct timelines_built built;
	struct error err = {0};
	uint64_t replayed;
	bool ok;

	build_tables(index, state);
	ok = shards_plan(state, SHARDS, &plan, &err);
	struct shards_work work = shards_work_of(state, &plan);
	for (uint32_t i = 0; ok && i + 1 < SHARDS; i++)
		ok = shards_summarize(&work, i, &err);
	ok = ok && shards_merge(&work, 0, &replayed, &err) && shards_build(&work, 1, &built, &err);
	require(ok, err.text);
	shards_plan_release(&plan);
}

static void each_file(void (*what)(const char *path, const char *name, void *arg), void *arg)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[sizeof folder + 257];

	require(dir, "the folder is there");
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		what(path, entry->d_name, arg);
	}
	closedir(dir);
}

static void drop(const char *path, const char *name, void *arg)
{
	(void)name;
	(void)arg;
	unlink(path);
}

static void leave(void)
{
	each_file(drop, NULL);
	rmdir(folder);
}

static void take(const char *path, const char *name, void *arg)
{
	size_t *kind = arg;
	struct stored *file = &files[*kind][counts[*kind]];
	struct stat about;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	require(fd >= 0 && fstat(fd, &about) == 0, "a stored file can be read");
	if (about.st_size && counts[*kind] < FILES && !strstr(name, "lock")) {
		snprintf(file->name, sizeof file->name, "%s", name);
		file->size = (size_t)about.st_size;
		file->bytes = mem_new(file->size);
		file->edited = mem_new(file->size);
		require(read(fd, file->bytes, file->size) == (ssize_t)file->size, "it is whole");
		counts[*kind]++;
	}
	close(fd);
}

static void prepare(void)
{
	void (*builds[KINDS])(struct index *, struct state *) = {build_tables, build_timelines,
								 build_shards};

	require(mkdtemp(folder), "there is a folder");
	atexit(leave);
	truth = ask(false, NULL);
	require(truth.ok, "the trace answers");
	for (size_t kind = 0; kind < KINDS; kind++) {
		ask(true, builds[kind]);
		each_file(take, &kind);
		each_file(drop, NULL);
		require(counts[kind] > 0, "something is stored");
	}
}

static void edit(struct stored *file, uint8_t what, uint32_t where, uint8_t more,
		 const uint8_t *bytes, size_t nbytes)
{
	size_t at = file->now ? where % file->now : 0, page = at - at % PAGE;
	size_t to = page + (size_t)more * PAGE;

	if (!file->now)
		return;
	switch (what % 5) {
	case 0:
		file->edited[at] ^= (uint8_t)(1u << more % 8);
		break;
	case 1:
		memcpy(file->edited + at, bytes, nbytes < file->now - at ? nbytes : file->now - at);
		break;
	case 2:
		file->now = at;
		break;
	case 3:
		if (to + PAGE <= file->now)
			memmove(file->edited + to, file->edited + page, PAGE);
		break;
	default:
		memset(file->edited + page, more,
		       file->now - page < PAGE ? file->now - page : PAGE);
	}
}

static void edit_all(struct stored *kind, size_t count, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		memcpy(kind[i].edited, kind[i].bytes, kind[i].size);
		kind[i].now = kind[i].size;
	}
	while (size >= EDIT_HEAD) {
		size_t put = data[1] % 5 == 1 ? data[6] % (PUT_MOST + 1) : 0;
		uint32_t where;

		memcpy(&where, data + 2, sizeof where);
		put = put < size - EDIT_HEAD ? put : size - EDIT_HEAD;
		edit(&kind[data[0] % count], data[1], where, data[6], data + EDIT_HEAD, put);
		data += EDIT_HEAD + put;
		size -= EDIT_HEAD + put;
	}
}

static void lay_out(const struct stored *kind, size_t count)
{
	char path[sizeof folder + 257];

	each_file(drop, NULL);
	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, kind[i].name);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		require(fd >= 0 && write(fd, kind[i].edited, kind[i].now) == (ssize_t)kind[i].now,
			"a file can be written");
		close(fd);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool prepared;
	struct said said;
	size_t kind;

	if (!prepared)
		prepare();
	prepared = true;
	if (size < 1)
		return 0;
	kind = data[0] % KINDS;
	edit_all(files[kind], counts[kind], data + 1, size - 1);
	lay_out(files[kind], counts[kind]);
	for (int again = 0; again < 2; again++) { /* the second time with what the first one left */
		said = ask(true, NULL);
		require(said.ok, "a damaged store is no error");
		require(said.events == truth.events, "events are those of the trace");
		require(said.state == truth.state, "the state is that of the trace");
	}
	return 0;
}
