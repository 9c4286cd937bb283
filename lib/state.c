/* state.c - values and intervals of attributes: only in libyore-state */
#include "yore-state.h"

#include "lib/lib_internal.h"

#include "engine/base/mem.h"
#include "state/state.h"

struct yore_state {
	struct yore *yore;
	struct rules *rules;
	struct state *state;
	struct buf text; /* of the last value */
};

static bool read_rules(struct yore_state *own, const struct yore_state_options *options,
		       struct error *err)
{
	bool ok = true;

	for (size_t i = 0; i < options->nrules && ok; i++)
		ok = rules_add_named(own->rules, options->rules[i], err);
	if (ok && !options->nrules)
		ok = rules_add_builtins(own->rules, own->yore->trace, err);
	return ok && rules_check(own->rules, err);
}

int yore_state_open(struct yore *yore, const struct yore_state_options *options,
		    struct yore_state **out, struct yore_error *err)
{
	struct yore_state_options asked = {0};
	struct yore_state *own = mem_new(sizeof *own);
	struct error cause;

	*out = NULL;
	lib_take_options(&asked, sizeof asked, options, options ? options->size : 0);
	own->yore = yore;
	own->rules = rules_new();
	struct state_options open = {.rules = own->rules,
				     .notices = lib_notices(yore),
				     .no_checkpoints = yore->options.no_index != 0};
	if (!read_rules(own, &asked, &cause) ||
	    !state_open(yore->index, &open, &own->state, &cause)) {
		own->state = NULL;
		yore_state_close(own);
		return lib_fail(err, &cause);
	}
	*out = own;
	return 0;
}

void yore_state_close(struct yore_state *state)
{
	if (!state)
		return;
	state_close(state->state);
	rules_free(state->rules);
	buf_release(&state->text);
	mem_free(state);
}

static void give_value(struct yore_state *own, const struct value *value, struct yore_value *out)
{
	*out = (struct yore_value){.kind = YORE_VALUE_UNKNOWN};
	switch (value->kind) {
	case VALUE_UNKNOWN:
		return;
	case VALUE_NONE:
		out->kind = YORE_VALUE_NONE;
		return;
	case VALUE_INT:
		out->u = value->u;
		out->i = (int64_t)value->u;
		out->kind =
			value->negative || value->u <= INT64_MAX ? YORE_VALUE_INT : YORE_VALUE_UINT;
		return;
	case VALUE_FLOAT:
		out->kind = YORE_VALUE_DOUBLE;
		out->f = value->f;
		return;
	case VALUE_STRING:
		buf_clear(&own->text);
		buf_add(&own->text, value->text, value->len);
		out->kind = YORE_VALUE_STRING;
		out->text = buf_text(&own->text);
		out->len = value->len;
		return;
	case VALUE_BOOL:
		out->kind = YORE_VALUE_BOOL;
		out->u = value->b;
		out->i = value->b;
		return;
	}
}

/* Parses and checks a path. Unknown names are errors; other remarks on the path are notices. */
static bool parse(struct yore_state *own, const char *path, struct query **out, struct error *err)
{
	struct buf note = {0};

	if (!query_parse(path, out, err))
		return false;
	bool ok = state_lookup(own->state, *out, NULL, &note, err);
	if (ok && note.len)
		notice(&own->yore->trace->notices, NOTICE_INFO, "%s", buf_text(&note));
	buf_release(&note);
	if (!ok)
		query_free(*out);
	return ok;
}

static bool at(struct yore_state *own, int64_t t, const struct query *query, struct yore_value *out,
	       int64_t *since, struct error *err)
{
	struct moment moment = {.t = t};
	struct answers answers;

	if (query_has_wildcard(query))
		return error_set(err, ERR_QUERY, "%s names more than one attribute",
				 query_text(query));
	if (!state_at(own->state, &moment, 1, &query, 1, false, &answers, err))
		return false;
	bool one = answers.count <= 1 || error_set(err, ERR_RANGE, "%s: %zu threads are called so",
						   query_text(query), answers.count);
	if (one && answers.count) {
		give_value(own, &answers.items[0].value, out);
		if (since)
			*since = answers.items[0].since;
	}
	answers_release(&answers);
	return one;
}

int yore_state_at(struct yore_state *state, int64_t t, const char *path, struct yore_value *out,
		  int64_t *since, struct yore_error *err)
{
	struct error cause;
	struct query *query;

	*out = (struct yore_value){.kind = YORE_VALUE_UNKNOWN};
	if (since)
		*since = YORE_TIME_MIN;
	if (!parse(state, path, &query, &cause))
		return lib_fail(err, &cause);
	bool ok = at(state, t, query, out, since, &cause);
	query_free(query);
	return ok ? 0 : lib_fail(err, &cause);
}

struct each {
	struct yore_state *own;
	int (*call)(void *arg, const char *attribute, int64_t from, int64_t to,
		    const struct yore_value *value);
	void *arg;
};

static bool give_interval(void *arg, const struct interval *interval)
{
	struct each *each = arg;
	struct yore_value value;

	give_value(each->own, &interval->value, &value);
	return each->call(each->arg, interval->path, interval->begin, interval->end, &value) == 0;
}

int yore_state_intervals(struct yore_state *state, int64_t begin, int64_t end, const char *path,
			 int (*each)(void *arg, const char *attribute, int64_t from, int64_t to,
				     const struct yore_value *value),
			 void *arg, struct yore_error *err)
{
	struct each to = {state, each, arg};
	struct error cause;
	struct query *query;

	if (!parse(state, path, &query, &cause))
		return lib_fail(err, &cause);
	bool ok =
		state_intervals(state->state, begin, end, INTERVALS_WHOLE,
				(const struct query *const *)&query, 1, give_interval, &to, &cause);
	query_free(query);
	return ok ? 0 : lib_fail(err, &cause);
}
