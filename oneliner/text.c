/* text.c - functions of texts that conditions do not have: parts are borrowed, never copied */
#include "oneliner/format.h"
#include "oneliner/runtime.h"
#include "state/model/text_part.h"

#include <string.h>

static const struct value unknown;

static struct value part(const struct value *text, int64_t from, int64_t len)
{
	struct text_part part = text_substr((struct text_part){text->text, text->len}, from, len);

	return value_text(part.text, part.len);
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

struct value text_call(struct runtime *rt, const struct expr *expr)
{
	enum function function = expr->of->function;
	struct value args[3] = {0};

	for (uint32_t i = 0; i < expr->nargs && i < 3; i++)
		args[i] = eval(rt, expr->args[i]);
	/* of the types that check.c asks for, unless they are of a type known only now */
	for (uint32_t i = 0; i < expr->nargs; i++)
		if (args[i].kind !=
		    (function_takes(function, i) == TYPE_TEXT ? VALUE_STRING : VALUE_INT))
			return unknown;
	switch (function) {
	case FUNCTION_STR:
		/* bpftrace's length counts the zero behind the text */
		return expr->nargs > 1 ? part(&args[0], 0, (int64_t)args[1].u - 1) : args[0];
	case FUNCTION_STRNCMP:
		return strncmp_call(&args[0], &args[1], (int64_t)args[2].u);
	case FUNCTION_STRCONTAINS:
		return value_s64(!args[1].len || memmem(args[0].text, args[0].len, args[1].text,
							args[1].len) != NULL);
	case FUNCTION_STRLEN:
		return value_u64(args[0].len);
	case FUNCTION_STRFTIME:
		return strftime_call(rt, &args[0], &args[1]);
	case FUNCTION_STRERROR:
		return strerror_call(rt, (int64_t)args[0].u);
	default:
		return unknown;
	}
}
