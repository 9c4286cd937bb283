/*
 * internal.h - questions, pending writes and the pass that owns them
 *
 * question:       an attribute just below a key. It is OPEN while the pass reads down from its key,
 *                 until a write (its `best`) is met that is certain, or as good as certain; then it
 *                 only waits for pending writes in between and for the value.
 * pending write:  one line at one event. It waits while its target, condition or failure is not
 *                 known.
 */
#ifndef STATE_BACKWARD_INTERNAL_H
#define STATE_BACKWARD_INTERNAL_H

#include "engine/base/arena.h"
#include "state/backward/backward.h"
#include "state/events/capture.h"

enum question_state {
	QUESTION_LATER, /* above the place where the pass stands: the next round's */
	QUESTION_OPEN,
	QUESTION_CLOSED, /* has its best */
	QUESTION_DONE,
	QUESTION_MERGED, /* is the same as another */
	QUESTION_BEYOND  /* nothing above the floor wrote it for certain */
};

struct waiter {
	struct question *question; /* one of the two */
	struct pending_write *pending;
	struct waiter *next;
};

struct question {
	uint32_t attr, bit;
	enum question_state state;
	bool queued;
	uint32_t round; /* in which it was opened */
	uint32_t place; /* in pass->live */
	struct order key;
	struct pending_write *best; /* CLOSED: NULL is the bottom; it may be undecided */
	struct pending_write *was;  /* the oldest of those that need nothing more */
	struct question *merged;
	struct waiter *waiters;
	struct fact fact; /* fact.low is right as soon as it is CLOSED */
};

struct question_list {
	struct question **items;
	size_t count, capacity;
};

struct asked_questions { /* questions of an attribute, by falling key */
	struct question_list all;
	struct question_list begun; /* without those that are LATER or MERGED */
};

struct upward { /* goes over those that were begun, to greater keys */
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
	struct capture *event; /* NULL: it is the event where the pass stands */
	struct value value;
	const struct stream *stream; /* of its event */
	bool prunes;                 /* only its keys are open, and each is one question: */
	struct question **keys;
	struct waiter *watchers; /* questions that look again when it is decided or has its value */
	struct pending_write *newer, *older; /* of all of the pass */
	struct pending_write *same_line;     /* the next that prunes, in pass->of_line */
	struct writer writer;
};

struct waiters { /* things to look at again */
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
	const struct cells *base; /* once it was needed */

	struct number_map asked_of; /* attribute → 1 + its place in `asked` */
	struct asked_questions *asked;
	size_t nasked, asked_capacity;
	struct question_list live;   /* OPEN and CLOSED */
	struct question_list later;  /* LATER and below `reached`: a heap, greatest key first */
	struct question_list missed; /* LATER and above it: the next round's */
	struct question_list fresh;  /* opened at this event, merged when its lines are done */
	struct question_list roots;
	size_t roots_done;
	size_t nopen;
	uint32_t *open_per_bit;
	uint32_t *open_below; /* by attribute: open questions at it or below */
	size_t nopen_below;
	uint64_t *open_bits;
	struct order *opened; /* per bit: the least key opened in this round */
	struct pending_write *newest, *oldest;
	uint32_t npending;
	uint32_t *pending_per_bit; /* those that write attributes of the bit's shape alone */
	uint32_t npending_wide;    /* those that bury what is below */
	uint32_t round; /* from 1 */
	struct waiters work;
	uint64_t *failing; /* statements of which a pending write came to nothing */
	struct pending_write **of_line;     /* by statement: those that prune, the last added first */
	struct pending_write **new_pending; /* of the event where the pass stands */
	size_t nnew_pending, new_pending_capacity;

	/* where the pass stands */
	struct event_item item;
	const struct fields *fields; /* of the item, once they were decoded */
	struct pattern pattern;      /* of the line being looked at */
	struct capture *captured;    /* the item, once a pending write needs it */
	bool standing;               /* at item, its lines at `slot` and above done or being done */
	bool entering;               /* about to stand at item */
	bool merging;                /* all event lines of this program are done */
	uint32_t slot;
	struct order reached; /* everything at or above it was looked at */
	struct order stood;   /* where the last round ended */
	nstime floor;         /* the horizon's, of this round */
	bool spent;           /* all that the horizon has was read for all that was asked */
	const struct class_steps *plan; /* of the item, that is looked at */
	uint32_t merge_slot;  /* questions of the item below this one are not merged */
	bool wider;           /* a question came up whose events do not pass the event filter */
	uint32_t widened;     /* how often that was so */
	size_t sieved;        /* questions for which the event filter was set last */

	/* whose line is being evaluated */
	const struct event_item *reading;
	struct order read_key;
	struct waiter asker; /* who waits for what it reads, */
	bool asks;           /* from now on: what is open is asked for */

	uint64_t visits;
	uint32_t rounds; /* that began above the place where the last one ended */
};

/* questions.c */
size_t list_add(struct question_list *list, struct question *question); /* its place */
struct question *question_ask(struct backward *pass, uint32_t attr, const struct order *key);
/* One that is open, or beyond, of which one at `key` would be the same; NULL: none is. */
struct question *question_above(struct backward *pass, uint32_t attr, const struct order *key);
const struct fact *question_fact(struct backward *pass, uint32_t attr, const struct order *key);
struct question *question_final(struct question *question);
void question_close(struct backward *pass, struct question *question, struct pending_write *best);
void question_done(struct backward *pass, struct question *question);
void question_beyond(struct backward *pass, struct question *question);
void question_later(struct backward *pass, struct question *question);
struct question *question_take(struct backward *pass);
void question_begin(struct backward *pass, struct question *question);
/* Those of the attribute with keys of at least `key`. None is begun or merged meanwhile. */
struct upward questions_from(struct backward *pass, uint32_t attr, const struct order *key);
struct order base_order(const struct backward *pass); /* nothing below is read */
void questions_suspend(struct backward *pass);
void questions_merge_fresh(struct backward *pass);
void questions_release(struct backward *pass);
/* Adds to a list, and empties it: all in it are looked at again. */
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
