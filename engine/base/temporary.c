/*
 * temporary.c - see temporary.h
 *
 * A slot is reserved (TAKEN), filled, and only then valid for the signal handler (NOTED). Slots
 * contain the paths themselves, so that the handler never reads memory that another thread frees.
 */
#include "engine/base/temporary.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLOTS = 64, TRIES = 64 };
enum slot_state { EMPTY, TAKEN, NOTED };

static struct temporary_slot {
	_Atomic int state;
	bool folder;
	char path[PATH_MAX];
} slots[SLOTS];

int temporary_note(const char *path, bool folder)
{
	size_t len = strlen(path);

	for (int i = 0; len < PATH_MAX && i < SLOTS; i++) {
		int empty = EMPTY;
		if (!atomic_compare_exchange_strong(&slots[i].state, &empty, TAKEN))
			continue;
		memcpy(slots[i].path, path, len + 1);
		slots[i].folder = folder;
		atomic_store(&slots[i].state, NOTED);
		return i;
	}
	return -1;
}

void temporary_forget(int number)
{
	if (number >= 0)
		atomic_store(&slots[number].state, EMPTY);
}

void temporary_forget_all(void)
{
	for (int i = 0; i < SLOTS; i++)
		temporary_forget(i);
}

enum { DEPTH = 16 }; /* the most levels of nested folders that are removed */

static void remove_entries(int fd, int depth);

static void remove_entry(int fd, const char *name, int depth)
{
	bool is_dots = name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));

	if (is_dots || unlinkat(fd, name, 0) == 0 || errno != EISDIR || depth == DEPTH)
		return;
	int inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (inner < 0)
		return;
	remove_entries(inner, depth + 1);
	close(inner);
	unlinkat(fd, name, AT_REMOVEDIR);
}

/* By system calls: readdir() allocates memory, which a signal handler may not. */
static void remove_entries(int fd, int depth)
{
	struct entry { /* getdents64(2) */
		uint64_t inode;
		int64_t next;
		uint16_t len;
		uint8_t type;
		char name[];
	};
	_Alignas(struct entry) char bytes[4096];
	long got;

	while ((got = syscall(SYS_getdents64, fd, bytes, sizeof bytes)) > 0)
		for (long at = 0; at < got;) {
			const struct entry *entry = (const void *)(bytes + at);
			remove_entry(fd, entry->name, depth);
			at += entry->len;
		}
}

/* Tries several times, since other threads may still create files in it. */
static void remove_folder(const char *path)
{
	for (int i = 0; i < TRIES && rmdir(path) != 0; i++) {
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return;
		remove_entries(fd, 0);
		close(fd);
	}
}

void temporary_remove_all(void)
{
	for (int i = 0; i < SLOTS; i++) {
		if (atomic_load(&slots[i].state) != NOTED)
			continue;
		if (slots[i].folder)
			remove_folder(slots[i].path);
		else
			unlink(slots[i].path);
	}
}

static const char *usual_folder(void)
{
	const char *in = getenv("TMPDIR");

	return in && *in ? in : "/tmp";
}

char *temporary_folder(const char *in, const char *what, int *number)
{
	struct buf path = {0};

	buf_printf(&path, "%s/yore-%s-XXXXXX", in ? in : usual_folder(), what);
	if (!mkdtemp(path.data)) {
		int cause = errno;
		buf_release(&path);
		errno = cause;
		return NULL;
	}
	*number = temporary_note(path.data, true);
	return path.data;
}

void temporary_folder_end(char *path, int number)
{
	if (!path)
		return;
	remove_folder(path);
	temporary_forget(number);
	mem_free(path);
}

static int open_in(const char *folder)
{
	char path[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || snprintf(path, sizeof path, "%s/yore-XXXXXX", folder) >= (int)sizeof path)
		return fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

int temporary_open(const char **folder)
{
	const char *in = usual_folder();

	if (folder)
		*folder = in;
	return open_in(in);
}

static int open_on_disk(const char *folder)
{
	struct statfs system;

	if (statfs(folder, &system) != 0 || system.f_type == TMPFS_MAGIC ||
	    system.f_type == RAMFS_MAGIC)
		return -1;
	return open_in(folder);
}

int temporary_open_on_disk(void)
{
	const char *in = getenv("TMPDIR");

	if (in && *in)
		return open_on_disk(in);
	int fd = open_on_disk("/var/tmp");
	return fd >= 0 ? fd : open_on_disk("/tmp");
}
