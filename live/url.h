/* url.h - parses the address of a relay and a session: net://HOST[:PORT][/host/H/SESSION] */
#ifndef LIVE_URL_H
#define LIVE_URL_H

#include "engine/base/error.h"

enum { LIVE_HOST_MAX = 256, LIVE_PORT_MAX = 8, LIVE_NAME_MAX = 256 };

struct live_url {
	char host[LIVE_HOST_MAX]; /* without the brackets of an IPv6 address */
	char port[LIVE_PORT_MAX]; /* "5344" where the URL has none */
	int family;               /* AF_INET of net4://, AF_INET6 of net6://, else AF_UNSPEC */
	char session_host[LIVE_NAME_MAX]; /* H; empty: the URL names no session */
	char session[LIVE_NAME_MAX];
};

/* `whole`: the URL must have a session; else it must not. False: ERR_QUERY says what is wrong. */
MUST_CHECK bool live_url_parse(const char *word, bool whole, struct live_url *out,
			       struct error *err);
/* Writes HOST:PORT, with brackets around IPv6 addresses; returns `out`. */
enum { LIVE_PLACE_MAX = LIVE_HOST_MAX + LIVE_PORT_MAX + 4 };
const char *live_url_place(const struct live_url *url, char out[LIVE_PLACE_MAX]);

#endif
