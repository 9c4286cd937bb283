/*
 * pending_prune.c - drops pending writes that cannot answer any question
 *
 * While cpu[3]/thread is not known, each event of CPU 3 that writes thread[cpu[3]/thread]/x leaves
 * a pending write. All wait for the same question, so only the newest can give the answer. The
 * older ones are dropped, unless a question was opened in between, which only an older one can
 * answer.
 */
#include "engine/base/bitset.h"
#include "state/backward/internal.h"
#include "state/program/expr.h"

struct target { /* the target of a line at an event */
	const struct pattern *pattern;
	struct question *const *keys; /* the question of each open key */
};

/*
 * Finds the attributes that the open keys of the target read; false: a key is more than a plain
 * read.
 */
static bool key_attrs(struct backward *pass, const struct line *line, const struct pattern *pattern,
		      uint32_t attrs[PATH_ATOMS], uint32_t *count)
{
	*count = 0;
	for (uint32_t i = 0; i < pattern->natoms; i++) {
		const struct expr *expr = line->target.atoms[i].expr;

		if (pattern->atoms[i].kind != PATTERN_OPEN)
			continue;
		if (expr->kind != EXPR_READ || expr->may_view ||
		    path_eval(&expr->path, &pass->env, &attrs[*count]) != EVAL_VALUE)
			return false;
		++*count;
	}
	return true;
}

/* Sets pending->keys and `prunes`, if each open key is a plain read. */
void pending_keys(struct backward *pass, struct pending_write *pending)
{
	struct question *keys[PATH_ATOMS];
	uint32_t attrs[PATH_ATOMS], count;

	if (!key_attrs(pass, pending->step->line, pending->pattern, attrs, &count))
		return;
	for (uint32_t i = 0; i < count; i++)
		keys[i] = question_ask(pass, attrs[i], &pending->read_key);
	pending->prunes = true;
	pending->keys = arena_copy(pass->arena, keys, count, sizeof keys[0]);
}

static bool same_target(const struct target *a, const struct target *b)
{
	uint32_t key = 0;

	for (uint32_t i = 0; i < a->pattern->natoms; i++) {
		const struct pattern_atom *x = &a->pattern->atoms[i];
		const struct pattern_atom *y = &b->pattern->atoms[i];

		if (x->kind != y->kind)
			return false;
		if (x->kind == PATTERN_OPEN) {
			if (question_final(a->keys[key]) != question_final(b->keys[key]))
				return false;
			key++;
		} else if (x->kind == PATTERN_KEY && !value_equal(&x->value, &y->value)) {
			return false;
		}
	}
	return true;
}

static struct target target_of(const struct pending_write *pending)
{
	return (struct target){pending->pattern, pending->keys};
}

/* Was a question that these pending writes may answer opened below the newer one? */
static bool opened_below(const struct backward *pass, const struct pending_write *newer)
{
	const struct step_of *step = newer->step;

	for (uint32_t i = 0; i < step->nwrites; i++)
		if (order_compare(&pass->opened[step->writes[i]], &newer->key) <= 0)
			return true;
	return false;
}

/* Can a newer pending write of the same line and target give every answer that this one could? */
static bool loses(struct backward *pass, const struct line *line, const struct order *key,
		  const struct target *target)
{
	struct pending_write **link = &pass->of_line[line->id];

	while (*link) {
		struct pending_write *c = *link;
		const struct target other = target_of(c);

		if (c->state != PENDING_OPEN || !c->prunes) {
			*link = c->same_line;
			continue;
		}
		if (order_compare(&c->key, key) > 0 && same_target(&other, target))
			return !opened_below(pass, c);
		link = &c->same_line;
	}
	return false;
}

/*
 * The same before the pending write is made: the line's target is in pass->pattern, and it
 * certainly writes. Also false if not known yet: other lines of the event may write a key.
 */
bool pending_is_lost(struct backward *pass, const struct step_of *step, const struct order *key,
		     const struct order *read_key)
{
	struct question *keys[PATH_ATOMS];
	uint32_t attrs[PATH_ATOMS], count;

	if (!pass->of_line[step->line->id] ||
	    !key_attrs(pass, step->line, &pass->pattern, attrs, &count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t bit = closure_bit(pass->closure, attr_shape(pass->attrs, attrs[i]));

		if (bit == ATTR_ABSENT || bitset_has(pass->plan->writes, bit))
			return false;
		keys[i] = question_above(pass, attrs[i], read_key);
		if (!keys[i])
			return false;
	}
	return loses(pass, step->line, key, &(const struct target){&pass->pattern, keys});
}

/* Prunes the present event's pending writes, after its questions were merged. */
void pending_prune(struct backward *pass)
{
	for (size_t i = 0; i < pass->nnew_pending; i++) {
		struct pending_write *pending = pass->new_pending[i], **newest;
		const struct target target = target_of(pending);

		if (pending->state != PENDING_OPEN || !pending->prunes)
			continue;
		if (!loses(pass, pending->step->line, &pending->key, &target)) {
			newest = &pass->of_line[pending->step->line->id];
			pending->same_line = *newest;
			*newest = pending;
			continue;
		}
		pending->state = PENDING_DEAD;
		pending_remove(pass, pending);
		wake(pass, &pending->watchers);
	}
	pass->nnew_pending = 0;
	if (pass->npending > pass->options.limits.pendings)
		pass->gave_up = true;
}
