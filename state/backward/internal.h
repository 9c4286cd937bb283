/*
 * internal.h - questions, pending writes and the pass that owns them
 *
 * A question has an attribute and a key: what is the value just before this key? It is OPEN while
 * the pass reads down from the key, until it finds a write (`best`) that is certain, or nearly so.
 * Then it waits only for pending writes in between, and for the written value.
 *
 * A pending write is one line at one event. It waits while its target, its condition, or whether it
 * fails is not known.
 */
#ifndef STATE_BACKWARD_INTERNAL_H
#define STATE_BACKWARD_INTERNAL_H

#include "engine/base/arena.h"
#include "state/backward/backward.h"
#include "state/events/capture.h"

enum question_state {
	QUESTION_LATER, /* not begun: its key is not reached yet, or it waits for the next round */
	QUESTION_OPEN,
	QUESTION_CLOSED, /* `best` is found */
	QUESTION_DONE,
	QUESTION_MERGED, /* has the same answer as another question, `merged` */
	QUESTION_BEYOND  /* no certain write above the floor */
};

struct waiter {
	struct question *question; /* one of these two waits */
	struct pending_write *pending;
	struct waiter *next;
};

struct question {
	uint32_t attr, bit;
	enum question_state state;
	bool queued;
	uint32_t round; /* in which it was opened last */
	uint32_t place; /* index in pass->live */
	struct order key;
	struct pending_write *best; /* if CLOSED: the (nearly) certain write; NULL: the bottom */
	struct pending_write *was;  /* the oldest known `was`, with no pending write above it */
	struct question *merged;
	struct waiter *waiters;
	struct fact fact; /* fact.low is set once it is CLOSED */
};

struct question_list {
	struct question **items;
	size_t count, capacity;
};

struct asked_questions { /* all questions of an attribute, by falling key */
	struct question_list all;
	struct question_list begun; /* all but LATER and MERGED ones */
};

struct upward { /* iterates over `begun` towards greater keys */
	struct question **items;
	size_t left;
};
static inline struct question *upward_next(struct upward *walk)
{
	return walk->left ? walk->items[--walk->left] : NULL;
}

enum pending_state { PENDING_OPEN, PENDING_PROVED, PENDING_DEAD };

struct pending_write {
	const struct step_of *step;
	struct order key, read_key;
	enum pending_state state;
	uint32_t round; /* in which it was made */
	bool queued, has_value;
	uint32_t attr; /* ATTR_ABSENT: `pattern` */
	struct pattern *pattern;
	struct capture *event; /* a copy of its event; NULL: it is the present event */
	struct value value;
	const struct stream *stream; /* stream of its event */
	bool prunes;                 /* only keys of its target are open, each a plain read, of: */
	struct question **keys;
	struct waiter *watchers; /* questions to check again when it is decided or has its value */
	struct pending_write *newer, *older; /* list of all pending writes, by key */
	struct pending_write *same_line;     /* next in pass->of_line */
	struct writer writer;
};

struct waiters { /* questions and pending writes to check again */
	struct waiter *items;
	size_t count, capacity;
};

struct backward {
	struct backward_options options;
	const struct closure *closure;
	struct program *program;
	struct attrs *attrs;
	struct arena *arena;
	struct env env;
	struct event_pass event_source;
	struct error *err;
	bool failed, gave_up;
	const struct cells *base; /* NULL until needed */

	struct number_map asked_of; /* attribute → 1 + index into `asked` */
	struct asked_questions *asked;
	size_t nasked, asked_capacity;
	struct question_list live;  /* all that are OPEN or CLOSED */
	struct question_list later; /* all LATER ones below `reached`: a heap, greatest key first */
	struct question_list missed; /* all LATER ones above it, for the next round */
	struct question_list fresh;  /* opened at the present event, to be merged after its lines */
	struct question_list roots;
	size_t roots_done;
	size_t nopen;
	uint32_t *open_per_bit;
	uint32_t *open_below; /* by attribute: number of open questions at it or below it */
	size_t nopen_below;
	uint64_t *open_bits;
	struct order *opened; /* by bit of a shape: least key opened in this round */
	struct pending_write *newest, *oldest;
	uint32_t npending;
	uint32_t *pending_per_bit; /* those that write only attributes of the bit's shape */
	uint32_t npending_wide;  /* number of those that delete subtrees */
	uint32_t round; /* from 1 */
	struct waiters work;
	uint64_t *failing; /* bit per statement of which a pending write failed */
	struct pending_write **of_line;     /* by statement: those with `prunes`, newest first */
	struct pending_write **new_pending; /* those of the present event */
	size_t nnew_pending, new_pending_capacity;

	/* where the pass stands */
	struct event_item item;
	const struct fields *fields; /* of the item; NULL until decoded */
	struct pattern pattern;      /* target of the present line */
	struct capture *captured;    /* a copy of the item; NULL until a pending write needs it */
	bool standing; /* at `item`: its lines at `slot` and above are done or being done */
	bool entering;               /* about to stand at item */
	bool merging;                /* all event lines of `plan` are done */
	uint32_t slot;
	struct order reached; /* all events at or above it were visited */
	struct order stood;   /* place where the last round ended */
	nstime floor;         /* the horizon's floor in this round */
	bool spent;           /* everything above the horizon's floor was read for all questions */
	const struct class_steps *plan; /* lines of the item that are being evaluated */
	uint32_t merge_slot;            /* questions of the item at lower slots are not merged */
	bool wider;       /* a new question needs events that the event filter drops */
	uint32_t widened; /* how often the filter was widened */
	size_t sieved;    /* number of questions when the filter was last set */

	/* event whose line is being evaluated */
	const struct event_item *reading;
	struct order read_key;
	struct waiter asker; /* who waits for the values that the line reads */
	bool asks;           /* open reads become questions */

	uint64_t visits;
	uint32_t rounds; /* number of rounds that began above the end of the last one */
};

/* questions.c */
size_t list_add(struct question_list *list, struct question *question); /* returns its index */
struct question *question_ask(struct backward *pass, uint32_t attr, const struct order *key);
/* An open or beyond question that has the same answer as one at `key`; NULL: there is none. */
struct question *question_above(struct backward *pass, uint32_t attr, const struct order *key);
const struct fact *question_fact(struct backward *pass, uint32_t attr, const struct order *key);
struct question *question_final(struct question *question);
void question_close(struct backward *pass, struct question *question, struct pending_write *best);
void question_done(struct backward *pass, struct question *question);
void question_beyond(struct backward *pass, struct question *question);
void question_later(struct backward *pass, struct question *question);
struct question *question_take(struct backward *pass);
void question_begin(struct backward *pass, struct question *question);
/* Iterates over the attribute's begun questions, from `key` up. None may begin meanwhile. */
struct upward questions_from(struct backward *pass, uint32_t attr, const struct order *key);
struct order base_order(const struct backward *pass); /* events below are not read */
void questions_suspend(struct backward *pass);
void questions_merge_fresh(struct backward *pass);
void questions_release(struct backward *pass);
/* wait_for() adds to a list; wake() empties it, and queues all in it to be checked again. */
void wait_for(struct backward *pass, struct waiter **list, struct waiter who);
void wake(struct backward *pass, struct waiter **list);

bool same_event(const struct order *a, const struct order *b);

/* pending.c */
struct pending_write *pending_between(const struct backward *pass, const struct question *question,
				      const struct order *low);
void pending_look(struct backward *pass, const struct step_of *step);
void pending_remove(struct backward *pass, struct pending_write *pending);
void pending_again(struct backward *pass, struct pending_write *pending);
bool pending_value(struct backward *pass, struct pending_write *pending);

/* pending_prune.c */
void pending_keys(struct backward *pass, struct pending_write *pending);
bool pending_is_lost(struct backward *pass, const struct step_of *step, const struct order *key,
		     const struct order *read_key);
void pending_prune(struct backward *pass);

/* resolve.c */
void resolve_all(struct backward *pass);

#endif
