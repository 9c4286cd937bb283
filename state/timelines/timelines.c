/*
 * timelines.c - where timelines are kept, and the manifest that makes shards one store
 *
 *     INDEX.timelines-<rules>       the store, or the manifest
 *     INDEX.timelines-<rules>.<i>   shard i
 *
 * The manifest is text: "yore-timelines 2", "trace EXTENT", "rules HASH HASH", then per shard
 * "shard I PATH BEGIN END FIRST-EVENT CHANGES SLICES START-HASH END-HASH", and "sum" of all before.
 * Each shard begins where the one before ends, and with the state that it ended with.
 */
#include "state/timelines/timelines.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "index/tables/identity.h"
#include "index/tables/location.h"
#include "state/slices/build.h"
#include "state/timelines/shards.h"
#include "state/timelines/stored.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { LANGUAGE_VERSION = 3, PATH_ROOM = 4096 };

static const char first_line[] = "yore-timelines 2\n", sum_line[] = "sum %016" PRIx64 "\n";
enum { SUM_LINE = 4 + 16 + 1 };

struct timelines_key timelines_key_of(const struct rules *rules, const struct trace *trace)
{
	struct timelines_key key = {.extent = trace->nsources};

	rules_identity(rules, key.rules);
	key.rules[0] ^= LANGUAGE_VERSION;
	for (size_t i = 0; i < trace->nsources; i++) {
		uint64_t both[2] = {key.extent, source_size(trace->sources[i])};

		key.bytes += both[1];
		key.extent = XXH3_64bits(both, sizeof both);
	}
	return key;
}

/* ---- the manifest ---- */

static void put_manifest(const struct timelines_key *key, const struct timelines_shard *shards,
			 size_t count, struct buf *out)
{
	buf_add_text(out, first_line);
	buf_printf(out, "trace %016" PRIx64 "\nrules %016" PRIx64 " %016" PRIx64 "\n", key->extent,
		   key->rules[0], key->rules[1]);
	for (size_t i = 0; i < count; i++)
		buf_printf(out,
			   "shard %zu %s %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64
			   " %u %016" PRIx64 " %016" PRIx64 "\n",
			   i, shards[i].path, shards[i].begin, shards[i].end, shards[i].first_event,
			   shards[i].changes, shards[i].slices, shards[i].start_hash,
			   shards[i].end_hash);
}

bool timelines_write_manifest(const char *path, const struct timelines_key *key,
			      const struct timelines_shard *shards, size_t count, struct error *err)
{
	struct buf text = {0};
	bool ok;

	for (size_t i = 1; i < count; i++)
		if (shards[i].start_hash != shards[i - 1].end_hash ||
		    shards[i].begin != shards[i - 1].end)
			return error_set(
				err, ERR_FORMAT,
				"timelines: shard %zu does not begin as the one before ends", i);
	put_manifest(key, shards, count, &text);
	buf_printf(&text, sum_line, XXH3_64bits(text.data, text.len));
	ok = file_write(path, &text, err);
	buf_release(&text);
	return ok;
}

/* One line; path has PATH_ROOM bytes. */
static bool shard_line(const char *line, size_t i, char *path, struct timelines_shard *out)
{
	size_t number;

	*out = (struct timelines_shard){.path = path};
	return sscanf(line,
		      "shard %zu %4095s %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNu64 " %u %" SCNx64
		      " %" SCNx64,
		      &number, path, &out->begin, &out->end, &out->first_event, &out->changes,
		      &out->slices, &out->start_hash, &out->end_hash) == 9 &&
	       number == i;
}

/* False: it is of no use; stored->damaged: it was. */
static bool add_shard(struct stored *stored, const char *path, nstime begin, uint64_t extent)
{
	struct timelines_built built;
	struct stored_shard shard = {.begin = begin};
	struct error ignored;
	bool remade, ok;

	if (access(path, R_OK) != 0)
		return false;
	if (!store_open(path, &shard.store, &remade, &ignored)) {
		stored->damaged = true;
		return false;
	}
	ok = !remade && timelines_complete(shard.store, extent, &built);
	if (ok &&
	    !shard_open(shard.store, built.slices, stored->state->attrs, &shard.shard, &ignored)) {
		stored->damaged = true;
		ok = false;
	}
	if (!ok) {
		stored->damaged |= remade || store_damaged(shard.store);
		store_close(shard.store);
		return false;
	}
	timelines_tell_damage(shard.store, stored->state->event_source);
	shard.path = mem_strdup(path);
	stored->items = mem_resize(stored->items, stored->count + 1, sizeof *stored->items);
	stored->items[stored->count++] = shard;
	return true;
}

static char *beside(const char *manifest, const char *name)
{
	const char *slash = strrchr(manifest, '/');
	struct buf path = {0};

	if (name[0] != '/' && slash)
		buf_add(&path, manifest, (size_t)(slash - manifest) + 1);
	buf_add_text(&path, name);
	return path.data;
}

static bool same_key(FILE *file, const struct timelines_key *key)
{
	uint64_t extent, rules[2];

	return fscanf(file, "trace %" SCNx64 "\nrules %" SCNx64 " %" SCNx64 "\n", &extent,
		      &rules[0], &rules[1]) == 3 &&
	       extent == key->extent && rules[0] == key->rules[0] && rules[1] == key->rules[1];
}

static bool read_shards(struct stored *stored, const char *manifest, FILE *file,
			const struct timelines_key *key)
{
	char *line = mem_new(PATH_ROOM + 512), *path = mem_new(PATH_ROOM);
	struct timelines_shard shard, last = {0};
	bool ok = fgets(line, PATH_ROOM + 512, file) && same_key(file, key);

	for (size_t i = 0; ok && fgets(line, PATH_ROOM + 512, file); i++) {
		ok = shard_line(line, i, path, &shard) &&
		     (i ? shard.begin == last.end && shard.start_hash == last.end_hash
			: shard.begin == NSTIME_MIN);
		if (ok) {
			char *name = beside(manifest, path);
			ok = add_shard(stored, name, shard.begin, key->extent);
			mem_free(name);
		}
		last = shard;
	}
	mem_free(line);
	mem_free(path);
	return ok && stored->count && last.end == NSTIME_MAX;
}

/* Is the last line the checksum of those before it? It is cut off. */
static bool is_whole(struct buf *text)
{
	size_t len = text->len > SUM_LINE ? text->len - SUM_LINE : 0;
	char sum[SUM_LINE + 1];

	snprintf(sum, sizeof sum, sum_line, XXH3_64bits(text->data, len));
	if (!len || memcmp(text->data + len, sum, SUM_LINE) != 0)
		return false;
	text->len = len;
	return true;
}

/* 1: a manifest, read; 0: it is none; -1: it is of no use. */
static int read_manifest(struct stored *stored, const char *path, const struct timelines_key *key)
{
	struct buf text = {0};
	FILE *file = NULL;
	int result = 0;

	if (!timelines_is_manifest(path))
		return 0;
	stored->manifest = mem_strdup(path);
	if (!file_read(path, &text) || !is_whole(&text)) {
		stored->damaged = true;
		result = -1;
	} else if (text.len < sizeof first_line ||
		   memcmp(text.data, first_line, sizeof first_line - 1) != 0) {
		result = -1;
	} else {
		file = fmemopen(text.data, text.len, "r");
		result = file && read_shards(stored, path, file, key) ? 1 : -1;
	}
	if (file)
		fclose(file);
	buf_release(&text);
	return result;
}

bool timelines_is_manifest(const char *path)
{
	static const char begins[] = "yore-timelines ";
	char head[sizeof begins] = "";
	FILE *file = fopen(path, "re");
	bool is = file && fgets(head, sizeof head, file) && !strcmp(head, begins);

	if (file)
		fclose(file);
	return is;
}

/* ---- of a state ---- */

char *timelines_path(struct state *state)
{
	const char *index = state->index ? index_path(state->index) : NULL;
	struct timelines_key key;
	struct buf path = {0};

	if (state->timelines)
		return mem_strdup(state->timelines);
	if (!index)
		return NULL;
	key = timelines_key_of(state->options.rules, state->event_source->trace);
	buf_printf(&path, "%s.timelines-%016" PRIx64, index, key.rules[0]);
	return path.data;
}

/*
 * A mark among the index's values, which go when the trace turns out to be another: without it a
 * store is of what was there before.
 */
static struct buf mark_of(const struct state *state)
{
	struct timelines_key key =
		timelines_key_of(state->options.rules, state->event_source->trace);
	struct buf mark = {0};

	buf_add_text(&mark, "timelines");
	buf_add(&mark, key.rules, sizeof key.rules);
	return mark;
}

bool timelines_prepared(struct state *state)
{
	void *value = NULL;
	struct buf mark;
	size_t size;
	bool any;

	if (!state->index || state->timelines)
		return true;
	mark = mark_of(state);
	any = index_get(state->index, mark.data, mark.len, &value, &size);
	if (any)
		mem_free(value);
	buf_release(&mark);
	return any;
}

bool timelines_prepare(struct state *state, const char *path, struct error *err)
{
	struct buf mark;
	bool ok;

	stored_close(state->stored);
	state->stored = NULL;
	state->stored_looked = false;
	if (timelines_prepared(state))
		return true;
	mark = mark_of(state);
	ok = timelines_remove(path, err) &&
	     index_put(state->index, mark.data, mark.len, "", 1, err);
	buf_release(&mark);
	return ok;
}

bool timelines_build(struct state *state, unsigned threads, struct timelines_built *out,
		     struct error *err)
{
	struct timelines_part part = {
		.event_source = state->event_source,
		.program = state->program,
		.of = 1,
		.begin = NSTIME_MIN,
		.end = NSTIME_MAX,
		.key = timelines_key_of(state->options.rules, state->event_source->trace),
		.thread = threads > 1,
		.least = state->timelines_least};
	char *path;
	bool ok;

	if (threads > 2)
		return shards_build_all(state, threads, out, err);
	path = timelines_path(state);
	if (!path)
		return error_set(err, ERR_IO, "timelines need an index that is kept");
	part.path = path;
	ok = timelines_prepare(state, path, err) && timelines_build_part(&part, out, err);
	mem_free(path);
	return ok;
}

/* A file that is damaged lost its name when that was found: see index/store/store.c. */
static void drop(struct stored *stored)
{
	struct state *state = stored->state;
	char *path = timelines_path(state);

	notice(&state->options.notices, NOTICE_INFO,
	       "%s: was damaged, the trace is asked instead; 'yore index --timelines' makes it "
	       "anew",
	       path);
	for (size_t i = 0; i < stored->count; i++)
		if (stored->items[i].shard && shard_is_damaged(stored->items[i].shard))
			unlink(stored->items[i].path);
	if (stored->manifest)
		unlink(stored->manifest);
	stored_close(stored);
	mem_free(path);
}

bool stored_drop_damaged(struct state *state)
{
	struct stored *stored = state->stored;

	if (!stored || !stored->damaged)
		return false;
	state->stored = NULL;
	drop(stored);
	return true;
}

struct stored *stored_of(struct state *state)
{
	struct timelines_key key;
	struct stored *stored;
	char *path;
	int manifest;

	if (state->stored_looked)
		return state->stored;
	state->stored_looked = true;
	path = timelines_path(state);
	if (!path || access(path, R_OK) != 0) {
		mem_free(path);
		return NULL;
	}
	key = timelines_key_of(state->options.rules, state->event_source->trace);
	stored = mem_new(sizeof *stored);
	stored->state = state;
	manifest = timelines_prepared(state) ? read_manifest(stored, path, &key) : -1;
	if (manifest == 1 || (manifest == 0 && add_shard(stored, path, NSTIME_MIN, key.extent)))
		state->stored = stored;
	else if (stored->damaged)
		drop(stored);
	else
		stored_close(stored);
	mem_free(path);
	return state->stored;
}

bool timelines_there(struct state *state)
{
	return stored_of(state) != NULL;
}

void stored_close(struct stored *stored)
{
	if (!stored)
		return;
	for (size_t i = 0; i < stored->count; i++) {
		mem_free(stored->items[i].path);
		shard_close(stored->items[i].shard);
		store_close(stored->items[i].store);
	}
	mem_free(stored->items);
	mem_free(stored->manifest);
	mem_free(stored);
}

bool stored_begin(struct stored *stored, struct error *err)
{
	for (size_t i = 0; i < stored->count; i++)
		if (!shard_begin(stored->items[i].shard, err)) {
			while (i-- > 0)
				shard_end(stored->items[i].shard);
			stored->damaged = true;
			return false;
		}
	return true;
}

void stored_end(struct stored *stored)
{
	for (size_t i = 0; i < stored->count; i++)
		stored->damaged |= !shard_end(stored->items[i].shard);
}

size_t stored_shard_at(const struct stored *stored, nstime t)
{
	return nstime_last(stored->items, stored->count, sizeof *stored->items, t);
}

/* ---- removing ---- */

/* Everything whose name begins like it. */
bool timelines_remove(const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	struct folder_names names;
	struct error ignored;
	struct buf folder = {0};
	bool ok = true;

	buf_add(&folder, path, slash ? (size_t)(slash - path) : 0);
	if (!folder.len)
		buf_add_text(&folder, slash ? "/" : ".");
	if (!folder_list(folder.data, &names, &ignored)) {
		buf_release(&folder);
		return true;
	}
	const char *base = slash ? slash + 1 : path;
	for (size_t i = 0; i < names.count && ok; i++) {
		char *file;

		if (strncmp(names.items[i], base, strlen(base)) != 0)
			continue;
		file = folder_join(folder.data, names.items[i]);
		if (unlink(file) != 0 && errno != ENOENT)
			ok = error_set(err, ERR_IO, "%s: %s", file, strerror(errno));
		mem_free(file);
	}
	folder_release(&names);
	buf_release(&folder);
	return ok;
}

bool timelines_drop(struct trace *trace, const struct index_options *options, struct error *err)
{
	char name[IDENTITY_NAME];
	struct buf prefix = {0};
	char *path;
	bool ok = true;

	identity_name(trace, name);
	path = index_location(options, name);
	if (path) {
		buf_printf(&prefix, "%s.timelines-", path);
		ok = timelines_remove(prefix.data, err);
	}
	buf_release(&prefix);
	mem_free(path);
	return ok;
}
