/*
 * ovni_metadata.c - stream.json → struct ovni_metadata
 *
 * Keys are those of the trace specification, "stream.json". A number with a fraction, or a value of
 * a wrong type, is ignored as if it were absent.
 */
#include "engine/base/folder.h"
#include "engine/ovni/ovni_internal.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <xxhash.h>

enum { TEXT_MAX = 16 << 20, JSON_DEPTH = 32, SETTINGS_MAX = 4096, SETTING_DEPTH = 6 };

/* Returns the value at a path such as "ovni.loom"; NULL: there is none. */
static struct json_object *ovni_metadata_get(struct json_object *root, const char *dotted)
{
	char key[64];

	while (root && *dotted) {
		size_t len = strcspn(dotted, ".");
		if (len >= sizeof key || !json_object_is_type(root, json_type_object))
			return NULL;
		memcpy(key, dotted, len);
		key[len] = 0;
		if (!json_object_object_get_ex(root, key, &root))
			return NULL;
		dotted += len + (dotted[len] == '.');
	}
	return root;
}

static bool as_number(struct json_object *value, int64_t *out)
{
	if (json_object_is_type(value, json_type_int)) {
		*out = json_object_get_int64(value);
		return true;
	}
	if (!json_object_is_type(value, json_type_double))
		return false;
	double number = json_object_get_double(value);
	if (number != floor(number) || fabs(number) > 9e15)
		return false;
	*out = (int64_t)number;
	return true;
}

static int64_t get_number(struct json_object *root, const char *key, int64_t otherwise)
{
	int64_t number;

	return as_number(ovni_metadata_get(root, key), &number) ? number : otherwise;
}

static const char *get_text(struct arena *arena, struct json_object *root, const char *key)
{
	struct json_object *value = ovni_metadata_get(root, key);

	return json_object_is_type(value, json_type_string)
		       ? arena_strdup(arena, json_object_get_string(value))
		       : NULL;
}

static void ovni_metadata_add_named(struct arena *arena, struct ovni_named **items, size_t *count,
				    size_t *capacity, const char *name, const char *text)
{
	if (*count == SETTINGS_MAX)
		return;
	*items = mem_grow(*items, *count, capacity, sizeof **items);
	(*items)[(*count)++] =
		(struct ovni_named){arena_strdup(arena, name), arena_strdup(arena, text)};
}

static void read_models(struct arena *arena, struct json_object *root, struct ovni_metadata *out)
{
	struct json_object *require = ovni_metadata_get(root, "ovni.require");

	if (!json_object_is_type(require, json_type_object))
		return;
	json_object_object_foreach(require, name, version)
	{
		if (json_object_is_type(version, json_type_string))
			ovni_metadata_add_named(arena, &out->models, &out->nmodels,
						&out->models_capacity, name,
						json_object_get_string(version));
	}
}

static void read_cpus(struct json_object *root, struct ovni_metadata *out)
{
	struct json_object *list = ovni_metadata_get(root, "ovni.loom_cpus");
	size_t count =
		json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		struct ovni_cpu cpu = {get_number(item, "index", -1),
				       get_number(item, "phyid", -1)};
		if (cpu.index < 0 || cpu.phyid < 0 || cpu.index > INT32_MAX ||
		    cpu.phyid > INT32_MAX)
			continue;
		*mem_push(out->cpus, out->ncpus, out->cpus_capacity) = cpu;
	}
}

/* Adds all values that have no member in struct ovni_metadata as settings, "a.b.c" and text. */
static void read_settings(struct arena *arena, struct json_object *object, const char *above,
			  unsigned depth, struct ovni_metadata *out)
{
	static const char own[] = " version ovni.part ovni.tid ovni.pid ovni.loom ovni.app_id "
				  "ovni.rank ovni.nranks ovni.require ovni.loom_cpus "
				  "ovni.finished ";
	struct buf name = {0}, word = {0};

	json_object_object_foreach(object, key, value)
	{
		buf_clear(&name);
		buf_clear(&word);
		buf_printf(&name, "%s%s%s", above, *above ? "." : "", key);
		buf_printf(&word, " %s ", buf_text(&name));
		if (strstr(own, buf_text(&word)))
			continue;
		if (json_object_is_type(value, json_type_object) && depth < SETTING_DEPTH)
			read_settings(arena, value, buf_text(&name), depth + 1, out);
		else
			ovni_metadata_add_named(arena, &out->settings, &out->nsettings,
						&out->settings_capacity, buf_text(&name),
						json_object_get_string(value));
	}
	buf_release(&name);
	buf_release(&word);
}

static bool read_identity(struct arena *arena, struct json_object *root, struct ovni_metadata *out,
			  struct error *err)
{
	const char *part = get_text(arena, root, "ovni.part");

	out->finished = get_number(root, "ovni.finished", 0) == 1;
	out->tid = get_number(root, "ovni.tid", -1);
	out->pid = get_number(root, "ovni.pid", -1);
	out->app = get_number(root, "ovni.app_id", -1);
	out->rank = get_number(root, "ovni.rank", -1);
	out->nranks = get_number(root, "ovni.nranks", -1);
	out->loom = get_text(arena, root, "ovni.loom");
	if (!part)
		return error_set(err, ERR_FORMAT, "ovni.part is missing: whose stream is it?");
	if (strcmp(part, "thread") != 0)
		return true;
	if (out->tid <= 0)
		return error_set(err, ERR_FORMAT, "ovni.tid is missing or not above 0");
	if (out->pid <= 0)
		return error_set(err, ERR_FORMAT, "ovni.pid is missing or not above 0");
	return true;
}

static bool read_root(struct arena *arena, struct json_object *root, struct ovni_metadata *out,
		      struct error *err)
{
	int64_t version;

	if (!json_object_is_type(root, json_type_object))
		return error_set(err, ERR_FORMAT, "its top is not an object");
	if (!as_number(ovni_metadata_get(root, "version"), &version))
		return error_set(err, ERR_FORMAT, "version is missing or no whole number");
	if (version != 3)
		return error_set(err, ERR_FORMAT, "version %" PRId64 " is not known (3 is)",
				 version);
	if (!read_identity(arena, root, out, err))
		return false;
	read_models(arena, root, out);
	read_cpus(root, out);
	read_settings(arena, root, "", 0, out);
	return true;
}

static bool parse(const char *text, size_t len, struct json_object **out, struct error *err)
{
	struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH);
	enum json_tokener_error cause;

	if (!tokener)
		return error_set(err, ERR_IO, "out of memory");
	*out = json_tokener_parse_ex(tokener, text, (int)len);
	cause = json_tokener_get_error(tokener);
	if (cause == json_tokener_continue) /* parse the zero behind the text: it ends a number */
		error_set(err, ERR_FORMAT, "the JSON text ends too early");
	else if (cause != json_tokener_success)
		error_set(err, ERR_FORMAT, "no JSON at offset %zu: %s",
			  json_tokener_get_parse_end(tokener), json_tokener_error_desc(cause));
	json_tokener_free(tokener);
	return cause == json_tokener_success;
}

bool ovni_read_text(const char *path, struct buf *out, struct error *err)
{
	struct source *source;
	struct block block;

	if (!source_open(path, SOURCE_READ, &source, err))
		return false;
	bool ok = source_size(source) <= TEXT_MAX ||
		  error_set(err, ERR_FORMAT, "it is larger than 16 MB");
	ok = ok && source_get(source, 0, (size_t)source_size(source), &block, err);
	if (ok) {
		buf_add(out, block.data, block.size);
		source_put(&block);
	}
	source_close(source);
	return ok;
}

bool ovni_read_metadata(struct arena *arena, const char *folder, const char *name,
			struct ovni_metadata *out, struct error *err)
{
	char *path = folder_join(folder, "stream.json");
	struct json_object *root = NULL;
	struct buf text = {0};

	*out = (struct ovni_metadata){.path = arena_strdup(arena, folder),
				      .name = arena_strdup(arena, name)};
	bool ok = ovni_read_text(path, &text, err) &&
		  parse(buf_text(&text), text.len, &root, err) && read_root(arena, root, out, err);
	out->digest = XXH3_64bits(buf_text(&text), text.len);
	if (!ok && !strstr(err->text, path))
		error_while(err, "%s", path);
	json_object_put(root);
	buf_release(&text);
	mem_free(path);
	return ok;
}
