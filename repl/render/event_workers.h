/* event_workers.h - several threads that make rows, for event_rows.c alone */
#ifndef REPL_RENDER_EVENT_WORKERS_H
#define REPL_RENDER_EVENT_WORKERS_H

#include "repl/render/render.h"
#include "repl/session.h"

struct event_workers;

struct event_workers_setup {
	struct session *session; /* its trace is open */
	enum format format;
	const uint64_t *classes;   /* as of event_rows_new() */
	const struct times *times; /* as the rows that were written before left them */
	struct sink *sink;
	bool backward;    /* runs are taken from their ends */
	unsigned threads; /* the caller's among them */
};

struct event_workers *event_workers_new(const struct event_workers_setup *setup);
/* Stops at once: what is not written yet is dropped. What was said is said. */
void event_workers_free(struct event_workers *pool);

/* As event_rows.h. */
bool event_workers_run(struct event_workers *pool, const struct run *run, uint32_t first,
		       uint32_t count);
bool event_workers_loss(struct event_workers *pool, const struct event *loss);
bool event_workers_tick(struct event_workers *pool);
bool event_workers_end(struct event_workers *pool);

#endif
