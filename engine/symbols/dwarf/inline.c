/*
 * inline.c - inlined functions at an address, by DWARF
 *
 * The innermost function at an address is the one with the shortest range of code that has it; the
 * function into which it was inlined is its ancestor in the tree of DIEs. This is how addr2line -i,
 * whose output perf shows, finds them. Names are the same, too: the linkage name if there is one;
 * in languages that have linkage names, the innermost function without one gets the symbol table's
 * name.
 */
#include "engine/symbols/dwarf/debug.h"
#include "engine/symbols/tables/tables.h"

#include "engine/base/mem.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

enum { ANSWERS = 1024, TREE_DEPTH = 256, NEST_MAX = 1024 };

struct address_range {
	uint64_t low, high;
	uint32_t function;
};

struct function {
	Dwarf_Off die;
	uint32_t caller; /* of an inlined one: number + 1, 0 none */
};

struct unit {
	Dwarf_Off die;
	struct unit *next;
	bool has_linkage_names;
	struct address_range *spans;
	size_t nspans, spans_capacity;
	struct function *functions;
	size_t nfunctions, functions_capacity;
};

struct inlined_names {
	uint64_t address;
	struct inlined_names *next;
	size_t n;
	const char **names;
};

struct inline_reader {
	struct arena *arena;
	int fd;
	Elf *elf;
	Dwarf *dwarf; /* NULL: there is none */
	struct unit *units;
	struct inlined_names *answers[ANSWERS];
};

struct inline_reader *inline_reader_new(const char *path, struct arena *arena)
{
	struct inline_reader *reader = mem_new(sizeof *reader);

	reader->arena = arena;
	reader->fd = open(path, O_RDONLY | O_CLOEXEC);
	reader->elf = elf_of_file(reader->fd);
	if (!reader->elf) {
		inline_reader_free(reader);
		return NULL;
	}
	reader->dwarf = dwarf_begin_elf(reader->elf, DWARF_C_READ, NULL);
	return reader;
}

void inline_reader_free(struct inline_reader *reader)
{
	if (!reader)
		return;
	for (struct unit *unit = reader->units; unit; unit = unit->next) {
		mem_free(unit->spans);
		mem_free(unit->functions);
	}
	dwarf_end(reader->dwarf);
	elf_end(reader->elf);
	if (reader->fd >= 0)
		close(reader->fd);
	mem_free(reader);
}

/* A unit's functions -------------------------------------------------------------------------- */

static uint32_t add_function(struct unit *unit, Dwarf_Die *die, uint32_t around)
{
	uint32_t number = (uint32_t)unit->nfunctions;
	Dwarf_Addr base = 0, low, high;
	ptrdiff_t at = 0;

	*mem_push(unit->functions, unit->nfunctions, unit->functions_capacity) = (struct function){
		dwarf_dieoffset(die), dwarf_tag(die) == DW_TAG_inlined_subroutine ? around : 0};
	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		*mem_push(unit->spans, unit->nspans, unit->spans_capacity) =
			(struct address_range){low, high, number};
	}
	return number + 1;
}

static void scan(struct unit *unit, Dwarf_Die *parent, uint32_t around, size_t depth)
{
	Dwarf_Die die;

	if (depth == TREE_DEPTH || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);
		bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_entry_point ||
				   tag == DW_TAG_inlined_subroutine;
		if (unit->nfunctions == UINT32_MAX - 1)
			return;
		scan(unit, &die, is_function ? add_function(unit, &die, around) : around,
		     depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* Is it a language whose functions have the same name in the symbol table as in the source? */
static bool inline_is_plain(int language)
{
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_UPC:
	case DW_LANG_Cobol74:
	case DW_LANG_Cobol85:
	case DW_LANG_Fortran77:
	case DW_LANG_Pascal83:
	case DW_LANG_PLI:
	case DW_LANG_Mips_Assembler:
		return true;
	default:
		return false;
	}
}

static struct unit *unit_get(struct inline_reader *reader, Dwarf_Die *die)
{
	struct unit *unit;

	for (unit = reader->units; unit; unit = unit->next)
		if (unit->die == dwarf_dieoffset(die))
			return unit;
	unit = arena_alloc(reader->arena, sizeof *unit);
	unit->die = dwarf_dieoffset(die);
	unit->has_linkage_names = !inline_is_plain(dwarf_srclang(die));
	unit->next = reader->units;
	reader->units = unit;
	scan(unit, die, 0, 0);
	return unit;
}

static bool unit_at(struct inline_reader *reader, uint64_t address, Dwarf_Die *out)
{
	Dwarf_Off at = 0, next;
	size_t head;

	if (!reader->dwarf)
		return false;
	if (dwarf_addrdie(reader->dwarf, address, out))
		return true;
	for (; dwarf_nextcu(reader->dwarf, at, &next, &head, NULL, NULL, NULL) == 0; at = next)
		if (dwarf_offdie(reader->dwarf, at + head, out) && dwarf_haspc(out, address) > 0)
			return true;
	return false;
}

/*
 * The function with the shortest code at the address; of equal ones the last, which is inside.
 * NULL: DWARF has none. *unit: of the function.
 */
static const struct function *innermost(struct inline_reader *reader, uint64_t address,
					struct unit **unit)
{
	const struct address_range *best = NULL;
	Dwarf_Die die;

	if (!unit_at(reader, address, &die))
		return NULL;
	*unit = unit_get(reader, &die);
	for (size_t i = 0; i < (*unit)->nspans; i++) {
		const struct address_range *span = &(*unit)->spans[i];
		if (address >= span->low && address < span->high &&
		    (!best || span->high - span->low <= best->high - best->low))
			best = span;
	}
	return best ? &(*unit)->functions[best->function] : NULL;
}

/* Names --------------------------------------------------------------------------------------- */

/* The function's name; *linkage: it is the name in the symbol table, too. */
static const char *function_name(Dwarf *dwarf, const struct unit *unit,
				 const struct function *function, bool *linkage)
{
	Dwarf_Attribute attribute;
	Dwarf_Die die;

	*linkage = true;
	if (!dwarf_offdie(dwarf, function->die, &die))
		return NULL;
	if (dwarf_attr_integrate(&die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(&die, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	*linkage = !unit->has_linkage_names;
	return dwarf_diename(&die);
}

struct nearest_symbol {
	const char *name;
	uint64_t start, size;
	unsigned type;
};

/* Which of two symbols at one place? As the linker's library decides. */
static bool is_nearer(const struct nearest_symbol *best, const struct nearest_symbol *other,
		      uint64_t address)
{
	if (!best->name || other->start != best->start)
		return !best->name || other->start > best->start;
	if (best->start + best->size <= address)
		return other->size > best->size;
	if (other->start + other->size <= address)
		return false;
	if ((best->type == STT_FUNC) != (other->type == STT_FUNC))
		return other->type == STT_FUNC;
	if ((best->type == STT_NOTYPE) != (other->type == STT_NOTYPE))
		return best->type == STT_NOTYPE;
	return other->size < best->size;
}

static bool covers(Elf *elf, const GElf_Sym *symbol, uint64_t address)
{
	Elf_Scn *home = elf_getscn(elf, symbol->st_shndx);
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	GElf_Shdr head;

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value <= address &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) && home &&
	       gelf_getshdr(home, &head) && address >= head.sh_addr &&
	       address - head.sh_addr < head.sh_size;
}

static const char *symbol_at(Elf *elf, uint64_t address)
{
	struct nearest_symbol best = {NULL, 0, 0, 0};
	GElf_Shdr head;
	GElf_Sym symbol;
	Elf_Scn *at = elf_section(elf, NULL, SHT_SYMTAB, &head);

	if (!at)
		at = elf_section(elf, NULL, SHT_DYNSYM, &head);
	Elf_Data *data = at ? elf_getdata(at, NULL) : NULL;
	size_t n = data && head.sh_entsize ? data->d_size / head.sh_entsize : 0;
	for (size_t i = 1; i < n && i < INT32_MAX && gelf_getsym(data, (int)i, &symbol); i++) {
		if (!covers(elf, &symbol, address))
			continue;
		struct nearest_symbol other = {elf_strptr(elf, head.sh_link, symbol.st_name),
					       symbol.st_value, symbol.st_size ? symbol.st_size : 1,
					       GELF_ST_TYPE(symbol.st_info)};
		if (other.name && is_nearer(&best, &other, address))
			best = other;
	}
	return best.name;
}

/* Asking -------------------------------------------------------------------------------------- */

static const char *inline_shown(struct inline_reader *reader, const char *name,
				const char *function)
{
	char *demangled = symbol_demangle(name);
	const char *text = demangled ? demangled : name, *result = NULL;

	if (strcmp(text, function) != 0)
		result = arena_strdup(reader->arena, text);
	mem_free(demangled);
	return result;
}

static void make_answer(struct inline_reader *reader, const char *function,
			struct inlined_names *answer)
{
	const struct function *chain[NEST_MAX], *at;
	struct unit *unit = NULL;
	size_t n = 0;
	bool linkage;

	at = innermost(reader, answer->address, &unit);
	for (; at && n < NEST_MAX; at = at->caller ? &unit->functions[at->caller - 1] : NULL)
		chain[n++] = at;
	answer->names = arena_array(reader->arena, n ? n : 1, sizeof *answer->names);
	for (size_t i = 0; i < (n ? n : 1); i++) {
		const char *name =
			n ? function_name(reader->dwarf, unit, chain[i], &linkage) : NULL;
		if (i == 0 && (!name || !linkage))
			name = symbol_at(reader->elf, answer->address);
		if (!name)
			return;
		answer->names[answer->n++] = inline_shown(reader, name, function);
	}
}

size_t inline_reader_find(struct inline_reader *reader, uint64_t address, const char *function,
			  const char *const **names)
{
	struct inlined_names **head = &reader->answers[address % ANSWERS], *answer;

	for (answer = *head; answer && answer->address != address; answer = answer->next)
		;
	if (!answer) {
		answer = arena_alloc(reader->arena, sizeof *answer);
		answer->address = address;
		answer->next = *head;
		*head = answer;
		make_answer(reader, function, answer);
	}
	*names = (const char *const *)answer->names;
	return answer->n;
}

bool inline_reader_function(struct inline_reader *reader, uint64_t address, Dwarf_Die *function,
			    Dwarf_Die *outermost)
{
	struct unit *unit;
	const struct function *at = innermost(reader, address, &unit);

	if (!at || !dwarf_offdie(reader->dwarf, at->die, function))
		return false;
	for (size_t n = 0; at->caller && n < NEST_MAX; n++)
		at = &unit->functions[at->caller - 1];
	return dwarf_offdie(reader->dwarf, at->die, outermost) != NULL;
}

Dwarf *inline_reader_dwarf(const struct inline_reader *reader)
{
	return reader->dwarf;
}
