/* paths.c - see paths.h */
#include "remote/paths.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

static bool has_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			return true;
	return false;
}

char *path_inside(const char *path, size_t len)
{
	struct buf out = {0};
	bool good = len && len < PATH_MAX && path[0] != '/' && !has_control(path, len);

	for (size_t at = 0; good && at < len;) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t size = slash ? (size_t)(slash - path) - at : len - at;
		bool here = size == 0 || (size == 1 && path[at] == '.');
		if ((size == 2 && !memcmp(path + at, "..", 2)) || size > NAME_MAX)
			good = false;
		else if (!here) {
			if (out.len)
				buf_add_char(&out, '/');
			buf_add(&out, path + at, size);
		}
		at += size + 1;
	}
	if (good && out.len)
		return out.data;
	buf_release(&out);
	return NULL;
}

static bool paths_is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '.' || c == '-' || c == '_';
}

static void add_encoded(struct buf *url, char c)
{
	if (paths_is_plain(c) || c == '~')
		buf_add_char(url, c);
	else
		buf_printf(url, "%%%02X", (unsigned char)c);
}

void path_add_encoded(struct buf *url, const char *path)
{
	for (; *path; path++)
		if (*path == '/')
			buf_add_char(url, *path);
		else
			add_encoded(url, *path);
}

void path_add_value(struct buf *url, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		add_encoded(url, text[i]);
}

void path_add_readable(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len && i < 40; i++)
		buf_add_char(out, paths_is_plain(text[i]) ? text[i] : '-');
}
