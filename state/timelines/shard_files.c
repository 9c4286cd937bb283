/*
 * shard_files.c - the files between pass 1, the merge and pass 2
 *
 *     FILES.pass1-<i>.shard   FILES.start-<i>.shard   FILES.built-<i>.shard
 *     FILES.strayed-0.shard   events lie outside of what packets claim: shards do not count
 *     FILES.plan-0.shard      where shards begin
 *
 * Each is a segment (index/store/segment.h) outside of any catalog. Its name is the part behind
 * FILES, its incarnation the plan's id (of the plan file: the seed, since the id follows from the
 * cuts in it; of a summary with the number of its format added). Its values are a struct shard_note
 * and pieces of the body, with nothing specific to this machine. docs/index-format.md has the keys.
 */
#include "engine/base/mem.h"
#include "index/store/segment.h"
#include "state/slices/names.h"
#include "state/timelines/shards_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { KEY_NOTE = 'a', KEY_BODY = 'b' };
enum { SUMMARY_FORMAT = 1 }; /* raised with shard_summary_bytes.c: files of others do not count */

/* The incarnation of a file of the plan. */
static uint64_t id_of(const struct shards_plan *plan, enum shard_file kind)
{
	return plan->id + (kind == SHARD_SUMMARY ? SUMMARY_FORMAT : 0);
}

const char *shard_file_path(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
			    struct buf *path)
{
	static const char *const names[] = {"pass1", "start",  "built",    "strayed",
					    "plan",  "slices", "manifest", "records"};

	buf_printf(path, "%s.%s-%u.shard", plan->files, names[kind], i);
	return path->data + strlen(plan->files) + 1;
}

/* Random, since machines that share a folder may have equal process ids. */
const char *shard_suffix(char out[SHARD_SUFFIX])
{
	uint64_t random = 0;

	(void)getrandom(&random, sizeof random, 0);
	snprintf(out, SHARD_SUFFIX, "%016llx.new", (unsigned long long)random);
	return out;
}

/* Returns 0, SEGMENT_DAMAGED or an errno. */
static int shard_files_open(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
			    struct segment **out)
{
	struct buf path = {0};
	const char *name = shard_file_path(plan, kind, i, &path);
	int failed = segment_open_read(path.data, name, NULL, out);

	buf_release(&path);
	return failed;
}

static struct bytes body_key(struct name_key *key, uint32_t number)
{
	return name_key_numbers(key, KEY_BODY, &number, 1);
}

static struct bytes note_key(struct name_key *key)
{
	return name_key_numbers(key, KEY_NOTE, NULL, 0);
}

/* Entries of a file by falling key: pieces of the body, and the note. To be freed. */
static struct entry *entries_of(const struct buf *body, const struct shard_note *note,
				struct name_key *keys, size_t count)
{
	struct entry *entries = mem_new_array(count + 1, sizeof *entries);

	entries[count].key = note_key(&keys[count]);
	entries[count].value = (struct bytes){(const uint8_t *)note, sizeof *note};
	for (size_t i = 0; i < count; i++) {
		size_t number = count - 1 - i, at = number * STORE_VALUE, left = body->len - at;

		entries[i].key = body_key(&keys[i], (uint32_t)number);
		entries[i].value = (struct bytes){(const uint8_t *)body->data + at,
						  left < STORE_VALUE ? left : STORE_VALUE};
	}
	return entries;
}

/* Processes may write the same file at once: each writes one of its own and renames it. */
bool shard_file_write(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
		      const struct shard_note *note, const struct buf *bytes, struct error *err)
{
	size_t count = bytes ? (bytes->len + STORE_VALUE - 1) / STORE_VALUE : 0;
	struct shard_note noted = note ? *note : (struct shard_note){0};
	struct name_key *keys = mem_new_array(count + 1, sizeof *keys);
	struct entry *entries = entries_of(bytes, &noted, keys, count);
	struct segment_id id = {.incarnation = id_of(plan, kind), .to = 1};
	struct buf path = {0};
	struct segment_parts parts = {.name = shard_file_path(plan, kind, i, &path),
				      .entries = entries,
				      .count = count + 1};
	char suffix[SHARD_SUFFIX];
	int failed = segment_write(path.data, shard_suffix(suffix), &parts, true, &id);
	if (failed)
		error_set(err, ERR_IO, "%s: %s", path.data, strerror(failed));
	buf_release(&path);
	mem_free(entries);
	mem_free(keys);
	return !failed;
}

/* Reads the whole file, so that a file that counts is known to be undamaged. */
static bool shard_files_read_all(struct segment *segment, struct shard_note *note,
				 struct buf *bytes)
{
	struct name_key key;
	struct entry entry;

	if (!segment_find(segment, note_key(&key), KEY_SAME, &entry) ||
	    entry.value.size != sizeof *note)
		return false;
	if (note)
		memcpy(note, entry.value.data, sizeof *note);
	for (uint32_t i = 0; segment_find(segment, body_key(&key, i), KEY_SAME, &entry); i++)
		if (bytes)
			buf_add(bytes, entry.value.data, entry.value.size);
	return segment_sound(segment);
}

bool shard_file_read(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
		     struct shard_note *note, struct buf *bytes)
{
	struct segment *segment;

	if (shard_files_open(plan, kind, i, &segment))
		return false;
	bool good = segment->id.incarnation == id_of(plan, kind) &&
		    shard_files_read_all(segment, note, bytes);
	segment_close(segment);
	return good;
}

bool shard_file_there(const struct shards_plan *plan, enum shard_file kind, uint32_t i)
{
	struct segment *segment;

	if (shard_files_open(plan, kind, i, &segment))
		return false;
	bool is = segment->id.incarnation == id_of(plan, kind);
	segment_close(segment);
	return is;
}

bool shard_file_may_be(const struct shards_plan *plan, enum shard_file kind, uint32_t i)
{
	struct segment *segment;
	int failed = shard_files_open(plan, kind, i, &segment);

	if (failed)
		return failed != ENOENT;
	bool is = segment->id.incarnation == id_of(plan, kind);
	segment_close(segment);
	return is;
}

void shard_file_remove(const struct shards_plan *plan, enum shard_file kind, uint32_t i)
{
	struct buf path = {0};

	(void)shard_file_path(plan, kind, i, &path);
	unlink(path.data);
	buf_release(&path);
}
