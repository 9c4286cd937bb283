/* inputs.c - a set of (device, inode) */
#include "engine/base/inputs.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"

#include <libgen.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

struct input_id {
	dev_t device;
	ino_t inode;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool recording;
static struct hash_index places; /* under the lock */
static struct input_id *items;
static size_t count, capacity;

void inputs_record(void)
{
	pthread_mutex_lock(&lock);
	hash_index_clear(&places);
	count = 0;
	pthread_mutex_unlock(&lock);
	atomic_store(&recording, true);
}

/* Under the lock. */
static uint32_t find_input(const struct stat *about, uint64_t *hash)
{
	*hash = hash_number(hash_number((uint64_t)about->st_dev) + (uint64_t)about->st_ino);
	return hash_index_find(&places, *hash, i,
			       items[i].device == about->st_dev && items[i].inode == about->st_ino);
}

static void add_input(const struct stat *about)
{
	uint64_t hash;

	if (!atomic_load(&recording) || !about->st_nlink)
		return;
	pthread_mutex_lock(&lock);
	if (find_input(about, &hash) == HASH_INDEX_NONE) {
		*mem_push(items, count, capacity) = (struct input_id){about->st_dev, about->st_ino};
		hash_index_add(&places, hash, (uint32_t)(count - 1));
	}
	pthread_mutex_unlock(&lock);
}

void inputs_add(const struct stat *about)
{
	if (S_ISREG(about->st_mode))
		add_input(about);
}

void inputs_add_fd(int fd)
{
	struct stat about;

	if (fd >= 0 && fstat(fd, &about) == 0)
		inputs_add(&about);
}

void inputs_add_path(const char *path)
{
	struct stat about;

	if (stat(path, &about) == 0)
		inputs_add(&about);
}

void inputs_add_folder(const char *path)
{
	struct stat about;

	if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
		add_input(&about);
}

static bool is_read(const struct stat *about)
{
	uint64_t hash;

	pthread_mutex_lock(&lock);
	bool read = find_input(about, &hash) != HASH_INDEX_NONE;
	pthread_mutex_unlock(&lock);
	return read;
}

/* Is it in a folder that inputs_add_folder() added? */
static bool lies_among(const char *path)
{
	char *copy = mem_strdup(path);
	struct stat about;
	bool found = stat(dirname(copy), &about) == 0 && is_read(&about);

	mem_free(copy);
	return found;
}

bool inputs_spare(const char *path, struct error *err)
{
	struct stat about;
	bool output = strcmp(path, "-") == 0;
	bool there = (output ? fstat(STDOUT_FILENO, &about) : stat(path, &about)) == 0;

	if (there && S_ISREG(about.st_mode) && is_read(&about))
		return error_set(err, ERR_QUERY,
				 "%s is a file of what is read: the output needs another name",
				 output ? "standard output" : path);
	return output || !lies_among(path) ||
	       error_set(err, ERR_QUERY,
			 "%s lies in a folder of the trace, of which all files are read: the output "
			 "needs another place",
			 path);
}
