/*
 * budget.h - how much memory a question may take, and what it takes
 *
 * The program says when a question begins. What it asks where it looks for Ctrl-C is
 * budget_is_over(): it measures at most some fifty times a second, and after a large block was
 * taken.
 */
#ifndef ENGINE_BASE_BUDGET_H
#define ENGINE_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct memory_used {      /* by the process, bytes; all 0: the system does not tell */
	size_t anonymous; /* resident, and no page of a file */
	size_t size;      /* of its address space: RLIMIT_AS is of that */
	size_t data;      /* private and writable: RLIMIT_DATA */
};

struct memory_used memory_used(void);

/*
 * A question begins: it may let the process's anonymous memory grow to `wanted` bytes, or, where
 * that is 0, by most of what the machine and the control group have left. Either way it may not
 * come near the process's own limits (ulimit -v, -d).
 */
void budget_begin(size_t wanted);
/* How many anonymous bytes the process may have, by any limit; SIZE_MAX: nothing says. */
size_t budget_most(void);
/* A large block was taken: the next look measures. */
void budget_grew(void);
/* Does it have more than it may? Callable from any thread. */
bool budget_is_over(void);
/* Once it was over: what the limit was, and what grew most. Returns text of static life. */
const char *budget_text(void);

/*
 * What may grow with a question, by its name in the plural. Those who hold it say by how many bytes
 * it grew or, less than 0, shrank; a few are enough.
 */
struct grown {
	const char *what;
	atomic_llong bytes;
	atomic_bool listed;
	struct grown *next;
};

void grown_add(struct grown *grown, long long bytes);

#endif
