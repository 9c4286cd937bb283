/*
 * curl.h - the functions of libcurl, loaded when the first URL is opened
 *
 * Linking it would make each start of a program 5 ms slower, for TLS and two dozen libraries.
 */
#ifndef REMOTE_CURL_H
#define REMOTE_CURL_H

#include "engine/base/error.h"

#include <curl/curl.h>

/* Member, and function in the library. */
#define CURL_FUNCTIONS(X)                                \
	X(global_init, curl_global_init)                 \
	X(easy_init, curl_easy_init)                     \
	X(easy_cleanup, curl_easy_cleanup)               \
	X(easy_setopt, curl_easy_setopt)                 \
	X(easy_getinfo, curl_easy_getinfo)               \
	X(easy_strerror, curl_easy_strerror)             \
	X(multi_init, curl_multi_init)                   \
	X(multi_cleanup, curl_multi_cleanup)             \
	X(multi_add_handle, curl_multi_add_handle)       \
	X(multi_remove_handle, curl_multi_remove_handle) \
	X(multi_perform, curl_multi_perform)             \
	X(multi_poll, curl_multi_poll)                   \
	X(multi_wakeup, curl_multi_wakeup)               \
	X(multi_info_read, curl_multi_info_read)         \
	X(slist_append, curl_slist_append)               \
	X(slist_free_all, curl_slist_free_all)           \
	X(url, curl_url)                                 \
	X(url_cleanup, curl_url_cleanup)                 \
	X(url_set, curl_url_set)                         \
	X(url_get, curl_url_get)                         \
	X(free, curl_free)

struct curl_functions {
#define MEMBER(member, name) __typeof__(name) *member;
	CURL_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Loads the library at the first call, from any thread; NULL: *err. */
const struct curl_functions *curl_load(struct error *err);

#endif
