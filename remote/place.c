/* place.c - see place.h */
#include "remote/place.h"

#include "engine/base/bitset.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/new_file.h"
#include "engine/base/source.h"
#include "engine/base/temporary.h"
#include "remote/manifest.h"
#include "remote/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { LOCK_US = 30000000, FORM = 2 };

static bool place_make_folder(const char *path, struct error *err)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return true;
	return error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
}

/* Identity ---------------------------------------------------------------------------------------
 */

void place_add_object(struct place *place, const char *path)
{
	*mem_push(place->known, place->nknown, place->known_capacity) =
		(struct known){.path = mem_strdup(path), .tag = mem_strdup("")};
}

void place_know(struct place *place, size_t object, uint64_t size, const char *tag)
{
	struct known *known = &place->known[object];

	known->size = size;
	mem_free(known->tag);
	known->tag = mem_strdup(tag);
}

static bool read_object(struct place *place, struct json_object *from)
{
	const char *path = json_text_of(from, "path"), *tag = json_text_of(from, "tag");
	uint64_t size;

	if (!path || !tag || !json_number_of(from, "size", &size))
		return false;
	place_add_object(place, path);
	place_know(place, place->nknown - 1, size, tag);
	return true;
}

static bool read_file(struct place *place, struct json_object *from)
{
	const char *path = json_text_of(from, "path");
	struct manifest_file file;
	uint64_t object;

	if (!path || !json_number_of(from, "object", &object) || object >= place->nknown ||
	    !json_number_of(from, "at", &file.at) || !json_number_of(from, "size", &file.size) ||
	    file.at > place->known[object].size ||
	    file.size > place->known[object].size - file.at ||
	    !(file.path = path_inside(path, strlen(path))))
		return false;
	place_add(place, &file, (uint32_t)object);
	return true;
}

/* Length of the path without a URL's query, which may be a signature and is never stored. */
static size_t shown_length(const struct place *place)
{
	return strstr(place->path, "://") ? strcspn(place->path, "?") : strlen(place->path);
}

static bool place_read_all(struct place *place, struct json_object *root)
{
	struct json_object *objects = json_list_of(root, "objects"),
			   *files = json_list_of(root, "files");
	const char *path = json_text_of(root, "of");
	uint64_t version;

	if (!json_number_of(root, "yore-remote", &version) || version != FORM || !path ||
	    strlen(path) != shown_length(place) || strncmp(path, place->path, strlen(path)) != 0 ||
	    !objects || !files)
		return false;
	for (size_t i = 0; i < json_object_array_length(objects); i++)
		if (!read_object(place, json_object_array_get_idx(objects, i)))
			return false;
	for (size_t i = 0; i < json_object_array_length(files); i++)
		if (!read_file(place, json_object_array_get_idx(files, i)))
			return false;
	return true;
}

static void forget_files(struct place *place)
{
	for (size_t i = 0; i < place->nplaced; i++)
		mem_free(place->placed[i].file.path);
	place->nplaced = 0;
}

static void forget_known(struct place *place)
{
	for (size_t i = 0; i < place->nknown; i++) {
		mem_free(place->known[i].path);
		mem_free(place->known[i].tag);
	}
	place->nknown = 0;
	forget_files(place);
}

/*
 * Reads the identity file. One that is damaged or of another version is ignored: all is fetched
 * anew.
 */
static void read_identity(struct place *place)
{
	char *path = folder_join(place->folder, "identity");
	struct buf text = {0};
	struct json_object *root = file_read(path, &text) ? json_of(&text) : NULL;

	if (!root || !place_read_all(place, root))
		forget_known(place);
	json_object_put(root);
	buf_release(&text);
	mem_free(path);
}

static bool write_identity(const struct place *place, struct error *err)
{
	struct json_object *root = json_object_new_object(), *objects = json_object_new_array(),
			   *files = json_object_new_array();
	char *path = folder_join(place->folder, "identity");
	struct buf text = {0};

	json_object_object_add(root, "yore-remote", json_object_new_int(FORM));
	json_object_object_add(root, "of",
			       json_object_new_string_len(place->path, (int)shown_length(place)));
	json_object_object_add(root, "objects", objects);
	json_object_object_add(root, "files", files);
	for (size_t i = 0; i < place->nknown; i++) {
		const struct known *known = &place->known[i];
		struct json_object *object = json_object_new_object();
		json_object_object_add(object, "path", json_object_new_string(known->path));
		json_object_object_add(object, "size", json_object_new_int64((int64_t)known->size));
		json_object_object_add(object, "tag", json_object_new_string(known->tag));
		json_object_array_add(objects, object);
	}
	for (size_t i = 0; i < place->nplaced; i++) {
		const struct placed *placed = &place->placed[i];
		struct json_object *file = json_object_new_object();
		json_object_object_add(file, "path", json_object_new_string(placed->file.path));
		json_object_object_add(file, "object", json_object_new_int64(placed->object));
		json_object_object_add(file, "at", json_object_new_int64((int64_t)placed->file.at));
		json_object_object_add(file, "size",
				       json_object_new_int64((int64_t)placed->file.size));
		json_object_array_add(files, file);
	}
	buf_add_text(&text, json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
	bool good = file_write(path, &text, err);
	buf_release(&text);
	json_object_put(root);
	mem_free(path);
	return good;
}

/* Files without bytes ----------------------------------------------------------------------------
 */

void place_add(struct place *place, struct manifest_file *file, uint32_t object)
{
	*mem_push(place->placed, place->nplaced, place->placed_capacity) =
		(struct placed){*file, object};
	file->path = NULL;
}

static bool make_file(const char *folder, const struct placed *placed, bool anew, struct error *err)
{
	char *path = folder_join(folder, placed->file.path);
	bool good = folders_make(path, strlen(folder) + 1, false, 0700) ||
		    error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	struct stat st;

	if (good && anew && unlink(path) != 0 && errno != ENOENT)
		good = error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
	if (good && (anew || stat(path, &st) != 0 || (uint64_t)st.st_size != placed->file.size)) {
		int fd = file_open_own(path, O_RDWR);
		if (fd < 0 || ftruncate(fd, (off_t)placed->file.size) != 0)
			good = error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	mem_free(path);
	return good;
}

static bool make_files(struct place *place, const uint64_t *changed, struct error *err)
{
	char *folder = folder_join(place->folder, "files");
	bool good = place_make_folder(folder, err);

	for (size_t i = 0; i < place->nplaced && good; i++)
		good = make_file(folder, &place->placed[i],
				 bitset_has(changed, place->placed[i].object), err);
	mem_free(folder);
	return good;
}

bool place_make(struct place *place, const uint64_t *changed, struct error *err)
{
	return make_files(place, changed, err) && write_identity(place, err);
}

void place_forget(struct place *place)
{
	forget_known(place);
	temporary_folder_end(folder_join(place->folder, "files"), -1);
}

/* The folder -------------------------------------------------------------------------------------
 */

static void name_folder(struct buf *out, const char *path)
{
	size_t len = strcspn(path, "?"), end = len, begin;

	while (end && path[end - 1] == '/')
		end--;
	for (begin = end; begin && path[begin - 1] != '/'; begin--)
		;
	path_add_readable(out, path + begin, end - begin);
	buf_printf(out, "-%016llx", (unsigned long long)XXH3_64bits(path, len));
}

static bool lock_folder(struct place *place, struct error *err)
{
	char *path = folder_join(place->folder, "lock");

	place->lock = file_create_locked(path, LOCK_US);
	bool good = place->lock >= 0;
	if (!good)
		error_set(err, ERR_IO, "%s: %s", path,
			  errno == EWOULDBLOCK ? "another process has it for half a minute"
					       : strerror(errno));
	mem_free(path);
	return good;
}

/*
 * Returns the folder of all places; without `keep` a temporary one, deleted when the process ends.
 */
static char *folder_for_all(const char *keep, struct error *err)
{
	char *folder;
	int noted;

	if (keep) {
		folder = folder_join(keep, "remote");
		if (place_make_folder(keep, err) && place_make_folder(folder, err))
			return folder;
	} else {
		folder = temporary_folder(NULL, "remote", &noted);
		if (folder)
			return folder;
		error_set(err, ERR_IO, "no temporary folder: %s", strerror(errno));
	}
	mem_free(folder);
	return NULL;
}

bool place_open(struct place *place, const char *path, const char *keep, struct error *err)
{
	char *above = folder_for_all(keep, err), *kept;
	struct buf name = {0};
	bool good;

	*place = (struct place){.path = mem_strdup(path), .lock = -1};
	if (!above)
		return false;
	name_folder(&name, path);
	place->folder = folder_join(above, buf_text(&name));
	kept = folder_join(place->folder, "kept");
	good = place_make_folder(place->folder, err) && place_make_folder(kept, err) &&
	       lock_folder(place, err);
	if (good)
		read_identity(place);
	mem_free(kept);
	mem_free(above);
	buf_release(&name);
	return good;
}

void place_unlock(struct place *place)
{
	if (place->lock >= 0)
		close(place->lock);
	place->lock = -1;
}

void place_release(struct place *place)
{
	place_unlock(place);
	forget_known(place);
	mem_free(place->known);
	mem_free(place->placed);
	mem_free(place->path);
	mem_free(place->folder);
}
