/*
 * fuzz_remote.c - reads any bytes as a tar archive, a manifest, or a list of S3
 *
 * The first byte chooses. Promises: a listed file is within the archive, and its path stays in the
 * folder.
 */
#include "engine/base/mem.h"
#include "remote/manifest.h"
#include "remote/s3.h"
#include "remote/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
	const uint8_t *data;
	size_t size;
};

static void require(bool promise, const char *what)
{
	if (promise)
		return;
	fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

static bool read_bytes(void *arg, uint64_t offset, void *to, size_t size, struct error *err)
{
	const struct bytes *bytes = arg;

	(void)err;
	require(offset <= bytes->size && size <= bytes->size - offset, "it reads what is there");
	memcpy(to, bytes->data + offset, size);
	return true;
}

static bool stays_inside(const char *path)
{
	size_t depth = 0;

	if (!*path || *path == '/')
		return false;
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (!strncmp(at, "../", 3) || !strcmp(at, ".."))
			return false;
		depth++;
	}
	return depth > 0;
}

static void archive(const struct bytes *bytes)
{
	const struct tar_bytes tar_bytes = {read_bytes, (void *)(uintptr_t)bytes, bytes->size, "t"};
	struct error err;
	struct manifest tar;

	if (bytes->size >= TAR_BLOCK)
		(void)tar_begins(bytes->data);
	if (!tar_list(&tar_bytes, &tar, &err))
		return;
	for (size_t i = 0; i < tar.count; i++) {
		require(tar.files[i].at <= bytes->size &&
				tar.files[i].size <= bytes->size - tar.files[i].at,
			"a file lies in the archive");
		require(stays_inside(tar.files[i].path), "its path stays in the folder");
	}
	listing_release(&tar);
}

static void manifest(const struct bytes *bytes)
{
	struct manifest listing;
	struct buf text = {0};
	struct error err;

	buf_add(&text, bytes->data, bytes->size);
	if (manifest_read("m", &text, &listing, &err))
		for (size_t i = 0; i < listing.count; i++)
			require(stays_inside(listing.files[i].path), "a path stays in the folder");
	listing_release(&listing);
	buf_release(&text);
}

static void page(const struct bytes *bytes)
{
	struct manifest listing = {0};
	struct buf text = {0}, more = {0};
	struct error err = {0};

	buf_add(&text, bytes->data, bytes->size);
	bool whole = s3_read_page("l", "p/", &text, &listing, &more, &err);
	require(whole || err.kind != ERR_NONE, "an error is told");
	for (size_t i = 0; i < listing.count; i++)
		require(stays_inside(listing.files[i].path), "a path stays in the folder");
	listing_release(&listing);
	buf_release(&text);
	buf_release(&more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	const struct bytes bytes = {data + 1, size - 1};
	(*data & 1 ? archive : *data & 2 ? page : manifest)(&bytes);
	return 0;
}
