/* url.c - see url.h */
#include "live/url.h"

#include "engine/base/digits.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char usage[] = "net://HOST[:PORT]", usage_whole[] = "net://HOST[:PORT]/host/H/SESSION";

static const struct scheme {
	const char *text;
	int family;
} schemes[] = {{"net://", AF_UNSPEC}, {"net4://", AF_INET}, {"net6://", AF_INET6}};

static const struct scheme *scheme_of(const char *word)
{
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
		if (strncmp(word, schemes[i].text, strlen(schemes[i].text)) == 0)
			return &schemes[i];
	return NULL;
}

/* Copies [from, end) to an array of `room` bytes; false: it is empty or does not fit. */
static bool copy_part(const char *from, const char *end, char *out, size_t room)
{
	size_t len = (size_t)(end - from);

	if (!len || len >= room)
		return false;
	memcpy(out, from, len);
	out[len] = 0;
	return true;
}

/* Parses [from, end) as a port. */
static bool take_port(const char *from, const char *end, struct live_url *out)
{
	const char *at = from;
	uint64_t number = decimal_take(&at, end);

	return at == end && at != from && number > 0 && number < 65536 &&
	       copy_part(from, end, out->port, sizeof out->port);
}

/* Parses HOST[:PORT] or [ADDRESS][:PORT]. */
static bool take_place(const char *from, const char *end, struct live_url *out)
{
	const char *colon;

	if (*from == '[') {
		const char *close = memchr(from, ']', (size_t)(end - from));
		if (!close || !copy_part(from + 1, close, out->host, sizeof out->host))
			return false;
		return close + 1 == end || (close[1] == ':' && take_port(close + 2, end, out));
	}
	colon = memchr(from, ':', (size_t)(end - from));
	return copy_part(from, colon ? colon : end, out->host, sizeof out->host) &&
	       (!colon || take_port(colon + 1, end, out));
}

/* Parses /host/H/SESSION, with or without a final '/'. */
static bool take_session(const char *from, struct live_url *out)
{
	static const char head[] = "/host/";
	const char *slash, *end = from + strlen(from);

	if (strncmp(from, head, sizeof head - 1) != 0)
		return false;
	from += sizeof head - 1;
	slash = strchr(from, '/');
	if (!slash || !copy_part(from, slash, out->session_host, sizeof out->session_host))
		return false;
	if (end > slash + 1 && end[-1] == '/')
		end--;
	return !memchr(slash + 1, '/', (size_t)(end - slash - 1)) &&
	       copy_part(slash + 1, end, out->session, sizeof out->session);
}

bool live_url_parse(const char *word, bool whole, struct live_url *out, struct error *err)
{
	const struct scheme *scheme = scheme_of(word);

	*out = (struct live_url){.port = "5344"};
	if (!scheme)
		return error_set(err, ERR_QUERY, "%s: no URL of a relay: it is written %s", word,
				 whole ? usage_whole : usage);
	out->family = scheme->family;
	const char *from = word + strlen(scheme->text), *end = from + strcspn(from, "/");
	if (!take_place(from, end, out))
		return error_set(err, ERR_QUERY,
				 "%s: HOST[:PORT] of the URL cannot be read: it is written %s",
				 word, whole ? usage_whole : usage);
	if (!whole && *end && end[1])
		return error_set(err, ERR_QUERY, "%s: it names more than a relay: it is written %s",
				 word, usage);
	if (whole && !take_session(end, out))
		return error_set(err, ERR_QUERY,
				 "%s: the URL names no session: it is written %s, and "
				 "'yore sessions' lists them",
				 word, usage_whole);
	return true;
}

const char *live_url_place(const struct live_url *url, char out[LIVE_PLACE_MAX])
{
	bool brackets = strchr(url->host, ':') != NULL;

	snprintf(out, LIVE_PLACE_MAX, "%s%s%s:%s", brackets ? "[" : "", url->host,
		 brackets ? "]" : "", url->port);
	return out;
}
