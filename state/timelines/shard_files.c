/*
 * shard_files.c - files that pass 1, the merge and pass 2 leave for one another
 *
 *     PATH.pass1-<i>   PATH.start-<i>   PATH.built-<i>          beside PATH.<i>, the shard's slices
 *     PATH.strayed-0      events lie outside of what packets claim: shards do not count
 *
 *     OFFSET  SIZE  MEANING (numbers little-endian)
 *     0       8     magic "YSHARD2" and a zero
 *     8       4     kind: 0 pass 1, 1 start, 2 built, 3 strayed
 *     12      4     shard
 *     16      8     id of the plan
 *     24      8     events
 *     32      8     hash of the state
 *     40      8     changes
 *     48      8     slices
 *     56      8     bytes
 *     64      8     length of what follows
 *     72      8     its XXH3, the seed being that of the 72 bytes before
 *     80      ...   pass 1: a summary (shard_summary_bytes.c); start: a state (cells_bytes.c);
 *                   built, strayed: nothing
 */
#include "state/timelines/shards_internal.h"

#include "engine/base/cursor.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { HEAD = 80 };

static const char magic[8] = "YSHARD2";

static void path_of(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
		    struct buf *out)
{
	static const char *const names[] = {"pass1", "start", "built", "strayed"};

	buf_printf(out, "%s.%s-%u", plan->path, names[kind], i);
}

static void put(struct buf *out, uint64_t number, unsigned count)
{
	char bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (char)(number >> 8 * i);
	buf_add(out, bytes, count);
}

static uint64_t sum_of(const void *head, const void *bytes, size_t len)
{
	return XXH3_64bits_withSeed(bytes, len, XXH3_64bits(head, HEAD - 8));
}

bool shard_file_write(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
		      const struct shard_note *note, const struct buf *bytes, struct error *err)
{
	struct buf path = {0}, file = {0};
	size_t len = bytes ? bytes->len : 0;
	bool ok;

	path_of(plan, kind, i, &path);
	buf_add(&file, magic, sizeof magic);
	put(&file, kind, 4);
	put(&file, i, 4);
	put(&file, plan->id, 8);
	put(&file, note->events, 8);
	put(&file, note->hash, 8);
	put(&file, note->changes, 8);
	put(&file, note->slices, 8);
	put(&file, note->bytes, 8);
	put(&file, len, 8);
	put(&file, sum_of(file.data, len ? bytes->data : "", len), 8);
	if (len)
		buf_add(&file, bytes->data, len);
	ok = file_write(path.data, &file, err);
	buf_release(&path);
	buf_release(&file);
	return ok;
}

static bool is_whole(struct cursor *in, const struct shards_plan *plan, enum shard_file kind,
		     uint32_t i, struct shard_note *note)
{
	const uint8_t *head = cursor_bytes(in, sizeof magic);
	uint64_t len, hash;

	if (!head || memcmp(head, magic, sizeof magic) || cursor_u32le(in) != kind ||
	    cursor_u32le(in) != i || cursor_u64le(in) != plan->id)
		return false;
	note->events = cursor_u64le(in);
	note->hash = cursor_u64le(in);
	note->changes = cursor_u64le(in);
	note->slices = cursor_u64le(in);
	note->bytes = cursor_u64le(in);
	len = cursor_u64le(in);
	hash = cursor_u64le(in);
	if (in->failed || len != in->size - in->pos)
		return false;
	return hash == sum_of(in->data, in->data + in->pos, (size_t)len);
}

bool shard_file_read(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
		     struct shard_note *note, struct buf *bytes)
{
	struct buf path = {0}, file = {0};
	struct cursor in;
	bool ok;

	path_of(plan, kind, i, &path);
	ok = file_read(path.data, &file);
	in = cursor_over(file.data, file.len);
	ok = ok && file.len >= HEAD && is_whole(&in, plan, kind, i, note);
	if (ok && bytes)
		buf_add(bytes, file.data + HEAD, file.len - HEAD);
	buf_release(&path);
	buf_release(&file);
	return ok;
}

void shard_file_remove(const struct shards_plan *plan, enum shard_file kind, uint32_t i)
{
	struct buf path = {0};

	path_of(plan, kind, i, &path);
	unlink(path.data);
	buf_release(&path);
}
