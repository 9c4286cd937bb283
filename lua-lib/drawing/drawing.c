/* drawing.c - see drawing.h */
#include "lua-lib/drawing/drawing.h"

#include "engine/base/quote.h"

/* U+FFFE and U+FFFF are valid UTF-8, but no characters of XML. */
static bool is_no_character(const uint8_t *at, size_t len)
{
	return len == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;
}

/* The length of the character at `at`, in bytes; 0: it must be replaced by a question mark. */
static size_t shown_bytes(const char *at, size_t left)
{
	size_t len = utf8_length((const uint8_t *)at, left);

	if (!len || (unsigned char)*at < ' ' || is_no_character((const uint8_t *)at, len) ||
	    printable_length(at, len) < len)
		return 0;
	return len;
}

/* The escape of a character in XML, or in JSON inside of XML; NULL: it needs none. */
static const char *escape_of(char c, bool json)
{
	static const char special[] = "<>&\"\\";
	static const char *const of_xml[] = {"&lt;", "&gt;", "&amp;", "&quot;", NULL};
	static const char *const of_json[] = {"\\u003c", "\\u003e", "\\u0026", "\\\"", "\\\\"};
	const char *at = strchr(special, c);

	return at ? (json ? of_json : of_xml)[at - special] : NULL;
}

static void add_shown(struct buf *out, const char *text, size_t len, bool json)
{
	for (size_t i = 0; i < len;) {
		size_t bytes = shown_bytes(text + i, len - i);
		const char *escaped = bytes == 1 ? escape_of(text[i], json) : NULL;

		if (!bytes)
			buf_add_char(out, '?');
		else if (escaped)
			buf_add_text(out, escaped);
		else
			buf_add(out, text + i, bytes);
		i += bytes ? bytes : 1;
	}
}

void drawing_text(struct buf *out, const char *text, size_t len)
{
	add_shown(out, text, len, false);
}

void drawing_json(struct buf *out, const char *text, size_t len)
{
	buf_add_char(out, '"');
	add_shown(out, text, len, true);
	buf_add_char(out, '"');
}

static void add_part(struct buf *out, const char *name, const char *suffix)
{
	struct buf file = {0};

	buf_add_text(&file, name);
	buf_add_text(&file, suffix);
	const char *part = drawing_part(buf_text(&file));
	if (part)
		buf_add_text(out, part);
	buf_release(&file);
}

void drawing_begin(struct buf *out, size_t width, size_t height, const char *title)
{
	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
		   "viewBox=\"0 0 %zu %zu\">\n<title>",
		   width, height, width, height);
	drawing_text(out, title, strlen(title));
	buf_add_text(out, "</title>\n<style>\n");
	add_part(out, "picture", ".css");
	buf_add_text(out, "</style>\n");
	add_part(out, "patterns", ".xml");
	buf_add_text(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
}

void drawing_end(struct buf *out, const char *kind)
{
	buf_add_text(out, "<script><![CDATA[\n(() => {\n");
	add_part(out, "picture", ".js");
	add_part(out, kind, ".js");
	buf_add_text(out, "})();\n]]></script>\n</svg>\n");
}

enum drawing_tone drawing_tone(const char *text, size_t len, bool still, uint64_t hash)
{
	static const struct {
		const char *text;
		enum drawing_tone tone;
	} own[] = {{"running", TONE_RUNNING}, {"ready", TONE_READY}, {"sleeping", TONE_SLEEPING},
		   {"blocked", TONE_BLOCKED}, {"idle", TONE_STILL},  {"exiting", TONE_STILL},
		   {"dead", TONE_STILL}};

	for (size_t i = 0; text && i < sizeof own / sizeof *own; i++)
		if (strlen(own[i].text) == len && !memcmp(own[i].text, text, len))
			return own[i].tone;
	if (still)
		return TONE_STILL;
	return (enum drawing_tone)(TONE_OTHERS + hash % (TONES - TONE_OTHERS));
}

enum drawing_tone value_tone(const struct value *value)
{
	bool still =
		(value->kind == VALUE_INT && !value->u) || (value->kind == VALUE_BOOL && !value->b);

	return drawing_tone(value->kind == VALUE_STRING ? value->text : NULL, value->len, still,
			    value_hash(value));
}
