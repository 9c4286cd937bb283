/*
 * ctf_open.c - folders → parts, streams and event classes
 *
 * For folders of one group (chunks of a rotated session; folders.c) it uses the metadata with the
 * most streams and events, and joins files of one stream class and instance id to one stream.
 */
#include "engine/base/inputs.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/base/search.h"
#include "engine/ctf/folders.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool header_value(const struct ctf_part *part, const struct slot *slots, enum ctf_role role,
			 uint64_t *out)
{
	const struct field_class *header = part->description.packet_header;

	return header && ctf_role_value(header, slots, role, out, NULL);
}

const struct ctf_stream_class *ctf_stream_class_of(const struct ctf_part *part, const uint8_t *data,
						   size_t size, uint64_t *instance,
						   bool *has_instance, struct error *err)
{
	struct slot *slots = mem_new_array(layout_slots(part->header) + 1, sizeof *slots);
	uint64_t *registers = mem_new_array(part->registers + 1, sizeof *registers);
	struct layout_input in = {.data = data, .bits = (uint64_t)size * 8, .registers = registers};
	const struct ctf_stream_class *found = NULL;
	uint64_t id = 0, magic = 0xc1fc1fc1;

	if (!layout_decode(part->header, &in, slots)) {
		error_set(err, ERR_FORMAT, "packet header cut short");
	} else if (header_value(part, slots, ROLE_MAGIC, &magic) && magic != CTF_MAGIC) {
		error_set(err, ERR_FORMAT, "bad packet magic 0x%08llx", (unsigned long long)magic);
	} else {
		/* no stream id: CTF 1.8's only stream, or CTF 2's stream with id 0 */
		bool has_id = header_value(part, slots, ROLE_STREAM_ID, &id) ||
			      part->description.major >= 2;
		*has_instance = header_value(part, slots, ROLE_STREAM_INSTANCE, instance);
		for (size_t i = 0; i < part->description.nstreams && !found; i++)
			if (!has_id || part->description.streams[i].id == id)
				found = &part->classes[i];
		if (!found)
			error_set(err, ERR_FORMAT,
				  "stream id %llu, which the metadata does not "
				  "know",
				  (unsigned long long)id);
	}
	mem_free(slots);
	mem_free(registers);
	return found;
}

/* One data stream file, before it is known which stream it belongs to. */
struct file {
	struct source *source;
	char *name, *folder; /* name: as shown, from the opened path */
	const struct ctf_stream_class *class;
	uint64_t instance, begin;
	bool has_instance;
	struct ctf_source beside;
	int32_t cpu;
	size_t next; /* the next file of the same stream; FOLDER_NONE: this is the last */
};

struct files {
	struct file *items;
	size_t count, capacity;
};

/* 2010 proposal: a file's name says which section it is. */
static bool take_section(struct ctf_part *part, const char *name, struct file *file,
			 struct error *err)
{
	size_t index;

	int32_t number;

	if (!rfc_section_of(&part->description, name, &index, &number))
		return error_set(err, ERR_FORMAT, "%s: the metadata has no section of this name",
				 source_name(file->source));
	file->class = &part->classes[index];
	if (!file->class->description->numbered) {
		file->cpu = number;
	} else if (number >= 0) {
		file->instance = (uint64_t)number;
		file->has_instance = true;
	}
	return true;
}

/* Finds the stream class of a file by its first packet. */
static bool look_at_file(struct ctf_part *part, const char *name, struct file *file,
			 struct error *err)
{
	uint8_t head[4096];
	uint64_t size = source_size(file->source);
	size_t n = size < sizeof head ? (size_t)size : sizeof head;

	if (part->description.is_2010)
		return take_section(part, name, file, err);
	if (!source_peek(file->source, 0, head, n, err))
		return false;
	file->class = ctf_stream_class_of(part, head, n, &file->instance, &file->has_instance, err);
	return file->class || error_while(err, "%s: packet at offset 0", source_name(file->source));
}

static bool gathers(const struct ctf_opening *opening)
{
	return opening->input.has_prefix || opening->input.scan || opening->input.datagrams;
}

/* Does the file given by `metadata=` have the UUID of the packets, if they have one? */
static bool check_metadata(const struct ctf_opening *opening, struct ctf_part *part,
			   const struct file *file, struct error *err)
{
	struct ctf_stream_state state = {.class = file->class, .sources = &(struct ctf_source){0}};
	struct source *source = file->source;
	const struct stream stream = {.sources = &source, .nsources = 1, .cpu = -1, .priv = &state};
	char said[UUID_TEXT], wanted[UUID_TEXT];
	struct ctf_packet_head head;
	struct error ignored; /* the scan reports it */

	if (!opening->input.metadata || !packet_head_read(&stream, 0, 0, &head, &ignored) ||
	    !head.other || ctf_has_own(&stream, 0))
		return true;
	return error_set(err, ERR_FORMAT, "%s: its packets are of UUID %s, and %s is of %s",
			 source_name(source), uuid_put(head.uuid, said), opening->input.metadata,
			 uuid_put(part->description.uuid, wanted));
}

/* False: the file has no packets, or it is damaged, which was reported. */
static bool ctf_open_file(const struct ctf_opening *opening, struct ctf_part *part,
			  const struct folder *folder, const char *path, struct file *out)
{
	const char *name = basename(path);
	struct error cause;

	*out = (struct file){.cpu = -1};
	/* there may be more datagrams than maps */
	enum source_mode mode =
		opening->input.datagrams && !folder->is_file ? SOURCE_READ : opening->mode;
	if (!source_open(path, mode, &out->source, &cause)) {
		trace_damage(opening->trace, "", &cause);
		opening->trace->awaited++;
		return false;
	}
	source_beside(out->source, &folder->metadata);
	if (gathers(opening))
		return true;
	bool good = ring_arrange(opening->trace, out->source, &cause);
	bool is_empty = good && !source_size(out->source);
	if (good && !is_empty && look_at_file(part, name, out, &cause) &&
	    check_metadata(opening, part, out, &cause))
		return true;
	source_close(out->source);
	if (!is_empty)
		trace_damage(opening->trace, "", &cause);
	opening->trace->awaited++; /* its first packet or its metadata may not be written yet */
	return false;
}

static void ctf_open_add_file(const struct ctf_opening *opening, struct ctf_part *part,
			      const struct folder *folder, const char *name, const char *path,
			      struct files *out)
{
	struct trace *trace = opening->trace;
	const char *root = folder->in_shm ? opening->input.shm : opening->root;
	size_t skip = strlen(root);
	const char *slash = strrchr(path, '/');
	struct file file;

	if (!ctf_open_file(opening, part, folder, path, &file))
		return;
	if (!gathers(opening) && !trace->grows) /* it grows behind the packets */
		lttng_index_open(folder->path, name, source_size(file.source), &trace->notices,
				 &file.beside);
	if (file.beside.index) {
		struct source_stamp stamp;
		source_stamp(file.beside.index, &stamp);
		source_beside(file.source, &stamp);
	}
	while (path[skip] == '/')
		skip++;
	file.name = arena_strdup(trace->arena, path[skip] ? path + skip : slash ? slash + 1 : path);
	*mem_push(out->items, out->count, out->capacity) = file;
}

/* True of "perf_stream_1" and "perf_stream_0". */
static bool are_alike_but_for_digits(const char *a, const char *b)
{
	while (*a && *b) {
		if (char_is_digit(*a) && char_is_digit(*b)) {
			while (char_is_digit(*a))
				a++;
			while (char_is_digit(*b))
				b++;
		} else if (*a++ != *b++) {
			return false;
		}
	}
	return !*a && !*b;
}

/* Is the folder named like a stream file but for digits? Other folders are no concern of CTF. */
static bool is_in_place_of_stream(const char *folder, const struct folder_names *streams)
{
	for (size_t i = 0; i < streams->count; i++)
		if (are_alike_but_for_digits(folder, streams->items[i]))
			return true;
	return false;
}

static void add_empty(struct trace *trace, const struct ctf_part *part, const char *path)
{
	int32_t clock = -1;

	for (size_t i = 0; i < part->description.nstreams && clock < 0; i++)
		clock = part->classes[i].clock;
	*mem_push(trace->empties, trace->nempties, trace->empties_capacity) =
		(struct empty_file){arena_strdup(trace->arena, path), clock};
}

/* Adds a file other than the metadata as a stream; lists names of folders and of regular files. */
static void ctf_open_add_named(const struct ctf_opening *opening, struct ctf_part *part,
			       const struct folder *folder, const char *name, struct files *out,
			       struct folder_names *folders, struct folder_names *streams)
{
	char *path = folder_join(folder->path, name);
	struct error cause;
	struct stat st;
	uint64_t size;

	if (!strcmp(name, "metadata")) {
		mem_free(path);
		return;
	}
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		*mem_push(folders->items, folders->count, folders->capacity) = mem_strdup(name);
	} else if (!file_is_regular(path, &size, &cause)) {
		trace_damage(opening->trace, "", &cause);
	} else {
		*mem_push(streams->items, streams->count, streams->capacity) = mem_strdup(name);
		if (size)
			ctf_open_add_file(opening, part, folder, name, path, out);
		else if (opening->trace->grows)
			add_empty(opening->trace, part, path);
	}
	mem_free(path);
}

static bool add_files(const struct ctf_opening *opening, struct ctf_part *part,
		      const struct folder *folder, struct files *out, struct error *err)
{
	struct folder_names names, folders = {0}, streams = {0};

	if (folder->is_file) {
		ctf_open_add_file(opening, part, folder, folder->path, folder->path, out);
		return true;
	}
	inputs_add_folder(folder->path);
	if (!folder_list(folder->path, &names, err))
		return false;
	for (size_t i = 0; i < names.count; i++)
		ctf_open_add_named(opening, part, folder, names.items[i], out, &folders, &streams);
	for (size_t i = 0; i < folders.count; i++) {
		struct error cause;
		if (!is_in_place_of_stream(folders.items[i], &streams))
			continue;
		error_set(&cause, ERR_IO, "%s/%s: it is a folder, in the place of a stream",
			  folder->path, folders.items[i]);
		trace_damage(opening->trace, "", &cause);
	}
	folder_release(&folders);
	folder_release(&streams);
	folder_release(&names);
	return true;
}

void ctf_describe(struct stream *stream, const struct ctf_stream_class *class)
{
	const struct field_class *const *member = class->member;

	stream->id = class->description->id;
	stream->clock = class->clock;
	stream->has_time = class->has_clock;
	stream->tells_end = class->has_clock && member[MEMBER_END] && !class->context_varies;
	bool at_first = class->part->description.is_2010 && !class->description->lost_at_end;
	stream->lost_kind = !member[MEMBER_DISCARDED] ? LOST_NONE
			    : at_first                ? LOST_AT_FIRST
						      : LOST_AT_END;
	stream->shared = class->context; /* events of unknown ids may lie between */
	if (member[MEMBER_DISCARDED])
		stream->lost_bits = (uint8_t)member[MEMBER_DISCARDED]->bits;
	if (member[MEMBER_SEQUENCE])
		stream->seq_bits = (uint8_t)member[MEMBER_SEQUENCE]->bits;
}

static int ctf_open_by_begin(const void *a, const void *b)
{
	const struct file *x = *(struct file *const *)a, *y = *(struct file *const *)b;

	return three_way(x->begin, y->begin) ?: strverscmp(x->name, y->name);
}

static int by_stream(const void *a, const void *b)
{
	const struct file *x = *(struct file *const *)a, *y = *(struct file *const *)b;

	return three_way(x->class, y->class) ?: three_way(x->instance, y->instance) ?:
	       three_way(x, y);
}

/* For traces that yore wrote: its instance ids are the order of streams in the original trace. */
static int by_instance(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return three_way(x->instance, y->instance) ?: strverscmp(x->name, y->name);
}

/* Chains files whose packets have the same stream class and instance id: they are one stream. */
static void chain_files(struct files *files)
{
	struct file **sorted = mem_new_array(files->count + 1, sizeof(struct file *));
	size_t n = 0;

	for (size_t i = 0; i < files->count; i++) {
		files->items[i].next = FOLDER_NONE;
		if (files->items[i].has_instance)
			sorted[n++] = &files->items[i];
	}
	qsort(sorted, n, sizeof *sorted, by_stream);
	for (size_t i = 1; i < n; i++)
		if (sorted[i]->class == sorted[i - 1]->class &&
		    sorted[i]->instance == sorted[i - 1]->instance)
			sorted[i - 1]->next = (size_t)(sorted[i] - files->items);
	mem_free(sorted);
}

/* Makes a stream of file `first` and the files chained behind it. */
static void join_files(struct ctf_part *part, struct files *files, size_t first,
		       struct file **members)
{
	struct trace *trace = part->trace;
	const struct file *lead = &files->items[first];
	const char *name = part->is_own && lead->has_instance
				   ? ctf_own_name(&part->description, lead->instance)
				   : NULL;
	struct stream *stream = trace_add_stream(trace, part->part, name ? name : lead->name);
	struct ctf_stream_state *state = arena_alloc(trace->arena, sizeof *state);
	size_t n = 0;

	state->class = lead->class;
	state->instance = lead->instance;
	state->has_instance = lead->has_instance;
	stream->priv = state;
	ctf_describe(stream, lead->class);
	for (size_t i = first; i != FOLDER_NONE; i = files->items[i].next)
		members[n++] = &files->items[i];
	stream->sources = arena_array(trace->arena, n, sizeof(struct source *));
	state->sources = arena_array(trace->arena, n, sizeof *state->sources);
	stream->nsources = (uint32_t)n;
	for (size_t i = 0; i < n; i++) { /* packet_head_read() reads from the stream's sources */
		struct ctf_packet_head head;
		struct error ignored;
		stream->sources[i] = members[i]->source;
		if (!packet_head_read(stream, (uint32_t)i, 0, &head, &ignored))
			continue;
		members[i]->begin = head.has_begin ? head.begin : 0;
		if (head.cpu >= 0)
			members[i]->cpu = head.cpu;
		if (head.seq_bits)
			stream->seq_bits = head.seq_bits;
	}
	if (n > 1)
		qsort(members, n, sizeof *members, ctf_open_by_begin);
	stream->cpu = members[0]->cpu;
	for (size_t i = 0; i < n; i++) {
		stream->sources[i] = members[i]->source;
		trace_add_source(trace, members[i]->source);
		stream->bytes += source_size(members[i]->source);
		state->sources[i] = members[i]->beside;
		members[i]->source = NULL; /* taken */
		if (members[i]->cpu != stream->cpu)
			stream->cpu = -1;
	}
	state->order = ctf_order_new();
	ctf_order_go_on(stream);
	state->equal_size = ctf_equal_size(stream, &state->first_number);
	for (uint32_t i = 0; i < stream->nsources; i++)
		stream->pieces |= source_size(stream->sources[i]) > 1 << 20 && !state->equal_size;
	ctf_split_by_cpu(trace, stream);
}

static void tell_doubled(const struct ctf_part *part, const char *root)
{
	const struct trace *trace = part->trace;
	unsigned long long doubled = 0;

	for (size_t i = part->first_stream; i < part->end_stream; i++)
		doubled += ctf_doubled_in_files(trace->streams[i]);
	if (doubled)
		notice(&trace->notices, NOTICE_INFO,
		       "%s: %llu packet%s in two of its folders, as snapshots that overlap have "
		       "them: %s counted once",
		       root, doubled, doubled == 1 ? " is" : "s are",
		       doubled == 1 ? "it is" : "they are");
}

/* Adds streams where each file has the packets of one stream. */
static void ctf_open_add_streams(struct ctf_part *part, struct files *files)
{
	struct file **members = mem_new_array(files->count, sizeof(struct file *));

	if (part->is_own && files->count)
		qsort(files->items, files->count, sizeof *files->items, by_instance);
	chain_files(files);
	for (size_t i = 0; i < files->count; i++)
		if (files->items[i].source)
			join_files(part, files, i, members);
	mem_free(members);
}

/* Adds streams where files have packets of several streams (gather.c). */
static bool gather_streams(const struct ctf_opening *opening, struct ctf_part *part,
			   struct files *files, bool is_file, struct error *err)
{
	struct source **sources = mem_new_array(files->count + 1, sizeof(struct source *));
	const char **names = mem_new_array(files->count + 1, sizeof *names);

	for (size_t i = 0; i < files->count; i++) {
		sources[i] = files->items[i].source;
		names[i] = files->items[i].name;
		trace_add_source(opening->trace, sources[i]);
		files->items[i].source = NULL; /* taken */
	}
	bool good = ctf_gather(part, sources, names, files->count, is_file && files->count,
			       &opening->input, err);
	mem_free(names);
	mem_free(sources);
	return good;
}

/* Opens `first` and the folders chained behind it, by the metadata of `speaker`, one of them. */
static bool open_group(const struct ctf_opening *opening, struct folders *folders, size_t first,
		       size_t speaker, struct error *err)
{
	const struct ctf_description *d = &folders->items[speaker].description;
	struct trace *trace = opening->trace;
	struct ctf_part *part = ctf_part_add(trace, folders->items[speaker].path, d,
					     folders->items[speaker].identity, err);
	struct files files = {0};
	bool ok = part;

	if (ok)
		part->gathered = gathers(opening);
	if (ok && d->is_2010 && part->gathered)
		ok = error_set(err, ERR_FORMAT,
			       "%s: streams of the 2010 proposal are files of their own, which "
			       "prefix=N, scan and datagrams do not find",
			       folders->items[speaker].path);
	for (size_t i = first; ok && i != FOLDER_NONE; i = folders->items[i].next) {
		struct folder *folder = &folders->items[i];
		if (folder->taken)
			continue;
		folder->taken = true;
		ok = add_files(opening, part, folder, &files, err);
	}
	if (ok && gathers(opening))
		ok = gather_streams(opening, part, &files, folders->items[first].is_file, err);
	else if (ok)
		ctf_open_add_streams(part, &files);
	if (part)
		part->end_stream = trace->nstreams;
	if (ok)
		ctf_name_sections(part);
	if (ok && !gathers(opening))
		tell_doubled(part, opening->root);
	for (size_t i = 0; i < files.count; i++) {
		if (files.items[i].source)
			source_close(files.items[i].beside.index);
		source_close(files.items[i].source);
	}
	mem_free(files.items);
	return ok;
}

/* All folders, group by group. */
static bool open_folders(const struct ctf_opening *opening, struct folders *folders,
			 struct error *err)
{
	for (size_t i = 0; i < folders->count; i++)
		while (!folders->items[i].taken)
			if (!open_group(opening, folders, i, ctf_folders_speaker(folders, i), err))
				return false;
	return true;
}

bool ctf_open(struct trace *trace, const char *path, const char *settings, enum source_mode mode,
	      struct error *err)
{
	struct folders folders = {0};
	size_t len = strlen(path);
	char *root = mem_strdup(path);
	struct ctf_opening opening = {.trace = trace, .root = root, .mode = mode};
	bool ok = ctf_input_parse(settings, trace->arena, &opening.input, err);

	if (len >= 9 && !strcmp(path + len - 9, "/metadata"))
		root[len - 9] = 0;
	else if (!strcmp(path, "metadata"))
		strcpy(root, ".");
	ok = ok && ctf_folders_find(&opening, &folders, err) &&
	     ctf_folders_read(&opening, &folders, err) && open_folders(&opening, &folders, err);
	ctf_folders_release(&folders);
	mem_free(root);
	return ok;
}

void ctf_close(struct part *part)
{
	const struct ctf_part *ctf = part->priv;
	struct ctf_order *order = NULL;

	for (size_t i = ctf ? ctf->first_stream : 0; ctf && i < ctf->end_stream; i++) {
		const struct stream *stream = ctf->trace->streams[i];
		const struct ctf_stream_state *state = stream_state(stream);
		for (uint32_t k = 0; k < stream->nsources; k++)
			source_close(state->sources[k].index);
		if (state->order != order) /* streams of cpus.c share it, and are neighbours */
			ctf_order_free(order);
		order = state->order;
	}
	ctf_order_free(order);
	if (ctf)
		ctf_reached_free(ctf->reached);
}
