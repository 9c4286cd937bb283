/*
 * header.c - file, pipe or directory → attributes, features, ids
 *
 *     file       head (104 bytes) · ids · attributes · data ......... · feature table · features
 *     pipe       head (16 bytes) · records: attributes, features, tracing data, ids, then the rest
 *     directory  `data` is a file; `data.N` are bare records
 *     turns      a folder of files of one recording, see turns.c; the first one's tables count
 *
 * Reads only the head, the tables and the records in front of the first sample; if the attributes
 * have no CPU, also all records, to find ID_INDEX, which may be anywhere.
 */
#include "engine/base/bitset.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "engine/perf/opening.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	ATTR_LEAST = 64,
	ATTR_KNOWN = 144,
	OLD_FILE_HEAD = 72, /* without features; version 1 alone */
	EVENT_TYPE = 72,    /* id (8 bytes), name with its final zero (64) */
	ATTR_MOST = 4096,
	FEATURE_MOST = 256 << 20,
	TURN_NS = 1000000000 /* most between the end of a turn and the begin of the next */
};

static void add_source(struct perf_opening *o, struct source *source, uint64_t begin, uint64_t end,
		       bool grows)
{
	struct perf_part *part = o->part;

	trace_add_source(part->trace, source);
	*mem_push(part->sources, part->nsources, part->sources_capacity) = (struct perf_source){
		.source = source,
		.name = source_name(source),
		.begin = begin < end ? begin : end,
		.end = end,
		.turn = o->turn,
		.grows = grows,
	};
}

/*
 * The flags are a bit field in the writer's byte order: on a big-endian machine bit n is bit
 * 7 - n % 8 of byte n / 8.
 */
static uint64_t read_flags(const uint8_t *p, bool swap)
{
	uint64_t flags = 0;

	for (unsigned n = 0; n < 64; n++) {
		unsigned bit = swap ? 7 - n % 8 : n % 8;
		flags |= (uint64_t)(p[n / 8] >> bit & 1) << n;
	}
	return flags;
}

/* Returns the offset of an attribute's first non-zero byte behind the known fields; 0: none. */
static uint32_t tail_of(const uint8_t *data, uint32_t size)
{
	for (uint32_t at = ATTR_KNOWN; at < size; at++)
		if (data[at])
			return at;
	return 0;
}

bool perf_read_attr(struct perf_part *part, const uint8_t *data, size_t size, uint64_t off,
		    uint32_t *used, struct perf_attr **out)
{
	uint8_t bytes[ATTR_KNOWN] = {0};

	if (size < 8)
		return false;
	uint32_t own = get32(data + 4, part->swap);
	own = own ? own : ATTR_LEAST;
	if (own < 48 || own > ATTR_MOST || own > size)
		return false;
	memcpy(bytes, data, own < sizeof bytes ? own : sizeof bytes);
	struct perf_attr *attr = arena_alloc(part->trace->arena, sizeof *attr);
	attr->index = (uint32_t)part->nattrs;
	attr->type = get32(bytes, part->swap);
	attr->config = get64(bytes + 8, part->swap);
	attr->sample_type = get64(bytes + 24, part->swap);
	attr->read_format = get64(bytes + 32, part->swap);
	attr->flags = read_flags(bytes + 40, part->swap);
	attr->branch_sample_type = get64(bytes + 72, part->swap);
	attr->regs_user = get64(bytes + 80, part->swap);
	attr->clockid = (int32_t)get32(bytes + 92, part->swap);
	attr->regs_intr = get64(bytes + 96, part->swap);
	attr->backward = attr->flags & ATTR_WRITE_BACKWARD;
	attr->off = off;
	attr->tail = tail_of(data, own);
	perf_find_places(attr);
	*mem_push(part->attrs, part->nattrs, part->attrs_capacity) = attr;
	*used = own;
	*out = attr;
	return true;
}

void perf_add_id(struct perf_part *part, uint64_t id, uint32_t attr)
{
	*mem_push(part->ids, part->nids, part->ids_capacity) =
		(struct perf_id){.id = id, .attr = attr, .cpu = -1};
}

static int by_id(const void *a, const void *b)
{
	const struct perf_id *x = a, *y = b;

	return three_way(x->id, y->id) ?: three_way(x->attr, y->attr);
}

/* Sorts part->ids, joins entries of one id, and makes id_table if ids are dense. */
static void order_ids(struct perf_part *part)
{
	size_t n = 0;

	if (part->nids)
		qsort(part->ids, part->nids, sizeof *part->ids, by_id);
	for (size_t i = 0; i < part->nids; i++) {
		struct perf_id *last = n ? &part->ids[n - 1] : NULL;
		if (last && last->id == part->ids[i].id) {
			if (last->cpu < 0)
				last->cpu = part->ids[i].cpu;
			if (!last->has_tid && part->ids[i].has_tid) {
				last->has_tid = true;
				last->tid = part->ids[i].tid;
			}
			continue;
		}
		part->ids[n++] = part->ids[i];
	}
	part->nids = n;
	uint64_t span = n ? part->ids[n - 1].id - part->ids[0].id + 1 : 0;
	if (!span || span > n * 16 + 4096)
		return;
	part->id_first = part->ids[0].id;
	part->id_span = span;
	part->id_table = arena_array(part->trace->arena, span, sizeof *part->id_table);
	for (uint32_t i = 0; i < n; i++)
		part->id_table[part->ids[i].id - part->id_first] = i + 1;
}

/* Reads the ids of one attribute. Together, ids may not take more bytes than the file has. */
static bool read_ids(struct perf_opening *o, const struct perf_attr *attr, uint64_t off,
		     uint64_t size, struct error *err)
{
	struct perf_part *part = o->part;
	struct source *source = part->sources[0].source;
	struct block ids;

	if (size > source_size(source) - o->id_bytes)
		return error_set(err, ERR_FORMAT, "%s: %" PRIu64 " bytes of ids at offset %" PRIu64,
				 o->path, size, off);
	if (!source_get(source, off, (size_t)size, &ids, err))
		return error_while(err, "ids of attribute %u", attr->index);
	o->id_bytes += size;
	for (uint64_t i = 0; i + 8 <= ids.size; i += 8)
		perf_add_id(part, get64(ids.data + i, part->swap), attr->index);
	XXH3_128bits_update(o->identity, ids.data, ids.size);
	source_put(&ids);
	return true;
}

static bool read_attr_table(struct perf_opening *o, struct error *err)
{
	struct perf_part *part = o->part;
	struct source *source = part->sources[0].source;
	const struct file_head *head = &o->head;
	struct block block;
	bool good = true;

	if (head->attr_entry < ATTR_LEAST + 16 || head->attr_entry > ATTR_MOST ||
	    head->attr_size / head->attr_entry > 1 << 20)
		return error_set(err, ERR_FORMAT,
				 "%s: attributes of %" PRIu64 " bytes at offset 16", o->path,
				 head->attr_entry);
	if (!source_get(source, head->attr_off, (size_t)head->attr_size, &block, err))
		return error_while(err, "the attribute table");
	for (uint64_t at = 0; good && at + head->attr_entry <= block.size; at += head->attr_entry) {
		const uint8_t *p = block.data + at, *place = p + head->attr_entry - 16;
		uint64_t off = get64(place, part->swap), size = get64(place + 8, part->swap);
		struct perf_attr *attr;
		uint32_t used;
		uint64_t place_of = head->attr_off + at;
		good = perf_read_attr(part, p, (size_t)head->attr_entry - 16, place_of, &used,
				      &attr) ||
		       error_set(err, ERR_FORMAT, "%s: bad attribute at offset %" PRIu64, o->path,
				 place_of);
		if (!good)
			break;
		XXH3_128bits_update(o->identity, p, head->attr_entry - 16);
		good = read_ids(o, attr, off, size, err);
	}
	source_put(&block);
	if (!good)
		return false;
	return part->nattrs || error_set(err, ERR_FORMAT, "%s: no attributes at offset %" PRIu64,
					 o->path, head->attr_off);
}

static void perf_read_tracing(struct perf_part *part, const uint8_t *data, size_t size,
			      const char *where, uint64_t off)
{
	struct cursor in = cursor_over(data, size);
	struct error err;

	if (part->tracing)
		return;
	part->tracing = tracing_read(part->trace->arena, &in, &err);
	if (part->tracing)
		return;
	error_while(&err, "%s: tracing data at offset %" PRIu64, where, off);
	trace_damage(part->trace, "", &err);
}

void perf_take_feature(struct perf_opening *o, uint32_t feature, const uint8_t *data, size_t size,
		       uint64_t off)
{
	if (o->turn && feature != FEATURE_BUILD_ID)
		return; /* the first file has the same */
	if (feature == FEATURE_TRACING_DATA) {
		XXH3_128bits_update(o->identity, data, size);
		perf_read_tracing(o->part, data, size, o->path, off);
	} else if (feature == FEATURE_COMPRESSED) {
		o->compressed = true;
	} else if (feature >= FEATURES_KNOWN) {
		if (!o->part->unknown_features++) {
			o->part->unknown_feature = feature;
			o->part->unknown_feature_off = off;
		}
	} else {
		perf_feature(o->part, feature, data, size);
	}
}

/* Reads the features. False: some are unreadable; *why is the first cause, *bad its offset. */
static bool read_features(struct perf_opening *o, uint64_t *bad, struct error *why)
{
	struct source *source = file_of(o)->source;
	uint64_t at = o->head.data_off + o->head.data_size;
	bool whole = true;

	for (uint32_t i = 0; i < FEATURES; i++) {
		struct error cause = {.kind = ERR_FORMAT};
		struct block block;
		uint8_t entry[16];
		if (!bitset_has(o->head.features, i))
			continue;
		if (!source_peek(source, at, entry, sizeof entry, &cause)) {
			*bad = whole ? at : *bad;
			*why = whole ? cause : *why;
			return false;
		}
		at += sizeof entry;
		uint64_t off = get64(entry, o->part->swap), size = get64(entry + 8, o->part->swap);
		if (size > FEATURE_MOST || !source_get(source, off, (size_t)size, &block, &cause)) {
			*bad = whole ? off : *bad;
			*why = whole ? cause : *why;
			whole = false;
			continue;
		}
		perf_take_feature(o, i, block.data, block.size, off);
		source_put(&block);
	}
	return whole;
}

/*
 * Version 1 has names of tracepoints in a section of its own; they are needed if the formats are
 * missing. An unreadable section is no error.
 */
static void read_event_types(struct perf_opening *o)
{
	struct perf_part *part = o->part;
	const struct file_head *head = &o->head;
	struct block block;
	struct error ignored;

	if (!head->types_size || head->types_size > FEATURE_MOST ||
	    !source_get(part->sources[0].source, head->types_off, (size_t)head->types_size, &block,
			&ignored))
		return;
	for (size_t at = 0; at + EVENT_TYPE <= block.size; at += EVENT_TYPE) {
		const char *name = (const char *)block.data + at + 8;
		uint64_t id = get64(block.data + at, part->swap);
		for (size_t i = 0; i < part->nattrs; i++) {
			struct perf_attr *attr = part->attrs[i];
			if (attr->type == 2 && attr->config == id && *name)
				attr->name = arena_strndup(part->trace->arena, name,
							   strnlen(name, EVENT_TYPE - 8));
		}
	}
	source_put(&block);
}

/* For a file without its end, where the features are: a text on missing tracepoints, or "". */
static const char *names_lost(const struct perf_part *part)
{
	for (size_t i = 0; i < part->nattrs; i++)
		if (part->attrs[i]->type == 2)
			return "; the names and fields of its tracepoints stand at the end and are "
			       "missing";
	return "";
}

static void parse_head(struct perf_opening *o, const uint8_t *bytes)
{
	const bool swap = o->part->swap;
	struct file_head *head = &o->head;

	*head = (struct file_head){
		.attr_entry = get64(bytes + 16, swap),
		.attr_off = get64(bytes + 24, swap),
		.attr_size = get64(bytes + 32, swap),
		.data_off = get64(bytes + 40, swap),
		.data_size = get64(bytes + 48, swap),
	};
	if (o->part->version == 1) {
		head->types_off = get64(bytes + 56, swap);
		head->types_size = get64(bytes + 64, swap);
	}
	for (unsigned i = 0; i < 4; i++)
		head->features[i] = get64(bytes + 72 + 8 * i, swap);
}

/* Sets begin and end of the records; false: they would begin behind the file's end. */
static bool find_data(struct perf_opening *o, bool *open, bool *cut, struct error *err)
{
	const struct file_head *head = &o->head;
	struct perf_source *file = file_of(o);
	uint64_t size = source_size(file->source);

	if (head->data_off > size)
		return error_set(err, ERR_FORMAT,
				 "%s: the data begins at offset %" PRIu64
				 ", the file ends at offset %" PRIu64,
				 path_of(o), head->data_off, size);
	*open = !head->data_size;
	*cut = head->data_size > size - head->data_off;
	file->begin = head->data_off;
	file->end = *open || *cut ? size : head->data_off + head->data_size;
	file->grows = *open || *cut;
	return true;
}

/* Reads the features behind the records, or warns that they are missing. */
static void read_end(struct perf_opening *o, bool open, bool cut)
{
	struct perf_part *part = o->part;
	const struct file_head *head = &o->head;
	const char *lost = o->turn ? "" : names_lost(part);
	uint64_t size = source_size(file_of(o)->source), bad = 0;
	struct error cause, why;

	if (o->headless) {
		error_set(
			&cause, ERR_FORMAT,
			"the recording was not finished: its head is all zeros. That of the first "
			"file counts, and records up to the end of the file at offset %" PRIu64,
			size);
	} else if (open) {
		error_set(&cause, ERR_FORMAT,
			  "the recording was not finished: the header at offset 48 has no size of "
			  "the data, which is read to the end of the file at offset %" PRIu64 "%s",
			  size, lost);
	} else if (cut) {
		error_set(&cause, ERR_FORMAT,
			  "cut off: the data at offset %" PRIu64 " has %" PRIu64
			  " bytes, the file ends at offset %" PRIu64 "%s",
			  head->data_off, head->data_size, size, lost);
	} else if (read_features(o, &bad, &why)) {
		return;
	} else if (why.kind == ERR_IO) {
		error_set(&cause, ERR_IO, "the features at offset %" PRIu64 " cannot be read: %s",
			  bad, why.text);
	} else {
		error_set(&cause, ERR_FORMAT,
			  "the features at offset %" PRIu64
			  " lie beyond the end of the file at offset %" PRIu64,
			  bad, size);
	}
	file_of(o)->cut_told = open || cut;
	if (part->trace->grows && *lost)
		part->trace->lacks = "the names and fields of its tracepoints stand at the end of "
				     "perf.data: until then they are shown as bytes. 'perf record "
				     "-o -' writes them first";
	trace_damage(part->trace, path_of(o), &cause);
}

static bool read_file_head(struct perf_opening *o, const uint8_t *bytes, struct error *err)
{
	bool open, cut;

	parse_head(o, bytes);
	if (!find_data(o, &open, &cut, err) || !read_attr_table(o, err))
		return false;
	read_event_types(o);
	read_end(o, open, cut);
	return true;
}

unsigned perf_version(const uint8_t *magic, bool *swap)
{
	*swap = !memcmp(magic, "2ELIFREP", 8);
	if (*swap || !memcmp(magic, "PERFILE2", 8))
		return 2;
	return memcmp(magic, "PERFFILE", 8) ? 0 : 1;
}

static bool is_head_size(const struct perf_part *part, uint64_t size)
{
	return size == PIPE_HEAD || size == FILE_HEAD ||
	       (part->version == 1 && size == OLD_FILE_HEAD);
}

/* In version 1 the magic does not give the byte order: it follows from the size of the header. */
static bool read_version(struct perf_part *part, const uint8_t *bytes, uint64_t *head)
{
	part->version = perf_version(bytes, &part->swap);
	*head = get64(bytes + 8, part->swap);
	if (part->version == 1 && !is_head_size(part, *head) &&
	    is_head_size(part, get64(bytes + 8, true))) {
		part->swap = true;
		*head = get64(bytes + 8, true);
	}
	return part->version;
}

static bool open_first(struct perf_opening *o, const char *path, struct error *err)
{
	struct perf_part *part = o->part;
	struct source *source;
	uint8_t bytes[FILE_HEAD] = {0};
	uint64_t head;

	if (!source_open(path, o->mode, &source, err))
		return false;
	uint64_t size = source_size(source);
	add_source(o, source, 0, size, false);
	if (size < PIPE_HEAD || !source_peek(source, 0, bytes, PIPE_HEAD, err))
		return error_set(err, ERR_FORMAT,
				 "%s: the header is cut off: the file ends at offset %" PRIu64,
				 path, size);
	if (!read_version(part, bytes, &head))
		return error_set(err, ERR_FORMAT, "%s: no magic of perf.data at offset 0", path);
	part->pipe = head == PIPE_HEAD;
	if (part->pipe) {
		part->sources[0].begin = PIPE_HEAD;
		part->sources[0].grows = true;
		return true;
	}
	if (!is_head_size(part, head))
		return error_set(err, ERR_FORMAT, "%s: a header of %" PRIu64 " bytes at offset 8",
				 path, head);
	if (size < head)
		return error_set(err, ERR_FORMAT,
				 "%s: the header is cut off: the file ends at offset %" PRIu64
				 ", it takes %" PRIu64,
				 path, size, head);
	return source_peek(source, 0, bytes, (uint32_t)head, err) && read_file_head(o, bytes, err);
}

/* Finds the first time of a record in the current file and its copy; NSTIME_MIN: none has one. */
static void find_first_time(const struct perf_opening *o, nstime *out)
{
	struct record_view view;
	struct perf_record rec;
	struct perf_iter iter;
	struct error ignored; /* the walk reports it */
	bool found = false;
	enum step step;

	perf_iter_begin(&iter, o->part);
	iter.source = o->file;
	iter.off = file_of(o)->begin;
	while (!found && (step = perf_iter_next(&iter, &rec, &ignored)) != STEP_END)
		found = step == STEP_ITEM && rec.type < PERF_KERNEL_TYPES && rec.type &&
			record_view_of(o->part, rec.bytes, rec.type, rec.size, &view) &&
			view.has_time;
	perf_iter_end(&iter);
	*out = found ? view.time : NSTIME_MIN;
}

/* Does the file follow the one before? A reboot restarts event ids and time, so time falls then. */
static bool is_later(const struct perf_opening *o, nstime *before, struct error *err)
{
	const struct perf_source *then = perf_turn_then(o->part, o->file);
	nstime time;

	if (then)
		time = then->first_time;
	else
		find_first_time(o, &time);
	file_of(o)->first_time = time;
	if (time == NSTIME_MIN)
		return true;
	if (time < *before)
		return error_set(err, ERR_FORMAT,
				 "%s: is of an earlier time than the file before it: the machine "
				 "was started anew, or its clock was put back; what is of one "
				 "recording needs a folder of its own",
				 path_of(o));
	*before = time;
	return true;
}

/* Copies what was read of an ended turn when the growing trace was opened before. */
static void take_turn(struct perf_opening *o, const struct perf_source *then)
{
	const struct perf_part *before = perf_part_then(o->part);
	struct perf_part *part = o->part;
	struct perf_source *file = file_of(o);

	file->begin = then->begin;
	file->end = then->end;
	file->cut_told = then->cut_told;
	for (size_t i = 0; i < then->nbuild_ids; i++) {
		struct perf_build_id id = before->build_ids[then->build_ids_at + i];
		id.name = arena_strdup(part->trace->arena, id.name);
		*mem_push(part->build_ids, part->nbuild_ids, part->build_ids_capacity) = id;
	}
}

/* Reads a turn's head, the bounds of its records, and its features. */
static bool read_turn(struct perf_opening *o, const struct perf_turn *turn, struct error *err)
{
	const struct file_head first = o->head;
	struct source *source = file_of(o)->source;
	uint8_t bytes[FILE_HEAD] = {0};
	bool open, cut;

	if (turn->headless) {
		if (first.data_off > source_size(source))
			o->head.data_off = source_size(source);
		o->head.data_size = 0;
	} else {
		if (!source_peek(source, 0, bytes, sizeof bytes, err))
			return error_while(err, "%s", turn->path);
		parse_head(o, bytes);
	}
	bool good = find_data(o, &open, &cut, err);
	if (good)
		read_end(o, open, cut);
	o->head = first;
	return good;
}

/* Opens one more file of the recording. Its head is all zeros while perf writes it. */
static bool open_turn(struct perf_opening *o, const struct perf_turn *turn, nstime *first_time,
		      struct error *err)
{
	struct perf_part *part = o->part;
	struct source *source;

	if (!source_open(turn->path, o->mode, &source, err))
		return false;
	o->turn++;
	o->file = (uint32_t)part->nsources;
	add_source(o, source, 0, source_size(source), false);
	o->headless = turn->headless;
	size_t build_ids_at = part->nbuild_ids;
	const struct perf_source *then = turn->headless ? NULL : perf_turn_then(part, o->file);
	if (then)
		take_turn(o, then);
	else if (!read_turn(o, turn, err))
		return false;
	file_of(o)->build_ids_at = build_ids_at;
	file_of(o)->nbuild_ids = part->nbuild_ids - build_ids_at;
	return (!o->compressed || perf_spill(part, o->file, err)) && is_later(o, first_time, err);
}

/* Opens the files behind the first one. */
static bool open_turns(struct perf_opening *o, struct error *err)
{
	struct perf_part *part = o->part;

	if (!o->turns.count)
		return true;
	nstime first_time = NSTIME_MIN;
	if (!is_later(o, &first_time, err))
		return false;
	for (size_t i = 1; i < o->turns.count; i++)
		if (!open_turn(o, &o->turns.items[i], &first_time, err))
			return false;
	part->nturns = (uint32_t)o->turns.count;
	part->unfinished = file_of(o)->grows;
	if (part->trace->grows && !part->unfinished && !part->trace->moving)
		part->trace->moving = TURN_NS;
	return true;
}

static bool is_part(const char *name)
{
	enum { PREFIX = 5 };

	return !strncmp(name, "data.", PREFIX) && name[PREFIX] &&
	       !name[PREFIX + strspn(name + PREFIX, "0123456789")];
}

static bool open_one(struct perf_opening *o, const char *path, struct error *err)
{
	uint8_t head[RECORD_HEAD];
	struct source *source;
	struct error ignored;

	if (!source_open(path, o->mode, &source, err))
		return false;
	uint64_t size = source_size(source);
	add_source(o, source, 0, size, o->part->sources[0].grows);
	if (size >= sizeof head && source_peek(source, 0, head, sizeof head, &ignored) &&
	    perf_is_compressed(get32(head, o->part->swap)))
		o->compressed = true;
	return true;
}

/* Opens data.0, data.1, ... data.10 of a directory: files of records without a head. */
static bool open_rest(struct perf_opening *o, const char *folder, struct error *err)
{
	struct folder_names names;
	bool ok = folder_list(folder, &names, err);

	for (size_t i = 0; ok && i < names.count; i++) {
		if (!is_part(names.items[i]))
			continue;
		char *path = folder_join(folder, names.items[i]);
		ok = open_one(o, path, err);
		mem_free(path);
	}
	folder_release(&names);
	return ok;
}

static void header_add_clock(struct perf_part *part)
{
	static const struct clock_name {
		int32_t id;
		const char *name;
	} names[] = {{0, "realtime"},
		     {1, "monotonic"},
		     {4, "monotonic_raw"},
		     {7, "boottime"},
		     {11, "tai"}};
	struct clock clock = {.name = "perf",
			      .description = "the kernel's sched_clock",
			      .counter = "sched_clock",
			      .precision = 1,
			      .base = {.frequency = 1000000000}};
	const struct perf_attr *attr = part->attrs[0];

	if (attr->flags & ATTR_USE_CLOCKID) { /* any of the kernel's, auxiliary ones too */
		clock.name = arena_printf(part->trace->arena, "clockid_%d", attr->clockid);
		clock.description = "";
		clock.counter = NULL;
	}
	for (size_t i = 0; attr->flags & ATTR_USE_CLOCKID && i < sizeof names / sizeof *names; i++)
		if (names[i].id == attr->clockid) {
			clock.name = clock.counter = names[i].name;
			clock.epoch = names[i].id == 0;
		}
	if (part->has_wall)
		clock.description = arena_printf(
			part->trace->arena, "%s%swall clock = time + %" PRId64 " ns",
			clock.description, *clock.description ? "; " : "", part->wall_offset);
	part->clock = trace_add_clock(part->trace, &clock);
}

static void header_describe(struct perf_opening *o)
{
	struct perf_part *part = o->part;
	uint8_t more[3] = {part->by_cpu, part->swap, part->nturns > 0};

	XXH3_128bits_update(o->identity, more, part->nturns ? 3 : 2);
	XXH128_hash_t hash = XXH3_128bits_digest(o->identity);
	part->part->identity[0] = hash.low64;
	part->part->identity[1] = hash.high64;
	part->part->version = part->version == 1 ? "1" : "2";
	part->part->env = part->env;
	part->part->nenv = part->nenv;
	part->part->big_endian = part->swap;
	if (part->arch)
		part->part->word_bits = machine_word_bits(part->arch);
	for (size_t i = 0; i < part->nenv; i++)
		if (!strcmp(part->env[i].name, "hostname"))
			part->part->host = part->env[i].text;
}

static bool open_folder(struct perf_opening *o, struct error *err)
{
	char *data = folder_join(o->path, "data");
	bool turns = access(data, F_OK) != 0;
	bool ok = turns ? perf_turns_find(o->path, perf_part_then(o->part), &o->turns, err) &&
				  open_first(o, o->turns.items[0].path, err)
			: open_first(o, data, err) && open_rest(o, o->path, err);

	mem_free(data);
	return ok;
}

static bool open_files(struct perf_opening *o, struct error *err)
{
	struct stat st;
	bool folder = stat(o->path, &st) == 0 && S_ISDIR(st.st_mode);

	if (!(folder ? open_folder(o, err) : open_first(o, o->path, err)))
		return false;
	perf_read_metadata(o, false);
	if (!o->part->nattrs)
		return error_set(err, ERR_FORMAT,
				 "%s: no attributes before the first sample or the end at offset "
				 "%" PRIu64,
				 o->path, o->part->sources[0].end);
	perf_find_cpus(o);
	order_ids(o->part);
	perf_find_plains(o->part);
	perf_rename_events(o);
	size_t files = o->part->nsources;
	for (uint32_t i = 0; o->compressed && i < files; i++)
		if (!perf_spill(o->part, i, err))
			return false;
	if (!open_turns(o, err))
		return false;
	if (o->part->by_cpu && o->part->most_cpu < 0)
		perf_look_for_cpus(o->part);
	return true;
}

bool perf_open(struct trace *trace, const char *path, const char *settings, enum source_mode mode,
	       struct error *err)
{
	struct perf_part *part = mem_new(sizeof *part);
	struct perf_opening o = {.part = part, .path = path, .mode = mode};

	(void)settings; /* perf has none */
	part->trace = trace;
	part->part = trace_add_part(trace, &perf_reader, path);
	part->part->priv = part; /* from here on perf_close() frees it */
	part->most_cpu = -1;
	o.identity = XXH3_createState();
	XXH3_128bits_reset(o.identity);
	bool ok = open_files(&o, err);
	if (ok) {
		header_add_clock(part);
		if (part->tracing && part->arch)
			tracing_syscalls(part->tracing, part->arch);
		perf_name_events(part);
		perf_tell_unknown(part);
		header_describe(&o);
		perf_find_recording(part);
		ok = perf_add_classes(part, err);
		if (ok)
			perf_add_streams(part);
	}
	perf_turns_release(&o.turns);
	perf_spill_end(part);
	mem_free(o.renamings);
	XXH3_freeState(o.identity);
	return ok;
}

void perf_close(struct part *part)
{
	struct perf_part *perf = part->priv;

	if (!perf)
		return;
	perf_walk_free(perf->walk);
	perf_spilled_free(perf->spilled);
	tracing_free(perf->tracing);
	mem_free(perf->attrs);
	mem_free(perf->ids);
	mem_free(perf->sources);
	mem_free(perf->env);
	mem_free(perf->build_ids);
	mem_free(perf->tasks);
	mem_free(perf);
}
