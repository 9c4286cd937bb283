/* error.h - errors as values: a kind that callers branch on, and one line of text */
#ifndef ENGINE_BASE_ERROR_H
#define ENGINE_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

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

/* Marks a function that may fail: the compiler warns where its result is not used. */
#define MUST_CHECK __attribute__((warn_unused_result))
/* Calls such a function where a failure does not matter; a comment beside it says why. */
#define MAY_FAIL(call) ((void)!(call))

struct error {
	enum error_kind kind;
	bool lines; /* the text shows lines of the user's own, and may have several */
	char text[512];
};

/* Fills *err. Always returns false, so that a function that fails can return the call. */
bool error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts a text in front of the cause: "opening trace /t: <cause>". Always returns false. */
bool error_while(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Messages to the user that do not end the work: damage, a rebuilt index, a warning about metadata.
 * The text is borrowed for the call. say() may be called from several threads.
 */
enum notice_kind {
	NOTICE_INFO,    /* something was done that the user may wonder about */
	NOTICE_WARNING, /* the trace is odd or lost something; answers stand */
	NOTICE_DAMAGE,  /* part of the trace could not be read; answers lack it */
	NOTICE_DEBUG    /* what yore does; never for each event or packet */
};

/* Topics of NOTICE_DEBUG, a bit each; the text begins with the topic's name. */
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
struct kept_notice {
	struct notices to;
	enum notice_kind kind;
	char *text;
};
struct kept_notices { /* {0}: none */
	struct kept_notice *items;
	size_t count, capacity;
};
/*
 * From now on all notices of the calling thread, except those of NOTICE_DEBUG, are added to *into;
 * NULL: are given at once. Returns what was set before.
 */
struct kept_notices *notices_keep(struct kept_notices *into);
/* Gives the notices that were kept, and drops them. */
void notices_tell(struct kept_notices *kept);
/* A notice of NOTICE_DEBUG, where the topic is wanted. */
void debug_note(const struct notices *to, enum debug_topic topic, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
