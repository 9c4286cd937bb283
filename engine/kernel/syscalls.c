/* syscalls.c - labels for numbers of system calls, by the architecture of the recording */
#include "engine/kernel/tracing_internal.h"

#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS_MAX = 1024, MIPS_FIRST = 4000, MIPS_MAX = 7000 /* its three ABIs count from 4000 */ };

static uint32_t architecture(const char *machine)
{
	static const struct {
		const char *machine;
		uint32_t arch;
	} known[] = {
		{"x86_64", SCMP_ARCH_X86_64},   {"i386", SCMP_ARCH_X86},
		{"i486", SCMP_ARCH_X86},        {"i586", SCMP_ARCH_X86},
		{"i686", SCMP_ARCH_X86},        {"aarch64", SCMP_ARCH_AARCH64},
		{"arm64", SCMP_ARCH_AARCH64},   {"mips", SCMP_ARCH_MIPS},
		{"mips64", SCMP_ARCH_MIPS64},   {"ppc", SCMP_ARCH_PPC},
		{"ppc64", SCMP_ARCH_PPC64},     {"ppc64le", SCMP_ARCH_PPC64LE},
		{"s390", SCMP_ARCH_S390},       {"s390x", SCMP_ARCH_S390X},
		{"parisc", SCMP_ARCH_PARISC},   {"parisc64", SCMP_ARCH_PARISC64},
		{"riscv64", SCMP_ARCH_RISCV64},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(known[i].machine, machine))
			return known[i].arch;
	return strncmp(machine, "arm", 3) ? 0 : SCMP_ARCH_ARM; /* armv7l and its like */
}

static const struct enum_label *labels(struct arena *arena, uint32_t arch, uint32_t *count)
{
	/* a lookup searches the whole list of calls, so skip numbers that cannot exist */
	bool mips = arch == SCMP_ARCH_MIPS || arch == SCMP_ARCH_MIPS64;
	int first = mips ? MIPS_FIRST : 0, end = mips ? MIPS_MAX : CALLS_MAX;
	struct enum_label *out = arena_array(arena, (size_t)(end - first), sizeof *out);

	*count = 0;
	for (int number = first; number < end; number++) {
		char *name = seccomp_syscall_resolve_num_arch(arch, number);
		if (!name)
			continue;
		out[(*count)++] = (struct enum_label){arena_strdup(arena, name), (uint64_t)number,
						      (uint64_t)number};
		free(name);
	}
	return out;
}

void tracing_syscalls(struct tracing *tracing, const char *arch)
{
	const struct enum_label *names = NULL;
	uint32_t known = architecture(arch), count = 0;

	for (size_t i = 0; known && i < tracing->nformats; i++) {
		const struct tracing_format *format = tracing->formats[i];
		if (strcmp(format->system, "raw_syscalls") ||
		    (strcmp(format->name, "sys_enter") && strcmp(format->name, "sys_exit")))
			continue;
		const struct member *id = field_member(format->payload, "id");
		if (!id || id->class->kind != FIELD_INT)
			continue;
		if (!names)
			names = labels(tracing->arena, known, &count);
		id->class->labels = names;
		id->class->nlabels = count;
		id->class->labels_rise = true;
		id->class->is_enum = count > 0;
	}
}
