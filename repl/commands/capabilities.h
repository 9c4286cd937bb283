/*
 * capabilities.h - which questions a trace can answer: which classes write which attributes
 */
#ifndef REPL_COMMANDS_CAPABILITIES_H
#define REPL_COMMANDS_CAPABILITIES_H

#include "repl/session.h"

struct capability {
	const char *path; /* a shape: cpu[*]/thread */
	bool known;
	char *from;        /* known: the classes that write it; owned */
	const char *needs; /* not known: what would */
};

struct capabilities {
	struct capability *items;
	size_t count, capacity;
};

MUST_CHECK bool capabilities_find(struct session *session, struct capabilities *out,
				  struct error *err);
void capabilities_release(struct capabilities *capabilities);

#endif
