/* decoded.c - see decoded.h */
#include "tests/engine/decoded.h"

#include "engine/base/mem.h"
#include "tests/harness.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void said_notice(void *arg, enum notice_kind kind, const char *text)
{
	struct said *said = arg;

	if (kind != NOTICE_DAMAGE)
		return;
	said->damages++;
	snprintf(said->last, sizeof said->last, "%s", text);
}

static uint32_t bytes_of_packets;

void decoded_cut_at(uint32_t bytes)
{
	bytes_of_packets = bytes;
}

bool decoded_open(const char *path, struct said *said, struct trace **out, struct error *err)
{
	struct trace_options options = {.paths = &path, .npaths = 1, .packet_bytes = bytes_of_packets};

	*said = (struct said){0};
	options.notices = (struct notices){.say = said_notice, .arg = said};
	return trace_open(&options, out, err);
}

const struct reader *decoded_reader(const struct trace *trace, const struct stream *stream)
{
	return trace->parts[stream->part]->reader;
}

void records_scan(const struct trace *trace, const struct stream *stream, const struct scan *from,
		  struct records *out)
{
	const struct reader *reader = decoded_reader(trace, stream);
	struct packet_info info;
	struct error err;

	out->after = from ? *from : (struct scan){0};
	for (;;) {
		struct scan before = out->after;
		enum step step = reader->scan(stream, &out->after, &info, &err);
		if (step == STEP_END)
			return;
		if (step == STEP_ERROR) {
			out->errors++;
			snprintf(out->last, sizeof out->last, "%s", err.text);
			assert_true(out->errors <= stream->nsources);
			continue;
		}
		out->items = mem_grow(out->items, out->count, &out->capacity, sizeof info);
		out->before =
			mem_grow(out->before, out->count, &out->capacity_before, sizeof before);
		out->before[out->count] = before;
		if (info.nextents) { /* valid until the next scan */
			size_t n = info.nextents;
			if (!out->extents)
				out->extents = arena_new();
			struct extent *copy = arena_array(out->extents, n, sizeof *copy);
			memcpy(copy, info.extents, n * sizeof *copy);
			info.extents = copy;
		}
		out->items[out->count++] = info;
	}
}

void records_release(struct records *records)
{
	mem_free(records->items);
	mem_free(records->before);
	arena_free(records->extents);
	*records = (struct records){0};
}

static void add(uint64_t *hash, const void *bytes, size_t count) /* FNV-1a */
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < count; i++)
		*hash = (*hash ^ byte[i]) * UINT64_C(0x100000001b3);
}

static void add_field(uint64_t *hash, const char *name, const struct field *field)
{
	const struct field_class *class = field->class;
	struct buf scratch = {0};
	struct field_iter iter;
	size_t len;

	add(hash, name, strlen(name) + 1);
	add(hash, &class->kind, sizeof class->kind);
	if (class->kind == FIELD_INT || class->kind == FIELD_FLOAT) {
		add(hash, &field->slot.u, sizeof field->slot.u);
		return;
	}
	if (field_is_text(field)) {
		const uint8_t *bytes = field_bytes(field, &scratch, &len);
		add(hash, bytes, len);
		buf_release(&scratch);
		return;
	}
	field_iter_begin(&iter, field);
	add(hash, &iter.count, sizeof iter.count);
	while (field_iter_next(&iter))
		add_field(hash, iter.name ? iter.name : "", &iter.item);
	field_iter_end(&iter);
}

static uint64_t digest_of(const struct fields *fields)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	struct field scope;

	for (int i = 0; i < SCOPE_COUNT; i++)
		if (fields_scope(fields, (enum scope)i, &scope))
			add_field(&hash, "", &scope);
	return hash;
}

/* Checks that values decoded with the heads equal those of events decoded one by one. */
static uint64_t digest_both(const struct reader *reader, struct decoder *decoder,
			    struct batch *batch, uint32_t i)
{
	struct slot *slots = batch->slots;
	uint64_t digest = 0;
	struct fields fields;
	struct error err;

	if (batch_slots(batch, i)) {
		assert_true(reader->decoder_fields(decoder, batch, i, &fields, &err));
		digest = digest_of(&fields);
	}
	batch->slots = NULL;
	assert_true(reader->decoder_fields(decoder, batch, i, &fields, &err));
	batch->slots = slots;
	uint64_t alone = digest_of(&fields);
	assert_true(!digest || digest == alone);
	return alone;
}

static void take_batch(const struct reader *reader, struct decoder *decoder, struct batch *batch,
		       int digests, struct decoded *out)
{
	uint32_t from = digests == SUMMARY_ALL              ? 0
			: (uint32_t)digests >= batch->count ? 0
							    : batch->count - (uint32_t)digests;

	for (uint32_t i = 0; i < batch->count; i++) {
		struct decoded_event event = {batch->time[i], batch->at[i], 0,
					      batch->class_index[i]};
		if (i >= from)
			event.digest = digest_both(reader, decoder, batch, i);
		out->events =
			mem_grow(out->events, out->count, &out->capacity, sizeof *out->events);
		out->events[out->count++] = event;
	}
}

void decode_packet(const struct trace *trace, const struct stream *stream, struct decoder *decoder,
		   const struct packet_info *info, int digests, struct decoded *out)
{
	const struct reader *reader = decoded_reader(trace, stream);
	static struct rng seed = {1};
	uint64_t chance = rng_next(&seed);
	struct batch *batch =
		batch_new(BATCH_MAX, reader->values ? 1 + (uint32_t)chance % 6000 : 0, NULL);
	enum step step = STEP_ITEM;
	struct error err;

	if (!reader->decoder_open(decoder, info, &err))
		step = STEP_ERROR;
	while (step == STEP_ITEM) {
		batch->capacity = BATCH_MAX;
		if (batch->slots)
			batch->values.ends = chance >> 20 & 1;
		step = reader->decoder_next(decoder, batch, &err);
		take_batch(reader, decoder, batch, digests, out);
	}
	if (step == STEP_ERROR) {
		out->errors++;
		snprintf(out->last, sizeof out->last, "%s", err.text);
		batch->capacity = BATCH_MAX; /* after its end a packet returns nothing more */
		assert_int_not_equal(reader->decoder_next(decoder, batch, &err), STEP_ITEM);
	}
	reader->decoder_leave(decoder);
	batch_free(batch);
}

void decoded_release(struct decoded *decoded)
{
	mem_free(decoded->events);
	*decoded = (struct decoded){0};
}

bool decoded_same(const struct decoded_event *a, const struct decoded_event *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (a[i].time != b[i].time || a[i].class_index != b[i].class_index ||
		    (a[i].digest && b[i].digest && a[i].digest != b[i].digest))
			return false;
	return true;
}

char *path_join(const char *folder, const char *name)
{
	struct buf path = {0};

	buf_printf(&path, "%s/%s", folder, name);
	return path.data;
}

static void (*corpus_callback)(const char *path, const char *name, long events, bool good);

static int visit(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	if (kind != FTW_F || strcmp(path + where->base, "metadata") != 0)
		return 0;
	char *folder = strndup(path, (size_t)where->base - 1);
	corpus_callback(folder, folder, -1, !strstr(folder, "corrupt"));
	free(folder);
	return 0;
}

/* Lines of ctf/real/MANIFEST.tsv: path, version, pass or fail, exit status, events... */
static void visit_manifest(const char *corpus)
{
	char *list = path_join(corpus, "ctf/real/MANIFEST.tsv"), *line = NULL;
	FILE *file = fopen(list, "r");
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		char *next = line, *column[5];
		for (size_t i = 0; i < COUNT(column); i++)
			column[i] = strsep(&next, "\t");
		if (!next || (strcmp(column[1], "1.8") != 0 && strncmp(column[1], "2 ", 2) != 0))
			continue;
		char *folder = path_join(corpus, "ctf/real"), *path = path_join(folder, column[0]);
		bool good = !strcmp(column[2], "pass");
		corpus_callback(path, column[0], good && *column[4] ? atol(column[4]) : -1, good);
		mem_free(folder);
		mem_free(path);
	}
	free(line);
	if (file)
		fclose(file);
	mem_free(list);
}

bool corpus_each(void (*each)(const char *path, const char *name, long events, bool good))
{
	const char *corpus = getenv("YORE_CORPUS");

	if (!corpus || access(corpus, R_OK) != 0) {
		print_message("no corpus: YORE_CORPUS names no folder\n");
		return false;
	}
	corpus_callback = each;
	visit_manifest(corpus);
	char *ust = path_join(corpus, "lttng-ust"), *perf = path_join(corpus, "perf-to-ctf");
	nftw(ust, visit, 16, FTW_PHYS);
	nftw(perf, visit, 16, FTW_PHYS);
	mem_free(ust);
	mem_free(perf);
	return true;
}

static void visit_case(const char *folder, const char *name, bool perf,
		       void (*each)(const struct kernel_case *what))
{
	static const char *const files[] = {"perf.data", "perf.pipe", "trace.dat"};

	for (size_t i = 0; i < COUNT(files); i++) {
		char *path = path_join(folder, files[i]);
		struct kernel_case what = {name, path, folder, perf, !strstr(name, "corrupt")};
		if (access(path, R_OK) == 0)
			each(&what);
		mem_free(path);
	}
}

bool corpus_each_kernel(void (*each)(const struct kernel_case *what))
{
	static const char *const kinds[] = {"perf-data", "trace-dat"};
	const char *corpus = getenv("YORE_CORPUS");

	if (!corpus || access(corpus, R_OK) != 0) {
		print_message("no corpus: YORE_CORPUS names no folder\n");
		return false;
	}
	for (size_t i = 0; i < COUNT(kinds); i++) {
		char *all = path_join(corpus, kinds[i]);
		struct dirent **entries = NULL;
		int n = scandir(all, &entries, NULL, alphasort);
		for (int k = 0; k < n; k++) {
			char *folder = path_join(all, entries[k]->d_name);
			char *name = path_join(kinds[i], entries[k]->d_name);
			if (entries[k]->d_name[0] != '.')
				visit_case(folder, name, i == 0, each);
			mem_free(folder);
			mem_free(name);
			free(entries[k]);
		}
		free(entries);
		mem_free(all);
	}
	return true;
}

char *scratch_folder(void)
{
	const char *base = getenv("TMPDIR");
	char *path = path_join(base ? base : "/tmp", "yore-test-XXXXXX");

	assert_non_null(mkdtemp(path));
	return path;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

void scratch_remove(char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	mem_free(path);
}

char *only_file(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char *found = NULL;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			assert_null(found);
			found = path_join(folder, entry->d_name);
		}
	if (dir)
		closedir(dir);
	return found;
}

void write_file(const char *path, const void *bytes, size_t count)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	assert_int_equal(fclose(file), 0);
}

void *read_file(const char *path, size_t *count)
{
	FILE *file = fopen(path, "rb");
	struct stat st;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	*count = (size_t)st.st_size;
	void *bytes = mem_new(*count + 1);
	assert_int_equal(fread(bytes, 1, *count, file), *count);
	fclose(file);
	return bytes;
}

void copy_folder(const char *from, const char *to)
{
	DIR *dir = opendir(from);
	struct dirent *entry;
	struct stat st;

	assert_non_null(dir);
	mkdir(to, 0777);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		char *old = path_join(from, entry->d_name), *new = path_join(to, entry->d_name);
		assert_int_equal(stat(old, &st), 0);
		if (S_ISDIR(st.st_mode)) {
			copy_folder(old, new);
		} else {
			size_t count;
			void *bytes = read_file(old, &count);
			write_file(new, bytes, count);
			mem_free(bytes);
		}
		mem_free(old);
		mem_free(new);
	}
	closedir(dir);
}
