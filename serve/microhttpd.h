/*
 * microhttpd.h - the functions of libmicrohttpd that are used, loaded when they are needed
 *
 * With GnuTLS behind it, linking it costs each start of a program 1.8 ms.
 */
#ifndef SERVE_MICROHTTPD_H
#define SERVE_MICROHTTPD_H

#include "engine/base/error.h"

#include <microhttpd.h>

struct microhttpd {
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_stop_daemon) *stop_daemon;
	__typeof__(MHD_run_wait) *run_wait;
	__typeof__(MHD_get_daemon_info) *daemon_info;
	__typeof__(MHD_lookup_connection_value) *lookup;
	__typeof__(MHD_suspend_connection) *suspend;
	__typeof__(MHD_resume_connection) *resume;
	__typeof__(MHD_create_response_from_fd64) *response_of_file;
	__typeof__(MHD_create_response_from_buffer) *response_of_buffer;
	__typeof__(MHD_create_response_from_buffer_with_free_callback) *response_of_owned;
	__typeof__(MHD_add_response_header) *add_header;
	__typeof__(MHD_queue_response) *queue_response;
	__typeof__(MHD_destroy_response) *destroy_response;
};

extern struct microhttpd http; /* once it is loaded */

/* By one thread, before there are servers. False: the library is not there. */
MUST_CHECK bool microhttpd_load(struct error *err);

#endif
