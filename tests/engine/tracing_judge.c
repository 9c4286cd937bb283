/* tracing_judge.c - see tracing_judge.h */
#include "tests/engine/tracing_judge.h"

#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "fixtures/rng.h"
#include "tests/harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rng random_state = {88172645463325252u};

const char symbols[] = "0000000000000000 T first\n0000000000001000 t second\t[module]\n"
		       "0000000000002000 A absolute\nffffffff81000000 T _text\n"
		       "ffffffff81000400 T last\n";

void pair_open(struct pair *pair, bool big_endian, unsigned long_bytes, bool plugins)
{
	*pair = (struct pair){.big_endian = big_endian};
	pair->arena = arena_new();
	pair->tracing = tracing_new(pair->arena, big_endian, long_bytes, 4096);
	pair->tep = tep_alloc();
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_file_bigendian(pair->tep, big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(pair->tep, tep_is_bigendian() ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_long_size(pair->tep, (int)long_bytes);
	if (plugins)
		pair->plugins = tep_load_plugins(pair->tep);
}

void pair_close(struct pair *pair)
{
	if (pair->plugins)
		tep_unload_plugins(pair->plugins, pair->tep);
	tep_free(pair->tep);
	tracing_free(pair->tracing);
	arena_free(pair->arena);
}

void pair_format(struct pair *pair, const char *system, const char *text, size_t len)
{
	struct error err = {0};
	struct tep_event *event = NULL;
	char *copy = mem_new(len + 1);

	memcpy(copy, text, len);
	if (!tracing_add_format(pair->tracing, system, text, len, &err))
		fail_msg("%s", err.text);
	tep_parse_format(pair->tep, &event, copy, len, system);
	assert_non_null(event);
	mem_free(copy);
}

void pair_names(struct pair *pair, bool printk, const char *text, size_t len)
{
	struct error err = {0};
	char *copy = mem_new(len + 1);

	if (len)
		memcpy(copy, text, len);
	if (printk) {
		assert_true(tracing_printk(pair->tracing, text, len, &err));
		tep_parse_printk_formats(pair->tep, copy);
	} else {
		assert_true(tracing_kallsyms(pair->tracing, text, len, &err));
		tep_parse_kallsyms(pair->tep, copy);
	}
	mem_free(copy);
}

/* Reads a block of version 6 or of perf once more here, so that both readers get the same texts. */
static uint64_t take(const uint8_t **at, unsigned bytes, bool big_endian)
{
	uint64_t value = big_endian ? load_be(*at, bytes) : load_le(*at, bytes);

	*at += bytes;
	return value;
}

void pair_walk(const uint8_t *at, bool plugins, bool other_order, struct pair *pair)
{
	at += 10;
	at += strlen((const char *)at) + 1;
	bool big = at[0];
	unsigned long_bytes = at[1];
	at += 6;
	pair_open(pair, big != other_order, long_bytes, plugins);
	for (int i = 0; i < 2; i++) {
		at += strlen((const char *)at) + 1;
		uint64_t size = take(&at, 8, big);
		at += size;
	}
	uint64_t count = take(&at, 4, big);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t size = take(&at, 8, big);
		pair_format(pair, "ftrace", (const char *)at, size);
		at += size;
	}
	uint64_t systems = take(&at, 4, big);
	for (uint64_t s = 0; s < systems; s++) {
		const char *system = (const char *)at;
		at += strlen(system) + 1;
		count = take(&at, 4, big);
		for (uint64_t i = 0; i < count; i++) {
			uint64_t size = take(&at, 8, big);
			pair_format(pair, arena_strdup(pair->arena, system), (const char *)at,
				    size);
			at += size;
		}
	}
	for (int printk = 0; printk < 2; printk++) {
		uint64_t size = take(&at, 4, big);
		pair_names(pair, printk, (const char *)at, size);
		at += size;
	}
}

/* ---- records ---- */

enum { TAIL = 96 };

void made_store(struct made *made, size_t at, unsigned bytes, uint64_t value, bool big_endian)
{
	for (unsigned i = 0; i < bytes; i++)
		made->bytes[at + i] = (uint8_t)(value >> 8 * (big_endian ? bytes - 1 - i : i));
}

static void store_text(struct made *made, size_t at, size_t room)
{
	size_t len = rng_next(&random_state) % room;

	for (size_t i = 0; i < len; i++)
		made->bytes[at + i] = (uint8_t)(' ' + rng_next(&random_state) % 95);
	memset(made->bytes + at + len, 0, room - len);
}

static void make_field(struct made *made, const struct tep_format_field *field, bool big_endian)
{
	size_t at = (size_t)field->offset, size = (size_t)field->size;

	if (field->flags & TEP_FIELD_IS_DYNAMIC) {
		size_t len = 1 + rng_next(&random_state) % TAIL, from = made->size;
		store_text(made, from, len);
		made->size += len;
		if (field->flags & TEP_FIELD_IS_RELATIVE)
			from -= at + size;
		made_store(made, at, 4, len << 16 | from, big_endian);
	} else if (!size) {
		store_text(made, at, TAIL);
		made->size = made->size > at + TAIL ? made->size : at + TAIL;
	} else if (field->flags & TEP_FIELD_IS_STRING) {
		store_text(made, at, size);
	} else {
		uint64_t value = rng_next(&random_state) >> rng_next(&random_state) % 64;
		size_t item = size > 8 ? 8 : size;
		for (size_t i = 0; i + item <= size; i += item)
			made_store(made, at + i, (unsigned)item,
				   rng_next(&random_state) % 8 ? value : i, big_endian);
	}
}

void made_record(struct made *made, const struct tep_event *event, bool big_endian)
{
	made->size = 8;
	memset(made->bytes, 0, sizeof made->bytes);
	for (struct tep_format_field *field = event->format.fields; field; field = field->next)
		if ((size_t)(field->offset + field->size) > made->size)
			made->size = (size_t)(field->offset + field->size);
	for (struct tep_format_field *field = event->format.fields; field; field = field->next)
		make_field(made, field, big_endian);
	made->size = (made->size + 3) & ~(size_t)3;
	for (struct tep_format_field *f = event->format.common_fields; f; f = f->next)
		if (!strcmp(f->name, "common_type"))
			made_store(made, (size_t)f->offset, (unsigned)f->size, (uint64_t)event->id,
				   big_endian);
}

static void expected_text(struct pair *pair, struct made *made, struct buf *out)
{
	struct tep_record record = {.data = made->bytes, .size = (int)made->size, .cpu = -1};
	struct trace_seq seq;

	trace_seq_init(&seq);
	tep_print_event(pair->tep, &seq, &record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&seq);
	buf_clear(out);
	buf_add_text(out, seq.buffer);
	if (out->len && out->data[out->len - 1] == '\n')
		out->data[--out->len] = 0;
	trace_seq_destroy(&seq);
}

/*
 * Removes the letters of a state: some versions of the library print their own, not those of print
 * fmt.
 */
static void drop_state(struct buf *text)
{
	char *end = text->len ? strstr(text->data, " ==> ") : NULL, *at = end;

	while (at && at > text->data && *at != ']')
		at--;
	if (at)
		memmove(at, end, strlen(end) + 1);
}

/* libtraceevent drops the whole line for one argument that it does not understand. */
static bool is_unparsed(const struct buf *text)
{
	return !strncmp(buf_text(text), "[FAILED TO PARSE]", 17);
}

void pair_agree(struct pair *pair, const struct tracing_format *format, struct made *made,
		bool plugins)
{
	struct buf expected = {0}, got = {0};
	/* a copy of just this size: the sanitizer sees a read past its end */
	uint8_t *bytes = mem_new(made->size);

	memcpy(bytes, made->bytes, made->size);
	expected_text(pair, made, &expected);
	tracing_text(pair->tracing, format, plugins ? TRACING_TRACECMD : TRACING_PERF, bytes,
		     made->size, &got);
	if (plugins && !strcmp(format->name, "sched_switch")) {
		drop_state(&expected);
		drop_state(&got);
	}
	if (is_unparsed(&expected) && !is_unparsed(&got))
		buf_clear(&expected), buf_clear(&got);
	if (strcmp(buf_text(&expected), buf_text(&got)) != 0)
		fail_msg("%s:%s %s: expected '%s', got '%s'", format->system, format->name,
			 pair->big_endian ? "big" : "little", buf_text(&expected), buf_text(&got));
	mem_free(bytes);
	buf_release(&expected);
	buf_release(&got);
}

/*
 * Is libtraceevent's text usable? Some formats it prints wrongly in the other byte order, or not at
 * all.
 */
static bool is_judged(const struct tep_event *event, bool big_endian)
{
	const char *print = event->print_fmt.format;

	if (!print || event->flags & (int)TEP_EVENT_FL_FAILED)
		return true;
	if (strstr(print, "%*pb") || event->flags & TEP_EVENT_FL_ISBPRINT)
		return false;
	for (struct tep_print_arg *arg = event->print_fmt.args; arg; arg = arg->next)
		if (arg->type == TEP_PRINT_INT_ARRAY || /* decimals before libtraceevent 1.8.4 */
		    (big_endian && arg->type == TEP_PRINT_FIELD && strstr(print, "%s")))
			return false;
	return true;
}

size_t pair_all_agree(struct pair *pair, bool plugins)
{
	static struct made made;
	size_t judged = 0;

	for (uint32_t i = 0; i < tracing_count(pair->tracing); i++) {
		const struct tracing_format *format = tracing_at(pair->tracing, i);
		struct tep_event *event = tep_find_event(pair->tep, (int)format->id);
		assert_non_null(event);
		if (!is_judged(event, pair->big_endian) ||
		    (plugins && !strcmp(event->name, "func_repeats"))) /* prints the event's time */
			continue;
		for (int n = 0; n < 20; n++) {
			made_record(&made, event, pair->big_endian);
			pair_agree(pair, format, &made, plugins);
		}
		judged++;
	}
	return judged;
}

static uint8_t *read_whole(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;

	*size = 0;
	if (!file)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0) {
		long end = ftell(file); /* LONG_MAX for a folder */
		rewind(file);
		bytes = end >= 0 && end < 1 << 30 ? mem_new((size_t)end + 1) : NULL;
		*size = bytes ? fread(bytes, 1, (size_t)end, file) : 0;
	}
	fclose(file);
	return bytes;
}

size_t each_tracing_block(const char *folder, const char *file, with_block *with)
{
	static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
	const char *corpus = getenv("YORE_CORPUS");
	char path[4096];
	size_t count = 0;

	snprintf(path, sizeof path, "%s/%s", corpus ? corpus : "", folder);
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
		size_t size;
		if (entry->d_name[0] == '.' || !strncmp(entry->d_name, "corrupt", 7))
			continue;
		snprintf(path, sizeof path, "%s/%s/%s/%s", corpus, folder, entry->d_name, file);
		uint8_t *bytes = read_whole(path, &size);
		uint8_t *block = bytes ? memmem(bytes, size, magic, sizeof magic) : NULL;
		if (block && block[10] != '7') {
			with(block, size - (size_t)(block - bytes), entry->d_name);
			count++;
		}
		mem_free(bytes);
	}
	if (dir)
		closedir(dir);
	return count;
}

#define FIELDS                                                                       \
	"\tfield:u8 b;\toffset:8;\tsize:1;\tsigned:0;\n"                             \
	"\tfield:s16 h;\toffset:10;\tsize:2;\tsigned:1;\n"                           \
	"\tfield:int i;\toffset:12;\tsize:4;\tsigned:1;\n"                           \
	"\tfield:u64 q;\toffset:16;\tsize:8;\tsigned:0;\n"                           \
	"\tfield:char t[16];\toffset:24;\tsize:16;\tsigned:0;\n"                     \
	"\tfield:unsigned char mac[6];\toffset:40;\tsize:6;\tsigned:0;\n"            \
	"\tfield:__u8 ip4[4];\toffset:48;\tsize:4;\tsigned:0;\n"                     \
	"\tfield:__u8 ip6[16];\toffset:52;\tsize:16;\tsigned:0;\n"                   \
	"\tfield:__data_loc char[] name;\toffset:68;\tsize:4;\tsigned:0;\n"          \
	"\tfield:__data_loc u32[] list;\toffset:72;\tsize:4;\tsigned:0;\n"           \
	"\tfield:__rel_loc char[] rel;\toffset:76;\tsize:4;\tsigned:0;\n"            \
	"\tfield:__data_loc unsigned long[] mask;\toffset:80;\tsize:4;\tsigned:0;\n" \
	"\tfield:unsigned int a[4];\toffset:84;\tsize:16;\tsigned:0;\n"              \
	"\tfield:void * p;\toffset:104;\tsize:8;\tsigned:0;\n\n"

char *own_format(const char *print)
{
	struct buf text = {0};

	buf_printf(&text, "name: own\nID: 77\n" COMMON FIELDS "print fmt: %s\n", print);
	return text.data;
}

void print_all(struct tracing *tracing)
{
	static uint8_t bytes[256];
	struct buf out = {0};

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)rng_next(&random_state);
	for (uint32_t i = 0; i < tracing_count(tracing); i++)
		for (size_t size = 0; size <= sizeof bytes; size += 64) {
			uint8_t *copy = mem_new(size);
			memcpy(copy, bytes, size);
			for (int style = TRACING_PERF; style <= TRACING_TRACECMD; style++)
				tracing_text(tracing, tracing_at(tracing, i),
					     (enum tracing_style)style, copy, size, &out);
			buf_clear(&out);
			mem_free(copy);
		}
	buf_release(&out);
}
