/*
 * remote.c - see remote.h
 *
 *                    objects                       files
 *     a folder       0: its manifest, 1...: files  each a whole object
 *     a prefix of S3 the same, or files alone      each a whole object
 *     a file         0                             itself
 *     an archive     0                             parts of it
 */
#include "remote/remote.h"

#include "engine/base/bitset.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/source.h"
#include "remote/manifest.h"
#include "remote/object.h"
#include "remote/paths.h"
#include "remote/place.h"
#include "remote/s3.h"
#include "remote/tar.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANIFEST_MOST = 64 << 20 };

struct remote_part { /* place of a file's bytes */
	struct remote_object *object;
	struct source *archive; /* a local archive; then object is NULL */
	uint64_t at;
	char *path; /* the placed file, without bytes */
};

struct located {
	struct place place;
	char *opens; /* path that readers open */
	struct remote_object **objects;
	size_t nobjects;
	struct source *archive;
	bool is_archive;           /* files are parts of object 0 or of `archive` */
	struct remote_part *parts; /* by place.placed */
	struct located *next;
};

static struct located *all; /* never freed, as backings are not */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* URLs -------------------------------------------------------------------------------------------
 */

static bool remote_begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

bool remote_is_url(const char *path)
{
	return remote_begins(path, "http://") || remote_begins(path, "https://") || s3_is(path);
}

static bool remote_is_folder(const char *url)
{
	size_t len = strcspn(url, "?");

	return url[len - 1] == '/';
}

/* The URL of a file below `path`; `inside` "": of `path` itself. */
static char *url_of(const char *path, const char *inside)
{
	struct buf url = {0};

	if (s3_is(path))
		s3_add_url(&url, path);
	else
		buf_add_text(&url, path);
	path_add_encoded(&url, inside);
	return url.data;
}

/* Refuses URLs with a password, which would be in the shell's history and in messages. */
static bool is_allowed(const char *path, struct error *err)
{
	const char *host = strstr(path, "://") + 3;
	size_t len = strcspn(host, "/?#");

	if (memchr(host, '@', len))
		return error_set(err, ERR_QUERY,
				 "a URL with a user's name in it is not taken: credentials come "
				 "from YORE_HTTP_TOKEN, or the netrc file that YORE_NETRC names");
	if (!len || strchr(path, '#') || (s3_is(path) && strchr(path, '?')))
		return error_set(err, ERR_QUERY, "%s: not the URL of a file or folder", path);
	return true;
}

/* Objects ----------------------------------------------------------------------------------------
 */

/* Describes an object of the place, with its last known identity. */
static struct object_of remote_describe(const struct place *place, size_t number)
{
	const struct known *known = &place->known[number];
	struct buf keep = {0};

	buf_printf(&keep, "%s/kept/%zu-", place->folder, number);
	return (struct object_of){.url = url_of(place->path, known->path),
				  .s3 = s3_is(place->path),
				  .keep = keep.data,
				  .size = known->size,
				  .tag = known->tag};
}

static void close_objects(struct located *located)
{
	while (located->nobjects)
		remote_object_close(located->objects[--located->nobjects]);
}

/* Opens the place's objects from `first` on, in one round; those before are open. */
static bool open_objects(struct located *located, size_t first, bool *absent, struct error *err)
{
	size_t count = located->place.nknown;
	struct object_of *of = mem_new_array(count + 1, sizeof *of);

	located->objects = mem_resize(located->objects, count + 1, sizeof *located->objects);
	for (size_t i = first; i < count; i++)
		of[i] = remote_describe(&located->place, i);
	bool good = remote_objects_open(of + first, count - first, located->objects + first, absent,
					err);
	if (good)
		located->nobjects = count;
	for (size_t i = first; i < count; i++) {
		mem_free((char *)(uintptr_t)of[i].url);
		mem_free((char *)(uintptr_t)of[i].keep);
	}
	mem_free(of);
	return good;
}

/* Creates the files, new ones for objects that changed, and stores the objects' identities. */
static bool make_files(struct located *located, struct error *err)
{
	struct place *place = &located->place;
	uint64_t *changed = bitset_new(place->nknown + 1);

	for (size_t i = 0; i < located->nobjects; i++) {
		if (remote_object_changed(located->objects[i]))
			bitset_add(changed, i);
		place_know(place, i, remote_object_size(located->objects[i]),
			   remote_object_tag(located->objects[i]));
	}
	for (size_t i = 0; i < place->nplaced; i++)
		if (bitset_has(changed, place->placed[i].object) && !located->is_archive)
			place->placed[i].file.size = place->known[place->placed[i].object].size;
	bool good = place_make(place, changed, err);
	mem_free(changed);
	return good;
}

/* A folder ---------------------------------------------------------------------------------------
 */

static bool read_manifest(struct located *located, struct manifest *out, struct error *err)
{
	struct remote_object *manifest = located->objects[0];
	struct buf text = {0};
	uint64_t size = remote_object_size(manifest);
	bool good = size <= MANIFEST_MOST ||
		    error_set(err, ERR_FORMAT, "%s%s: it has %llu bytes, more than %d MB",
			      located->place.path, FOLDER_MANIFEST, (unsigned long long)size,
			      MANIFEST_MOST >> 20);

	*out = (struct manifest){0};
	if (good) {
		good = remote_object_read(manifest, 0, buf_room(&text, (size_t)size), (size_t)size,
					  err);
		text.len = good ? (size_t)size : 0;
		good = good && manifest_read(FOLDER_MANIFEST, &text, out, err);
	}
	if (good && !out->count)
		good = error_set(err, ERR_FORMAT, "%s%s: it names no file", located->place.path,
				 FOLDER_MANIFEST);
	buf_release(&text);
	return good;
}

static bool no_manifest(const char *path, struct error *err)
{
	return error_set(err, ERR_IO,
			 "%s has no %s, and a server lists no folders: 'yore index --manifest "
			 "FOLDER' writes one; a single file is named without the last slash",
			 path, FOLDER_MANIFEST);
}

/* Adds the files to the place and opens them; releases `listing`. */
static bool open_listed(struct located *located, struct manifest *listing, struct error *err)
{
	struct place *place = &located->place;
	size_t first = place->nknown;
	bool absent;

	for (size_t i = 0; i < listing->count; i++) {
		place_add_object(place, listing->files[i].path);
		place_add(place, &listing->files[i], (uint32_t)(first + i));
	}
	listing_release(listing);
	return open_objects(located, first, &absent, err);
}

/* Does the listing have exactly the known files? */
static bool is_known(const struct place *place, const struct manifest *listing)
{
	if (place->nknown != listing->count)
		return false;
	for (size_t i = 0; i < listing->count; i++)
		if (strcmp(place->known[i].path, listing->files[i].path) != 0 ||
		    place->known[i].size != listing->files[i].size)
			return false;
	return true;
}

/*
 * Lists a prefix of S3, then opens the files: two rounds of requests, and one for each 1,000 files.
 */
static bool list_prefix(struct located *located, struct error *err)
{
	struct place *place = &located->place;
	struct manifest listing;
	bool absent;

	if (!s3_list(place->path, &listing, err))
		return false;
	if (!is_known(place, &listing)) {
		place_forget(place);
		return open_listed(located, &listing, err);
	}
	listing_release(&listing);
	return open_objects(located, 0, &absent, err);
}

/* Opens the manifest, then its files: two rounds of requests. */
static bool list_folder(struct located *located, struct error *err)
{
	struct place *place = &located->place;
	struct manifest listing;
	bool absent;

	close_objects(located);
	place_forget(place);
	place_add_object(place, FOLDER_MANIFEST);
	if (!open_objects(located, 0, &absent, err)) {
		if (absent && s3_is(place->path))
			return list_prefix(located, err);
		return absent ? no_manifest(place->path, err) : false;
	}
	return read_manifest(located, &listing, err) && open_listed(located, &listing, err);
}

/* Opens all known files in one round; lists the folder again if its manifest changed. */
static bool locate_folder(struct located *located, struct error *err)
{
	const struct place *place = &located->place;
	bool absent;

	if (place->nknown && strcmp(place->known[0].path, FOLDER_MANIFEST) != 0)
		return list_prefix(located, err);
	if (place->nknown && open_objects(located, 0, &absent, err) &&
	    !remote_object_changed(located->objects[0]))
		return true;
	if (place->nknown && !located->nobjects && !absent)
		return false; /* the server did not reply */
	return list_folder(located, err);
}

/* A file, and an archive -------------------------------------------------------------------------
 */

static bool read_object(void *arg, uint64_t offset, void *to, size_t size, struct error *err)
{
	return remote_object_read(arg, offset, to, size, err);
}

static bool read_source(void *arg, uint64_t offset, void *to, size_t size, struct error *err)
{
	return source_peek(arg, offset, to, size, err);
}

static bool list_archive(struct located *located, const struct tar_bytes *bytes, struct error *err)
{
	struct manifest listing;

	if (!tar_list(bytes, &listing, err))
		return false;
	bool some = listing.count > 0;
	for (size_t i = 0; i < listing.count; i++)
		place_add(&located->place, &listing.files[i], 0);
	listing_release(&listing);
	return some || error_set(err, ERR_FORMAT, "%s: the archive has no file", bytes->name);
}

static bool is_archive(const struct tar_bytes *bytes, bool *out, struct error *err)
{
	uint8_t head[TAR_BLOCK];

	*out = false;
	if (bytes->size < TAR_BLOCK)
		return true;
	if (!bytes->read(bytes->arg, 0, head, sizeof head, err))
		return false;
	*out = tar_begins(head);
	return true;
}

/* A file name made of the last part of a URL's path. */
static char *name_in(const char *url)
{
	size_t end = strcspn(url, "?"), begin = end;
	struct buf name = {0};

	while (begin && url[begin - 1] != '/')
		begin--;
	path_add_readable(&name, url + begin, end - begin);
	if (!name.len || name.data[0] == '.')
		buf_add_text(&name, "file");
	return name.data;
}

/* Opens the one object, which is a file or an archive of files. */
static bool locate_file(struct located *located, struct error *err)
{
	struct place *place = &located->place;
	bool absent, known = place->nknown == 1;

	if (!known) {
		place_forget(place);
		place_add_object(place, "");
	}
	if (!open_objects(located, 0, &absent, err))
		return false;
	struct tar_bytes bytes = {read_object, located->objects[0],
				  remote_object_size(located->objects[0]), place->path};
	if (!is_archive(&bytes, &located->is_archive, err))
		return false;
	if (known && !remote_object_changed(located->objects[0]))
		return true;
	place_forget(place);
	place_add_object(place, "");
	if (located->is_archive)
		return list_archive(located, &bytes, err);
	place_add(place, &(struct manifest_file){name_in(place->path), 0, bytes.size}, 0);
	return true;
}

/* The tag of a local archive: its inode and times. */
static void tag_of_archive(const struct source *archive, struct buf *out)
{
	struct source_stamp stamp;

	if (source_stamp(archive, &stamp))
		buf_printf(out, "%llu %lld %lld", (unsigned long long)stamp.inode,
			   (long long)stamp.modified, (long long)stamp.changed);
}

static bool locate_archive(struct located *located, struct error *err)
{
	struct place *place = &located->place;
	struct source *archive = located->archive;
	struct tar_bytes bytes = {read_source, archive, source_size(archive), place->path};
	uint64_t changed = 1;
	struct buf tag = {0};

	located->is_archive = true;
	sources_wait_tick(&located->archive, 1);
	tag_of_archive(archive, &tag);
	bool same = place->nknown == 1 && tag.len && place->known[0].size == bytes.size &&
		    !strcmp(place->known[0].tag, buf_text(&tag));
	bool good = true;
	if (!same) {
		place_forget(place);
		place_add_object(place, "");
		place_know(place, 0, bytes.size, buf_text(&tag));
		good = list_archive(located, &bytes, err) && place_make(place, &changed, err);
	}
	buf_release(&tag);
	return good;
}

/* What readers open ------------------------------------------------------------------------------
 */

/*
 * Reads bytes of a file. If that fails, an index made now has damage there: the placed file is
 * deleted, so that the next run creates a new one, for which no index is stored.
 */
static bool read_part(void *arg, uint64_t offset, void *to, size_t size, struct error *err)
{
	const struct remote_part *part = arg;

	if (part->archive)
		return source_peek(part->archive, part->at + offset, to, size, err);
	if (remote_object_read(part->object, part->at + offset, to, size, err))
		return true;
	unlink(part->path);
	return false;
}

static bool prefetch_part(void *arg, uint64_t offset, size_t size)
{
	const struct remote_part *part = arg;

	if (part->archive)
		return source_prefetch(part->archive, part->at + offset, size);
	return remote_object_prefetch(part->object, part->at + offset, size);
}

static size_t part_there(void *arg, uint64_t offset, size_t size)
{
	const struct remote_part *part = arg;

	return part->archive ? size : remote_object_there(part->object, part->at + offset, size);
}

/* Length of the folder path that all files share. */
static size_t common_folder(const struct place *place)
{
	const char *first = place->placed[0].file.path;
	const char *slash = strrchr(first, '/');
	size_t len = slash ? (size_t)(slash - first) : 0;

	for (size_t i = 1; i < place->nplaced && len; i++)
		while (len && (strncmp(place->placed[i].file.path, first, len) != 0 ||
			       place->placed[i].file.path[len] != '/'))
			do
				len--;
			while (len && first[len] != '/');
	return len;
}

/*
 * The path that readers open: the one file, or the folder; of an archive the folder that all files
 * share.
 */
static char *what_to_open(const struct located *located, const char *folder)
{
	const struct place *place = &located->place;
	struct buf path = {0};
	size_t len = located->is_archive ? common_folder(place) : 0;

	if (place->nplaced == 1 && (located->is_archive || !remote_is_folder(place->path)))
		return folder_join(folder, place->placed[0].file.path);
	buf_add_text(&path, folder);
	if (len) {
		buf_add_char(&path, '/');
		buf_add(&path, place->placed[0].file.path, len);
	}
	return path.data;
}

static bool back_files(struct located *located, struct error *err)
{
	struct place *place = &located->place;
	const uint8_t *map = located->archive ? source_mapped(located->archive) : NULL;
	char *folder = folder_join(place->folder, "files");
	bool good = true;

	located->parts = mem_new_array(place->nplaced + 1, sizeof *located->parts);
	for (size_t i = 0; i < place->nplaced && good; i++) {
		const struct placed *placed = &place->placed[i];
		struct remote_part *part = &located->parts[i];
		struct source_backing backing = {.data = map ? map + placed->file.at : NULL,
						 .read = read_part,
						 .prefetch = prefetch_part,
						 .there = part_there,
						 .arg = part};
		*part = (struct remote_part){.archive = located->archive,
					     .at = placed->file.at,
					     .path = folder_join(folder, placed->file.path)};
		if (!located->archive)
			part->object = located->objects[placed->object];
		good = source_back(part->path, &backing, err);
	}
	located->opens = what_to_open(located, folder);
	mem_free(folder);
	return good;
}

static void located_free(struct located *located)
{
	close_objects(located);
	source_close(located->archive);
	mem_free(located->objects);
	for (size_t i = 0; located->parts && i < located->place.nplaced; i++)
		mem_free(located->parts[i].path);
	mem_free(located->parts);
	place_release(&located->place);
	mem_free(located->opens);
	mem_free(located);
}

static bool locate(struct located *located, const char *path, const char *keep, struct error *err)
{
	bool url = !located->archive;

	located->place.lock = -1;
	if ((url && !is_allowed(path, err)) || !place_open(&located->place, path, keep, err))
		return false;
	bool good = !url                     ? locate_archive(located, err)
		    : remote_is_folder(path) ? locate_folder(located, err)
					     : locate_file(located, err);
	good = good && (!url || make_files(located, err)) && back_files(located, err);
	place_unlock(&located->place);
	return good;
}

/* Opens a local archive; NULL: the path is none, and its own reader reports errors. */
static struct source *open_archive(const char *path)
{
	struct source *source;
	struct error ignored;
	struct stat st;
	bool is = false;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < TAR_BLOCK ||
	    !source_open(path, SOURCE_READ, &source, &ignored))
		return NULL;
	struct tar_bytes bytes = {read_source, source, source_size(source), path};
	is = is_archive(&bytes, &is, &ignored) && is;
	source_close(source); /* every local path is checked: only an archive is mapped */
	return is && source_open(path, SOURCE_AUTO, &source, &ignored) ? source : NULL;
}

static bool same_archive(const struct source *a, const struct source *b)
{
	struct source_stamp one, other;

	return !a || (source_stamp(a, &one) && source_stamp(b, &other) &&
		      !memcmp(&one, &other, sizeof one));
}

static const struct located *find_located(const char *path, const struct source *archive)
{
	for (const struct located *one = all; one; one = one->next)
		if (!strcmp(one->place.path, path) && same_archive(archive, one->archive))
			return one;
	return NULL;
}

char *remote_locate(const char *path, const char *keep, struct error *err)
{
	struct source *archive = remote_is_url(path) ? NULL : open_archive(path);
	char *opens = NULL;

	err->kind = ERR_NONE;
	if (!archive && !remote_is_url(path))
		return NULL;
	pthread_mutex_lock(&lock);
	const struct located *found = find_located(path, archive);
	if (found) {
		source_close(archive);
		opens = mem_strdup(found->opens);
	} else {
		struct located *located = mem_new(sizeof *located);
		located->archive = archive;
		if (locate(located, path, keep, err)) {
			located->next = all;
			all = located;
			opens = mem_strdup(located->opens);
			err->kind = ERR_NONE; /* left by a failed first attempt */
		} else {
			located_free(located);
		}
	}
	pthread_mutex_unlock(&lock);
	return opens;
}
