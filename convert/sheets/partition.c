/* partition.c - see partition.h */
#include "convert/sheets/partition.h"

#include "engine/base/folder.h"
#include "engine/base/inputs.h"
#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/base/quote.h"
#include "engine/columns/json.h"
#include "engine/reader.h"
#include "index/tables/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFESTS "_manifest"
#define PART_FILE "part-0.parquet"

struct partition {
	const struct convert_options *options;
	char *manifests; /* their folder */
	char trace[UUID_TEXT];
};

static bool failed_at(const char *path, struct error *err)
{
	return error_set(err, errno == EINTR ? ERR_INTERRUPTED : ERR_IO, "%s: %s", path,
			 strerror(errno));
}

/* ---- the folder ---- */

static bool is_partition(const char *path, struct error *err)
{
	struct folder_names names;

	if (!folder_list(path, &names, err))
		return false;
	bool is = names.count == 0;
	for (size_t i = 0; i < names.count; i++)
		is = is || !strcmp(names.items[i], MANIFESTS);
	folder_release(&names);
	return is || error_set(err, ERR_IO,
			       "%s: there is something already, and no " MANIFESTS
			       ": it is to be new, or a folder that --partition made",
			       path);
}

static bool make_manifests(const struct partition *partition, struct error *err)
{
	return mkdir(partition->manifests, 0777) == 0 || errno == EEXIST ||
	       failed_at(partition->manifests, err);
}

struct partition *partition_open(const struct convert_options *options, struct out_folder *folder,
				 struct error *err)
{
	struct partition *partition = mem_new(sizeof *partition);
	const char *path = options->path;
	uint8_t uuid[16];

	partition->options = options;
	partition->manifests = folder_join(path, MANIFESTS);
	identity_uuid(options->trace, options->first, options->last, uuid);
	uuid_put(uuid, partition->trace);
	bool ok = inputs_spare(path, err) &&
		  (mkdir(path, 0777) == 0 || errno == EEXIST || failed_at(path, err)) &&
		  is_partition(path, err) && make_manifests(partition, err);
	if (ok && out_folder_open_below(folder, path, err))
		return partition;
	partition_close(partition);
	return NULL;
}

void partition_close(struct partition *partition)
{
	if (!partition)
		return;
	mem_free(partition->manifests);
	mem_free(partition);
}

/* ---- the manifest ---- */

static void text_key(struct buf *out, const char *name, const char *value)
{
	if (value && *value)
		json_printf(out, ",%s:%s", name, value);
	else
		json_printf(out, ",%s:null", name);
}

static void time_key(struct buf *out, const char *name, nstime t)
{
	if (t != NSTIME_MIN && t != NSTIME_MAX)
		json_printf(out, ",%s:%lld", name, (long long)t);
	else
		json_printf(out, ",%s:null", name);
}

static void trace_keys(struct buf *out, const struct trace *trace)
{
	const struct part *part = trace->nparts ? trace->parts[0] : NULL;
	char uuid[UUID_TEXT], name[IDENTITY_NAME];

	identity_name(trace, name);
	text_key(out, "path", trace->path);
	text_key(out, "format", part ? part->reader->format : NULL);
	text_key(out, "version", part ? part->version : NULL);
	text_key(out, "host", trace_host(trace));
	text_key(out, "identity", name);
	text_key(out, "uuid", part && part->has_uuid ? uuid_put(part->uuid, uuid) : NULL);
	text_key(out, "clock",
		 trace_has_ordinals(trace) ? "none"
		 : trace_has_epoch(trace)  ? "utc"
					   : "own");
	json_printf(out, ",'clock_offset':%lld", (long long)trace_clock_offset(trace));
}

/* Adds the range of the trace's events and the requested range. */
static void range_keys(struct buf *out, const struct convert_options *options)
{
	bool any = options->first != NSTIME_MIN;

	time_key(out, "begin", any ? options->first : NSTIME_MIN);
	time_key(out, "end", any ? options->last : NSTIME_MIN);
	time_key(out, "asked_begin", options->begin);
	time_key(out, "asked_end", options->end);
	json_printf(out, ",'whole':%i", options->whole && options->all_streams && !options->picked);
}

static void rules_keys(struct buf *out, const struct rules *rules)
{
	struct rules_file file;
	uint64_t digest[2];
	char text[2 * 16 + 1];

	if (rules)
		rules_identity(rules, digest);
	if (rules)
		snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)digest[0],
			 (unsigned long long)digest[1]);
	text_key(out, "rules_identity", rules ? text : NULL);
	json_printf(out, ",'rules':[");
	for (size_t i = 0; rules && rules_file(rules, i, &file); i++)
		json_printf(out, ",%s", file.name);
	buf_add_char(out, ']');
}

static void damage_keys(struct buf *out, const struct convert_options *options,
			const struct partition_losses *losses)
{
	uint64_t met = atomic_load(&options->trace->damaged);
	uint64_t told = options->damaged ? *options->damaged : 0;

	json_printf(out, ",'losses':%llu,'lost':%llu,'damaged':%llu",
		    (unsigned long long)losses->places, (unsigned long long)losses->events,
		    (unsigned long long)(told > met ? told : met));
}

static void add_part_path(struct buf *out, const struct partition *partition, const char *name)
{
	buf_printf(out, "table=%s/trace=%s/" PART_FILE, name, partition->trace);
}

static void files_key(struct buf *out, const struct partition *partition,
		      const struct partition_file *files, size_t count)
{
	struct buf path = {0};

	json_printf(out, ",'files':[");
	for (size_t i = 0; i < count; i++) {
		buf_clear(&path);
		add_part_path(&path, partition, files[i].name);
		json_printf(out, ",{'table':%s,'path':%s,'rows':%lld,'bytes':%lld}", files[i].table,
			    buf_text(&path), (long long)files[i].rows, (long long)files[i].bytes);
	}
	buf_add_char(out, ']');
	buf_release(&path);
}

static bool write_manifest(const struct partition *partition, const char *path,
			   const struct partition_file *files, size_t count,
			   const struct partition_losses *losses, struct error *err)
{
	const struct convert_options *options = partition->options;
	struct buf text = {0};
	struct out out;

	buf_add_char(&text, '{');
	text_key(&text, "trace", partition->trace);
	text_key(&text, "yore", YORE_VERSION);
	trace_keys(&text, options->trace);
	range_keys(&text, options);
	damage_keys(&text, options, losses);
	rules_keys(&text, options->rules);
	files_key(&text, partition, files, count);
	buf_add_text(&text, "}\n");
	bool ok = out_open(&out, path, err);
	if (ok) {
		ok = out_write(&out, text.data, text.len, err) && out_finish(&out, err);
		out_drop(&out);
	}
	buf_release(&text);
	return ok;
}

/* ---- names ---- */

/* Locks the manifests' folder. Returns a descriptor; closing it unlocks. -1: *err. */
static int take_lock(const struct partition *partition, struct error *err)
{
	char *path = folder_join(partition->manifests, ".lock");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);

	if (fd < 0 || flock(fd, LOCK_EX) != 0) {
		MAY_FAIL(failed_at(path, err));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	mem_free(path);
	return fd;
}

static bool put_file(const struct partition *partition, const struct partition_file *file,
		     struct error *err)
{
	struct buf inner = {0};

	add_part_path(&inner, partition, file->name);
	char *path = folder_join(partition->options->path, buf_text(&inner));
	bool ok = (folders_make(path, strlen(partition->options->path) + 1, false, 0777) &&
		   rename(file->path, path) == 0) ||
		  failed_at(path, err);
	mem_free(path);
	buf_release(&inner);
	return ok;
}

/* Deletes the folder of one table and trace. */
static bool drop_part(const char *path, struct error *err)
{
	struct folder_names names;
	bool ok = true;

	if (!folder_list(path, &names, err))
		return false;
	for (size_t i = 0; ok && i < names.count; i++) {
		char *file = folder_join(path, names.items[i]);
		ok = unlink(file) == 0 || errno == ENOENT || failed_at(file, err);
		mem_free(file);
	}
	folder_release(&names);
	return ok && (rmdir(path) == 0 || failed_at(path, err));
}

/* Deletes the trace's files of tables in which it has no rows any more. */
static bool drop_others(const struct partition *partition, const struct nameset *tables,
			struct error *err)
{
	const char *path = partition->options->path;
	struct folder_names names;
	bool ok = true;

	if (!folder_list(path, &names, err))
		return false;
	for (size_t i = 0; ok && i < names.count; i++) {
		const char *name = names.items[i];
		struct buf part = {0};

		if (strncmp(name, "table=", 6) != 0 || nameset_find(tables, name + 6, NULL))
			continue;
		buf_printf(&part, "%s/%s/trace=%s", path, name, partition->trace);
		if (access(buf_text(&part), F_OK) == 0) {
			ok = drop_part(buf_text(&part), err);
			char *table = folder_join(path, name);
			rmdir(table); /* fails where other traces have rows of it */
			mem_free(table);
		}
		buf_release(&part);
	}
	folder_release(&names);
	return ok;
}

static bool put_all(const struct partition *partition, const struct partition_file *files,
		    size_t count, const struct partition_losses *losses, const char *manifest,
		    struct error *err)
{
	struct nameset tables = {0};
	bool ok = unlink(manifest) == 0 || errno == ENOENT || failed_at(manifest, err);

	for (size_t i = 0; ok && i < count; i++) {
		nameset_add(&tables, files[i].name, 0);
		ok = put_file(partition, &files[i], err);
	}
	ok = ok && drop_others(partition, &tables, err) &&
	     write_manifest(partition, manifest, files, count, losses, err);
	nameset_release(&tables);
	return ok;
}

bool partition_finish(struct partition *partition, const struct partition_file *files, size_t count,
		      const struct partition_losses *losses, struct error *err)
{
	struct buf name = {0};

	buf_printf(&name, "%s/%s.json", partition->manifests, partition->trace);
	int lock = take_lock(partition, err);
	bool ok = lock >= 0 && put_all(partition, files, count, losses, buf_text(&name), err);
	if (lock >= 0)
		close(lock);
	buf_release(&name);
	return ok;
}
