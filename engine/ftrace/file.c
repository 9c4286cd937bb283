/*
 * file.c - for files of all versions: numbers and names at an offset, the environment, clocks, the
 * digest of the description
 */
#include "engine/ftrace/ftrace_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { NAME_MAX_BYTES = 4096, ENV_MAX = 4096 };

/* ---- reading ---- */

bool ftrace_cut_short(const struct ftrace_file *file, const char *what, uint64_t at,
		      struct error *err)
{
	return error_set(err, ERR_FORMAT,
			 "offset %" PRIu64 ": %s: cut short (the file has %" PRIu64 " bytes)", at,
			 what, source_size(file->source));
}

bool ftrace_reserve(struct ftrace_file *file, uint64_t bytes, struct error *err)
{
	uint64_t left = source_size(file->source) - file->reserved;

	if (bytes > left)
		return error_set(err, ERR_FORMAT,
				 "bytes of the file that are said to be several things");
	file->reserved += bytes;
	return true;
}

bool ftrace_peek(const struct ftrace_file *file, uint64_t at, void *to, size_t bytes,
		 struct error *err)
{
	uint64_t size = source_size(file->source);

	if (at > size || bytes > size - at)
		return error_set(err, ERR_FORMAT,
				 "offset %" PRIu64 " lies beyond the end of the file (%" PRIu64
				 " bytes)",
				 at, size);
	return source_peek(file->source, at, to, bytes, err);
}

bool ftrace_read_number(struct ftrace_file *file, uint64_t *at, unsigned bytes, uint64_t *out,
			struct error *err)
{
	uint8_t data[8];

	if (!ftrace_peek(file, *at, data, bytes, err))
		return false;
	*out = ftrace_load(data, bytes, file->big_endian);
	*at += bytes;
	return true;
}

char *ftrace_read_name(struct ftrace_file *file, uint64_t *at, struct error *err)
{
	char name[NAME_MAX_BYTES];
	uint64_t left = source_size(file->source) - *at;

	for (size_t n = 64; *at <= source_size(file->source); n = sizeof name) {
		size_t most = left < n ? (size_t)left : n;
		if (!source_peek(file->source, *at, name, most, err))
			return NULL;
		const char *end = memchr(name, 0, most);
		if (end) {
			*at += (uint64_t)(end - name) + 1;
			return arena_strdup(file->trace->arena, name);
		}
		if (n == sizeof name || most == left)
			break;
	}
	ftrace_cut_short(file, "a name", *at, err);
	return NULL;
}

/* ---- description ---- */

void ftrace_digest(struct ftrace_file *file, const void *bytes, size_t count)
{
	XXH3_128bits_update(file->digest, bytes, count);
}

/* Several options may have one name; the later ones get a number, "cpustat.2". */
static const char *free_name(const struct ftrace_file *file, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = file->nenv; i-- > 0;) {
		const char *taken = file->env[i].name;
		if (strncmp(taken, name, len) != 0 || (taken[len] && taken[len] != '.'))
			continue;
		unsigned long number = taken[len] ? strtoul(taken + len + 1, NULL, 10) : 1;
		return arena_printf(file->trace->arena, "%s.%lu", name, number + 1);
	}
	return arena_strdup(file->trace->arena, name);
}

void ftrace_env(struct ftrace_file *file, const char *name, const char *text)
{
	if (file->nenv == ENV_MAX)
		return;
	const char *own = free_name(file, name);
	*mem_push(file->env, file->nenv, file->env_capacity) =
		(struct env_entry){.name = own, .text = arena_strdup(file->trace->arena, text)};
}

/* Describes the unit of stamps of the kernel's clock `name` (Documentation/trace). */
static const char *clock_description(const struct ftrace_file *file, const char *name)
{
	if (file->tsc_mult)
		return "cycles, converted to ns as the file says";
	if (!strcmp(name, "counter"))
		return "a plain counter: one step, not one ns, per tick";
	if (!strcmp(name, "x86-tsc"))
		return "cycles of the processor, shown as if they were ns";
	if (!strcmp(name, "uptime"))
		return "ns in steps of a timer tick";
	return *name ? "ns" : "";
}

/* Names the counter behind a trace_clock; NULL: unknown, or the file's options change its times. */
static const char *clock_counter(const struct ftrace_file *file, const char *name)
{
	static const char *const known[][2] = {
		{"local", "sched_clock"},      {"global", "sched_clock"}, {"perf", "sched_clock"},
		{"mono", "monotonic"},         {"boot", "boottime"},      {"tai", "tai"},
		{"mono_raw", "monotonic_raw"}, {"x86-tsc", "tsc"},
	};

	if (file->offset_ns || file->tsc_mult || file->shift.ncpus)
		return NULL;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(name, known[i][0]))
			return known[i][1];
	return NULL;
}

int32_t ftrace_add_clock(struct ftrace_file *file, const char *name)
{
	int64_t sum;

	if (__builtin_add_overflow(file->date_ns, file->offset_ns, &sum))
		sum = 0;
	struct clock clock = {
		.name = *name ? name : "trace_clock",
		.description = clock_description(file, name),
		.counter = clock_counter(file, name),
		.epoch = file->has_date,
		.precision = 1,
		.base = {.frequency = 1000000000,
			 .offset_s = sum / 1000000000,
			 .offset_cycles = sum % 1000000000},
	};
	return trace_add_clock(file->trace, &clock);
}
