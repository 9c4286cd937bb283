/* curl.c - see curl.h */
#include "remote/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct curl_functions curl;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct error failure; /* ERR_NONE: the library is loaded */

static void *open_library(void)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL); /* it stays */
	return library;
}

static void remote_curl_load(void)
{
	const struct {
		void *to;
		const char *name;
	} functions[] = {
#define ROW(member, name) {&curl.member, #name},
		CURL_FUNCTIONS(ROW)
#undef ROW
	};
	void *library = open_library();

	if (!library) {
		error_set(&failure, ERR_IO, "traces far away need libcurl (libcurl4 on Debian): %s",
			  dlerror());
		return;
	}
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *found = dlsym(library, functions[i].name);

		if (!found) {
			error_set(&failure, ERR_IO, "%s", dlerror());
			return;
		}
		memcpy(functions[i].to, &found, sizeof found);
	}
	if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		error_set(&failure, ERR_IO, "libcurl cannot be started");
}

const struct curl_functions *curl_load(struct error *err)
{
	pthread_once(&once, remote_curl_load);
	if (failure.kind == ERR_NONE)
		return &curl;
	*err = failure;
	return NULL;
}
