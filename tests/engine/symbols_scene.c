/* symbols_scene.c - see symbols_scene.h */
#include "tests/engine/symbols_scene.h"

#include "tests/harness.h"

#include <stdlib.h>
#include <unistd.h>

char scene_folder[] = "/tmp/yore-symbols-XXXXXX";
struct trace *scene_trace;

static const struct map_event *told;
static size_t ntold;

static int maps_probe(const struct probe *probe)
{
	return probe->is_folder ? 100 : 0;
}

static bool maps_open(struct trace *trace, const char *path, const char *settings,
		      enum source_mode mode, struct error *err);

static void maps_close(struct part *part)
{
	(void)part;
}

static bool maps_tell(const struct part *part, void (*each)(void *, const struct map_event *),
		      void *arg, struct error *err)
{
	(void)part;
	(void)err;
	for (size_t i = 0; i < ntold; i++)
		each(arg, &told[i]);
	return true;
}

static const struct reader_maps maps = {.all = maps_tell};

static const struct reader maps_reader = {.format = "maps",
					  .probe = maps_probe,
					  .open = maps_open,
					  .close = maps_close,
					  .maps = &maps};

static bool maps_open(struct trace *trace, const char *path, const char *settings,
		      enum source_mode mode, struct error *err)
{
	(void)settings;
	(void)mode;
	(void)err;
	trace_add_part(trace, &maps_reader, path);
	return true;
}

void tell(const struct map_event *events, size_t count)
{
	told = events;
	ntold = count;
}

enum { LINE_ROOM = 4096 };

/* Formats a command line for the shell, which changes to the folder first. */
__attribute__((format(printf, 2, 0))) static void format(char line[LINE_ROOM], const char *fmt,
							 va_list args)
{
	int n = snprintf(line, LINE_ROOM, "cd %s && ", scene_folder);

	vsnprintf(line + n, LINE_ROOM - (size_t)n, fmt, args);
}

bool scene_run(const char *fmt, ...)
{
	char line[LINE_ROOM];
	va_list args;

	va_start(args, fmt);
	format(line, fmt, args);
	va_end(args);
	return system(line) == 0;
}

FILE *scene_ask(const char *fmt, ...)
{
	char line[LINE_ROOM];
	va_list args;

	va_start(args, fmt);
	format(line, fmt, args);
	va_end(args);
	FILE *out = popen(line, "r");
	assert_non_null(out);
	return out;
}

void scene_write(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", scene_folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

int scene_setup(void **state)
{
	const char *path = scene_folder;
	struct trace_options options = {.paths = &path, .npaths = 1};
	struct error err;

	(void)state;
	if (!mkdtemp(scene_folder))
		return -1;
	setenv("HOME", scene_folder, 1);
	reader_register(&maps_reader);
	return trace_open(&options, &scene_trace, &err) ? 0 : -1;
}

int scene_teardown(void **state)
{
	(void)state;
	trace_close(scene_trace);
	return scene_run("rm -rf %s", scene_folder) ? 0 : -1;
}
