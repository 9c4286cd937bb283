/* curl.c - see curl.h */
#include "remote/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct curl_functions curl;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct error failure; /* its kind is ERR_NONE where the library is loaded */

static void *open_library(void)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL); /* it stays */
	return library;
}

static void load(void)
{
	const struct {
		void *to;
		const char *name;
	} functions[] = {
		{&curl.global_init, "curl_global_init"},
		{&curl.easy_init, "curl_easy_init"},
		{&curl.easy_cleanup, "curl_easy_cleanup"},
		{&curl.easy_setopt, "curl_easy_setopt"},
		{&curl.easy_getinfo, "curl_easy_getinfo"},
		{&curl.easy_strerror, "curl_easy_strerror"},
		{&curl.multi_init, "curl_multi_init"},
		{&curl.multi_cleanup, "curl_multi_cleanup"},
		{&curl.multi_add_handle, "curl_multi_add_handle"},
		{&curl.multi_remove_handle, "curl_multi_remove_handle"},
		{&curl.multi_perform, "curl_multi_perform"},
		{&curl.multi_poll, "curl_multi_poll"},
		{&curl.multi_wakeup, "curl_multi_wakeup"},
		{&curl.multi_info_read, "curl_multi_info_read"},
		{&curl.slist_append, "curl_slist_append"},
		{&curl.slist_free_all, "curl_slist_free_all"},
		{&curl.url, "curl_url"},
		{&curl.url_cleanup, "curl_url_cleanup"},
		{&curl.url_set, "curl_url_set"},
		{&curl.url_get, "curl_url_get"},
		{&curl.free, "curl_free"},
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
	pthread_once(&once, load);
	if (failure.kind == ERR_NONE)
		return &curl;
	*err = failure;
	return NULL;
}
