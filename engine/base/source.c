/*
 * source.c - mapped files, files read by pread, memory, and files whose bytes lie elsewhere
 *
 * Maps are MADV_RANDOM, since a search jumps between packets: with the kernel's read-ahead each
 * jump would read a megabyte. A block that will be decoded is prefetched in one call instead. The
 * table of maps, which the fault handler searches, is a fixed array of atomics, because a handler
 * cannot take a lock; when it is full, further sources are read by pread.
 *
 * Even when all pages are in memory, madvise() visits each of them. So `asked` has a bit for each
 * PIECE of the file that was prefetched as a whole, and later calls for it are skipped, unless this
 * thread has had page faults since. PIECE is smaller than most packets.
 *
 * A file that is not mapped keeps its descriptor open while files_take() permits (files.h). Beyond
 * that limit each read opens the file, checks that it is the same one, and leaves the descriptor
 * in `idle` for the next read, until another file's takes its place.
 */
#include "engine/base/source_internal.h"

#include "engine/base/files.h"
#include "engine/base/folder.h"
#include "engine/base/hash_index.h"
#include "engine/base/inputs.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum {
	MAPS_MAX = 32768,
	MAPS_KEPT = 256, /* of these, reserved for files that must be mapped */
	IDLE_MAX = 64,   /* descriptors left open by reads */
	PIECE = 1 << 14  /* bytes for each bit of `asked` */
};

static _Atomic(struct source *) maps[MAPS_MAX];
static atomic_uint maps_taken;
static atomic_int maps_used; /* slots below this may be in use */

static struct idle {
	const struct source *of; /* NULL: the place is free */
	int fd;
} idle[IDLE_MAX];
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;

static struct idle *idle_place(const struct source *source)
{
	uint64_t hash = (uint64_t)(uintptr_t)source * UINT64_C(0x9e3779b97f4a7c15);

	return &idle[(hash >> 32) % IDLE_MAX];
}

/* Takes the descriptor that the last read of the source left; -1: none. Return it by idle_put(). */
static int idle_take(const struct source *source)
{
	struct idle *place = idle_place(source);
	int fd = -1;

	pthread_mutex_lock(&idle_lock);
	if (place->of == source) {
		fd = place->fd;
		place->of = NULL;
	}
	pthread_mutex_unlock(&idle_lock);
	return fd;
}

static void idle_put(const struct source *source, int fd)
{
	struct idle *place = idle_place(source), gone;

	pthread_mutex_lock(&idle_lock);
	gone = *place;
	*place = (struct idle){source, fd};
	pthread_mutex_unlock(&idle_lock);
	if (gone.of)
		close(gone.fd);
}

/*
 * Takes a free place in `maps`, searching on from the one that was taken last, since places come
 * free in any order. -1: `most` places or all are in use.
 */
static int map_register(struct source *source, unsigned most)
{
	static atomic_uint last;
	unsigned first = atomic_load(&last) + 1;

	if (atomic_fetch_add(&maps_taken, 1) >= most) {
		atomic_fetch_sub(&maps_taken, 1);
		return -1;
	}

	for (unsigned n = 0; n < MAPS_MAX; n++) {
		struct source *empty = NULL;
		int i = (int)((first + n) % MAPS_MAX);
		if (!atomic_compare_exchange_strong(&maps[i], &empty, source))
			continue;
		atomic_store(&last, (unsigned)i);
		int used = atomic_load(&maps_used);
		while (used <= i && !atomic_compare_exchange_weak(&maps_used, &used, i + 1))
			;
		return i;
	}
	return -1;
}

bool source_absorb_fault(const void *address)
{
	const uint8_t *at = address;
	int used = atomic_load(&maps_used);

	for (int i = 0; i < used; i++) {
		struct source *source = atomic_load(&maps[i]);
		if (!source || !source->data || at < source->data ||
		    at >= source->data + source->file_size)
			continue;
		uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095;
		void *zeros = mmap((void *)page, 4096, PROT_READ,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		atomic_store(&source->broken, true);
		return zeros != MAP_FAILED;
	}
	return false;
}

bool file_system_is_network(unsigned long type)
{
	static const unsigned long networks[] = {
		0x6969 /* nfs */,      0xff534d42 /* cifs */,  0xfe534d42 /* smb2 */,
		0x517b /* smb */,      0x01021997 /* 9p */,    0x00c36400 /* ceph */,
		0x5346414f /* afs */,  0x65735546 /* fuse */,  0x0bd00bd0 /* lustre */,
		0x73757245 /* coda */, 0x7461636f /* ocfs2 */, 0x01161970 /* gfs2 */,
	};

	for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
		if (networks[i] == type)
			return true;
	return false;
}

static bool on_network(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) != 0 || file_system_is_network((unsigned long)fs.f_type);
}

bool file_is_remote(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool remote = fd < 0 || on_network(fd);

	if (fd >= 0)
		close(fd);
	return remote;
}

static struct source *source_new(const char *name, uint64_t size)
{
	struct source *source = mem_new(sizeof *source);

	source->name = mem_strdup(name);
	source->size = source->file_size = size;
	source->fd = source->map_slot = -1;
	return source;
}

static void source_map(struct source *source, int fd, unsigned most)
{
	source->map_slot = map_register(source, most);
	if (source->map_slot < 0)
		return;
	void *map = mmap(NULL, source->size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		atomic_store(&maps[source->map_slot], NULL);
		atomic_fetch_sub(&maps_taken, 1);
		source->map_slot = -1;
		return;
	}
	madvise(map, source->size, MADV_RANDOM);
	source->asked = mem_new((size_t)(source->size / PIECE / 8 + 1));
	source->data = map;
}

/* ---- files with a struct source_backing ---- */

static struct backed {
	dev_t device;
	ino_t inode;
	struct source_backing *backing;
} * backed;
static size_t nbacked, backed_capacity;
static struct hash_index backed_index; /* of these, by device and inode */
static pthread_mutex_t backed_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash_of_file(const struct stat *st)
{
	return hash_number(hash_number(st->st_dev) + st->st_ino);
}

/* Under the lock. */
static uint32_t find_backed(const struct stat *st)
{
	return hash_index_find(&backed_index, hash_of_file(st), i,
			       backed[i].device == st->st_dev && backed[i].inode == st->st_ino);
}

bool source_back(const char *path, const struct source_backing *backing, struct error *err)
{
	struct source_backing *own;
	struct stat st;

	if (stat(path, &st) != 0)
		return error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	own = mem_new(sizeof *own); /* an earlier one is not freed: sources may use it */
	*own = *backing;
	pthread_mutex_lock(&backed_lock);
	uint32_t at = find_backed(&st);
	if (at == HASH_INDEX_NONE) {
		*mem_push(backed, nbacked, backed_capacity) =
			(struct backed){st.st_dev, st.st_ino, own};
		hash_index_add(&backed_index, hash_of_file(&st), nbacked - 1);
	} else {
		backed[at].backing = own;
	}
	pthread_mutex_unlock(&backed_lock);
	return true;
}

bool source_is_far(const struct source *source)
{
	return source->backing && !source->backing->data;
}

static const struct source_backing *backing_of(const struct stat *st)
{
	pthread_mutex_lock(&backed_lock);
	uint32_t at = find_backed(st);
	const struct source_backing *found = at == HASH_INDEX_NONE ? NULL : backed[at].backing;
	pthread_mutex_unlock(&backed_lock);
	return found;
}

bool source_open(const char *path, enum source_mode mode, struct source **out, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return error_set(err, ERR_IO, "%s: not a regular file", path);
	}
	inputs_add(&st);
	struct source *source = source_new(path, (uint64_t)st.st_size);
	source_take_stamp(source, &st);
	source->backing = backing_of(&st);
	if (source->backing)
		source->data = source->backing->data;
	else if (mode == SOURCE_AUTO && source->size && !on_network(fd))
		source_map(source, fd, MAPS_MAX - MAPS_KEPT);
	source->device = st.st_dev;
	source->inode = st.st_ino;
	source->counted = !source->data && !source->backing && files_take();
	if (source->counted)
		source->fd = fd;
	else
		close(fd);
	*out = source;
	return true;
}

struct source *source_over(const char *name, const void *data, size_t size)
{
	struct source *source = source_new(name, size);

	source->data = data;
	return source;
}

bool source_over_file(const char *name, int fd, uint64_t size, struct source **out,
		      struct error *err)
{
	struct source *source = source_new(name, size);

	if (size)
		source_map(source, fd, MAPS_MAX);
	if (!source->data && (source->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
		error_set(err, ERR_IO, "%s: %s", name, strerror(errno));
		source_close(source);
		return false;
	}
	*out = source;
	return true;
}

void source_close(struct source *source)
{
	if (!source)
		return;
	verified_free(source->verified);
	if (source->map_slot >= 0) {
		atomic_store(&maps[source->map_slot], NULL);
		atomic_fetch_sub(&maps_taken, 1);
		munmap((void *)(uintptr_t)source->data, source->file_size);
	}
	int fd = source->fd >= 0 ? source->fd : idle_take(source);
	if (fd >= 0)
		close(fd);
	if (source->counted)
		files_give();
	mem_free(source->asked);
	mem_free(source->pieces);
	mem_free(source->name);
	mem_free(source->made_of);
	mem_free(source);
}

const char *source_name(const struct source *source)
{
	return source->name;
}

uint64_t source_size(const struct source *source)
{
	return source->size;
}

bool source_broken(const struct source *source)
{
	return atomic_load(&source->broken);
}

bool source_intact(const struct source *source, struct error *err)
{
	return !source_broken(source) ||
	       error_set(err, ERR_IO, "%s: the file became shorter while it was read",
			 source->name);
}

uint64_t source_bytes_read(const struct source *source)
{
	return atomic_load(&source->bytes_read);
}

static _Thread_local bool asks_again;

bool source_asks_again(bool again)
{
	bool before = asks_again;

	asks_again = again;
	return before;
}

static bool in_bounds(struct source *source, uint64_t offset, size_t size, struct error *err)
{
	if (offset <= source->size && size <= source->size - offset) {
		if (!asks_again)
			atomic_fetch_add_explicit(&source->bytes_read, size, memory_order_relaxed);
		return true;
	}
	return error_set(err, ERR_FORMAT, "%s: %zu bytes at offset %llu reach past the end (%llu)",
			 source->name, size, (unsigned long long)offset,
			 (unsigned long long)source->size);
}

/* Opens the file of a source without a descriptor; -1: *err. */
static int open_again(const struct source *source, struct error *err)
{
	int fd = open(source->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0) {
		error_set(err, ERR_IO, "%s: %s", source->name, strerror(errno));
	} else if (fstat(fd, &st) != 0 || st.st_dev != source->device ||
		   st.st_ino != source->inode) {
		error_set(err, ERR_IO, "%s: another file has its name now", source->name);
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool read_from(const struct source *source, int fd, uint64_t offset, void *to, size_t size,
		      struct error *err)
{
	size_t done = file_get(fd, to, size, offset);

	return done == size || error_set(err, ERR_IO, "%s: offset %llu: %s", source->name,
					 (unsigned long long)(offset + done),
					 errno ? strerror(errno) : "the file became shorter");
}

bool source_read_fully(const struct source *source, uint64_t offset, void *to, size_t size,
		       struct error *err)
{
	if (source->backing)
		return source->backing->read(source->backing->arg, offset, to, size, err);
	if (source->fd >= 0)
		return read_from(source, source->fd, offset, to, size, err);
	int fd = idle_take(source);
	if (fd < 0)
		fd = open_again(source, err);
	bool good = fd >= 0 && read_from(source, fd, offset, to, size, err);
	if (fd >= 0)
		idle_put(source, fd);
	return good;
}

static bool was_asked(const struct source *source, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		if (!(__atomic_load_n(&source->asked[i / 8], __ATOMIC_RELAXED) >> i % 8 & 1))
			return false;
	return true;
}

/* Has this thread had major page faults since its last call? Then prefetched pages may be gone. */
static bool pages_went(void)
{
	static _Thread_local long known;
	struct rusage usage;
	long before = known;

	if (getrusage(RUSAGE_THREAD, &usage) != 0)
		return true;
	known = usage.ru_majflt;
	return known != before;
}

/* Prefetches a range of a map; a large one is extended to whole pieces. */
static void ask(struct source *source, uint64_t begin, uint64_t end)
{
	uint64_t first = begin / PIECE, last = (end - 1) / PIECE;

	if (was_asked(source, first, last) && !pages_went())
		return;
	if (end - begin >= PIECE) {
		begin = first * PIECE;
		end = (last + 1) * PIECE < source->file_size ? (last + 1) * PIECE
							      : source->file_size;
		for (uint64_t i = first; i <= last; i++)
			__atomic_fetch_or(&source->asked[i / 8], (uint8_t)(1u << i % 8),
					  __ATOMIC_RELAXED);
	}
	uintptr_t from = (uintptr_t)(source->data + begin) & ~(uintptr_t)4095;
	madvise((void *)from, (uintptr_t)(source->data + end) - from, MADV_WILLNEED);
}

static bool prefetch_file(struct source *source, uint64_t offset, size_t size)
{
	if (source->backing)
		return source->backing->prefetch(source->backing->arg, offset, size);
	if (source->fd >= 0)
		posix_fadvise(source->fd, (off_t)offset, (off_t)size, POSIX_FADV_WILLNEED);
	else if (source->map_slot >= 0 && size)
		ask(source, offset, offset + size);
	return false;
}

/* The last piece that begins at or before `offset`. */
static const struct source_piece *piece_of(const struct source *source, uint64_t offset)
{
	return &source->pieces[search_first(i, 0, source->npieces,
					    source->pieces[i].at <= offset) -
			       1];
}

static bool copy_piece(const struct source *source, const struct source_piece *piece,
		       uint64_t inside, void *to, size_t size, struct error *err)
{
	const struct source *from = piece->of ? piece->of : source;

	if (piece->replaced)
		memcpy(to, piece->bytes + inside, size);
	else if (from->data)
		memcpy(to, from->data + piece->off + inside, size);
	else
		return source_read_fully(from, piece->off + inside, to, size, err);
	return true;
}

static bool copy_pieces(const struct source *source, uint64_t offset, uint8_t *to, size_t size,
			struct error *err)
{
	for (const struct source_piece *piece = size ? piece_of(source, offset) : NULL; size;
	     piece++) {
		uint64_t inside = offset - piece->at, room = piece->len - inside;
		size_t n = size < room ? size : (size_t)room;
		if (!copy_piece(source, piece, inside, to, n, err))
			return false;
		offset += n;
		to += n;
		size -= n;
	}
	return true;
}

/* The offset in the file of these bytes; false: they are not in one piece of the source's file. */
static bool lies_in_file(const struct source *source, uint64_t offset, size_t size,
			 uint64_t *in_file)
{
	const struct source_piece *piece = piece_of(source, offset);

	*in_file = piece->off + (offset - piece->at);
	return !piece->replaced && !piece->of && size <= piece->len - (offset - piece->at);
}

void source_arrange(struct source *source, struct source_piece *pieces, size_t count)
{
	source_arrange_more(source, pieces, 0, count);
}

void source_arrange_more(struct source *source, struct source_piece *pieces, size_t arranged,
			 size_t count)
{
	uint64_t at = arranged ? pieces[arranged - 1].at + pieces[arranged - 1].len : 0;

	for (size_t i = arranged; i < count; i++) {
		uint64_t size = pieces[i].of ? pieces[i].of->size : source->file_size;
		assert(pieces[i].len && pieces[i].off <= size &&
		       pieces[i].len <= size - pieces[i].off);
		pieces[i].at = at;
		at += pieces[i].len;
	}
	source->pieces = pieces;
	source->npieces = count;
	source->size = at;
}

struct source_piece *source_take_pieces(struct source *source)
{
	struct source_piece *pieces = source->pieces;

	source->pieces = NULL;
	source->npieces = 0;
	atomic_store(&source->broken, true);
	return pieces;
}

struct source *source_join(const char *name, struct source *const *sources, size_t count,
			   uint64_t skip)
{
	struct source *whole = source_new(name, 0);
	struct source_piece *pieces = mem_new_array(count + 1, sizeof *pieces);

	for (size_t i = 0; i < count; i++) {
		const struct source *one = sources[i];
		pieces[i] = (struct source_piece){
			.of = sources[i], .off = skip, .len = one->size - skip};
		source_beside(whole, &one->stamp);
		if (one->newest > whole->newest)
			whole->newest = one->newest;
		if (!i || one->looked < whole->looked)
			whole->looked = one->looked;
	}
	source_arrange(whole, pieces, count);
	whole->stamp.size = whole->size;
	whole->stamp.modified = whole->stamp.changed = whole->newest;
	return whole;
}

/* Reads `size` more bytes of a block. */
static bool get_more(struct source *source, uint64_t offset, size_t size, struct block *block,
		     struct error *err)
{
	size_t had = block->size - block->missing;

	if (!in_bounds(source, offset + had, size, err) ||
	    !source_read_fully(source, offset + had, (uint8_t *)block->buffer + had, size, err))
		return false;
	block->missing -= size;
	return true;
}

bool source_get(struct source *source, uint64_t offset, size_t size, struct block *out,
		struct error *err)
{
	uint64_t in_file = offset;

	*out = (struct block){.size = size};
	if (!in_bounds(source, offset, size, err))
		return false;
	if (!size) {
		out->data = (const uint8_t *)"";
		return true;
	}
	if (source->data && (!source->pieces || lies_in_file(source, offset, size, &in_file))) {
		out->data = source->data + in_file;
		prefetch_file(source, in_file, size);
		return source_is_right(source, in_file, size, err);
	}
	out->data = out->buffer = mem_resize(NULL, size, 1);
	if (source->pieces ? copy_pieces(source, offset, out->buffer, size, err)
			   : source_read_fully(source, offset, out->buffer, size, err))
		return true;
	source_put(out);
	return false;
}

bool source_get_begin(struct source *source, uint64_t offset, size_t size, struct block *out,
		      struct error *err)
{
	const struct source_backing *backing = source->backing;
	bool partly = source_is_far(source) && !source->pieces && offset < source->size &&
		      size <= source->size - offset;
	size_t there = partly ? backing->there(backing->arg, offset, size) : 0;

	if (!there || there == size)
		return source_get(source, offset, size, out, err);
	*out = (struct block){.size = size, .missing = size};
	out->data = out->buffer = mem_resize(NULL, size, 1);
	if (get_more(source, offset, there, out, err))
		return true;
	source_put(out);
	return false;
}

bool source_get_rest(struct source *source, uint64_t offset, struct block *block, struct error *err)
{
	return get_more(source, offset, block->missing, block, err);
}

const uint8_t *source_mapped(const struct source *source)
{
	return source->map_slot >= 0 ? source->data : NULL;
}

void source_put(struct block *block)
{
	mem_free(block->buffer);
	*block = (struct block){0};
}

bool source_peek(struct source *source, uint64_t offset, void *to, size_t size, struct error *err)
{
	if (!in_bounds(source, offset, size, err))
		return false;
	if (source->pieces)
		return copy_pieces(source, offset, to, size, err);
	if (!source->data)
		return source_read_fully(source, offset, to, size, err);
	if (!source_is_right(source, offset, size, err))
		return false;
	memcpy(to, source->data + offset, size);
	return true;
}

void source_hint(const struct source *source, uint64_t offset)
{
	if (source->data && !source->pieces && offset < source->size)
		__builtin_prefetch(source->data + offset);
}

bool source_prefetch(struct source *source, uint64_t offset, size_t size)
{
	uint64_t in_file = offset;

	if (offset >= source->size)
		return false;
	if (size > source->size - offset)
		size = (size_t)(source->size - offset);
	return (!source->pieces || lies_in_file(source, offset, size, &in_file)) &&
	       prefetch_file(source, in_file, size);
}
