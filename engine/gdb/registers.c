/*
 * registers.c - names and places of registers in a register block
 *
 * The block has no table: registers follow one another in the order of their numbers, with the
 * sizes of the target description. The description is XML in tdesc lines; files of GDB before 8
 * have none, and do not name the architecture: then a setting may name it.
 */
#include "engine/base/mem.h"
#include "engine/gdb/gdb_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the target description ---- */

/* A tag of the description: the text between `<` and `>`. */
struct tag {
	const char *at, *end;
};

/* Finds the next tag from *at on that is no comment; false: there is none. */
static bool next_tag(const char **at, struct tag *out)
{
	const char *begin, *end;

	while ((begin = strchr(*at, '<'))) {
		bool comment = !strncmp(begin, "<!--", 4);
		end = strstr(begin, comment ? "-->" : ">");
		if (!end)
			return false;
		*at = end + 1;
		if (comment)
			continue;
		*out = (struct tag){begin + 1, end};
		return true;
	}
	return false;
}

static bool is_tag(const struct tag *tag, const char *name)
{
	size_t len = strlen(name);

	return (size_t)(tag->end - tag->at) > len && !memcmp(tag->at, name, len) &&
	       strchr(" \t\n/", tag->at[len]);
}

/* Returns the value of a tag's attribute, in the arena; NULL: the tag lacks it. */
static char *attribute(struct arena *arena, const struct tag *tag, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = tag->at; at + len + 2 < tag->end; at++) {
		if (!strchr(" \t\n", *at) || memcmp(at + 1, name, len) != 0 || at[len + 1] != '=')
			continue;
		const char *begin = at + len + 2;
		if (*begin != '"' && *begin != '\'')
			return NULL;
		const char *end = memchr(begin + 1, *begin, (size_t)(tag->end - begin - 1));
		return end ? arena_strndup(arena, begin + 1, (size_t)(end - begin - 1)) : NULL;
	}
	return NULL;
}

static struct gdb_register *add_register(struct gdb_file *file, const char *name, uint32_t bits)
{
	struct gdb_register *reg =
		mem_push(file->registers, file->nregisters, file->registers_capacity);
	*reg = (struct gdb_register){.name = name, .bits = bits};
	return reg;
}

/* `number`: the number of a register without the attribute regnum. */
static bool read_register(struct gdb_file *file, const struct tag *tag, uint32_t *number)
{
	struct arena *arena = file->trace->arena;
	const char *name = attribute(arena, tag, "name"), *type = attribute(arena, tag, "type");
	const char *bits = attribute(arena, tag, "bitsize");
	const char *own = attribute(arena, tag, "regnum");
	unsigned long size = bits ? strtoul(bits, NULL, 10) : 0;

	if (own)
		*number = (uint32_t)strtoul(own, NULL, 10);
	if (!name || !*name || !size || size % 8 || size > UINT16_MAX ||
	    file->nregisters == REGISTERS_MAX)
		return false;
	struct gdb_register *reg = add_register(file, name, (uint32_t)size);
	reg->number = (*number)++;
	if (!type)
		return true;
	reg->is_code = !strcmp(type, "code_ptr");
	reg->is_address = reg->is_code || !strcmp(type, "data_ptr");
	reg->is_float = (size == 32 && !strcmp(type, "ieee_single")) ||
			(size == 64 && !strcmp(type, "ieee_double"));
	return true;
}

bool gdb_read_description(struct gdb_file *file)
{
	const char *at = buf_text(&file->description);
	uint32_t number = 0;
	struct tag tag;

	file->architecture = "";
	while (next_tag(&at, &tag)) {
		if (is_tag(&tag, "reg") && !read_register(file, &tag, &number)) {
			file->nregisters = 0;
			return false;
		}
		if (!strncmp(tag.at, "architecture>", 13))
			file->architecture =
				arena_strndup(file->trace->arena, at, strcspn(at, "<"));
	}
	return file->nregisters > 0;
}

/* ---- orders of architectures ---- */

struct register_run { /* registers of one size: names with blanks between them */
	const char *names;
	uint32_t bits;
};

static const struct register_run x86_64[] = {
	{"rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip", 64},
	{"eflags cs ss ds es fs gs", 32},
	{"st0 st1 st2 st3 st4 st5 st6 st7", 80},
	{"fctrl fstat ftag fiseg fioff foseg fooff fop", 32},
	{"xmm0 xmm1 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7 xmm8 xmm9 xmm10 xmm11 xmm12 xmm13 xmm14 xmm15",
	 128},
	{"mxcsr", 32},
	{NULL, 0}};

static const struct register_run i386[] = {
	{"eax ecx edx ebx esp ebp esi edi eip eflags cs ss ds es fs gs", 32},
	{"st0 st1 st2 st3 st4 st5 st6 st7", 80},
	{"fctrl fstat ftag fiseg fioff foseg fooff fop", 32},
	{"xmm0 xmm1 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7", 128},
	{"mxcsr", 32},
	{NULL, 0}};

static const struct {
	const char *name;
	const struct register_run *runs;
} orders[] = {{"x86-64", x86_64}, {"i386", i386}};

static const struct register_run *order_of(const char *name)
{
	for (size_t i = 0; name && i < sizeof orders / sizeof *orders; i++)
		if (!strcmp(orders[i].name, name))
			return orders[i].runs;
	return NULL;
}

bool gdb_knows_architecture(const char *name)
{
	return order_of(name) != NULL;
}

static bool is_counter(const char *name, size_t len)
{
	return len == 3 && (!memcmp(name, "rip", 3) || !memcmp(name, "eip", 3));
}

static void take_order(struct gdb_file *file, const struct register_run *run)
{
	uint32_t number = 0;

	for (; run->names; run++)
		for (const char *at = run->names; *at; at += strspn(at, " ")) {
			size_t len = strcspn(at, " ");
			const char *name = arena_strndup(file->trace->arena, at, len);
			struct gdb_register *reg = add_register(file, name, run->bits);
			reg->number = number++;
			reg->is_code = is_counter(name, len);
			reg->is_address = reg->is_code;
			at += len;
		}
}

/* ---- places ---- */

static int registers_by_number(const void *a, const void *b)
{
	const struct gdb_register *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* ---- which order ---- */

enum { FRAMES_TRIED = 64 };

/* Finds the program counter in a block of this order; false: the block is too small. */
static bool counter_of(const struct gdb_file *file, const struct register_run *run,
		       uint32_t *offset, uint32_t *bytes)
{
	for (*offset = 0; run->names; run++)
		for (const char *at = run->names; *at; at += strspn(at, " ")) {
			size_t len = strcspn(at, " ");
			*bytes = run->bits / 8;
			if (is_counter(at, len))
				return *offset + *bytes <= file->register_bytes;
			*offset += *bytes;
			at += len;
		}
	return false;
}

/*
 * A frame of a tracepoint with one location and without steps was collected at that location. +1:
 * the program counter at `offset` agrees; -1: it differs; 0: the frame is of another kind.
 */
static int agrees(const struct gdb_file *file, const struct gdb_frame *frame, uint32_t offset,
		  uint32_t bytes)
{
	const struct gdb_tracepoint *tp =
		frame->tracepoint > 0 ? file->by_number[frame->tracepoint] : NULL;

	if (!tp || tp->nlocations != 1 || tp->step || !frame->registers)
		return 0;
	return load_le(frame->registers + offset, bytes) == tp->address ? 1 : -1;
}

/* Do the program counters of the first frames agree with this order of registers? */
static bool registers_fits(const struct gdb_file *file, const struct register_run *run)
{
	uint64_t at = file->frames_at, size = source_size(file->source), bytes;
	uint32_t offset, width;
	uint8_t head[CTF_HEAD];
	struct gdb_frame frame;
	struct error ignored;
	struct block block;
	int sure = 0;

	if (file->big_endian || !counter_of(file, run, &offset, &width))
		return false;
	for (unsigned n = 0; n < FRAMES_TRIED && sure >= 0; n++, at += bytes) {
		if (size - at < gdb_head_bytes(file) ||
		    !source_peek(file->source, at, head, gdb_head_bytes(file), &ignored) ||
		    !gdb_frame_bytes(file, head, &bytes) || bytes > size - at ||
		    !source_get(file->source, at, (size_t)bytes, &block, &ignored))
			break;
		int one = 0;
		if (gdb_frame(file, block.data, block.size, &frame) == FRAME_GOOD)
			one = agrees(file, &frame, offset, width);
		source_put(&block);
		sure = one < 0 ? -1 : sure + one;
	}
	return sure > 0;
}

static const char *find_order(struct gdb_file *file)
{
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
		if (registers_fits(file, orders[i].runs))
			return orders[i].name;
	return NULL;
}

/* ---- all ---- */

/* Sets the registers' offsets, and drops those behind the block's end. Warns, if `told`, when their
   sizes do not add up to the block's. */
static void place(struct gdb_file *file, bool told)
{
	uint64_t offset = 0;
	uint32_t n = 0;

	if (file->nregisters)
		qsort(file->registers, file->nregisters, sizeof *file->registers,
		      registers_by_number);
	for (; n < file->nregisters; n++) {
		struct gdb_register *reg = &file->registers[n];
		if (offset + reg->bits / 8 > file->register_bytes)
			break;
		reg->offset = (uint32_t)offset;
		offset += reg->bits / 8;
		if (reg->is_code && reg->bits <= 64 && !file->pc)
			file->pc = reg;
	}
	if (told && (n < file->nregisters || offset < file->register_bytes))
		notice(&file->trace->notices, NOTICE_WARNING,
		       "%s: a register block has %u bytes, the registers that are described have "
		       "%s: %u of them are shown",
		       file->part->path, file->register_bytes,
		       n < file->nregisters ? "more" : "fewer", n);
	file->nregisters = n;
}

void gdb_find_registers(struct gdb_file *file, const char *architecture)
{
	const char *found = file->nregisters || architecture ? NULL : find_order(file);
	const struct register_run *order = order_of(found ? found : architecture);
	const char *const names[] = {"pc", "rip", "eip"};

	if (found)
		file->architecture = arena_printf(file->trace->arena,
						  "%s, by the addresses of tracepoints", found);
	if (!file->nregisters) {
		if (order)
			take_order(file, order);
		else if (file->register_bytes)
			notice(&file->trace->notices, NOTICE_WARNING,
			       "%s: nothing in the file says which registers a block has: they are "
			       "shown as bytes (--input gdb,arch=x86-64 or arch=i386 says it)",
			       file->part->path);
		if (!order)
			return;
	}
	place(file, !found); /* no warning for a guessed order, which lacks the wider registers */
	for (size_t k = 0; !file->pc && k < sizeof names / sizeof *names; k++)
		for (uint32_t i = 0; i < file->nregisters && !file->pc; i++)
			if (!strcmp(file->registers[i].name, names[k]) &&
			    file->registers[i].bits <= 64)
				file->pc = &file->registers[i];
}

bool gdb_is_big(const struct gdb_file *file)
{
	static const char *const big[] = {"powerpc:common", "powerpc:common64",
					  "s390:31-bit",    "s390:64-bit",
					  "sparc",          "m68k"};

	for (size_t i = 0; i < sizeof big / sizeof *big; i++)
		if (!strncmp(file->architecture, big[i], strlen(big[i])))
			return true;
	return false;
}
