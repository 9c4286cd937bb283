/*
 * find.c - the streams of a trace: every folder with stream.json and stream.obs
 *
 * libovni writes ovni/loom.NAME/proc.PID/thread.TID/, but names have no meaning: all folders at or
 * below the given one are searched.
 */
#include "engine/base/folder.h"
#include "engine/ovni/ovni_internal.h"

#include <sys/stat.h>

enum { DEPTH_MAX = 8, PROBED_MAX = 1000 /* folders */ };

static bool has_file(const char *folder, const char *name)
{
	char *path = folder_join(folder, name);
	struct stat st;
	bool found = stat(path, &st) == 0 && S_ISREG(st.st_mode);

	mem_free(path);
	return found;
}

static bool find_is_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

struct ovni_search {
	struct trace *trace;
	const char *root;
	void (*each)(void *arg, const char *folder, const char *name);
	void *arg;
	size_t left; /* how many more folders to list: a probe has a limit */
};

/* Returns the folder's path relative to the root; for the root itself its last part. */
static const char *name_below(const struct ovni_search *search, const char *folder)
{
	size_t len = strlen(search->root);
	const char *slash;

	while (len && search->root[len - 1] == '/')
		len--;
	if (folder[len] == '/' && folder[len + 1])
		return folder + len + 1;
	slash = strrchr(folder, '/');
	return slash && slash[1] ? slash + 1 : folder;
}

/* Reports damage: one of a stream's two files is missing, or no regular file. */
static void tell_half(struct trace *trace, const char *folder, bool has_obs)
{
	char *path = folder_join(folder, has_obs ? "stream.obs" : "stream.json");
	char *other = folder_join(folder, has_obs ? "stream.json" : "stream.obs");
	struct error cause = {0};
	struct stat st;
	uint64_t size;

	if (lstat(other, &st) != 0) {
		error_set(&cause, ERR_FORMAT, "there is no %s beside it, which %s",
			  has_obs ? "stream.json" : "stream.obs",
			  has_obs ? "says whose stream it is" : "has the stream's events");
		trace_damage(trace, path, &cause);
	} else if (!file_is_regular(other, &size, &cause)) {
		trace_damage(trace, "", &cause);
	}
	mem_free(other);
	mem_free(path);
}

/* Calls `each` for each stream; if that is NULL, stops at the first. True: there is a stream. */
static bool search_in(struct ovni_search *search, const char *folder, unsigned depth)
{
	struct folder_names names;
	struct error cause;
	bool has_obs = has_file(folder, "stream.obs"), has_json = has_file(folder, "stream.json");
	bool found = has_obs && has_json;

	if (found && search->each)
		search->each(search->arg, folder, name_below(search, folder));
	if (has_obs != has_json && search->trace)
		tell_half(search->trace, folder, has_obs);
	if ((found && !search->each) || depth == DEPTH_MAX || !search->left ||
	    !folder_list(folder, &names, &cause))
		return found;
	search->left--;
	for (size_t i = 0; i < names.count && (search->each || !found); i++) {
		char *inner = folder_join(folder, names.items[i]);
		found |= find_is_folder(inner) && search_in(search, inner, depth + 1);
		mem_free(inner);
	}
	folder_release(&names);
	return found;
}

bool ovni_has_stream(const char *path)
{
	struct ovni_search search = {.root = path, .left = PROBED_MAX};

	return search_in(&search, path, 0);
}

void ovni_find(struct trace *trace, const char *path,
	       void (*each)(void *arg, const char *folder, const char *name), void *arg)
{
	struct ovni_search search = {
		.trace = trace, .root = path, .each = each, .arg = arg, .left = SIZE_MAX};

	search_in(&search, path, 0);
}
