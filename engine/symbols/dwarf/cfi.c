/*
 * cfi.c - a file's tables of how its functions restore their caller's registers
 *
 * .eh_frame, found by .eh_frame_hdr, is mapped with the code, and libdw reads it. Addresses in it
 * are the file's own (virtual) ones.
 */
#include "engine/symbols/dwarf/debug.h"

#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/symbols/tables/tables.h"

#include <elfutils/libdw.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool find_section(Elf *elf, const char *name, uint64_t *address)
{
	Elf_Scn *at = NULL;
	GElf_Shdr head;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((at = elf_nextscn(elf, at))) {
		const char *its_name =
			gelf_getshdr(at, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;
		if (!its_name || strcmp(its_name, name) != 0)
			continue;
		*address = head.sh_addr;
		return true;
	}
	return false;
}

static void read_loads(struct unwind_tables *tables)
{
	GElf_Phdr head;
	size_t n = 0;

	if (elf_getphdrnum(tables->elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && gelf_getphdr(tables->elf, (int)i, &head); i++) {
		if (head.p_type != PT_LOAD)
			continue;
		*mem_push(tables->loads, tables->nloads, tables->capacity) = (struct unwind_load){
			head.p_offset, head.p_filesz, head.p_vaddr, (head.p_flags & PF_W) != 0};
	}
}

struct unwind_tables *unwind_tables_new(const char *path)
{
	struct unwind_tables *tables = mem_new(sizeof *tables);
	struct stat st;

	tables->fd = symbols_open_file(path, &st);
	if (tables->fd >= 0 && elf_version(EV_CURRENT) != EV_NONE)
		tables->elf = elf_begin(tables->fd, ELF_C_READ_MMAP, NULL);
	if (!tables->elf || elf_kind(tables->elf) != ELF_K_ELF) {
		unwind_tables_free(tables);
		return NULL;
	}
	tables->image = (const uint8_t *)elf_rawfile(tables->elf, &tables->size);
	read_loads(tables);
	if (find_section(tables->elf, ".eh_frame_hdr", &tables->header))
		tables->cfi = dwarf_getcfi_elf(tables->elf);
	return tables;
}

void unwind_tables_free(struct unwind_tables *tables)
{
	if (!tables)
		return;
	if (tables->cfi)
		dwarf_cfi_end(tables->cfi);
	if (tables->elf)
		elf_end(tables->elf);
	if (tables->fd >= 0)
		close(tables->fd);
	mem_free(tables->loads);
	mem_free(tables);
}

bool unwind_address(const struct unwind_tables *tables, uint64_t file_offset, uint64_t *out)
{
	for (size_t i = 0; i < tables->nloads; i++) {
		const struct unwind_load *load = &tables->loads[i];
		if (file_offset < load->offset || file_offset - load->offset >= load->size)
			continue;
		*out = file_offset - load->offset + load->address;
		return true;
	}
	return false;
}

bool unwind_word(const struct unwind_tables *tables, uint64_t file_offset, uint64_t *out)
{
	if (!tables->image || tables->size < 8 || file_offset > tables->size - 8)
		return false;
	*out = load_le(tables->image + file_offset, 8);
	return true;
}

const uint8_t *unwind_constant(const struct unwind_tables *tables, uint64_t address, size_t *size)
{
	for (size_t i = 0; tables->image && i < tables->nloads; i++) {
		const struct unwind_load *load = &tables->loads[i];
		uint64_t into = address - load->address;
		if (load->is_writable || address < load->address || into >= load->size ||
		    load->offset > tables->size || into >= tables->size - load->offset)
			continue;
		uint64_t left = load->size - into, there = tables->size - load->offset - into;
		*size = (size_t)(left < there ? left : there);
		return tables->image + load->offset + into;
	}
	return NULL;
}
