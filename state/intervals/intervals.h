/*
 * intervals.h - tracks of attributes over a range, inside the room
 *
 *     what is asked ──> names, shapes ──> a source of spans ──> tracks ──> intervals
 *                            ^            timelines, near, run      │
 *                            └──── what is missing <── computed attributes
 *
 * A source fills tracks of stored attributes (source.c). Computed ones are evaluated over the spans
 * of what they read, whichever source these come from (computed.c).
 */
#ifndef STATE_INTERVALS_INTERVALS_H
#define STATE_INTERVALS_INTERVALS_H

#include "state/context/answers.h"
#include "state/context/wanted.h"
#include "state/intervals/spool.h"
#include "state/intervals/sums.h"
#include "state/model/number_map.h"
#include "state/slices/dominant.h"
#include "state/state.h"

struct track_sums {       /* in place of spans */
	struct sums sums; /* without its `values` */
	struct summed_value values[DOMINANT_VALUES];
};

/* An attribute in which variables of a view are found. */
struct track_source {
	uint32_t attr;
	uint32_t variables; /* their bits */
	bool initial;       /* it may have a value before lists name it */
};

/* What few tracks have. */
struct track_more {
	/* computed: lists name it where each variable has a source with a value; none: always */
	struct track_source *sources;
	size_t nsources, sources_capacity;
	struct totals *totals;   /* of spans before these; NULL: not wanted, or not asked yet */
	struct track_sums *sums; /* rising; its spans are none there */
	size_t nsums, sums_capacity;
	nstime dead;  /* of timelines: its end is no value since then; NSTIME_MAX: it lives */
	nstime ended; /* past the range: when it last became unknown; NSTIME_MIN: never */
};

struct track { /* there may be millions */
	uint32_t attr;
	union {
		uint32_t seen; /* views: 1 + number of the span they looked at last; 0: any */
		uint32_t run;  /* spooled: its last run in the spool, of spans before these */
	};
	uint32_t count; /* of spans */
	bool computed : 1;
	bool down : 1, up : 1; /* computed: its first, its last span may go on where no operand
				  was told */
	bool operand : 1; /* views may read it: what it was outside of the range tells where they
			     begin and end */
	bool open : 1, unknown : 1; /* past the range: its span that reaches over the end goes on */
	bool touched : 1, totals_asked : 1;
	bool given : 1;   /* of a window: an event in it gives the attribute a value */
	bool cut : 1;     /* at the end of the range, whatever that says */
	bool ended : 1;   /* it has more spans than stay: it is in spooling.ended, or an operand */
	bool spooled : 1; /* spans were written away; views look at no such track */
	bool unknown_before : 1; /* its first span, which views would read: it was cut off */
	bool named_ever : 1, named_at : 1; /* see track_named(); neither: never */
	uint8_t room : 6;                  /* for 2^room spans, which rise: */
	union {
		struct span one;   /* of room 0 */
		struct span *many; /* of more */
	};
};
_Static_assert(sizeof(struct track) == 40, "no byte is left over");

/* What is asked. */
struct intervals_range {
	nstime begin, end;
	bool within;         /* what reaches over an end need not be followed beyond it */
	bool window;         /* lists name what an event of the range gives a value, nothing else; */
	bool all;            /* they never do */
	const nstime *edges; /* of columns: sums may stand for what lies in one */
	size_t nedges;       /* 0: they may not */
};

/* Attributes that get a track whatever they are, each once. */
struct attr_list {
	struct attr_from {
		uint32_t attr;
		nstime from; /* it may begin there, where that is behind the range's begin */
		bool listed; /* of a window: lists have it whether an event gives it a value or not */
	} * items;
	size_t count, capacity;
	struct number_map places; /* attribute → 1 + its place */
};

/* What a run or a reading knows past the range of what reaches over its end. */
struct overhang {
	bool past;            /* it is there */
	size_t open, unknown; /* tracks that are so */
	size_t fillable;      /* of the unknown ones: that some `was` may tell */
	nstime fills;         /* only fills that begin before it matter */
	uint32_t *touched;    /* tracks that changed at the newest time */
	size_t ntouched, capacity;
};

/* Spans that are written away. */
struct spooling {
	struct spool *spool; /* NULL: there are none */
	size_t at;           /* so many changes make it due; 0: it is not done */
	size_t changes;      /* since it was done */
	uint8_t stay;        /* so many of a track's last spans stay; 2 where the last is unknown */
	uint32_t *ended;     /* numbers of tracks that have more, and are no operands */
	size_t nended, capacity;
};

/* Where deletes and unknowns were, for operands without a track: may one cover them? */
struct buried {
	struct stored *stored;    /* it tells; NULL: what a run saw does, below */
	struct number_map at;     /* attribute → 1: its own, with or without those below */
	struct pattern *patterns; /* with `*` */
	size_t npatterns, capacity;
};

struct tracks {
	struct state *state;
	struct intervals_range range;
	/* what is to be told, by a source */
	struct attr_list names;
	struct wanted *wanted; /* lists of it */
	bool all_known;        /* no list, or `names` has all that they may name */
	bool *shapes;          /* that views read, by shape */
	uint32_t nshapes;      /* 0: what views read is not to be told */
	/* what was told */
	struct track *items;
	size_t count, capacity;
	struct number_map places; /* attribute → 1 + number of its track */
	nstime from_all;          /* track_from() of all tracks, while `from` is NULL */
	/* by track, each of `capacity`, or NULL where no track needs it: */
	nstime *from, *named;
	nstime *ends; /* of the last spans of computed ones */
	struct track_more **more;
	bool by_need; /* what views read and has no track is not told; else it was never written */
	nstime low, high; /* what views read is told in [low, high), the range at least */
	struct overhang over;
	struct buried buried;
	struct spooling spooling;
	const struct sums_sink *sink; /* what is told is for it */
	const struct intervals_first *first; /* for this before; NULL: nothing */
};

/* Do wanted views read attributes of the shape? */
static inline bool is_operand_shape(const struct tracks *tracks, uint32_t shape)
{
	return shape < tracks->nshapes && tracks->shapes[shape];
}
static inline bool is_operand(const struct tracks *tracks, uint32_t attr)
{
	return is_operand_shape(tracks, attr_shape(tracks->state->attrs, attr));
}
/* Is it asked for by the queries that come first, or (false) by the others? */
bool tracks_ask(const struct tracks *tracks, bool first, uint32_t attr);
/* By a list, or since views may read it. */
static inline bool tracks_want(const struct tracks *tracks, uint32_t attr)
{
	return wanted_lists(tracks->state, tracks->wanted, attr) || is_operand(tracks, attr);
}
static inline bool tracks_want_shape(const struct tracks *tracks, uint32_t shape)
{
	return wanted_lists_shape(tracks->state, tracks->wanted, shape) ||
	       is_operand_shape(tracks, shape);
}

/*
 * A value of a track that lies beyond the horizon (value_open()): unknown, but not known to be so.
 * A view over it is not decided, and no `was` fills it.
 */
static inline bool is_beyond(const struct tracks *tracks, const struct value *value)
{
	return tracks->state->horizon && value_is_open(value);
}

/* ---- tracks.c ---- */

void attr_list_add(struct attr_list *names, uint32_t attr, nstime from);
void attr_list_clear(struct attr_list *names);
void attr_list_release(struct attr_list *names);

/*
 * Statements that may give a value to what is to be told, as bits, and whether one is a `was`; and
 * the closure of that. Both are the caller's to free.
 */
uint64_t *tracks_heard(const struct tracks *tracks, bool *has_was);
struct closure *tracks_closure(const struct tracks *tracks);

static inline const struct span *track_spans(const struct track *track)
{
	return track->room ? track->many : &track->one;
}
static inline const struct span *track_last(const struct track *track) /* it has some */
{
	return track_spans(track) + track->count - 1;
}
static inline struct span *track_own_spans(struct track *track) /* to be changed */
{
	return track->room ? track->many : &track->one;
}

/* NULL: the attribute has no track. */
struct track *tracks_find(const struct tracks *tracks, uint32_t attr);
/* A track of its own for the attribute, without spans, which is told from there on. */
struct track *tracks_add_from(struct tracks *tracks, uint32_t attr, nstime from);
static inline struct track *tracks_add(struct tracks *tracks, uint32_t attr)
{
	return tracks_add_from(tracks, attr, tracks->range.begin);
}
/* Moves what the track of stored values has, in place of what the attribute's own track had. */
void track_move(struct tracks *to, struct tracks *from, struct track *track);
/* Adds a track of a computed attribute with the spans of this one, which is not to be followed. */
void track_move_computed(struct tracks *to, const struct tracks *from, struct track *track);
/* What it was before is not told, if that is behind the range's begin. */
static inline nstime track_from(const struct tracks *tracks, const struct track *track)
{
	return tracks->from ? tracks->from[track - tracks->items] : tracks->from_all;
}
void track_set_from(struct tracks *tracks, const struct track *track, nstime from);
/* Where the span of the track ends. */
static inline nstime track_end(const struct tracks *tracks, const struct track *track)
{
	return track->computed ? tracks->ends[track - tracks->items] : NSTIME_MAX;
}
static inline nstime span_end(const struct tracks *tracks, const struct track *track,
			      const struct span *span)
{
	return span + 1 < track_spans(track) + track->count ? span[1].begin
							    : track_end(tracks, track);
}
/* Of a computed track: where its last span ends. */
void track_set_end(struct tracks *tracks, const struct track *track, nstime end);
/* When a list first named it, NSTIME_MIN also where it had no value before; NSTIME_MAX: never. */
static inline nstime track_named(const struct tracks *tracks, const struct track *track)
{
	return track->named_at     ? tracks->named[track - tracks->items]
	       : track->named_ever ? NSTIME_MIN
				   : NSTIME_MAX;
}
void track_set_named(struct tracks *tracks, struct track *track, nstime named);
/* A list names it then, where its spans are told; it may have been named before. */
void track_note_named(struct tracks *tracks, struct track *track, nstime at);
/* What few tracks have; NULL: nothing of it; */
static inline struct track_more *track_more(const struct tracks *tracks, const struct track *track)
{
	return tracks->more ? tracks->more[track - tracks->items] : NULL;
}
/* made when there is none. */
struct track_more *track_make_more(struct tracks *tracks, const struct track *track);
static inline nstime track_dead(const struct tracks *tracks, const struct track *track)
{
	const struct track_more *more = track_more(tracks, track);

	return more ? more->dead : NSTIME_MAX;
}
void track_set_dead(struct tracks *tracks, const struct track *track, nstime dead);
/* As before the first was added. */
void tracks_forget(struct tracks *tracks);
void tracks_release(struct tracks *tracks);
/* The last span now is `value`, since `at`; spans that end at or before `keep` may go. */
void track_cut(struct track *track, nstime at, const struct value *value, nstime keep);
void track_push(struct track *track, nstime begin, const struct value *value);
/* Says whether spans may be written away, before the first track is filled. */
void tracks_spool_begin(struct tracks *tracks);
/* Counts a change that was cut into the track. */
void tracks_changed(struct tracks *tracks, struct track *track);
/* Are there so many changes that spans are to be written away? */
bool tracks_spool_due(const struct tracks *tracks);
/* Between two moments: writes away spans that have ended and will not change, if there are many. */
void tracks_spool(struct tracks *tracks);
/* The range is over: counts what reaches over its end. */
void tracks_pass_end(struct tracks *tracks);
/* A change past the range; and when its nanosecond is over: does what reached over go on? */
void tracks_touch(struct tracks *tracks, struct track *track);
void tracks_settle(struct tracks *tracks);

/* Past the range: says, and counts, whether a later event may tell what it was at the end. */
void track_set_unknown(struct tracks *tracks, struct track *track, bool unknown);
/* Is it unknown past the range, and a later `was` may tell? */
bool track_is_fillable(const struct tracks *tracks, const struct track *track);
/* Past the range: nothing that is still to come changes what it was in the range. */
bool track_is_settled(const struct tracks *tracks, const struct track *track);
/* Does the line give a value? */
bool tracks_gives(const struct tracks *tracks, const struct writer *writer);
/* A line gives it a value at that time, of an event or (false) of @start or @end. */
void track_note_given(struct tracks *tracks, struct track *track, nstime time, bool event);
/* What a line writes from `at` on; beyond: whether or what is beyond the horizon. */
void track_write(struct tracks *tracks, struct track *track, nstime at, const struct value *value,
		 bool beyond);
/*
 * Does a `was` of the value fill its last span? Where the horizon hides whether it holds (beyond),
 * what is unknown may have been filled: no later one fills it.
 */
bool track_takes_fill(const struct tracks *tracks, struct track *track, const struct value *value,
		      bool beyond);
/* The horizon ended before what is unknown at the range's end was filled, which still may be. */
void tracks_end_beyond(struct tracks *tracks, bool may_fill);

/* When lists first name it, which do not show what it was before. */
nstime track_shown(const struct tracks *tracks, const struct track *track);
/*
 * The interval that the span of the track, which ends there, is for a question: not what is before
 * the track was named, and cut where the track is. `path` and `lost` are left as they are. False:
 * it is none.
 */
bool track_interval(const struct tracks *tracks, const struct track *track, nstime named,
		    const struct span *span, nstime end, struct interval *out);

/* ---- totals.c: how long each value held, in place of intervals ---- */

/* Are totals of the track wanted? Asks the sink the first time. */
bool totals_wanted(struct tracks *tracks, struct track *track);
/* Adds the first `count` spans of a track whose totals are wanted. They will not change. */
void totals_add(const struct tracks *tracks, struct track *track, size_t count);
/* Gives what was added to the sink. False: enough. */
bool totals_give(const struct tracks *tracks, const struct track *track, const char *path);
void totals_free(struct totals *totals); /* NULL is fine */

/* ---- sources of spans; OUTCOME_GAVE_UP: it is not for this question, or a limit was met ---- */

MUST_CHECK enum outcome tracks_stored(struct tracks *tracks, struct error *err);
/* Reads the range and what its ends need, nothing else. */
MUST_CHECK enum outcome tracks_near(struct tracks *tracks, struct error *err);
/* A forward run over all that comes before and in the range; it is for all questions. */
MUST_CHECK enum outcome tracks_run(struct tracks *tracks, struct error *err);

/* near.c: of values that reach over the range's begin, down as long as they were the same. */
MUST_CHECK enum outcome tracks_find_beginnings(struct tracks *tracks, const struct closure *closure,
					       struct error *err);

/* The run that filled them ends at `from`. What is past the range and goes on, */
struct rest {
	struct closure *closure; /* NULL: it cannot be told from other events by their keys */
	nstime from;
	const struct cells *cells; /* of the run */
};
struct closure *tracks_rest(const struct tracks *tracks);
/* is looked for among the events that may write it. */
MUST_CHECK enum outcome tracks_read_rest(struct tracks *tracks, const struct rest *rest,
					 struct error *err);

/* ends.c: between `from` and `to`, which are checkpoints or the ends of what is looked at, */
struct stretch_of_ends {
	nstime from, to;       /* NSTIME_MAX: the trace's end */
	const uint32_t *which; /* end these tracks, or, up to the trace's end, perhaps */
	size_t count;
};
struct ends {
	struct stretch_of_ends *items; /* rising */
	size_t count, capacity;
	uint32_t *tracks;
};
/* Of all open tracks, whose last spans go on at `from`. Fills *out, to be released. */
void ends_find(const struct tracks *tracks, nstime from, struct ends *out);
void ends_release(struct ends *ends);

/* No checkpoint of a run will be read. */
static inline bool leaves_nothing(const struct state *state)
{
	return state->options.no_checkpoints && !state->options.replay_only;
}
/* Are they of all of the trace, with nothing beyond it to be looked for? */
bool tracks_are_whole(const struct tracks *tracks);

/* source.c: fills the tracks from the first source that can. */
MUST_CHECK enum outcome tracks_read(struct tracks *tracks, struct error *err);

/* ---- views.c: computed attributes over told spans ---- */

/* To tracks of computed attributes alone: one, unless it is there; */
struct track *computed_add(struct tracks *computed, uint32_t attr);
/* where a list names it, in which attribute variables of its view are found, by their bits; */
void computed_add_source(const struct tracks *tracks, struct tracks *computed, uint32_t attr,
			 uint32_t source, uint32_t variables);
/* those that are wanted by name; */
void computed_add_named(const struct tracks *tracks, struct tracks *computed);
/* and those that lists name, too, once the tracks are filled. */
void computed_list(struct tracks *tracks, struct tracks *computed);

/* The spans of each in [begin, end). What has no track and must be told is added to `names`. */
void views_compute(struct tracks *operands, struct tracks *computed, nstime begin, nstime end);
/* Follows a computed attribute's first or last value as far as operands are told. */
void views_follow(struct tracks *operands, struct tracks *computed, struct track *track, bool down);
/* Says which operands are to be told, by their shapes; those with an `initial` value by name. */
void views_add_operands(struct tracks *tracks);
/*
 * Before the range, at `now`: forgets spans of operands that are too old to say where the value of
 * a computed attribute begins. Returns after how many changes of operands that is due again.
 */
size_t views_prune(struct tracks *tracks, nstime now);
/*
 * Past the range, at `now`: may a computed attribute's value go on? 0: none does, operands need not
 * be followed any longer; else after how many changes that is due again.
 */
size_t views_go_on(struct tracks *tracks, nstime now);
/* The first time: after so many changes of operands of so many computed attributes. */
size_t views_due(const struct state *state, size_t ncomputed);

/* ---- buried.c ---- */

void buried_add(struct buried *buried, const struct pattern *pattern);
/* May a delete or unknown before the end of the range have covered an attribute without a track? */
bool buried_covers(const struct tracks *tracks, uint32_t attr);
void buried_release(struct buried *buried);

/* ---- computed.c ---- */

/*
 * Computes all that is computed and wanted, and fills the tracks that are. OUTCOME_GAVE_UP: that
 * takes a run (no_runs of struct state), or what lies beyond the horizon.
 */
MUST_CHECK enum outcome tracks_compute(struct tracks *tracks, const struct listed *listed,
				       size_t nlisted, struct error *err);
/*
 * The same without a run; where that gives up, no further than so many packets of each stream
 * around the range: what lies beyond is unknown.
 */
MUST_CHECK enum outcome tracks_compute_near(struct tracks *tracks, const struct listed *listed,
					    size_t nlisted, uint64_t packets, struct error *err);

/* The same from a run that goes on, over its step: lists leave out what is computed late. */
MUST_CHECK bool tracks_compute_on(struct tracks *tracks, struct error *err);

/* Adds what is computed to a window's tracks. OUTCOME_GAVE_UP: it cannot be read where it is. */
MUST_CHECK enum outcome tracks_compute_window(struct tracks *tracks, struct error *err);
/* Adds names of what lists have of any window: whose keys are known without reading. */
MUST_CHECK bool tracks_name_known(struct tracks *tracks, struct error *err);
/* The attributes that the window's question names; of a window as tracks_compute_near(). */
MUST_CHECK bool tracks_compute_named(struct tracks *tracks, uint64_t packets, struct error *err);

/* ---- window.c ---- */

/*
 * Finds what lists name of a window, and reads it up to so many packets of each stream around the
 * window. OUTCOME_GAVE_UP: the rules cannot be read backward; a run can tell the same.
 */
MUST_CHECK enum outcome tracks_window(struct tracks *tracks, uint64_t packets, struct error *err);
/*
 * A source under a horizon: attributes that are told before reading, by the same replay of the
 * range. OUTCOME_GAVE_UP: of single CPUs it would read more than near.c.
 */
MUST_CHECK enum outcome tracks_replayed(struct tracks *tracks, struct error *err);

#endif
