/* progress.h - a bar on standard error for work that takes longer than a second */
#ifndef REPL_PROGRESS_H
#define REPL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress;

/* `force`: also when standard error is no terminal, then as lines. NULL: never shows anything. */
struct progress *progress_new(bool force);
void progress_free(struct progress *progress); /* clears the bar; NULL is fine */

/* `done` of `all`, in whatever unit. Cheap: looks at the clock, seldom writes. NULL is fine. */
void progress_show(struct progress *progress, uint64_t done, uint64_t all);
/* The same where nobody knows how much there will be: a text that says how far it is. */
void progress_text(struct progress *progress, const char *text);
void progress_clear(struct progress *progress); /* before other text; the next work starts anew */

#endif
