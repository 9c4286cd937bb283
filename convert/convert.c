/* convert.c - finds formats by name, and calls the functions of the chosen one */
#include "convert/convert_internal.h"
#include "convert/sheets/tables.h"
#include "convert/track_names.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"

#include <stdio.h>
#include <string.h>

static const struct convert_format *const formats[] = {
	&convert_csv,   &convert_sqlite,  &convert_chrome, &convert_perfetto, &convert_folded,
	&convert_pprof, &convert_parquet, &convert_prv,    &convert_tracedat, &convert_pages,
	&convert_ctf,   &convert_ctf2,    &convert_ctf2010};

const struct convert_kind *convert_kind(size_t i)
{
	return i < sizeof formats / sizeof *formats ? &formats[i]->kind : NULL;
}

static const struct convert_format *format_named(const char *name)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strcmp(formats[i]->kind.name, name) == 0 ||
		    (formats[i]->kind.also && strcmp(formats[i]->kind.also, name) == 0))
			return formats[i];
	return NULL;
}

const struct convert_kind *convert_kind_named(const char *name)
{
	const struct convert_format *format = format_named(name);

	return format ? &format->kind : NULL;
}

static bool ends_so(const char *path, const char *endings)
{
	size_t len = strlen(path), n;

	for (; *endings; endings += n + (endings[n] != 0)) {
		n = strcspn(endings, " ");
		if (len > n && memcmp(path + len - n, endings, n) == 0)
			return true;
	}
	return false;
}

const struct convert_kind *convert_kind_of_path(const char *path)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (ends_so(path, formats[i]->kind.endings))
			return &formats[i]->kind;
	return NULL;
}

/* Is the word one of a list with commas? */
static bool convert_is_listed(const char *word, const char *list)
{
	size_t len = strlen(word), n;

	for (; *list; list += n + strspn(list + n, ", ")) {
		n = strcspn(list, ",");
		if (n == len && memcmp(word, list, n) == 0)
			return true;
	}
	return false;
}

/* Names of the kinds that have compressions, or checksums: "ctf2010 and perfetto". */
static const char *coding_kinds(bool checksums, char *text, size_t size)
{
	size_t len = 0;

	*text = 0;
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		const struct convert_kind *kind = &formats[i]->kind;
		if (checksums ? kind->checksums != NULL : kind->compressions != NULL)
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? " and " : "",
						kind->name);
	}
	return text;
}

static bool has_coding(const struct convert_kind *kind, const char *option, const char *list,
		       const char *word, bool checksums, struct error *err)
{
	char kinds[64];

	if (!word)
		return true;
	if (!list)
		return error_set(err, ERR_QUERY, "%s is for %s: packets of %s have none", option,
				 coding_kinds(checksums, kinds, sizeof kinds), kind->name);
	if (!convert_is_listed(word, list))
		return error_set(err, ERR_QUERY, "%s: '%s' is none of %s", option, word, list);
	return true;
}

bool convert_has_coding(const struct convert_kind *kind, const char *compression,
			const char *checksum, struct error *err)
{
	return has_coding(kind, "--compress", kind->compressions, compression, false, err) &&
	       has_coding(kind, "--checksum", kind->checksums, checksum, true, err);
}

bool convert_open(const struct convert_options *options, struct convert **out, struct error *err)
{
	const struct convert_format *format = format_named(options->to);
	struct convert *convert;

	if (!format)
		return error_set(err, ERR_QUERY, "'%s' is no format to convert to", options->to);
	convert = mem_new(format->size);
	convert->format = format;
	convert->options = *options;
	convert->options.to = format->kind.name;
	if (format->kind.names)
		convert->names = track_names_new();
	if (!format->open(convert, err)) {
		convert_close(convert);
		return false;
	}
	*out = convert;
	return true;
}

bool convert_event(struct convert *convert, nstime t, const struct stream *stream, int32_t cpu,
		   const struct event_class *class, const struct fields *fields, struct error *err)
{
	return !convert->format->event ||
	       convert->format->event(convert, t, stream, cpu, class, fields, err);
}

/* ---- events in parts: all kinds that have them are of tables ---- */

struct convert *convert_beside(const struct convert *of)
{
	static const struct convert_format format = {.event = tables_event};
	struct convert *beside = mem_new(sizeof *beside);

	beside->format = &format;
	beside->tables = tables_beside(of->tables);
	return beside;
}

struct convert_part *convert_take(struct convert *beside, size_t *bytes)
{
	return tables_take(beside->tables, bytes);
}

bool convert_give(struct convert *convert, struct convert_part *part, struct error *err)
{
	return tables_give(convert->tables, part, err);
}

void convert_part_free(struct convert_part *part)
{
	tables_part_free(part);
}

bool convert_loss(struct convert *convert, const struct event *loss, struct error *err)
{
	return !convert->format->loss || convert->format->loss(convert, loss, err);
}

void convert_learn(struct convert *convert, const struct interval *interval)
{
	track_names_learn(convert->names, interval);
}

bool convert_interval(struct convert *convert, const struct interval *interval, struct error *err)
{
	return convert->format->interval(convert, interval, err);
}

bool convert_carry(struct convert *convert, nstime t, const char *path, const struct value *value,
		   nstime since, struct error *err)
{
	return convert->format->carry(convert, t, path, value, since, err);
}

bool convert_closed(const struct convert *convert)
{
	return convert->out.closed;
}

bool convert_finish(struct convert *convert, struct error *err)
{
	return convert->format->finish(convert, err);
}

void convert_close(struct convert *convert)
{
	if (!convert)
		return;
	if (convert->format->close)
		convert->format->close(convert);
	out_drop(&convert->out);
	out_folder_drop(&convert->folder);
	track_names_free(convert->names);
	tables_free(convert->tables);
	mem_free(convert);
}

struct convert_range convert_range(const struct convert_options *options)
{
	return (struct convert_range){
		.first = options->begin > options->first ? options->begin : options->first,
		.last = options->end < options->last ? options->end : options->last};
}

bool convert_visible(const struct convert_options *options, const struct interval *interval,
		     struct convert_range *out)
{
	*out = convert_range(options);
	out->first = interval->begin > out->first ? interval->begin : out->first;
	out->last = interval->end < out->last ? interval->end : out->last;
	return out->first <= out->last;
}

void convert_add_value(struct buf *out, const char *name, const struct value *value)
{
	if (name) {
		buf_add_text(out, name);
		buf_add_char(out, ' ');
	}
	if (value->kind == VALUE_STRING)
		buf_add(out, value->text, value->len);
	else
		value_add_json(value, out);
}

const char *trace_kernel_release(const struct trace *trace)
{
	static const char *const releases[] = {"kernel_release", "os_release", "release"};

	for (size_t i = 0; i < trace->nparts; i++)
		for (size_t n = 0; n < sizeof releases / sizeof *releases; n++) {
			const char *release = part_env_text(trace->parts[i], releases[n]);
			if (release)
				return release;
		}
	return NULL;
}

const char *trace_counter(const struct trace *trace)
{
	const char *counter = NULL;

	for (size_t i = 0; i < trace->nclocks; i++) {
		const struct clock *clock = &trace->clocks[i];
		if (!clock->counter || clock->base.offset_s || clock->base.offset_cycles ||
		    (counter && strcmp(counter, clock->counter) != 0))
			return NULL;
		counter = clock->counter;
	}
	return counter;
}

static bool convert_is_plain(char c)
{
	return char_is_word(c) || c == '-' || c == '+';
}

char *convert_file_name(const char *name, const char *ending, struct nameset *taken)
{
	struct buf text = {0};

	buf_add_text(&text, convert_is_plain(*name) ? "" : "_");
	for (; *name; name++) /* a subsystem's colon becomes a dot */
		buf_add_char(&text, convert_is_plain(*name)        ? *name
				    : *name == ':' || *name == '.' ? '.'
								   : '_');
	if (text.len > 200)
		text.len = 200;
	buf_printf(&text, ".%s", ending);
	nameset_make_free(taken, &text, strlen(ending) + 1, "-");
	nameset_add(taken, text.data, 2);
	return text.data;
}
