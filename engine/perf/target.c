/*
 * target.c - did perf record CPUs or tasks?
 *
 *     source                        CPUs (-a, -C, --cgroup)       tasks (a command, -p, -t, -u)
 *     ID_INDEX, thread of an id     -1                            the thread it was opened on
 *     THREAD_MAP                    -1                            these threads
 *     attribute, enable_on_exec     not set                       set for a command
 *     command line                  -a, -C without the right one  -p, -t, -u, a command
 *
 * The first of these that the file has decides. attr.inherit does not help: perf sets it for CPUs,
 * too. tools/perf/util/{synthetic-events,evsel,target}.c. A hardware trace of tasks may come with
 * sideband events of all CPUs; then tracepoints decide before other events, since the rules of the
 * state use them.
 */
#include "engine/base/mem.h"
#include "engine/perf/perf_internal.h"

#include <stdlib.h>

static void perf_add_task(struct perf_part *part, int64_t tid)
{
	*mem_push(part->tasks, part->ntasks, part->tasks_capacity) = tid;
}

/* THREAD_MAP has {number of threads, {thread, 16 bytes of its name} ...}; thread -1: all. */
void perf_read_thread_map(struct perf_part *part, const uint8_t *bytes, uint32_t size)
{
	enum { ENTRIES_AT = 16, ENTRY = 24 };
	uint64_t n = size >= ENTRIES_AT ? get64(bytes + 8, part->swap) : 0;

	for (uint64_t i = 0; i < n && i < (size - ENTRIES_AT) / ENTRY; i++) {
		int64_t tid = (int64_t)get64(bytes + ENTRIES_AT + i * ENTRY, part->swap);

		part->map_of_cpus = part->map_of_cpus || tid < 0;
		part->map_of_tasks = part->map_of_tasks || tid >= 0;
		if (tid >= 0)
			perf_add_task(part, tid);
	}
}

static bool is_tracepoint(const struct perf_part *part, const struct perf_id *id)
{
	return id->attr < part->nattrs && part->attrs[id->attr]->type == 2;
}

static enum recording by_ids(const struct perf_part *part)
{
	enum recording all = RECORDING_UNKNOWN, tracepoints = RECORDING_UNKNOWN;

	for (size_t i = 0; i < part->nids; i++) {
		const struct perf_id *id = &part->ids[i];
		enum recording own = id->tid < 0 ? RECORDING_CPUS : RECORDING_TASKS;

		if (!id->has_tid)
			continue;
		all = own > all ? own : all;
		if (is_tracepoint(part, id) && own > tracepoints)
			tracepoints = own;
	}
	return tracepoints ? tracepoints : all;
}

static enum recording by_attributes(const struct perf_part *part)
{
	for (size_t i = 0; i < part->nattrs; i++)
		if (part->attrs[i]->flags & ATTR_ENABLE_ON_EXEC)
			return RECORDING_TASKS;
	return RECORDING_UNKNOWN;
}

/* Moves *line to its next word and returns the word's length; 0: the line ends. */
static size_t next_word(const char **line)
{
	*line += strspn(*line, " ");
	return strcspn(*line, " ");
}

static bool target_is_word(const char *word, size_t len, const char *text)
{
	return strlen(text) == len && !memcmp(word, text, len);
}

static bool begins_with(const char *word, size_t len, const char *text)
{
	return len >= strlen(text) && !memcmp(word, text, strlen(text));
}

static enum recording by_option(const char *word, size_t len)
{
	static const char *const tasks[] = {"--pid", "--tid", "--uid", "-p", "-t", "-u"};
	bool is_long = begins_with(word, len, "--");

	if (target_is_word(word, len, "--all-cpus") || (!is_long && begins_with(word, len, "-a")))
		return RECORDING_CPUS;
	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
		if (begins_with(word, len, tasks[i]))
			return RECORDING_TASKS;
	return RECORDING_UNKNOWN;
}

/* Reads `perf record ...` up to "--". It cannot tell values of options from a command. */
static enum recording by_command_line(const struct perf_part *part)
{
	const char *line = "";
	size_t len;

	for (size_t i = 0; i < part->nenv; i++)
		if (!strcmp(part->env[i].name, "cmdline") && part->env[i].text)
			line = part->env[i].text;
	len = next_word(&line);
	line += len;
	len = next_word(&line);
	if (!target_is_word(line, len, "record"))
		return RECORDING_UNKNOWN;
	for (line += len; (len = next_word(&line)) && !target_is_word(line, len, "--");
	     line += len) {
		enum recording found = by_option(line, len);

		if (found)
			return found;
	}
	return RECORDING_UNKNOWN;
}

static int target_by_number(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void order_tasks(struct perf_part *part)
{
	size_t n = 0;

	for (size_t i = 0; i < part->nids; i++)
		if (part->ids[i].has_tid && part->ids[i].tid >= 0)
			perf_add_task(part, part->ids[i].tid);
	if (part->ntasks)
		qsort(part->tasks, part->ntasks, sizeof *part->tasks, target_by_number);
	for (size_t i = 0; i < part->ntasks; i++)
		if (!n || part->tasks[n - 1] != part->tasks[i])
			part->tasks[n++] = part->tasks[i];
	part->ntasks = n;
}

void perf_find_recording(struct perf_part *part)
{
	enum recording found = by_ids(part);

	if (!found && (part->map_of_cpus || part->map_of_tasks))
		found = part->map_of_tasks ? RECORDING_TASKS : RECORDING_CPUS;
	if (!found)
		found = by_attributes(part);
	if (!found)
		found = by_command_line(part);
	order_tasks(part);
	part_set_recording(part->trace, part->part, found, part->tasks,
			   found == RECORDING_TASKS ? part->ntasks : 0);
}
