/* symbols_internal.h - what the files of symbols*.c share; not for others */
#ifndef ENGINE_SYMBOLS_SYMBOLS_INTERNAL_H
#define ENGINE_SYMBOLS_SYMBOLS_INTERNAL_H

#include "engine/reader.h"
#include "engine/symbols/dwarf/debug.h"
#include "engine/symbols/symbols.h"
#include "engine/symbols/tables/tables.h"

/* symbols_object.c: files that were mapped ---------------------------------------------------- */

struct object {
	const char *name; /* path as mapped, or the name that is shown */
	struct build_id id;
	struct object *next; /* of the same hash */
	bool loaded, plain;  /* plain: symbols have the process's addresses (perf-PID.map) */
	struct symbol_table table;
	struct line_reader *lines;
	struct unwind_tables *unwind;
	struct inline_reader *inlines;
	bool lines_tried, unwind_tried, inlines_tried;
	char *file, *debug; /* paths of the file and its debug file; NULL: not found */
	const char **shown; /* demangled names by index, in the arena; NULL: not yet demangled */
};

/* An entry of a cache of recent lookups in files. */
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

/* Sets *id to these `n` bytes; does nothing if no build id has so many. */
void build_id_take(struct build_id *id, const uint8_t *bytes, size_t n);
/* Does the file have this build id? Also true when *id is not known. */
bool build_id_is_of(const struct build_id *id, int fd);
/* ~/.debug/.build-id/ab/cdef.../WHAT, the path of perf record's copy. False: there is no such path.
 */
bool perf_kept_path(const struct build_id *id, const char *what, struct buf *out);
void objects_release(struct objects *objects);
/* Finds or adds an object. `jit`: the process whose JIT-compiled code it is (perf-PID.map), else 0.
 */
struct object *objects_get(struct objects *objects, const char *name, const struct build_id *id,
			   int64_t jit);
/* The symbol at file offset `at`; loads the object if needed. Borrowed until the next call. */
const struct symbol *object_find(struct objects *objects, struct object *object, uint64_t at,
				 unsigned want);
/* NULL: there is no such file. */
const struct unwind_tables *object_unwind_tables(struct objects *objects, struct object *object);
/* Reads 8 bytes of the file, little-endian. False: the file has none there. */
bool object_read(struct objects *objects, struct object *object, uint64_t file_offset,
		 uint64_t *out);
/* As inline_reader_find(), for a symbol that object_find() returned. */
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
	uint64_t old; /* 1: mapped by the program before exec; 64 bits, so that there is no padding
		       */
};

struct spaces;
struct spaces *spaces_new(void);
void spaces_free(struct spaces *spaces);
/* The next four record changes of a process; to be called by rising time. */
void spaces_map(struct spaces *spaces, nstime t, int64_t pid, const struct mapped_range *range);
void spaces_unmap(struct spaces *spaces, nstime t, int64_t pid, uint64_t start, uint64_t end);
void spaces_fork(struct spaces *spaces, nstime t, int64_t pid, int64_t parent);
/* A mapping stays until a new one covers it, or until the next exec. */
void spaces_exec(struct spaces *spaces, nstime t, int64_t pid);
/* What is mapped at the address at t, after all changes of time t; borrowed until the next call. */
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

/* Writes up to `room` addresses of frames, the innermost first, and returns how many. Of callers it
 * is the address of the call instruction, not of the one behind it. */
size_t unwind(struct objects *objects, struct spaces *spaces, nstime t, int64_t pid,
	      const struct user_stack *stack, uint64_t *out, size_t room);

/* symbols_kernel.c: the kernel's own ---------------------------------------------------------- */

struct kernel; /* of one part */
struct kernel *kernel_new(const struct part *part, struct objects *objects);
/* Sets the boot ID of the recording (borrowed): kallsyms of another boot is then not used. */
void kernel_tell_boot(struct kernel *kernel, const uint8_t boot[16]);
void kernel_free(struct kernel *kernel);
void kernel_tell(struct kernel *kernel, const struct map_event *event);
bool kernel_find(struct kernel *kernel, nstime t, uint64_t address, struct symbol *out);

/* symbols_texts.c: kernel functions in texts -------------------------------------------------- */

struct text_names; /* of one part */
/* Sets the resolver of the part's texts, for any thread. NULL: the reader needs none. */
struct text_names *text_names_new(struct part *part, const char *cache);
void text_names_free(struct text_names *names); /* NULL is fine */

/* symbols.c: what readers tell, by part -------------------------------------------------------- */

/* Of one part: its processes and its kernel. */
struct part_symbols {
	struct spaces *spaces;
	struct kernel *kernel;
	struct objects *objects; /* borrowed */
	int64_t jit_pid;         /* the process that mapped anonymous memory last... */
	struct object *jit;      /* ...and the object of its perf-PID.map; NULL: none yet */
};

/* Slots of the members that every sample's lookup reads, by class. */
struct class_places {
	bool made, has_ip, has_pid, has_tid, has_chain;
	bool alone;            /* symbols_has_address() */
	bool has_callstack[2]; /* LTTng's callstack_kernel, callstack_user */
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
	struct part_symbols *parts; /* NULL until the first lookup */
	struct symbol other;        /* result of the last lookup, if it is in no file */
	struct frame *frames;
	size_t frames_capacity;
	struct text_names **texts; /* per part; NULL: texts name no functions */
	struct arena *variables;   /* of the frame that was asked for last; NULL: none yet */
	char *program;             /* of parts without maps; NULL: none */
	uint64_t program_base;
	bool has_loaded; /* see symbols_end_loaded() */
	bool told_mark;  /* an unknown mark in a call chain was reported */
};

/* The array of all parts' symbols, which the first call gathers. */
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
