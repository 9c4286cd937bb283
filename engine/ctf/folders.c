/*
 * folders.c - finds the folders below a path that are traces, and groups those of one trace
 *
 * A path is searched as babeltrace2 does: every folder below it that holds a file `metadata` is a
 * trace.
 */
#include "engine/ctf/folders.h"

#include "engine/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 10, FILES_LOOKED = 16, MAGIC_BYTES = 4 };

/* Is `path`, named `metadata`, a regular file? Else reports damage: a trace without metadata. */
static bool is_metadata(const struct ctf_opening *opening, const char *path)
{
	struct error cause;
	uint64_t size;

	if (file_is_regular(path, &size, &cause))
		return true;
	trace_damage(opening->trace, "", &cause);
	return false;
}

static bool is_packet_file(const char *path)
{
	static const uint8_t little[] = {0xc1, 0x1f, 0xfc, 0xc1}, big[] = {0xc1, 0xfc, 0x1f, 0xc1};
	struct source *source = NULL;
	struct error ignored;
	uint64_t size;
	uint8_t head[4];
	bool is = file_is_regular(path, &size, &ignored) && size >= sizeof head &&
		  source_open(path, SOURCE_READ, &source, &ignored) &&
		  source_peek(source, 0, head, sizeof head, &ignored) &&
		  (!memcmp(head, little, sizeof head) || !memcmp(head, big, sizeof head));

	source_close(source);
	return is;
}

/* Does one of the first files begin with a CTF packet? */
static bool has_packets(const char *folder, const struct folder_names *names)
{
	bool has = false;

	for (size_t i = 0; i < names->count && i < FILES_LOOKED && !has; i++) {
		char *path = folder_join(folder, names->items[i]);
		has = is_packet_file(path);
		mem_free(path);
	}
	return has;
}

/* Checks the folder itself; true: it has something called `metadata`, so it is a trace. */
static bool look_at_folder(const struct ctf_opening *opening, const char *path,
			   const struct folder_names *names, bool inside, struct folders *out)
{
	char *metadata = folder_join(path, "metadata");
	struct stat st;
	bool is_trace = lstat(metadata, &st) == 0 && !S_ISDIR(st.st_mode);

	if (is_trace && is_metadata(opening, metadata))
		*mem_push(out->items, out->count, out->capacity) =
			(struct folder){.path = mem_strdup(path)};
	else if (!is_trace && !inside && has_packets(path, names))
		*mem_push(out->without.items, out->without.count, out->without.capacity) =
			mem_strdup(path);
	mem_free(metadata);
	return is_trace;
}

#define MOVING_NS INT64_C(10000000000)

/* Growing trace: sets trace->moving if there is a chunk that LTTng hides while it rotates it. */
static void look_for_moving(struct trace *trace, const char *path)
{
	static const char *const names[] = {".tmp_old_chunk", ".tmp_new_chunk"};
	struct stat st;

	for (size_t i = 0; trace->grows && i < sizeof names / sizeof *names; i++) {
		char *hidden = folder_join(path, names[i]);
		trace->moving = lstat(hidden, &st) == 0 ? MOVING_NS : trace->moving;
		mem_free(hidden);
	}
}

/* Adds every folder at or below `path` that has a file `metadata`. `inside`: of a trace's folder.
 */
static bool find_folders(const struct ctf_opening *opening, const char *path, unsigned depth,
			 bool inside, struct folders *out, struct error *err)
{
	struct folder_names names;
	struct error cause;
	struct stat st;

	if (depth > DEPTH_MAX || !folder_list(path, &names, err))
		return depth > DEPTH_MAX;
	look_for_moving(opening->trace, path);
	inside |= look_at_folder(opening, path, &names, inside, out);
	for (size_t i = 0; i < names.count; i++) {
		char *inner = folder_join(path, names.items[i]);
		if (lstat(inner, &st) == 0 && S_ISDIR(st.st_mode) &&
		    strcmp(names.items[i], "index") &&
		    !find_folders(opening, inner, depth + 1, inside, out, &cause))
			trace_damage(opening->trace, "", &cause);
		mem_free(inner);
	}
	folder_release(&names);
	return true;
}

/* Reports folders with packets and no metadata as damage, if other folders are traces. */
static void tell_without(const struct ctf_opening *opening, const struct folders *folders)
{
	for (size_t i = 0; i < folders->without.count; i++) {
		struct error cause;
		error_set(&cause, ERR_FORMAT, "%s: files of packets, and no metadata beside them",
			  folders->without.items[i]);
		trace_damage(opening->trace, "", &cause);
		opening->trace->awaited++;
	}
}

static bool folders_is_one(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 || S_ISDIR(st.st_mode);
}

bool ctf_folders_find(const struct ctf_opening *opening, struct folders *out, struct error *err)
{
	bool is_file = !folders_is_one(opening->root);

	if (opening->input.metadata) {
		out->items = mem_grow(out->items, 0, &out->capacity, sizeof *out->items);
		out->items[out->count++] =
			(struct folder){.path = mem_strdup(opening->root), .is_file = is_file};
		return true;
	}
	if (is_file)
		return error_set(
			err, ERR_FORMAT,
			"%s: no folder with a file named metadata; a file of packets alone "
			"needs --input ctf,metadata=FILE",
			opening->root);
	if (!find_folders(opening, opening->root, 0, false, out, err))
		return false;
	size_t own = out->count;
	if (opening->input.shm && !find_folders(opening, opening->input.shm, 0, false, out, err))
		return false;
	for (size_t i = own; i < out->count; i++)
		out->items[i].in_shm = true;
	if (out->count)
		tell_without(opening, out);
	return out->count ||
	       error_set(err, ERR_FORMAT, "no file named metadata here or in a folder below");
}

static size_t richness(const struct ctf_description *d)
{
	size_t sum = d->nstreams;

	for (size_t i = 0; i < d->nstreams; i++)
		sum += d->streams[i].nevents;
	return sum;
}

size_t ctf_folders_speaker(const struct folders *folders, size_t first)
{
	size_t best = first;

	for (size_t i = folders->items[first].next; i != FOLDER_NONE; i = folders->items[i].next)
		if (!folders->items[i].taken && richness(&folders->items[i].description) >
							richness(&folders->items[best].description))
			best = i;
	return best;
}

static int by_group(const void *a, const void *b)
{
	const struct folder *x = *(struct folder *const *)a, *y = *(struct folder *const *)b;
	int order = memcmp(x->group, y->group, sizeof x->group);

	return order ? order : x < y ? -1 : x > y;
}

static void chain_folders(struct folders *folders)
{
	struct folder **sorted = mem_new_array(folders->count + 1, sizeof(struct folder *));
	size_t n = 0;

	for (size_t i = 0; i < folders->count; i++) {
		folders->items[i].next = FOLDER_NONE;
		if (!folders->items[i].taken && folders->items[i].has_group)
			sorted[n++] = &folders->items[i];
	}
	qsort(sorted, n, sizeof *sorted, by_group);
	for (size_t i = 1; i < n; i++)
		if (!memcmp(sorted[i]->group, sorted[i - 1]->group, sizeof sorted[i]->group))
			sorted[i - 1]->next = (size_t)(sorted[i] - folders->items);
	mem_free(sorted);
}

/*
 * Opens the first file of a folder that begins with a CTF packet; NULL: there is none. Sets
 * *has_bytes if a file other than the metadata is not empty.
 */
static struct source *first_packets(const char *path, bool *has_bytes)
{
	struct source *source = NULL;
	struct folder_names names;
	struct error ignored;
	uint64_t size;

	*has_bytes = false;
	if (!folder_list(path, &names, &ignored))
		return NULL;
	for (size_t i = 0; i < names.count && !source; i++) {
		char *file = folder_join(path, names.items[i]);
		*has_bytes |= strcmp(names.items[i], "metadata") != 0 &&
			      file_is_regular(file, &size, &ignored) && size;
		if (!is_packet_file(file) || !source_open(file, SOURCE_READ, &source, &ignored))
			source = NULL;
		mem_free(file);
	}
	folder_release(&names);
	return source;
}

/* Returns a folder of this UUID with readable metadata; NULL: there is none. */
static const struct folder *folder_of_uuid(const struct folders *folders, const uint8_t uuid[16])
{
	for (size_t i = 0; i < folders->count; i++) {
		const struct ctf_description *d = &folders->items[i].description;
		if (!folders->items[i].taken && d->has_uuid && !memcmp(d->uuid, uuid, 16))
			return &folders->items[i];
	}
	return NULL;
}

/*
 * Uses the metadata of another folder with the UUID of the packets, which LTTng writes behind the
 * magic number. Also true if the metadata and all other files are empty: nothing is lost then.
 */
static bool borrow_metadata(const struct ctf_opening *opening, const struct folders *folders,
			    struct folder *folder)
{
	const struct folder *from = NULL;
	struct error ignored;
	uint8_t uuid[16];
	bool has_bytes;
	struct source *source = first_packets(folder->path, &has_bytes);

	if (source && source_peek(source, MAGIC_BYTES, uuid, sizeof uuid, &ignored))
		from = folder_of_uuid(folders, uuid);
	source_close(source);
	if (!from)
		return folder->is_empty && !has_bytes;
	char *path = folder->path;
	bool in_shm = folder->in_shm;
	*folder = *from;
	folder->path = path;
	folder->in_shm = in_shm;
	notice(&opening->trace->notices, NOTICE_INFO,
	       "%s/metadata is empty or cut off: that of %s is read, which has the same UUID", path,
	       from->path);
	return true;
}

/* Reports the folders that could not be read, with their error in `causes`; they are `taken`. */
static void tell_unread(const struct ctf_opening *opening, struct folders *folders,
			const struct error *causes)
{
	for (size_t i = 0; i < folders->count; i++)
		if (folders->items[i].taken &&
		    !borrow_metadata(opening, folders, &folders->items[i]))
			trace_damage(opening->trace, "", &causes[i]);
}

bool ctf_folders_read(const struct ctf_opening *opening, struct folders *folders, struct error *err)
{
	struct error *causes = mem_new_array(folders->count, sizeof *causes);
	size_t good = 0;

	for (size_t i = 0; i < folders->count; i++) {
		folders->items[i].taken =
			!ctf_folder_read(opening, &folders->items[i], &causes[i]);
		good += !folders->items[i].taken;
		opening->trace->awaited += folders->items[i].taken;
	}
	if (good) {
		tell_unread(opening, folders, causes);
		chain_folders(folders);
	} else {
		*err = causes[folders->count - 1];
		for (size_t i = 0; i < folders->count && folders->count > 1; i++)
			trace_damage(opening->trace, "", &causes[i]);
	}
	mem_free(causes);
	return good;
}

void ctf_folders_release(struct folders *folders)
{
	for (size_t i = 0; i < folders->count; i++)
		mem_free(folders->items[i].path);
	mem_free(folders->items);
	folder_release(&folders->without);
}
