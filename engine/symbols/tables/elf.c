/*
 * elf.c - the functions of an ELF file, by file offset
 *
 * Processes map parts of files, so an address is converted to an offset in the file. Symbols have
 * virtual addresses, which the program headers of the mapped file convert to offsets. A debug file
 * has symbols but no code; its own program headers are only used if the mapped file is missing.
 *
 * Which symbols are taken is what perf takes: functions and objects that are defined, untyped ones
 * that are seen from outside and lie in a section of text or data; and a name for each entry of the
 * procedure linkage table, by the order of its relocations.
 */
#include "engine/symbols/tables/tables.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Elf *elf_of_file(int fd)
{
	if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return NULL;
	}
	return elf;
}

static bool note_of(Elf *elf, struct build_id *out)
{
	const void *bytes = NULL;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &bytes);

	*out = (struct build_id){0};
	if (n <= 0 || !bytes)
		return false;
	out->n = n > BUILD_ID_MAX ? BUILD_ID_MAX : (size_t)n;
	memcpy(out->bytes, bytes, out->n);
	return true;
}

bool elf_build_id(int fd, struct build_id *out)
{
	Elf *elf = elf_of_file(fd);

	*out = (struct build_id){0};
	bool found = elf && note_of(elf, out);
	elf_end(elf);
	return found;
}

char *elf_debug_link(int fd)
{
	Elf *elf = elf_of_file(fd);
	GElf_Word crc;
	const char *link = elf ? dwelf_elf_gnu_debuglink(elf, &crc) : NULL;
	char *copy = link && *link && !strchr(link, '/') ? mem_strdup(link) : NULL;

	elf_end(elf);
	return copy;
}

Elf_Scn *elf_section(Elf *elf, const char *name, GElf_Word type, GElf_Shdr *out)
{
	Elf_Scn *at = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((at = elf_nextscn(elf, at))) {
		const char *its_name;
		if (!gelf_getshdr(at, out) || (type && out->sh_type != type))
			continue;
		its_name = name ? elf_strptr(elf, names, out->sh_name) : NULL;
		if (!name || (its_name && !strcmp(its_name, name)))
			return at;
	}
	return NULL;
}

bool elf_has_symtab(int fd)
{
	Elf *elf = elf_of_file(fd);
	GElf_Shdr head;
	bool has = elf && elf_section(elf, ".symtab", SHT_SYMTAB, &head);

	elf_end(elf);
	return has;
}

/* Addresses to offsets ------------------------------------------------------------------------ */

struct load {
	uint64_t vaddr, size, offset;
};

struct loads {
	struct load *items;
	size_t count, capacity;
};

bool elf_next_load(Elf *elf, int *at, GElf_Phdr *out)
{
	while (gelf_getphdr(elf, (*at)++, out))
		if (out->p_type == PT_LOAD)
			return true;
	return false;
}

static void loads_read(Elf *elf, struct loads *loads)
{
	GElf_Phdr head;

	for (int at = 0; elf_next_load(elf, &at, &head);)
		*mem_push(loads->items, loads->count, loads->capacity) =
			(struct load){head.p_vaddr, head.p_memsz, head.p_offset};
}

static bool offset_of(const struct loads *loads, uint64_t vaddr, uint64_t *out)
{
	for (size_t i = 0; i < loads->count; i++) {
		const struct load *load = &loads->items[i];
		if (vaddr < load->vaddr || vaddr - load->vaddr >= load->size)
			continue;
		*out = vaddr - load->vaddr + load->offset;
		return true;
	}
	return false;
}

/* Symbols ------------------------------------------------------------------------------------- */

struct elf_reader {
	Elf *elf;
	const struct loads *loads;
	struct raw_symbols *out;
	size_t section_names;
	GElf_Half machine;
};

static bool elf_is_named(const GElf_Sym *symbol)
{
	return symbol->st_name != 0 && symbol->st_shndx != SHN_UNDEF;
}

static bool is_defined(const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	return elf_is_named(symbol) &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT);
}

static bool is_label(const GElf_Sym *symbol)
{
	unsigned seen = GELF_ST_VISIBILITY(symbol->st_other);

	return elf_is_named(symbol) && GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE &&
	       symbol->st_shndx != SHN_ABS && seen != STV_HIDDEN && seen != STV_INTERNAL;
}

/* Marks where code and data change, on ARM and RISC-V: no functions. */
static bool is_mapping_mark(const struct elf_reader *in, const char *name)
{
	return name[0] == '$' &&
	       (in->machine == EM_ARM || in->machine == EM_AARCH64 || in->machine == EM_RISCV);
}

static void take_symbol(struct elf_reader *in, const GElf_Sym *symbol, GElf_Word strings)
{
	Elf_Scn *home = elf_getscn(in->elf, symbol->st_shndx);
	const char *name = elf_strptr(in->elf, strings, symbol->st_name);
	uint64_t vaddr = symbol->st_value, start;
	GElf_Shdr head;

	if (!home || !name || !*name || !gelf_getshdr(home, &head) || is_mapping_mark(in, name))
		return;
	if (is_label(symbol)) {
		const char *where = elf_strptr(in->elf, in->section_names, head.sh_name);
		if (!where || (!strstr(where, "text") && !strstr(where, "data")))
			return;
	}
	if (in->machine == EM_ARM && GELF_ST_TYPE(symbol->st_info) == STT_FUNC)
		vaddr &= ~UINT64_C(1); /* Thumb */
	if (!offset_of(in->loads, vaddr, &start))
		start = vaddr - head.sh_addr + head.sh_offset;
	raw_symbols_add(in->out, start, symbol->st_size, name, strlen(name),
			GELF_ST_BIND(symbol->st_info) == STB_WEAK,
			GELF_ST_BIND(symbol->st_info) == STB_GLOBAL);
}

static void take_section(struct elf_reader *in, const char *name, GElf_Word type)
{
	GElf_Shdr head;
	Elf_Scn *at = elf_section(in->elf, name, type, &head);
	Elf_Data *data = at ? elf_getdata(at, NULL) : NULL;
	size_t n = data && head.sh_entsize ? data->d_size / head.sh_entsize : 0;
	GElf_Sym symbol;

	for (size_t i = 0; i < n && i < INT32_MAX && gelf_getsym(data, (int)i, &symbol); i++)
		if (is_defined(&symbol) || is_label(&symbol))
			take_symbol(in, &symbol, head.sh_link);
	if (n)
		raw_symbols_finish(in->out, false);
}

/* The procedure linkage table ----------------------------------------------------------------- */

struct plt {
	uint64_t offset, header, entry; /* in the file; bytes */
};

static bool plt_find(Elf *elf, GElf_Half machine, struct plt *out)
{
	GElf_Shdr head;

	if (elf_section(elf, ".plt.sec", SHT_PROGBITS, &head) && head.sh_entsize) {
		*out = (struct plt){head.sh_offset, 0, head.sh_entsize};
		return true;
	}
	if (!elf_section(elf, ".plt", SHT_PROGBITS, &head))
		return false;
	out->offset = head.sh_offset;
	out->header = out->entry = head.sh_entsize;
	if (machine == EM_ARM) {
		out->header = 20;
		out->entry = 12;
	} else if (machine == EM_AARCH64) {
		out->header = 32;
		out->entry = 16;
	}
	return out->entry != 0;
}

/* The number of the symbol that relocation i of the section is for. */
static bool relocated(Elf_Data *data, GElf_Word type, size_t i, size_t *symbol)
{
	GElf_Rela with;
	GElf_Rel without;

	if (type == SHT_RELA && gelf_getrela(data, (int)i, &with))
		*symbol = GELF_R_SYM(with.r_info);
	else if (type == SHT_REL && gelf_getrel(data, (int)i, &without))
		*symbol = GELF_R_SYM(without.r_info);
	else
		return false;
	return true;
}

static void take_plt(Elf *elf, GElf_Half machine, struct raw_symbols *out)
{
	GElf_Shdr head, dynamic;
	Elf_Scn *at = elf_section(elf, ".rela.plt", SHT_RELA, &head);
	Elf_Scn *symbols = elf_section(elf, ".dynsym", SHT_DYNSYM, &dynamic);
	struct buf name = {0};
	struct plt plt;
	GElf_Sym symbol;

	if (!at)
		at = elf_section(elf, ".rel.plt", SHT_REL, &head);
	Elf_Data *data = at ? elf_getdata(at, NULL) : NULL;
	Elf_Data *syms = symbols ? elf_getdata(symbols, NULL) : NULL;
	size_t n = data && head.sh_entsize ? data->d_size / head.sh_entsize : 0, number;
	if (!n || !syms || !plt_find(elf, machine, &plt))
		return;
	for (size_t i = 0; i < n && relocated(data, head.sh_type, i, &number); i++) {
		const char *its_name = NULL;
		if (number < INT32_MAX && gelf_getsym(syms, (int)number, &symbol))
			its_name = elf_strptr(elf, dynamic.sh_link, symbol.st_name);
		buf_clear(&name);
		buf_printf(&name, "%s@plt", its_name ? its_name : "");
		raw_symbols_add(out, plt.offset + plt.header + i * plt.entry, plt.entry, name.data,
				name.len, false, true);
	}
	buf_release(&name);
	raw_symbols_finish(out, false);
}

static void read_symbols(Elf *elf, Elf *runtime, struct raw_symbols *out)
{
	struct elf_reader in = {.elf = elf, .out = out};
	struct loads loads = {0};
	GElf_Ehdr head;

	if (!gelf_getehdr(elf, &head) || elf_getshdrstrndx(elf, &in.section_names) != 0)
		return;
	in.machine = head.e_machine;
	in.loads = &loads;
	loads_read(runtime ? runtime : elf, &loads);
	take_section(&in, ".symtab", SHT_SYMTAB);
	take_section(&in, ".dynsym", SHT_DYNSYM);
	if (runtime)
		take_plt(runtime, in.machine, out);
	mem_free(loads.items);
}

bool elf_symbols(int symbols, int runtime, struct raw_symbols *out)
{
	Elf *run = elf_of_file(runtime), *elf = symbols == runtime ? run : elf_of_file(symbols);

	if (elf || run)
		read_symbols(elf ? elf : run, run, out);
	if (elf != run)
		elf_end(elf);
	elf_end(run);
	return out->count != 0;
}

bool elf_symbols_memory(const void *image, size_t size, struct raw_symbols *out,
			struct build_id *id)
{
	char *copy = mem_new(size); /* libelf takes no const */
	Elf *elf;

	memcpy(copy, image, size);
	elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_memory(copy, size);
	*id = (struct build_id){0};
	if (elf) {
		note_of(elf, id);
		read_symbols(elf, elf, out);
		elf_end(elf);
	}
	mem_free(copy);
	return out->count != 0;
}

int symbols_open_file(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || (fstat(fd, st) == 0 && S_ISREG(st->st_mode)))
		return fd;
	close(fd);
	return -1;
}
