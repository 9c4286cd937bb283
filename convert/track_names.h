/*
 * track_names.h - what threads and interrupts were called when, and whose threads they were
 *
 * Told by intervals of thread[T]/name, thread[T]/process, irq[I]/name and softirq[V]/name.
 */
#ifndef CONVERT_TRACK_NAMES_H
#define CONVERT_TRACK_NAMES_H

#include "state/model/moment.h"
#include "state/rules/rules.h"

struct track_names;

/* What track_names_learn() takes; of it the names of threads. Each ended by NULL. */
extern const char *const track_names_paths[], *const track_thread_names_paths[];
/* The attributes that are drawn on tracks unless others are asked for; ended by NULL. */
extern const char *const track_paths[];

struct track_names *track_names_new(void);
void track_names_free(struct track_names *names); /* NULL is fine */
/* Takes the interval if it is one of these. */
bool track_names_learn(struct track_names *names, const struct interval *interval);

enum track_kind { TRACK_THREAD, TRACK_IRQ, TRACK_SOFTIRQ };
/* At `t`, else the nearest one known; NULL: none is. */
const char *track_name(const struct track_names *names, enum track_kind kind, int64_t key,
		       nstime t);
/* NULL also when its first name comes later. */
const char *track_name_at(const struct track_names *names, enum track_kind kind, int64_t key,
			  nstime t);
/* The thread that was learned first at or behind place *at, from 0; false: there is none. */
bool track_next_thread(const struct track_names *names, size_t *at, int64_t *tid);
/* The process of a thread; -1: not known. */
int64_t track_process(const struct track_names *names, int64_t tid);

/* "ROOT[KEY]/..." with a number as key: *rest is what follows the slash. */
bool path_split(const char *path, const char *root, int64_t *key, const char **rest);

#endif
