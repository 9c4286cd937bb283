/* answers.h - values at moments: records, and answers made from them */
#ifndef STATE_CONTEXT_ANSWERS_H
#define STATE_CONTEXT_ANSWERS_H

#include "state/context/context.h"

struct record {
	uint32_t moment; /* index in the question */
	uint32_t attr;
	struct fact fact;
};

struct records {
	struct record *items;
	size_t count, capacity;
};

void records_add(struct records *records, uint32_t moment, uint32_t attr, const struct fact *fact);
void records_sort(struct records *records); /* by moment, then by attribute */
/* Searches the first `count` records, which must be sorted; NULL: not found. */
struct record *records_find(const struct records *records, size_t count, uint32_t moment,
			    uint32_t attr);
struct record_place {
	uint32_t moment, attr;
};
/* Attributes that some moments (0 to nmoments - 1) have and others lack; the caller frees them. */
struct record_place *records_missing(const struct records *records, size_t nmoments, size_t *count);
/* Sorts the records into *out by moment and path, with copies of all texts, and frees them. */
void records_finish(struct state *state, struct records *records, const struct moment *moments,
		    bool why, struct answers *out);
/* Converts one record; sets no path. */
void record_answer(struct state *state, const struct record *record, const struct moment *moment,
		   bool why, struct arena *arena, struct answer *out);
void fact_of_cell(const struct cell *cell, struct fact *out);

/* Sets *out to the value of a stored attribute at the present moment; false: not known yet. */
typedef bool get_fact(void *arg, uint32_t attr, struct fact *out);
struct view_result {
	bool open;         /* get() returned false for some operand */
	bool read_unknown; /* some operand was unknown */
};
/* Sets *out to the attribute's value; computes it if it is a view. */
struct view_result fact_compute(struct state *state, uint32_t attr, get_fact *get, void *arg,
				struct fact *out);

/* Which step (atom) of which shape of attributes binds the variable; false: none. */
bool view_source(const struct view *view, uint32_t variable, uint32_t *shape, uint32_t *atom);
/* The view's attribute for these values of its variables. */
uint32_t view_attr(struct attrs *attrs, const struct view *view, const struct value *values);

#endif
