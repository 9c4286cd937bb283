/*
 * ftrace_maps.c - kernel symbols, and maps of processes (option PROCMAPS), as changes of address spaces
 *
 *     PROCMAPS   "PID COUNT NAME\n", then COUNT lines "START END FILE", all numbers hexadecimal
 */
#include "engine/base/mem.h"
#include "engine/ftrace/ftrace_internal.h"

#include <stdlib.h>
#include <string.h>

enum { LAST_SYMBOL_BYTES = 4096 };

typedef void map_taker(void *arg, const struct map_event *event);

static void kernel_symbols(const struct ftrace_file *file, map_taker *each, void *arg)
{
	const char *name, *next_name;
	uint64_t start, next;

	for (size_t i = 0; tracing_symbol_at(file->tracing, i, &start, &name); i++) {
		uint64_t len = LAST_SYMBOL_BYTES;
		for (size_t k = i + 1; tracing_symbol_at(file->tracing, k, &next, &next_name); k++)
			if (next > start) {
				len = next - start;
				break;
			}
		each(arg, &(struct map_event){.kind = MAP_KERNEL_SYMBOL,
					      .t = NSTIME_MIN,
					      .pid = -1,
					      .parent = -1,
					      .start = start,
					      .len = len,
					      .name = name});
	}
}

/* Parses "START END FILE" at *line, and moves to the next line; false: another form. */
static bool map_line(const char **line, char *name, size_t room, uint64_t *start, uint64_t *end)
{
	size_t len = strcspn(*line, "\n");
	char *at;

	*start = strtoull(*line, &at, 16);
	if (at == *line)
		return false;
	*end = strtoull(at, &at, 16);
	at += strspn(at, " ");
	size_t rest = at <= *line + len ? (size_t)(*line + len - at) : 0;
	if (!rest || *end <= *start)
		return false;
	rest = rest < room ? rest : room - 1;
	memcpy(name, at, rest);
	name[rest] = 0;
	*line += len + ((*line)[len] == '\n');
	return true;
}

/* trace-cmd writes PROCMAPS only of processes to which it narrowed the recording (-P, -F). */
void ftrace_find_recording(struct ftrace_file *file)
{
	int64_t *tasks = mem_new_array(file->nprocmaps, sizeof *tasks);
	size_t n = 0;
	char *end;

	for (size_t i = 0; i < file->nprocmaps; i++) {
		uint64_t pid = strtoull(file->procmaps[i], &end, 16);
		if (end != file->procmaps[i] && pid <= INT32_MAX)
			tasks[n++] = (int64_t)pid;
	}
	if (n)
		part_set_recording(file->trace, file->part, RECORDING_TASKS, tasks, n);
	mem_free(tasks);
}

static void process_maps(const char *text, map_taker *each, void *arg)
{
	char name[4096];
	uint64_t start, end;
	int64_t pid = (int64_t)strtoull(text, NULL, 16);
	const char *line = strchr(text, '\n');

	for (line = line ? line + 1 : ""; map_line(&line, name, sizeof name, &start, &end);)
		each(arg, &(struct map_event){.kind = MAP_ADD,
					      .t = NSTIME_MIN,
					      .pid = pid,
					      .parent = -1,
					      .start = start,
					      .len = end - start,
					      .name = name});
}

bool ftrace_maps(const struct part *part, map_taker *each, void *arg, struct error *err)
{
	const struct ftrace_file *file = part->priv;

	(void)err;
	kernel_symbols(file, each, arg);
	for (size_t i = 0; i < file->nprocmaps; i++)
		process_maps(file->procmaps[i], each, arg);
	return true;
}
