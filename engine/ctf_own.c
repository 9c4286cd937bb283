/* ctf_own.c - see ctf_own.h */
#include "engine/ctf_own.h"

#include <string.h>

static bool ctf_own_is_plain(char c)
{
	return char_is_letter(c) || char_is_digit(c);
}

void own_name_write(struct buf *out, const char *name)
{
	for (; *name; name++) {
		if (ctf_own_is_plain(*name))
			buf_add_char(out, *name);
		else if (*name == '_')
			buf_add_text(out, "__");
		else
			buf_printf(out, "_%02x", (unsigned)(uint8_t)*name);
	}
}

static int lower_hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

bool own_name_read(const char *text, struct buf *out)
{
	buf_clear(out);
	for (; *text; text++) {
		if (*text != '_') {
			buf_add_char(out, *text);
			continue;
		}
		if (*++text == '_') {
			buf_add_char(out, '_');
			continue;
		}
		int high = lower_hex_digit(*text), low = high < 0 ? -1 : lower_hex_digit(*++text);
		if (low < 0 || (!high && !low))
			return false;
		buf_add_char(out, (char)(high << 4 | low));
	}
	return true;
}

bool ctf_is_own_env(const char *name)
{
	return strcmp(name, OWN_ENV) == 0 ||
	       strncmp(name, OWN_ENV_STREAM, strlen(OWN_ENV_STREAM)) == 0;
}
