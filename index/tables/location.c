/*
 * location.c - see location.h
 *
 * The folder is options->dir, else YORE_INDEX_DIR, else the XDG cache folder. Instead of a folder
 * on a network file system, the first local one of XDG cache and /var/tmp is used. If the folder
 * cannot be made or written, the index is in memory: it is not put into other, unexpected places.
 */
#include "index/tables/location.h"

#include "engine/base/buf.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/source.h"
#include "index/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

static bool make_folders(const char *path)
{
	char *copy = mem_strdup(path);
	bool good = folders_make(copy, 1, true, 0700);

	mem_free(copy);
	return good;
}

enum verdict { USABLE, NETWORK, READ_ONLY, SHARED, REFUSED };

static enum verdict location_judge(const char *dir)
{
	struct statfs fs;

	if (!make_folders(dir) || statfs(dir, &fs) != 0)
		return REFUSED;
	if (file_system_is_network((unsigned long)fs.f_type))
		return NETWORK;
	if (folder_is_shared(dir))
		return SHARED;
	if (access(dir, W_OK | X_OK) != 0)
		return errno == EROFS ? READ_ONLY : REFUSED;
	return USABLE;
}

/* The XDG cache folder; empty when there is no home. */
static void cache_folder(struct buf *out)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	buf_clear(out);
	if (cache && *cache == '/')
		buf_printf(out, "%s/yore", cache);
	else if (home && *home == '/')
		buf_printf(out, "%s/.cache/yore", home);
}

/* Everybody may write to /var/tmp: a folder there is only trusted when it is ours alone. */
static bool own_temporary(struct buf *out)
{
	struct stat st;

	buf_clear(out);
	buf_printf(out, "/var/tmp/yore-%u", (unsigned)geteuid());
	if (mkdir(buf_text(out), 0700) != 0 && errno != EEXIST)
		return false;
	return lstat(buf_text(out), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022);
}

static bool elsewhere(const struct notices *notices, const char *asked, struct buf *dir)
{
	cache_folder(dir);
	bool found = dir->len && location_judge(buf_text(dir)) == USABLE;
	if (!found)
		found = own_temporary(dir) && location_judge(buf_text(dir)) == USABLE;
	if (found)
		notice(notices, NOTICE_INFO, "%s: on a network file system, the index goes to %s",
		       asked, buf_text(dir));
	else
		notice(notices, NOTICE_INFO,
		       "%s: on a network file system, the index is kept in memory", asked);
	return found;
}

static bool readable(const char *dir, const char *name)
{
	char *path = folder_join(dir, name);
	bool there = store_exists(path);

	mem_free(path);
	return there;
}

/* Without a name, a folder that can only be read is as good: opening the index shows it. */
static bool find_folder(const struct index_options *options, const char *name, struct buf *dir)
{
	const char *asked = options->dir ? options->dir : getenv("YORE_INDEX_DIR");
	bool found = false;

	if (asked && *asked)
		buf_add_text(dir, asked);
	else
		cache_folder(dir);
	char *first = mem_strdup(buf_text(dir));
	switch (dir->len ? location_judge(first) : REFUSED) {
	case USABLE:
		found = true;
		break;
	case NETWORK:
		found = elsewhere(&options->notices, first, dir);
		break;
	case SHARED:
		notice(&options->notices, NOTICE_INFO,
		       "%s: other users may write there, the index is kept in memory: use a folder "
		       "of your own (--index-dir, chmod go-w)",
		       first);
		break;
	case READ_ONLY: /* readers need no locks */
		found = !name || readable(first, name);
		if (found)
			break;
		/* fall through */
	case REFUSED:
		notice(&options->notices, NOTICE_INFO,
		       "%s: cannot be written, the index is kept in memory",
		       *first ? first : "no cache folder");
		break;
	}
	mem_free(first);
	return found;
}

char *index_location(const struct index_options *options, const char *name)
{
	struct buf dir = {0};
	char *path = NULL;

	if (find_folder(options, name, &dir)) {
		buf_printf(&dir, "/%s", name);
		path = mem_strdup(buf_text(&dir));
	}
	buf_release(&dir);
	return path;
}

char *index_folder(const struct index_options *options)
{
	struct index_options quiet = *options; /* opening the index says it */
	struct buf dir = {0};

	quiet.notices = (struct notices){0};
	bool found = !options->none && find_folder(&quiet, NULL, &dir);
	char *path = found ? mem_strdup(buf_text(&dir)) : NULL;
	buf_release(&dir);
	return path;
}
