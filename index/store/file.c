/*
 * file.c - the file of a store: its roots, its map, and what is appended
 *
 * The two roots stand at 0 and 4096; commit n is written to root n % 2, after all that it needs is
 * on the disk. So a writer that is killed leaves the commit before. A root that is written at this
 * instant is looked at again. A root that stays wrong was changed by somebody else: both must be
 * right, and one commit apart, or the file is damaged.
 *
 * The map is longer than the file, so that it need not be made anew for each commit. A file that is
 * cut under its map gives zeros (engine/base/source.c), which the checksums or store_file_broken()
 * tell.
 */
#include "index/store/internal.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { FIRST_MAP = 16 << 20, ROOT_STEP = 4096, LOOKS = 50, OUT_MOST = 4 << 20, DAMAGED = -1 };

static const char magic[8] = "yorestor";

static uint64_t check_of(const struct store_root *root)
{
	return XXH3_64bits(root, offsetof(struct store_root, check));
}

/* The name alone: a folder of indexes may be moved. */
static uint64_t name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return XXH3_64bits(name, strlen(name));
}

static bool root_is_right(const struct store_file *file, const struct store_root *root)
{
	return !memcmp(root->magic, magic, sizeof magic) && root->order == 0x01020304 &&
	       root->version == 1 && root->name == file->name && root->number &&
	       root->end >= STORE_HEAD && root->check == check_of(root) &&
	       (!root->top.size ||
		(root->top.off >= STORE_HEAD && root->top.off < root->end &&
		 root->top.size <= root->end - root->top.off && !(root->top.off % STORE_GRAIN)));
}

static bool is_zero(const struct store_root *root)
{
	static const struct store_root zero;

	return !memcmp(root, &zero, sizeof zero);
}

/* 1: *out is the newest root; 0: perhaps one is being written; -1: of no use. */
static int read_roots(const struct store_file *file, struct store_root *out)
{
	struct store_root roots[2];

	for (size_t i = 0; i < 2; i++)
		memcpy(&roots[i], file->map->base + i * ROOT_STEP, sizeof roots[i]);
	bool newer = roots[1].number > roots[0].number;
	*out = roots[newer];
	if (!root_is_right(file, out) || out->number % 2 != newer)
		return 0;
	if (out->number == 1 ? !is_zero(&roots[!newer])
			     : !root_is_right(file, &roots[!newer]) ||
				       roots[!newer].number + 1 != out->number)
		return 0;
	return 1;
}

static void map_free(struct store_map *map)
{
	for (struct store_map *older; map; map = older) {
		older = map->older;
		source_close(map->source);
		mem_free(map->verified);
		mem_free(map);
	}
}

static bool map_file(struct store_file *file, const char *path, uint64_t size)
{
	struct store_map *map = mem_new(sizeof *map);
	struct error ignored;
	struct block block;

	for (map->size = FIRST_MAP; map->size < 2 * size;)
		map->size *= 2;
	/* a source that cannot be mapped would be read by pread */
	if (source_over_file(path, file->fd, map->size, &map->source, &ignored) &&
	    source_get(map->source, 0, 1, &block, &ignored)) {
		map->base = block.buffer ? NULL : block.data;
		source_put(&block);
	}
	if (!map->base) {
		map_free(map);
		return false;
	}
	map->verified = mem_new((size_t)(map->size / STORE_GRAIN / 4));
	map->older = file->map;
	file->map = map;
	return true;
}

bool store_file_broken(const struct store_file *file)
{
	for (const struct store_map *map = file->map; map; map = map->older)
		if (source_broken(map->source))
			return true;
	return false;
}

bool store_file_look(struct store_file *file)
{
	struct store_root root;
	struct stat st;
	int found = 0;

	if (file->damaged || store_file_broken(file))
		return false;
	for (int look = 0; look < LOOKS && !(found = read_roots(file, &root)); look++)
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	if (found != 1 || store_file_broken(file))
		return false;
	if (root.check == file->root.check && root.number == file->root.number)
		return true;
	if (fstat(file->fd, &st) != 0 || (uint64_t)st.st_size < root.end)
		return false;
	if (root.end > file->map->size &&
	    !map_file(file, source_name(file->map->source), (uint64_t)st.st_size))
		return false;
	file->root = root;
	return true;
}

static struct store_file *file_new(const char *path, int fd)
{
	struct store_file *file = mem_new(sizeof *file);
	struct stat st = {0};

	fstat(fd, &st);
	file->fd = fd;
	file->device = st.st_dev;
	file->inode = st.st_ino;
	file->name = name_of(path);
	return file;
}

void store_file_close(struct store_file *file)
{
	for (struct store_file *older; file; file = older) {
		older = file->older;
		map_free(file->map);
		close(file->fd);
		mem_free(file);
	}
}

bool store_file_is(const struct store_file *file, const char *path)
{
	return file_is(file->fd, path);
}

int store_file_open(const char *path, struct store_file **out)
{
	bool read_only = false;
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && (errno == EACCES || errno == EROFS)) {
		read_only = true;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd < 0)
		return errno;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return EINVAL;
	}
	struct store_file *file = file_new(path, fd);
	file->read_only = read_only;
	bool mapped = st.st_size >= STORE_HEAD && map_file(file, path, (uint64_t)st.st_size);
	if (st.st_size >= STORE_HEAD && !mapped) {
		store_file_close(file);
		return ENOMEM;
	}
	if (!mapped || !store_file_look(file)) {
		store_file_close(file);
		return DAMAGED;
	}
	*out = file;
	return 0;
}

/* Making */

static bool write_at(int fd, const void *bytes, size_t size, uint64_t at)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : ENOSPC;
			return false;
		}
		done += (size_t)n;
	}
	return true;
}

static void root_seal(struct store_root *root, uint64_t name)
{
	memcpy(root->magic, magic, sizeof magic);
	root->order = 0x01020304;
	root->version = 1;
	root->name = name;
	root->check = check_of(root);
}

static bool write_first(int fd, uint64_t name)
{
	struct store_root root = {.number = 1, .end = STORE_HEAD};

	root_seal(&root, name);
	return ftruncate(fd, STORE_HEAD) == 0 && write_at(fd, &root, sizeof root, ROOT_STEP);
}

/* It gets its name when it is whole, and never one that another file has. */
int store_file_make(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct buf name = {0};
	char self[64];
	int failure = 0, fd;

	buf_add(&name, path, slash ? (size_t)(slash - path) + 1 : 0);
	buf_add_text(&name, ".");
	fd = open(buf_text(&name), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0) {
		snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
		if (!write_first(fd, name_of(path)) ||
		    linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0)
			failure = errno;
	} else if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) {
		buf_clear(&name);
		buf_printf(&name, "%s.new-%ld", path, (long)gettid());
		unlink(name.data);
		fd = open(name.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 || !write_first(fd, name_of(path)) || link(name.data, path) != 0)
			failure = errno;
		unlink(name.data);
	} else {
		failure = errno;
	}
	if (fd >= 0)
		close(fd);
	buf_release(&name);
	return failure == EEXIST ? 0 : failure;
}

int store_file_begin(const char *path, const char *temporary, struct store_file **out)
{
	unlink(temporary);
	int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return errno;
	struct store_file *file = file_new(path, fd);
	if (!write_first(fd, file->name) || !map_file(file, path, 0) || !store_file_look(file)) {
		int failure = errno ? errno : EIO;
		store_file_close(file);
		return failure;
	}
	*out = file;
	return 0;
}

/* Objects */

/* A file that was cut gives zeros, which agree with no checksum. */
static const uint8_t *object(const struct store_space *space, const struct store_ref *ref,
			     bool value)
{
	const struct store_map *map = space->map;

	if (ref->off < STORE_HEAD || ref->off >= space->end || ref->size > space->end - ref->off ||
	    space->end > map->size || space->file->damaged)
		return NULL;
	const uint8_t *bytes = map->base + ref->off;
	uint64_t bit = ref->off / STORE_GRAIN * 2 + !value;
	if (__atomic_load_n(&map->verified[bit / 8], __ATOMIC_ACQUIRE) >> bit % 8 & 1)
		return bytes;
	if (ref->size > STORE_NODE)
		source_prefetch(map->source, ref->off, (size_t)ref->size);
	if (XXH3_64bits(bytes, (size_t)ref->size) != ref->sum ||
	    !(value || node_is_whole(bytes, ref->off, (size_t)ref->size))) {
		space->file->damaged = true;
		return NULL;
	}
	__atomic_fetch_or(&map->verified[bit / 8], (uint8_t)(1u << bit % 8), __ATOMIC_RELEASE);
	return bytes;
}

const uint8_t *store_value(const struct store_space *space, const struct store_ref *ref)
{
	return object(space, ref, true);
}

const uint8_t *store_node(const struct store_space *space, const struct store_ref *ref)
{
	return object(space, ref, false);
}

/* Appending */

/* Behind all that is there: nothing refers to what a failed commit left. */
void store_out_begin(struct store_out *out, struct store_file *file, const struct store_root *base)
{
	struct stat st;

	*out = (struct store_out){.file = file, .base = *base, .at = base->end};
	if (fstat(file->fd, &st) != 0)
		out->failed = errno;
	else if ((uint64_t)st.st_size > out->at)
		out->at = (uint64_t)st.st_size;
}

static void flush(struct store_out *out)
{
	if (!out->failed && !write_at(out->file->fd, out->bytes.data, out->bytes.len, out->at))
		out->failed = errno;
	out->at += out->bytes.len;
	buf_clear(&out->bytes);
}

struct store_ref store_out_add(struct store_out *out, const void *bytes, size_t size, bool value)
{
	static const char zeros[STORE_GRAIN + STORE_SHIFT];
	uint64_t end = out->at + out->bytes.len;
	size_t gap = (size_t)(-end % STORE_GRAIN) + (value ? STORE_SHIFT : 0);

	buf_add(&out->bytes, zeros, gap);
	struct store_ref ref = {end + gap, size, XXH3_64bits(bytes, size)};
	buf_add(&out->bytes, bytes, size);
	out->live += size;
	if (out->bytes.len >= OUT_MOST)
		flush(out);
	return ref;
}

void store_out_cancel(struct store_out *out)
{
	(void)!ftruncate(out->file->fd, (off_t)out->base.end);
	buf_release(&out->bytes);
}

int store_out_commit(struct store_out *out, struct store_root *root, bool late)
{
	int fd = out->file->fd;

	flush(out);
	if (!out->failed && fdatasync(fd) != 0)
		out->failed = errno;
	if (out->failed) {
		store_out_cancel(out);
		return out->failed;
	}
	buf_release(&out->bytes);
	root->number = out->base.number + 1;
	root->end = out->at;
	root_seal(root, out->file->name);
	struct iovec bytes = {root, sizeof *root};
	off_t place = (off_t)(root->number % 2 * ROOT_STEP);
	if (!late && pwritev2(fd, &bytes, 1, place, RWF_DSYNC) == (ssize_t)sizeof *root)
		return 0;
	if (!write_at(fd, root, sizeof *root, (uint64_t)place) || (!late && fdatasync(fd) != 0))
		return errno;
	return 0;
}
