/*
 * store.c - see store.h
 *
 * file.c has the file, tree.c and tree_write.c what is in it. Readers take no lock, since
 * what was committed is never overwritten. A file of which more than half is no longer referred to
 * is copied by its writer, and the copy takes its name; readers of the old one keep it open.
 *
 * A damaged file loses its name as soon as a process that may write finds the damage. The next
 * write, or the next process, makes a new one.
 */
#include "index/store/internal.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { DAMAGED = -1, MAKE_MOST = 8, TIDY_LEAST = 1 << 20, TIDY_NOW = 64 << 20 };

struct store_txn {
	struct store *store;
	struct tree tree;
	unsigned generation;
};

struct store {
	struct store *next; /* in the registry */
	unsigned owners;
	char *path;
	int lock; /* the writer's file, -1 not ours */
	bool late;
	pthread_mutex_t look_lock, write_lock; /* look_lock: of all below and of `lock` */
	struct store_file *file;
	unsigned generation; /* other files that were opened since */
	atomic_bool damage;  /* was found */
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct store *registry;

static bool store_error(struct error *err, const char *path, int code)
{
	return error_set(err, ERR_IO, "%s: %s", path,
			 code == DAMAGED ? "is damaged" : strerror(code));
}

/* The writer */

static void lock_path(const char *path, char *out, size_t size)
{
	snprintf(out, size, "%s.writer", path);
}

/* Locks PATH.writer; -1 with an errno: EWOULDBLOCK when somebody else has it. */
static int lock_take(const char *path)
{
	char name[4200];

	lock_path(path, name, sizeof name);
	int fd = file_open_own(name, O_RDWR);
	if (fd < 0)
		return -1;
	/* the file may have been removed, and made again by another, between open and lock */
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (file_is(fd, name))
			return fd;
		errno = EWOULDBLOCK;
	}
	int failure = errno;
	close(fd);
	errno = failure;
	return -1;
}

static void unlink_files(const char *path)
{
	static const char *const ends[] = {"", "-lock", ".new", ".writer"};
	char name[4200];

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		snprintf(name, sizeof name, "%s%s", path, ends[i]);
		unlink(name);
	}
}

/* Opening */

/* An index of LMDB, as older versions made them. */
static bool is_older_kind(const char *path)
{
	uint32_t word = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool is = fd >= 0 && pread(fd, &word, sizeof word, 16) == sizeof word && word == 0xbeefc0de;

	if (fd >= 0)
		close(fd);
	return is;
}

/* A damaged file is of no use: a process that may write starts a new one. */
static int open_or_make(const char *path, struct store_file **out, bool *remade)
{
	int code = 0;

	for (int attempt = 0; attempt < MAKE_MOST; attempt++) {
		code = store_file_open(path, out);
		if (code == ENOENT) {
			code = store_file_make(path);
			if (code)
				return code;
			continue;
		}
		if (code != DAMAGED)
			return code;
		int lock = lock_take(path);
		if (lock < 0)
			return code;
		*remade |= !is_older_kind(path);
		unlink_files(path);
		close(lock);
	}
	return code;
}

static void store_free(struct store *store)
{
	store_file_close(store->file);
	if (store->lock >= 0)
		close(store->lock);
	pthread_mutex_destroy(&store->look_lock);
	pthread_mutex_destroy(&store->write_lock);
	mem_free(store->path);
	mem_free(store);
}

static struct store *store_new(const char *path)
{
	struct store *store = mem_new(sizeof *store);

	store->path = mem_strdup(path);
	store->owners = 1;
	store->lock = -1;
	pthread_mutex_init(&store->look_lock, NULL);
	pthread_mutex_init(&store->write_lock, NULL);
	return store;
}

static struct store *registry_find(const char *path)
{
	for (struct store *store = registry; store; store = store->next) {
		pthread_mutex_lock(&store->look_lock);
		bool is = store_file_is(store->file, path);
		pthread_mutex_unlock(&store->look_lock);
		if (is)
			return store;
	}
	return NULL;
}

bool store_open(const char *path, struct store **out, bool *remade, struct error *err)
{
	int code = 0;

	*remade = false;
	pthread_mutex_lock(&registry_lock);
	struct store *store = registry_find(path);
	if (store) {
		store->owners++;
	} else {
		store = store_new(path);
		code = open_or_make(path, &store->file, remade);
		if (code) {
			store_error(err, path, code);
			store_free(store);
		} else {
			store->next = registry;
			registry = store;
		}
	}
	pthread_mutex_unlock(&registry_lock);
	*out = code ? NULL : store;
	return !code;
}

static void tidy(struct store *store, uint64_t least);

void store_close(struct store *store)
{
	if (!store)
		return;
	pthread_mutex_lock(&registry_lock);
	if (--store->owners == 0) {
		struct store **link = &registry;
		while (*link != store)
			link = &(*link)->next;
		*link = store->next;
		if (store->lock >= 0)
			tidy(store, TIDY_LEAST);
		store_free(store);
	}
	pthread_mutex_unlock(&registry_lock);
}

bool store_remove(const char *path, struct error *err)
{
	pthread_mutex_lock(&registry_lock);
	struct store *store = registry_find(path);
	int lock = store && store_lock(store) ? -1 : lock_take(path);
	int code = errno;
	bool may = lock >= 0 || (store && store->lock >= 0);
	if (may)
		unlink_files(path);
	if (lock >= 0)
		close(lock);
	pthread_mutex_unlock(&registry_lock);
	if (may)
		return true;
	return error_set(err, ERR_IO, "%s: %s", path,
			 code == EWOULDBLOCK ? "another process writes it" : strerror(code));
}

/* EWOULDBLOCK: another process has it. With look_lock. */
static int become_writer(struct store *store)
{
	if (store->lock >= 0)
		return 0;
	if (store->file->read_only)
		return EROFS;
	store->lock = lock_take(store->path);
	return store->lock >= 0 ? 0 : errno;
}

bool store_lock(struct store *store)
{
	return store_lock_error(store) == 0;
}

int store_lock_error(struct store *store)
{
	pthread_mutex_lock(&store->look_lock);
	int code = become_writer(store);
	pthread_mutex_unlock(&store->look_lock);
	return code;
}

void store_hurry(struct store *store)
{
	store->late = true;
}

bool store_read_only(const struct store *store)
{
	return store->file->read_only;
}

/* Damage */

/* The name goes, if it is still this file's and no other process writes it. With look_lock. */
static void note_damage(struct store *store)
{
	store->file->damaged = true;
	store->damage = true;
	if (store->file->read_only || !store_file_is(store->file, store->path))
		return;
	int lock = store->lock >= 0 ? -1 : lock_take(store->path);
	if ((store->lock >= 0 || lock >= 0) && store_file_is(store->file, store->path))
		unlink(store->path);
	if (lock >= 0)
		close(lock);
}

bool store_damaged(const struct store *store)
{
	return store->damage;
}

unsigned store_generation(struct store *store)
{
	pthread_mutex_lock(&store->look_lock);
	unsigned generation = store->generation;
	pthread_mutex_unlock(&store->look_lock);
	return generation;
}

/* Reading */

/* With look_lock. */
static void take_space(const struct store *store, struct store_space *out)
{
	const struct store_root *root = &store->file->root;

	*out = (struct store_space){store->file, store->file->map, root->top, root->end};
}

bool store_read(struct store *store, struct store_txn **out, struct error *err)
{
	pthread_mutex_lock(&store->look_lock);
	bool good = store_file_look(store->file);
	if (good) {
		*out = mem_new(sizeof **out);
		(*out)->store = store;
		(*out)->generation = store->generation;
		take_space(store, &(*out)->tree.space);
	} else {
		note_damage(store);
	}
	pthread_mutex_unlock(&store->look_lock);
	return good || store_error(err, store->path, DAMAGED);
}

bool store_sound(struct store_txn *txn)
{
	struct store_file *file = txn->tree.space.file;

	return !txn->tree.damaged && !file->damaged && !store_file_broken(file);
}

unsigned store_txn_generation(const struct store_txn *txn)
{
	return txn->generation;
}

void store_read_end(struct store_txn *txn)
{
	struct store *store = txn->store;

	if (!store_sound(txn)) {
		pthread_mutex_lock(&store->look_lock);
		if (store->file == txn->tree.space.file)
			note_damage(store);
		pthread_mutex_unlock(&store->look_lock);
	}
	mem_free(txn);
}

/* Writing */

/* From now on the store is this file. */
static void adopt(struct store *store, struct store_file *file)
{
	file->older = store->file;
	store->file = file;
}

/* The file at the path: another one, when ours was removed or is damaged. */
static int find_file(struct store *store)
{
	struct store_file *file;
	bool remade = false;

	pthread_mutex_lock(&store->look_lock);
	int code = 0;
	bool looked = store_file_look(store->file);
	if (!looked)
		note_damage(store);
	if (!looked || !store_file_is(store->file, store->path)) {
		code = open_or_make(store->path, &file, &remade);
		if (!code) {
			adopt(store, file);
			store->generation++;
		}
	}
	pthread_mutex_unlock(&store->look_lock);
	return code;
}

static int commit(const struct store *store, const struct store_root *base, struct tree *tree)
{
	struct store_out out;
	struct store_root root = {0};

	store_out_begin(&out, tree->space.file, base);
	root.top = tree_commit(tree, &out);
	root.live = base->live + out.live;
	root.live -= tree->freed < root.live ? tree->freed : root.live;
	return store_out_commit(&out, &root, store->late);
}

/* A copy without what nothing leads to. */
static int copy_file(struct store *store, struct store_file **copy)
{
	struct tree tree = {0};
	struct store_root root = {0};
	struct store_out out;
	char name[4200];

	snprintf(name, sizeof name, "%s.new", store->path);
	int code = store_file_begin(store->path, name, copy);
	if (code)
		return code;
	take_space(store, &tree.space);
	store_out_begin(&out, *copy, &(*copy)->root);
	if (tree_copy(&tree, &out, &root.top)) {
		root.live = out.live;
		code = store_out_commit(&out, &root, false);
	} else {
		store_out_cancel(&out);
		code = DAMAGED;
	}
	if (!code && rename(name, store->path) != 0)
		code = errno;
	if (code) {
		unlink(name);
		store_file_close(*copy);
	}
	return code;
}

/* For the writer. */
static void tidy(struct store *store, uint64_t least)
{
	struct store_file *copy;

	pthread_mutex_lock(&store->look_lock);
	if (store_file_look(store->file) && store_file_is(store->file, store->path)) {
		const struct store_root *root = &store->file->root;
		uint64_t dead = root->end - STORE_HEAD > root->live
					? root->end - STORE_HEAD - root->live
					: 0;
		if (dead > least && dead > root->live && copy_file(store, &copy) == 0)
			adopt(store, copy);
	}
	pthread_mutex_unlock(&store->look_lock);
}

static bool write_now(struct store *store, bool (*work)(struct store_txn *, void *, struct error *),
		      void *arg, struct error *err)
{
	int code = find_file(store);

	if (code)
		return store_error(err, store->path, code);
	tidy(store, TIDY_NOW);
	struct store_txn txn = {.store = store};
	pthread_mutex_lock(&store->look_lock);
	struct store_root base = store->file->root;
	txn.generation = store->generation;
	take_space(store, &txn.tree.space);
	pthread_mutex_unlock(&store->look_lock);
	txn.tree.arena = arena_new();
	bool good = work(&txn, arg, err);
	if (good && txn.tree.damaged)
		good = store_error(err, store->path, DAMAGED);
	if (good && txn.tree.top && (code = commit(store, &base, &txn.tree)) != 0)
		good = store_error(err, store->path, code);
	if (!store_sound(&txn)) {
		pthread_mutex_lock(&store->look_lock);
		note_damage(store);
		pthread_mutex_unlock(&store->look_lock);
	}
	arena_free(txn.tree.arena);
	return good;
}

bool store_write(struct store *store, bool (*work)(struct store_txn *, void *, struct error *),
		 void *arg, struct error *err)
{
	int code = store_lock_error(store);
	bool good = false;

	if (code)
		return error_set(err, ERR_IO, "%s: %s", store->path,
				 code == EWOULDBLOCK ? "another process writes it"
						     : strerror(code));
	pthread_mutex_lock(&store->write_lock);
	/* of what is damaged nothing stays: once more, into an empty file */
	for (int attempt = 0; attempt < 2 && !good; attempt++) {
		good = write_now(store, work, arg, err);
		if (!store->file->damaged)
			break;
	}
	pthread_mutex_unlock(&store->write_lock);
	return good;
}

/* One transaction */

static bool txn_failed(struct store_txn *txn, struct error *err)
{
	txn->tree.damaged = true;
	return store_error(err, txn->store->path, DAMAGED);
}

bool store_get(struct store_txn *txn, struct bytes key, struct bytes *value)
{
	return tree_get(&txn->tree, key, value);
}

bool store_before(struct store_txn *txn, struct bytes key, bool equal, struct bytes *found,
		  struct bytes *value)
{
	return tree_before(&txn->tree, key, equal, found, value);
}

bool store_put(struct store_txn *txn, struct bytes key, struct bytes value, struct error *err)
{
	uint8_t *to;

	if (!store_reserve(txn, key, value.size, &to, err))
		return false;
	if (value.size)
		memcpy(to, value.data, value.size);
	return true;
}

bool store_reserve(struct store_txn *txn, struct bytes key, size_t size, uint8_t **out,
		   struct error *err)
{
	if (!key.size || key.size > STORE_KEY_MAX || size > UINT32_MAX)
		return error_set(err, ERR_RANGE, "a value of %zu bytes under a key of %zu bytes",
				 size, key.size);
	return tree_put(&txn->tree, key, size, out) || txn_failed(txn, err);
}

bool store_delete(struct store_txn *txn, struct bytes key, struct error *err)
{
	return tree_delete(&txn->tree, key) || txn_failed(txn, err);
}

bool store_delete_prefix(struct store_txn *txn, struct bytes prefix, struct error *err)
{
	return tree_delete_prefix(&txn->tree, prefix) || txn_failed(txn, err);
}
