/* line_cache.c - see line_cache.h; lines stand in a table, by their thread and CPU */
#include "repl/line_cache.h"

#include "engine/base/mem.h"

enum { LINES = 16, OFTEN = 16, TRIED = 8 * LINES, PAUSE = 16 * TRIED };

struct line {
	const struct stream_plan *at; /* NULL: not in use */
	int32_t cpu;
	int64_t tid;
	uint64_t told;                       /* thread_names_told() */
	uint64_t values[LINE_CACHE_NUMBERS]; /* of the kept numbers */
	uint16_t len[LINE_CACHE_NUMBERS +
		     1]; /* of the texts before each other number, and of the last */
	char text[LINE_CACHE_TEXT + COPY_PAD];
};

struct number {
	uint32_t slot;
	enum leaf leaf;
	uint64_t mask;
};

struct line_cache {
	size_t nkept, nothers;
	uint32_t kept[LINE_CACHE_NUMBERS]; /* slots */
	struct number others[LINE_CACHE_NUMBERS];
	uint64_t asked, missed;
	uint32_t paused; /* so many lines are not looked for: too many were missed */
	uint32_t differed[LINE_CACHE_NUMBERS]; /* per token of the context: lines; UINT32_MAX: not
						  kept */
	struct line items[LINES];
};

/* Deals the tokens out, to those that are kept and the others; no line is of use then. */
static void deal(struct line_cache *lines, const struct plan *context)
{
	lines->nkept = lines->nothers = 0;
	for (size_t i = 0; i < context->count; i++) {
		const struct token *token = &context->tokens[i];
		if (lines->differed[i] == UINT32_MAX)
			lines->others[lines->nothers++] =
				(struct number){token->slot, token->leaf, token->mask};
		else
			lines->kept[lines->nkept++] = token->slot;
	}
	for (size_t i = 0; i < LINES; i++)
		lines->items[i].at = NULL;
}

struct line_cache *line_cache_new(const struct class_plan *plan)
{
	const struct plan *context = &plan->context;
	struct line_cache *lines;

	if (!context->count || context->count > LINE_CACHE_NUMBERS)
		return NULL;
	for (size_t i = 0; i < context->count; i++)
		if (context->tokens[i].leaf > LEAF_HEX)
			return NULL;
	lines = mem_new(sizeof *lines);
	deal(lines, context);
	return lines;
}

void line_cache_free(struct line_cache *lines)
{
	mem_free(lines);
}

/* The thread's line has other numbers: those that differ in one of OFTEN lines are kept no more. */
static void note_differing(struct line_cache *lines, const struct line *line,
			   const struct plan *context, const struct slot *slots)
{
	bool often = false;
	size_t kept = 0;

	for (size_t i = 0; i < context->count; i++) {
		uint32_t *differed = &lines->differed[i];
		if (*differed == UINT32_MAX ||
		    slots[context->tokens[i].slot].u == line->values[kept++])
			continue;
		if (++*differed < OFTEN || *differed < lines->asked / OFTEN)
			continue;
		*differed = UINT32_MAX;
		often = true;
	}
	if (often)
		deal(lines, context);
}

static void put_context(const struct line_cache *lines, const struct plan *context,
			struct line *line, char *to)
{
	char *from = line->text;
	size_t kept = 0, others = 0;

	memcpy(to, " {", 2);
	to += 2;
	for (size_t i = 0; i < context->count; i++) {
		const struct token *token = &context->tokens[i];
		to = copy_padded(to, token->text, token->len);
		if (lines->differed[i] != UINT32_MAX) {
			to = leaf_put(to, token->leaf, line->values[kept++], token->mask);
			continue;
		}
		line->len[others++] = (uint16_t)(to - from);
		from = to;
	}
	to = copy_padded(to, context->tail, context->ntail);
	*to++ = '}';
	line->len[others] = (uint16_t)(to - from);
}

static bool make_line(const struct line_cache *lines, struct event_writer *writer,
		      const struct class_plan *plan, const struct stream_plan *at,
		      const struct fields *fields, struct line *line)
{
	int64_t tid = fields->slots[plan->thread_slot].s;
	size_t len;
	const char *label = thread_names_label(writer->names, fields->class->part, tid, &len);

	line->at = NULL;
	if (at->begin.len + len + plan->head.len + plan->context.room + 3 > LINE_CACHE_TEXT)
		return false;
	char *to = put_ready(line->text, &at->begin);
	to = put_ready(copy_padded(to, label, len), &plan->head);
	line->at = at;
	line->cpu = at->cpu;
	line->tid = tid;
	line->told = thread_names_told(writer->names);
	for (size_t i = 0; i < lines->nkept; i++)
		line->values[i] = fields->slots[lines->kept[i]].u;
	put_context(lines, &plan->context, line, to);
	return true;
}

static bool is_same_thread(const struct line *line, const struct event_writer *writer,
			   const struct stream_plan *at, int64_t tid)
{
	return line->at == at && line->cpu == at->cpu && line->tid == tid &&
	       line->told == thread_names_told(writer->names);
}

static bool is_same(const struct line_cache *lines, const struct line *line,
		    const struct slot *slots)
{
	for (size_t i = 0; i < lines->nkept; i++)
		if (line->values[i] != slots[lines->kept[i]].u)
			return false;
	return true;
}

static __attribute__((noinline)) bool miss(struct line_cache *lines, struct event_writer *writer,
					   const struct class_plan *plan,
					   const struct stream_plan *at,
					   const struct fields *fields, struct line *line)
{
	if (is_same_thread(line, writer, at, fields->slots[plan->thread_slot].s))
		note_differing(lines, line, &plan->context, fields->slots);
	if (++lines->missed > TRIED && lines->missed > lines->asked / 2) {
		lines->missed = lines->asked = 0;
		lines->paused = PAUSE;
	}
	return make_line(lines, writer, plan, at, fields, line);
}

char *line_cache_put(struct line_cache *lines, struct event_writer *writer,
		     const struct class_plan *plan, const struct stream_plan *at,
		     const struct fields *fields, char *to)
{
	const struct slot *slots = fields->slots;
	int64_t tid = slots[plan->thread_slot].s;
	struct line *line = &lines->items[((uint64_t)tid + (uint64_t)at->cpu * 5) % LINES];

	if (lines->paused) {
		lines->paused--;
		return NULL;
	}
	lines->asked++;
	if (__builtin_expect(!is_same_thread(line, writer, at, tid) || !is_same(lines, line, slots),
			     0) &&
	    !miss(lines, writer, plan, at, fields, line))
		return NULL;
	const char *from = line->text;
	for (size_t i = 0; i < lines->nothers; i++) {
		const struct number *number = &lines->others[i];
		to = copy_padded(to, from, line->len[i]);
		to = leaf_put(to, number->leaf, slots[number->slot].u, number->mask);
		from += line->len[i];
	}
	return copy_padded(to, from, line->len[lines->nothers]);
}
