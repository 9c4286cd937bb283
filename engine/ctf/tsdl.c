/* tsdl.c - the way from a text to its description, and the memory of that way */
#include "engine/ctf/tsdl.h"

#include "engine/base/mem.h"

#include <string.h>

/* A text that begins with the magic comment says its version there. */
static bool check_version(struct tsdl *t)
{
	static const char magic[] = "/* CTF ", version[] = "1.8";
	size_t at = sizeof magic - 1;

	if (strncmp(t->text, magic, at) != 0)
		return true;
	size_t len = strspn(t->text + at, "0123456789.");
	if (!char_is_digit(t->text[at]))
		return tsdl_fail(t, (uint32_t)at, "expected the version of CTF");
	return (len == sizeof version - 1 && !memcmp(t->text + at, version, len)) ||
	       tsdl_fail(t, (uint32_t)at, "CTF %.*s is not supported, only 1.8 is",
			 len > 20 ? 20 : (int)len, t->text + at);
}

static void release_tsdl(struct tsdl *t)
{
	names_release(&t->names);
	mem_free(t->tokens);
	mem_free(t->pending);
	mem_free(t->unbound);
	mem_free(t->clocks);
	mem_free(t->env);
	mem_free(t->streams);
	mem_free(t->events);
	arena_free(t->scratch);
}

bool tsdl_parse(const char *name, const char *text, size_t size, bool strict, struct arena *arena,
		const struct notices *notices, struct ctf_description *out, struct error *err)
{
	struct tsdl t = {.name = name,
			 .strict = strict,
			 .arena = arena,
			 .notices = notices,
			 .out = out,
			 .err = err};

	*out = (struct ctf_description){.major = 1, .minor = 8};
	t.scratch = arena_new();
	t.text = arena_strndup(t.scratch, text, size); /* ended by a zero, which the lexer needs */
	t.size = size;
	names_init(&t.names, arena);
	bool done = check_version(&t) && tsdl_lex(&t) && parse_blocks(&t) && build_description(&t);
	if (done)
		check_meanings(&t);
	release_tsdl(&t);
	return done;
}
