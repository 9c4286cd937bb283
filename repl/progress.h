/* progress.h - a bar on standard error for work that takes longer than a second */
#ifndef REPL_PROGRESS_H
#define REPL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress;

/* `force`: if standard error is no terminal, prints lines. NULL: there is nothing to show on. */
struct progress *progress_new(bool force);
void progress_free(struct progress *progress); /* clears the bar; NULL is fine */

/* `done` of `all`, in whatever unit. Cheap: looks at the clock, seldom writes. NULL is fine. */
void progress_show(struct progress *progress, uint64_t done, uint64_t all);
/* The same for work of unknown length: shows a text instead of a share. */
void progress_text(struct progress *progress, const char *text);
void progress_clear(struct progress *progress); /* before other text; the next work starts anew */

#endif
