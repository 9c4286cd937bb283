/*
 * header.c - file, pipe or directory → attributes, features, ids
 *
 *     file       head (104 bytes) · ids · attributes · data ......... · feature table · features
 *     pipe       head (16 bytes) · records: attributes, features, tracing data, ids, then the rest
 *     directory  `data` is a file; `data.N` are bare records
 *
 * Only the head, the tables and the records in front of the first sample are read; a file whose
 * attributes have no CPU is passed through once more for its ID_INDEX, which may stand anywhere.
 */
#include "engine/base/bitset.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/perf/record_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <xxhash.h>

enum {
	ATTR_LEAST = 64,
	ATTR_KNOWN = 144,
	OLD_FILE_HEAD = 72, /* without features; version 1 alone */
	EVENT_TYPE = 72,    /* id (8 bytes), name with its final zero (64) */
	ATTR_MOST = 4096,
	FEATURE_MOST = 256 << 20,
	CPUS_MOST = 1 << 16
};

struct file_head {
	uint64_t attr_entry, attr_off, attr_size, data_off, data_size;
	uint64_t types_off, types_size; /* version 1 */
	uint64_t features[4];
};

struct renaming { /* what EVENT_UPDATE says, until all ids are known and sorted */
	uint64_t id;
	const char *name; /* in the arena */
};

struct opening {
	struct perf_part *part;
	const char *path;
	enum source_mode mode;
	struct file_head head;
	bool compressed;
	uint64_t id_bytes; /* of all attributes */
	struct renaming *renamings;
	size_t nrenamings, renamings_capacity;
	XXH3_state_t *identity;
};

static void add_source(struct opening *o, struct source *source, uint64_t begin, uint64_t end,
		       bool grows)
{
	struct perf_part *part = o->part;

	trace_add_source(part->trace, source);
	*mem_push(part->sources, part->nsources, part->sources_capacity) = (struct perf_source){
		.source = source,
		.name = source_name(source),
		.begin = begin < end ? begin : end,
		.end = end,
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

/* Where it is not zero behind what is known of attributes; 0: nowhere. */
static uint32_t tail_of(const uint8_t *data, uint32_t size)
{
	for (uint32_t at = ATTR_KNOWN; at < size; at++)
		if (data[at])
			return at;
	return 0;
}

/* `off`: where it is in the file. */
static bool perf_read_attr(struct perf_part *part, const uint8_t *data, size_t size, uint64_t off,
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

static void perf_add_id(struct perf_part *part, uint64_t id, uint32_t attr)
{
	*mem_push(part->ids, part->nids, part->ids_capacity) =
		(struct perf_id){.id = id, .attr = attr, .cpu = -1};
}

static int by_id(const void *a, const void *b)
{
	const struct perf_id *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->attr > y->attr) - (x->attr < y->attr);
}

/* Sorted, each id once: with its attribute, and its CPU where ID_INDEX has it. */
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

/* Ids of one attribute. Those of all, each in a place of its own, are no more than the file. */
static bool read_ids(struct opening *o, const struct perf_attr *attr, uint64_t off, uint64_t size,
		     struct error *err)
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

static bool read_attr_table(struct opening *o, struct error *err)
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

static void take_feature(struct opening *o, uint32_t feature, const uint8_t *data, size_t size,
			 uint64_t off)
{
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

/* The table behind the data and what it points to. False: it is not there, or not all of it. */
static bool read_features(struct opening *o, uint64_t *bad)
{
	struct source *source = o->part->sources[0].source;
	uint64_t at = o->head.data_off + o->head.data_size;
	bool whole = true;

	for (uint32_t i = 0; i < FEATURES; i++) {
		struct error ignored;
		struct block block;
		uint8_t entry[16];
		if (!bitset_has(o->head.features, i))
			continue;
		*bad = whole ? at : *bad;
		if (!source_peek(source, at, entry, sizeof entry, &ignored))
			return false;
		at += sizeof entry;
		uint64_t off = get64(entry, o->part->swap), size = get64(entry + 8, o->part->swap);
		if (size > FEATURE_MOST ||
		    !source_get(source, off, (size_t)size, &block, &ignored)) {
			*bad = whole ? off : *bad;
			whole = false;
			continue;
		}
		take_feature(o, i, block.data, block.size, off);
		source_put(&block);
	}
	return whole;
}

/* {id, number of its buffer, cpu, tid}: which buffer, CPU and thread every event id is of. */
static void read_id_index(struct perf_part *part, const struct perf_record *rec)
{
	uint64_t n = rec->size >= 16 ? get64(rec->bytes + 8, part->swap) : 0;

	if (n > (rec->size - 16u) / 32)
		n = (rec->size - 16u) / 32;
	for (uint64_t i = 0; i < n; i++) {
		const uint8_t *p = rec->bytes + 16 + i * 32;
		uint64_t buffer = get64(p + 8, part->swap), cpu = get64(p + 16, part->swap);
		perf_add_id(part, get64(p, part->swap), UINT32_MAX);
		part->ids[part->nids - 1].has_tid = true;
		part->ids[part->nids - 1].tid = (int32_t)get64(p + 24, part->swap);
		if (buffer < CPUS_MOST && buffer + 1 > part->nbuffers)
			part->nbuffers = (uint32_t)buffer + 1;
		if (cpu >= CPUS_MOST)
			continue;
		part->ids[part->nids - 1].cpu = (int32_t)cpu;
		part->has_id_index = true;
		if ((int32_t)cpu > part->most_cpu)
			part->most_cpu = (int32_t)cpu;
	}
}

static void read_event_update(struct opening *o, const struct perf_record *rec)
{
	struct perf_part *part = o->part;
	uint64_t what = rec->size > 24 ? get64(rec->bytes + 8, part->swap) : 0;
	const char *name = (const char *)rec->bytes + 24;

	if (what != 2) /* the name */
		return;
	*mem_push(o->renamings, o->nrenamings, o->renamings_capacity) = (struct renaming){
		get64(rec->bytes + 16, part->swap),
		arena_strndup(part->trace->arena, name, strnlen(name, rec->size - 24))};
}

/* After order_ids(). The last name counts. */
static void rename_events(const struct opening *o)
{
	const struct perf_part *part = o->part;

	for (size_t i = 0; i < o->nrenamings; i++) {
		const struct perf_id *id = perf_find_id(part, o->renamings[i].id);
		if (id && id->attr < part->nattrs)
			part->attrs[id->attr]->name = o->renamings[i].name;
	}
}

static void read_pipe_attr(struct opening *o, const struct perf_record *rec)
{
	struct perf_part *part = o->part;
	struct perf_attr *attr;
	uint32_t used;

	if (!perf_read_attr(part, rec->bytes + RECORD_HEAD, rec->size - RECORD_HEAD,
			    rec->off + RECORD_HEAD, &used, &attr))
		return;
	for (uint32_t at = RECORD_HEAD + used; at + 8 <= rec->size; at += 8)
		perf_add_id(part, get64(rec->bytes + at, part->swap), attr->index);
	XXH3_128bits_update(o->identity, rec->bytes, rec->size);
}

static void read_pipe_tracing(struct opening *o, const struct perf_record *rec)
{
	struct perf_source *from = &o->part->sources[rec->source];
	struct block block;
	struct error err;

	if (!source_get(from->source, rec->extra_off, (size_t)rec->extra_len, &block, &err)) {
		trace_damage(o->part->trace, from->name, &err);
		return;
	}
	take_feature(o, FEATURE_TRACING_DATA, block.data, block.size, rec->extra_off);
	source_put(&block);
}

static void take_metadata(struct opening *o, const struct perf_record *rec)
{
	struct perf_part *part = o->part;

	switch (rec->type) {
	case PERF_HEADER_ATTR:
		if (part->pipe)
			read_pipe_attr(o, rec);
		break;
	case PERF_HEADER_TRACING_DATA:
		read_pipe_tracing(o, rec);
		break;
	case PERF_HEADER_FEATURE:
		if (rec->size >= 16)
			take_feature(o, (uint32_t)get64(rec->bytes + 8, part->swap),
				     rec->bytes + 16, rec->size - 16u, rec->off);
		break;
	case PERF_EVENT_UPDATE:
		read_event_update(o, rec);
		break;
	case PERF_ID_INDEX:
		read_id_index(part, rec);
		break;
	case PERF_THREAD_MAP:
		perf_read_thread_map(part, rec->bytes, rec->size);
		break;
	default:
		break;
	}
}

static bool is_compressed(uint32_t type)
{
	return type == PERF_COMPRESSED || type == PERF_COMPRESSED2;
}

/* Records of source 0 up to the first sample or, `all`, every one: for ID_INDEX. */
static void read_metadata(struct opening *o, bool all)
{
	struct perf_iter iter;
	struct perf_record rec;
	struct error ignored; /* the walk meets it again, and tells */

	perf_iter_begin_source(&iter, o->part, 0);
	while (perf_iter_next(&iter, &rec, &ignored) == STEP_ITEM) {
		if (all) {
			if (rec.type == PERF_ID_INDEX)
				take_metadata(o, &rec);
			continue;
		}
		if (is_compressed(rec.type))
			o->compressed = true;
		if (rec.type == PERF_SAMPLE || is_compressed(rec.type)) {
			/* all files of perf record --switch-output have the same ids and metadata */
			XXH3_128bits_update(o->identity, rec.bytes, rec.size);
			break;
		}
		take_metadata(o, &rec);
	}
	perf_iter_end(&iter);
}

static bool says_cpu(const struct perf_part *part, const struct perf_attr *attr)
{
	if (attr->sample_type & SAMPLE_CPU)
		return true;
	bool side = attr->places.id_back || !(attr->flags & ATTR_SAMPLE_ID_ALL);
	return part->has_id_index && attr->places.id && side;
}

/* CPUs: from every record, else by id where ID_INDEX knows them. */
static void find_cpus(struct opening *o)
{
	struct perf_part *part = o->part;
	bool all_say = true;

	for (size_t i = 0; i < part->nattrs; i++)
		all_say &= says_cpu(part, part->attrs[i]);
	if (!part->nbuffers && !all_say) {
		read_metadata(o, true);
		all_say = true;
		for (size_t i = 0; i < part->nattrs; i++)
			all_say &= says_cpu(part, part->attrs[i]);
	}
	part->by_cpu = all_say;
	if (part->cpus_available && part->cpus_available <= CPUS_MOST &&
	    (int32_t)part->cpus_available - 1 > part->most_cpu)
		part->most_cpu = (int32_t)part->cpus_available - 1;
}

/* Neither ID_INDEX nor features tell the CPUs: all records do. */
static void look_for_cpus(struct perf_part *part)
{
	struct perf_iter iter;
	struct perf_record rec;
	struct record_view view;
	struct error ignored; /* the walk meets it again, and tells */
	enum step step;

	perf_iter_begin(&iter, part);
	while ((step = perf_iter_next(&iter, &rec, &ignored)) != STEP_END)
		if (step == STEP_ITEM && rec.type < PERF_KERNEL_TYPES && rec.type &&
		    record_view_of(part, rec.bytes, rec.type, rec.size, &view) &&
		    view.cpu < CPUS_MOST && view.cpu > part->most_cpu)
			part->most_cpu = view.cpu;
	perf_iter_end(&iter);
}

/*
 * Version 1 names its tracepoints in a section of its own: what there is to tell them by when
 * their formats are missing. A section that cannot be read costs names alone.
 */
static void read_event_types(struct opening *o)
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

/* Of a file whose end is missing, where what perf calls features stands. */
static const char *names_lost(const struct perf_part *part)
{
	for (size_t i = 0; i < part->nattrs; i++)
		if (part->attrs[i]->type == 2)
			return "; the names and fields of its tracepoints stand at the end and are "
			       "missing";
	return "";
}

static bool read_file_head(struct opening *o, const uint8_t *bytes, struct error *err)
{
	struct perf_part *part = o->part;
	struct file_head *head = &o->head;
	struct perf_source *file = &part->sources[0];
	uint64_t size = source_size(file->source), bad = 0;

	head->attr_entry = get64(bytes + 16, part->swap);
	head->attr_off = get64(bytes + 24, part->swap);
	head->attr_size = get64(bytes + 32, part->swap);
	head->data_off = get64(bytes + 40, part->swap);
	head->data_size = get64(bytes + 48, part->swap);
	if (part->version == 1) {
		head->types_off = get64(bytes + 56, part->swap);
		head->types_size = get64(bytes + 64, part->swap);
	}
	for (unsigned i = 0; i < 4; i++)
		head->features[i] = get64(bytes + 72 + 8 * i, part->swap);
	if (head->data_off > size)
		return error_set(err, ERR_FORMAT,
				 "%s: the data begins at offset %" PRIu64
				 ", the file ends at offset %" PRIu64,
				 o->path, head->data_off, size);
	bool open = !head->data_size, cut = head->data_size > size - head->data_off;
	file->begin = head->data_off;
	file->end = open || cut ? size : head->data_off + head->data_size;
	file->grows = open || cut;
	if (!read_attr_table(o, err))
		return false;
	read_event_types(o);
	struct error cause;
	if (open) {
		error_set(&cause, ERR_FORMAT,
			  "the recording was not finished: the header at offset 48 has no size of "
			  "the data, which is read to the end of the file at offset %" PRIu64 "%s",
			  size, names_lost(part));
	} else if (cut) {
		error_set(&cause, ERR_FORMAT,
			  "cut off: the data at offset %" PRIu64 " has %" PRIu64
			  " bytes, the file ends at offset %" PRIu64 "%s",
			  head->data_off, head->data_size, size, names_lost(part));
	} else if (!read_features(o, &bad)) {
		error_set(&cause, ERR_FORMAT,
			  "the features at offset %" PRIu64
			  " lie beyond the end of the file at offset %" PRIu64,
			  bad, size);
	} else {
		return true;
	}
	file->cut_told = open || cut;
	trace_damage(part->trace, o->path, &cause);
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

/* The magic of version 1 is a text in both byte orders: the size of the header tells which. */
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

static bool open_first(struct opening *o, const char *path, struct error *err)
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

static bool is_part(const char *name)
{
	enum { PREFIX = 5 };

	return !strncmp(name, "data.", PREFIX) && name[PREFIX] &&
	       !name[PREFIX + strspn(name + PREFIX, "0123456789")];
}

static bool open_one(struct opening *o, const char *path, struct error *err)
{
	uint8_t head[RECORD_HEAD];
	struct source *source;
	struct error ignored;

	if (!source_open(path, o->mode, &source, err))
		return false;
	uint64_t size = source_size(source);
	add_source(o, source, 0, size, o->part->sources[0].grows);
	if (size >= sizeof head && source_peek(source, 0, head, sizeof head, &ignored) &&
	    is_compressed(get32(head, o->part->swap)))
		o->compressed = true;
	return true;
}

/* data.0, data.1, ... data.10: streams of records without a head. */
static bool open_rest(struct opening *o, const char *folder, struct error *err)
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

static void add_clock(struct perf_part *part)
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

static void describe(struct opening *o)
{
	struct perf_part *part = o->part;
	uint8_t more[2] = {part->by_cpu, part->swap};

	XXH3_128bits_update(o->identity, more, sizeof more);
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

static bool open_files(struct opening *o, struct error *err)
{
	struct stat st;
	bool folder = stat(o->path, &st) == 0 && S_ISDIR(st.st_mode);

	char *first = folder ? folder_join(o->path, "data") : mem_strdup(o->path);
	bool ok = open_first(o, first, err) && (!folder || open_rest(o, o->path, err));
	mem_free(first);
	if (!ok)
		return false;
	read_metadata(o, false);
	if (!o->part->nattrs)
		return error_set(err, ERR_FORMAT,
				 "%s: no attributes before the first sample or the end at offset "
				 "%" PRIu64,
				 o->path, o->part->sources[0].end);
	find_cpus(o);
	order_ids(o->part);
	perf_find_plains(o->part);
	rename_events(o);
	size_t files = o->part->nsources;
	for (uint32_t i = 0; o->compressed && i < files; i++)
		if (!perf_spill(o->part, i, err))
			return false;
	if (o->part->by_cpu && o->part->most_cpu < 0)
		look_for_cpus(o->part);
	return true;
}

bool perf_open(struct trace *trace, const char *path, const char *settings, enum source_mode mode,
	       struct error *err)
{
	struct perf_part *part = mem_new(sizeof *part);
	struct opening o = {.part = part, .path = path, .mode = mode};

	(void)settings; /* content says everything */
	part->trace = trace;
	part->part = trace_add_part(trace, &perf_reader, path);
	part->part->priv = part; /* from here on perf_close() frees it */
	part->most_cpu = -1;
	o.identity = XXH3_createState();
	XXH3_128bits_reset(o.identity);
	bool ok = open_files(&o, err);
	if (ok) {
		add_clock(part);
		if (part->tracing && part->arch)
			tracing_syscalls(part->tracing, part->arch);
		perf_name_events(part);
		perf_tell_unknown(part);
		describe(&o);
		perf_find_recording(part);
		ok = perf_add_classes(part, err) && perf_add_streams(part, err);
	}
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
	tracing_free(perf->tracing);
	mem_free(perf->attrs);
	mem_free(perf->ids);
	mem_free(perf->sources);
	mem_free(perf->env);
	mem_free(perf->build_ids);
	mem_free(perf->tasks);
	mem_free(perf);
}
