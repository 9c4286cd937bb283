/* api.c - see api.h */
#include "tests/lib/api.h"

#include <stdio.h>
#include <stdlib.h>

struct api api;

#ifdef API_DLOPEN
#include <dlfcn.h>

static void *library;

static void find(void **to, const char *name)
{
	*to = dlsym(library, name);
	if (!*to) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
}

#define API_FIND(name) find((void **)&api.name, "yore_" #name);

void api_fill(void)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/.libs/libyore.so.0", getenv("top_builddir"));
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	API_EACH(API_FIND)
}
#else
#define API_TAKE(name) api.name = yore_##name;

void api_fill(void)
{
	API_EACH(API_TAKE)
}
#endif
