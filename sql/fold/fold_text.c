/*
 * fold_text.c - parses a statement, and rewrites it to read a folded table
 *
 *     [EXPLAIN QUERY PLAN] SELECT items FROM table [WHERE ...] [GROUP BY columns]
 *     [HAVING ...] [ORDER BY ...] [LIMIT ...]
 *
 * SQLite has already accepted the statement, so this file looks for the form above and gives up on
 * any other. Aggregates of a column become aggregates of "fold N"; a column outside of aggregates
 * must be a key.
 *
 * WHERE is copied, except for OR: SQLite may scan once for each side of it and drop duplicates by
 * rowid, which groups do not have. So a + hides a term with OR from the planner, its columns become
 * keys, and SQLite tests it on groups. The column of count(DISTINCT column) becomes a key, too:
 * there are more groups then, and SQLite adds them up.
 */
#include "sql/fold/fold_words.h"

#include "engine/base/mem.h"

#include <stdio.h>
#include <string.h>

/* ---- tables and columns ---- */

/* The shape of the table that word i names; NULL: it is no table of events. */
static struct shape *shape_named(const struct fold_statement *statement, size_t i,
				 const struct sql_host *host)
{
	const struct class_group *group = NULL;
	char *name = word_text(statement, i);
	bool events = !sqlite3_stricmp(name, "events"), taken = events;

	for (size_t k = 0; sql_modules[k].name; k++)
		taken |= !sqlite3_stricmp(name, sql_modules[k].name);
	for (size_t k = 0; k < host->ngroups && !taken && !group; k++)
		if (!sqlite3_stricmp(host->groups[k].name, name))
			group = &host->groups[k];
	mem_free(name);
	return events || group ? shape_new(host->trace, group, false, NULL) : NULL;
}

/* The column that word i names; -1: none. */
static int column_named(const struct fold_statement *statement, size_t i)
{
	const struct shape *shape = statement->fold->shape;
	enum word_kind kind = statement->words[i].kind;
	int found = -1;

	if (kind != WORD_NAME && kind != WORD_QUOTED)
		return -1;
	char *name = word_text(statement, i);
	for (size_t k = 0; k < shape->ncolumns && found < 0; k++)
		if (!sqlite3_stricmp(shape->columns[k].name, name))
			found = (int)k;
	mem_free(name);
	return found;
}

static bool can_be_key(const struct column *column)
{
	return column->kind == COLUMN_TS || column->kind == COLUMN_CPU ||
	       column->kind == COLUMN_NAME || column->kind == COLUMN_STREAM ||
	       (column->kind == COLUMN_FIELD &&
		(column->whole_number || !strcmp(column->type, "TEXT")));
}

static bool can_be_value(const struct column *column)
{
	return column->kind == COLUMN_TS || column->kind == COLUMN_CPU ||
	       (column->kind == COLUMN_FIELD && column->whole_number);
}

/* Is the column a key that GROUP BY names? */
static bool is_key(const struct fold *fold, int column)
{
	for (unsigned i = 0; i < fold->ngrouped; i++)
		if ((int)fold->keys[i] == column)
			return true;
	return false;
}

/* Makes the column a key. False: there are too many, or it cannot be one. */
static bool add_key(struct fold *fold, int column)
{
	for (unsigned i = 0; i < fold->nkeys; i++)
		if ((int)fold->keys[i] == column)
			return true;
	if (fold->nkeys == FOLD_KEYS_MAX || !can_be_key(&fold->shape->columns[column]))
		return false;
	fold->keys[fold->nkeys++] = (uint32_t)column;
	return true;
}

/* The number of the value "fold N", added if it is new; -1: there are too many. */
static int value_number(struct fold *fold, enum aggregate_kind kind, uint32_t column)
{
	for (unsigned i = 0; i < fold->nvalues; i++)
		if (fold->values[i].kind == kind && fold->columns[i] == column)
			return (int)i;
	if (fold->nvalues == FOLD_VALUES_MAX)
		return -1;
	fold->values[fold->nvalues] = (struct aggregate){.kind = kind};
	fold->columns[fold->nvalues] = column;
	return (int)fold->nvalues++;
}

/* ---- expressions ---- */

/* Writes avg() or total(). SQLite adds doubles; fold_fits() ensures that integers sum up alike. */
static bool fold_average(struct fold *fold, uint32_t column, bool total, char *out, size_t size)
{
	int sum = value_number(fold, AGGREGATE_SUM, column);
	int count = value_number(fold, AGGREGATE_COUNT, column);

	if (total)
		snprintf(out, size, "coalesce(CAST(sum(\"fold %d\") AS REAL), 0.0)", sum);
	else
		snprintf(out, size, "CAST(sum(\"fold %d\") AS REAL) / sum(\"fold %d\")", sum,
			 count);
	return sum >= 0 && count >= 0 && value_number(fold, AGGREGATE_MAGNITUDE, column) >= 0;
}

/* Writes an aggregate of a column, words [i, i + 4); false: it cannot be folded. */
static bool fold_call(struct fold_statement *statement, size_t i, char *out, size_t size)
{
	static const struct {
		const char *name;
		enum aggregate_kind kind;
		const char *before, *behind;
	} calls[] = {{"count", AGGREGATE_COUNT, "coalesce(sum(", "), 0)"},
		     {"sum", AGGREGATE_SUM, "sum(", ")"},
		     {"min", AGGREGATE_MIN, "min(", ")"},
		     {"max", AGGREGATE_MAX, "max(", ")"}};
	struct fold *fold = statement->fold;
	int column = column_named(statement, i + 2), number = -1;
	bool value = column >= 0 && can_be_value(&fold->shape->columns[column]);

	if (!word_is_sign(statement, i + 3, ')'))
		return false;
	if (word_is(statement, i, "avg") || word_is(statement, i, "total"))
		return value && fold_average(fold, (uint32_t)column, word_is(statement, i, "total"),
					     out, size);
	for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
		if (!word_is(statement, i, calls[k].name))
			continue;
		if (calls[k].kind == AGGREGATE_COUNT && word_is_sign(statement, i + 2, '*'))
			number = value_number(fold, AGGREGATE_COUNT, FOLD_ROWS);
		else if (value)
			number = value_number(fold, calls[k].kind, (uint32_t)column);
		snprintf(out, size, "%s\"fold %d\"%s", calls[k].before, number, calls[k].behind);
	}
	return number >= 0;
}

/* Are words [i, i + 5) count(DISTINCT word)? SQLite counts it, over groups with that key. */
static bool is_distinct_count(const struct fold_statement *statement, size_t i)
{
	return word_is(statement, i, "count") && word_is_sign(statement, i + 1, '(') &&
	       word_is(statement, i + 2, "distinct") && word_is_sign(statement, i + 4, ')');
}

/* trace(), host() and clock_offset() are the same in all rows: see sql_set_constant(). */
static bool is_constant_call(const struct fold_statement *statement, size_t i)
{
	static const char *const names[] = {"trace", "host", "clock_offset", NULL};

	return word_is_any(statement, i, names) && word_is_sign(statement, i + 1, '(') &&
	       word_is_sign(statement, i + 2, ')');
}

/* The column if words [i, i + count) are `name(column ...)`; -1: they are not. */
static int spread_column(const struct fold_statement *statement, size_t i, size_t end,
			 const char *name, size_t count)
{
	const struct fold *fold = statement->fold;

	if (i + count > end || !word_is(statement, i, name) ||
	    !word_is_sign(statement, i + count - 1, ')'))
		return -1;
	int column = column_named(statement, i + 2);
	bool good = column >= 0 && can_be_value(&fold->shape->columns[column]) &&
		    !strchr(fold->shape->columns[column].name, '"');
	return good ? column : -1;
}

/*
 * For sql_in_parts(): writes percentile(column, number), median(column) or histogram(column) as a
 * function of the column, which becomes a key, and its count. Returns how many words that were; 0:
 * another function.
 */
static size_t write_spread(struct fold_statement *statement, size_t i, size_t end)
{
	static const char *const names[] = {"percentile", "median", "histogram"};
	struct fold *fold = statement->fold;
	size_t which = 0, words = 6;
	int column = -1;

	for (; which < 3 && column < 0; which += column < 0) {
		words = which ? 4 : 6;
		column = spread_column(statement, i, end, names[which], words);
	}
	if (column < 0 || (!which && (!word_is_sign(statement, i + 3, ',') ||
				      statement->words[i + 4].kind != WORD_NUMBER)))
		return 0;
	int count = value_number(fold, AGGREGATE_COUNT, (uint32_t)column);
	if (count < 0 || !add_key(fold, column))
		return 0;
	buf_printf(&statement->out, "%s(\"%s\", \"fold %d\"",
		   which == 2 ? "yore_histogram" : "yore_percentile",
		   fold->shape->columns[column].name, count);
	if (which == 1)
		buf_add_text(&statement->out, ", 50");
	if (which == 0)
		buf_printf(&statement->out, ", %.*s", (int)statement->words[i + 4].len,
			   statement->text + statement->words[i + 4].at);
	buf_add_char(&statement->out, ')');
	return words;
}

/* Is word i, before a bracket, a keyword or function that is no aggregate? */
static bool is_harmless(const struct fold_statement *statement, size_t i)
{
	static const char *const names[] = {
		"and",   "or",    "not",       "in",     "when",   "then",  "else",    "between",
		"like",  "glob",  "is",        "cast",   "by",     "as",    "printf",  "format",
		"round", "abs",   "hex",       "u64",    "upper",  "lower", "length",  "substr",
		"ts",    "iif",   "ifnull",    "nullif", "typeof", "trim",  "replace", "coalesce",
		"instr", "quote", "time_text", NULL};

	return word_is_any(statement, i, names) || is_constant_call(statement, i);
}

static void copy_between(struct fold_statement *statement, size_t from, size_t to)
{
	buf_add(&statement->out, statement->text + from, to - from);
}

static bool is_parameter(const struct fold_statement *statement, size_t i)
{
	return word_is_sign(statement, i, '.') || word_is_sign(statement, i, '?') ||
	       word_is_sign(statement, i, ':') || word_is_sign(statement, i, '@') ||
	       word_is_sign(statement, i, '$');
}

/* Writes the word at i, or a whole call. Returns how many words it read; 0: cannot be folded. */
static size_t write_word(struct fold_statement *statement, size_t i, size_t end)
{
	const struct word *word = &statement->words[i];
	bool called = i + 1 < end && word_is_sign(statement, i + 1, '(');
	bool name = word->kind == WORD_NAME || word->kind == WORD_QUOTED;
	int column = column_named(statement, i);
	char call[128];

	if (is_parameter(statement, i))
		return 0;
	if (i + 4 < end && is_distinct_count(statement, i)) {
		const struct word *last = &statement->words[i + 4];
		column = column_named(statement, i + 3);
		copy_between(statement, word->at, last->at + last->len);
		return column >= 0 && add_key(statement->fold, column) ? 5 : 0;
	}
	size_t spread =
		called && statement->fold->host->in_parts ? write_spread(statement, i, end) : 0;
	if (spread)
		return spread;
	if (called && i + 3 < end && fold_call(statement, i, call, sizeof call)) {
		buf_add_text(&statement->out, call);
		return 4;
	}
	if (name && called && !is_harmless(statement, i))
		return 0;
	if (name && !called && column >= 0 && !is_key(statement->fold, column))
		return 0;
	copy_between(statement, word->at, word->at + word->len);
	return 1;
}

/* Writes words [i, end), with the blanks between them. False: some word cannot be folded. */
static bool write_words(struct fold_statement *statement, size_t i, size_t end)
{
	while (i < end) {
		size_t words = write_word(statement, i, end);
		if (!words)
			return false;
		const struct word *last = &statement->words[i + words - 1];
		i += words;
		if (i < end)
			copy_between(statement, last->at + last->len, statement->words[i].at);
	}
	return true;
}

/* Writes words [from, end), a result column, and its text as alias, so that it keeps its name. */
static bool write_item(struct fold_statement *statement, size_t from, size_t end)
{
	const struct word *first = &statement->words[from], *last = &statement->words[end - 1];
	bool named = false;

	if (from == end || word_is_sign(statement, from, '*'))
		return false;
	for (size_t i = from; i < end; i++)
		named |= word_is(statement, i, "as") && i > from && i + 2 == end;
	if (named && column_named(statement, end - 1) >= 0)
		return false; /* an alias that is also a column may mean either */
	if (end - from > 1 && (last->kind == WORD_NAME || last->kind == WORD_QUOTED))
		named |=
			!word_is(statement, end - 1, "end") && !word_is(statement, end - 1, "null");
	size_t begin = statement->out.len;
	if (!write_words(statement, from, end))
		return false;
	if (named || (end - from == 1 && statement->out.len - begin == first->len))
		return true;
	buf_add_text(&statement->out, " AS \"");
	for (size_t i = first->at; i < last->at + last->len; i++) {
		if (statement->text[i] == '"')
			buf_add_char(&statement->out, '"');
		buf_add_char(&statement->out, statement->text[i]);
	}
	buf_add_char(&statement->out, '"');
	return true;
}

/* ---- clauses ---- */

enum clause { FROM, WHERE, GROUP_BY, HAVING, ORDER_BY, LIMIT, CLAUSES };

struct clauses {
	size_t select;
	size_t at[CLAUSES + 1]; /* index of the first word; a missing clause is where the next is */
};

static bool has_clause(const struct clauses *clauses, enum clause clause)
{
	return clauses->at[clause] < clauses->at[clause + 1];
}

static bool find_clauses(const struct fold_statement *statement, struct clauses *out)
{
	static const char *const never[] = {"join",   "union",   "intersect", "except", "over",
					    "filter", "with",    "values",    "window", "exists",
					    "all",    "collate", NULL};
	static const char *const names[CLAUSES] = {"from",   "where", "group",
						   "having", "order", "limit"};
	size_t end = statement->count - 1, i = 0;
	int depth = 0;

	for (int k = 0; k <= CLAUSES; k++)
		out->at[k] = end;
	if (word_is(statement, 0, "explain") && end > 3 && word_is(statement, 1, "query"))
		i = 3;
	if (!word_is(statement, i, "select"))
		return false;
	out->select = i;
	for (i++; i < end; i++) {
		depth += word_is_sign(statement, i, '(') - word_is_sign(statement, i, ')');
		if (word_is(statement, i, "select") || word_is_any(statement, i, never) ||
		    (word_is(statement, i, "distinct") &&
		     (i < 2 || !is_distinct_count(statement, i - 2))))
			return false;
		if (depth)
			continue;
		for (int k = 0; k < CLAUSES; k++)
			if (word_is(statement, i, names[k]) && (k != FROM || out->at[FROM] == end))
				out->at[k] = i;
	}
	for (int k = CLAUSES; k-- > WHERE;)
		out->at[k] = out->at[k] < end ? out->at[k] : out->at[k + 1];
	return out->at[FROM] + 2 == out->at[WHERE]; /* one table, without an alias */
}

/* Finds result column `number`, from 1: words [*from, *end). False: there is none. */
static bool find_item(const struct fold_statement *statement, const struct clauses *clauses,
		      size_t number, size_t *from, size_t *end)
{
	int depth = 0;

	*from = clauses->select + 1;
	for (size_t i = *from; i <= clauses->at[FROM]; i++) {
		depth += word_is_sign(statement, i, '(') - word_is_sign(statement, i, ')');
		if (i < clauses->at[FROM] && (depth || !word_is_sign(statement, i, ',')))
			continue;
		*end = i;
		if (!--number)
			return true;
		*from = i + 1;
	}
	return false;
}

static bool write_items(struct fold_statement *statement, const struct clauses *clauses)
{
	size_t from, end;

	for (size_t n = 1; find_item(statement, clauses, n, &from, &end); n++) {
		buf_add_text(&statement->out, n > 1 ? ", " : "");
		if (!write_item(statement, from, end))
			return false;
	}
	return true;
}

/* The column that word i of GROUP BY names: by name, by number of a result column, by alias. */
static int key_column(const struct fold_statement *statement, const struct clauses *clauses,
		      size_t i)
{
	int column = column_named(statement, i);
	size_t wanted = word_number(statement, i), from, end;
	bool found = false;

	for (size_t n = 1; column < 0 && !found; n++) {
		if (!find_item(statement, clauses, n, &from, &end))
			return -1;
		bool renamed = end - from == 3 && word_is(statement, from + 1, "as");
		found = n == wanted || (renamed && word_is_same(statement, i, from + 2));
		if (found && (renamed || end - from == 1))
			column = column_named(statement, from);
	}
	return column;
}

static bool read_keys(struct fold_statement *statement, const struct clauses *clauses)
{
	struct fold *fold = statement->fold;
	size_t end = clauses->at[HAVING];

	if (!has_clause(clauses, GROUP_BY))
		return !has_clause(clauses, HAVING);
	for (size_t i = clauses->at[GROUP_BY] + 2; i < end; i += 2) {
		if (is_constant_call(statement, i) &&
		    (i + 3 == end || word_is_sign(statement, i + 3, ','))) {
			i += 2;
			continue;
		}
		int column = key_column(statement, clauses, i);
		if (column < 0 || !can_be_key(&fold->shape->columns[column]) ||
		    fold->nkeys == FOLD_KEYS_MAX ||
		    (i + 1 < end && !word_is_sign(statement, i + 1, ',')))
			return false;
		fold->keys[fold->nkeys++] = (uint32_t)column;
	}
	fold->ngrouped = fold->nkeys;
	return fold->nkeys > 0;
}

/* Is only min(ts) or max(ts) wanted? A scan finds it without reading the trace. */
static bool is_better_scanned(const struct fold *fold)
{
	return !fold->nkeys &&
	       (!fold->nvalues || (fold->nvalues == 1 && fold->values[0].kind >= AGGREGATE_MIN &&
				   fold->shape->columns[fold->columns[0]].kind == COLUMN_TS));
}

static bool has_or(const struct fold_statement *statement, size_t i, size_t end)
{
	while (i < end && !word_is(statement, i, "or"))
		i++;
	return i < end;
}

/* The index of the word behind the bracket that words[i] opens. */
static size_t behind_bracket(const struct fold_statement *statement, size_t i, size_t end)
{
	int depth = 0;

	do {
		depth += word_is_sign(statement, i, '(') - word_is_sign(statement, i, ')');
		i++;
	} while (i < end && depth);
	return i;
}

/* Writes the condition of words [i, end) behind a +; its columns become keys. */
static bool write_tested(struct fold_statement *statement, size_t i, size_t end)
{
	const struct word *words = statement->words;

	for (size_t k = i; k < end; k++) {
		int column = column_named(statement, k);
		if (is_parameter(statement, k) ||
		    (column >= 0 && !word_is_sign(statement, k + 1, '(') &&
		     !add_key(statement->fold, column)))
			return false;
	}
	buf_add_text(&statement->out, " +(");
	copy_between(statement, words[i].at, words[end - 1].at + words[end - 1].len);
	buf_add_text(&statement->out, ") ");
	return true;
}

/* Do words [i, end) have an OR outside of brackets? */
static bool has_open_or(const struct fold_statement *statement, size_t i, size_t end)
{
	while (i < end && !word_is(statement, i, "or"))
		i = word_is_sign(statement, i, '(') ? behind_bracket(statement, i, end) : i + 1;
	return i < end;
}

/* Writes the WHERE clause, words [i, end). */
static bool write_where(struct fold_statement *statement, size_t i, size_t end)
{
	const struct word *words = statement->words;
	size_t copied = i, next;

	if (has_open_or(statement, i, end)) {
		copy_between(statement, words[i].at, words[i].at + words[i].len);
		return write_tested(statement, i + 1, end);
	}
	for (size_t k = i; k < end; k = next) {
		next = k + 1;
		if (!word_is_sign(statement, k, '('))
			continue;
		next = behind_bracket(statement, k, end);
		if (!has_or(statement, k, next))
			continue;
		if (!word_is(statement, k - 1, "where") && !word_is(statement, k - 1, "and"))
			return false;
		copy_between(statement, words[copied].at, words[k].at);
		if (!write_tested(statement, k, next))
			return false;
		copied = next;
	}
	copy_between(statement, words[copied].at, words[end].at);
	return true;
}

static bool write_statement(struct fold_statement *statement, const struct clauses *clauses)
{
	const struct word *words = statement->words;
	size_t tail = clauses->at[GROUP_BY];

	copy_between(statement, 0, words[clauses->select + 1].at);
	if (!write_items(statement, clauses))
		return false;
	buf_printf(&statement->out, " FROM \"%s\" ", statement->fold->name);
	if (has_clause(clauses, WHERE) && !write_where(statement, clauses->at[WHERE], tail))
		return false;
	return write_words(statement, tail, clauses->at[CLAUSES]);
}

static bool rewrite(struct fold_statement *statement, struct sql_host *host)
{
	static _Atomic unsigned number;
	struct fold *fold = statement->fold;
	struct clauses clauses;

	words_read(statement);
	if (!find_clauses(statement, &clauses))
		return false;
	fold->host = host;
	fold->shape = shape_named(statement, clauses.at[FROM] + 1, host);
	if (!fold->shape)
		return false;
	char *table = word_text(statement, clauses.at[FROM] + 1);
	snprintf(fold->name, sizeof fold->name, "%.80s folded %u", table, ++number);
	mem_free(table);
	return !strpbrk(fold->name, "\"") && read_keys(statement, &clauses) &&
	       write_statement(statement, &clauses) && (host->in_parts || !is_better_scanned(fold));
}

void fold_free(struct fold *fold)
{
	if (!fold)
		return;
	scan_plans_release(&fold->plans);
	shape_free(fold->shape);
	mem_free(fold);
}

char *fold_rewrite(struct sql_context *context, const char *text, size_t len, struct fold **out)
{
	struct sql_host *host = context->hosts;
	struct fold_statement statement = {.text = text, .len = len};
	char *written = NULL;

	*out = NULL;
	if (!host || !host->pushdown)
		return NULL;
	statement.fold = mem_new(sizeof *statement.fold);
	if (rewrite(&statement, host)) {
		*out = statement.fold;
		written = statement.out.data;
	} else {
		fold_free(statement.fold);
		buf_release(&statement.out);
	}
	mem_free(statement.words);
	return written;
}
