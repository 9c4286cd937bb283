/*
 * ctf.c - the CTF form of a trace file (`tsave -ctf`): the same frames in another encoding
 *
 * A folder of two files, whose form is fixed in GDB (gdb/ctf.c): `metadata`, a text, of which the
 * byte order and the size of a register block matter, and `datastream`:
 *
 *     packet   u32 c1fc1fc1 · u32 content bits · u32 packet bits · u16 number of the tracepoint
 *              events: u32 kind · fields; aligned to their size, counted from the packet's start
 *     first    number 0: the event `frame`, then status, trace state variables, tracepoints
 *     others   a frame each: the event `frame`, then its blocks
 *
 * Four bytes lie behind each content. A register block is declared as text, but is not. This form
 * has no description of registers and no notes.
 */
#include "engine/gdb/gdb_internal.h"

#include <stdio.h>
#include <string.h>

enum {
	EVENT_REGISTERS,
	EVENT_VARIABLE,
	EVENT_MEMORY,
	EVENT_FRAME,
	EVENT_STATUS,
	EVENT_TSV,
	EVENT_TP
};

enum { LISTED_MAX = 1 << 16 };

static void align(struct cursor *in, size_t bytes)
{
	cursor_bytes(in, (bytes - in->pos % bytes) % bytes);
}

static uint64_t target_number(const struct gdb_file *file, struct cursor *in, unsigned bytes)
{
	align(in, bytes);
	return cursor_number(in, bytes, file->big_endian);
}

static int32_t number32(const struct gdb_file *file, struct cursor *in)
{
	return (int32_t)target_number(file, in, 4);
}

/* ---- frames ---- */

bool gdb_ctf_sizes(const struct gdb_file *file, const uint8_t *head, uint64_t *packet,
		   uint64_t *content)
{
	struct cursor in = cursor_over(head, CTF_HEAD);
	uint64_t magic = target_number(file, &in, 4), bits = target_number(file, &in, 4);

	*packet = target_number(file, &in, 4) / 8;
	*content = bits / 8;
	return magic == CTF_MAGIC && *content >= CTF_HEAD && *packet >= *content;
}

bool gdb_ctf_block(const struct gdb_file *file, const uint8_t *packet, size_t size, size_t *at,
		   struct gdb_block *out)
{
	struct cursor in = cursor_over(packet, size);

	in.pos = *at < CTF_HEAD ? CTF_HEAD : *at;
	*out = (struct gdb_block){.kind = '?'};
	switch (target_number(file, &in, 4)) {
	case EVENT_REGISTERS:
		out->kind = 'R';
		out->size = file->register_bytes;
		break;
	case EVENT_VARIABLE:
		out->kind = 'V';
		out->value = (int64_t)target_number(file, &in, 8);
		out->variable = number32(file, &in);
		break;
	case EVENT_MEMORY:
		out->kind = 'M';
		out->address = target_number(file, &in, 8);
		out->size = (size_t)target_number(file, &in, 2);
		break;
	case EVENT_FRAME:
		out->kind = 'F';
		break;
	default:
		return false;
	}
	out->data = cursor_bytes(&in, out->size);
	if (in.failed)
		return false;
	*at = in.pos;
	return true;
}

/* ---- definitions ---- */

static void take_status(struct gdb_file *file, struct cursor *in)
{
	static const char *const reasons[] = {"tunknown",      "tnotrun",    "tstop", "tfull",
					      "tdisconnected", "tpasscount", "terror"};
	static const char *const numbers[] = {"frames",      "frames_created", "buffer_free",
					      "buffer_size", "disconnected",   "circular"};
	int32_t reason = number32(file, in), tracepoint = number32(file, in);

	if (reason >= 0 && (size_t)reason < sizeof reasons / sizeof *reasons)
		gdb_env_text(file, "stop_reason", reasons[reason]);
	if (tracepoint > 0)
		gdb_env_number(file, "stopping_tracepoint", tracepoint);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		gdb_env_number(file, numbers[i], number32(file, in));
}

static bool take_variable(struct gdb_file *file, struct cursor *in)
{
	struct gdb_variable variable = {.initial = (int64_t)target_number(file, in, 8)};

	variable.number = number32(file, in);
	variable.builtin = number32(file, in) != 0;
	const char *name = cursor_text(in);
	if (!name)
		return false;
	variable.name = arena_strdup(file->trace->arena, name);
	gdb_add_variable(file, &variable);
	return true;
}

/* Reads a number and as many texts, and adds them to `commands`; NULL: skips them. */
static bool take_texts(struct gdb_file *file, struct cursor *in, struct gdb_tracepoint *commands)
{
	uint32_t count = (uint32_t)target_number(file, in, 4);

	if (count > LISTED_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const char *text = cursor_text(in);
		if (!text)
			return false;
		if (commands)
			gdb_add_command(commands, text);
	}
	return true;
}

static const char *keep_text(struct gdb_file *file, const char *text)
{
	return text && *text ? arena_strdup(file->trace->arena, text) : NULL;
}

/* Reads a tracepoint. Skips `type`, whose numbers differ between versions of GDB. */
static bool take_tracepoint(struct gdb_file *file, struct cursor *in)
{
	uint64_t address = target_number(file, in, 8);

	target_number(file, in, 8); /* bytes of the buffer that it used */
	int32_t id = number32(file, in);

	if (in->failed || id <= 0 || id > TRACEPOINT_MAX)
		return false;
	struct gdb_tracepoint *tp = gdb_tracepoint_of(file, (uint64_t)id, address);
	bool first = tp->nlocations++ == 0;
	tp->enabled = number32(file, in) != 0;
	tp->step = (uint64_t)number32(file, in);
	tp->pass = (uint64_t)number32(file, in);
	tp->hits += (uint64_t)number32(file, in);
	number32(file, in); /* type */
	if (!cursor_text(in) || !take_texts(file, in, NULL) || !take_texts(file, in, NULL))
		return false; /* condition and actions in bytecode */
	const char *at = keep_text(file, cursor_text(in));
	const char *condition = keep_text(file, cursor_text(in));
	if (first) {
		tp->at = at;
		tp->condition = condition;
	}
	return take_texts(file, in, first ? tp : NULL) && !in->failed;
}

/* Reads the events of a packet of definitions. */
static bool take_definitions(struct gdb_file *file, const uint8_t *packet, size_t size,
			     struct error *err)
{
	struct cursor in = cursor_over(packet, size);
	bool good = true;

	cursor_bytes(&in, CTF_HEAD);
	while (good && in.pos + 4 <= size) {
		size_t at = in.pos;
		switch (target_number(file, &in, 4)) {
		case EVENT_FRAME: /* every packet begins with it */
			break;
		case EVENT_STATUS:
			take_status(file, &in);
			break;
		case EVENT_TSV:
			good = take_variable(file, &in);
			break;
		case EVENT_TP:
			good = take_tracepoint(file, &in);
			break;
		default:
			good = false;
		}
		if (!good || in.failed)
			return error_set(err, ERR_FORMAT,
					 "offset %zu: the definition cannot be read: those behind "
					 "it are missing",
					 at);
	}
	return true;
}

/* Reads the packets of definitions at the file's begin; *size is their bytes. Reports damage, and
   stops there. */
static bool read_definitions(struct gdb_file *file, uint64_t *size, struct error *err)
{
	uint64_t all = source_size(file->source), bytes, content;
	uint8_t head[CTF_HEAD];
	struct block block;
	struct error damage;

	for (*size = 0; all - *size >= CTF_HEAD; *size += bytes) {
		if (!source_peek(file->source, *size, head, sizeof head, err))
			return false;
		struct cursor in = cursor_over(head + 12, 2);
		if (!gdb_ctf_sizes(file, head, &bytes, &content) || bytes > all - *size ||
		    cursor_number(&in, 2, file->big_endian) != 0)
			return true;
		if (!source_get(file->source, *size, (size_t)bytes, &block, err))
			return false;
		if (!take_definitions(file, block.data, (size_t)content, &damage))
			trace_damage(file->trace, source_name(file->source), &damage);
		source_put(&block);
	}
	return true;
}

/* ---- metadata ---- */

bool gdb_ctf_is_metadata(const char *text)
{
	return strstr(text, "traceframe_usage") && strstr(text, "name = \"frame\"");
}

/* Finds `from` in the text, `after` behind it, and parses the number behind that. */
static bool number_in(const char *text, const char *from, const char *after, uint32_t *out)
{
	const char *at = strstr(text, from);
	unsigned n;

	at = at ? strstr(at, after) : NULL;
	if (!at || sscanf(at + strlen(after), "%u", &n) != 1)
		return false;
	*out = n;
	return true;
}

bool gdb_ctf_open(struct gdb_file *file, const char *metadata, int big, struct error *err)
{
	if (!gdb_ctf_is_metadata(metadata))
		return error_set(err, ERR_FORMAT, "%s: not the CTF that GDB writes",
				 file->part->path);
	file->big_endian = big >= 0 ? big : strstr(metadata, "byte_order = be") != NULL;
	if (!number_in(metadata, "name = \"register\"", "contents[", &file->register_bytes))
		return error_set(err, ERR_FORMAT,
				 "%s/metadata: the size of a register block is missing",
				 file->part->path);
	return read_definitions(file, &file->frames_at, err);
}
