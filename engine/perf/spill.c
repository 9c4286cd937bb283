/*
 * spill.c - compressed records → one decompressed copy per file
 *
 *     file    MMAP COMM | 81 zstd... | 68 | 81 ...zstd... | 68 | 81 ...
 *                             └──── one stream, flushed per record ────┘
 *     spill   SAMPLE SAMPLE SAMPLE SWITCH SAMPLE ...
 *
 * The payloads are one zstd stream that is never closed, so a packet cannot be decompressed without
 * all bytes before it. Unless copy_cache.c has a copy of an earlier run, open writes one and maps
 * it, so that its pages can be evicted. A copy that is not to be stored is a temporary file without
 * a name.
 *
 * perf 6.1 does not end its zstd stream when --switch-output begins a new file: the new file's
 * first record continues the stream of the file before, and perf itself can read only the first
 * file. So the files before are fed to the decompressor first.
 *
 * A struct perf_store also uses a temporary file: for extents of packets, which grow with the
 * trace.
 */
#include "engine/base/expansion.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/paged.h"
#include "engine/base/temporary.h"
#include "engine/perf/perf_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

enum { OUT_BYTES = 1 << 20, STORE_HEAP = 4 << 20, STORE_CHUNK = 4 << 20 };

struct perf_store {
	struct arena *arena; /* the first bytes, and what is larger than a chunk */
	struct paged *chunks;
	size_t nchunks, capacity;
	size_t left; /* free bytes in the last chunk or, while there is none, for the arena */
};

struct spill {
	struct perf_part *part;
	uint32_t from;
	struct copy_cache *cache; /* NULL: the copy ends with the trace */
	ZSTD_DStream *stream;
	uint8_t *out;
	int fd;       /* -1: nothing was decompressed yet */
	bool forgets; /* discard the output: it is of an earlier file */
	uint64_t size;  /* bytes of the copy so far */
	uint64_t taken; /* compressed bytes read so far */
	uint64_t room;  /* greatest size of the copy */
};

static int open_temporary(struct error *err)
{
	const char *folder;
	int fd = temporary_open(&folder);

	if (fd < 0)
		error_set(err, ERR_IO, "%s: no room for the decompressed records: %s", folder,
			  strerror(errno));
	return fd;
}

/* Returns half of the free space where the copy lies, in bytes. */
static uint64_t room_for(int fd)
{
	struct statvfs fs;

	if (fstatvfs(fd, &fs) != 0)
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * fs.f_frsize / 2;
}

static bool open_copy(struct spill *spill, struct error *err)
{
	spill->fd = spill->cache ? copy_cache_create(spill->cache) : -1;
	if (spill->fd < 0) {
		spill->cache = NULL;
		spill->fd = open_temporary(err);
	}
	spill->room = room_for(spill->fd);
	return spill->fd >= 0;
}

/* May the copy grow by so many bytes? */
static bool may_grow(const struct spill *spill, size_t more, struct error *err)
{
	if (!expansion_fits(spill->taken, spill->size + more))
		return error_set(err, ERR_FORMAT,
				 "over %" PRIu64 " bytes come out of %" PRIu64
				 ": more than any recording",
				 spill->size, spill->taken);
	if (spill->size + more > spill->room)
		return error_set(err, ERR_IO,
				 "the decompressed records would take more than half of the free "
				 "space: %" PRIu64 " bytes so far",
				 spill->size);
	return true;
}

static bool write_out(struct spill *spill, size_t size, struct error *err)
{
	if (spill->forgets)
		return true;
	if (spill->fd < 0 && size && !open_copy(spill, err))
		return false;
	if (size && !may_grow(spill, size, err))
		return false;
	if (!file_put(spill->fd, spill->out, size))
		return error_set(err, ERR_IO, "writing the decompressed records: %s",
				 strerror(errno));
	if (spill->cache)
		copy_cache_add(spill->cache, spill->out, size);
	spill->size += size;
	return true;
}

static bool decompress_bytes(struct spill *spill, const uint8_t *bytes, size_t size,
			     struct error *err)
{
	ZSTD_inBuffer in = {bytes, size, 0};
	bool more = true;

	while (in.pos < in.size || more) {
		ZSTD_outBuffer out = {spill->out, OUT_BYTES, 0};
		size_t before = in.pos;
		size_t left = ZSTD_decompressStream(spill->stream, &out, &in);
		if (ZSTD_isError(left))
			return error_set(err, ERR_FORMAT, "%s", ZSTD_getErrorName(left));
		spill->taken += in.pos - before;
		if (!write_out(spill, out.pos, err))
			return false;
		more = out.pos == out.size; /* the decompressor may have more output */
		if (in.pos == before && !out.pos)
			break;
	}
	return true;
}

/* Returns the compressed bytes of a record; NULL: it is no compressed record. */
static const uint8_t *payload(const uint8_t *p, uint32_t type, size_t have, bool swap, size_t *size)
{
	size_t at = type == PERF_COMPRESSED2 ? 16 : RECORD_HEAD;

	if ((type != PERF_COMPRESSED && type != PERF_COMPRESSED2) || have < at)
		return NULL;
	*size = have - at;
	if (type == PERF_COMPRESSED2 && get64(p + 8, swap) < *size)
		*size = (size_t)get64(p + 8, swap);
	return p + at;
}

/*
 * Decompresses a record whose size wrapped (perf_wrapped_bytes()). If it has more data than a
 * record can have, perf wrote several as one: a full one, then each with a head whose size is
 * right.
 */
static bool decompress_wrapped(struct spill *spill, const struct perf_record *rec,
			       struct error *err)
{
	enum { HEAD = 16, ONE_MOST = 65520, FULL = RECORD_MOST - HEAD };
	const bool swap = spill->part->swap;
	const struct perf_source *from = &spill->part->sources[spill->from];
	struct block block;

	if (!source_get(from->source, rec->extra_off, (size_t)rec->extra_len, &block, err))
		return false;
	const uint8_t *p = block.data;
	size_t left = block.size, n = left > ONE_MOST ? FULL : left;
	bool ok = decompress_bytes(spill, p, n, err);
	for (p += n, left -= n; ok && left; p += n, left -= n) {
		n = left < HEAD ? 0 : get16(p + 6, swap);
		if (n < HEAD || n > left || get32(p, swap) != PERF_COMPRESSED2)
			ok = error_set(err, ERR_FORMAT, "no compressed record where one should be");
		else
			ok = decompress_bytes(spill, p + HEAD, n - HEAD, err);
	}
	source_put(&block);
	return ok;
}

/* Decompresses the bytes of a compressed record inside which the file ends. */
static bool feed_cut(struct spill *spill, uint64_t off, struct error *err)
{
	struct perf_source *from = &spill->part->sources[spill->from];
	uint64_t left = from->end - off;
	struct block block;
	size_t size;

	if (left < RECORD_HEAD || left > RECORD_MOST)
		return true;
	if (!source_get(from->source, off, (size_t)left, &block, err))
		return false;
	const uint8_t *bytes = payload(block.data, get32(block.data, spill->part->swap), block.size,
				       spill->part->swap, &size);
	bool ok = !bytes || decompress_bytes(spill, bytes, size, err);
	source_put(&block);
	return ok;
}

/* Decompresses all records of the file. False: *at is the offset of a damaged one. */
static bool decompress(struct spill *spill, uint64_t *at, struct error *err)
{
	struct perf_source *from = &spill->part->sources[spill->from];
	struct perf_iter iter;
	struct perf_record rec;
	enum step step;
	bool ok = true;

	*at = from->begin;
	perf_iter_begin_source(&iter, spill->part, spill->from);
	while (ok && (step = perf_iter_next(&iter, &rec, err)) == STEP_ITEM) {
		size_t size;
		const uint8_t *bytes =
			payload(rec.bytes, rec.type, rec.size, spill->part->swap, &size);
		*at = rec.off;
		if (bytes && rec.extra_len)
			ok = decompress_wrapped(spill, &rec, err);
		else
			ok = !bytes || decompress_bytes(spill, bytes, size, err);
		if (ok)
			*at = rec.extra_off + rec.extra_len;
	}
	perf_iter_end(&iter);
	if (!ok || step == STEP_END)
		return ok;
	if (feed_cut(spill, *at, &(struct error){0}) && from->cut_told)
		return true;
	from->cut_told = true;
	return false;
}

/* Does the file continue the zstd stream of the one before? A new frame begins with a magic. */
static bool spill_goes_on(const struct perf_part *part, uint32_t i)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd}; /* RFC 8878, 3.1.1 */
	struct perf_iter iter;
	struct perf_record rec;
	struct error ignored;
	bool frame = true;

	perf_iter_begin_source(&iter, part, i);
	while (perf_iter_next(&iter, &rec, &ignored) == STEP_ITEM) {
		size_t size;
		const uint8_t *bytes = payload(rec.bytes, rec.type, rec.size, part->swap, &size);
		if (!bytes)
			continue;
		frame = rec.extra_len || size < sizeof magic || !memcmp(bytes, magic, sizeof magic);
		break;
	}
	perf_iter_end(&iter);
	return !frame;
}

/* Feeds the files before spill->from to the decompressor, and discards the output. */
static void feed_earlier(const struct spill *spill)
{
	struct perf_part *part = spill->part;
	struct error ignored; /* reported when that file was decompressed */
	uint64_t at;

	for (uint32_t i = 0; i < spill->from; i++) {
		struct spill earlier = *spill;
		earlier.from = i;
		earlier.forgets = true;
		if (part->sources[i].spill ||
		    (i && !spill_goes_on(part, i) && ZSTD_isError(ZSTD_initDStream(spill->stream))))
			continue;
		if (!decompress(&earlier, &at, &ignored))
			return;
	}
}

/* Makes a zstd stream in the state at the file's first record; NULL: out of memory. */
static bool begin_stream(struct spill *spill)
{
	struct perf_part *part = spill->part;
	uint32_t turn = part->sources[spill->from].turn;
	bool first = !turn || !spill_goes_on(part, spill->from);
	bool there = !first && part->stream && part->stream_turn + 1 == turn;

	if (there) {
		spill->stream = part->stream;
		part->stream = NULL;
	} else {
		spill->stream = ZSTD_createDStream();
	}
	spill->out = mem_new(OUT_BYTES);
	if (!first && !there && spill->stream)
		feed_earlier(spill);
	return spill->stream;
}

/* Keeps the zstd stream, if all was read (`whole`), for the next turn, which may continue it. */
static void end_stream(struct spill *spill, bool whole)
{
	struct perf_part *part = spill->part;

	mem_free(spill->out);
	perf_spill_end(part);
	if (whole) {
		part->stream = spill->stream;
		part->stream_turn = part->sources[spill->from].turn;
	} else {
		ZSTD_freeDStream(spill->stream);
	}
}

void perf_spill_end(struct perf_part *part)
{
	ZSTD_freeDStream(part->stream);
	part->stream = NULL;
}

static bool add_copy(struct perf_part *part, uint32_t i, int fd, uint64_t size, bool whole,
		     struct error *err)
{
	const struct perf_source *from = &part->sources[i];
	const char *name =
		arena_printf(part->trace->arena, "%s (decompressed)", source_name(from->source));
	struct perf_source copy = {.name = name,
				   .end = size,
				   .turn = from->turn,
				   .spill = true,
				   .grows = from->grows,
				   .cut_told = !whole || from->cut_told};

	if (!source_over_file(name, fd, size, &copy.source, err))
		return false;
	source_made_of(copy.source, from->source);
	trace_add_source(part->trace, copy.source);
	*mem_push(part->sources, part->nsources, part->sources_capacity) = copy;
	return true;
}

static void spill_tell_damage(struct perf_part *part, uint32_t i, uint64_t at, struct error *cause)
{
	if (!strstr(cause->text, "offset"))
		error_while(cause, "%s: compressed record at offset %" PRIu64,
			    part->sources[i].name, at);
	trace_damage(part->trace, "", cause);
}

/* *full: writing failed; a temporary file instead of a stored copy may have room elsewhere. */
static bool make_copy(struct perf_part *part, uint32_t i, struct copy_cache *copy, bool *full,
		      struct error *err)
{
	struct spill spill = {.part = part, .from = i, .cache = copy, .fd = -1};
	struct error cause;
	uint64_t at;

	if (!begin_stream(&spill)) {
		mem_free(spill.out);
		return error_set(err, ERR_IO, "no memory to decompress");
	}
	bool whole = decompress(&spill, &at, &cause), ok = true;
	*full = spill.cache && !whole && cause.kind == ERR_IO;
	if (spill.cache && spill.fd >= 0)
		copy_cache_end(spill.cache, spill.fd, spill.size, whole);
	if (!whole && !*full && !spill.size && spill_goes_on(part, i))
		error_while(&cause,
			    "%s: its compressed records go on with those of an earlier file, which "
			    "is not there or is damaged (offset %" PRIu64 ")",
			    part->sources[i].name, at);
	if (!whole && !*full)
		spill_tell_damage(part, i, at, &cause);
	if (spill.size && !*full)
		ok = add_copy(part, i, spill.fd, spill.size, whole, err);
	end_stream(&spill, whole);
	if (spill.fd >= 0)
		close(spill.fd);
	return ok;
}

/* ---- a stored copy with damaged bytes ---- */

struct cached_copy {
	struct perf_part *part;
	uint32_t from;
	const char *path;
};

/* Decompresses the source again, to a temporary file, and returns it. */
static int decompress_again(void *arg)
{
	const struct cached_copy *copy = arg;
	struct spill spill = {.part = copy->part, .from = copy->from, .fd = -1};
	struct error ignored; /* a source with damage has no stored copy */
	uint64_t at;

	notice(&copy->part->trace->notices, NOTICE_INFO,
	       "%s: was damaged, the records are decompressed again", copy->path);
	unlink(copy->path);
	if (begin_stream(&spill))
		decompress(&spill, &at, &ignored);
	ZSTD_freeDStream(spill.stream);
	mem_free(spill.out);
	return spill.fd;
}

static bool add_cached(struct perf_part *part, uint32_t i, const struct copy_cache *cache, int fd,
		       uint64_t size, uint64_t *sums, struct error *err)
{
	struct arena *arena = part->trace->arena;
	struct cached_copy *copy = arena_alloc(arena, sizeof *copy);

	*copy = (struct cached_copy){
		part, i,
		arena_strndup(arena, copy_cache_path(cache), strlen(copy_cache_path(cache)))};
	if (!add_copy(part, i, fd, size, true, err)) {
		mem_free(sums);
		return false;
	}
	return source_verify(part->sources[part->nsources - 1].source, sums, decompress_again,
			     copy) ||
	       error_set(err, ERR_IO, "%s: is damaged: remove it", copy->path);
}

/* ---- a growing file: the next step continues ---- */

struct perf_spilled {
	struct spill spill; /* state of the decompression so far */
	uint64_t at;        /* offset in the file of the first record that was not read */
	bool plain;         /* see perf_spilled_plain() */
	uint64_t *marks;    /* see perf_spilled_mark() */
	size_t nmarks, marks_capacity;
};

void perf_spilled_free(struct perf_spilled *spilled)
{
	if (!spilled)
		return;
	ZSTD_freeDStream(spilled->spill.stream);
	if (spilled->spill.fd >= 0)
		close(spilled->spill.fd);
	mem_free(spilled->marks);
	mem_free(spilled);
}

bool perf_spilled_plain(const struct perf_part *part)
{
	return part->spilled->plain;
}

uint64_t perf_spilled_mark(const struct perf_part *part, size_t i)
{
	const struct perf_spilled *spilled = part->spilled;

	return spilled && i < spilled->nmarks ? spilled->marks[i] : UINT64_MAX;
}

/* Takes over the copy of the same file as opened before; NULL: there is none. */
static struct perf_spilled *take_spilled(const struct perf_part *part)
{
	struct perf_part *then = (struct perf_part *)(uintptr_t)perf_part_then(part);
	struct perf_spilled *spilled = then ? then->spilled : NULL;

	if (!spilled || !source_goes_on(part->sources[0].source, then->sources[0].source) ||
	    part->sources[0].begin != then->sources[0].begin)
		return NULL;
	then->spilled = NULL;
	return spilled;
}

static struct perf_spilled *new_spilled(const struct perf_part *part)
{
	struct perf_spilled *spilled = mem_new(sizeof *spilled);

	spilled->spill = (struct spill){.stream = ZSTD_createDStream(), .fd = -1};
	spilled->at = part->sources[0].begin;
	return spilled;
}

/* Decompresses the new complete records. False: one is damaged. */
static bool decompress_new(struct perf_spilled *spilled)
{
	struct spill *spill = &spilled->spill;
	const bool swap = spill->part->swap;
	struct perf_iter iter;
	struct perf_record rec;
	struct error ignored; /* a cut record may be complete in the next step */
	bool ok = true;

	spilled->plain = false;
	spilled->nmarks = 0;
	perf_iter_begin_source(&iter, spill->part, 0);
	iter.off = spilled->at;
	while (ok && perf_iter_next(&iter, &rec, &ignored) == STEP_ITEM) {
		size_t size;
		const uint8_t *bytes = payload(rec.bytes, rec.type, rec.size, swap, &size);
		if (bytes && rec.extra_len)
			ok = decompress_wrapped(spill, &rec, &ignored);
		else if (bytes)
			ok = decompress_bytes(spill, bytes, size, &ignored);
		else
			spilled->plain |= rec.type != PERF_FINISHED_ROUND;
		if (rec.type == PERF_FINISHED_ROUND)
			*mem_push(spilled->marks, spilled->nmarks, spilled->marks_capacity) =
				spill->size;
		spilled->at = rec.extra_off + rec.extra_len;
	}
	perf_iter_end(&iter);
	return ok;
}

/* Continues the copy of a growing file. *done: it has all complete records. */
static bool spill_on(struct perf_part *part, bool *done, struct error *err)
{
	struct perf_spilled *spilled = take_spilled(part);

	if (!spilled)
		spilled = new_spilled(part);
	struct spill *spill = &spilled->spill;
	spill->part = part;
	spill->out = mem_new(OUT_BYTES);
	*done = spill->stream && decompress_new(spilled);
	mem_free(spill->out);
	if (!*done || !spill->size) {
		perf_spilled_free(spilled);
		return true;
	}
	part->spilled = spilled;
	return add_copy(part, 0, spill->fd, spill->size, true, err);
}

bool perf_spill(struct perf_part *part, uint32_t i, struct error *err)
{
	bool full = false, ok;
	uint64_t size, *sums;
	int fd;

	if (part->trace->grows && part->nsources == 1 && part->sources[0].grows) {
		bool done;
		if (!spill_on(part, &done, err))
			return false;
		if (done)
			return true;
	}
	struct copy_cache *copy = copy_cache_new(part, i);
	if (copy && copy_cache_open(copy, &fd, &size, &sums)) {
		ok = add_cached(part, i, copy, fd, size, sums, err);
		close(fd);
	} else {
		ok = make_copy(part, i, copy, &full, err);
		if (ok && full)
			ok = make_copy(part, i, NULL, &full, err);
	}
	copy_cache_free(copy);
	return ok;
}

struct perf_store *perf_store_new(void)
{
	struct perf_store *store = mem_new(sizeof *store);

	store->arena = arena_new();
	store->left = STORE_HEAP;
	return store;
}

void perf_store_free(struct perf_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < store->nchunks; i++)
		paged_free(&store->chunks[i]);
	mem_free(store->chunks);
	arena_free(store->arena);
	mem_free(store);
}

static void add_chunk(struct perf_store *store)
{
	struct paged *chunk = mem_push(store->chunks, store->nchunks, store->capacity);

	*chunk = (struct paged){0};
	paged_resize_closed(chunk, STORE_CHUNK, 0);
	store->left = STORE_CHUNK;
}

void *perf_store_take(struct perf_store *store, size_t size)
{
	if (size > STORE_CHUNK)
		return arena_alloc(store->arena, size);
	if (size > store->left)
		add_chunk(store);
	size_t at = STORE_CHUNK - store->left;
	store->left -= size;
	if (!store->nchunks)
		return arena_alloc(store->arena, size);
	return (uint8_t *)store->chunks[store->nchunks - 1].bytes + at;
}
