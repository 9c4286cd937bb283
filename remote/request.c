/* request.c - see request.h */
#include "remote/request.h"

#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "remote/curl.h"
#include "remote/remote.h"
#include "remote/waiting.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	AT_ONCE = 128, /* see docs/remote.md */
	TRIES = 4,
	AGAIN_MS = 100, /* before the second try; doubled for each further one */
	REDIRECTIONS = 5,
	CONNECT_MS = 10000,
	SILENT_S = 10, /* seconds without a byte end a transfer */
	IDLE_MS = 1000
};

static struct {
	pthread_mutex_t lock;
	bool started;
	struct request *first, **last; /* the queue of requests that wait */
	const struct curl_functions *curl;
	CURLM *multi;
	_Atomic uint64_t requests, bytes;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &queue.first};

void remote_counts(struct remote_counts *out)
{
	*out = (struct remote_counts){queue.requests, queue.bytes};
}

void request_release(struct request *request)
{
	buf_release(&request->url);
	buf_release(&request->shown);
	buf_release(&request->body);
	buf_release(&request->tag);
}

/* The URL for messages, without its query, which may be a signature. */
static const char *request_shown(struct request *request)
{
	const char *url = buf_text(&request->url);

	buf_clear(&request->shown);
	buf_add(&request->shown, url, strcspn(url, "?"));
	return buf_text(&request->shown);
}

/* What the server says ---------------------------------------------------------------------------
 */

/* The value of a header line, if it has this name; *len: without the line's end. */
static const char *request_value_of(const char *line, size_t size, const char *name, size_t *len)
{
	size_t n = strlen(name);

	if (size <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
		return NULL;
	const char *at = line + n + 1, *end = line + size;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (end > at && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
		end--;
	*len = (size_t)(end - at);
	return at;
}

/* "bytes 0-99/1000", "bytes 0-99" with a star for an unknown size, or a star and a size. RFC
 * 9110, 14.4. */
static void take_range(struct request *request, const char *value, size_t len)
{
	char text[80];
	unsigned long long first, last, total;

	if (len >= sizeof text)
		return;
	memcpy(text, value, len);
	text[len] = 0;
	if (sscanf(text, "bytes %llu-%llu/%llu", &first, &last, &total) == 3 && first <= last &&
	    last < total) {
		request->has_range = true;
		request->got_first = first;
		request->got_last = last;
		request->total = total;
	} else if (sscanf(text, "bytes */%llu", &total) == 1) {
		request->total = total;
	}
}

static size_t take_header(char *line, size_t unit, size_t size, void *arg)
{
	struct request *request = arg;
	const char *value;
	size_t len;

	if (size >= 5 && !memcmp(line, "HTTP/", 5)) { /* another reply begins */
		buf_clear(&request->tag);
		request->has_range = false;
		request->total = UINT64_MAX;
	} else if ((value = request_value_of(line, size, "ETag", &len))) {
		buf_clear(&request->tag);
		buf_add(&request->tag, value, len);
	} else if ((value = request_value_of(line, size, "Last-Modified", &len)) &&
		   !request->tag.len) {
		buf_add(&request->tag, value, len);
	} else if ((value = request_value_of(line, size, "Content-Range", &len))) {
		take_range(request, value, len);
	}
	return unit * size;
}

/*
 * Stores bytes of the body. More than requested end the transfer: servers without ranges send the
 * whole file.
 */
static size_t take_body(char *bytes, size_t unit, size_t size, void *arg)
{
	struct request *request = arg;
	size_t most = request->ranged ? (size_t)request->count : request->most;

	if (size > most - request->body.len)
		return 0;
	buf_add(&request->body, bytes, size);
	return unit * size;
}

/* Judging an answer ------------------------------------------------------------------------------
 */

enum verdict { GOOD, AGAIN, REDIRECTED, BAD };

static bool may_pass(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_CONNECT:
	case CURLE_PARTIAL_FILE:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return true;
	default:
		return false;
	}
}

static enum verdict bad(struct request *request, const char *why)
{
	error_set(&request->err, ERR_IO, "%s: %s", request_shown(request), why);
	return BAD;
}

static enum verdict judge_status(struct request *request, long status)
{
	const char *text = request_shown(request);

	switch (status) {
	case 404:
	case 410:
		request->absent = true;
		return bad(request, "the server has no such file (404)");
	case 401:
	case 403:
		error_set(&request->err, ERR_IO,
			  "%s: the server refuses it (%ld): credentials come from %s", text, status,
			  request->s3 ? "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
				      : "YORE_HTTP_TOKEN, or the netrc file that YORE_NETRC names");
		return BAD;
	case 416:
		return bad(request, "it ends before the bytes that are asked for (416): the file "
				    "was changed");
	case 408:
	case 429:
		error_set(&request->err, ERR_IO, "%s: the server says %ld", text, status);
		return AGAIN;
	default:
		error_set(&request->err, ERR_IO, "%s: the server says %ld", text, status);
		return status >= 500 ? AGAIN : BAD;
	}
}

/* Checks that a 206 has exactly the requested bytes. */
static enum verdict judge_part(struct request *request)
{
	uint64_t count = request->count;

	if (!request->has_range || request->got_first != request->first)
		return bad(request, "the server gives other bytes than those that were asked for");
	if (request->shorter && request->total - request->first < count)
		count = request->total - request->first;
	if (request->got_last - request->got_first + 1 != count)
		return bad(request, "the server gives fewer bytes than were asked for");
	if (request->body.len == count)
		return GOOD;
	bad(request, "the answer is cut short");
	return AGAIN;
}

static enum verdict request_judge(struct request *request, CURLcode code)
{
	long status = 0;

	queue.curl->easy_getinfo(request->handle, CURLINFO_RESPONSE_CODE, &status);
	if (request->ranged && status == 200)
		return bad(request,
			   "the server sends the whole file where a part was asked for: it "
			   "has no ranges, so fetch the file instead");
	if (code == CURLE_WRITE_ERROR)
		return bad(request, "the server sends more than was asked for");
	if (code != CURLE_OK) {
		const char *why = *request->text ? request->text : queue.curl->easy_strerror(code);
		bad(request, why);
		return may_pass(code) ? AGAIN : BAD;
	}
	if (status >= 300 && status < 400)
		return REDIRECTED;
	if (request->ranged && status == 206)
		return judge_part(request);
	if (request->ranged && request->shorter && status == 416 && request->total == 0)
		return GOOD;
	if (!request->ranged && status == 200) {
		curl_off_t size = -1;
		queue.curl->easy_getinfo(request->handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
					 &size);
		request->total = size < 0 ? UINT64_MAX : (uint64_t)size;
		return GOOD;
	}
	return judge_status(request, status);
}

/* Redirections -----------------------------------------------------------------------------------
 */

static char *request_part_of(const struct curl_functions *curl, CURLU *url, CURLUPart part)
{
	char *text = NULL;

	return curl->url_get(url, part, &text, CURLU_DEFAULT_PORT) == CURLUE_OK ? text : NULL;
}

static bool same_part(const struct curl_functions *curl, CURLU *a, CURLU *b, CURLUPart part)
{
	char *one = request_part_of(curl, a, part), *other = request_part_of(curl, b, part);
	bool same = one && other && !strcasecmp(one, other);

	curl->free(one);
	curl->free(other);
	return same;
}

/* Do the URLs have the same scheme, host and port? */
static bool same_server(const struct curl_functions *curl, const char *from, const char *to)
{
	CURLU *a = curl->url(), *b = curl->url();
	bool same = a && b && curl->url_set(a, CURLUPART_URL, from, 0) == CURLUE_OK &&
		    curl->url_set(b, CURLUPART_URL, to, 0) == CURLUE_OK &&
		    same_part(curl, a, b, CURLUPART_SCHEME) &&
		    same_part(curl, a, b, CURLUPART_HOST) && same_part(curl, a, b, CURLUPART_PORT);

	curl->url_cleanup(a);
	curl->url_cleanup(b);
	return same;
}

/* Sets the request's URL to the redirection's target. */
static enum verdict redirect(struct request *request)
{
	char *to = NULL;

	queue.curl->easy_getinfo(request->handle, CURLINFO_REDIRECT_URL, &to);
	if (!to)
		return bad(request, "the server redirects, and does not say where to");
	if (request->s3 || !same_server(queue.curl, buf_text(&request->url), to))
		return bad(request, "the server redirects to another one, which is not followed: "
				    "name that URL instead");
	if (++request->redirections > REDIRECTIONS)
		return bad(request, "the server redirects again and again");
	buf_clear(&request->url);
	buf_add_text(&request->url, to);
	return AGAIN;
}

/* Transfers --------------------------------------------------------------------------------------
 */

static const char *environment(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? text : NULL;
}

static void sign(CURL *handle, struct request *request)
{
	const struct curl_functions *curl = queue.curl;
	const char *key = environment("AWS_ACCESS_KEY_ID"), *region = environment("AWS_REGION"),
		   *secret = environment("AWS_SECRET_ACCESS_KEY"),
		   *token = environment("AWS_SESSION_TOKEN");
	struct buf text = {0};

	if (!key || !secret)
		return; /* unsigned, for public buckets */
	buf_printf(&text, "aws:amz:%s:s3", region ? region : "us-east-1");
	curl->easy_setopt(handle, CURLOPT_AWS_SIGV4, buf_text(&text));
	curl->easy_setopt(handle, CURLOPT_USERNAME, key);
	curl->easy_setopt(handle, CURLOPT_PASSWORD, secret);
	/* libcurl 7.88 signs the body's digest and does not send it */
	request->headers = curl->slist_append(
		NULL, "x-amz-content-sha256: "
		      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	if (token) {
		buf_clear(&text);
		buf_printf(&text, "x-amz-security-token: %s", token);
		request->headers = curl->slist_append(request->headers, buf_text(&text));
	}
	curl->easy_setopt(handle, CURLOPT_HTTPHEADER, request->headers);
	buf_release(&text);
}

static void add_credentials(CURL *handle, struct request *request)
{
	const struct curl_functions *curl = queue.curl;
	const char *token = environment("YORE_HTTP_TOKEN"), *netrc = environment("YORE_NETRC");

	if (request->s3) {
		sign(handle, request);
	} else if (token) {
		curl->easy_setopt(handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		curl->easy_setopt(handle, CURLOPT_XOAUTH2_BEARER, token);
	} else if (netrc) {
		curl->easy_setopt(handle, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
		curl->easy_setopt(handle, CURLOPT_NETRC_FILE, netrc);
	}
}

static void set_range(CURL *handle, const struct request *request)
{
	struct buf text = {0};

	buf_printf(&text, "%llu-%llu", (unsigned long long)request->first,
		   (unsigned long long)(request->first + request->count - 1));
	queue.curl->easy_setopt(handle, CURLOPT_RANGE, buf_text(&text));
	buf_release(&text);
}

/* libcurl calls it about once a second; not 0 ends the transfer. */
static int request_look_up(void *arg, curl_off_t all, curl_off_t now, curl_off_t up,
			   curl_off_t sent)
{
	(void)arg, (void)all, (void)now, (void)up, (void)sent;
	return waiting_is_stopped();
}

static bool begin_transfer(struct request *request)
{
	const struct curl_functions *curl = queue.curl;
	CURL *handle = curl->easy_init();

	if (!handle)
		return false;
	buf_clear(&request->body);
	buf_clear(&request->tag);
	request->handle = handle;
	request->headers = NULL;
	*request->text = 0;
	curl->easy_setopt(handle, CURLOPT_URL, buf_text(&request->url));
	curl->easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
	curl->easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl->easy_setopt(handle, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
	curl->easy_setopt(handle, CURLOPT_USERAGENT, "yore/" YORE_VERSION);
	curl->easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl->easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl->easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, (long)SILENT_S);
	curl->easy_setopt(handle, CURLOPT_ERRORBUFFER, request->text);
	curl->easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
	curl->easy_setopt(handle, CURLOPT_HEADERDATA, request);
	curl->easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
	curl->easy_setopt(handle, CURLOPT_WRITEDATA, request);
	curl->easy_setopt(handle, CURLOPT_PRIVATE, request);
	curl->easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, request_look_up);
	curl->easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
	add_credentials(handle, request);
	if (request->head)
		curl->easy_setopt(handle, CURLOPT_NOBODY, 1L);
	if (request->ranged)
		set_range(handle, request);
	atomic_fetch_add(&queue.requests, 1);
	return curl->multi_add_handle(queue.multi, handle) == CURLM_OK;
}

static void end_transfer(struct request *request)
{
	if (!request->handle)
		return;
	queue.curl->multi_remove_handle(queue.multi, request->handle);
	queue.curl->easy_cleanup(request->handle);
	queue.curl->slist_free_all(request->headers);
	request->handle = request->headers = NULL;
}

static void enqueue(struct request *request)
{
	pthread_mutex_lock(&queue.lock);
	request->next = NULL;
	*queue.last = request;
	queue.last = &request->next;
	pthread_mutex_unlock(&queue.lock);
}

/* Removes the first due request from the queue; NULL: none. */
static struct request *dequeue(void)
{
	int64_t now = clock_ms();
	struct request **at = &queue.first, *found;

	pthread_mutex_lock(&queue.lock);
	while (*at && (*at)->due > now)
		at = &(*at)->next;
	found = *at;
	if (found) {
		*at = found->next;
		if (!found->next)
			queue.last = at;
	}
	pthread_mutex_unlock(&queue.lock);
	return found;
}

static void finish_request(struct request *request, enum verdict verdict)
{
	bool redirected = verdict == REDIRECTED;

	if (redirected)
		verdict = redirect(request);
	end_transfer(request);
	atomic_fetch_add(&queue.bytes, request->body.len);
	request->tries += !redirected;
	if (verdict == AGAIN && request->tries < TRIES) {
		request->due = redirected ? 0 : clock_ms() + (AGAIN_MS << (request->tries - 1));
		enqueue(request);
		return;
	}
	if (verdict == AGAIN)
		error_while(&request->err, "%u times", request->tries);
	request->good = verdict == GOOD;
	request->done(request);
}

static unsigned start_due(unsigned running)
{
	struct request *request;

	while (running < AT_ONCE && (request = dequeue())) {
		if (begin_transfer(request)) {
			running++;
			continue;
		}
		bad(request, "no transfer can be started");
		finish_request(request, BAD);
	}
	return running;
}

static unsigned take_finished(unsigned running)
{
	CURLMsg *message;
	int left;

	while ((message = queue.curl->multi_info_read(queue.multi, &left))) {
		struct request *request;

		if (message->msg != CURLMSG_DONE)
			continue;
		CURLcode code = message->data.result;
		queue.curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&request);
		finish_request(request, request_judge(request, code));
		running--;
	}
	return running;
}

/*
 * The thread of requests. It runs until the process ends: requests outlive the traces that use
 * them.
 */
static void *run_requests(void *arg)
{
	unsigned running = 0;

	(void)arg;
	for (;;) {
		int active;

		running = start_due(running);
		(void)queue.curl->multi_perform(queue.multi, &active);
		running = take_finished(running);
		pthread_mutex_lock(&queue.lock);
		bool waits = queue.first != NULL;
		pthread_mutex_unlock(&queue.lock);
		(void)queue.curl->multi_poll(queue.multi, NULL, 0,
					     waits && running < AT_ONCE ? AGAIN_MS / 4 : IDLE_MS,
					     NULL);
	}
	return NULL;
}

static bool start_thread(struct error *err)
{
	pthread_attr_t attributes;
	pthread_t thread;

	queue.curl = curl_load(err);
	if (!queue.curl)
		return false;
	queue.multi = queue.multi ? queue.multi : queue.curl->multi_init();
	if (!queue.multi)
		return error_set(err, ERR_IO, "libcurl cannot be started");
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int failed = pthread_create(&thread, &attributes, run_requests, NULL);
	pthread_attr_destroy(&attributes);
	return !failed || error_set(err, ERR_IO, "no thread for requests: %s", strerror(failed));
}

bool request_start(struct request *request, struct error *err)
{
	pthread_mutex_lock(&queue.lock);
	bool good = queue.started || start_thread(err);
	queue.started = good;
	pthread_mutex_unlock(&queue.lock);
	if (!good)
		return false;
	enqueue(request);
	(void)queue.curl->multi_wakeup(queue.multi);
	return true;
}

/* Waiting for several ----------------------------------------------------------------------------
 */

struct together {
	struct waiting waiting;
	size_t left;
};

static void one_done(struct request *request)
{
	struct together *together = request->arg;

	pthread_mutex_lock(&together->waiting.lock);
	together->left--;
	pthread_cond_broadcast(&together->waiting.changed);
	pthread_mutex_unlock(&together->waiting.lock);
}

bool requests_run(struct request *requests, size_t count, struct error *err)
{
	struct together together = {.left = 0};
	bool good = true, stopped = false;

	waiting_init(&together.waiting);
	for (size_t i = 0; i < count && good; i++) {
		requests[i].done = one_done;
		requests[i].arg = &together;
		pthread_mutex_lock(&together.waiting.lock);
		together.left++;
		pthread_mutex_unlock(&together.waiting.lock);
		good = request_start(&requests[i], err);
		if (!good) {
			pthread_mutex_lock(&together.waiting.lock);
			together.left--;
			pthread_mutex_unlock(&together.waiting.lock);
		}
	}
	pthread_mutex_lock(&together.waiting.lock);
	while (together.left && !stopped)
		stopped = !waiting_wait(&together.waiting, err);
	while (together.left) /* wait also then: requests are borrowed until done() */
		waiting_pause(&together.waiting);
	pthread_mutex_unlock(&together.waiting.lock);
	waiting_release(&together.waiting);
	for (size_t i = 0; i < count && good && !stopped; i++)
		if (!requests[i].good) {
			*err = requests[i].err;
			return false;
		}
	return good && !stopped;
}
