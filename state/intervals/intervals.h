/* intervals.h - tracks of attributes over a range, inside the room */
#ifndef STATE_INTERVALS_INTERVALS_H
#define STATE_INTERVALS_INTERVALS_H

#include "state/context/answers.h"
#include "state/context/wanted.h"
#include "state/intervals/spool.h"
#include "state/intervals/sums.h"
#include "state/model/number_map.h"
#include "state/replay/replay.h"
#include "state/slices/dominant.h"

struct track_sums {       /* in place of spans */
	struct sums sums; /* without its `values` */
	struct summed_value values[DOMINANT_VALUES];
};

struct track {
	uint32_t attr;
	bool computed;
	bool operand;  /* views may read it: what it was outside of the range tells where they begin
			  and end */
	bool down, up; /* computed: its first, its last span may go on where no operand was told */
	nstime from;   /* what it was before is not told, if that is behind the range's begin */
	nstime named; /* when a list first named it; NSTIME_MAX: never */
	bool open, unknown; /* past the range: its span that reaches over the end goes on */
	bool touched;
	nstime ended;       /* past the range: when it last became unknown; NSTIME_MIN: never */
	struct span *spans; /* rising; each begins where the one before ends */
	size_t count, capacity;
	uint64_t spooled;        /* its last run in tracks->spool, of spans before these; 0: none */
	size_t seen;             /* 1 + number of the span that a sweep saw last */
	struct track_sums *sums; /* rising; its spans are none there */
	size_t nsums, sums_capacity;
};

/* Operands that must be followed from the start of the run: their `initial` may end unseen. */
struct followed {
	uint32_t *attrs;
	size_t count, capacity;
};

/* Operands without a track, and the first time at which each was read. */
struct missing {
	uint32_t *attrs;
	nstime *from;
	size_t count, capacity;
	struct number_map places; /* attribute → 1 + its place */
};

struct tracks {
	struct state *state;
	struct wanted *wanted;
	nstime begin, end;
	bool within;           /* what reaches over an end need not be followed beyond it */
	bool alone;            /* a run over a whole trace needs to leave nothing behind */
	const nstime *edges;   /* of columns: sums may stand for what lies in one */
	size_t nedges;         /* 0: they may not */
	struct listed *listed; /* all attributes of its lists, when they could be told */
	size_t nlisted;
	bool all_known;          /* no list, or it could */
	uint8_t *operand_shapes; /* shapes that wanted views read, by shape: 1, or 2 where some
				    line is a `was` of it */
	uint32_t nshapes;
	nstime low, high; /* what operands are is told in [low, high), the range at least */
	bool follows;     /* what operands are behind the range may still matter */
	size_t cuts, due; /* of operands: so far, and when to look at what of them is needed */
	struct track *items;
	size_t count, capacity;
	struct number_map places;  /* attribute → 1 + number of its track */
	struct followed *followed; /* found by tracks_compute() */
	struct missing *missing;   /* to be noted; NULL: they are what they are before any write */
	const nstime *from;     /* of what is wanted by name, where it may begin later; or NULL */
	bool by_need;           /* computed attributes were made by tracks_by_need(), */
	struct track *computed; /* and wait here for tracks_compute() */
	size_t ncomputed;
	struct replay *replay;
	struct spool *spool; /* what was written away; NULL: nothing */
	size_t spool_at;     /* that is done after so many changes; 0: it is not */
	size_t changes;      /* since it was */
	bool past;    /* the run is past the range */
	bool stopped; /* the run, before the trace's end */
	size_t open, unknown;
	nstime fills; /* past the range: only fills that begin before it matter */
	bool has_was; /* some line is a `was` of what is wanted */
	/* past the range: from here on it is stored what later events fill; NSTIME_MAX: no more */
	nstime told;
	bool is_told;         /* that was taken: of what is not known by now nothing is filled */
	struct closure *rest; /* of what still reaches over the end, handed over; NULL: it is not */
	nstime rest_from;
	size_t tried;       /* tracks that went on when it was last tried to hand them over, */
	uint64_t try_again; /* and when to try again: events of the run */
	uint32_t *touched;  /* tracks that changed at the newest time, past the range */
	size_t ntouched, touched_capacity;
};

/* Does a wanted view read attributes of the shape? */
static inline bool is_operand_shape(const struct tracks *tracks, uint32_t shape)
{
	return shape < tracks->nshapes && tracks->operand_shapes[shape];
}

/* intervals.c: fills the tracks by a forward run over all that comes before and in the range. */
MUST_CHECK bool tracks_run(struct tracks *tracks, struct error *err);

/* Are they of all of the trace, with nothing beyond it to be looked for? */
bool tracks_are_whole(const struct tracks *tracks);

/* tracks.c; NULL: the attribute has no track. */
struct track *tracks_find(const struct tracks *tracks, uint32_t attr);
void tracks_release(struct tracks *tracks);
/* The last span now is `value`, since `at`; spans that end at or before `keep` may go. */
void track_cut(struct track *track, nstime at, const struct value *value, nstime keep);
void track_push(struct track *track, nstime begin, const struct value *value);
/* Says whether spans may be written away, before the first track is filled. */
void tracks_spool_begin(struct tracks *tracks);
/* Are there so many changes that spans are to be written away? */
bool tracks_spool_due(const struct tracks *tracks);
/* Between two moments: writes away spans that have ended and will not change, if there are many. */
void tracks_spool(struct tracks *tracks);
/* A track of its own for the attribute, without spans. */
struct track *tracks_add(struct tracks *tracks, uint32_t attr);
/* The range is over: counts what reaches over its end. */
void tracks_pass_end(struct tracks *tracks);
/* A change past the range; and when its nanosecond is over: does what reached over go on? */
void tracks_touch(struct tracks *tracks, struct track *track);
void tracks_settle(struct tracks *tracks);

/*
 * near.c: fills the tracks by reading the range and what its ends need, nothing else.
 * OUTCOME_GAVE_UP: it is not for this question, or a limit; tracks_run() must do it.
 */
MUST_CHECK enum outcome tracks_near(struct tracks *tracks, struct error *err);
/*
 * Past the range: the closure of what still reaches over its end, when events can be told by their
 * keys to have nothing to do with it; else NULL.
 */
struct closure *tracks_rest(struct tracks *tracks);
/* Reads on from there until all has ended; the run has seen all events before tracks->rest_from. */
MUST_CHECK enum outcome tracks_read_rest(struct tracks *tracks, struct error *err);
/* As before the first was added. */
void tracks_forget(struct tracks *tracks);

/* Fills the tracks of what is not computed; OUTCOME_GAVE_UP: only tracks_run() can. */
MUST_CHECK enum outcome tracks_read(struct tracks *tracks, struct error *err);
/* Fills all tracks, with what views may read, by its shape, unless they were made by need. */
MUST_CHECK bool tracks_make(struct tracks *tracks, struct error *err);

/* views.c: notes what wanted views may read; later computes their tracks. */
void tracks_add_operands(struct tracks *tracks);
void tracks_compute(struct tracks *tracks);
/* The spans of one within the range, from tracks of operands; *out was zeroed. */
void track_compute(struct tracks *operands, uint32_t attr, struct track *out);
/* Changes of operands between two tracks_prune(): at least, and of each computed attribute. */
enum { PRUNE_LEAST = 1 << 16, PRUNE_EACH = 16 };
size_t tracks_due(const struct tracks *tracks, size_t ncomputed);
/*
 * Before the range, at `now`: forgets spans of operands that are too old to say where the value of
 * a computed attribute begins.
 */
void tracks_prune(struct tracks *tracks, nstime now);
/*
 * Past the range, at `now`: when no computed attribute's value goes on any more, nor may turn out
 * to do so, operands are followed no longer.
 */
void tracks_end_computed(struct tracks *tracks, nstime now);

/* needs.c: it was read at `from`. */
void missing_add(struct missing *missing, uint32_t attr, nstime from);
/*
 * Computes all that is computed and wanted, where all attributes are known, from what it reads and
 * nothing else. OUTCOME_GAVE_UP: some operand cannot be read where it is.
 */
MUST_CHECK enum outcome tracks_by_need(struct tracks *tracks, struct error *err);
/* Finds the true ends of computed spans that reach over the ends of the range. */
MUST_CHECK bool tracks_extend(struct tracks *tracks, struct error *err);

#endif
