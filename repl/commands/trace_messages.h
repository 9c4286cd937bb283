/* trace_messages.h - what workers and their parent say to each other, in bytes of a pipe */
#ifndef REPL_COMMANDS_TRACE_MESSAGES_H
#define REPL_COMMANDS_TRACE_MESSAGES_H

#include "repl/commands/trace_workers.h"

/* A message is a kind, its length and so much; both sides are one program on one machine. */
enum message_kind { MESSAGE_COLUMNS = 'c', MESSAGE_ROW = 'r', MESSAGE_END = 'e' };
struct message {
	enum message_kind kind;
	const char *bytes; /* borrowed from the buffer */
	size_t len, all;   /* all: with its head */
};

struct trace_worker {
	int fd;
	struct buf out;
};

/* Writes what waits. False: the parent has gone. */
MUST_CHECK bool worker_flush(struct trace_worker *worker, struct error *err);
MUST_CHECK bool worker_end(struct trace_worker *worker, bool ok, uint64_t damaged,
			   const struct error *cause, struct error *err);

/* The message at the front of the bytes; false: it is not whole yet. */
bool message_next(const char *bytes, size_t len, struct message *out);
/* Columns or values of a message, to be ended with mem_free(); their texts are borrowed from it. */
struct sql_column *message_columns(const struct message *message, size_t *count);
struct sql_value *message_values(const struct message *message, size_t *count);
void message_end(const struct message *message, struct worker_end *out);

#endif
