/*
 * claims_prune.c - claims that cannot win
 *
 * Until cpu[3]/thread is known, each event of CPU 3 that writes thread[cpu[3]/thread]/x leaves a
 * claim. All wait for the same question, so only the newest can answer: the others are dropped,
 * unless a question was opened in between, which only an older one can answer.
 */
#include "engine/base/mem.h"
#include "state/backward/internal.h"
#include "state/program/expr.h"

/* Notes the one question behind each open key; none when a key is more than one plain read. */
void claim_keys(struct backward *pass, struct claim *claim)
{
	const struct path *target = &claim->step->line->target;
	struct question *keys[PATH_ATOMS];
	uint32_t count = 0, attr;
	enum failure why;

	for (uint32_t i = 0; i < claim->pattern->natoms; i++) {
		const struct expr *expr = target->atoms[i].expr;

		if (claim->pattern->atoms[i].kind != PATTERN_OPEN)
			continue;
		if (expr->kind != EXPR_READ || expr->may_view ||
		    path_eval(&expr->path, &pass->env, &attr, &why) != EVAL_VALUE)
			return;
		keys[count++] = question_ask(pass, attr, &claim->read_key);
	}
	claim->prunes = true;
	claim->nkeys = count;
	claim->keys = arena_array(pass->arena, count, sizeof(struct question *));
	for (uint32_t i = 0; i < count; i++)
		claim->keys[i] = keys[i];
}

static bool same_target(const struct claim *a, const struct claim *b)
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

/* Was a question that the claims may answer opened below the newer one? */
static bool opened_below(const struct backward *pass, const struct claim *newer)
{
	const struct shape_bits *writes = &newer->step->writes;

	for (uint32_t w = 0; w < writes->n; w++)
		for (uint64_t bits = writes->words[w].bits; bits; bits &= bits - 1) {
			uint32_t bit = writes->words[w].at * 64 + (uint32_t)__builtin_ctzll(bits);
			if (order_compare(&pass->opened[bit], &newer->key) <= 0)
				return true;
		}
	return false;
}

static bool loses(const struct backward *pass, const struct claim *claim)
{
	for (const struct claim *c = claim->newer; c; c = c->newer)
		if (c->prunes && c->step->line->id == claim->step->line->id &&
		    same_target(c, claim))
			return !opened_below(pass, c);
	return false;
}

/* After the questions of the event's lines were merged. */
void claims_prune(struct backward *pass)
{
	for (size_t i = 0; i < pass->nnew_claims; i++) {
		struct claim *claim = pass->new_claims[i];

		if (claim->state != CLAIM_OPEN || !claim->prunes || !loses(pass, claim))
			continue;
		claim->state = CLAIM_DEAD;
		claims_remove(pass, claim);
		wake(pass, &claim->watchers);
	}
	pass->nnew_claims = 0;
	if (pass->nclaims > pass->options.limits.claims)
		pass->gave_up = true;
}
