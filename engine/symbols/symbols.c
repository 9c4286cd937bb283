/* symbols.c - see symbols.h; gathers what readers tell, and sends each address where it belongs */
#include "engine/symbols/symbols.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/event.h"
#include "engine/symbols/symbols_internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one part: its processes and its kernel. */
struct part_symbols {
	struct spaces *spaces;
	struct kernel *kernel;
	struct objects *objects; /* borrowed */
	int64_t jit_pid;         /* the process whose memory without a file was mapped last... */
	struct object *jit;      /* ...and what code there is told by; NULL: none yet */
};

/* Where members of a class' event context are that are looked for in every sample. */
struct class_places {
	bool made, has_ip, has_pid, has_tid, has_chain;
	bool alone;            /* ip is all that tells where a sample was */
	bool has_callstack[2]; /* by LTTng: the kernel's, the process' */
	bool of_program;       /* ip is class->address */
	uint32_t ip, pid, tid; /* slots */
	struct field_path chain, callstack[2];
};

struct symbols {
	const struct trace *trace;
	struct class_places *classes;
	struct arena *arena;
	char *cache;
	struct objects objects;
	struct part_symbols *parts; /* NULL until the first question */
	struct symbol other;        /* what was asked for last, if it is of no file */
	struct frame *frames;
	size_t frames_capacity;
	struct text_names **texts; /* per part; NULL: texts go without */
	struct arena *variables;   /* of the frame that was asked for last; NULL: none yet */
	char *program;             /* of parts without maps; NULL: none */
	uint64_t program_base;
	bool has_loaded; /* all that readers of events can tell */
	bool told_mark;  /* that call chains have a mark that is not known */
};

struct symbols *symbols_new(const struct trace *trace, const char *cache)
{
	struct symbols *symbols = mem_new(sizeof *symbols);

	symbols->trace = trace;
	symbols->classes = mem_new_array(trace->nclasses + 1, sizeof *symbols->classes);
	symbols->arena = arena_new();
	symbols->cache = cache ? mem_strdup(cache) : NULL;
	symbols->objects.arena = symbols->arena;
	symbols->objects.cache = symbols->cache;
	return symbols;
}

struct symbols *symbols_new_beside(const struct trace *trace, const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;
	struct symbols *symbols;
	struct buf cache = {0};

	if (slash)
		buf_add(&cache, file, (size_t)(slash + 1 - file));
	buf_add_text(&cache, "symbols");
	symbols = symbols_new(trace, file ? buf_text(&cache) : NULL);
	buf_release(&cache);
	return symbols;
}

void symbols_name_texts(struct symbols *symbols)
{
	const struct trace *trace = symbols->trace;

	if (symbols->texts)
		return;
	symbols->texts = mem_new_array(trace->nparts, sizeof *symbols->texts);
	for (size_t i = 0; i < trace->nparts; i++)
		symbols->texts[i] = text_names_new(trace->parts[i], symbols->cache);
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; symbols->texts && i < symbols->trace->nparts; i++)
		text_names_free(symbols->texts[i]);
	mem_free(symbols->texts);
	for (size_t i = 0; symbols->parts && i < symbols->trace->nparts; i++) {
		spaces_free(symbols->parts[i].spaces);
		kernel_free(symbols->parts[i].kernel);
	}
	objects_release(&symbols->objects);
	mem_free(symbols->parts);
	mem_free(symbols->frames);
	mem_free(symbols->classes);
	mem_free(symbols->cache);
	mem_free(symbols->program);
	arena_free(symbols->variables);
	arena_free(symbols->arena);
	mem_free(symbols);
}

/* Gathering ----------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Memory that no file is behind: code there, if there is any, was made by the process itself. */
static bool is_anonymous(const char *name)
{
	if (name[0] == '/' && !strchr("/daS", name[1])) /* nearly all */
		return false;
	return begins(name, "//anon") || begins(name, "/dev/zero") ||
	       begins(name, "/anon_hugepage") || begins(name, "[stack") || begins(name, "/SYSV") ||
	       !strcmp(name, "[heap]");
}

/* The file that names the code which a process has made: each has one of its own. */
static struct object *jit_of(struct part_symbols *part, int64_t pid)
{
	char name[64];

	if (!part->jit || part->jit_pid != pid) {
		snprintf(name, sizeof name, "/tmp/perf-%lld.map", (long long)pid);
		part->jit = objects_get(part->objects, name, NULL, pid);
		part->jit_pid = pid;
	}
	return part->jit;
}

static void tell_map(struct part_symbols *part, const struct map_event *event)
{
	struct mapped_range range = {.start = event->start,
				     .end = event->start + event->len,
				     .file_offset = event->file_offset};
	struct build_id id = {0};

	if (!event->name || !event->len)
		return;
	if (range.end < range.start)
		range.end = UINT64_MAX;
	bool anonymous = is_anonymous(event->name);
	if (anonymous)
		range.file_offset = range.start;
	if (anonymous && !event->data) {
		range.object = jit_of(part, event->pid);
	} else {
		if (event->nbuild_id && event->nbuild_id <= BUILD_ID_MAX) {
			id.n = event->nbuild_id;
			memcpy(id.bytes, event->build_id, id.n);
		}
		range.object = objects_get(part->objects, event->name, &id, 0);
	}
	spaces_map(part->spaces, event->t, event->pid, &range);
}

static void tell_part(void *arg, const struct map_event *event)
{
	struct part_symbols *part = arg;

	if (event->kind == MAP_KERNEL_SYMBOL || event->pid == -1)
		kernel_tell(part->kernel, event);
	else if (event->kind == MAP_ADD)
		tell_map(part, event);
	else if (event->kind == MAP_FORK)
		spaces_fork(part->spaces, event->t, event->pid, event->parent);
	else if (event->kind == MAP_EXEC)
		spaces_exec(part->spaces, event->t, event->pid);
}

bool symbols_add_program(struct symbols *symbols, const char *file, uint64_t base,
			 struct error *err)
{
	struct unwind_tables *elf = unwind_tables_new(file);
	bool good = elf && elf->nloads;
	char whole[PATH_MAX]; /* a name without a folder is no file of a map */

	unwind_tables_free(elf);
	if (!good)
		return error_set(err, ERR_QUERY, "%s: no ELF program that can be read", file);
	mem_free(symbols->program);
	symbols->program = mem_strdup(realpath(file, whole) ? whole : file);
	symbols->program_base = base;
	return true;
}

/* A process maps the file's loadable segments, `bias` above where it was linked. */
static void tell_segments(struct part_symbols *part, nstime t, int64_t pid,
			  const struct unwind_tables *elf, struct object *object, uint64_t bias)
{
	for (size_t i = 0; i < elf->nloads; i++) {
		const struct unwind_load *load = &elf->loads[i];
		struct mapped_range range = {.start = load->address + bias,
					     .end = load->address + bias + load->size,
					     .file_offset = load->offset,
					     .object = object};
		if (range.end > range.start)
			spaces_map(part->spaces, t, pid, &range);
	}
}

static void tell_program(struct symbols *symbols, struct part_symbols *part)
{
	struct unwind_tables *elf = unwind_tables_new(symbols->program);
	struct object *object = objects_get(part->objects, symbols->program, NULL, 0);

	if (elf)
		tell_segments(part, NSTIME_MIN, SYMBOLS_PROGRAM, elf, object,
			      symbols->program_base);
	unwind_tables_free(elf);
}

/* LTTng's clocks have the boot's identity. */
static void tell_boot(const struct trace *trace, const struct stream *stream,
		      struct part_symbols *parts)
{
	if (stream->clock >= 0 && trace->clocks[stream->clock].has_uuid)
		kernel_tell_boot(parts[stream->part].kernel, trace->clocks[stream->clock].uuid);
}

static void gather(struct symbols *symbols)
{
	const struct trace *trace = symbols->trace;
	struct error err;

	symbols->parts = mem_new_array(trace->nparts, sizeof *symbols->parts);
	for (size_t i = 0; i < trace->nparts; i++) {
		const struct part *part = trace->parts[i];
		struct part_symbols *own = &symbols->parts[i];
		own->spaces = spaces_new();
		own->kernel = kernel_new(part, &symbols->objects);
		own->objects = &symbols->objects;
		if (part->reader->maps && !part->reader->maps->all(part, tell_part, own, &err))
			notice(&trace->notices, NOTICE_WARNING, "%s: symbols: maps end early: %s",
			       part->path, err.text);
		if (!part->reader->maps && symbols->program)
			tell_program(symbols, own);
	}
	for (size_t i = 0; i < trace->nstreams; i++)
		tell_boot(trace, trace->streams[i], symbols->parts);
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Where the file is to be looked for: as the trace says, or where somebody has said. */
static const char *searched_path(const struct symbols *symbols, const char *path)
{
	bool same = symbols->program && !strcmp(last_name(symbols->program), last_name(path));

	return same ? symbols->program : path;
}

static bool is_that_file(const struct unwind_tables *elf, const struct build_id *id)
{
	struct build_id its;

	return !id->n || (elf_build_id(elf->fd, &its) && build_id_equal(&its, id));
}

void symbols_tell_loaded(struct symbols *symbols, uint32_t part, const struct loaded_file *loaded)
{
	const char *file = searched_path(symbols, loaded->path);
	struct unwind_tables *elf = unwind_tables_new(file);
	struct build_id id = {0};
	uint64_t first = UINT64_MAX;

	if (!symbols->parts)
		gather(symbols);
	if (loaded->nbuild_id && loaded->nbuild_id <= BUILD_ID_MAX) {
		id.n = loaded->nbuild_id;
		memcpy(id.bytes, loaded->build_id, id.n);
	}
	for (size_t i = 0; elf && i < elf->nloads; i++)
		if (elf->loads[i].address < first)
			first = elf->loads[i].address;
	if (elf && is_that_file(elf, &id))
		tell_segments(&symbols->parts[part], loaded->t, loaded->pid, elf,
			      objects_get(&symbols->objects, file, &id, 0), loaded->base - first);
	unwind_tables_free(elf);
}

void symbols_end_loaded(struct symbols *symbols)
{
	symbols->has_loaded = true;
}

bool symbols_has_loaded(const struct symbols *symbols)
{
	return symbols->has_loaded;
}

/* Asking -------------------------------------------------------------------------------------- */

/* Borrowed until the next question. */
static const struct symbol *find_symbol(struct symbols *symbols, uint32_t part, nstime t,
					int64_t pid, bool kernel, uint64_t address, unsigned want)
{
	const struct mapped_range *range = NULL;

	if (!symbols->parts)
		gather(symbols);
	if (!kernel)
		range = spaces_find(symbols->parts[part].spaces, t, pid, address);
	if (!kernel && !range && symbols->program && !symbols->trace->parts[part]->reader->maps)
		range = spaces_find(symbols->parts[part].spaces, t, SYMBOLS_PROGRAM, address);
	if (range) {
		address += range->file_offset - range->start;
		return object_find(&symbols->objects, range->object, address, want);
	}
	symbols->other = (struct symbol){.file_offset = address};
	if (kernel)
		kernel_find(symbols->parts[part].kernel, t, address, &symbols->other);
	return &symbols->other;
}

bool symbols_find(struct symbols *symbols, uint32_t part, nstime t, int64_t pid, bool kernel,
		  uint64_t address, unsigned want, struct symbol *out)
{
	*out = (struct symbol){.file_offset = address};
	if (part < symbols->trace->nparts)
		*out = *find_symbol(symbols, part, t, pid, kernel, address, want);
	return out->object || out->function;
}

bool symbols_find_process(struct symbols *symbols, nstime t, int64_t pid, uint64_t address,
			  struct symbol *out)
{
	bool found = false;

	for (uint32_t i = 0; i < symbols->trace->nparts && !found; i++)
		found = symbols_find(symbols, i, t, pid, false, address, 0, out);
	return found;
}

/* Call chains --------------------------------------------------------------------------------- */

/* Values of a call chain from here on say whose addresses follow (perf_event_open(2)). */
#define MARK_FIRST (-UINT64_C(4095))

/* Behind this mark stands one number, under which the process' addresses were recorded later. */
#define MARK_DEFERRED (-UINT64_C(640))

/* False: there is no such mark. */
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

/* Contexts that LTTng adds to the events of a channel, or to one event; the kernel's is first. */
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

static __attribute__((noinline)) void make_places(const struct event_class *class,
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

static inline const struct class_places *places_of(struct symbols *symbols,
						   const struct event_class *class)
{
	struct class_places *places = &symbols->classes[class->index];

	if (!places->made)
		make_places(class, places);
	return places;
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
	static const char *const common = "common_type"; /* of a tracepoint whose format is known */
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

/* Whose is the address of a sample? */
static enum whose whose_address(const struct symbols *symbols, const struct fields *fields,
				const struct class_places *places, uint64_t address)
{
	const struct reader_maps *maps = symbols->trace->parts[fields->class->part]->reader->maps;
	enum whose whose = WHOSE_PROCESS;

	/* the kernel has the upper half, wherever words have 64 bits */
	if (!(maps && maps->whose && maps->whose(fields, &whose)) && !places->of_program &&
	    (int64_t)address < 0)
		whose = WHOSE_KERNEL;
	return whose;
}

const struct symbol *symbols_address(struct symbols *symbols, nstime t, const struct fields *fields,
				     unsigned want, uint64_t *address)
{
	const struct class_places *places = places_of(symbols, fields->class);
	enum whose whose;

	*address = places->has_ip ? fields->slots[places->ip].u : 0;
	whose = whose_address(symbols, fields, places, *address);
	if (whose == WHOSE_OTHERS) {
		symbols->other = (struct symbol){.file_offset = *address};
		return &symbols->other;
	}
	return find_symbol(symbols, fields->class->part, t, pid_of(fields, places),
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
	struct field field;

	if (!context_member(fields->class, name, &path) || path.class->kind != FIELD_INT)
		return 0;
	fields_at(fields, &path, &field);
	return field.slot.u;
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

/* What was copied of the process' stack; false: nothing, or not as unwinding needs it. */
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

/* Functions that were put into others are frames at the same address. */
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
		if (i) /* the line is the innermost function's */
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
		if (!symbols->parts)
			gather(symbols);
		n = unwind(&symbols->objects, symbols->parts[fields->class->part].spaces, t, pid,
			   &stack, addresses, UNWOUND_MAX);
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

/* Taking a call chain value by value. */
struct chain {
	struct symbols *symbols;
	nstime t;
	const struct fields *fields;
	const struct class_places *places;
	unsigned want;
	int64_t pid;
	size_t count; /* frames so far */
	enum whose whose;
	bool skips; /* a mark that is not known: until the next one, nobody knows what values are */
	bool cookie;   /* the next value is one */
	bool deferred; /* it is in the part that was recorded later */
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

/* The process of an event of LTTng's kernel tracer; other tracers that know its maps have their own
 * number of it. */
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

/* LTTng marks a stack that was deeper than it records by a last address of ones. */
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
	const struct class_places *places = places_of(symbols, fields->class);
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

/* Variables ----------------------------------------------------------------------------------- */

struct frame_naming { /* of addresses in values */
	struct symbols *symbols;
	uint32_t part;
	nstime t;
};

static void add_place_name(const void *arg, uint64_t address, struct buf *out)
{
	const struct frame_naming *naming = arg;
	const struct symbol *symbol = find_symbol(naming->symbols, naming->part, naming->t,
						  SYMBOLS_PROGRAM, false, address, 0);

	if (symbol->function && symbol->offset)
		buf_printf(out, " <%s+%" PRIu64 ">", symbol->function, symbol->offset);
	else if (symbol->function)
		buf_printf(out, " <%s>", symbol->function);
}

static void copy_register(const struct field *field, const char *name, struct buf *scratch,
			  struct collected_register *out)
{
	const struct field_class *class = field->class;
	const uint8_t *bytes;

	*out = (struct collected_register){.name = name};
	if (class->kind == FIELD_INT || class->kind == FIELD_FLOAT) {
		uint64_t value = field->slot.u;
		float narrow = (float)field->slot.f;
		if (class->kind == FIELD_FLOAT && class->bits == 32)
			memcpy(&value, &narrow, sizeof narrow);
		out->size = class->bits / 8;
		for (size_t i = 0; i < out->size; i++)
			out->bytes[i] =
				(uint8_t)(value >> 8 * (class->big_endian ? out->size - 1 - i : i));
		return;
	}
	bytes = field_bytes(field, scratch, &out->size);
	if (out->size > REGISTER_BYTES_MAX)
		out->size = REGISTER_BYTES_MAX; /* the lower ones: no value is wider */
	memcpy(out->bytes, bytes, out->size);
}

static void collect_registers(const struct fields *fields, struct arena *arena,
			      struct collected *out)
{
	struct buf scratch = {0};
	struct field_iter iter;
	struct field context;

	if (!fields_scope(fields, SCOPE_STREAM_EVENT_CONTEXT, &context))
		return;
	struct collected_register *all =
		arena_array(arena, context.class->nmembers + 1, sizeof *all);
	field_iter_begin(&iter, &context);
	while (field_iter_next(&iter))
		copy_register(&iter.item, iter.name, &scratch, &all[out->nregisters++]);
	field_iter_end(&iter);
	buf_release(&scratch);
	out->registers = all;
}

static void collect_memory(const struct fields *fields, struct arena *arena, struct collected *out)
{
	static const char *const name = "memory";
	struct field_iter iter, members;
	struct field memory;

	if (!fields_get(fields, 1u << SCOPE_PAYLOAD, &name, 1, &memory) ||
	    memory.class->kind != FIELD_SEQUENCE)
		return;
	struct collected_memory *all = arena_array(arena, memory.slot.n + 1, sizeof *all);
	field_iter_begin(&iter, &memory);
	for (size_t i = 0; field_iter_next(&iter); i++) {
		field_iter_begin(&members, &iter.item);
		while (field_iter_next(&members)) {
			const struct field *field = &members.item;
			if (field->class->kind == FIELD_INT) {
				all[i].address = field->slot.u;
				continue;
			}
			all[i].bytes = field->in->data + field->slot.at / 8;
			all[i].size = field->slot.n;
		}
		field_iter_end(&members);
	}
	field_iter_end(&iter);
	out->memory = all;
	out->nmemory = memory.slot.n;
}

size_t symbols_variables(struct symbols *symbols, nstime t, const struct fields *fields,
			 const struct variable **out)
{
	const struct class_places *places = places_of(symbols, fields->class);
	struct frame_naming naming = {symbols, fields->class->part, t};
	struct collected collected = {.arg = &naming, .name = add_place_name};
	const struct part *part = symbols->trace->parts[fields->class->part];
	const struct mapped_range *range;
	struct code_place place;

	*out = NULL;
	if (!places->of_program)
		return 0;
	if (!symbols->variables)
		symbols->variables = arena_new();
	arena_reset(symbols->variables);
	if (!symbols->parts)
		gather(symbols);
	collected.pc = fields->slots[places->ip].u;
	collected.big_endian = part->big_endian > 0;
	range = spaces_find(symbols->parts[naming.part].spaces, t, SYMBOLS_PROGRAM, collected.pc);
	if (!range || !object_code_place(&symbols->objects, range->object,
					 collected.pc - range->start + range->file_offset, &place))
		return 0;
	collect_registers(fields, symbols->variables, &collected);
	collect_memory(fields, symbols->variables, &collected);
	return variables_find(&place, &collected, symbols->variables, out);
}
