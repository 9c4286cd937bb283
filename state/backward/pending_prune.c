/*
 * pending_prune.c - pending writes that cannot win
 *
 * Until cpu[3]/thread is known, each event of CPU 3 that writes thread[cpu[3]/thread]/x leaves a
 * pending write. All wait for the same question, so only the newest can answer: the others are
 * dropped, unless a question was opened in between, which only an older one can answer.
 */
#include "state/backward/internal.h"
#include "state/program/expr.h"

/* Notes the one question behind each open key; none when a key is more than one plain read. */
void pending_keys(struct backward *pass, struct pending_write *pending)
{
	const struct path *target = &pending->step->line->target;
	struct question *keys[PATH_ATOMS];
	uint32_t count = 0, attr;
	enum failure why;

	for (uint32_t i = 0; i < pending->pattern->natoms; i++) {
		const struct expr *expr = target->atoms[i].expr;

		if (pending->pattern->atoms[i].kind != PATTERN_OPEN)
			continue;
		if (expr->kind != EXPR_READ || expr->may_view ||
		    path_eval(&expr->path, &pass->env, &attr, &why) != EVAL_VALUE)
			return;
		keys[count++] = question_ask(pass, attr, &pending->read_key);
	}
	pending->prunes = true;
	pending->keys = arena_copy(pass->arena, keys, count, sizeof keys[0]);
}

static bool same_target(const struct pending_write *a, const struct pending_write *b)
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

/* Was a question that the pending writes may answer opened below the newer one? */
static bool opened_below(const struct backward *pass, const struct pending_write *newer)
{
	const struct step_of *step = newer->step;

	for (uint32_t i = 0; i < step->nwrites; i++)
		if (order_compare(&pass->opened[step->writes[i]], &newer->key) <= 0)
			return true;
	return false;
}

/* To a newer one of its line, else it is one of these from now on. */
static bool loses(struct backward *pass, struct pending_write *pending)
{
	struct pending_write **newest = &pass->of_line[pending->step->line->id], **link = newest;

	while (*link) {
		struct pending_write *c = *link;

		if (c->state != PENDING_OPEN || !c->prunes) {
			*link = c->same_line;
			continue;
		}
		if (order_compare(&c->key, &pending->key) > 0 && same_target(c, pending)) {
			if (!opened_below(pass, c))
				return true;
			break;
		}
		link = &c->same_line;
	}
	pending->same_line = *newest;
	*newest = pending;
	return false;
}

/* After the questions of the event's lines were merged. */
void pending_prune(struct backward *pass)
{
	for (size_t i = 0; i < pass->nnew_pending; i++) {
		struct pending_write *pending = pass->new_pending[i];

		if (pending->state != PENDING_OPEN || !pending->prunes || !loses(pass, pending))
			continue;
		pending->state = PENDING_DEAD;
		pending_remove(pass, pending);
		wake(pass, &pending->watchers);
	}
	pass->nnew_pending = 0;
	if (pass->npending > pass->options.limits.pendings)
		pass->gave_up = true;
}
