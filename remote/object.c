/* object.c - see object.h */
#include "remote/object.h"

#include "engine/base/bitset.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "remote/request.h"
#include "remote/waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	BLOCK = 1 << 10,   /* a packet's header and its first events */
	FIRST = 32 << 10,  /* bytes that opening fetches: metadata and packet heads are there */
	RANGE_MOST = 1024, /* most blocks of one request */
	COMPARED = 64      /* blocks whose sums are compared with one read */
};

enum state { ABSENT, COMING, THERE, FAILED };

struct remote_object {
	struct buf url, shown, tag;
	bool s3, changed;
	uint64_t size, nblocks;
	int fd;
	uint64_t *sums;  /* mapped .sums file */
	uint8_t *states; /* enum state; protected by waiting.lock */
	struct waiting waiting;
	size_t under_way;     /* requests */
	struct error failure; /* of the last failed request */
};

struct range_request {
	struct request request;
	struct remote_object *object;
	uint64_t block;
};

static uint64_t object_bytes_of(const struct remote_object *object, uint64_t block)
{
	uint64_t left = object->size - block * BLOCK;

	return left < BLOCK ? left : BLOCK;
}

/* Never 0, which means that a block is not cached. */
static uint64_t sum_of(const void *bytes, size_t size)
{
	return XXH3_64bits(bytes, size) | 1;
}

/* ---- blocks that are kept ---- */

/*
 * Caches the blocks of `size` bytes; needs the lock. The bytes are written before their sums, since
 * other processes may read both at once.
 */
static void keep_blocks(struct remote_object *object, uint64_t block, const uint8_t *bytes,
			uint64_t size)
{
	bool good = file_put_at(object->fd, bytes, (size_t)size, block * BLOCK);

	if (!good)
		error_set(&object->failure, ERR_IO, "%s: keeping what was fetched: %s",
			  buf_text(&object->shown), strerror(errno));
	for (uint64_t at = 0; at < size; at += BLOCK, block++) {
		uint64_t sum = sum_of(bytes + at, (size_t)object_bytes_of(object, block));
		if (good)
			__atomic_store_n(&object->sums[block], sum, __ATOMIC_RELEASE);
		object->states[block] = good ? THERE : FAILED;
	}
}

/* Which of blocks [first, end) are cached, by any process, and undamaged? Needs the lock. */
static void find_kept(struct remote_object *object, uint64_t first, uint64_t end)
{
	uint8_t bytes[COMPARED * BLOCK];
	uint64_t from = 0;
	size_t had = 0; /* bytes, from block `from` on */

	for (uint64_t block = first; block < end; block++) {
		uint64_t sum = __atomic_load_n(&object->sums[block], __ATOMIC_ACQUIRE);
		uint64_t left = object->size - block * BLOCK;
		size_t size = (size_t)object_bytes_of(object, block);
		if (object->states[block] != ABSENT || !sum)
			continue;
		if (!had || block - from >= COMPARED) {
			from = block;
			had = file_get(object->fd, bytes,
				       left < sizeof bytes ? (size_t)left : sizeof bytes,
				       block * BLOCK);
		}
		size_t at = (size_t)(block - from) * BLOCK;
		if (at + size <= had && sum_of(bytes + at, size) == sum)
			object->states[block] = THERE;
	}
}

/* ---- requests ---- */

/* Is the reply from the object that was opened? */
static bool is_same(struct remote_object *object, const struct request *request, struct error *err)
{
	if (request->total != object->size ||
	    (object->tag.len && request->tag.len &&
	     strcmp(buf_text(&object->tag), buf_text(&request->tag)) != 0))
		return error_set(err, ERR_IO, "%s: the file was changed while it was read",
				 buf_text(&object->shown));
	return true;
}

static void take_answer(struct request *request)
{
	struct range_request *range = request->arg;
	struct remote_object *object = range->object;
	uint64_t count = (request->count + BLOCK - 1) / BLOCK;

	pthread_mutex_lock(&object->waiting.lock);
	bool good = request->good && is_same(object, request, &request->err);
	if (!good)
		object->failure = request->err;
	if (good)
		keep_blocks(object, range->block, (const uint8_t *)request->body.data,
			    request->count);
	else
		memset(object->states + range->block, FAILED, count);
	object->under_way--;
	pthread_cond_broadcast(&object->waiting.changed);
	pthread_mutex_unlock(&object->waiting.lock);
	request_release(request);
	mem_free(range);
}

/* Requests blocks [first, end), which are absent. Needs the lock. */
static bool ask_for(struct remote_object *object, uint64_t first, uint64_t end, struct error *err)
{
	struct range_request *range = mem_new(sizeof *range);
	struct request *request = &range->request;

	*range = (struct range_request){.object = object, .block = first};
	buf_add_text(&request->url, buf_text(&object->url));
	request->s3 = object->s3;
	request->ranged = true;
	request->first = first * BLOCK;
	request->count = (end == object->nblocks ? object->size : end * BLOCK) - first * BLOCK;
	request->done = take_answer;
	request->arg = range;
	object->under_way++;
	if (request_start(request, err)) {
		memset(object->states + first, COMING, end - first);
		return true;
	}
	object->under_way--;
	request_release(request);
	mem_free(range);
	return false;
}

/* Requests those of blocks [first, end) that are neither cached nor requested. Needs the lock. */
static bool ask_for_missing(struct remote_object *object, uint64_t first, uint64_t end,
			    struct error *err)
{
	uint64_t begin = first;
	bool good = true;

	find_kept(object, first, end);
	for (uint64_t block = first; block <= end && good; block++) {
		bool missing = block < end && object->states[block] == ABSENT;
		if (missing && block - begin < RANGE_MOST)
			continue;
		if (block > begin)
			good = ask_for(object, begin, block, err);
		begin = missing ? block : block + 1;
	}
	return good;
}

/* Waits until all blocks of [first, end) are there. Needs the lock. */
static bool await(struct remote_object *object, uint64_t first, uint64_t end, struct error *err)
{
	for (uint64_t block = first; block < end; block++) {
		while (object->states[block] == COMING)
			if (!waiting_wait(&object->waiting, err))
				return false;
		if (object->states[block] == FAILED) {
			object->states[block] = ABSENT; /* a later read tries again */
			*err = object->failure;
			return false;
		}
	}
	return true;
}

bool remote_object_read(struct remote_object *object, uint64_t offset, void *to, size_t size,
			struct error *err)
{
	uint64_t first = offset / BLOCK, end = (offset + size + BLOCK - 1) / BLOCK;

	if (!size)
		return true;
	pthread_mutex_lock(&object->waiting.lock);
	bool good = ask_for_missing(object, first, end, err) && await(object, first, end, err);
	pthread_mutex_unlock(&object->waiting.lock);
	if (good && file_get(object->fd, to, size, offset) != size)
		return error_set(err, ERR_IO, "%s: reading what was kept: %s",
				 buf_text(&object->shown),
				 errno ? strerror(errno) : "it became shorter");
	return good;
}

bool remote_object_prefetch(struct remote_object *object, uint64_t offset, size_t size)
{
	struct error ignored; /* remote_object_read() returns it */

	if (!size || offset >= object->size)
		return false;
	if (size > object->size - offset)
		size = (size_t)(object->size - offset);
	pthread_mutex_lock(&object->waiting.lock);
	size_t before = object->under_way;
	(void)ask_for_missing(object, offset / BLOCK, (offset + size + BLOCK - 1) / BLOCK,
			      &ignored);
	bool asked = object->under_way > before;
	pthread_mutex_unlock(&object->waiting.lock);
	return asked;
}

size_t remote_object_there(struct remote_object *object, uint64_t offset, size_t size)
{
	uint64_t block = offset / BLOCK, end = offset + size, last = (end + BLOCK - 1) / BLOCK;

	pthread_mutex_lock(&object->waiting.lock);
	find_kept(object, block, last);
	while (block < last && (object->states[block] == THERE || object->states[block] == COMING))
		block++;
	pthread_mutex_unlock(&object->waiting.lock);
	uint64_t there = block < last ? block * BLOCK : end;
	return there > offset ? (size_t)(there - offset) : 0;
}

/* Opening ----------------------------------------------------------------------------------------
 */

/*
 * Opens a cache file. Its name depends on size and tag, as another process may use the file of an
 * older object.
 */
static int open_kept(const struct remote_object *object, const char *keep, const char *ending,
		     uint64_t size)
{
	struct buf path = {0};

	buf_printf(&path, "%s%016llx.%s", keep,
		   (unsigned long long)(XXH3_64bits(object->tag.data, object->tag.len) ^
					object->size * UINT64_C(0x9e3779b97f4a7c15)),
		   ending);
	int fd = file_open_own(buf_text(&path), O_RDWR);
	if (fd >= 0 && ftruncate(fd, (off_t)size) != 0) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0 && !object->tag.len) /* without a tag its validity is unknown */
		unlink(buf_text(&path));
	buf_release(&path);
	return fd;
}

static bool open_files(struct remote_object *object, const char *keep, struct error *err)
{
	size_t sums = (size_t)(object->nblocks + 1) * sizeof *object->sums;
	int fd;

	if (object->changed && !folder_remove_beside(keep, err))
		return false;
	fd = open_kept(object, keep, "sums", sums);
	void *map =
		fd < 0 ? MAP_FAILED : mmap(NULL, sums, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (map != MAP_FAILED) {
		object->sums = map;
		object->fd = open_kept(object, keep, "blocks", object->size);
	}
	return object->fd >= 0 || error_set(err, ERR_IO, "%s: %s", keep, strerror(errno));
}

void remote_object_close(struct remote_object *object)
{
	if (!object)
		return;
	pthread_mutex_lock(&object->waiting.lock);
	while (object->under_way)
		waiting_pause(&object->waiting);
	pthread_mutex_unlock(&object->waiting.lock);
	if (object->sums)
		munmap(object->sums, (size_t)(object->nblocks + 1) * sizeof *object->sums);
	if (object->fd >= 0)
		close(object->fd);
	waiting_release(&object->waiting);
	buf_release(&object->url);
	buf_release(&object->shown);
	buf_release(&object->tag);
	mem_free(object->states);
	mem_free(object);
}

uint64_t remote_object_size(const struct remote_object *object)
{
	return object->size;
}

const char *remote_object_tag(const struct remote_object *object)
{
	return buf_text(&object->tag);
}

bool remote_object_changed(const struct remote_object *object)
{
	return object->changed;
}

/* Prepares the opening request: the first bytes of an unknown object, else the head alone. */
static void prepare(struct request *request, const struct object_of *of)
{
	*request = (struct request){.s3 = of->s3};
	buf_add_text(&request->url, of->url);
	request->head = *of->tag;
	request->ranged = request->shorter = !request->head;
	request->count = FIRST;
}

static struct remote_object *object_of_answer(const struct object_of *of, struct request *request,
					      struct error *err)
{
	struct remote_object *object = mem_new(sizeof *object);

	waiting_init(&object->waiting);
	object->fd = -1;
	object->s3 = of->s3;
	object->size = request->total;
	object->nblocks = (object->size + BLOCK - 1) / BLOCK;
	buf_add_text(&object->url, buf_text(&request->url));
	buf_add(&object->shown, of->url, strcspn(of->url, "?"));
	buf_add_text(&object->tag, buf_text(&request->tag));
	object->changed = !*of->tag || of->size != object->size ||
			  strcmp(of->tag, buf_text(&request->tag)) != 0;
	if (request->total == UINT64_MAX || request->total > INT64_MAX) {
		error_set(err, ERR_IO, "%s: the server does not tell its size",
			  buf_text(&object->shown));
	} else if (open_files(object, of->keep, err)) {
		object->states = mem_new_array((size_t)object->nblocks + 1, 1);
		if (!request->head)
			keep_blocks(object, 0, (const uint8_t *)request->body.data,
				    request->body.len);
		return object;
	}
	remote_object_close(object);
	return NULL;
}

bool remote_objects_open(const struct object_of *of, size_t count, struct remote_object **out,
			 bool *absent, struct error *err)
{
	struct request *requests = mem_new_array(count + 1, sizeof *requests);

	for (size_t i = 0; i < count; i++)
		prepare(&requests[i], &of[i]);
	bool good = requests_run(requests, count, err);
	*absent = false;
	for (size_t i = 0; i < count; i++) {
		*absent = *absent || requests[i].absent;
		out[i] = good ? object_of_answer(&of[i], &requests[i], err) : NULL;
		good = good && out[i];
	}
	for (size_t i = 0; i < count; i++) {
		request_release(&requests[i]);
		if (!good)
			remote_object_close(out[i]);
	}
	mem_free(requests);
	return good;
}
