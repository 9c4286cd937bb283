/*
 * track_names.h - names of threads and interrupts over time, and the process of each thread
 *
 * Source: intervals of thread[T]/name, thread[T]/process, irq[I]/name and softirq[V]/name.
 */
#ifndef CONVERT_TRACK_NAMES_H
#define CONVERT_TRACK_NAMES_H

#include "state/model/moment.h"
#include "state/rules/rules.h"

struct track_names;

/*
 * Paths of the intervals for track_names_learn(); the second list has those of threads only. Both
 * end with NULL.
 */
extern const char *const track_names_paths[], *const track_thread_names_paths[];
/* Attributes that are drawn as tracks by default; ended by NULL. */
extern const char *const track_paths[];

struct track_names *track_names_new(void);
void track_names_free(struct track_names *names); /* NULL is fine */
/* Stores the interval if it is of one of these paths; else returns false. */
bool track_names_learn(struct track_names *names, const struct interval *interval);

enum track_kind { TRACK_THREAD, TRACK_IRQ, TRACK_SOFTIRQ };
/* The name at `t`, else the nearest in time; NULL: no name is known. */
const char *track_name(const struct track_names *names, enum track_kind kind, int64_t key,
		       nstime t);
/* The same, but NULL if the first name comes after `t`. */
const char *track_name_at(const struct track_names *names, enum track_kind kind, int64_t key,
			  nstime t);
/*
 * Iterates over the threads in the order in which they were stored; start with *at = 0. False: no
 * more.
 */
bool track_next_thread(const struct track_names *names, size_t *at, int64_t *tid);
/* The process of a thread; -1: not known. */
int64_t track_process(const struct track_names *names, int64_t tid);

/*
 * Splits "ROOT[KEY]/REST" with a numeric key; *rest points behind the slash. False: no such path.
 */
bool path_split(const char *path, const char *root, int64_t *key, const char **rest);

#endif
