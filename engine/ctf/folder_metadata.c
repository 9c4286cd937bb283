/* folder_metadata.c - reads a folder's metadata file, in any of the languages, to a description */
#include "engine/base/mem.h"
#include "engine/ctf/folders.h"

#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { METADATA_MAX = 256 << 20 };

/*
 * The identity of stored packet records: a hash of the text before the first event class. Tracers
 * append event classes while they run, which changes no record.
 */
static void identify(const char *text, size_t head, uint64_t identity[2])
{
	XXH128_hash_t hash = XXH3_128bits(text, head);

	identity[0] = hash.low64;
	identity[1] = hash.high64;
}

/* Keeps notices until the file is read: if it is refused, the user sees one error alone. */
static void keep_notice(void *arg, enum notice_kind kind, const char *text)
{
	buf_add_char(arg, (char)kind);
	buf_add(arg, text, strlen(text) + 1);
}

static void say_kept(const struct trace *trace, const struct buf *kept)
{
	for (size_t at = 0; at < kept->len; at += strlen(kept->data + at) + 1) {
		enum notice_kind kind = (enum notice_kind)kept->data[at++];
		notice(&trace->notices, kind, "%s", kept->data + at);
	}
}

/* Adds notices of damage (a text that was cut off) to the error of a refused text. */
static void add_damage(const struct buf *kept, struct error *err)
{
	for (size_t at = 0; at < kept->len; at += strlen(kept->data + at) + 1)
		if (kept->data[at++] == NOTICE_DAMAGE)
			error_while(err, "%s", kept->data + at);
}

static size_t tsdl_head(const char *text, size_t size)
{
	const char *event = memmem(text, size, "\nevent {", 8);

	return event ? (size_t)(event - text) : size;
}

/*
 * Sets the folder's group: the UUID of the trace, or in CTF 2 a hash of the trace class's
 * namespace, name and uid; without name or uid, the UUID of the metadata stream.
 */
static void folder_metadata_find_group(struct folder *folder)
{
	const struct full_name *own = &folder->description.full_name;
	struct buf text = {0};

	folder->has_group = folder->description.has_uuid;
	memcpy(folder->group, folder->description.uuid, sizeof folder->group);
	if (!own->name || !own->uid)
		return;
	buf_add_text(&text, own->space ? own->space : "");
	buf_add(&text, "", 1);
	buf_add_text(&text, own->name);
	buf_add(&text, "", 1);
	buf_add_text(&text, own->uid);
	XXH128_canonical_t group;
	XXH128_canonicalFromHash(&group, XXH3_128bits(text.data, text.len));
	memcpy(folder->group, group.digest, sizeof folder->group);
	folder->has_group = true;
	buf_release(&text);
}

/* 2010 proposal, metadata without packets: finds the byte order by the stream files' packets. */
static void find_byte_order(const char *folder, struct ctf_description *d)
{
	struct folder_names names;
	struct error ignored;
	bool found = false;

	if (!folder_list(folder, &names, &ignored))
		return;
	for (size_t i = 0; i < names.count && !found; i++) {
		char *path = folder_join(folder, names.items[i]);
		struct source *source = NULL;
		uint8_t bytes[RFC_HEADER_BYTES];
		struct rfc_head head;
		struct stat st;
		found = strcmp(names.items[i], "metadata") != 0 && stat(path, &st) == 0 &&
			S_ISREG(st.st_mode) && source_open(path, SOURCE_READ, &source, &ignored) &&
			source_peek(source, 0, bytes, sizeof bytes, &ignored) &&
			rfc_head_read(bytes, &head);
		if (found)
			d->big_endian = head.big_endian;
		source_close(source);
		mem_free(path);
	}
	folder_release(&names);
}

/* Reads the text of a metadata file; for the 2010 proposal, sets fields of *d from its packets. */
static bool folder_metadata_read_text(struct trace *trace, struct folder *folder, const char *path,
				      const struct block *block, const struct notices *notices,
				      char **text, size_t *size, struct error *err)
{
	struct ctf_description *d = &folder->description;
	const char *bytes = (const char *)block->data;
	bool packets = rfc_is_packet(block->data, block->size);

	*d = (struct ctf_description){0};
	d->is_2010 = packets || (!metadata_is_later(block->data, block->size) &&
				 rfc_is_text(bytes, block->size));
	if (!d->is_2010)
		return metadata_text(path, block->data, block->size, trace->arena, notices, text,
				     size, err);
	if (trace->key_file) {
		struct rfc_key *key = arena_alloc(trace->arena, sizeof *key);
		if (!rfc_key_read(trace->key_file, key, err))
			return false;
		d->key = key;
	}
	d->has_session = packets;
	if (packets)
		return rfc_metadata_text(path, block->data, block->size, d->key, trace->arena,
					 notices, text, size, &d->session, &d->big_endian, err);
	find_byte_order(folder->path, d);
	*text = arena_strndup(trace->arena, block->size ? bytes : "", block->size);
	*size = block->size;
	return true;
}

bool ctf_folder_read(const struct ctf_opening *opening, struct folder *folder, struct error *err)
{
	const char *apart = opening->input.metadata;
	struct trace *trace = opening->trace;
	struct buf kept = {0};
	const struct notices notices = {.say = keep_notice, .arg = &kept};
	char *path = apart ? mem_strdup(apart) : folder_join(folder->path, "metadata");
	struct ctf_description *d = &folder->description;
	struct source *source = NULL;
	struct block block;
	char *text;
	size_t size, head = 0;
	bool ok = source_open(path, SOURCE_READ, &source, err);

	if (ok && source_size(source) > METADATA_MAX)
		ok = error_set(err, ERR_FORMAT, "%s: over 256 MB of metadata", path);
	folder->is_empty = ok && !source_size(source);
	if (folder->is_empty)
		ok = error_set(err, ERR_FORMAT,
			       "%s: it is empty, as a session that was killed leaves it; the folder "
			       "of its buffers (lttng create --shm-path) has the metadata: give it by "
			       "--input ctf,shm=FOLDER",
			       path);
	ok = ok && source_get(source, 0, (size_t)source_size(source), &block, err);
	if (ok) {
		ok = folder_metadata_read_text(trace, folder, path, &block, &notices, &text, &size,
					       err);
		source_put(&block);
	}
	if (ok && size > INT32_MAX) /* what was compressed may be, in a small file */
		ok = error_set(err, ERR_FORMAT, "%s: more than 2 GB of metadata", path);
	if (ok && d->is_2010)
		ok = rfc_parse(path, text, size, trace->arena, &notices, d, err);
	else if (ok && ctf2_is_metadata(text, size))
		ok = ctf2_parse(path, text, size, trace->arena, &notices, d, &head, err);
	else if (ok)
		ok = tsdl_parse(path, text, size, trace->strict, trace->arena, &notices, d, err);
	if (ok && d->is_2010)
		head = size; /* sections may stand behind events */
	else if (ok && d->major < 2)
		head = tsdl_head(text, size);
	if (ok)
		identify(text, head, folder->identity);
	if (ok && d->key) /* results depend on the key: another key must not use this index */
		folder->identity[0] ^= d->key->identity;
	if (ok)
		folder_metadata_find_group(folder);
	if (ok)
		source_stamp(source, &folder->metadata);
	if (ok)
		say_kept(trace, &kept);
	else
		add_damage(&kept, err);
	buf_release(&kept);
	source_close(source);
	mem_free(path);
	return ok;
}
