/*
 * capabilities.c - the rules are compiled for the trace, and asked which lines are left
 *
 * Questions that people ask of kernel traces are named even where nothing answers them, with the
 * event that would; of all others only those that something answers.
 */
#include "repl/commands/info.h"

#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "state/program/expr.h"
#include "state/program/program.h"
#include "state/rules/ast.h"

#include <string.h>

static const struct {
	const char *path, *needs;
} usual[] = {
	{"cpu[*]/thread", "sched_switch"},
	{"thread[*]/state", "sched_switch"},
	{"thread[*]/name", "sched_switch"},
	{"thread[*]/syscall", "syscall_entry_*, syscalls:* or raw_syscalls"},
	{"cpu[*]/irq", "irq_handler_entry"},
	{"cpu[*]/softirq", "softirq_entry"},
	{"cpu[*]/frequency", "cpu_frequency"},
};

enum { FROM_MOST = 4 };

static void add_writer(struct buf *from, size_t *writers, const char *name)
{
	if (++*writers > FROM_MOST)
		return;
	buf_add_text(from, *writers > 1 ? ", " : "");
	buf_add_text(from, name);
}

/* An event class that has lines on the first stream of its part. */
struct lined {
	const struct event_class *class;
	const struct class_program *lines;
};

static size_t find_lined(const struct trace *trace, const struct program *program,
			 struct lined *out)
{
	const struct stream **first = mem_new_array(trace->nparts + 1, sizeof(struct stream *));
	size_t n = 0;

	for (size_t s = trace->nstreams; s-- > 0;)
		first[trace->streams[s]->part] = trace->streams[s];
	for (size_t c = 0; c < trace->nclasses; c++) {
		const struct event_class *class = trace->classes[c];
		const struct stream *stream = first[class->part];
		const struct class_program *lines =
			stream ? program_class(program, stream, class) : NULL;
		if (lines && lines->nevent)
			out[n++] = (struct lined){class, lines};
	}
	mem_free(first);
	return n;
}

/* A map whose results are all unknown takes knowledge away, as `unknown` does. */
static bool gives_unknown(const struct expr *value)
{
	if (!value || value->kind != EXPR_MAP)
		return false;
	for (size_t i = 0; i < value->map->nentries; i++)
		if (value->map->entries[i].result.kind != VALUE_UNKNOWN)
			return false;
	return true;
}

/* The classes with a line that gives attributes of the shape a value. */
static size_t writers_of(const struct lined *all, size_t count, const struct attrs *attrs,
			 uint32_t shape, struct buf *from)
{
	struct nameset seen = {0}; /* several classes may have one name */
	size_t writers = 0;

	for (size_t c = 0; c < count; c++) {
		const struct class_program *lines = all[c].lines;
		for (uint32_t i = 0; i < lines->nevent; i++) {
			const struct line *line = &lines->event[i];
			if (line->verb == VERB_DELETE || line->verb == VERB_UNKNOWN ||
			    line->flags & LINE_FAILS || gives_unknown(line->value) ||
			    !line_may_write(line, attrs, shape))
				continue;
			if (nameset_add(&seen, all[c].class->name, 0))
				add_writer(from, &writers, all[c].class->name);
			break;
		}
	}
	if (writers > FROM_MOST)
		buf_printf(from, " and %zu more", writers - FROM_MOST);
	nameset_release(&seen);
	return writers;
}

static struct capability *add_capability(struct capabilities *out, const char *path)
{
	struct capability *item = mem_push(out->items, out->count, out->capacity);
	*item = (struct capability){.path = path};
	return item;
}

static void find_shapes(struct session *session, const struct program *program,
			struct capabilities *out)
{
	const struct attrs *attrs = program_attrs(program);
	struct lined *lined = mem_new_array(session->trace->nclasses + 1, sizeof *lined);
	size_t nlined = find_lined(session->trace, program, lined);

	for (uint32_t shape = 0; shape < shape_count(attrs); shape++) {
		struct buf path = {0}, from = {0};
		if (program_writes_shape(program, shape) &&
		    writers_of(lined, nlined, attrs, shape, &from)) {
			shape_add_text(attrs, shape, &path);
			struct capability *item =
				add_capability(out, arena_strdup(session->arena, buf_text(&path)));
			item->known = true;
			item->from = mem_strdup(buf_text(&from));
		}
		buf_release(&path);
		buf_release(&from);
	}
	mem_free(lined);
}

static bool has(const struct capabilities *all, const char *path)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i].path, path) == 0)
			return true;
	return false;
}

bool capabilities_find(struct session *session, struct capabilities *out, struct error *err)
{
	struct notices quiet = {0};
	struct program *program;

	if (!session_trace(session, err) || !session_rules(session, err) ||
	    !program_compile(session->rules, session->trace, &quiet, &program, err))
		return false;
	find_shapes(session, program, out);
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (!has(out, usual[i].path))
			add_capability(out, usual[i].path)->needs = usual[i].needs;
	program_free(program);
	return true;
}

void capabilities_release(struct capabilities *capabilities)
{
	for (size_t i = 0; i < capabilities->count; i++)
		mem_free(capabilities->items[i].from);
	mem_free(capabilities->items);
	*capabilities = (struct capabilities){0};
}
