/*
 * symbols.h - which function is at an address? Address spaces over time, ELF and DWARF files
 *
 * The first lookup reads all changes of address spaces from the parts' readers. Kernel addresses
 * are looked up in the trace's own kernel symbols, then in kallsyms of this machine if the trace
 * was recorded on it; user addresses in the file that was mapped there, which is found by build id
 * first. Symbol tables are cached in files, by build id, for later runs.
 */
#ifndef ENGINE_SYMBOLS_SYMBOLS_H
#define ENGINE_SYMBOLS_SYMBOLS_H

#include "engine/trace.h"

struct fields;
struct symbols;

struct symbol {
	const char *function; /* demangled; NULL: not known */
	const char *object; /* mapped file or "[kernel.kallsyms]"; NULL: nothing is mapped there */
	uint64_t offset;    /* of the address in the function, bytes */
	uint64_t file_offset; /* of the address in the object; of the kernel: the address itself */
	bool is_inlined;  /* into the function of the next frame, whose address and offset it has */
	const char *file; /* source file by DWARF, with SYMBOLS_LINES; NULL: not known */
	uint32_t line;
};

enum symbols_want { SYMBOLS_LINES = 1 << 0 /* source lines too: slow */ };

/* `cache`: folder for symbol tables, NULL none. To be freed by the caller before the trace. */
struct symbols *symbols_new(const struct trace *trace, const char *cache);
/* The same; the cache is the folder `symbols` beside the index `file`; NULL: none. */
struct symbols *symbols_new_beside(const struct trace *trace, const char *file);
void symbols_free(struct symbols *symbols); /* NULL is fine */
/*
 * For parts whose reader has no maps: assumes that the ELF file is mapped, `base` bytes above the
 * addresses that it was linked for, in process SYMBOLS_PROGRAM, and in all others wherever no other
 * file is. To be called before the first lookup. False: the file cannot be read.
 */
enum { SYMBOLS_PROGRAM = 0 };
MUST_CHECK bool symbols_add_program(struct symbols *symbols, const char *file, uint64_t base,
				    struct error *err);
/*
 * For parts whose reader has no maps: process `pid` loaded the file at `t`, its first byte at
 * `base`. To be called by rising time for each process. Ignored if the file cannot be read or has
 * another build id. If symbols_add_program() added a file of the same name, that one is read.
 */
struct loaded_file {
	nstime t; /* NSTIME_MIN: since the start */
	int64_t pid;
	uint64_t base;
	const char *path;
	const uint8_t *build_id;
	size_t nbuild_id; /* 0: not known */
};
void symbols_tell_loaded(struct symbols *symbols, uint32_t part, const struct loaded_file *loaded);
/* To be called after the last one; symbols_has_loaded() is true from then on. */
void symbols_end_loaded(struct symbols *symbols);
bool symbols_has_loaded(const struct symbols *symbols);
/*
 * Until symbols_free(), lets the texts of events (struct reader_text) name kernel functions that
 * the trace has no symbols of. To be called before the first text is made; symbols are only read
 * when a text has an address.
 */
void symbols_name_texts(struct symbols *symbols);

/*
 * Finds the symbol at `address` at time `t`: in process `pid`, or in the part's kernel if `kernel`.
 * Texts live until symbols_free(). False: nothing is known. Not for use by two threads at once.
 */
bool symbols_find(struct symbols *symbols, uint32_t part, nstime t, int64_t pid, bool kernel,
		  uint64_t address, unsigned want, struct symbol *out);
/* The same for a user-space address; searches the process in all parts. */
bool symbols_find_process(struct symbols *symbols, nstime t, int64_t pid, uint64_t address,
			  struct symbol *out);

/*
 * A frame of a call chain, the innermost first. Values of the chain that mark the address space of
 * the values behind them become no frames. User addresses that perf recorded later, under a cookie,
 * are appended. If registers and a copy of the stack were recorded, the frames unwound from them
 * follow those of the kernel.
 */
struct frame {
	uint64_t address;
	bool kernel;
	struct symbol symbol; /* all NULL: not known */
	bool nameless;        /* no maps are known: the frame has nothing but its address */
};

/* The member `callchain` of the class' event context; NULL: its events have no chain. */
const struct field_class *symbols_chain(const struct event_class *class);
/* Do events of the class have a call chain, or LTTng's contexts callstack_kernel, callstack_user?
 */
bool symbols_has_frames(const struct event_class *class);
/* Are its events samples of a counter, with a period as weight? False for tracepoints. */
bool symbols_is_counter(const struct event_class *class);
/*
 * Which class to use by default when several have frames: one of the least order. Classes of one
 * name have the same order. Counters are ordered as the trace describes them; all other classes
 * share the order behind them, and of these the one is used whose event comes first.
 */
uint32_t symbols_sample_order(const struct trace *trace, const struct event_class *class);
/* Can class->address be looked up in the file given to symbols_add_program()? */
bool symbols_names_place(const struct symbols *symbols, const struct event_class *class);
/* Do samples of the class have a member `ip` but no call chain? False for tracepoints. */
bool symbols_has_address(const struct event_class *class);
/* The symbol at the address of a sample (member `ip` of its context, or class->address); borrowed
 * until the next lookup. */
const struct symbol *symbols_address(struct symbols *symbols, nstime t, const struct fields *fields,
				     unsigned want, uint64_t *address);
/*
 * The frames of an event at `t`; returns how many, 0: it has no chain. *out is borrowed until the
 * next call. A sample of a class with symbols_has_address() has one frame.
 */
size_t symbols_frames(struct symbols *symbols, nstime t, const struct fields *fields, unsigned want,
		      const struct frame **out);

/*
 * A variable of a stopped program, from the registers and memory that GDB's tracepoint collected:
 * members of a trace frame's stream event context, and `memory` in its payload.
 */
enum variable_kind {
	VARIABLE_PARAMETER,
	VARIABLE_LOCAL, /* of the block that the program stopped in, or of one around it */
	VARIABLE_OF_FILE
};
struct variable {
	enum variable_kind kind;
	const char *name;  /* "*name": what the variable before it points to */
	const char *value; /* as text; "<not collected>" stands where bytes are missing */
};

/*
 * The variables at class->address, by the program's debug information; returns how many, 0: nothing
 * is known. *out is borrowed until the next call. Not for use by two threads at once.
 */
size_t symbols_variables(struct symbols *symbols, nstime t, const struct fields *fields,
			 const struct variable **out);

#endif
