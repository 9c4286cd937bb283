/* names.c - see names.h */
#include "live/names.h"

#include "engine/base/digits.h"

#include <string.h>

/* Names in a trace's folder that no stream may have. */
static bool is_own(const char *name, size_t len)
{
	static const char *const own[] = {"metadata", "index"};

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strlen(own[i]) == len && memcmp(own[i], name, len) == 0)
			return true;
	return false;
}

/* Where a final ".3" begins, as in names of a stream's later files; len: there is none. */
static size_t number_at(const char *name, size_t len)
{
	size_t at = len;

	while (at && char_is_digit(name[at - 1]))
		at--;
	return at < len && at && name[at - 1] == '.' ? at - 1 : len;
}

static bool add_escaped(struct buf *out, const char *name, size_t len, struct error *err)
{
	size_t from = out->len, number = number_at(name, len);
	bool own = is_own(name, len);

	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)name[i];
		bool plain = c >= ' ' && c != 0x7f && c != '/' && c != '%' &&
			     !(i == 0 && (c == '.' || own)) && i != number;
		if (plain)
			buf_add_char(out, (char)c);
		else
			buf_printf(out, "%%%02X", c);
	}
	return out->len - from <= LIVE_FILE_MAX ||
	       error_set(err, ERR_FORMAT, "it names a file by %zu bytes", out->len - from);
}

bool live_add_path(struct buf *out, const char *path, struct error *err)
{
	bool first = true;

	while (*path) {
		size_t len = strcspn(path, "/");
		if (len) {
			if (!first)
				buf_add_char(out, '/');
			if (!add_escaped(out, path, len, err))
				return false;
			first = false;
		}
		path += len + (path[len] == '/');
	}
	return true;
}

bool live_add_name(struct buf *out, const char *name, struct error *err)
{
	return *name ? add_escaped(out, name, strlen(name), err)
		     : error_set(err, ERR_FORMAT, "it gives a stream without a name");
}
