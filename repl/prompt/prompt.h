/*
 * prompt.h - the prompt: commands and Lua over one trace, with a current moment and range
 *
 * On a terminal it edits lines, keeps a history and pages long output; otherwise it reads plain
 * lines and echoes nothing.
 */
#ifndef REPL_PROMPT_PROMPT_H
#define REPL_PROMPT_PROMPT_H

struct session;

/* Asks and answers until the end of input or `quit`. Returns the program's exit status. */
int prompt_run(struct session *session);

#endif
