/* microhttpd.c - see microhttpd.h */
#include "serve/microhttpd.h"

#include <dlfcn.h>
#include <string.h>

static const char library[] = "libmicrohttpd.so.12"; /* of 0.9.75, 1.0 and between */

struct microhttpd http;

bool microhttpd_load(struct error *err)
{
	const struct {
		void *to;
		const char *name;
	} functions[] = {
		{&http.start_daemon, "MHD_start_daemon"},
		{&http.stop_daemon, "MHD_stop_daemon"},
		{&http.run_wait, "MHD_run_wait"},
		{&http.daemon_info, "MHD_get_daemon_info"},
		{&http.lookup, "MHD_lookup_connection_value"},
		{&http.suspend, "MHD_suspend_connection"},
		{&http.resume, "MHD_resume_connection"},
		{&http.response_of_file, "MHD_create_response_from_fd64"},
		{&http.response_of_buffer, "MHD_create_response_from_buffer"},
		{&http.response_of_owned, "MHD_create_response_from_buffer_with_free_callback"},
		{&http.add_header, "MHD_add_response_header"},
		{&http.queue_response, "MHD_queue_response"},
		{&http.destroy_response, "MHD_destroy_response"},
	};
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL); /* it stays */

	if (!handle)
		return error_set(err, ERR_IO, "%s", dlerror());
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *found = dlsym(handle, functions[i].name);
		if (!found)
			return error_set(err, ERR_IO, "%s", dlerror());
		memcpy(functions[i].to, &found, sizeof found);
	}
	return true;
}
