/* replay.c - runs a fuzzer's function on the files of the command line */
#include "engine/base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	uint8_t *bytes = mem_new(FILE_MAX);

	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		size_t count = file ? fread(bytes, 1, FILE_MAX, file) : 0;
		uint8_t *exact = mem_new(count); /* sanitizers find reads past its end */
		memcpy(exact, bytes, count);
		LLVMFuzzerTestOneInput(exact, count);
		mem_free(exact);
		if (file)
			fclose(file);
	}
	mem_free(bytes);
	printf("%d files\n", argc - 1);
	return 0;
}
