/*
 * yore.h - libyore: what a trace recorded, and what was true at a moment of it
 *
 *     struct yore *yore;
 *     if (yore_open("trace", NULL, &yore) != 0)
 *             die(yore_error(yore));
 *     struct yore_value value;
 *     if (yore_at(yore, t, "cpu[3]/thread", &value, NULL) == 0 && value.kind == YORE_INT)
 *             printf("%lld\n", (long long)value.i);
 *     yore_close(yore);
 *
 * Times are nanoseconds since the Unix epoch where the trace's clock says so, else since its
 * origin; they may be negative. Ranges are half-open. Functions that return int give 0 when done
 * and -1 when not; yore_error() then says why. A handle and what comes from it belong to one thread
 * at a time; different handles are independent. Text is UTF-8 as the trace has it, ended by a zero
 * that its length does not count.
 */
#ifndef YORE_H
#define YORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define YORE_TIME_MIN INT64_MIN /* unbounded, or: not known */
#define YORE_TIME_MAX INT64_MAX

struct yore;
struct yore_events;

enum yore_kind {
	YORE_UNKNOWN, /* nothing says it, or it was lost */
	YORE_NONE,    /* known to be nothing */
	YORE_INT,     /* i; as unsigned, u: the same 64 bits */
	YORE_UINT,    /* u, above INT64_MAX */
	YORE_FLOAT,
	YORE_STRING, /* text, len */
	YORE_BOOL,   /* i is 0 or 1 */
	YORE_OTHER   /* a field that is a structure or an array */
};

struct yore_value {
	enum yore_kind kind;
	union {
		int64_t i;
		uint64_t u;
		double f;
	};
	const char *text; /* borrowed until the next call with the same handle */
	size_t len;
};

enum yore_notice { YORE_INFO, YORE_WARNING, YORE_DAMAGE };

struct yore_options {
	size_t size;              /* sizeof(struct yore_options) */
	const char *index_dir;    /* where indexes go; NULL: $YORE_INDEX_DIR, then the XDG cache */
	int no_index;             /* keep everything in memory */
	const char *const
		*rules; /* rule files, or names of sets, instead of all that come with yore */
	size_t nrules;
	/* Is told of damage, warnings and rebuilt indexes; may be NULL. */
	void (*say)(void *arg, enum yore_notice kind, const char *text);
	void *arg;
};

/* "1.2" */
const char *yore_version(void);

/*
 * Opens a file or folder of any supported format. options may be NULL. Whatever it returns, *out
 * is ended with yore_close(); after -1 it only says yore_error().
 */
int yore_open(const char *path, const struct yore_options *options, struct yore **out);
void yore_close(struct yore *yore); /* NULL is fine; its events are closed before */
/* What the last call that returned -1 has to say; "" when none did. */
const char *yore_error(const struct yore *yore);

/* Times of the first and last event. */
int yore_range(struct yore *yore, int64_t *first, int64_t *last);

struct yore_events_options {
	size_t size;        /* sizeof(struct yore_events_options) */
	int64_t begin, end; /* YORE_TIME_MIN, YORE_TIME_MAX: all */
	int backward;
	int losses;               /* also give what the tracer lost: yore_event_name() is NULL */
	const char *const *names; /* only events of these names; NULL: all */
	size_t nnames;
};

/* Events in order of time. options may be NULL: all, forward. */
int yore_events_open(struct yore *yore, const struct yore_events_options *options,
		     struct yore_events **out);
void yore_events_close(struct yore_events *events); /* NULL is fine */
/* 1: there is a next event; 0: there is none; -1: error, see yore_error() of the trace. */
int yore_events_next(struct yore_events *events);

/*
 * Of the event that yore_events_next() came to; text is borrowed until the next one. A time of
 * YORE_TIME_MIN: it has none, and holds from the start.
 */
int64_t yore_event_time(const struct yore_events *events);
const char *yore_event_name(const struct yore_events *events);
const char *yore_event_stream(const struct yore_events *events);
int yore_event_cpu(const struct yore_events *events); /* -1: not known */
/* Of a loss: how many events (UINT64_MAX: not known), and since when the stream is whole again. */
uint64_t yore_event_lost(const struct yore_events *events, int64_t *until);
/*
 * A field by name: of the payload, else of a context of the event, else of its packet. Members of
 * members and elements of arrays: "a/b", "a/0". An enumeration is its integer. -1: there is none.
 */
int yore_event_field(struct yore_events *events, const char *name, struct yore_value *out);
/*
 * The event in the words of its format, as the format's own tool prints its payload ("perf script",
 * "trace-cmd report"). NULL: there are none. Borrowed until the next call with the same handle.
 */
const char *yore_event_text(struct yore_events *events);

/*
 * The value of an attribute ("cpu[3]/thread", no wildcards) after all events of time t. *since,
 * when wanted, is the time of the write that made it so, YORE_TIME_MIN when that is not known.
 */
int yore_at(struct yore *yore, int64_t t, const char *path, struct yore_value *out, int64_t *since);

/*
 * The intervals of all attributes that match `path` ("cpu[*]/thread"), as far as they touch
 * [begin, end); their true beginnings and ends, YORE_TIME_MIN and YORE_TIME_MAX where not known.
 * Non-zero from `each` ends it (and 0 is returned).
 */
int yore_intervals(struct yore *yore, int64_t begin, int64_t end, const char *path,
		   int (*each)(void *arg, const char *attribute, int64_t from, int64_t to,
			       const struct yore_value *value),
		   void *arg);

#ifdef __cplusplus
}
#endif

#endif
