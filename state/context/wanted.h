/* wanted.h - queries to attributes and lists */
#ifndef STATE_CONTEXT_WANTED_H
#define STATE_CONTEXT_WANTED_H

#include "state/context/context.h"

struct wanted_attrs {
	const uint32_t *items;
	size_t count;
};

struct wanted {
	uint32_t *attrs; /* asked for by name: always answered; without repetition */
	size_t nattrs, capacity;
	struct wanted_attrs
		*at;    /* by moment: those of them that are asked for there; NULL: all are */
	uint8_t *named; /* by attribute: it is among them */
	size_t nnamed;
	const struct query *const *queries; /* all of them */
	size_t nqueries;
	bool lists;       /* some query has wildcards, or there is none: the whole state */
	bool all_moments; /* what a list has at one moment is answered at all of them */
	bool some;        /* a backward pass that is interrupted tells what it found up to then */
	bool settled;     /* lists name nothing that is computed late, see view_is_late() */
	uint8_t *matches; /* by attribute: 0 not looked at, 1 no, 2 yes */
	size_t nmatches;
};

void wanted_init(struct state *state, const struct query *const *queries, size_t nqueries,
		 struct wanted *out);
void wanted_release(struct wanted *wanted);
/* One more by name. */
void wanted_add(struct wanted *wanted, uint32_t attr);
bool wanted_by_name(const struct wanted *wanted, uint32_t attr);
/* What is asked for by name at the moment. */
static inline struct wanted_attrs wanted_at(const struct wanted *wanted, size_t moment)
{
	return wanted->at ? wanted->at[moment]
			  : (struct wanted_attrs){wanted->attrs, wanted->nattrs};
}
/* Does a query with wildcards (or the whole state) name it? */
bool wanted_lists(struct state *state, struct wanted *wanted, uint32_t attr);
bool wanted_lists_shape(const struct state *state, const struct wanted *wanted, uint32_t shape);
/* Does the view read what a `was` may tell, so that its value may become known late? */
bool view_is_late(const struct state *state, const struct view *view);
/* May lists name what the view computes? */
bool wanted_lists_view(const struct state *state, const struct wanted *wanted,
		       const struct view *view);
struct listed {
	uint32_t attr;
	uint32_t source; /* of a computed one: what must have a value for it; else ATTR_ABSENT */
};
/*
 * All attributes that its lists may name, when they can be told without reading: keys that are
 * constants, in the rules or in the query, or section/cpu. False: they cannot. *out is to be freed.
 */
MUST_CHECK bool wanted_enumerate(struct state *state, struct wanted *wanted, struct listed **out,
				 size_t *count, struct error *err);

/*
 * Of these what can be told, and that alone: stored attributes, and those of the shapes in which
 * variables of its views are found. What is told of keys that a line reads from a field is nothing.
 */
MUST_CHECK bool wanted_enumerate_some(struct state *state, struct wanted *wanted, uint32_t **out,
				      size_t *count, struct error *err);
/* All attributes that it names or lists, and what they rest on; to be freed by closure_free(). */
struct closure *wanted_closure(struct state *state, const struct wanted *wanted);
/* Is the shape one in which a variable of a view that its lists name is found? */
bool wanted_is_source(struct state *state, const struct wanted *wanted, uint32_t shape);

/*
 * Computed attributes that its lists name, where attributes are named already: those in which the
 * variables of each view are found, bound in all ways. Variables that are found in one attribute
 * are bound as that has them.
 */
struct named_attrs {
	/* The next one of the shape, from *at on, which is 0 at first. False: no more. */
	bool (*next)(void *arg, uint32_t shape, uint64_t *at, uint32_t *attr);
	/* sources[v], by variable of its view: the attribute in which the variable was found */
	void (*each)(void *arg, uint32_t attr, const uint32_t *sources, uint32_t count);
	void *arg;
};
void wanted_views(struct state *state, struct wanted *wanted, const struct named_attrs *named);

#endif
