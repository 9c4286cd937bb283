/*
 * symbols_frames.c - the frames of an event: perf's call chains, LTTng's call stacks, copies of the
 * stack that are unwound, and inlined functions
 */
#include "engine/symbols/symbols_internal.h"

#include "engine/base/mem.h"
#include "engine/event.h"

#include <inttypes.h>
#include <string.h>

/* Values >= this are marks: the address space of the values behind it (perf_event_open(2)). */
#define MARK_FIRST (-UINT64_C(4095))

/* This mark is followed by a cookie, with which the user addresses were recorded later. */
#define MARK_DEFERRED (-UINT64_C(640))

/* The address space of a mark; false: it is not known. */
static bool mark_meaning(uint64_t mark, enum whose *out)
{
	switch ((int64_t)mark) {
	case -512:
		*out = WHOSE_PROCESS;
		return true;
	case -128:
		*out = WHOSE_KERNEL;
		return true;
	case -32:
	case -2048:
	case -2176:
	case -2560:
		*out = WHOSE_OTHERS;
		return true;
	default:
		return false;
	}
}

const struct field_class *symbols_chain(const struct event_class *class)
{
	const struct field_class *context = class->scope[SCOPE_EVENT_CONTEXT];
	const struct member *member = context ? field_member(context, "callchain") : NULL;

	if (!member || member->class->kind != FIELD_SEQUENCE ||
	    member->class->element->kind != FIELD_INT)
		return NULL;
	return member->class;
}

static bool context_member(const struct event_class *class, const char *name,
			   struct field_path *out)
{
	return field_path_find(class, 1 << SCOPE_EVENT_CONTEXT, &name, 1, out);
}

/* Finds LTTng's context callstack_user or callstack_kernel, of the channel or of the event. */
static bool callstack_member(const struct event_class *class, bool user, struct field_path *out)
{
	const char *name = user ? "callstack_user" : "callstack_kernel";

	return field_path_find(class, 1 << SCOPE_STREAM_EVENT_CONTEXT | 1 << SCOPE_EVENT_CONTEXT,
			       &name, 1, out) &&
	       out->class->kind == FIELD_SEQUENCE && out->class->element->kind == FIELD_INT;
}

bool symbols_has_frames(const struct event_class *class)
{
	struct field_path path;

	return symbols_chain(class) || callstack_member(class, false, &path) ||
	       callstack_member(class, true, &path);
}

static bool context_integer(const struct event_class *class, const char *name, uint32_t *slot)
{
	struct field_path path;

	if (!context_member(class, name, &path) || path.class->kind != FIELD_INT)
		return false;
	*slot = class->slot_base[SCOPE_EVENT_CONTEXT] + path.slot;
	return true;
}

__attribute__((noinline)) void class_places_make(const struct event_class *class,
						 struct class_places *places)
{
	struct field_path path;

	places->made = true;
	places->has_ip = context_integer(class, "ip", &places->ip);
	if (class->address &&
	    field_path_find(class, 1 << SCOPE_PAYLOAD, &class->address, 1, &path)) {
		places->has_ip = places->of_program = true;
		places->ip = class->slot_base[SCOPE_PAYLOAD] + path.slot;
	}
	places->alone = symbols_has_address(class);
	places->has_pid = context_integer(class, "pid", &places->pid);
	places->has_tid = context_integer(class, "tid", &places->tid);
	places->has_chain =
		symbols_chain(class) && context_member(class, "callchain", &places->chain);
	for (int user = 0; user < 2; user++)
		places->has_callstack[user] =
			callstack_member(class, user, &places->callstack[user]);
}

static int64_t pid_of(const struct fields *fields, const struct class_places *places)
{
	if (places->of_program)
		return SYMBOLS_PROGRAM;
	return places->has_pid ? fields->slots[places->pid].s : -1;
}

bool symbols_names_place(const struct symbols *symbols, const struct event_class *class)
{
	return symbols->program && class->address &&
	       !symbols->trace->parts[class->part]->reader->maps;
}

bool symbols_has_address(const struct event_class *class)
{
	struct field_path path;

	return context_member(class, "ip", &path) && path.class->kind == FIELD_INT &&
	       !symbols_chain(class) && !class->scope[SCOPE_STREAM_EVENT_CONTEXT];
}

bool symbols_is_counter(const struct event_class *class)
{
	static const char *const common = "common_type"; /* tracepoints of a known format have it */
	struct field_path path;

	return (symbols_chain(class) || symbols_has_address(class)) &&
	       strcmp(class->name, "unknown tracepoint") != 0 &&
	       !field_path_find(class, 1 << SCOPE_STREAM_EVENT_CONTEXT | 1 << SCOPE_EVENT_CONTEXT,
				&common, 1, &path);
}

uint32_t symbols_sample_order(const struct trace *trace, const struct event_class *class)
{
	uint32_t first = 0;

	if (!symbols_is_counter(class))
		return UINT32_MAX;
	while (strcmp(trace->classes[first]->name, class->name) != 0)
		first++;
	return first;
}

/* The address space of a sample's address. */
static enum whose whose_address(const struct symbols *symbols, const struct fields *fields,
				const struct class_places *places, uint64_t address)
{
	const struct reader_maps *maps = symbols->trace->parts[fields->class->part]->reader->maps;
	enum whose whose = WHOSE_PROCESS;

	/* in a 64-bit address space the kernel has the upper half */
	if (!(maps && maps->whose && maps->whose(fields, &whose)) && !places->of_program &&
	    (int64_t)address < 0)
		whose = WHOSE_KERNEL;
	return whose;
}

const struct symbol *symbols_address(struct symbols *symbols, nstime t, const struct fields *fields,
				     unsigned want, uint64_t *address)
{
	const struct class_places *places = class_places_of(symbols, fields->class);
	enum whose whose;

	*address = places->has_ip ? fields->slots[places->ip].u : 0;
	whose = whose_address(symbols, fields, places, *address);
	if (whose == WHOSE_OTHERS) {
		symbols->other = (struct symbol){.file_offset = *address};
		return &symbols->other;
	}
	return symbols_at(symbols, fields->class->part, t, pid_of(fields, places),
			  whose == WHOSE_KERNEL, *address, want);
}

static struct frame *add_frame(struct symbols *symbols, size_t count, uint64_t address, bool kernel)
{
	struct frame *frame;

	symbols->frames = mem_grow(symbols->frames, count, &symbols->frames_capacity,
				   sizeof *symbols->frames);
	frame = &symbols->frames[count];
	*frame = (struct frame){
		.address = address, .kernel = kernel, .symbol = {.file_offset = address}};
	return frame;
}

/* Copied stacks ------------------------------------------------------------------------------- */

static uint64_t context_number(const struct fields *fields, const char *name)
{
	struct field_path path;

	if (!context_member(fields->class, name, &path) || path.class->kind != FIELD_INT)
		return 0;
	return (uint64_t)fields_number(fields, &path, 0);
}

static bool copied_registers(const struct fields *fields, struct user_stack *out)
{
	enum { POINTER = 7, ABI_64 = 2 }; /* PERF_REG_X86_SP, PERF_SAMPLE_REGS_ABI_64 */
	struct field_path path;
	struct field field;
	struct field_iter iter;
	size_t n = 0;

	if (context_number(fields, "regs_user_abi") != ABI_64 ||
	    !context_member(fields->class, "regs_user", &path) ||
	    path.class->kind != FIELD_SEQUENCE || path.class->element->kind != FIELD_INT)
		return false;
	fields_at(fields, &path, &field);
	if (field.slot.n != X86_REGISTERS)
		return false; /* another machine's */
	field_iter_begin(&iter, &field);
	while (n < X86_REGISTERS && field_iter_next(&iter))
		out->registers[n++] = iter.item.slot.u;
	field_iter_end(&iter);
	out->pointer = out->registers[POINTER];
	return n == X86_REGISTERS;
}

/* The registers and the copy of the user stack; false: there are none, or not of x86-64. */
static bool copied_stack(const struct fields *fields, struct buf *scratch, struct user_stack *out)
{
	struct field_path path;
	struct field field;
	uint64_t used = context_number(fields, "stack_user_used");

	*out = (struct user_stack){.size = 0};
	if (!used || !context_member(fields->class, "stack_user", &path) || !path.class->is_blob ||
	    !copied_registers(fields, out))
		return false;
	fields_at(fields, &path, &field);
	out->bytes = field_bytes(&field, scratch, &out->size);
	if (used < out->size)
		out->size = (size_t)used;
	return out->size != 0;
}

/* Adds frames for functions that were inlined at the address of the last frame. */
static size_t add_inlined(struct symbols *symbols, nstime t, int64_t pid,
			  const struct fields *fields, size_t count)
{
	struct frame first = symbols->frames[count - 1];
	const struct mapped_range *range =
		spaces_find(symbols->parts[fields->class->part].spaces, t, pid, first.address);
	const char *const *names;
	size_t n = object_inlined(&symbols->objects, range->object, &first.symbol, &names);

	for (size_t i = 0; i < n; i++) {
		struct frame *frame = i ? add_frame(symbols, count++, first.address, false)
					: &symbols->frames[count - 1];
		*frame = first;
		frame->symbol.is_inlined = names[i] != NULL;
		if (names[i])
			frame->symbol.function = names[i];
		if (i) /* the source line belongs to the innermost function */
			frame->symbol.file = NULL;
	}
	return count;
}

enum { UNWOUND_MAX = 127 /* as perf */ };

static size_t add_unwound(struct symbols *symbols, nstime t, int64_t pid,
			  const struct fields *fields, unsigned want, size_t count)
{
	uint64_t addresses[UNWOUND_MAX];
	struct user_stack stack;
	struct buf scratch = {0};
	size_t n = 0;

	if (copied_stack(fields, &scratch, &stack)) {
		n = unwind(&symbols->objects, symbols_parts(symbols)[fields->class->part].spaces, t,
			   pid, &stack, addresses, UNWOUND_MAX);
	}
	for (size_t i = 0; i < n; i++) {
		struct frame *frame = add_frame(symbols, count++, addresses[i], false);
		symbols_find(symbols, fields->class->part, t, pid, false, addresses[i], want,
			     &frame->symbol);
		if (frame->symbol.function)
			count = add_inlined(symbols, t, pid, fields, count);
	}
	buf_release(&scratch);
	return count;
}

/* State while a call chain is read value by value. */
struct chain {
	struct symbols *symbols;
	nstime t;
	const struct fields *fields;
	const struct class_places *places;
	unsigned want;
	int64_t pid;
	size_t count; /* frames so far */
	enum whose whose;
	bool skips;    /* behind an unknown mark: values are ignored up to the next mark */
	bool cookie;   /* the next value is a cookie */
	bool deferred; /* the values were recorded later, under a cookie */
};

static void tell_mark(struct symbols *symbols, uint64_t mark)
{
	if (!symbols->told_mark)
		notice(&symbols->trace->notices, NOTICE_WARNING,
		       "%s: call chains have the mark %" PRId64
		       ", which is not known: what stands behind it is left out",
		       symbols->trace->path, (int64_t)mark);
	symbols->told_mark = true;
}

static void take_mark(struct chain *chain, uint64_t mark)
{
	chain->cookie = mark == MARK_DEFERRED && !chain->deferred;
	chain->skips = !chain->cookie && !mark_meaning(mark, &chain->whose);
	if (chain->skips)
		tell_mark(chain->symbols, mark);
}

static void take_value(struct chain *chain, uint64_t value);

static void take_deferred(struct chain *chain, uint64_t cookie)
{
	const struct part *part = chain->symbols->trace->parts[chain->fields->class->part];
	const struct reader_maps *maps = part->reader->maps;
	struct buf later = {0};

	chain->cookie = false;
	chain->deferred = true;
	chain->whose = WHOSE_PROCESS;
	if (maps && maps->deferred && chain->places->has_tid)
		maps->deferred(part, chain->t, chain->fields->slots[chain->places->tid].s, cookie,
			       &later);
	for (size_t at = 0; at + sizeof(uint64_t) <= later.len; at += sizeof(uint64_t)) {
		uint64_t value;
		memcpy(&value, later.data + at, sizeof value);
		take_value(chain, value);
	}
	chain->deferred = false;
	buf_release(&later);
}

static void take_value(struct chain *chain, uint64_t value)
{
	if (chain->cookie) {
		take_deferred(chain, value);
		return;
	}
	if (value >= MARK_FIRST) {
		take_mark(chain, value);
		return;
	}
	if (chain->skips)
		return;
	struct frame *frame =
		add_frame(chain->symbols, chain->count++, value, chain->whose == WHOSE_KERNEL);
	if (chain->whose != WHOSE_OTHERS)
		symbols_find(chain->symbols, chain->fields->class->part, chain->t, chain->pid,
			     frame->kernel, value, chain->want, &frame->symbol);
}

static size_t add_chain(struct symbols *symbols, nstime t, const struct fields *fields,
			const struct class_places *places, unsigned want)
{
	struct chain chain = {.symbols = symbols,
			      .t = t,
			      .fields = fields,
			      .places = places,
			      .want = want,
			      .pid = pid_of(fields, places),
			      .whose = WHOSE_PROCESS};
	struct field values;
	struct field_iter iter;

	fields_at(fields, &places->chain, &values);
	field_iter_begin(&iter, &values);
	while (field_iter_next(&iter))
		take_value(&chain, iter.item.slot.u);
	field_iter_end(&iter);
	return add_unwound(symbols, t, chain.pid, fields, want, chain.count);
}

/* The process ID of an event of LTTng's kernel tracer, by which maps are looked up. */
static int64_t callstack_process(const struct fields *fields)
{
	static const char *const names[] = {"vpid", "pid"};
	struct field field;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (fields_get(fields, 1u << SCOPE_STREAM_EVENT_CONTEXT | 1u << SCOPE_EVENT_CONTEXT,
			       &names[i], 1, &field) &&
		    field.class->kind == FIELD_INT)
			return field.slot.s;
	return -1;
}

/* Adds frames of an LTTng call stack; an address of all ones at its end means that it was cut. */
static size_t add_callstack(struct symbols *symbols, nstime t, const struct fields *fields,
			    const struct class_places *places, bool user, size_t count)
{
	int64_t pid = user ? callstack_process(fields) : -1;
	struct field stack;
	struct field_iter iter;

	fields_at(fields, &places->callstack[user], &stack);
	unsigned bits = stack.class->element->bits;
	uint64_t cut = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
	field_iter_begin(&iter, &stack);
	while (field_iter_next(&iter) && iter.item.slot.u != cut) {
		uint64_t address = iter.item.slot.u;
		struct frame *frame = add_frame(symbols, count++, address, !user);
		bool found = user ? symbols_find_process(symbols, t, pid, address, &frame->symbol)
				  : symbols_find(symbols, fields->class->part, t, pid, true,
						 address, 0, &frame->symbol);
		frame->nameless = !found;
	}
	field_iter_end(&iter);
	return count;
}

/* A sample without a call chain is one frame: its address. */
static size_t add_address(struct symbols *symbols, nstime t, const struct fields *fields,
			  const struct class_places *places, unsigned want)
{
	uint64_t address;
	const struct symbol *symbol = symbols_address(symbols, t, fields, want, &address);
	enum whose whose = whose_address(symbols, fields, places, address);

	add_frame(symbols, 0, address, whose == WHOSE_KERNEL)->symbol = *symbol;
	return 1;
}

size_t symbols_frames(struct symbols *symbols, nstime t, const struct fields *fields, unsigned want,
		      const struct frame **out)
{
	const struct class_places *places = class_places_of(symbols, fields->class);
	size_t count = 0;

	if (places->has_chain)
		count = add_chain(symbols, t, fields, places, want);
	else if (places->alone)
		count = add_address(symbols, t, fields, places, want);
	for (int user = 0; user < 2; user++)
		if (places->has_callstack[user])
			count = add_callstack(symbols, t, fields, places, user, count);
	*out = count ? symbols->frames : NULL;
	return count;
}
