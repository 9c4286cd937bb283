/* error.h - errors as values: a kind that callers branch on, and one line of text */
#ifndef ENGINE_BASE_ERROR_H
#define ENGINE_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

enum error_kind {
	ERR_NONE,
	ERR_IO,     /* the system refused: a file is missing, cannot be read, the disk is full */
	ERR_FORMAT, /* bytes of a trace or a store are not what they should be; file and offset */
	ERR_RANGE,  /* a question that has no answer here: no such time, name or number */
	ERR_QUERY,  /* words that cannot be read: an option, a path, a rule, a condition, SQL */
	ERR_SCRIPT, /* a Lua script failed; the text says where */
	ERR_INTERRUPTED, /* the user ended the work: Ctrl-C, a signal */
	ERR_UNKNOWN      /* sound, but of a kind that this version does not know; file and offset */
};

/* Of a function that may fail: its result must be looked at. */
#define MUST_CHECK __attribute__((warn_unused_result))
/* Calls it where nothing more is to be done when it fails; a comment says why. */
#define MAY_FAIL(call) ((void)!(call))

struct error {
	enum error_kind kind;
	bool lines; /* the text shows lines of the user's own, and may have several */
	char text[512];
};

/* Fills *err where the fact is known. Always returns false, so that a caller can return it. */
bool error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts what was being done before the text of *err: "opening trace /t: <cause>". Returns false. */
bool error_while(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Where a room sends what is worth a line but does not end the work: damage, a rebuilt index, a
 * warning about metadata. The text is borrowed for the call. Callable from several threads.
 */
enum notice_kind {
	NOTICE_INFO,	/* something was done that the user may wonder about */
	NOTICE_WARNING, /* the trace is odd or lost something; answers stand */
	NOTICE_DAMAGE,	/* part of the trace could not be read; answers lack it */
	NOTICE_DEBUG	/* what a room does; never for each event or packet */
};

/* What a room can say of its own work, a bit each; the text begins with the name. */
enum debug_topic {
	DEBUG_INDEX = 1 << 0,  /* which stores and tables are used, and what is scanned */
	DEBUG_CURSOR = 1 << 1, /* which events are read */
	DEBUG_STATE = 1 << 2   /* which way a question is answered */
};

struct notices {
	void (*say)(void *arg, enum notice_kind kind, const char *text);
	void *arg;
	unsigned debug; /* bits of the topics that are wanted */
};

void notice(const struct notices *to, enum notice_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A notice of NOTICE_DEBUG, where the topic is wanted. */
void debug_note(const struct notices *to, enum debug_topic topic, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
