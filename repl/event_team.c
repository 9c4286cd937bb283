/*
 * event_team.c - see event_rows.h
 *
 *     the caller:  cursor ──> heads, into portions ─┐                    ┌──> portions, in order,
 *                                                   ├──> ring of them ───┤    to the sink
 *     hands:            a portion: values, text  <──┘ ──> made ──────────┘
 *
 * A portion holds what a row needs when the cursor has gone on: heads, and which packets they are
 * of. A hand opens these packets with decoders of its own. When the ring is full the caller is a
 * hand, too, so that with two threads both always have work.
 *
 * Cutting the range into windows of time, a cursor each, would spare the hand-over, but packets
 * lie about their times: a cursor that begins in the middle may miss what one from the start finds
 * late. Here one cursor says what comes, and the messages stay in order: what it says while a
 * portion is filled is kept in front of that portion, what its hand says behind.
 */
#include "repl/event_team.h"

#include "engine/base/mem.h"
#include "index/cursor/lot.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	PORTION_BITS = 8 << 20, /* of events: bounds what a portion's text may take */
	PORTIONS_EACH = 3,      /* per thread */
	THREADS_MOST = 64,
	LOOK_EACH = 64 /* rows: whether all is to stop */
};

enum portion_state { PORTION_FREE, PORTION_GIVEN, PORTION_TAKEN, PORTION_MADE };

struct portion {
	enum portion_state state; /* under the lock; all else is whose turn it is */
	struct lot *lot;
	uint64_t bits;
	bool has_shown; /* a time was written before its first row: */
	nstime shown;
	struct buf before, said; /* messages of the cursor, of the hand */
	uint64_t damaged;
	struct sink text;
};

struct hand {
	struct event_team *team;
	pthread_t thread;
	struct times times;
	struct event_writer *writer;
	struct sink nowhere;
	struct lot_opener *opener;
};

struct event_team {
	struct event_team_setup setup;
	const struct trace *trace;
	struct hand *hands; /* the first is the caller's */
	unsigned nhands;    /* started, and the caller */
	struct portion *portions;
	size_t nportions, oldest, used; /* the one being filled is behind those in use */
	struct lot_filler *filler;
	bool has_shown;
	nstime shown;      /* the time written last, when all rows given are */
	struct buf before; /* said since the last row */
	_Atomic bool stop;

	pthread_mutex_t lock; /* of all states */
	pthread_cond_t given, made;
};

/* Hands --------------------------------------------------------------------------------------- */

static void put_stretch(struct hand *hand, struct portion *portion,
			const struct lot_stretch *stretch)
{
	struct error err;
	struct run run;

	if (!lot_run(hand->opener, portion->lot, stretch, &run,
		     &err)) { /* it was readable before */
		say("damaged", "%s", err.text);
		portion->damaged++;
		return;
	}
	for (uint32_t n = 0; n < run.count; n++) {
		if (n % LOOK_EACH == 0 && hand->team->stop)
			return;
		event_write_entry(hand->writer, &run, run.first + n, false, &portion->damaged);
	}
}

static void make_portion(struct hand *hand, struct portion *portion)
{
	struct buf *before = say_into(&portion->said);
	const struct lot *lot = portion->lot;

	event_writer_sink(hand->writer, &portion->text);
	if (portion->has_shown) { /* a row says the day where it is not that of the row before */
		char unused[TIME_TEXT_MAX];
		time_put(&hand->times, portion->shown, unused);
	}
	for (size_t i = 0; i < lot->nstretches && !hand->team->stop; i++) {
		const struct lot_stretch *stretch = &lot->stretches[i];
		if (stretch->packet == LOT_NO_PACKET)
			event_write_loss(hand->writer, &lot->losses[stretch->loss]);
		else
			put_stretch(hand, portion, stretch);
	}
	say_into(before);
}

/* The oldest that is still to be made; NULL: none. Under the lock. */
static struct portion *take_portion(struct event_team *team)
{
	for (size_t i = 0; i < team->used; i++) {
		struct portion *portion = &team->portions[(team->oldest + i) % team->nportions];
		if (portion->state == PORTION_GIVEN) {
			portion->state = PORTION_TAKEN;
			return portion;
		}
	}
	return NULL;
}

static void put_back(struct event_team *team, struct portion *portion)
{
	portion->state = PORTION_MADE;
	pthread_cond_signal(&team->made);
}

static void *hand_work(void *arg)
{
	struct hand *hand = arg;
	struct event_team *team = hand->team;

	pthread_mutex_lock(&team->lock);
	while (!team->stop) {
		struct portion *portion = take_portion(team);
		if (!portion) {
			pthread_cond_wait(&team->given, &team->lock);
			continue;
		}
		pthread_mutex_unlock(&team->lock);
		make_portion(hand, portion);
		pthread_mutex_lock(&team->lock);
		put_back(team, portion);
	}
	pthread_mutex_unlock(&team->lock);
	return NULL;
}

static void hand_init(struct hand *hand, struct event_team *team)
{
	const struct event_team_setup *setup = &team->setup;

	hand->team = team;
	hand->times = *setup->times;
	sink_init(&hand->nowhere, -1); /* the head of a CSV was written already */
	hand->nowhere.color = setup->sink->color;
	hand->writer = event_writer_new(team->trace, setup->format, &hand->times, &hand->nowhere);
	hand->opener = lot_opener_new(team->trace);
}

static void hand_release(struct hand *hand)
{
	event_writer_sink(hand->writer, &hand->nowhere);
	event_writer_free(hand->writer);
	sink_release(&hand->nowhere);
	lot_opener_free(hand->opener);
}

/* Portions ------------------------------------------------------------------------------------ */

static void portion_clear(struct portion *portion)
{
	portion->bits = portion->damaged = 0;
	portion->before.len = portion->said.len = 0;
	portion->text.len = portion->text.whole = 0;
	portion->text.rows = 0;
}

static void portion_release(struct portion *portion)
{
	lot_free(portion->lot);
	buf_release(&portion->before);
	buf_release(&portion->said);
	sink_release(&portion->text);
}

/* About what so many entries from `first` on take; those of a sorted packet stand anywhere. */
static uint64_t bits_of(const struct run *run, uint32_t first, uint32_t count)
{
	const uint64_t *at = run->batch->at;
	uint32_t last = first + count - 1;
	uint64_t bits = 0;

	if (last + 1 < run->batch->count && at[last + 1] > at[first])
		return at[last + 1] - at[first];
	if (at[last] > at[first])
		return at[last] - at[first] +
		       run->reader->event_bits(run->decoder, run->batch, last);
	for (uint32_t i = first; i <= last; i++)
		bits += run->reader->event_bits(run->decoder, run->batch, i);
	return bits;
}

/* How many of the entries there was room for. */
static uint32_t add_events(struct event_team *team, struct portion *portion, const struct run *run,
			   uint32_t first, uint32_t count)
{
	const struct batch *heads = portion->lot->heads;
	uint32_t n = lot_add(team->filler, portion->lot, run, first, count);

	if (team->setup.backward)
		first += count - n;
	portion->bits += n ? bits_of(run, first, n) : 0;
	if (heads->time[heads->count - 1] != NSTIME_MIN) {
		team->shown = heads->time[heads->count - 1];
		team->has_shown = true;
	}
	return n;
}

/* False: there is no room for another. */
static bool add_loss(struct event_team *team, struct portion *portion, const struct event *loss)
{
	bool ends = loss->until != NSTIME_MIN && loss->until != NSTIME_MAX;
	bool room = lot_add_loss(portion->lot, loss);

	if (loss->time == NSTIME_MIN && !ends)
		return room;
	team->shown = ends ? loss->until : loss->time;
	team->has_shown = true;
	return room;
}

/* The ring ------------------------------------------------------------------------------------ */

static struct portion *filling(struct event_team *team)
{
	return &team->portions[(team->oldest + team->used) % team->nportions];
}

static void write_portion(struct event_team *team, struct portion *portion)
{
	say_kept(team->setup.session, &portion->before);
	say_kept(team->setup.session, &portion->said);
	team->setup.session->damaged += portion->damaged;
	sink_rows(team->setup.sink, &portion->text);
	portion_clear(portion);
}

/* All that are made and have none before them that is not. */
static void write_made(struct event_team *team)
{
	pthread_mutex_lock(&team->lock);
	while (team->used && team->portions[team->oldest].state == PORTION_MADE) {
		struct portion *portion = &team->portions[team->oldest];
		pthread_mutex_unlock(&team->lock);
		write_portion(team, portion);
		pthread_mutex_lock(&team->lock);
		portion->state = PORTION_FREE; /* hands look at all of the ring */
		team->oldest = (team->oldest + 1) % team->nportions;
		team->used--;
	}
	pthread_mutex_unlock(&team->lock);
}

/* Until no more than `most` portions are in use: makes some, or waits for the thread that does. */
static void make_room(struct event_team *team, size_t most)
{
	write_made(team);
	while (team->used > most && !team->setup.sink->closed) {
		pthread_mutex_lock(&team->lock);
		struct portion *portion = take_portion(team);
		while (!portion && team->portions[team->oldest].state != PORTION_MADE)
			pthread_cond_wait(&team->made, &team->lock);
		pthread_mutex_unlock(&team->lock);
		if (portion) {
			make_portion(&team->hands[0], portion);
			pthread_mutex_lock(&team->lock);
			put_back(team, portion);
			pthread_mutex_unlock(&team->lock);
		}
		write_made(team);
	}
}

/* Gives the portion that was being filled, and begins another. */
static bool give(struct event_team *team)
{
	struct portion *portion = filling(team);

	pthread_mutex_lock(&team->lock);
	portion->state = PORTION_GIVEN;
	team->used++;
	pthread_cond_signal(&team->given);
	pthread_mutex_unlock(&team->lock);
	make_room(team, team->nportions - 1);
	if (team->setup.sink->closed)
		return false;
	lot_begin(team->filler, filling(team)->lot);
	return true;
}

/*
 * Where the next row goes; what was said since the last one stands before a portion. NULL: the
 * reader has gone, and there may be no room.
 */
static struct portion *next_row(struct event_team *team)
{
	if (team->setup.sink->closed ||
	    (team->before.len && filling(team)->lot->nstretches && !give(team)))
		return NULL;
	struct portion *portion = filling(team);
	if (!portion->lot->nstretches) {
		struct buf before = portion->before;
		portion->before = team->before;
		team->before = before;
		portion->has_shown = team->has_shown;
		portion->shown = team->shown;
	}
	return portion;
}

bool event_team_run(struct event_team *team, const struct run *run, uint32_t first, uint32_t count)
{
	bool backward = team->setup.backward;

	while (count) {
		struct portion *portion = next_row(team);
		if (!portion)
			return false;
		uint32_t n = add_events(team, portion, run, first, count);
		first += backward ? 0 : n;
		count -= n;
		if ((portion->lot->heads->count == LOT_ROWS || portion->bits >= PORTION_BITS) &&
		    !give(team))
			return false;
	}
	return true;
}

bool event_team_loss(struct event_team *team, const struct event *loss)
{
	struct portion *portion = next_row(team);

	return portion && (add_loss(team, portion, loss) || give(team));
}

bool event_team_tick(struct event_team *team)
{
	struct sink *sink = team->setup.sink;

	if (!sink_is_due(sink))
		return sink_tick(sink);
	if (!sink->closed && filling(team)->lot->nstretches)
		give(team);
	write_made(team);
	return sink_tick(sink);
}

bool event_team_end(struct event_team *team)
{
	if (team->setup.sink->closed || (filling(team)->lot->nstretches && !give(team)))
		return false;
	make_room(team, 0);
	return !team->setup.sink->closed;
}

/* The team ------------------------------------------------------------------------------------ */

struct event_team *event_team_new(const struct event_team_setup *setup)
{
	unsigned threads = setup->threads < THREADS_MOST ? setup->threads : THREADS_MOST;
	struct event_team *team = mem_new(sizeof *team);

	team->setup = *setup;
	team->trace = setup->session->trace;
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->given, NULL);
	pthread_cond_init(&team->made, NULL);
	team->filler = lot_filler_new(team->trace, setup->backward);
	team->nportions = (size_t)threads * PORTIONS_EACH;
	team->portions = mem_new_array(team->nportions, sizeof *team->portions);
	for (size_t i = 0; i < team->nportions; i++) {
		team->portions[i].lot = lot_new();
		sink_init(&team->portions[i].text, -1);
		team->portions[i].text.color = setup->sink->color;
	}
	lot_begin(team->filler, team->portions[0].lot);
	team->hands = mem_new_array(threads, sizeof *team->hands);
	for (unsigned i = 0; i < threads; i++) {
		hand_init(&team->hands[i], team);
		if (i &&
		    pthread_create(&team->hands[i].thread, NULL, hand_work, &team->hands[i]) != 0) {
			hand_release(&team->hands[i]);
			break; /* fewer make them, too */
		}
		team->nhands++;
	}
	say_into(&team->before);
	return team;
}

/* Messages of rows that are not printed any more, in their order. */
static void say_rest(struct event_team *team)
{
	for (size_t i = 0; i <= team->used && i < team->nportions; i++) {
		struct portion *portion = &team->portions[(team->oldest + i) % team->nportions];
		say_kept(team->setup.session, &portion->before);
	}
	say_kept(team->setup.session, &team->before);
}

void event_team_free(struct event_team *team)
{
	if (!team)
		return;
	say_into(NULL);
	pthread_mutex_lock(&team->lock);
	team->stop = true;
	pthread_cond_broadcast(&team->given);
	pthread_mutex_unlock(&team->lock);
	for (unsigned i = 1; i < team->nhands; i++)
		pthread_join(team->hands[i].thread, NULL);
	say_rest(team);
	for (unsigned i = 0; i < team->nhands; i++)
		hand_release(&team->hands[i]);
	for (size_t i = 0; i < team->nportions; i++)
		portion_release(&team->portions[i]);
	buf_release(&team->before);
	pthread_cond_destroy(&team->given);
	pthread_cond_destroy(&team->made);
	pthread_mutex_destroy(&team->lock);
	mem_free(team->hands);
	mem_free(team->portions);
	lot_filler_free(team->filler);
	mem_free(team);
}
