/*
 * lines.c - the text lines of a trace file
 *
 *     R SIZE                              bytes of a register block
 *     status RUNNING;REASON...;KEY:VALUE;...
 *     tsv NUMBER:INITIAL:BUILTIN:NAME     a trace state variable
 *     tp XNUMBER:ADDRESS:REST             a piece of a tracepoint: X is T A S Z V
 *     tdesc TEXT                          a line of the target description
 *
 * Numbers are in hex, texts are in hex, byte by byte.      (GDB, remote protocol, "Tracepoint
 * Packets")
 */
#include "engine/base/mem.h"
#include "engine/gdb/gdb_internal.h"

#include <string.h>

enum { TEXT_SHOWN = 4096 };

/* The rest of a line. */
struct line_rest {
	const char *at, *end;
};

static bool take_char(struct line_rest *rest, char c)
{
	if (rest->at == rest->end || *rest->at != c)
		return false;
	rest->at++;
	return true;
}

/* Parses at least one hex digit, at most 64 bits, with `-` in front for negative numbers. */
static bool take_hex(struct line_rest *rest, uint64_t *out)
{
	const char *begin = rest->at;

	for (*out = 0; rest->at < rest->end && hex_digit(*rest->at) >= 0; rest->at++) {
		if (*out >> 60)
			return false;
		*out = *out << 4 | (uint64_t)hex_digit(*rest->at);
	}
	return rest->at > begin;
}

static bool take_signed(struct line_rest *rest, int64_t *out)
{
	bool minus = take_char(rest, '-');
	uint64_t value;

	if (!take_hex(rest, &value))
		return false;
	*out = (int64_t)(minus ? 0 - value : value);
	return true;
}

/* Consumes and returns the text up to `end` or the end of the line. */
static struct line_rest take_until(struct line_rest *rest, char end)
{
	struct line_rest part = *rest;
	const char *found = memchr(rest->at, end, (size_t)(rest->end - rest->at));

	part.end = found ? found : rest->end;
	rest->at = found ? found + 1 : rest->end;
	return part;
}

/* Decodes bytes written in hex to a text in the arena; NULL: they are not hex. */
static char *unhex(struct arena *arena, struct line_rest rest)
{
	size_t len = (size_t)(rest.end - rest.at) / 2;
	char *text = arena_alloc(arena, len + 1);

	if ((size_t)(rest.end - rest.at) != 2 * len)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		int high = hex_digit(rest.at[2 * i]), low = hex_digit(rest.at[2 * i + 1]);
		if (high < 0 || low < 0)
			return NULL;
		text[i] = (char)(high << 4 | low);
	}
	return text;
}

static bool lines_is_word(struct line_rest rest, const char *word)
{
	size_t len = (size_t)(rest.end - rest.at);

	return strlen(word) == len && !memcmp(rest.at, word, len);
}

/* ---- environment ---- */

static struct env_entry *env_add(struct gdb_file *file, const char *name)
{
	struct env_entry *entry = mem_push(file->env, file->nenv, file->env_capacity);
	*entry = (struct env_entry){.name = arena_strdup(file->trace->arena, name)};
	return entry;
}

void gdb_env_text(struct gdb_file *file, const char *name, const char *text)
{
	env_add(file, name)->text = arena_strdup(file->trace->arena, text);
}

void gdb_env_number(struct gdb_file *file, const char *name, int64_t number)
{
	env_add(file, name)->number = number;
}

/* ---- status ---- */

/* Parses REASON:TEXT:NUMBER or REASON:NUMBER; TEXT is a user's note or an error. */
static bool take_reason(struct gdb_file *file, struct line_rest word)
{
	struct line_rest reason = take_until(&word, ':'), first = take_until(&word, ':'),
			 number = first;
	bool has_text = lines_is_word(reason, "tstop") || lines_is_word(reason, "terror");
	struct arena *arena = file->trace->arena;
	uint64_t tracepoint = 0; /* 0: none */

	gdb_env_text(file, "stop_reason",
		     arena_strndup(arena, reason.at, (size_t)(reason.end - reason.at)));
	if (has_text) {
		const char *text = unhex(arena, first);
		if (!text)
			return false;
		if (*text)
			gdb_env_text(file, "stop_text", text);
		number = word;
	}
	if (number.at < number.end && !take_hex(&number, &tracepoint))
		return false;
	if (number.at < number.end || first.at == first.end)
		return true;
	if (tracepoint && (lines_is_word(reason, "tpasscount") || lines_is_word(reason, "terror")))
		gdb_env_number(file, "stopping_tracepoint", (int64_t)tracepoint);
	return true;
}

static bool take_status_key(struct gdb_file *file, struct line_rest word)
{
	static const struct {
		const char *key, *name;
		bool text;
	} keys[] = {{"tframes", "frames", false},     {"tcreated", "frames_created", false},
		    {"tfree", "buffer_free", false},  {"tsize", "buffer_size", false},
		    {"circular", "circular", false},  {"disconn", "disconnected", false},
		    {"starttime", "start_us", false}, {"stoptime", "stop_us", false},
		    {"notes", "notes", true},         {"username", "user", true}};
	struct line_rest key = take_until(&word, ':');
	const char *text;
	uint64_t number;

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (!lines_is_word(key, keys[i].key))
			continue;
		if (!keys[i].text) {
			if (!take_hex(&word, &number))
				return false;
			gdb_env_number(file, keys[i].name, (int64_t)number);
			return true;
		}
		text = unhex(file->trace->arena, word);
		if (text && *text)
			gdb_env_text(file, keys[i].name, text);
		return text != NULL;
	}
	return true; /* a key of a newer GDB */
}

static bool take_status(struct gdb_file *file, struct line_rest rest)
{
	struct line_rest running = take_until(&rest, ';');
	uint64_t value;

	if (!take_hex(&running, &value))
		return false;
	gdb_env_number(file, "running", (int64_t)value);
	if (rest.at < rest.end && !take_reason(file, take_until(&rest, ';')))
		return false;
	while (rest.at < rest.end)
		if (!take_status_key(file, take_until(&rest, ';')))
			return false;
	return true;
}

/* ---- trace state variables ---- */

void gdb_add_variable(struct gdb_file *file, const struct gdb_variable *variable)
{
	*mem_push(file->variables, file->nvariables, file->variables_capacity) = *variable;
}

static bool take_variable(struct gdb_file *file, struct line_rest rest)
{
	struct gdb_variable variable;
	uint64_t number, builtin;

	if (!take_hex(&rest, &number) || number > INT32_MAX || !take_char(&rest, ':') ||
	    !take_signed(&rest, &variable.initial) || !take_char(&rest, ':') ||
	    !take_hex(&rest, &builtin) || !take_char(&rest, ':'))
		return false;
	variable.number = (int32_t)number;
	variable.builtin = builtin != 0;
	variable.name = unhex(file->trace->arena, rest);
	if (!variable.name)
		return false;
	gdb_add_variable(file, &variable);
	return true;
}

/* ---- tracepoints ---- */

struct gdb_tracepoint *gdb_tracepoint_of(struct gdb_file *file, uint64_t number,
					 uint64_t address)
{
	struct gdb_tracepoint *tracepoint = file->by_number[number];

	if (tracepoint)
		return tracepoint;
	tracepoint = arena_alloc(file->trace->arena, sizeof *tracepoint);
	tracepoint->number = (uint32_t)number;
	tracepoint->address = address;
	*mem_push(file->tracepoints, file->ntracepoints, file->tracepoints_capacity) = tracepoint;
	return file->by_number[number] = tracepoint;
}

/* Parses E or D, steps, passes, then :F fast, :S static, :X condition in bytecode. */
static bool take_location(struct gdb_tracepoint *tracepoint, struct line_rest rest)
{
	tracepoint->nlocations++;
	tracepoint->enabled = take_char(&rest, 'E');
	if ((!tracepoint->enabled && !take_char(&rest, 'D')) || !take_char(&rest, ':') ||
	    !take_hex(&rest, &tracepoint->step) || !take_char(&rest, ':') ||
	    !take_hex(&rest, &tracepoint->pass))
		return false;
	while (take_char(&rest, ':')) {
		struct line_rest more = take_until(&rest, ':');
		rest.at -= rest.at < rest.end;
		tracepoint->fast |= more.at < more.end && *more.at == 'F';
		tracepoint->is_static |= more.at < more.end && *more.at == 'S';
	}
	return true;
}

void gdb_add_command(struct gdb_tracepoint *tracepoint, const char *text)
{
	if (tracepoint->commands.len > TEXT_SHOWN)
		return;
	if (tracepoint->commands.len)
		buf_add_text(&tracepoint->commands, "; ");
	buf_add_text(&tracepoint->commands, text);
}

/* Parses KIND:START:LENGTH:TEXT, a piece of a source text; pieces of one text are in order. */
static bool take_source(struct gdb_file *file, struct gdb_tracepoint *tracepoint,
			struct line_rest rest)
{
	struct arena *arena = file->trace->arena;
	struct line_rest kind = take_until(&rest, ':');
	uint64_t start, length;

	if (!take_hex(&rest, &start) || !take_char(&rest, ':') || !take_hex(&rest, &length) ||
	    !take_char(&rest, ':'))
		return false;
	const char *text = unhex(arena, rest);
	if (!text)
		return false;
	if (lines_is_word(kind, "cmd")) {
		if (start)
			buf_add_text(&tracepoint->commands, text);
		else
			gdb_add_command(tracepoint, text);
		return true;
	}
	const char **to = lines_is_word(kind, "at")     ? &tracepoint->at
			  : lines_is_word(kind, "cond") ? &tracepoint->condition
							: NULL;
	if (to && start && *to)
		*to = arena_printf(arena, "%s%s", *to, text);
	else if (to && !start && !*to)
		*to = text;
	return true;
}

static bool take_tracepoint(struct gdb_file *file, struct line_rest rest)
{
	uint64_t number, address;
	char piece = rest.at < rest.end ? *rest.at++ : 0;

	if (!take_hex(&rest, &number) || !number || number > TRACEPOINT_MAX ||
	    !take_char(&rest, ':') || !take_hex(&rest, &address) || !take_char(&rest, ':'))
		return false;
	struct gdb_tracepoint *tracepoint = gdb_tracepoint_of(file, number, address);
	switch (piece) {
	case 'T':
		return take_location(tracepoint, rest);
	case 'Z':
		return take_source(file, tracepoint, rest);
	case 'V': {
		uint64_t hits, used; /* used: bytes of the buffer */
		if (!take_hex(&rest, &hits) || !take_char(&rest, ':') || !take_hex(&rest, &used))
			return false;
		tracepoint->hits += hits;
		return true;
	}
	default: /* actions in bytecode and masks: skipped, as there is their source text */
		return true;
	}
}

void gdb_env_definitions(struct gdb_file *file)
{
	struct arena *arena = file->trace->arena;

	for (uint32_t i = 0; i < file->ntracepoints; i++) {
		const struct gdb_tracepoint *tp = file->tracepoints[i];
		struct buf text = {0};
		buf_printf(&text, "%s%sat %s (0x%llx%s), %llu hit%s",
			   tp->enabled ? "" : "disabled, ",
			   tp->fast        ? "fast, "
			   : tp->is_static ? "static, "
					   : "",
			   tp->at ? tp->at : "?", (unsigned long long)tp->address,
			   tp->nlocations > 1 ? " and others" : "", (unsigned long long)tp->hits,
			   tp->hits == 1 ? "" : "s");
		if (tp->condition)
			buf_printf(&text, ", if %s", tp->condition);
		if (tp->step)
			buf_printf(&text, ", %llu steps", (unsigned long long)tp->step);
		if (tp->pass)
			buf_printf(&text, ", pass count %llu", (unsigned long long)tp->pass);
		if (tp->commands.len)
			buf_printf(&text, ": %s", buf_text(&tp->commands));
		gdb_env_text(file, arena_printf(arena, "tracepoint.%u", tp->number),
			     buf_text(&text));
		buf_release(&text);
	}
	for (uint32_t i = 0; i < file->nvariables; i++)
		gdb_env_text(file, arena_printf(arena, "variable.%s", file->variables[i].name),
			     arena_printf(arena, "number %d, initially %lld%s",
					  (int)file->variables[i].number,
					  (long long)file->variables[i].initial,
					  file->variables[i].builtin ? ", builtin" : ""));
}

/* ---- lines ---- */

static bool take_size(struct gdb_file *file, struct line_rest rest)
{
	uint64_t size;

	if (!take_hex(&rest, &size) || rest.at < rest.end || size > UINT32_MAX)
		return false;
	file->register_bytes = (uint32_t)size;
	return true;
}

bool gdb_line(struct gdb_file *file, const char *line, size_t len, struct error *err)
{
	struct line_rest rest = {line, line + len}, word = take_until(&rest, ' ');
	bool good = true;

	if (lines_is_word(word, "R")) {
		good = take_size(file, rest);
	} else if (lines_is_word(word, "status")) {
		good = take_status(file, rest);
	} else if (lines_is_word(word, "tsv")) {
		good = take_variable(file, rest);
	} else if (lines_is_word(word, "tp")) {
		good = take_tracepoint(file, rest);
	} else if (lines_is_word(word, "tdesc")) {
		buf_add(&file->description, rest.at, (size_t)(rest.end - rest.at));
		buf_add_char(&file->description, '\n');
	} /* else: a line of a newer GDB */
	return good || error_set(err, ERR_FORMAT, "the line \"%.*s\" cannot be read",
				 (int)(len < 60 ? len : 60), line);
}
