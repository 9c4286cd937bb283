/* trace_facts.c - see trace_facts.h */
#include "convert/trace_facts.h"

#include <string.h>

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
