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
#define ROW(member, name) {&http.member, #name},
		MHD_FUNCTIONS(ROW)
#undef ROW
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
