/*
 * say.c - prints notes, warnings and errors on standard error
 *
 * Other rooms report damage and warnings by notices, perhaps from several threads. Each becomes one
 * line, and equal lines are printed once.
 */
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "repl/progress.h"
#include "repl/session.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;

/* Hashes of the lines printed so far: damage that two passes meet is printed once. */
enum { SAID_MAX = 4096 };
static uint64_t said[SAID_MAX];

static bool said_before(const char *text, size_t len)
{
	uint64_t hash = hash_bytes(text, len);

	hash |= !hash;
	for (size_t i = hash % SAID_MAX, n = 0; n < SAID_MAX; i = (i + 1) % SAID_MAX, n++) {
		if (said[i] == hash)
			return true;
		if (!said[i]) {
			said[i] = hash;
			return false;
		}
	}
	return false;
}

void say_forget(void)
{
	pthread_mutex_lock(&said_lock);
	memset(said, 0, sizeof said);
	pthread_mutex_unlock(&said_lock);
}

static _Thread_local struct buf *kept;  /* gets lines instead of standard error, see say_into() */
static _Thread_local char *after_error; /* lines to print behind the next error */

static void write_said(const struct buf *lines)
{
	pthread_mutex_lock(&said_lock);
	ssize_t n = write(STDERR_FILENO, lines->data, lines->len);
	(void)n; /* no place for a message */
	pthread_mutex_unlock(&said_lock);
}

/* Makes control characters from `from` on visible, as the sink does for standard output. */
static void clean_line(struct buf *line, size_t from)
{
	struct buf clean = {0};

	if (printable_length(line->data + from, line->len - from) == line->len - from)
		return;
	quote_printable(&clean, line->data + from, line->len - from, true);
	line->len = from;
	buf_add(line, clean.data, clean.len);
	buf_release(&clean);
}

void say_text(const char *text)
{
	struct buf clean = {0};

	quote_printable(&clean, text, strlen(text), true);
	if (clean.len)
		write_said(&clean);
	buf_release(&clean);
}

/* Prints one line: newlines, as in names, become blanks. `lines`: an excerpt may follow. */
static void write_line(const char *kind, const char *text, bool lines)
{
	struct buf line = {0};

	buf_add_text(&line, "yore: ");
	if (kind) {
		buf_add_text(&line, kind);
		buf_add_text(&line, ": ");
	}
	size_t from = line.len;
	buf_add_text(&line, text);
	clean_line(&line, from);
	for (size_t i = from; i < line.len; i++)
		if (line.data[i] == '\n' && !(lines && i + 1 < line.len && line.data[i + 1] == ' '))
			line.data[i] = ' ';
	buf_add_char(&line, '\n');
	if (kept)
		buf_add(kept, line.data, line.len);
	else
		write_said(&line);
	buf_release(&line);
}

struct buf *say_into(struct buf *to)
{
	struct buf *before = kept;

	kept = to;
	return before;
}

void say_kept(struct session *session, struct buf *from)
{
	if (!from->len)
		return;
	progress_clear(session->progress);
	write_said(from);
	from->len = 0;
}

void say(const char *kind, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	write_line(kind, text, false);
}

void say_error(const struct error *err)
{
	const char *text = err->text[0] ? err->text : "something failed";

	write_line(NULL, text, err->lines);
	if (after_error)
		say_text(after_error);
	mem_free(after_error);
	after_error = NULL;
}

void say_after_error(const char *text)
{
	mem_free(after_error);
	after_error = mem_strdup(text);
}

void session_note(struct session *session, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (session->options->quiet)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	pthread_mutex_lock(&said_lock);
	progress_clear(session->progress);
	pthread_mutex_unlock(&said_lock);
	write_line("note", text, false);
}

/* A copy of the text, with TRACE's name in place of the copy's (session->opened). */
static char *say_shown(const struct session *session, const char *text)
{
	const char *name = strcmp(session->path, "-") ? session->path : "standard input";
	struct buf out = {0};

	for (const char *at; (at = strstr(text, session->opened));) {
		buf_add(&out, text, (size_t)(at - text));
		buf_add_text(&out, name);
		text = at + strlen(session->opened);
	}
	buf_add_text(&out, text);
	buf_text(&out);
	return out.data;
}

void session_shown(const struct session *session, struct error *err)
{
	if (!session->opened)
		return;
	char *text = say_shown(session, err->text);
	snprintf(err->text, sizeof err->text, "%s", text);
	mem_free(text);
}

/* Each step of following opens the trace and warns anew, with other numbers: print that once. */
static bool warned_before(const char *text)
{
	struct buf words = {0};

	for (; *text; text++)
		if (!char_is_digit(*text))
			buf_add_char(&words, *text);
	bool before = said_before(buf_text(&words), words.len);
	buf_release(&words);
	return before;
}

static void say_notice(void *arg, enum notice_kind kind, const char *text)
{
	static const char *const kinds[] = {"note", "warning", "damaged", "debug"};
	struct session *session = arg;
	char *renamed = session->opened ? say_shown(session, text) : NULL;

	text = renamed ? renamed : text;

	pthread_mutex_lock(&said_lock);
	bool again = (kind != NOTICE_DEBUG && said_before(text, strlen(text))) ||
		     (session->follows && kind == NOTICE_WARNING && warned_before(text));
	if (kind == NOTICE_DAMAGE && !again) /* two passes meet it twice */
		session->damaged++;
	progress_clear(session->progress);
	pthread_mutex_unlock(&said_lock);
	/* debug lines are printed at once: they are about the thread, not what it reads */
	struct buf *to = kind == NOTICE_DEBUG ? say_into(NULL) : kept;
	if (!again && !(kind == NOTICE_INFO && session->options->quiet))
		write_line(kinds[kind], text, false);
	say_into(to);
	mem_free(renamed);
}

struct notices session_notices(struct session *session)
{
	return (struct notices){
		.say = say_notice, .arg = session, .debug = session->options->debug};
}
