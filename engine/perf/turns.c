/*
 * turns.c - finds the files of a folder that are turns of one recording
 *
 *     perf.data.2026112822044960   perf record --switch-output: each turn becomes a file of its
 *     perf.data.2026112822045067   own, named by the local time at which it ended, in 1/100 s
 *     perf.data                    the turn that is being written, its head all zeros
 *
 * (tools/perf/builtin-record.c, record__switch_output(); util/time-utils.c,
 * fetch_current_timestamp(); util/data.c, perf_data__switch().)
 *
 * A recorder opens its events once, and the kernel gives each an id that it does not reuse before a
 * reboot: files with the same attributes and ids are of one recording. perf writes a file's head,
 * with the attributes, when it ends the turn; a turn that was not ended lacks it, and has the
 * attributes of the turns before.
 */
#include "engine/base/digits.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/perf/perf_internal.h"

#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { STAMP = 16 /* digits */, TABLE_MOST = 64 << 20, ENTRY_MOST = 4096 };

/* Returns the length of BASE in a name BASE.STAMP; 0: it has no stamp. */
static size_t base_of(const char *name)
{
	const char *dot = strrchr(name, '.');
	size_t n = 0;

	while (dot && char_is_digit(dot[1 + n]))
		n++;
	return dot && n == STAMP && !dot[1 + n] ? (size_t)(dot - name) : 0;
}

enum look { LOOK_OTHER, LOOK_HEADLESS, LOOK_FILE };

/* Reads the head of a file. Opens regular files only, as opening others may have effects. */
static enum look turns_look_at(const char *path, uint8_t head[FILE_HEAD])
{
	static const uint8_t zeros[FILE_HEAD];
	enum look look = LOOK_OTHER;
	struct source *source;
	struct error ignored;
	uint64_t size;
	bool swap;

	if (!file_is_regular(path, &size, &ignored))
		return LOOK_OTHER;
	if (!size) /* perf has not written to it yet */
		return LOOK_HEADLESS;
	if (size < FILE_HEAD || !source_open(path, SOURCE_READ, &source, &ignored))
		return LOOK_OTHER;
	if (source_peek(source, 0, head, FILE_HEAD, &ignored))
		look = !memcmp(head, zeros, FILE_HEAD) ? LOOK_HEADLESS
		       : perf_version(head, &swap) == 2 && get64(head + 8, swap) == FILE_HEAD
			       ? LOOK_FILE
			       : LOOK_OTHER;
	source_close(source);
	return look;
}

bool perf_has_turns(const char *folder)
{
	struct folder_names names;
	struct error ignored;
	bool has = false;

	if (!folder_list(folder, &names, &ignored))
		return false;
	for (size_t i = 0; i < names.count && !has; i++) {
		uint8_t head[FILE_HEAD];
		if (!base_of(names.items[i]))
			continue;
		char *path = folder_join(folder, names.items[i]);
		has = turns_look_at(path, head) == LOOK_FILE;
		mem_free(path);
	}
	folder_release(&names);
	return has;
}

bool perf_has_others(const char *folder)
{
	struct folder_names names;
	struct error ignored;
	const char *turn = NULL;
	size_t base = 0;
	bool has = false;

	if (!folder_list(folder, &names, &ignored))
		return false;
	for (size_t i = 0; i < names.count && !base; i++) {
		turn = names.items[i];
		base = base_of(turn);
	}
	for (size_t i = 0; i < names.count && !has; i++) {
		const char *name = names.items[i];
		has = !base || strncmp(name, turn, base) != 0 ||
		      (name[base] && base_of(name) != base);
	}
	folder_release(&names);
	return has;
}

/* Adds bytes of a file to the digest; false: the file does not have them. */
static bool digest_of(struct source *source, uint64_t off, uint64_t size, XXH3_state_t *state,
		      struct error *err)
{
	struct block block;

	if (size > TABLE_MOST)
		return error_set(err, ERR_FORMAT, "%s: a table of %llu bytes at offset %llu",
				 source_name(source), (unsigned long long)size,
				 (unsigned long long)off);
	if (!size)
		return true;
	if (!source_get(source, off, (size_t)size, &block, err))
		return false;
	XXH3_128bits_update(state, block.data, block.size);
	source_put(&block);
	return true;
}

/* Adds attributes to the digest, without the offsets of their ids, and the ids. */
static bool add_attributes(struct source *source, const uint8_t *head, XXH3_state_t *state,
			   struct error *err)
{
	bool swap;
	(void)perf_version(head, &swap);
	uint64_t entry = get64(head + 16, swap), off = get64(head + 24, swap),
		 size = get64(head + 32, swap);
	uint8_t place[16];

	if (entry <= sizeof place || entry > ENTRY_MOST || size > TABLE_MOST || size < entry)
		return error_set(err, ERR_FORMAT, "%s: attributes of %llu bytes at offset 16",
				 source_name(source), (unsigned long long)entry);
	for (uint64_t at = 0; at + entry <= size; at += entry) {
		uint64_t bytes = entry - sizeof place;
		if (!source_peek(source, off + at + bytes, place, sizeof place, err) ||
		    !digest_of(source, off + at, bytes, state, err) ||
		    !digest_of(source, get64(place, swap), get64(place + 8, swap), state, err))
			return false;
	}
	return true;
}

static bool identity_of(const char *path, const uint8_t *head, XXH128_hash_t *out,
			struct error *err)
{
	struct source *source;

	if (!source_open(path, SOURCE_READ, &source, err))
		return false;
	XXH3_state_t *state = XXH3_createState();
	XXH3_128bits_reset(state);
	XXH3_128bits_update(state, head, 8);
	bool ok = add_attributes(source, head, state, err);
	*out = XXH3_128bits_digest(state);
	XXH3_freeState(state);
	source_close(source);
	return ok;
}

struct turn_search {
	struct perf_turns *out;
	XXH128_hash_t identity;         /* of the first file */
	const struct perf_part *before; /* the part as opened before; NULL: none */
	uint32_t next;                  /* where to begin the search in its sources */
};

/* Was the file, unchanged, an ended turn when the trace was opened before? Then skip reading it. */
static bool was_taken(struct turn_search *finding, const char *path)
{
	const struct perf_part *before = finding->before;
	struct source_stamp stamp;
	struct stat st;

	for (; before && finding->next < before->nsources; finding->next++) {
		const struct perf_source *source = &before->sources[finding->next];
		if (source->spill || strcmp(source->name, path) != 0)
			continue;
		(void)source_stamp(source->source, &stamp);
		return !source->grows && stat(path, &st) == 0 && st.st_ino == stamp.inode &&
		       (uint64_t)st.st_size == stamp.size &&
		       (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec ==
			       stamp.modified;
	}
	finding->next = 0;
	return false;
}

/* Adds a file to the recording. `named`: it is named as a turn, so another form is an error. */
static bool take_file(struct turn_search *finding, char *path, bool named, struct error *err)
{
	struct perf_turns *out = finding->out;
	XXH128_hash_t identity;
	uint8_t head[FILE_HEAD];

	if (out->count && was_taken(finding, path)) {
		*mem_push(out->items, out->count, out->capacity) = (struct perf_turn){path, false};
		return true;
	}
	enum look look = turns_look_at(path, head);

	if (look == LOOK_OTHER || (look == LOOK_HEADLESS && !out->count)) {
		if (named)
			error_set(err, ERR_FORMAT, "%s: is no perf.data, or has no head", path);
		mem_free(path);
		return !named;
	}
	*mem_push(out->items, out->count, out->capacity) =
		(struct perf_turn){path, look == LOOK_HEADLESS};
	if (look == LOOK_HEADLESS)
		return true;
	if (!identity_of(path, head, &identity, err))
		return false;
	if (out->count == 1)
		finding->identity = identity;
	return XXH128_isEqual(identity, finding->identity) ||
	       error_set(err, ERR_FORMAT,
			 "%s: is of another recording than %s, whose events are others: each needs "
			 "a folder of its own",
			 path, out->items[0].path);
}

bool perf_turns_find(const char *folder, const struct perf_part *before, struct perf_turns *out,
		     struct error *err)
{
	struct turn_search finding = {.out = out, .before = before};
	struct folder_names names;
	const char *first = NULL;
	size_t base = 0;

	if (!folder_list(folder, &names, err))
		return false;
	bool ok = true;
	for (size_t i = 0; i < names.count && ok; i++) {
		const char *name = names.items[i];
		size_t len = base_of(name);
		if (!len)
			continue;
		first = first ? first : name;
		base = base ? base : len;
		ok = (base == len && !strncmp(first, name, len)) ||
		     error_set(err, ERR_FORMAT,
			       "%s: %s and %s are of different recordings: each needs a folder of "
			       "its own",
			       folder, first, name);
		ok = ok && take_file(&finding, folder_join(folder, name), true, err);
	}
	if (ok && base) {
		struct buf last = {0};
		buf_add(&last, first, base);
		ok = take_file(&finding, folder_join(folder, buf_text(&last)), false, err);
		buf_release(&last);
	}
	folder_release(&names);
	return ok && (out->count || error_set(err, ERR_FORMAT, "%s: no file of perf.data", folder));
}

void perf_turns_release(struct perf_turns *turns)
{
	for (size_t i = 0; i < turns->count; i++)
		mem_free(turns->items[i].path);
	mem_free(turns->items);
}
