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

static void read_loads(struct unwind_tables *tables)
{
	GElf_Phdr head;

	for (int at = 0; elf_next_load(tables->elf, &at, &head);)
		*mem_push(tables->loads, tables->nloads, tables->capacity) = (struct unwind_load){
			head.p_offset, head.p_filesz, head.p_vaddr, (head.p_flags & PF_W) != 0};
}

struct unwind_tables *unwind_tables_new(const char *path)
{
	struct unwind_tables *tables = mem_new(sizeof *tables);
	GElf_Shdr section;
	struct stat st;

	tables->fd = symbols_open_file(path, &st);
	tables->elf = elf_of_file(tables->fd);
	if (!tables->elf) {
		unwind_tables_free(tables);
		return NULL;
	}
	tables->image = (const uint8_t *)elf_rawfile(tables->elf, &tables->size);
	read_loads(tables);
	if (elf_section(tables->elf, ".eh_frame_hdr", 0, &section)) {
		tables->header = section.sh_addr;
		tables->cfi = dwarf_getcfi_elf(tables->elf);
	}
	return tables;
}

void unwind_tables_free(struct unwind_tables *tables)
{
	if (!tables)
		return;
	dwarf_cfi_end(tables->cfi);
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
