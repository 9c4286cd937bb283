/*
 * microhttpd.h - the functions of libmicrohttpd that the server uses, loaded on demand
 *
 * Linking it, and GnuTLS with it, would make each start of a program 1.8 ms slower.
 */
#ifndef SERVE_MICROHTTPD_H
#define SERVE_MICROHTTPD_H

#include "engine/base/error.h"

#include <microhttpd.h>

/* Member, and function in the library. */
#define MHD_FUNCTIONS(X)                                                         \
	X(start_daemon, MHD_start_daemon)                                        \
	X(stop_daemon, MHD_stop_daemon)                                          \
	X(run_wait, MHD_run_wait)                                                \
	X(daemon_info, MHD_get_daemon_info)                                      \
	X(lookup, MHD_lookup_connection_value)                                   \
	X(suspend, MHD_suspend_connection)                                       \
	X(resume, MHD_resume_connection)                                         \
	X(response_of_file, MHD_create_response_from_fd64)                       \
	X(response_of_buffer, MHD_create_response_from_buffer)                   \
	X(response_of_owned, MHD_create_response_from_buffer_with_free_callback) \
	X(add_header, MHD_add_response_header)                                   \
	X(queue_response, MHD_queue_response)                                    \
	X(destroy_response, MHD_destroy_response)

struct microhttpd {
#define MEMBER(member, name) __typeof__(name) *member;
	MHD_FUNCTIONS(MEMBER)
#undef MEMBER
};

extern struct microhttpd http; /* valid after microhttpd_load() */

/* Loads the library; call it from one thread, before servers start. False: it is not installed. */
MUST_CHECK bool microhttpd_load(struct error *err);

#endif
