/*
 * serving.h - what the files of the server share: traces, workers, a request and its reply
 *
 *     server.c: sockets ──> queue ──> worker ──> request.c: operation? ──> tsp_*.c, page_api.c
 *
 * A worker answers one request at a time, with states of its own, so that no request waits for
 * another. The keeper is one more worker: it counts events and opens traces again that grew.
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
	KEEPER = WORKERS,    /* its index among the workers */
	ANSWER_MS = 20000,   /* a request that takes longer is given up */
	NAMES_MS = 200,      /* time limit for names of threads in a reply */
	CONFIGS = 9,         /* the trace's own rules, and those that clients upload */
	PARTS_MOST = 4,      /* most parts of a path that stand for a `*` */
	ITEMS_MOST = 20000,  /* most rows, times or lines of a request */
	COLUMNS_MOST = 16384 /* most pixels of a request */
};

/* A class of attributes, as written in rules: one output in a viewer. */
struct row_class {
	char *path;   /* cpu[*]/thread */
	char *id;     /* cpu.thread: its id in URLs */
	bool numbers; /* its values are numbers to draw as a line; the keeper sets it */
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

/* Rules that a client uploaded. Number 0 is each trace's own rule set. */
struct rule_config {
	char *id, *name, *description, *text; /* id NULL: the number is free */
};

void rule_config_release(struct rule_config *config);
/* Parses and checks the rules; the caller frees them. NULL: *err. */
struct rules *rule_config_read(const struct rule_config *config, struct error *err);

struct served_state { /* a worker's rules and state of a trace and rule set */
	struct rules *rules;
	struct state *state; /* NULL: not opened yet */
};

struct served {
	const struct serve_trace *source;
	char uuid[UUID_TEXT], experiment[UUID_TEXT];
	char *name, *path;     /* `path` has no symbolic links */
	pthread_rwlock_t open; /* write-locked to open the trace again; read-locked to answer */
	struct index *index;
	nstime first, last;                  /* of its events; first > last: no events */
	struct row_classes classes[CONFIGS]; /* by rule set */
	struct served_state places[WORKERS + 1][CONFIGS];
	uint64_t generation; /* counts openings */
	_Atomic bool looked; /* the keeper has set row_class.numbers */
	_Atomic bool closed; /* a client closed it: lists leave it out */

	pthread_mutex_t lock;        /* for all below */
	struct event_counts *counts; /* NULL: the keeper is still counting */
	struct nameset numbers;      /* numbers of rows by path, from 1 */
	char **paths;                /* paths of rows, by number - 1 */
	size_t npaths, paths_capacity;
	struct bookmark *bookmarks;
	size_t nbookmarks, bookmarks_capacity;
};

struct worker {
	struct serving *serving;
	unsigned number;
	int64_t until;              /* clock_ms() at which the current request is given up */
	volatile sig_atomic_t stop; /* 1: given up; scripts read it */
};

struct serving {
	const struct serve_options *options;
	struct served *traces;
	size_t ntraces;
	struct worker workers[WORKERS + 1];
	_Atomic bool stops;
	pthread_mutex_t lock; /* protects the configs */
	struct rule_config configs[CONFIGS];
};

/* Opens all traces and starts no thread. False: *err. */
MUST_CHECK bool serving_init(struct serving *serving, const struct serve_options *options,
			     struct error *err);
void serving_release(struct serving *serving);

/* ---- traces (served.c) ---- */

/* The `progress` callback of states and cursors; `worker` is its argument. False: time is up. */
bool worker_goes_on(void *worker, nstime at, nstime first, nstime last);
void worker_begin(struct worker *worker, int64_t ms); /* begins a request and its time limit */

/*
 * Returns the worker's state for the rule set; the first call opens it. NULL: *err. Needs
 * served->open.
 */
MUST_CHECK struct state *served_state(struct served *served, struct worker *worker, unsigned config,
				      struct error *err);
/* Lists the classes of attributes that the rules write for this trace. False: *err. */
MUST_CHECK bool served_read_classes(struct served *served, struct rules *rules,
				    struct row_classes *out, struct error *err);
void row_classes_release(struct row_classes *classes);
/* The number of a row; it stays the same while the server runs; never 0. */
uint32_t served_number(struct served *served, const char *path);
const char *served_path(struct served *served, int64_t number); /* NULL: no such row */
/* The class with the id of an output, and *config, its rule set; NULL: none. */
struct row_class *served_class(struct served *served, const char *id, unsigned *config);
/*
 * Closes states and classes of a rule set that is changed or deleted; needs served->open for
 * writing.
 */
void served_close_config(struct served *served, unsigned config);
void *keeper_run(void *worker); /* the keeper's thread */

/* ---- how many events (event_counts.c) ---- */

/* Adds up numbers of events in a sweep on all threads. */
struct events_counting {
	struct worker *worker;
	nstime begin, end; /* of the events */
	/* Adds the events of a run to `in`, which has `count` numbers. Called by any thread. */
	void (*add)(const void *arg, const struct run *events, uint64_t *in);
	const void *arg;
	size_t count;
	uint64_t *out; /* the sums are added to these */
};
MUST_CHECK bool events_count(struct served *served, struct events_counting *counting,
			     struct error *err);
/*
 * Counts all events in buckets of equal time. Ranks are then found, and densities drawn, without
 * reading the events before. Needs served->open. False: *err.
 */
MUST_CHECK bool event_counts_make(struct served *served, struct worker *worker,
				  struct event_counts **out, struct error *err);
void event_counts_free(struct event_counts *counts); /* NULL is fine */
/* The trace's counts; NULL: the keeper is still counting. Borrowed while served->open is held. */
const struct event_counts *served_counts(struct served *served);
uint64_t event_counts_all(const struct event_counts *counts);
/* Number of events in [begin, end), exact except for the buckets at both ends. */
uint64_t event_counts_between(const struct event_counts *counts, nstime begin, nstime end);
/*
 * A bucket: its bounds, the rank of its first event, and its events. event_counts_find() finds the
 * one with a rank; false: no such event.
 */
struct event_bucket {
	nstime begin, end;
	uint64_t first, count;
};
bool event_counts_find(const struct event_counts *counts, uint64_t rank, struct event_bucket *out);
/* The bucket of a moment; the first or last one for moments outside. */
void event_counts_at(const struct event_counts *counts, nstime t, struct event_bucket *out);
/* The length of a bucket in ns. */
uint64_t event_counts_grain(const struct event_counts *counts);

/* ---- requests (request.c) ---- */

struct reply {
	unsigned status;
	const char *type;
	struct buf body;
};

struct served_request {
	const char *method, *path; /* path: behind the token and '/', percent-decoded */
	struct json_object *body;  /* a JSON object; NULL: none was sent */
	struct serving *serving;
	struct worker *worker;
	char *parts[PARTS_MOST]; /* the path's parts at the `*` of operation.pattern */
	struct served *served;   /* read-locked; NULL: the operation needs no trace */
	struct reply *reply;
	struct buf *out;  /* the reply's body */
	struct error err; /* of the failure; becomes the reply unless reply->status is set */
};

/*
 * Answers a request of any bytes; the server and tests call it. `path` is the part behind the
 * token, not decoded. The caller releases *reply with buf_release(&reply->body).
 */
void serving_answer(struct serving *serving, struct worker *worker, const char *method,
		    const char *path, const char *body, size_t len, struct reply *reply);

struct operation {
	const char *method, *pattern; /* "experiments/ * /outputs", without the blanks */
	bool (*run)(struct served_request *request); /* false: request->err */
	enum {
		OF_SERVER,
		/*
		 * parts[0] names the trace, by UUID or, for the page, number; it is locked before
		 * run().
		 */
		OF_TRACE,
		OF_MODEL /* the same; json_open() is called before run(), which writes the model */
	} of;
};
extern const struct operation service_operations[], table_operations[], graph_operations[],
	xy_operations[], data_operations[], annotation_operations[], config_operations[],
	page_operations[];

/* served_state() of the request's trace and worker; NULL: request->err. */
struct state *request_state(struct served_request *request, unsigned config);

/* Replaces the reply by {"title": `title`} with a status. Returns false and leaves err unset. */
bool reply_fails(struct reply *reply, unsigned status, const char *title);

/* ---- parameters (parameters.c) ---- */

/* A member of the body or of its object "parameters"; NULL: none. */
struct json_object *request_get(const struct served_request *request, const char *name);
/* An integer member, clamped to [least, most]; `usual` if there is none. */
int64_t request_int(const struct served_request *request, const char *name, int64_t least,
		    int64_t most, int64_t usual);
const char *request_text(const struct served_request *request, const char *name); /* NULL: none */

struct asked_range {
	nstime begin, end; /* [begin, end), within the trace; never empty */
	uint32_t columns;  /* 0: not given */
};
/*
 * The requested range: requested_timerange {start, end, nbTimes}, else requested_times, else all.
 */
struct asked_range request_range(const struct served_request *request);
/* The i-th of requested_times; false: there are fewer. */
bool request_time(const struct served_request *request, size_t i, nstime *out);
size_t request_items(const struct served_request *request, int64_t *items, size_t most);

/* ---- JSON ---- */

/*
 * Replaces the content of `out` by {"status": ..., "statusMessage": ..., "model": for the caller to
 * append the model and '}'.
 */
void json_open(struct buf *out, const char *status, const char *message);
/*
 * Appends a number: whole ones without a point, NaN and infinities as 0. At most 15 characters:
 * json-bigint 1.0 reads longer ones as integers.
 */
void json_add_number(struct buf *out, double number);

#endif
