/*
 * options.c - one option of either version: {u16 id, u32 size, data}
 *
 * Options on times and places of pages set fields of struct ftrace_file; those that only describe
 * the recording go to the environment. Options of unknown ids are skipped.
 */
#include "engine/ftrace/ftrace_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS_MAX = 1 << 20 };

static uint64_t option_number(const struct ftrace_file *file, struct cursor *in, unsigned bytes)
{
	return cursor_number(in, bytes, file->big_endian);
}

/* Reads a text up to its zero; if it is cut short, returns "" and sets in->failed. */
static const char *text(struct cursor *in)
{
	const char *found = cursor_text(in);

	return found ? found : "";
}

/* DATE and OFFSET are numbers in text, decimal or 0x..., in units of `unit` ns. */
static bool read_offset(const char *from, int64_t unit, int64_t *sum, struct error *err)
{
	char *end;

	errno = 0;
	int64_t value = strtoll(from, &end, 0);
	if (end == from || errno)
		return error_set(err, ERR_FORMAT, "\"%.40s\" is no offset of time", from);
	if (__builtin_mul_overflow(value, unit, &value) || __builtin_add_overflow(*sum, value, sum))
		return error_set(err, ERR_RANGE, "an offset of time that does not fit in ns");
	return true;
}

/* Joins the lines of a text ("key: value" and the like) to one line. */
static char *one_line(struct ftrace_file *file, const uint8_t *data, size_t size)
{
	char *line = arena_strndup(file->trace->arena, (const char *)data,
				   strnlen((const char *)data, size));
	size_t len = strlen(line);

	while (len && strchr(" \n\t", line[len - 1]))
		line[--len] = 0;
	char *from = line;
	while (*from == '\n' || *from == ' ')
		from++;
	for (char *at = from; *at; at++)
		*at = *at == '\n' ? ';' : *at == '\t' ? ' ' : *at;
	return from;
}

/* sysname nodename release machine, as trace-cmd writes them */
static void read_uname(struct ftrace_file *file, const char *line)
{
	static const char *const names[] = {"sysname", "hostname", "kernel_release",
					    "architecture"};
	struct arena *arena = file->trace->arena;

	ftrace_env(file, "uname", line);
	for (size_t i = 0; i < 4 && *line; i++) {
		size_t len = strcspn(line, " ");
		const char *word = arena_strndup(arena, line, len);
		ftrace_env(file, names[i], word);
		if (i == 1)
			file->part->host = word;
		line += len + strspn(line + len, " ");
	}
}

const char *ftrace_active_clock(struct ftrace_file *file, const char *line)
{
	const char *from = strchr(line, '['), *to = from ? strchr(from, ']') : NULL;

	return to ? arena_strndup(file->trace->arena, from + 1, (size_t)(to - from - 1)) : NULL;
}

struct buffer *ftrace_add_buffer(struct ftrace_file *file, const char *name)
{
	struct buffer *buffer = mem_push(file->buffers, file->nbuffers, file->buffers_capacity);
	*buffer = (struct buffer){.name = arena_strdup(file->trace->arena, name),
				  .clock = "",
				  .page_bytes = file->page_bytes};
	return buffer;
}

bool ftrace_add_cpus(struct ftrace_file *file, struct buffer *buffer, uint32_t cpus,
		     struct error *err)
{
	if (cpus > CPUS_MAX || cpus > STREAMS_MAX - file->streams)
		return error_set(err, ERR_FORMAT, "%u CPUs are more than there can be", cpus);
	file->streams += cpus;
	buffer->cpus = arena_array(file->trace->arena, cpus, sizeof *buffer->cpus);
	buffer->ncpus = cpus;
	return true;
}

/* BUFFER has the offset of another table (version 6), or the table itself (version 7). */
static bool read_buffer(struct ftrace_file *file, struct cursor *in, bool sections,
			struct error *err)
{
	uint64_t at = option_number(file, in, 8);
	const char *name = text(in);

	if (in->failed)
		return error_set(err, ERR_FORMAT, "a buffer's option is cut short");
	struct buffer *buffer = ftrace_add_buffer(file, name);
	buffer->at = at;
	if (!sections)
		return true;
	buffer->clock = arena_strdup(file->trace->arena, text(in));
	buffer->page_bytes = (uint32_t)option_number(file, in, 4);
	uint32_t cpus = (uint32_t)option_number(file, in, 4);
	if (in->failed || cpus > (in->size - in->pos) / 20)
		return error_set(err, ERR_FORMAT, "the option of buffer \"%s\" is cut short", name);
	if (!ftrace_add_cpus(file, buffer, cpus, err))
		return error_while(err, "the option of buffer \"%s\"", name);
	for (uint32_t i = 0; i < buffer->ncpus; i++) {
		buffer->cpus[i].cpu = (uint32_t)option_number(file, in, 4);
		buffer->cpus[i].offset = option_number(file, in, 8);
		buffer->cpus[i].size = option_number(file, in, 8);
	}
	return true;
}

static int options_by_time(const void *a, const void *b)
{
	const struct shift_sample *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

/* Sorts samples by time, and keeps one of each time. */
static void order_samples(struct shift_cpu *cpu)
{
	uint32_t kept = 0;

	if (!cpu->count)
		return;
	qsort(cpu->samples, cpu->count, sizeof *cpu->samples, options_by_time);
	for (uint32_t i = 0; i < cpu->count; i++)
		if (!kept || cpu->samples[i].time != cpu->samples[kept - 1].time)
			cpu->samples[kept++] = cpu->samples[i];
	cpu->count = kept;
}

static void read_samples(struct ftrace_file *file, struct cursor *in, struct shift_cpu *cpu)
{
	cpu->count = (uint32_t)option_number(file, in, 4);
	if (in->failed || cpu->count > (in->size - in->pos) / 24) {
		in->failed = true;
		cpu->count = 0;
		return;
	}
	cpu->samples = arena_array(file->trace->arena, cpu->count, sizeof *cpu->samples);
	for (uint32_t i = 0; i < cpu->count; i++)
		cpu->samples[i].time = option_number(file, in, 8);
	for (uint32_t i = 0; i < cpu->count; i++)
		cpu->samples[i].offset = (int64_t)option_number(file, in, 8);
	for (uint32_t i = 0; i < cpu->count; i++)
		cpu->samples[i].scaling = (int64_t)option_number(file, in, 8);
}

/* Newer writers add, per CPU and sample, the number of fraction bits of the scaling. */
static bool read_fractions(struct ftrace_file *file, struct cursor *in, struct time_shift *shift)
{
	if (in->pos == in->size)
		return true;
	for (uint32_t i = 0; i < shift->ncpus; i++)
		for (uint32_t k = 0; k < shift->cpus[i].count; k++) {
			uint64_t bits = option_number(file, in, 8);
			if (in->failed || bits > 63)
				return false;
			shift->cpus[i].samples[k].fraction = (uint32_t)bits;
		}
	return true;
}

static bool read_time_shift(struct ftrace_file *file, struct cursor *in, struct error *err)
{
	struct time_shift shift = {0};
	char peer[32];

	snprintf(peer, sizeof peer, "0x%" PRIx64, option_number(file, in, 8));
	shift.flags = (uint32_t)option_number(file, in, 4);
	shift.ncpus = (uint32_t)option_number(file, in, 4);
	if (in->failed || shift.ncpus > (in->size - in->pos) / 4)
		return error_set(err, ERR_FORMAT, "the host's clock (TIME_SHIFT) is cut short");
	shift.cpus = arena_array(file->trace->arena, shift.ncpus, sizeof *shift.cpus);
	for (uint32_t i = 0; i < shift.ncpus && !in->failed; i++)
		read_samples(file, in, &shift.cpus[i]);
	if (in->failed || !read_fractions(file, in, &shift))
		return error_set(err, ERR_FORMAT, "the host's clock (TIME_SHIFT) is cut short");
	for (uint32_t i = 0; i < shift.ncpus; i++)
		order_samples(&shift.cpus[i]);
	file->shift = shift;
	ftrace_env(file, "host_trace_id", peer);
	return true;
}

/* One line per guest: "name id=0x... vcpu0=PID ...". */
static bool read_guest(struct ftrace_file *file, struct cursor *in, struct error *err)
{
	struct buf line = {0};
	const char *name = text(in);
	uint64_t id = option_number(file, in, 8);
	uint32_t cpus = (uint32_t)option_number(file, in, 4);

	if (in->failed || cpus > (in->size - in->pos) / 8)
		return error_set(err, ERR_FORMAT, "the option of guest \"%.40s\" is cut short",
				 name);
	buf_printf(&line, "%s id=0x%" PRIx64, name, id);
	for (uint32_t i = 0; i < cpus; i++) {
		uint64_t vcpu = option_number(file, in, 4);
		buf_printf(&line, " vcpu%" PRIu64 "=%" PRIu64, vcpu, option_number(file, in, 4));
	}
	ftrace_env(file, "guest", buf_text(&line));
	buf_release(&line);
	return true;
}

static bool read_tsc(struct ftrace_file *file, struct cursor *in, struct error *err)
{
	uint32_t mult = (uint32_t)option_number(file, in, 4),
		 shift = (uint32_t)option_number(file, in, 4);
	uint64_t offset = option_number(file, in, 8);
	char words[80];

	if (in->failed || shift > 95)
		return error_set(err, ERR_FORMAT,
				 "the conversion of cycles (TSC2NSEC) makes no "
				 "sense");
	file->tsc_mult = mult;
	file->tsc_shift = shift;
	snprintf(words, sizeof words, "mult=%u shift=%u offset=%" PRIu64, mult, shift, offset);
	ftrace_env(file, "tsc2nsec", words);
	return true;
}

static bool read_numbers(struct ftrace_file *file, unsigned id, struct cursor *in,
			 struct error *err)
{
	char words[32];

	if (id == OPTION_CPUCOUNT) {
		uint64_t cpus = option_number(file, in, 4);
		if (in->failed || cpus > CPUS_MAX)
			return error_set(err, ERR_FORMAT, "a count of CPUs that makes no sense");
		file->cpus = (uint32_t)cpus;
		file->has_cpus = true;
		return true;
	}
	uint64_t trace_id = option_number(file, in, 8);
	if (in->failed)
		return error_set(err, ERR_FORMAT, "the recording's id is cut short");
	snprintf(words, sizeof words, "0x%" PRIx64, trace_id);
	ftrace_env(file, "trace_id", words);
	return true;
}

static void read_procmaps(struct ftrace_file *file, const uint8_t *data)
{
	*mem_push(file->procmaps, file->nprocmaps, file->procmaps_capacity) =
		arena_strdup(file->trace->arena, (const char *)data);
}

static bool options_read_text(struct ftrace_file *file, unsigned id, const uint8_t *data,
			      size_t size, struct error *err)
{
	char *line = one_line(file, data, size);

	switch (id) {
	case OPTION_DATE:
		file->has_date = true;
		ftrace_env(file, "date", line);
		return read_offset(line, 1000, &file->date_ns, err);
	case OPTION_OFFSET:
		ftrace_env(file, "offset", line);
		return read_offset(line, 1, &file->offset_ns, err);
	case OPTION_CPUSTAT:
		ftrace_env(file, "cpustat", line);
		return true;
	case OPTION_TRACECLOCK:
		file->clock = ftrace_active_clock(file, line);
		file->clock_follows = true;
		return true;
	case OPTION_UNAME:
		read_uname(file, line);
		return true;
	case OPTION_HOOK:
		ftrace_env(file, "hook", line);
		return true;
	case OPTION_VERSION:
		ftrace_env(file, "trace_cmd_version", line);
		return true;
	case OPTION_PROCMAPS:
		read_procmaps(file, data);
		return true;
	default:
		return true;
	}
}

bool ftrace_option(struct ftrace_file *file, unsigned id, const uint8_t *data, size_t size,
		   struct error *err)
{
	struct cursor in = cursor_over(data, size);

	switch (id) {
	case OPTION_BUFFER:
		return read_buffer(file, &in, file->part->version[0] != '6', err);
	case OPTION_CPUCOUNT:
	case OPTION_TRACEID:
		return read_numbers(file, id, &in, err);
	case OPTION_TIME_SHIFT:
		return read_time_shift(file, &in, err);
	case OPTION_GUEST:
		return read_guest(file, &in, err);
	case OPTION_TSC2NSEC:
		return read_tsc(file, &in, err);
	default:
		return options_read_text(file, id, data, size, err);
	}
}
