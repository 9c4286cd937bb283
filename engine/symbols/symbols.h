/*
 * symbols.h - which function is at an address? Address spaces in time, ELF and DWARF files
 *
 * What the parts' readers tell of maps is gathered once, when the first symbol is asked for.
 * Kernel addresses go by the trace's own kernel symbols, then by kallsyms of this machine when it
 * is the machine of the recording; user addresses by the file that was mapped there, found by
 * build id first. Symbol tables are cached as files of their own, by build id, across runs.
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
	bool is_inlined;      /* into the next frame's, at the same address; `offset` is as there */
	const char *file;     /* source file and line by DWARF, when asked for; NULL: not known */
	uint32_t line;
};

enum symbols_want { SYMBOLS_LINES = 1 << 0 /* source lines too: slow */ };

/* `cache`: folder for symbol tables, NULL none. Owned by the caller, ended before the trace. */
struct symbols *symbols_new(const struct trace *trace, const char *cache);
/* The cache is the folder `symbols` beside a file, an index; NULL: none. */
struct symbols *symbols_new_beside(const struct trace *trace, const char *file);
void symbols_free(struct symbols *symbols); /* NULL is fine */
/*
 * Of parts that do not tell what was mapped: all of `file`, an ELF program or object, is `base`
 * bytes above the addresses that it was linked for, in process SYMBOLS_PROGRAM and in all others
 * where nothing else is known to be. Before the first question. False: it cannot be read.
 */
enum { SYMBOLS_PROGRAM = 0 };
MUST_CHECK bool symbols_add_program(struct symbols *symbols, const char *file, uint64_t base,
				    struct error *err);
/*
 * Of parts that do not tell what was mapped: process `pid` has loaded the file at `t`, its first
 * byte at `base`; of one process in order of time. Where the file cannot be read, or has another
 * build id, nothing is known of it. A program of that name that was added is taken instead.
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
/* After the last one; symbols_has_loaded() says so from then on. */
void symbols_end_loaded(struct symbols *symbols);
bool symbols_has_loaded(const struct symbols *symbols);
/*
 * Until symbols_free(), the texts of events (struct reader_text) name kernel functions that the
 * trace does not bring along. Before the first text is asked for; costs nothing until one has an
 * address.
 */
void symbols_name_texts(struct symbols *symbols);

/*
 * The symbol at `address` of process `pid` at `t`, of a part's kernel when `kernel`. Texts live
 * until symbols_free(). False: nothing is known of it. Not for use by two threads at once.
 */
bool symbols_find(struct symbols *symbols, uint32_t part, nstime t, int64_t pid, bool kernel,
		  uint64_t address, unsigned want, struct symbol *out);
/* The same of a process that any part tells of, for an address of user space. */
bool symbols_find_process(struct symbols *symbols, nstime t, int64_t pid, uint64_t address,
			  struct symbol *out);

/*
 * A frame of a call chain, the innermost first. Values that mark whose addresses follow (the
 * kernel's, a process') are no frames. What was recorded later, under a cookie, is put behind.
 * Where registers and a copy of the stack were recorded, the frames that they tell of follow the
 * kernel's.
 */
struct frame {
	uint64_t address;
	bool kernel;
	struct symbol symbol; /* all NULL: not known */
	bool nameless;        /* nothing tells what was mapped: its address alone tells the frame */
};

/* The member `callchain` of the class' event context; NULL: its events have no chain. */
const struct field_class *symbols_chain(const struct event_class *class);
/* Do events of the class have frames: of that chain, or of LTTng's callstack_kernel and
 * callstack_user? */
bool symbols_has_frames(const struct event_class *class);
/* Are its events samples of a counter, weighed by their period? No tracepoint's are. */
bool symbols_is_counter(const struct event_class *class);
/*
 * Which events are counted, where several have frames and none was asked for: those of the least
 * order, which is the same for all classes of a name. Counters have the order in which the trace
 * describes them, all other events one behind these: of them those count of which the first comes.
 */
uint32_t symbols_sample_order(const struct trace *trace, const struct event_class *class);
/* Has class->address a name, by symbols_add_program()? */
bool symbols_names_place(const struct symbols *symbols, const struct event_class *class);
/* Is the address of its samples all that the class tells of where they were? No tracepoint's is. */
bool symbols_has_address(const struct event_class *class);
/* What is at the address of a sample, member `ip` of its context, or class->address; borrowed until the next question.
 */
const struct symbol *symbols_address(struct symbols *symbols, nstime t, const struct fields *fields,
				     unsigned want, uint64_t *address);
/*
 * The frames of an event at `t`; *out is borrowed until the next call. 0: it has no chain. A sample
 * of a class with symbols_has_address() is one frame.
 */
size_t symbols_frames(struct symbols *symbols, nstime t, const struct fields *fields, unsigned want,
		      const struct frame **out);

/*
 * A variable of a stopped program, as far as it was collected: a trace frame of GDB has registers
 * in its stream event context, and `memory` in its payload.
 */
enum variable_kind {
	VARIABLE_PARAMETER,
	VARIABLE_LOCAL, /* of the block that the program stopped in, or of one around it */
	VARIABLE_OF_FILE
};
struct variable {
	enum variable_kind kind;
	const char *name;  /* "*name": what the variable before it is to */
	const char *value; /* as text; "<not collected>" stands where bytes are missing */
};

/*
 * The variables at class->address, by the debug information of the program; *out is borrowed until
 * the next call. 0: nothing is known. Not for use by two threads at once.
 */
size_t symbols_variables(struct symbols *symbols, nstime t, const struct fields *fields,
			 const struct variable **out);

#endif
