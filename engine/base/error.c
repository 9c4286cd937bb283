/* error.c - filling and prefixing errors; both cut long texts instead of overrunning */
#include "engine/base/error.h"

#include "engine/base/mem.h"

#include <stdio.h>

static _Thread_local struct kept_notices *kept; /* see notices_keep() */

/*
 * Makes a message one line without control characters, since names from a trace may contain those.
 * Errors in queries and scripts may show several lines of the user's own text.
 */
static void make_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static bool tells_of_input(enum error_kind kind)
{
	return kind == ERR_IO || kind == ERR_FORMAT || kind == ERR_RANGE;
}

bool error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	err->kind = kind;
	err->lines = kind == ERR_QUERY;
	vsnprintf(err->text, sizeof err->text, fmt, args);
	va_end(args);
	if (tells_of_input(kind))
		make_line(err->text);
	return false;
}

bool error_while(struct error *err, const char *fmt, ...)
{
	struct error cause = *err;
	va_list args;

	va_start(args, fmt);
	int used = vsnprintf(err->text, sizeof err->text, fmt, args);
	va_end(args);
	int room = (int)sizeof err->text - used - 3;
	if (used >= 0 && room > 0)
		snprintf(err->text + used, (size_t)room + 3, ": %.*s", room, cause.text);
	if (tells_of_input(err->kind) && !err->lines)
		make_line(err->text);
	return false;
}

static __attribute__((format(printf, 3, 0))) void say(const struct notices *to,
						      enum notice_kind kind, const char *fmt,
						      va_list args)
{
	char text[640];

	vsnprintf(text, sizeof text, fmt, args);
	make_line(text);
	if (kept && kind != NOTICE_DEBUG)
		*mem_push(kept->items, kept->count, kept->capacity) =
			(struct kept_notice){*to, kind, mem_strdup(text)};
	else
		to->say(to->arg, kind, text);
}

struct kept_notices *notices_keep(struct kept_notices *into)
{
	struct kept_notices *before = kept;

	kept = into;
	return before;
}

void notices_tell(struct kept_notices *from)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct kept_notice *item = &from->items[i];
		notice(&item->to, item->kind, "%s", item->text);
		mem_free(item->text);
	}
	mem_free(from->items);
	*from = (struct kept_notices){0};
}

void notice(const struct notices *to, enum notice_kind kind, const char *fmt, ...)
{
	va_list args;

	if (!to || !to->say)
		return;
	va_start(args, fmt);
	say(to, kind, fmt, args);
	va_end(args);
}

void debug_note(const struct notices *to, enum debug_topic topic, const char *fmt, ...)
{
	va_list args;

	if (!(to->debug & topic) || !to->say)
		return;
	va_start(args, fmt);
	say(to, NOTICE_DEBUG, fmt, args);
	va_end(args);
}
