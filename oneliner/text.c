/* text.c - functions of texts: parts of them are borrowed, never copied */
#include "oneliner/format.h"
#include "oneliner/runtime.h"
#include "state/model/text_part.h"

#include <string.h>

static const struct datum unknown;

static struct text_part whole(const struct datum *text)
{
	return (struct text_part){text->text, text->len};
}

static struct datum of_part(struct text_part part)
{
	return datum_text(part.text, (uint32_t)part.len);
}

static struct datum part(const struct datum *text, int64_t from, int64_t len)
{
	return of_part(text_substr(whole(text), from, len));
}

static struct datum strncmp_call(const struct datum *a, const struct datum *b, int64_t n)
{
	struct datum x = part(a, 0, n), y = part(b, 0, n);

	return datum_signed(datum_compare(&x, &y));
}

static struct datum strftime_call(struct runtime *rt, const struct datum *format,
				  const struct datum *t)
{
	const char *text = arena_strndup(rt->texts, format->text, format->len);

	buf_clear(&rt->line);
	if (t->is_large || !format_time(text, t->s, rt->utc, &rt->line))
		return unknown;
	return datum_text(arena_strndup(rt->texts, rt->line.data, rt->line.len),
			  (uint32_t)rt->line.len);
}

/* As the C library says it in English. */
static struct datum strerror_call(struct runtime *rt, int64_t number)
{
	const char *text = number >= 0 && number <= INT32_MAX ? strerrordesc_np((int)number) : NULL;

	if (!text)
		text = arena_printf(rt->texts, "Unknown error %lld", (long long)number);
	return datum_text(text, (uint32_t)strlen(text));
}

/* The pattern of the node, and where its matches go. */
static const void *pattern_of(struct runtime *rt, const struct node *node)
{
	if (!rt->patterns)
		rt->patterns = pattern_room_new();
	return rt->bound->program->patterns[node->number - 1];
}

static struct datum captures(struct runtime *rt, const struct node *node, const struct datum *args)
{
	struct datum out = unknown;
	int64_t group = node->nargs > 2 ? args[2].s : 1;
	const void *pattern = pattern_of(rt, node);

	if (!pattern_capture(rt->patterns, pattern, &args[0], group, &out))
		runtime_fail(rt, node,
			     "captures(): the pattern takes more than 100000 steps on "
			     "the text of an event: write a simpler one");
	return out;
}

struct datum text_matches(struct runtime *rt, const struct node *node, const struct datum *text)
{
	bool matches = false;

	if (text->kind != DATUM_TEXT)
		return unknown;
	const void *pattern = pattern_of(rt, node);
	if (!pattern_matches(rt->patterns, pattern, text, &matches))
		runtime_fail(rt, node,
			     "=~: the pattern takes more than 100000 steps on the text of an "
			     "event: write a simpler one");
	return datum_signed(matches);
}

/* Arguments are of the types that check.c asks for, unless they are of a type known only now. */
static bool has_types(const struct node *node, const struct datum *args)
{
	const enum type types[3] = {node->function == FUNCTION_STRERROR ? TYPE_NUMBER : TYPE_TEXT,
				    node->function == FUNCTION_STR ||
						    node->function == FUNCTION_SUBSTR ||
						    node->function == FUNCTION_STRFTIME
					    ? TYPE_NUMBER
					    : TYPE_TEXT,
				    TYPE_NUMBER};

	for (uint32_t i = 0; i < node->nargs; i++)
		if (args[i].kind != (types[i] == TYPE_TEXT ? DATUM_TEXT : DATUM_NUMBER))
			return false;
	return true;
}

struct datum text_call(struct runtime *rt, const struct node *node)
{
	struct datum args[3] = {0};

	for (uint32_t i = 0; i < node->nargs && i < 3; i++)
		args[i] = eval(rt, node->args[i]);
	if (!has_types(node, args))
		return unknown;
	switch (node->function) {
	case FUNCTION_STR:
		/* bpftrace's length counts the zero behind the text */
		return node->nargs > 1 ? part(&args[0], 0, args[1].s - 1) : args[0];
	case FUNCTION_STRNCMP:
		return strncmp_call(&args[0], &args[1], args[2].s);
	case FUNCTION_STRCONTAINS:
		return datum_signed(!args[1].len || memmem(args[0].text, args[0].len, args[1].text,
							   args[1].len) != NULL);
	case FUNCTION_STRLEN:
		return datum_unsigned(args[0].len);
	case FUNCTION_SUBSTR:
		return part(&args[0], args[1].s, node->nargs > 2 ? args[2].s : INT64_MAX);
	case FUNCTION_SPLIT:
		return of_part(text_split(whole(&args[0]), whole(&args[1]), args[2].s));
	case FUNCTION_CAPTURES:
		return captures(rt, node, args);
	case FUNCTION_STRFTIME:
		return strftime_call(rt, &args[0], &args[1]);
	case FUNCTION_STRERROR:
		return strerror_call(rt, args[0].s);
	default:
		return unknown;
	}
}
