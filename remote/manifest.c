/* manifest.c - see manifest.h */
#include "remote/manifest.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/new_file.h"
#include "remote/paths.h"
#include "remote/remote.h"

#include <json-c/json.h>
#include <string.h>
#include <sys/stat.h>

enum { FORM = 1, DEPTH = 16, FILES_MOST = 1000000 };

void listing_add(struct manifest *listing, char *path, uint64_t at, uint64_t size)
{
	*mem_push(listing->files, listing->count, listing->capacity) =
		(struct manifest_file){path, at, size};
}

void listing_release(struct manifest *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		mem_free(listing->files[i].path);
	mem_free(listing->files);
	*listing = (struct manifest){0};
}

/* Reading ----------------------------------------------------------------------------------------
 */

struct json_object *json_of(const struct buf *text)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH);
	struct json_object *root = NULL;

	if (tokener && text->len <= INT32_MAX)
		root = json_tokener_parse_ex(tokener, buf_text(text), (int)text->len);
	if (tokener)
		json_tokener_free(tokener);
	return root;
}

static struct json_object *member_of(struct json_object *object, const char *name,
				     enum json_type type)
{
	struct json_object *value;

	return json_object_object_get_ex(object, name, &value) && json_object_is_type(value, type)
		       ? value
		       : NULL;
}

const char *json_text_of(struct json_object *object, const char *name)
{
	struct json_object *value = member_of(object, name, json_type_string);

	return value ? json_object_get_string(value) : NULL;
}

struct json_object *json_list_of(struct json_object *object, const char *name)
{
	return member_of(object, name, json_type_array);
}

bool json_number_of(struct json_object *object, const char *name, uint64_t *out)
{
	struct json_object *value = member_of(object, name, json_type_int);

	*out = value ? (uint64_t)json_object_get_int64(value) : 0;
	return value && json_object_get_int64(value) >= 0;
}

static bool manifest_add_file(const char *name, struct json_object *file, struct manifest *out,
			      struct error *err)
{
	struct json_object *path = member_of(file, "path", json_type_string);
	uint64_t size;

	if (!path || !json_number_of(file, "size", &size))
		return error_set(err, ERR_FORMAT, "%s: file %zu lacks a path or a size", name,
				 out->count);
	char *inside =
		path_inside(json_object_get_string(path), (size_t)json_object_get_string_len(path));
	if (!inside)
		return error_set(err, ERR_FORMAT,
				 "%s: the path of file %zu leads out of it, is empty or too long, "
				 "or has control characters",
				 name, out->count);
	listing_add(out, inside, 0, size);
	return true;
}

static bool read_files(const char *name, struct json_object *root, struct manifest *out,
		       struct error *err)
{
	struct json_object *version, *files = json_list_of(root, "files");

	if (!json_object_object_get_ex(root, "yore-manifest", &version) ||
	    json_object_get_int64(version) != FORM)
		return error_set(err, ERR_FORMAT, "%s: it is no manifest of version %d", name,
				 FORM);
	if (!files || json_object_array_length(files) > FILES_MOST)
		return error_set(err, ERR_FORMAT, "%s: it has no list of files", name);
	for (size_t i = 0; i < json_object_array_length(files); i++)
		if (!manifest_add_file(name, json_object_array_get_idx(files, i), out, err))
			return false;
	return true;
}

bool manifest_read(const char *name, const struct buf *text, struct manifest *out,
		   struct error *err)
{
	struct json_object *root = json_of(text);
	bool good;

	*out = (struct manifest){0};
	good = root ? read_files(name, root, out, err)
		    : error_set(err, ERR_FORMAT, "%s: it is no JSON", name);
	json_object_put(root);
	if (!good)
		listing_release(out);
	return good;
}

/* Writing ----------------------------------------------------------------------------------------
 */

struct manifest_writer {
	struct json_object *files;
	size_t above; /* length of the folder's path with the slash */
	struct error *err;
	bool good;
	unsigned depth;
};

static void note_file(void *arg, const char *path, const char *name)
{
	struct manifest_writer *writing = arg;
	struct stat st;

	if (!writing->good || stat(path, &st) != 0)
		return;
	(void)name;
	if (S_ISDIR(st.st_mode) && writing->depth < DEPTH) {
		writing->depth++;
		writing->good = folder_each(path, note_file, writing, writing->err);
		writing->depth--;
	} else if (S_ISREG(st.st_mode)) {
		struct json_object *file = json_object_new_object();
		json_object_object_add(file, "path", json_object_new_string(path + writing->above));
		json_object_object_add(file, "size", json_object_new_int64(st.st_size));
		json_object_array_add(writing->files, file);
	}
}

bool remote_write_manifest(const char *folder, struct error *err)
{
	struct json_object *root = json_object_new_object(), *files = json_object_new_array();
	struct manifest_writer writing = {.files = files, .err = err, .good = true};
	char *path = folder_join(folder, FOLDER_MANIFEST);
	struct buf text = {0};

	writing.above = strlen(path) - strlen(FOLDER_MANIFEST);
	json_object_object_add(root, "yore-manifest", json_object_new_int(FORM));
	json_object_object_add(root, "files", files);
	bool good = folder_each(folder, note_file, &writing, err) && writing.good;
	if (good) {
		buf_add_text(&text, json_object_to_json_string_ext(
					    root, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
		buf_add_char(&text, '\n');
		good = file_write(path, &text, err);
	}
	buf_release(&text);
	mem_free(path);
	json_object_put(root);
	return good;
}
