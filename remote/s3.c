/* s3.c - see s3.h */
#include "remote/s3.h"

#include "engine/base/mem.h"
#include "remote/paths.h"
#include "remote/request.h"

#include <errno.h>
#include <expat.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGE_MOST = 16 << 20,
	FILES_MOST = 1000000,
	PAGES_MOST = 100000,
	TEXT_MOST = 4096,
	DEPTH = 8
};

static const char SCHEME[] = "s3://";

bool s3_is(const char *path)
{
	return !strncmp(path, SCHEME, strlen(SCHEME));
}

static void add_endpoint(struct buf *out)
{
	const char *endpoint = getenv("AWS_ENDPOINT_URL"), *region = getenv("AWS_REGION");

	if (endpoint && *endpoint)
		buf_add(out, endpoint, strlen(endpoint) - (endpoint[strlen(endpoint) - 1] == '/'));
	else
		buf_printf(out, "https://s3.%s.amazonaws.com",
			   region && *region ? region : "us-east-1");
	buf_add_char(out, '/');
}

void s3_add_url(struct buf *out, const char *path)
{
	add_endpoint(out);
	path_add_encoded(out, path + strlen(SCHEME));
}

/* Reading a page ---------------------------------------------------------------------------------
 */

struct page {
	const char *name, *prefix;
	struct manifest *out;
	struct buf *more, text; /* text: of the open element */
	struct buf key, size;   /* of the open object */
	unsigned depth;
	bool in_object, truncated, good;
	struct error *err;
};

static bool s3_fail(struct page *page, const char *what)
{
	if (page->good)
		error_set(page->err, ERR_FORMAT, "%s: the list of objects %s", page->name, what);
	page->good = false;
	return false;
}

/* Strips an element name's namespace, which stands before the last '|'; some servers send none. */
static const char *local_name(const char *name)
{
	const char *bar = strrchr(name, '|');

	return bar ? bar + 1 : name;
}

static void begin_element(void *arg, const char *name, const char **attributes)
{
	struct page *page = arg;

	(void)attributes;
	buf_clear(&page->text);
	if (++page->depth > DEPTH)
		s3_fail(page, "is nested too deep");
	if (page->depth == 2 && !strcmp(local_name(name), "Contents")) {
		page->in_object = true;
		buf_clear(&page->key);
		buf_clear(&page->size);
	}
}

static void s3_add_text(void *arg, const char *text, int len)
{
	struct page *page = arg;

	if ((size_t)len > TEXT_MOST - page->text.len)
		s3_fail(page, "has a text that is too long");
	else
		buf_add(&page->text, text, (size_t)len);
}

static bool take_object(struct page *page)
{
	const char *key = buf_text(&page->key);
	size_t len = strlen(page->prefix);
	char *end;

	errno = 0;
	unsigned long long size = strtoull(buf_text(&page->size), &end, 10);
	if (!page->key.len || end == buf_text(&page->size) || *end || errno || size > INT64_MAX)
		return s3_fail(page, "lacks a key or a size");
	if (page->key.len < len || memcmp(key, page->prefix, len) != 0)
		return s3_fail(page, "has a key that does not begin with the prefix");
	if (key[page->key.len - 1] == '/') /* an object that stands for a folder */
		return true;
	char *path = path_inside(key + len, page->key.len - len);
	if (!path)
		return s3_fail(page, "has a key that leads out of the folder, is too long or has "
				     "control characters");
	if (page->out->count == FILES_MOST) {
		mem_free(path);
		return s3_fail(page, "is too long");
	}
	listing_add(page->out, path, 0, size);
	return true;
}

static void end_element(void *arg, const char *full)
{
	struct page *page = arg;
	const char *name = local_name(full);

	if (page->depth == 3 && page->in_object && !strcmp(name, "Key")) {
		buf_clear(&page->key);
		buf_add(&page->key, page->text.data, page->text.len);
	} else if (page->depth == 3 && page->in_object && !strcmp(name, "Size")) {
		buf_clear(&page->size);
		buf_add(&page->size, page->text.data, page->text.len);
	} else if (page->depth == 2 && page->in_object) {
		page->in_object = false;
		if (page->good)
			take_object(page);
	} else if (page->depth == 2 && !strcmp(name, "IsTruncated")) {
		page->truncated = !strcmp(buf_text(&page->text), "true");
	} else if (page->depth == 2 && !strcmp(name, "NextContinuationToken")) {
		buf_clear(page->more);
		buf_add(page->more, page->text.data, page->text.len);
	} else if (page->depth == 1 && strcmp(name, "ListBucketResult") != 0) {
		s3_fail(page, "is another document");
	}
	page->depth--;
	buf_clear(&page->text);
}

/* Refuses a document type, whose entities could grow without bound. */
static void begin_doctype(void *arg, const char *name, const char *system, const char *public,
			  int has_subset)
{
	(void)name, (void)system, (void)public, (void)has_subset;
	s3_fail(arg, "has a document type");
}

bool s3_read_page(const char *name, const char *prefix, const struct buf *text,
		  struct manifest *out, struct buf *more, struct error *err)
{
	struct page page = {
		.name = name, .prefix = prefix, .out = out, .more = more, .good = true, .err = err};
	XML_Parser parser = XML_ParserCreateNS(NULL, '|');

	buf_clear(more);
	if (!parser)
		return error_set(err, ERR_IO, "%s: no memory for its list of objects", name);
	XML_SetUserData(parser, &page);
	XML_SetElementHandler(parser, begin_element, end_element);
	XML_SetCharacterDataHandler(parser, s3_add_text);
	XML_SetStartDoctypeDeclHandler(parser, begin_doctype);
	if (text->len > PAGE_MOST ||
	    XML_Parse(parser, buf_text(text), (int)text->len, 1) != XML_STATUS_OK)
		s3_fail(&page, "is no XML");
	if (page.good && page.truncated && !more->len)
		s3_fail(&page, "goes on, and does not say where");
	if (!page.truncated)
		buf_clear(more);
	XML_ParserFree(parser);
	buf_release(&page.text);
	buf_release(&page.key);
	buf_release(&page.size);
	return page.good;
}

/* Asking -----------------------------------------------------------------------------------------
 */

/* Writes the URL of a page; the signature requires parameters ordered by name. */
static void set_url(struct buf *url, const char *bucket, const char *prefix, const struct buf *more)
{
	buf_clear(url);
	add_endpoint(url);
	path_add_value(url, bucket, strcspn(bucket, "/"));
	buf_add_char(url, '?');
	if (more->len) {
		buf_add_text(url, "continuation-token=");
		path_add_value(url, more->data, more->len);
		buf_add_char(url, '&');
	}
	buf_add_text(url, "list-type=2&prefix=");
	path_add_value(url, prefix, strlen(prefix));
}

/* Requests and parses one page; *more: the token of the next. */
static bool ask_page(const char *path, const char *prefix, struct manifest *out, struct buf *more,
		     struct error *err)
{
	struct request request = {.s3 = true, .most = PAGE_MOST};

	set_url(&request.url, path + strlen(SCHEME), prefix, more);
	bool good = requests_run(&request, 1, err) &&
		    s3_read_page(path, prefix, &request.body, out, more, err);
	request_release(&request);
	return good;
}

bool s3_list(const char *path, struct manifest *out, struct error *err)
{
	const char *prefix = strchr(path + strlen(SCHEME), '/') + 1;
	struct buf more = {0};
	unsigned pages = 0;
	bool good;

	*out = (struct manifest){0};
	do
		good = ask_page(path, prefix, out, &more, err);
	while (good && more.len && ++pages < PAGES_MOST);
	if (good && more.len)
		good = error_set(err, ERR_FORMAT, "%s: the list of objects does not end", path);
	if (good && !out->count)
		good = error_set(err, ERR_IO,
				 "%s: there is no object below it; a single file is named without "
				 "the last slash",
				 path);
	buf_release(&more);
	if (!good)
		listing_release(out);
	return good;
}
