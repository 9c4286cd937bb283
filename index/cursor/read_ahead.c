/*
 * read_ahead.c - see read_ahead.h
 *
 * The helper has other duties, too, during which the owner may use up many event blocks. When no
 * block is left, the owner takes the turn: it reads from the cursor directly, until the helper asks
 * for the turn. So neither waits for longer than one block takes, and the thread with more other
 * work reads less.
 *
 * The block that was emptied last is filled next, so that few blocks are in use. Blocks have no
 * values: to move 16 bytes for each slot from one core's cache to another's would cost more than to
 * read the trace's own bytes, so the owner decodes values.
 */
#include "index/cursor/read_ahead.h"

#include "engine/base/mem.h"
#include "index/cursor/event_block.h"
#include "index/index.h"

#include <stdatomic.h>

enum {
	RING = 64,   /* event blocks */
	RESTED = 48, /* after a full ring the helper waits until at most so many blocks are full */
};

enum turn {
	TURN_OWNER,  /* until the helper asks */
	TURN_HELPER, /* until it has filled a block */
	TURN_NOBODY
};

struct read_ahead {
	struct helper *helper;
	struct duty duty;
	bool (*progress)(void *arg, nstime at, nstime first, nstime last); /* NULL: not reported */
	void *progress_arg;

	/* whose turn it is: */
	struct events *events;
	struct event_block_filler *filler;
	struct run rest; /* the part of the cursor's run that did not fit in the block, if any */

	/* under the helper's lock: */
	enum turn turn;
	_Atomic bool asked;             /* the helper wants the turn; also read without the lock */
	struct event_block *ring[RING]; /* full ones */
	size_t oldest, full;
	struct event_block *idle[RING + 1];
	size_t nidle;
	bool rests; /* the ring was full, and has not emptied enough since */
	bool ended; /* the cursor has ended: `end` follows the full blocks */
	enum step end;
	struct error error;
	bool stop;
	bool news; /* not reported yet: */
	nstime at, first, last;

	/* the owner's */
	bool mine;       /* the turn is */
	struct event_block *block; /* being read; NULL: none is */
	size_t stretch;  /* the next of it */
	struct event_block_opener *opener;
};

/* ---- filling ---- */

/* The cursor's progress(): stores the position, for the owner's thread to report. */
static bool at_boundary(void *arg, nstime at, nstime first, nstime last)
{
	struct read_ahead *ahead = arg;
	bool stop;

	if (ahead->turn == TURN_OWNER)
		return ahead->progress(ahead->progress_arg, at, first, last);
	helper_lock(ahead->helper);
	ahead->at = at;
	ahead->first = first;
	ahead->last = last;
	ahead->news = true;
	stop = ahead->stop;
	helper_changed(ahead->helper);
	helper_unlock(ahead->helper);
	return !stop;
}

/* Fills a block from the cursor. STEP_ITEM: the block is full, and more follows. */
static enum step fill_block(struct read_ahead *ahead, struct event_block *block, struct error *err)
{
	struct run *rest = &ahead->rest;
	enum step step;
	uint32_t taken;

	event_block_begin(block);
	for (;;) {
		if (!rest->count) {
			step = events_next_run(ahead->events, rest, err);
			if (step != STEP_ITEM) {
				rest->count = 0;
				return step;
			}
			if (!rest->count && !event_block_add_loss(block, &rest->loss))
				return STEP_ITEM;
			if (!rest->count)
				continue;
		}
		taken = event_block_add(ahead->filler, block, rest, rest->first, rest->count);
		rest->first += taken;
		rest->count -= taken;
		if (rest->count)
			return STEP_ITEM;
	}
}

static bool read_ahead_is_due(void *arg)
{
	const struct read_ahead *ahead = arg;

	return !ahead->ended && !ahead->stop && !ahead->rests &&
	       !(ahead->turn == TURN_OWNER && ahead->asked);
}

/* The helper's duty: asks for the turn, or fills one block. */
static void do_duty(void *arg)
{
	struct read_ahead *ahead = arg;
	struct event_block *block;
	struct error err;
	enum step step;

	if (ahead->turn == TURN_OWNER) {
		ahead->asked = true;
		return;
	}
	ahead->turn = TURN_HELPER;
	block = ahead->nidle ? ahead->idle[--ahead->nidle] : NULL;
	helper_unlock(ahead->helper);
	if (!block)
		block = event_block_new();
	step = fill_block(ahead, block, &err);
	helper_lock(ahead->helper);
	ahead->turn = TURN_NOBODY;
	ahead->ring[(ahead->oldest + ahead->full++) % RING] = block;
	ahead->rests = ahead->full == RING;
	ahead->ended = step != STEP_ITEM;
	ahead->end = step;
	if (step == STEP_ERROR)
		ahead->error = err;
}

/* ---- the owner: event blocks ---- */

/* Reports progress. Under the lock, which it releases meanwhile. False: interrupted. */
static bool report(struct read_ahead *ahead)
{
	nstime at = ahead->at, first = ahead->first, last = ahead->last;
	bool goes_on;

	ahead->news = false;
	helper_unlock(ahead->helper);
	goes_on = ahead->progress(ahead->progress_arg, at, first, last);
	helper_lock(ahead->helper);
	ahead->stop = !goes_on;
	return goes_on;
}

/* Returns the block that the owner has read, to be filled again. Under the lock. */
static void give_back(struct read_ahead *ahead)
{
	if (!ahead->block)
		return;
	ahead->idle[ahead->nidle++] = ahead->block;
	ahead->block = NULL;
	if (ahead->rests && ahead->full <= RESTED) {
		ahead->rests = false;
		helper_changed(ahead->helper);
	}
}

static void take_oldest(struct read_ahead *ahead)
{
	ahead->block = ahead->ring[ahead->oldest];
	ahead->stretch = 0;
	ahead->oldest = (ahead->oldest + 1) % RING;
	ahead->full--;
}

/* Waits for a full block or the turn. STEP_ITEM: the owner has one of these. Under the lock. */
static enum step go_on(struct read_ahead *ahead, struct error *err)
{
	for (;;) {
		if (ahead->news && !report(ahead)) {
			error_set(err, ERR_INTERRUPTED, "interrupted");
			return STEP_ERROR;
		}
		if (ahead->full) {
			take_oldest(ahead);
			return STEP_ITEM;
		}
		if (ahead->ended) {
			if (ahead->end == STEP_ERROR)
				*err = ahead->error;
			return ahead->end;
		}
		if (ahead->turn != TURN_HELPER) {
			ahead->turn = TURN_OWNER;
			ahead->mine = true;
			ahead->asked = false;
			return STEP_ITEM;
		}
		helper_wait(ahead->helper);
	}
}

static enum step next_lot(struct read_ahead *ahead, struct error *err)
{
	enum step step;

	helper_lock(ahead->helper);
	give_back(ahead);
	step = go_on(ahead, err);
	helper_unlock(ahead->helper);
	return step;
}

static enum step next_stretch(struct read_ahead *ahead, struct run *out, struct error *err)
{
	struct event_block *block = ahead->block;
	const struct event_block_stretch *stretch = &block->stretches[ahead->stretch++];

	if (stretch->packet == EVENT_BLOCK_NO_PACKET) {
		out->count = 0;
		out->loss = block->losses[stretch->loss];
		return STEP_ITEM;
	}
	return event_block_run(ahead->opener, block, stretch, out, err) ? STEP_ITEM : STEP_ERROR;
}

/* ---- the owner: its own turn ---- */

/* Gives the turn to the helper, which has asked for it, unless it has an earlier duty to do. */
static void hand_over(struct read_ahead *ahead)
{
	helper_lock(ahead->helper);
	ahead->turn = TURN_NOBODY;
	ahead->mine = !helper_is_next(ahead->helper, &ahead->duty);
	ahead->turn = ahead->mine ? TURN_OWNER : TURN_HELPER;
	ahead->asked = false;
	helper_changed(ahead->helper);
	helper_unlock(ahead->helper);
}

static enum step next_of_cursor(struct read_ahead *ahead, struct run *out, struct error *err)
{
	if (!ahead->rest.count)
		return events_next_run(ahead->events, out, err);
	*out = ahead->rest;
	ahead->rest.count = 0;
	return STEP_ITEM;
}

enum step read_ahead_next_run(struct read_ahead *ahead, struct run *out, struct error *err)
{
	if (ahead->mine && atomic_load_explicit(&ahead->asked, memory_order_relaxed))
		hand_over(ahead);
	while (!ahead->block || ahead->stretch == ahead->block->nstretches) {
		enum step step;

		if (ahead->mine)
			return next_of_cursor(ahead, out, err);
		step = next_lot(ahead, err);
		if (step != STEP_ITEM)
			return step;
	}
	return next_stretch(ahead, out, err);
}

/* ---- the whole ---- */

bool read_ahead_open(struct index *index, const struct events_options *options,
		     struct helper *helper, struct read_ahead **out, struct error *err)
{
	struct read_ahead *ahead = mem_new(sizeof *ahead);
	struct events_options own = *options;

	ahead->helper = helper;
	ahead->progress = options->progress;
	ahead->progress_arg = options->progress_arg;
	if (own.progress)
		own.progress = at_boundary;
	own.progress_arg = ahead;
	own.values = false;
	ahead->turn = TURN_OWNER;
	ahead->mine = true;
	if (!events_open(index, &own, &ahead->events, err)) {
		mem_free(ahead);
		return false;
	}
	ahead->filler = event_block_filler_new(index_trace(index), false);
	ahead->opener = event_block_opener_new(index_trace(index));
	ahead->duty = (struct duty){.due = read_ahead_is_due, .work = do_duty, .arg = ahead};
	helper_give(helper, &ahead->duty);
	*out = ahead;
	return true;
}

void read_ahead_close(struct read_ahead *ahead)
{
	if (!ahead)
		return;
	helper_lock(ahead->helper);
	ahead->stop = true;
	helper_unlock(ahead->helper);
	helper_end(ahead->helper, &ahead->duty);
	events_close(ahead->events);
	for (size_t i = 0; i < ahead->full; i++)
		event_block_free(ahead->ring[(ahead->oldest + i) % RING]);
	for (size_t i = 0; i < ahead->nidle; i++)
		event_block_free(ahead->idle[i]);
	event_block_free(ahead->block);
	event_block_filler_free(ahead->filler);
	event_block_opener_free(ahead->opener);
	mem_free(ahead);
}
