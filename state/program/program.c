/* program.c - accessors of a compiled program: lines of a class, initial values, views */
#include "state/program/internal.h"

#include "engine/base/mem.h"

#include <string.h>

void program_free(struct program *program)
{
	if (!program)
		return;
	for (size_t i = 0; i < program->nregexes; i++)
		regex_free(program->regexes[i]);
	mem_free(program->regexes);
	hash_index_release(&program->known_of);
	attrs_free(program->attrs);
	arena_free(program->arena);
	mem_free(program);
}

void program_set_gaps(struct program *program, struct gaps *gaps)
{
	program->gaps = gaps;
}

struct attrs *program_attrs(const struct program *program)
{
	return program->attrs;
}

uint32_t program_statements(const struct program *program)
{
	return (uint32_t)program->rules->nstatements;
}

const struct line *program_statement(const struct program *program, uint32_t id)
{
	return program->statements[id];
}

const char *program_place(const struct program *program, uint32_t id, uint32_t *line)
{
	const struct statement *statement = program->rules->statements[id];
	const struct rule_file *file = statement->block->file;

	*line = rule_file_place(file, statement->at).line;
	return file->name;
}

void program_line(const struct program *program, uint32_t id, struct rule_error *out)
{
	const struct statement *statement = program->rules->statements[id];

	*out = rule_error_at(statement->block->file, statement->at, program->arena);
}

const struct class_program *program_row(const struct program *program, const struct stream *stream)
{
	return &program->classes[program->rows[program->sections.of[stream->index]].at];
}

const struct class_program *program_class(const struct program *program,
					  const struct stream *stream,
					  const struct event_class *class)
{
	if (!class)
		return &program->lost[program->losses.of[stream->index]];
	return &program_row(program, stream)[class->index];
}

const struct class_program *program_start(const struct program *program, size_t *count)
{
	*count = program->nstart;
	return program->start;
}

const struct class_program *program_end(const struct program *program, size_t *count)
{
	*count = program->nstart;
	return program->end;
}

bool line_may_write(const struct line *line, const struct attrs *attrs, uint32_t shape)
{
	if (line->flags & (LINE_SECTION | LINE_FAILS))
		return false;
	return shape_written(attrs, line->target.shape, line->verb, line->target.below, shape);
}

bool program_writes_shape(const struct program *program, uint32_t shape)
{
	return shape < program->nshapes && program->writes_shape[shape];
}

bool program_views_shape(const struct program *program, uint32_t shape)
{
	return by_shape_last(&program->analysis->views_by, shape) > 0;
}

/* ---- section values ---- */

uint32_t program_sections(const struct program *program)
{
	return (uint32_t)program->analysis->nsections;
}

const char *program_section_name(const struct program *program, uint32_t section)
{
	return program->analysis->sections[section].name;
}

static struct value text_or_unknown(const char *text)
{
	return text && *text ? value_text(text, strlen(text))
			     : (struct value){.kind = VALUE_UNKNOWN};
}

static struct value number_or_unknown(int64_t number)
{
	return number >= 0 ? value_s64(number) : (struct value){.kind = VALUE_UNKNOWN};
}

struct value section_own(const struct program *program, const struct event *event, uint32_t section)
{
	const struct stream *stream = event->stream;

	switch (section) {
	case SECTION_CPU:
		return number_or_unknown(event->cpu >= 0 ? event->cpu : stream->cpu);
	case SECTION_NAME:
		return text_or_unknown(stream->section);
	case SECTION_ID:
		return value_u64(stream->id);
	case SECTION_HOST:
		return text_or_unknown(stream->part < program->trace->nparts
					       ? program->trace->parts[stream->part]->host
					       : NULL);
	case SECTION_TID:
		return number_or_unknown(stream->tid);
	case SECTION_PID:
		return number_or_unknown(stream->pid);
	case SECTION_LOOM:
		return text_or_unknown(stream->loom);
	case SECTION_RANK:
		return number_or_unknown(stream->rank);
	case SECTION_APP:
		return number_or_unknown(stream->app);
	default:
		return (struct value){.kind = VALUE_UNKNOWN};
	}
}

/* ---- initial values and views ---- */

uint32_t program_view_copies(const struct program *program, const struct view *view)
{
	const struct expr *value = view->value;
	bool copies = value->kind == EXPR_READ && !value->may_view &&
		      !by_shape_last(&program->initials_by, value->path.shape);

	return copies ? value->path.shape : ATTR_ABSENT;
}

bool program_initial(const struct program *program, uint32_t attr, struct value *out)
{
	const struct attrs *attrs = program->attrs;
	uint32_t shape = attr_shape(attrs, attr);

	for (uint32_t i = by_shape_last(&program->initials_by, shape); i--;
	     i = program->initials_by.before[i]) {
		const struct initial *initial = &program->initials[i];
		const struct pattern *pattern = initial->pattern;
		if (pattern_covers(pattern, attrs, attr, pattern->below) != COVER_YES)
			continue;
		*out = initial->value;
		return true;
	}
	return false;
}

void program_initial_attrs(const struct program *program, void (*each)(void *arg, uint32_t attr),
			   void *arg)
{
	for (size_t i = 0; i < program->ninitials; i++) {
		uint32_t attr = pattern_attr(program->initials[i].pattern, program->attrs);

		if (attr != ATTR_ABSENT)
			each(arg, attr);
	}
}

/* Does the path match the attribute, which has its shape? Then sets the variables' values. */
static bool path_matches(const struct path *path, const struct attrs *attrs, uint32_t attr,
			 struct value values[ENV_VARIABLES])
{
	uint32_t bound = 0;

	for (uint32_t i = path->natoms; i-- > 0; attr = attr_parent(attrs, attr)) {
		const struct atom *atom = &path->atoms[i];
		const struct value key = attr_atom(attrs, attr);
		if (atom->kind == ATOM_KEY && !value_equal(&atom->value, &key))
			return false;
		if (atom->kind != ATOM_VARIABLE)
			continue;
		if ((bound & 1u << atom->variable) && !value_equal(&values[atom->variable], &key))
			return false;
		bound |= 1u << atom->variable;
		values[atom->variable] = key;
	}
	return true;
}

bool program_views_tell_none(const struct program *program)
{
	return program->views_tell_none;
}

uint32_t program_views(const struct program *program)
{
	return (uint32_t)program->nviews;
}

const struct view *program_view(const struct program *program, uint32_t i)
{
	return &program->views[i];
}

const struct view *program_view_of(const struct program *program, uint32_t attr,
				   struct value values[ENV_VARIABLES])
{
	uint32_t shape = attr_shape(program->attrs, attr);

	if (!program_views_shape(program, shape))
		return NULL;
	for (uint32_t i = by_shape_last(&program->views_by, shape); i--;
	     i = program->views_by.before[i]) {
		const struct view *view = &program->views[i];
		if (path_matches(&view->path, program->attrs, attr, values))
			return view;
	}
	return NULL;
}
