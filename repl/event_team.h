/* event_team.h - several threads that make rows, for event_rows.c alone */
#ifndef REPL_EVENT_TEAM_H
#define REPL_EVENT_TEAM_H

#include "repl/render.h"
#include "repl/session.h"

struct event_team;

struct event_team_setup {
	struct session *session; /* its trace is open */
	enum format format;
	const struct times *times; /* as the rows that were written before left them */
	struct sink *sink;
	bool backward;    /* runs are taken from their ends */
	unsigned threads; /* the caller's among them */
};

struct event_team *event_team_new(const struct event_team_setup *setup);
/* Stops at once: what is not written yet is dropped. What was said is said. */
void event_team_free(struct event_team *team);

/* As event_rows.h. */
bool event_team_run(struct event_team *team, const struct run *run, uint32_t first, uint32_t count);
bool event_team_loss(struct event_team *team, const struct event *loss);
bool event_team_tick(struct event_team *team);
bool event_team_end(struct event_team *team);

#endif
