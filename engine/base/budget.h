/*
 * budget.h - how much memory a question may take, and how much it has taken
 *
 * The program calls budget_begin() when a question begins, and budget_is_over() wherever it checks
 * for Ctrl-C. That measures the process's memory at most some fifty times a second, and after a
 * large block was allocated.
 */
#ifndef ENGINE_BASE_BUDGET_H
#define ENGINE_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct memory_used {      /* by the process, bytes; all 0: not known */
	size_t anonymous; /* resident pages that belong to no file */
	size_t size;      /* address space, which RLIMIT_AS limits */
	size_t data;      /* private writable pages, which RLIMIT_DATA limits */
};

struct memory_used memory_used(void);

/*
 * Begins a question. The process's anonymous memory may grow to `wanted` bytes or, when that is 0,
 * by most of what the machine and the control group have left. In both cases it must stay below the
 * process's own limits (ulimit -v, -d).
 */
void budget_begin(size_t wanted);
/* The most anonymous memory that the process may have, bytes; SIZE_MAX: no limit. */
size_t budget_most(void);
/* To be called after a large block was allocated: makes the next budget_is_over() measure. */
void budget_grew(void);
/* Does the process have more memory than the question may take? For any thread. */
bool budget_is_over(void);
/* After budget_is_over() was true: the limit and what grew most, as a static text. */
const char *budget_text(void);

/*
 * A kind of data that may grow with a question, for budget_text(); `what` is a noun in the plural.
 * Its owners call grown_add() with the bytes by which it grew or, below 0, shrank. Only the few
 * kinds that can become large need one.
 */
struct grown {
	const char *what;
	atomic_llong bytes;
	atomic_bool listed;
	struct grown *next;
};

void grown_add(struct grown *grown, long long bytes);

#endif
