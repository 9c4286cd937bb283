/* ctf_names.c - see ctf_names.h */
#include "convert/ctf/ctf_names.h"

#include "engine/base/buf.h"
#include "engine/ctf_own.h"

#include <string.h>

/* TSDL's keywords (CTF 1.8.3, C.1.2) and the words of C types. */
static const char *const keywords[] = {
	"_Bool",  "_Complex", "_Imaginary", "align",   "callsite", "char",    "clock",
	"const",  "double",   "enum",       "env",     "event",    "float",   "floating_point",
	"int",    "integer",  "long",       "short",   "signed",   "stream",  "string",
	"struct", "trace",    "typealias",  "typedef", "unsigned", "variant", "void"};

/* A C identifier that is no keyword of TSDL. */
static bool ctf_is_identifier(const char *text)
{
	if (!char_begins_word(*text))
		return false;
	for (const char *c = text; *c; c++)
		if (!char_is_word(*c))
			return false;
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
		if (strcmp(keywords[i], text) == 0)
			return false;
	return true;
}

bool ctf_name_stays(const char *name, const char *written)
{
	return ctf_is_identifier(written) && strcmp(written + (*written == '_'), name) == 0 &&
	       strncmp(written, OWN_PREFIX, strlen(OWN_PREFIX)) != 0;
}

static void add_identifier(struct buf *out, const char *name, const char *written)
{
	if (ctf_name_stays(name, written)) {
		buf_add_text(out, written);
		return;
	}
	buf_add_char(out, '_');
	buf_add_text(out, name);
	if (*name && ctf_name_stays(name, out->data))
		return;
	buf_clear(out);
	buf_add_text(out, OWN_NAME);
	own_name_write(out, name);
}

const char *ctf_member_name(struct ctf_names *names, const char *name, const char *written)
{
	struct buf text = {0};

	if (names->identifiers)
		add_identifier(&text, name, written);
	else
		buf_add_text(&text, name);
	nameset_make_free(&names->taken, &text, 0, "_");
	nameset_add(&names->taken, buf_text(&text), 2);
	const char *kept = arena_strdup(names->arena, buf_text(&text));
	buf_release(&text);
	return kept;
}

void ctf_names_release(struct ctf_names *names)
{
	nameset_release(&names->taken);
}

/* Octal escapes have three digits, so that a following digit cannot become part of them. */
void ctf_add_quoted(struct buf *out, const char *before, const char *text, const char *behind)
{
	buf_add_text(out, before);
	buf_add_char(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_printf(out, "\\%c", *text);
		else if (*text == '\n')
			buf_add_text(out, "\\n");
		else if ((unsigned char)*text < ' ' || *text == 0x7f)
			buf_printf(out, "\\%03o", (unsigned)(unsigned char)*text);
		else
			buf_add_char(out, *text);
	}
	buf_add_char(out, '"');
	buf_add_text(out, behind);
}

void ctf_add_number(struct buf *out, uint64_t value, bool is_signed)
{
	if (is_signed)
		buf_add_i64(out, (int64_t)value);
	else
		buf_add_u64(out, value);
}

unsigned ctf_number_base(const struct field_class *from)
{
	if (!from)
		return 10;
	return from->is_address ? 16 : from->base ? from->base : 10;
}
