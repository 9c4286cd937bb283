/* text.c - functions of texts: parts of them are borrowed, never copied */
#include "oneliner/format.h"
#include "oneliner/runtime.h"
#include "state/model/text_part.h"

#include <string.h>

static const struct value unknown;

static struct text_part whole(const struct value *text)
{
	return (struct text_part){text->text, text->len};
}

static struct value of_part(struct text_part part)
{
	return value_text(part.text, (uint32_t)part.len);
}

static struct value part(const struct value *text, int64_t from, int64_t len)
{
	return of_part(text_substr(whole(text), from, len));
}

static struct value strncmp_call(const struct value *a, const struct value *b, int64_t n)
{
	struct value x = part(a, 0, n), y = part(b, 0, n);

	return value_s64(value_compare(&x, &y));
}

static struct value strftime_call(struct runtime *rt, const struct value *format,
				  const struct value *t)
{
	const char *text = arena_strndup(rt->texts, format->text, format->len);

	buf_clear(&rt->line);
	if (value_integer(t) > INT64_MAX || !format_time(text, (nstime)t->u, rt->utc, &rt->line))
		return unknown;
	return value_text(arena_strndup(rt->texts, rt->line.data, rt->line.len),
			  (uint32_t)rt->line.len);
}

/* As the C library says it in English. */
static struct value strerror_call(struct runtime *rt, int64_t number)
{
	const char *text = number >= 0 && number <= INT32_MAX ? strerrordesc_np((int)number) : NULL;

	if (!text)
		text = arena_printf(rt->texts, "Unknown error %lld", (long long)number);
	return value_text(text, (uint32_t)strlen(text));
}

/* The pattern of the node, and where its matches go. */
static const void *pattern_of(struct runtime *rt, const struct ast *node)
{
	if (!rt->patterns)
		rt->patterns = pattern_room_new();
	return rt->bound->program->patterns[node->index - 1];
}

static struct value captures(struct runtime *rt, const struct ast *node, const struct value *args)
{
	struct value out = unknown;
	int64_t group = node->nargs > 2 ? (int64_t)args[2].u : 1;
	const void *pattern = pattern_of(rt, node);

	if (!pattern_capture(rt->patterns, pattern, &args[0], group, &out))
		runtime_fail(rt, node,
			     "captures(): the pattern takes more than 100000 steps on "
			     "the text of an event: write a simpler one");
	return out;
}

struct value text_matches(struct runtime *rt, const struct ast *node, const struct value *text)
{
	bool matches = false;

	if (text->kind != VALUE_STRING)
		return unknown;
	const void *pattern = pattern_of(rt, node);
	if (!pattern_matches(rt->patterns, pattern, text, &matches))
		runtime_fail(rt, node,
			     "=~: the pattern takes more than 100000 steps on the text of an "
			     "event: write a simpler one");
	return value_s64(matches);
}

/* Arguments are of the types that check.c asks for, unless they are of a type known only now. */
static bool has_types(const struct ast *node, const struct value *args)
{
	const enum type types[3] = {node->function == FUNCTION_STRERROR ? TYPE_NUMBER : TYPE_TEXT,
				    node->function == FUNCTION_STR ||
						    node->function == FUNCTION_SUBSTR ||
						    node->function == FUNCTION_STRFTIME
					    ? TYPE_NUMBER
					    : TYPE_TEXT,
				    TYPE_NUMBER};

	for (uint32_t i = 0; i < node->nargs; i++)
		if (args[i].kind != (types[i] == TYPE_TEXT ? VALUE_STRING : VALUE_INT))
			return false;
	return true;
}

struct value text_call(struct runtime *rt, const struct ast *node)
{
	struct value args[3] = {0};

	for (uint32_t i = 0; i < node->nargs && i < 3; i++)
		args[i] = eval(rt, node->args[i]);
	if (!has_types(node, args))
		return unknown;
	switch (node->function) {
	case FUNCTION_STR:
		/* bpftrace's length counts the zero behind the text */
		return node->nargs > 1 ? part(&args[0], 0, (int64_t)args[1].u - 1) : args[0];
	case FUNCTION_STRNCMP:
		return strncmp_call(&args[0], &args[1], (int64_t)args[2].u);
	case FUNCTION_STRCONTAINS:
		return value_s64(!args[1].len || memmem(args[0].text, args[0].len, args[1].text,
							args[1].len) != NULL);
	case FUNCTION_STRLEN:
		return value_u64(args[0].len);
	case FUNCTION_SUBSTR:
		return part(&args[0], (int64_t)args[1].u,
			    node->nargs > 2 ? (int64_t)args[2].u : INT64_MAX);
	case FUNCTION_SPLIT:
		return of_part(text_split(whole(&args[0]), whole(&args[1]), (int64_t)args[2].u));
	case FUNCTION_CAPTURES:
		return captures(rt, node, args);
	case FUNCTION_STRFTIME:
		return strftime_call(rt, &args[0], &args[1]);
	case FUNCTION_STRERROR:
		return strerror_call(rt, (int64_t)args[0].u);
	default:
		return unknown;
	}
}
