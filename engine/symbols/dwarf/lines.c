/*
 * lines.c - source lines of a file's addresses, by its DWARF
 *
 * libdwfl loads the file at an address of its own choice and finds the line table of the unit that
 * has the address. The debug file is the one that the symbols were read from: no other file is
 * searched for, and nothing is downloaded.
 */
#include "engine/symbols/dwarf/debug.h"
#include "engine/symbols/tables/tables.h"

#include "engine/base/mem.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

struct line_reader {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwfl_Callbacks callbacks;
	char *debug;
};

static int find_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
		    char **file, Elf **elf)
{
	(void)module;
	(void)user;
	(void)name;
	(void)base;
	(void)file;
	(void)elf;
	return -1; /* it was reported with its file */
}

static int find_debug(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
		      const char *file, const char *link, GElf_Word crc, char **out)
{
	struct line_reader *reader = *user;

	(void)module;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	if (!reader || !reader->debug)
		return -1;
	*out = NULL;
	return open(reader->debug, O_RDONLY | O_CLOEXEC);
}

struct line_reader *line_reader_new(const char *path, const char *debug)
{
	struct line_reader *reader = mem_new(sizeof *reader);
	void **user = NULL;

	reader->callbacks = (Dwfl_Callbacks){.find_elf = find_elf,
					     .find_debuginfo = find_debug,
					     .section_address = dwfl_offline_section_address};
	reader->debug = debug ? mem_strdup(debug) : NULL;
	reader->dwfl = dwfl_begin(&reader->callbacks);
	if (reader->dwfl) {
		dwfl_report_begin(reader->dwfl);
		reader->module = dwfl_report_offline(reader->dwfl, path, path, -1);
		dwfl_report_end(reader->dwfl, NULL, NULL);
	}
	if (!reader->module) {
		line_reader_free(reader);
		return NULL;
	}
	dwfl_module_info(reader->module, &user, NULL, NULL, NULL, NULL, NULL, NULL);
	*user = reader;
	return reader;
}

void line_reader_free(struct line_reader *reader)
{
	if (!reader)
		return;
	dwfl_end(reader->dwfl);
	mem_free(reader->debug);
	mem_free(reader);
}

/* Converts a file offset to the address in the module, as loaded by libdwfl. */
static bool placed(struct line_reader *reader, uint64_t file_offset, Dwarf_Addr *out)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(reader->module, &bias);
	GElf_Phdr head;

	for (int at = 0; elf && elf_next_load(elf, &at, &head);) {
		if (file_offset < head.p_offset || file_offset - head.p_offset >= head.p_filesz)
			continue;
		*out = file_offset - head.p_offset + head.p_vaddr + bias;
		return true;
	}
	return false;
}

bool line_reader_find(struct line_reader *reader, uint64_t file_offset, const char **file,
		      uint32_t *line)
{
	Dwarf_Addr address;
	Dwfl_Line *at;
	int number = 0;

	if (!placed(reader, file_offset, &address))
		return false;
	at = dwfl_module_getsrc(reader->module, address);
	if (!at)
		return false;
	*file = dwfl_lineinfo(at, NULL, &number, NULL, NULL, NULL);
	*line = number > 0 ? (uint32_t)number : 0;
	return *file != NULL;
}

Dwfl_Module *line_reader_module(struct line_reader *reader)
{
	return reader->module;
}
