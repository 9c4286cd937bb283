/*
 * serving.h - what the files of the server share: traces, workers, a request and its reply
 *
 *     server.c: sockets ──> request ──> worker ──> operations.c: which one? ──> tsp_*.c, page_*.c
 *
 * A worker answers one request at a time, with states of its own, so that no question waits for
 * another. The keeper is one more: it counts events, and opens again what grew.
 */
#ifndef SERVE_SERVING_H
#define SERVE_SERVING_H

#include "engine/base/buf.h"
#include "engine/base/nameset.h"
#include "engine/base/quote.h"
#include "index/events.h"
#include "serve/serve.h"
#include "state/rules/rules.h"

#include <json-c/json_object.h>
#include <json-c/linkhash.h>
#include <pthread.h>
#include <signal.h>

struct state;
struct event_counts;

enum {
	WORKERS = SERVE_WORKERS,
	KEEPER = WORKERS,    /* its place among the workers */
	ANSWER_MS = 20000,   /* a question that takes longer is given up */
	NAMES_MS = 200,      /* names beside an answer */
	CONFIGS = 9,         /* the trace's own rules, and those that clients upload */
	PARTS_MOST = 4,      /* of a request's path that an operation reads */
	ITEMS_MOST = 20000,  /* rows, times, lines of a request */
	COLUMNS_MOST = 16384 /* pixels */
};

/* A class of attributes, as the rules write them: an output of a viewer. */
struct row_class {
	char *path;   /* cpu[*]/thread */
	char *id;     /* cpu.thread: what stands in a URL */
	bool numbers; /* its values are numbers that count something; the keeper finds out */
	bool threads; /* its values are threads */
};

struct row_classes {
	struct row_class *items;
	size_t count, capacity;
	struct nameset ids;
};

struct bookmark {
	char uuid[UUID_TEXT];
	char *name;
	nstime begin, end;
};

/* Rules that a client uploaded. Number 0 stands for each trace's own. */
struct rule_config {
	char *id, *name, *description, *text; /* id NULL: there is none of that number */
};

void rule_config_release(struct rule_config *config);
/* Its rules, that the caller frees; NULL: they have errors, *err. */
struct rules *rule_config_read(const struct rule_config *config, struct error *err);

struct served_state { /* what a worker has open of a trace */
	struct rules *rules;
	struct state *state; /* NULL: not asked yet */
};

struct served {
	const struct serve_trace *source;
	char uuid[UUID_TEXT], experiment[UUID_TEXT];
	char *name, *path;     /* `path` is without links */
	pthread_rwlock_t open; /* written while it is opened again; read by who answers */
	struct index *index;
	nstime first, last;                  /* of its events; first > last: there is none */
	struct row_classes classes[CONFIGS]; /* by rule set: none, where it is not of the trace */
	struct served_state places[WORKERS + 1][CONFIGS];
	uint64_t generation; /* how often it was opened */
	_Atomic bool looked; /* the keeper has looked at its classes */
	_Atomic bool closed; /* by a client */

	pthread_mutex_t lock;        /* of all below */
	struct event_counts *counts; /* NULL: not counted yet */
	struct nameset numbers;      /* paths to numbers of rows, from 1 on */
	char **paths;                /* by number - 1 */
	size_t npaths, paths_capacity;
	struct bookmark *bookmarks;
	size_t nbookmarks, bookmarks_capacity;
};

struct worker {
	struct serving *serving;
	unsigned number;
	int64_t until;              /* ms of clock_ms(): what is asked now is given up */
	volatile sig_atomic_t stop; /* the same for scripts */
};

struct serving {
	const struct serve_options *options;
	struct served *traces;
	size_t ntraces;
	struct worker workers[WORKERS + 1];
	_Atomic bool stops;
	pthread_mutex_t lock; /* of uploads and closings, and of: */
	struct rule_config configs[CONFIGS];
};

/* Opens all traces and starts no thread. False: *err. */
MUST_CHECK bool serving_init(struct serving *serving, const struct serve_options *options,
			     struct error *err);
void serving_release(struct serving *serving);

/* ---- traces (served.c) ---- */

/* Fits the `progress` of states and cursors, whose argument is the worker. */
bool worker_goes_on(void *worker, nstime at, nstime first, nstime last);
void worker_begin(struct worker *worker, int64_t ms); /* a question that may take so long */

/*
 * The state of the rule set of that number, for the worker; opened when first needed. NULL: *err.
 * Under served->open.
 */
MUST_CHECK struct state *served_state(struct served *served, struct worker *worker, unsigned config,
				      struct error *err);
/* The classes of attributes that rules write of the trace. False: *err. */
MUST_CHECK bool served_read_classes(struct served *served, struct rules *rules,
				    struct row_classes *out, struct error *err);
void row_classes_release(struct row_classes *classes);
/* The number of a row, the same as long as the server runs; never 0. */
uint32_t served_number(struct served *served, const char *path);
const char *served_path(struct served *served, int64_t number); /* NULL: there is no such row */
/* The class of an output, and the number of its rule set; NULL: there is no such. */
struct row_class *served_class(struct served *served, const char *id, unsigned *config);
/* Forgets all of a rule set that is changed or deleted; served->open is written. */
void served_close_config(struct served *served, unsigned config);
void *keeper_run(void *worker); /* the keeper's thread */

/* ---- how many events (event_counts.c) ---- */

/*
 * Counts all events: in buckets of equal time, so that a rank is found, and a density drawn,
 * without reading what lies before. Under served->open. False: *err.
 */
MUST_CHECK bool event_counts_make(struct served *served, struct worker *worker,
				  struct event_counts **out, struct error *err);
void event_counts_free(struct event_counts *counts); /* NULL is fine */
/* The served's own; NULL: they are being made. Borrowed under served->open. */
const struct event_counts *served_counts(struct served *served);
uint64_t event_counts_all(const struct event_counts *counts);
/* About how many are in [begin, end): exact but for the buckets of both ends. */
uint64_t event_counts_between(const struct event_counts *counts, nstime begin, nstime end);
/* The bucket that has the event of that rank: where it begins and ends, and the rank of its first.
 */
struct event_bucket {
	nstime begin, end;
	uint64_t first, count;
};
bool event_counts_find(const struct event_counts *counts, uint64_t rank, struct event_bucket *out);
/* The bucket of a moment, of the first or of the last one where it lies outside. */
void event_counts_at(const struct event_counts *counts, nstime t, struct event_bucket *out);
/* How long a bucket is. */
uint64_t event_counts_grain(const struct event_counts *counts);

/* ---- requests (request.c) ---- */

struct reply {
	unsigned status;
	const char *type;
	struct buf body;
};

struct served_request {
	const char *method, *path; /* below the token, percent-decoded, without a slash in front */
	struct json_object *body;  /* an object; NULL: none was sent */
	struct serving *serving;
	struct worker *worker;
	char *parts[PARTS_MOST]; /* what stands in place of the operation's `*` */
	struct served *served;   /* whose `open` is read; NULL: the operation is of no trace */
	struct reply *reply;
	struct buf *out;  /* the reply's body */
	struct error err; /* of what failed: it becomes the reply unless reply->status is set */
};

/*
 * Answers any bytes: the door for sockets and for tests. `path` is below the token and as it came.
 * *reply is the caller's, to be released with buf_release(&reply->body).
 */
void serving_answer(struct serving *serving, struct worker *worker, const char *method,
		    const char *path, const char *body, size_t len, struct reply *reply);

struct operation {
	const char *method, *pattern; /* "experiments/ * /outputs", without the blanks */
	bool (*run)(struct served_request *request); /* false: request->err */
	enum {
		OF_SERVER,
		/* The trace is found and locked first, by parts[0]: a UUID, for the page a number.
		 */
		OF_TRACE,
		OF_MODEL /* the same; it writes what json_open() begins */
	} of;
};
extern const struct operation service_operations[], table_operations[], graph_operations[],
	xy_operations[], data_operations[], annotation_operations[], config_operations[],
	page_operations[];

/* served_state() for the request's trace and worker; NULL: request->err. */
struct state *request_state(struct served_request *request, unsigned config);

/* {"title": what is wrong} with a status. Returns false, with *err of no kind. */
bool reply_fails(struct reply *reply, unsigned status, const char *title);

/* ---- parameters (parameters.c) ---- */

/* A member, also of the object "parameters" inside the body; NULL: there is none. */
struct json_object *request_get(const struct served_request *request, const char *name);
/* An integer member, kept within the bounds; `usual` where there is none. */
int64_t request_int(const struct served_request *request, const char *name, int64_t least,
		    int64_t most, int64_t usual);
const char *request_text(const struct served_request *request, const char *name); /* NULL: none */

struct asked_range {
	nstime begin, end; /* [begin, end), within the trace; never empty */
	uint32_t columns;  /* 0: not told */
};
/* requested_timerange {start, end, nbTimes}, else requested_times, else the trace's own. */
struct asked_range request_range(const struct served_request *request);
/* requested_times: the i-th; false: there is no such. */
bool request_time(const struct served_request *request, size_t i, nstime *out);
size_t request_items(const struct served_request *request, int64_t *items, size_t most);

/* ---- JSON ---- */

/* {"status": and "statusMessage", "model": in the place of what was written; what follows ends it.
 */
void json_open(struct buf *out, const char *status, const char *message);
/* json_add_key() and a text. */
void json_add_member(struct buf *out, const char *key, const char *text);
/*
 * A double, where it is a whole number as one; NaN and infinities are 0. At most 15 characters:
 * what is longer json-bigint 1.0 takes for an integer.
 */
void json_add_number(struct buf *out, double number);

#endif
