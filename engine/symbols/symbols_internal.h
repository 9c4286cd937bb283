/* symbols_internal.h - what the files of symbols*.c share; not for others */
#ifndef ENGINE_SYMBOLS_SYMBOLS_INTERNAL_H
#define ENGINE_SYMBOLS_SYMBOLS_INTERNAL_H

#include "engine/reader.h"
#include "engine/symbols/dwarf/debug.h"
#include "engine/symbols/symbols.h"
#include "engine/symbols/tables/tables.h"

/* symbols_object.c: files that were mapped ---------------------------------------------------- */

struct object {
	const char *name; /* as mapped, or as it is shown */
	struct build_id id;
	struct object *next; /* of the same hash */
	bool loaded, plain;  /* plain: its addresses are those of the process (perf-PID.map) */
	struct symbol_table table;
	struct line_reader *lines;
	struct unwind_tables *unwind;
	struct inline_reader *inlines;
	bool lines_tried, unwind_tried, inlines_tried;
	char *file, *debug; /* where it was found; NULL not */
	const char **shown; /* demangled names by index; NULL not yet. Texts in the arena */
};

/* A symbol of a file that was found lately. */
struct found_symbol {
	const struct object *object; /* NULL: not in use */
	unsigned want;
	struct symbol symbol;
};

struct objects {
	struct arena *arena;
	const char *cache; /* folder, NULL none */
	struct object *hash[256];
	struct symbol_memo memo;    /* the kernel's */
	struct found_symbol *found; /* NULL until the first question */
};

/* Of `n` bytes; as many as no build id has leave it as it is. */
void build_id_take(struct build_id *id, const uint8_t *bytes, size_t n);
/* Has the file that build id, or is none known? */
bool build_id_is_of(const struct build_id *id, int fd);
/* ~/.debug/.build-id/ab/cdef.../WHAT, where perf record keeps copies. False: it has no place there.
 */
bool perf_kept_path(const struct build_id *id, const char *what, struct buf *out);
void objects_release(struct objects *objects);
/* `jit`: the process whose code without a file it is, 0 none. */
struct object *objects_get(struct objects *objects, const char *name, const struct build_id *id,
			   int64_t jit);
/* Looks in the object, which is loaded when it was not. Borrowed until the next call. */
const struct symbol *object_find(struct objects *objects, struct object *object, uint64_t at,
				 unsigned want);
/* NULL: there is no such file. */
const struct unwind_tables *object_unwind_tables(struct objects *objects, struct object *object);
/* A word of the file, little-endian. False: there is none. */
bool object_read(struct objects *objects, struct object *object, uint64_t file_offset,
		 uint64_t *out);
/* As inline_reader_find(), for what object_find() has found. */
size_t object_inlined(struct objects *objects, struct object *object, const struct symbol *symbol,
		      const char *const **names);
/* False: the file has no debug information. */
bool object_code_place(struct objects *objects, struct object *object, uint64_t file_offset,
		       struct code_place *out);

/* symbols_space.c: address spaces in time ----------------------------------------------------- */

struct mapped_range {
	uint64_t start, end;  /* half-open, end not 0 */
	uint64_t file_offset; /* of start */
	struct object *object;
	uint64_t old; /* 1: of the program before exec; so that there is no gap */
};

struct spaces;
struct spaces *spaces_new(void);
void spaces_free(struct spaces *spaces);
/* Changes are told in order of time. */
void spaces_map(struct spaces *spaces, nstime t, int64_t pid, const struct mapped_range *range);
void spaces_unmap(struct spaces *spaces, nstime t, int64_t pid, uint64_t start, uint64_t end);
void spaces_fork(struct spaces *spaces, nstime t, int64_t pid, int64_t parent);
/* A mapping stays until a new one covers it, or until the next exec. */
void spaces_exec(struct spaces *spaces, nstime t, int64_t pid);
/* What is at the address at t, after all changes of t; borrowed until the next call. NULL: nothing.
 */
const struct mapped_range *spaces_find(struct spaces *spaces, nstime t, int64_t pid,
				       uint64_t address);

/* symbols_unwind.c: callers from registers and stack ------------------------------------------ */

enum { X86_REGISTERS = 20 };

/* Registers and stack that were recorded of an x86-64 process. */
struct user_stack {
	uint64_t registers[X86_REGISTERS]; /* as perf orders them */
	uint64_t pointer;                  /* address of the first byte */
	const uint8_t *bytes;
	size_t size;
};

/* Addresses of frames, the innermost first, at most `room`; calls, not where they return to. */
size_t unwind(struct objects *objects, struct spaces *spaces, nstime t, int64_t pid,
	      const struct user_stack *stack, uint64_t *out, size_t room);

/* symbols_kernel.c: the kernel's own ---------------------------------------------------------- */

struct kernel; /* of one part */
struct kernel *kernel_new(const struct part *part, struct objects *objects);
/* The boot of the recording, as its clock tells it: symbols of another boot name nothing. Borrowed.
 */
void kernel_tell_boot(struct kernel *kernel, const uint8_t boot[16]);
void kernel_free(struct kernel *kernel);
void kernel_tell(struct kernel *kernel, const struct map_event *event);
bool kernel_find(struct kernel *kernel, nstime t, uint64_t address, struct symbol *out);

/* symbols_texts.c: kernel functions in texts -------------------------------------------------- */

struct text_names; /* of one part */
/* From now on the part's texts ask here, from any thread. NULL: its reader has what there is. */
struct text_names *text_names_new(struct part *part, const char *cache);
void text_names_free(struct text_names *names); /* NULL is fine */

/* symbols.c: what readers tell, by part -------------------------------------------------------- */

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

/* Of each part of the trace: gathered when they are asked for first. */
struct part_symbols *symbols_parts(struct symbols *symbols);
/* As symbols_find(); borrowed until the next question. */
const struct symbol *symbols_at(struct symbols *symbols, uint32_t part, nstime t, int64_t pid,
				bool kernel, uint64_t address, unsigned want);

/* symbols_frames.c: frames of events ---------------------------------------------------------- */

void class_places_make(const struct event_class *class, struct class_places *places);
static inline const struct class_places *class_places_of(struct symbols *symbols,
							 const struct event_class *class)
{
	struct class_places *places = &symbols->classes[class->index];

	if (!places->made)
		class_places_make(class, places);
	return places;
}

#endif
