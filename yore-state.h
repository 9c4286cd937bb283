/*
 * yore-state.h - libyore-state: what was true at a moment of a trace
 *
 *     struct yore_state *state;
 *     struct yore_value value;
 *
 *     if (yore_state_open(yore, NULL, &state, &err) != 0)
 *             die(err.text);
 *     if (yore_state_at(state, t, "cpu[3]/thread", &value, NULL, &err) == 0 &&
 *         value.kind == YORE_VALUE_INT)
 *             printf("%lld\n", (long long)value.i);
 *     yore_state_close(state);
 *
 * libyore-state has all of libyore and, besides, the rules and the evaluation of state: a program
 * links one of the two. What yore.h says of errors, times and threads holds here; a `struct
 * yore_state` belongs to one thread at a time.
 */
#ifndef YORE_STATE_H
#define YORE_STATE_H

#include <yore.h>

#ifdef __cplusplus
extern "C" {
#endif

struct yore_state;

enum yore_value_kind {
	YORE_VALUE_UNKNOWN, /* nothing says it, or it was lost */
	YORE_VALUE_NONE,    /* known to be nothing */
	YORE_VALUE_INT,     /* i; as unsigned, u: the same 64 bits */
	YORE_VALUE_UINT,    /* u, above INT64_MAX */
	YORE_VALUE_DOUBLE,  /* f */
	YORE_VALUE_STRING,  /* text, len */
	YORE_VALUE_BOOL     /* i is 0 or 1 */
};

struct yore_value {
	enum yore_value_kind kind;
	int64_t i;
	uint64_t u;
	double f;
	const char *text; /* borrowed until the next call with the same state */
	size_t len;
};

struct yore_state_options {
	size_t size; /* sizeof(struct yore_state_options) */
	/* rule files, or names of sets, instead of all that come with yore */
	const char *const *rules;
	size_t nrules;
};

/* `options` may be NULL. The caller ends *out with yore_state_close(), before its trace. */
YORE_API int yore_state_open(struct yore *yore, const struct yore_state_options *options,
			     struct yore_state **out, struct yore_error *err);
YORE_API void yore_state_close(struct yore_state *state); /* NULL is fine */

/*
 * The value of an attribute ("cpu[3]/thread", no wildcards) after all events of time t. *since,
 * when wanted, is the time of the write that made it so, YORE_TIME_MIN when that is not known.
 * thread["make"]/state is that of the thread that is called so then; where several are, that is an
 * error, and where none is, the value is unknown. A name that no rule has is an error, too, which
 * tells those that there are; `say` is told that no event of the trace writes an attribute.
 */
YORE_API int yore_state_at(struct yore_state *state, int64_t t, const char *path,
			   struct yore_value *out, int64_t *since, struct yore_error *err);

/*
 * The intervals of all attributes that match `path` ("cpu[*]/thread", "thread[\"make\"]/state": of
 * all threads that are called so at some time of the range), as far as they touch [begin, end);
 * their true beginnings and ends, YORE_TIME_MIN and YORE_TIME_MAX where not known. Non-zero from
 * `each` ends it, and 0 is returned.
 */
YORE_API int yore_state_intervals(struct yore_state *state, int64_t begin, int64_t end,
				  const char *path,
				  int (*each)(void *arg, const char *attribute, int64_t from,
					      int64_t to, const struct yore_value *value),
				  void *arg, struct yore_error *err);

#ifdef __cplusplus
}
#endif

#endif
