/*
 * select.c - selects the events of a run that pass: runs nodes over columns, class by class
 *
 * Terms of the outermost && shrink the selection one after the other, cheap ones first. Inside ||
 * and ! every event has an outcome, and further operands are evaluated only for undecided events.
 */
#include "state/filter/internal.h"

#include "engine/base/mem.h"

#include <string.h>

struct class_rows { /* the entries of one class in a run, as a linked list */
	uint32_t class_index;
	uint32_t first, last, n;
};

/* What to assume for a read that is none or unknown; GUESS_NOTHING: resolve it. */
enum guess { GUESS_UNKNOWN, GUESS_NONE, GUESS_NOTHING };

struct where_pass {
	const struct where *where;
	const struct where_reads *reads;
	struct arena *scratch;
	struct regex_room *regex_room;
	/* of the current run */
	const struct run *run;
	bool late;
	/* of the current event */
	struct event event;
	uint32_t entry;
	struct fields fields;
	struct error ignored;
	enum guess guess;
	uint32_t gap, ngaps; /* the attribute guessed last, and how many were guessed */
	/* by class: 1 + index of its group */
	uint16_t *group_of;
	struct class_rows groups[BATCH_MAX];
	uint16_t next[BATCH_MAX];
	uint16_t entries[BATCH_MAX];
	bool picked[BATCH_MAX];
	uint64_t values[BATCH_MAX], others[BATCH_MAX];
	uint16_t bad[2 * BATCH_MAX]; /* indices in columns of events that could not be decoded */
	uint32_t nbad;
};

struct where_pass *where_pass_new(const struct where *where, const struct where_reads *reads)
{
	struct where_pass *pass = mem_new(sizeof *pass);

	pass->where = where;
	pass->reads = reads;
	pass->scratch = arena_new();
	pass->group_of = mem_new_array(where->trace->nclasses + 1, sizeof *pass->group_of);
	return pass;
}

void where_pass_free(struct where_pass *pass)
{
	if (!pass)
		return;
	arena_free(pass->scratch);
	regex_room_free(pass->regex_room);
	mem_free(pass->group_of);
	mem_free(pass);
}

/* ---- event by event ---- */

static const struct fields *batch_fields(void *arg, const struct event *event)
{
	struct where_pass *pass = arg;
	const struct run *run = pass->run;

	(void)event;
	return run->reader->decoder_fields(run->decoder, run->batch, pass->entry, &pass->fields,
					   &pass->ignored)
		       ? &pass->fields
		       : NULL;
}

static enum eval read_state(void *arg, uint32_t attr, struct value *out)
{
	struct where_pass *pass = arg;
	const struct where_reads *reads = pass->reads;

	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (!reads || reads->read(reads->arg, attr, &pass->event, pass->scratch, out))
		return EVAL_VALUE;
	if (pass->guess == GUESS_NOTHING) {
		reads->resolve(reads->arg, attr, &pass->event, out);
		return EVAL_VALUE;
	}
	pass->ngaps += !pass->ngaps || attr != pass->gap;
	pass->gap = attr;
	out->kind = pass->guess == GUESS_NONE ? VALUE_NONE : VALUE_UNKNOWN;
	return EVAL_VALUE;
}

static struct env env_of(struct where_pass *pass)
{
	return (struct env){.program = pass->where->program,
			    .event = &pass->event,
			    .decode = batch_fields,
			    .read = read_state,
			    .arg = pass,
			    .regex_room = &pass->regex_room,
			    .scratch = pass->scratch};
}

static uint8_t evaluate(struct where_pass *pass, const struct expr *expr, uint32_t entry)
{
	struct env env = env_of(pass);

	pass->entry = entry;
	run_event(pass->where->trace, pass->run, entry, &pass->event);
	arena_reset(pass->scratch);
	return node_outcome(expr, &env);
}

/*
 * Guesses reads that are none or unknown, and resolves them only if the guess matters. Only whether
 * the outcome is YES is right, which is all that counts here.
 */
static uint8_t evaluate_reads(struct where_pass *pass, const struct expr *expr, uint32_t entry)
{
	uint8_t outcome, other;

	pass->guess = GUESS_UNKNOWN;
	pass->ngaps = 0;
	outcome = evaluate(pass, expr, entry);
	if (!pass->ngaps)
		return outcome;
	pass->guess = GUESS_NONE;
	other = evaluate(pass, expr, entry);
	if (pass->ngaps == 1 && (outcome == LOGIC_YES) == (other == LOGIC_YES))
		return outcome;
	pass->guess = GUESS_NOTHING;
	return evaluate(pass, expr, entry);
}

/* ---- columns ---- */

static void load_column(struct where_pass *pass, const struct node_column *column,
			const uint16_t *entries, uint32_t n, uint64_t *values)
{
	const nstime *time = pass->run->batch->time;

	if (column->is_time)
		for (uint32_t k = 0; k < n; k++)
			values[k] = (uint64_t)time[entries[k]];
	else
		pass->nbad += run_column(pass->run, &column->of, entries, n, values,
					 pass->bad + pass->nbad);
	if (column->mask != UINT64_MAX)
		for (uint32_t k = 0; k < n; k++)
			values[k] &= column->mask;
}

static void run_ranges(const struct node *node, const uint64_t *values, uint32_t n, uint8_t *out)
{
	ranges_test(&node->ranges, values, n, out);
	for (uint32_t k = 0; node->negated && k < n; k++)
		out[k] ^= 1;
}

static inline double double_of(uint64_t bits)
{
	double f;

	memcpy(&f, &bits, sizeof f);
	return f;
}

/* As in rules, with NaN only != is true. */
static void run_doubles(const struct node *node, const uint64_t *values, uint32_t n, uint8_t *out)
{
	const struct op_orders orders = op_orders(node->op);
	const double number = node->number;

	for (uint32_t k = 0; k < n; k++) {
		double f = double_of(values[k]);
		bool less = f<number, same = f == number, more = f> number;
		out[k] = (less & orders.less) | (same & orders.same) | (more & orders.more) |
			 (!(less | same | more) & (node->op == OP_NE));
	}
}

/* Compares two integers, each signed or unsigned. */
static inline int compare_pair(uint64_t a, bool a_signed, uint64_t b, bool b_signed)
{
	bool a_minus = a_signed && (int64_t)a < 0, b_minus = b_signed && (int64_t)b < 0;

	if (a_minus != b_minus)
		return a_minus ? -1 : 1;
	return (a > b) - (a < b);
}

static void run_pair(const struct node *node, const uint64_t *a, const uint64_t *b, uint32_t n,
		     uint8_t *out)
{
	bool a_signed = node->column.is_signed, b_signed = node->other.is_signed;
	const struct op_orders orders = op_orders(node->op);

	for (uint32_t k = 0; k < n; k++) {
		int order = compare_pair(a[k], a_signed, b[k], b_signed);
		out[k] = order < 0 ? orders.less : order > 0 ? orders.more : orders.same;
	}
}

static void run_columns(struct where_pass *pass, const struct node *node, const uint16_t *entries,
			uint32_t n, uint8_t *out)
{
	pass->nbad = 0;
	load_column(pass, &node->column, entries, n, pass->values);
	if (node->kind == NODE_PAIR)
		load_column(pass, &node->other, entries, n, pass->others);
	if (node->kind == NODE_PAIR)
		run_pair(node, pass->values, pass->others, n, out);
	else if (node->kind == NODE_RANGES)
		run_ranges(node, pass->values, n, out);
	else
		run_doubles(node, pass->values, n, out);
	for (uint32_t i = 0; i < pass->nbad; i++)
		out[pass->bad[i]] = LOGIC_FAILED;
}

/* ---- nodes ---- */

static void run_node(struct where_pass *pass, const struct node *node, const uint16_t *entries,
		     uint32_t n, uint8_t *out);

/* Runs a further operand of && or || for the events that are not decided yet. */
static void run_operand(struct where_pass *pass, const struct node *chain, const struct node *node,
			const uint16_t *entries, uint32_t n, uint8_t *out)
{
	const uint8_t(*table)[LOGIC_KINDS] = chain->kind == NODE_AND ? logic_and : logic_or;
	const uint8_t decided = chain->kind == NODE_AND ? LOGIC_NO : LOGIC_YES;
	uint16_t places[BATCH_MAX], left[BATCH_MAX];
	uint8_t more[BATCH_MAX];
	uint32_t count = 0;

	left[0] = entries[0];
	for (uint32_t k = 0; k < n; k++) {
		places[count] = (uint16_t)k;
		left[count] = entries[k];
		count += out[k] != decided;
	}
	run_node(pass, node, left, count, more);
	for (uint32_t i = 0; i < count; i++)
		out[places[i]] = table[out[places[i]]][more[i]];
}

static void run_node(struct where_pass *pass, const struct node *node, const uint16_t *entries,
		     uint32_t n, uint8_t *out)
{
	if (!n)
		return;
	switch (node->kind) {
	case NODE_FIXED:
		memset(out, node->outcome, n);
		return;
	case NODE_RUN:
		memset(out, evaluate(pass, node->expr, entries[0]), n);
		return;
	case NODE_RANGES:
	case NODE_DOUBLES:
	case NODE_PAIR:
		run_columns(pass, node, entries, n, out);
		return;
	case NODE_EACH:
		for (uint32_t k = 0; k < n; k++)
			out[k] = node->reads ? evaluate_reads(pass, node->expr, entries[k])
					     : evaluate(pass, node->expr, entries[k]);
		return;
	case NODE_NOT:
		run_node(pass, node->nodes[0], entries, n, out);
		for (uint32_t k = 0; k < n; k++)
			out[k] ^= out[k] <= LOGIC_YES;
		return;
	case NODE_AND:
	case NODE_OR:
		run_node(pass, node->nodes[0], entries, n, out);
		for (uint32_t i = 1; i < node->n; i++)
			run_operand(pass, node, node->nodes[i], entries, n, out);
		return;
	}
}

/* Keeps the entries that pass, in place; returns how many. */
static uint32_t keep_passing(struct where_pass *pass, const struct node *node, uint16_t *entries,
			     uint32_t n)
{
	uint8_t out[BATCH_MAX];
	uint32_t kept = 0;

	if (node->kind == NODE_AND) {
		for (uint32_t i = 0; i < node->n && n; i++)
			n = keep_passing(pass, node->nodes[i], entries, n);
		return n;
	}
	if (node->kind == NODE_FIXED)
		return node->outcome == LOGIC_YES ? n : 0;
	run_node(pass, node, entries, n, out);
	for (uint32_t k = 0; k < n; k++) {
		entries[kept] = entries[k];
		kept += out[k] == LOGIC_YES;
	}
	return kept;
}

/* ---- runs ---- */

static const struct node *test_of(const struct where_pass *pass, uint32_t class_index)
{
	const struct class_test *test = &pass->where->tests[class_index];

	return pass->late ? test->late : test->early;
}

static bool one_class(const struct run *run)
{
	const uint32_t *classes = run->batch->class_index;

	for (uint32_t i = run->first + 1; i < run->first + run->count; i++)
		if (classes[i] != classes[run->first])
			return false;
	return true;
}

static void add_to_group(struct where_pass *pass, uint32_t class_index, uint32_t i,
			 uint32_t *ngroups)
{
	uint16_t *number = &pass->group_of[class_index];
	struct class_rows *group;

	if (*number == 0) {
		pass->groups[*ngroups] = (struct class_rows){class_index, i, i, 1};
		*number = (uint16_t)++ * ngroups;
		return;
	}
	group = &pass->groups[*number - 1];
	pass->next[group->last] = (uint16_t)i;
	group->last = i;
	group->n++;
}

static void run_group(struct where_pass *pass, const struct class_rows *group)
{
	uint32_t n = group->n, i = group->first;

	for (uint32_t k = 0; k < n; k++, i = pass->next[i])
		pass->entries[k] = (uint16_t)i;
	n = keep_passing(pass, test_of(pass, group->class_index), pass->entries, n);
	for (uint32_t k = 0; k < n; k++)
		pass->picked[pass->entries[k]] = true;
}

static uint32_t select_mixed(struct where_pass *pass, const struct run *run, uint16_t *entries)
{
	const uint32_t *classes = run->batch->class_index;
	uint32_t ngroups = 0, n = 0;

	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		const struct node *node = test_of(pass, classes[i]);
		pass->picked[i] = node->kind == NODE_FIXED && node->outcome == LOGIC_YES;
		if (node->kind != NODE_FIXED)
			add_to_group(pass, classes[i], i, &ngroups);
	}
	for (uint32_t g = 0; g < ngroups; g++) {
		run_group(pass, &pass->groups[g]);
		pass->group_of[pass->groups[g].class_index] = 0;
	}
	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		entries[n] = (uint16_t)i;
		n += pass->picked[i];
	}
	return n;
}

static uint32_t select_from(struct where_pass *pass, const struct run *run, bool late,
			    uint16_t *entries)
{
	pass->run = run;
	pass->late = late;
	if (!run->count)
		return 0;
	if (!one_class(run))
		return select_mixed(pass, run, entries);
	for (uint32_t k = 0; k < run->count; k++)
		entries[k] = (uint16_t)(run->first + k);
	return keep_passing(pass, test_of(pass, run->batch->class_index[run->first]), entries,
			    run->count);
}

uint32_t where_select(void *pass, const struct run *run, uint16_t *entries)
{
	return select_from(pass, run, false, entries);
}

uint32_t where_select_by_state(struct where_pass *pass, const struct run *run, uint16_t *entries)
{
	return select_from(pass, run, true, entries);
}

/* ---- values ---- */

void where_value(struct where_pass *pass, const struct run *run, struct value *out)
{
	struct env env = env_of(pass);

	pass->run = run;
	pass->entry = run->first;
	pass->guess = GUESS_NOTHING;
	arena_reset(pass->scratch);
	run_event(pass->where->trace, run, run->first, &pass->event);
	if (expr_eval(pass->where->tests[pass->event.class->index].expr, &env, out) != EVAL_VALUE)
		*out = (struct value){.kind = VALUE_UNKNOWN};
}
