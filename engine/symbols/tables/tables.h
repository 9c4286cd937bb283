/* tables.h - tables of a file's functions by address, and reading ELF files; for engine/symbols
 * alone */
#ifndef ENGINE_SYMBOLS_TABLES_TABLES_H
#define ENGINE_SYMBOLS_TABLES_TABLES_H

#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/source.h"

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

enum { BUILD_ID_MAX = 20 };

struct build_id {
	uint8_t bytes[BUILD_ID_MAX];
	size_t n; /* 0: not known */
};

bool build_id_equal(const struct build_id *a, const struct build_id *b);
char *build_id_text(const struct build_id *id, char text[2 * BUILD_ID_MAX + 1]); /* hex */

/* table.c: functions in order of address ------------------------------------------------------ */

/*
 * A table is one run of bytes, the same in memory and in a cache file (see table.c), so that a
 * cached one is mapped and searched in place.
 */
struct symbol_table {
	const uint8_t *image;
	size_t size;
	uint64_t count;
	const uint64_t *starts, *lens; /* rising; bytes of each function */
	const uint32_t *names;         /* offsets into text; mangled */
	const char *text;
	uint64_t ntext;

	uint8_t *own; /* the image is in `own` or in a block of `source` */
	struct source *source;
	struct block block;
};

/* A symbol while symbols are collected, in any order. */
struct raw_symbol {
	uint64_t start, len; /* len 0: up to the next one */
	uint64_t name;       /* offset into text */
	uint32_t order;      /* in which it was added: for a stable sort */
	bool weak, global;
};

struct raw_symbols {
	struct raw_symbol *items;
	size_t count, capacity;
	struct buf text; /* names, a zero behind each */
};

void raw_symbols_add(struct raw_symbols *raw, uint64_t start, uint64_t len, const char *name,
		     size_t nname, bool weak, bool global);
void raw_symbols_release(struct raw_symbols *raw);
/*
 * Sorts the symbols, sets missing lengths, and keeps one of several at the same address, as perf
 * does. May be called again after more were added. `kallsyms`: modules' names end in "[module]".
 */
void raw_symbols_finish(struct raw_symbols *raw, bool kallsyms);
/* Makes an image of finished symbols; `stamp` identifies the files that they come from. */
void symbol_table_make(const struct raw_symbols *raw, uint64_t stamp, struct symbol_table *out);
/* Verifies an image that may be damaged; false: it is no table, or has another stamp (0: any). */
bool symbol_table_check(const uint8_t *image, size_t size, uint64_t stamp,
			struct symbol_table *out);
void symbol_table_release(struct symbol_table *table);
/* The symbol that holds `address`: its index. False: none. */
bool symbol_table_find(const struct symbol_table *table, uint64_t address, uint64_t *index);
const char *symbol_table_name(const struct symbol_table *table, uint64_t index);

struct stat;
/* Opens a regular file; -1 for anything else, since a trace can contain any path. */
int symbols_open_file(const char *path, struct stat *st);

char *symbol_demangle(const char *name); /* NULL: it is not mangled. Freed by mem_free() */

/*
 * A cache of recent lookups: samples have the same addresses again and again, and a binary search
 * in a large table misses the processor's caches.
 */
struct symbol_memo {
	struct memo_entry {
		const struct symbol_table *table;
		uint64_t address, index; /* index UINT64_MAX: no symbol is there */
	} * entries;                     /* NULL until the first lookup */
};
/* As symbol_table_find(); the table lives as long as the memo. */
bool memo_find(struct symbol_memo *memo, const struct symbol_table *table, uint64_t address,
	       uint64_t *index);

/* cache.c: tables as files -------------------------------------------------------------------- */

bool symbol_cache_load(const char *folder, const char *name, uint64_t stamp,
		       struct symbol_table *out);
void symbol_cache_store(const char *folder, const char *name, const struct symbol_table *table);

/* elf.c: the symbols of an ELF file ----------------------------------------------------------- */

Elf *elf_of_file(int fd); /* NULL: it is none */
/* The first section of that type, or of that name when one is given. */
Elf_Scn *elf_section(Elf *elf, const char *name, GElf_Word type, GElf_Shdr *out);
/* The next loadable program header, from number *at on; moves *at behind it. */
bool elf_next_load(Elf *elf, int *at, GElf_Phdr *out);
/* The build id in the file's notes; false: it has none, or is no ELF file. */
bool elf_build_id(int fd, struct build_id *out);
/* .gnu_debuglink: a file name, which the caller frees with mem_free(); NULL: none. */
char *elf_debug_link(int fd);
bool elf_has_symtab(int fd);
/*
 * Adds the functions and data of the file `symbols` (a debug file, or the same as `runtime`) by
 * their offset in the file `runtime`, which was mapped and has the PLT. Descriptors; either may be
 * -1.
 */
bool elf_symbols(int symbols, int runtime, struct raw_symbols *out);
/* The same of an ELF image in memory. */
bool elf_symbols_memory(const void *image, size_t size, struct raw_symbols *out,
			struct build_id *id);

#endif
