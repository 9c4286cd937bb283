/*
 * find_traces.c - a walk over folders that ends at each trace
 *
 *     fleet/                  ctf knows it, but it is a collection: its entries are looked at
 *     fleet/web1/             LTTng's session: kernel/ and ust/ below it are one trace
 *     fleet/web2/perf.data    a trace
 *     fleet/web2/notes.txt    no reader knows it
 */
#include "engine/find_traces.h"

#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/reader.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

/*
 * What probe() must return at least. It is less for a file that may be a log of seL4, whose first
 * bytes are weak evidence: such files are skipped.
 */
enum { SURE = 30, DEPTH_MOST = 100 };

struct trace_walk {
	const struct find_alive *alive;
	struct folder_names *out;
	struct nameset seen; /* files and folders, by device and inode */
};

static bool look(struct trace_walk *walk, const char *path, unsigned depth, struct error *err);

static void find_traces_add(struct trace_walk *walk, const char *path)
{
	*mem_push(walk->out->items, walk->out->count, walk->out->capacity) = mem_strdup(path);
}

static bool is_new(struct trace_walk *walk, const struct stat *st)
{
	struct buf text = {0};

	buf_printf(&text, "%llx:%llx", (unsigned long long)st->st_dev,
		   (unsigned long long)st->st_ino);
	bool new = nameset_add(&walk->seen, buf_text(&text), 0);
	buf_release(&text);
	return new;
}

/* Is it named as a recording? An empty one is left by a recorder that was killed at once. */
static bool is_named_as_trace(const char *path)
{
	const char *name = basename(path);

	return !strncmp(name, "perf.data", 9) || text_ends(name, ".dat") ||
	       text_ends(name, ".data");
}

static bool look_inside(struct trace_walk *walk, const char *path, unsigned depth,
			struct error *err)
{
	struct folder_names names;
	bool ok = true;

	if (!folder_list(path, &names, err)) {
		find_traces_add(walk, path); /* traces may be below: opening it says why not */
		return true;
	}
	for (size_t i = 0; i < names.count && ok; i++) {
		char *inner = folder_join(path, names.items[i]);
		ok = look(walk, inner, depth + 1, err);
		mem_free(inner);
	}
	folder_release(&names);
	return ok;
}

/* Is it on a file system of the kernel's own? Reading a file there may block or have effects. */
static bool is_of_kernel(const char *path)
{
	static const unsigned long types[] = {
		PROC_SUPER_MAGIC,   SYSFS_MAGIC,    DEBUGFS_MAGIC,      TRACEFS_MAGIC,
		SECURITYFS_MAGIC,   SELINUX_MAGIC,  CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		BPF_FS_MAGIC,       PSTOREFS_MAGIC, BINFMTFS_MAGIC,     NSFS_MAGIC,
		DEVPTS_SUPER_MAGIC,
	};
	struct statfs fs;

	if (statfs(path, &fs) != 0)
		return false;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if ((unsigned long)fs.f_type == types[i])
			return true;
	return false;
}

/* Visits a file or folder that was not visited before. */
static bool find_traces_look_at(struct trace_walk *walk, const char *path, const struct stat *st,
				unsigned depth, struct error *err)
{
	bool folder = S_ISDIR(st->st_mode), top = depth == 0;
	struct error cause;
	int sure = 0;

	if (!top && !folder && !st->st_size) {
		if (is_named_as_trace(path))
			find_traces_add(walk, path);
		return true;
	}
	if (!top && is_of_kernel(path))
		return true;
	const struct reader *reader = reader_guess(path, &sure, &cause);
	bool known = reader && sure >= SURE;

	if (folder && (!known || (reader->is_collection && reader->is_collection(path))))
		return depth < DEPTH_MOST ? look_inside(walk, path, depth, err) : true;
	if (known || cause.kind != ERR_NONE || top)
		find_traces_add(walk, path);
	return true;
}

static bool look(struct trace_walk *walk, const char *path, unsigned depth, struct error *err)
{
	struct stat st;

	if (!walk->alive->alive(walk->alive->arg))
		return error_set(err, ERR_INTERRUPTED, "interrupted");
	if (stat(path, &st) != 0) {
		if (depth == 0 || (errno != ENOENT && errno != ELOOP))
			find_traces_add(walk, path);
		return true;
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) && depth)
		return true;
	return !is_new(walk, &st) || find_traces_look_at(walk, path, &st, depth, err);
}

bool find_traces(const char *path, const struct find_alive *alive, struct folder_names *out,
		 struct error *err)
{
	struct trace_walk walk = {.alive = alive, .out = out};
	size_t len = strlen(path);
	char *plain = mem_strdup(path);
	struct stat st;

	/* It may be a URL, of which a slash at the end says that it is a folder. */
	bool here = stat(path, &st) == 0;
	while (here && len > 1 && plain[len - 1] == '/')
		plain[--len] = 0;
	bool ok = look(&walk, plain, 0, err);
	mem_free(plain);
	nameset_release(&walk.seen);
	return ok;
}
