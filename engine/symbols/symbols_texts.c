/*
 * symbols_texts.c - kernel functions in the texts of events
 *
 * A print format can name functions (%ps), of which perf.data has no symbols. They are looked up
 * here, per part, by any thread. Texts have no time, so the lookup uses the maps of the recording's
 * begin, and nothing behind the first sample needs to be read. Maps and kallsyms are read at the
 * first lookup.
 */
#include "engine/base/mem.h"
#include "engine/symbols/symbols_internal.h"

#include <pthread.h>

struct text_names {
	struct part *part;
	pthread_mutex_t lock;
	struct objects objects;
	struct kernel *kernel; /* NULL until the first lookup */
};

static void tell_kernel_map(void *arg, const struct map_event *event)
{
	if (event->kind == MAP_KERNEL_SYMBOL || event->pid == -1)
		kernel_tell(arg, event);
}

static struct kernel *symbols_texts_gather(struct text_names *names)
{
	const struct reader_maps *maps = names->part->reader->maps;
	struct kernel *kernel = kernel_new(names->part, &names->objects);
	struct error ignored; /* decoding the events reports it */

	if (maps && maps->first)
		MAY_FAIL(maps->first(names->part, tell_kernel_map, kernel, &ignored));
	return kernel;
}

static const char *kernel_name(void *arg, uint64_t address, uint64_t *start)
{
	struct text_names *names = arg;
	struct symbol symbol = {0};

	pthread_mutex_lock(&names->lock);
	if (!names->kernel)
		names->kernel = symbols_texts_gather(names);
	bool found = kernel_find(names->kernel, NSTIME_MAX, address, &symbol) && symbol.function;
	pthread_mutex_unlock(&names->lock);
	if (!found)
		return NULL;
	*start = address - symbol.offset;
	return symbol.function;
}

struct text_names *text_names_new(struct part *part, const char *cache)
{
	const struct reader_text *text = part->reader->text;
	struct text_names *names;

	if (!text || !text->set_resolver)
		return NULL;
	names = mem_new(sizeof *names);
	names->part = part;
	names->objects.arena = arena_new();
	names->objects.cache = cache;
	pthread_mutex_init(&names->lock, NULL);
	text->set_resolver(part, kernel_name, names);
	return names;
}

void text_names_free(struct text_names *names)
{
	if (!names)
		return;
	names->part->reader->text->set_resolver(names->part, NULL, NULL);
	kernel_free(names->kernel);
	objects_release(&names->objects);
	arena_free(names->objects.arena);
	pthread_mutex_destroy(&names->lock);
	mem_free(names);
}
