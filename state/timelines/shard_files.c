/*
 * shard_files.c - files that pass 1, the merge and pass 2 leave for one another
 *
 *     PATH.pass1-<i>   PATH.start-<i>   PATH.built-<i>          beside PATH.<i>, the shard's slices
 *     PATH.strayed-0      events lie outside of what packets claim: shards do not count
 *     PATH.plan-0         where shards begin
 *
 *     OFFSET  SIZE  MEANING (numbers little-endian)
 *     0       8     magic "YSHARD2" and a zero
 *     8       4     kind: 0 pass 1, 1 start, 2 built, 3 strayed, 4 plan
 *     12      4     shard
 *     16      8     id of the plan; of the rules, in the plan itself
 *     24      8     events
 *     32      8     extent of the trace's files
 *     40      8     changes
 *     48      8     slices
 *     56      8     bytes
 *     64      8     length of what follows
 *     72      8     its XXH3, the seed being that of the 72 bytes before
 *     80      ...   pass 1: a summary (shard_summary_bytes.c); start: a state (cells_bytes.c);
 *                   built, strayed: nothing; plan: where shards begin and the last one ends, 8 each
 */
#include "state/timelines/shards_internal.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

struct head { /* as it is stored */
	char magic[8];
	uint32_t kind, shard;
	uint64_t plan;
	struct shard_note note;
	uint64_t size, sum;
};
_Static_assert(sizeof(struct head) == 80, "nothing lies between");

static char *path_of(const struct shards_plan *plan, enum shard_file kind, uint32_t i)
{
	static const char *const names[] = {"pass1", "start", "built", "strayed", "plan"};
	struct buf path = {0};

	buf_printf(&path, "%s.%s-%u", plan->path, names[kind], i);
	return path.data;
}

static uint64_t sum_of(const struct head *head, const void *bytes)
{
	return XXH3_64bits_withSeed(bytes, head->size,
				    XXH3_64bits(head, offsetof(struct head, sum)));
}

bool shard_file_write(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
		      const struct shard_note *note, const struct buf *bytes, struct error *err)
{
	struct head head = {"YSHARD2", kind, i, plan->id, {0}, bytes ? bytes->len : 0, 0};
	char *path = path_of(plan, kind, i);
	struct buf file = {0};
	bool ok;

	if (note)
		head.note = *note;
	head.sum = sum_of(&head, head.size ? bytes->data : "");
	buf_add(&file, &head, sizeof head);
	if (head.size)
		buf_add(&file, bytes->data, bytes->len);
	ok = file_write(path, &file, err);
	mem_free(path);
	buf_release(&file);
	return ok;
}

static bool is_whole(const struct buf *file, const struct shards_plan *plan, enum shard_file kind,
		     uint32_t i, struct shard_note *note)
{
	struct head head;

	if (file->len < sizeof head)
		return false;
	memcpy(&head, file->data, sizeof head);
	if (memcmp(head.magic, "YSHARD2", sizeof head.magic) || head.kind != kind ||
	    head.shard != i || head.plan != plan->id || head.size != file->len - sizeof head ||
	    head.sum != sum_of(&head, file->data + sizeof head))
		return false;
	if (note)
		*note = head.note;
	return true;
}

bool shard_file_read(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
		     struct shard_note *note, struct buf *bytes)
{
	char *path = path_of(plan, kind, i);
	struct buf file = {0};
	bool ok = file_read(path, &file) && is_whole(&file, plan, kind, i, note);

	if (ok && bytes)
		buf_add(bytes, file.data + sizeof(struct head), file.len - sizeof(struct head));
	mem_free(path);
	buf_release(&file);
	return ok;
}

void shard_file_remove(const struct shards_plan *plan, enum shard_file kind, uint32_t i)
{
	char *path = path_of(plan, kind, i);

	unlink(path);
	mem_free(path);
}
