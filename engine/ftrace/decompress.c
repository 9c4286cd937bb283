/* decompress.c - zlib and zstd, each chunk by itself; sizes in the data are not trusted */
#include "engine/ftrace/ftrace_internal.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

static const char NO_CODEC[] = "compressed, but the file names no compression that is known here";

enum codec codec_named(const char *name)
{
	if (!*name || !strcmp(name, "none"))
		return CODEC_NONE;
	if (!strcmp(name, "zlib"))
		return CODEC_ZLIB;
	return !strcmp(name, "zstd") ? CODEC_ZSTD : CODEC_UNKNOWN;
}

static bool zlib_begin(const uint8_t *bytes, size_t count, uint8_t *out, size_t want, size_t *got,
		       struct error *err)
{
	z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)bytes,
		      .avail_in = (uInt)count,
		      .next_out = out,
		      .avail_out = (uInt)want};

	if (inflateInit(&z) != Z_OK)
		return error_set(err, ERR_FORMAT, "zlib cannot begin");
	int code = inflate(&z, Z_SYNC_FLUSH);
	*got = want - z.avail_out;
	bool good = code == Z_OK || code == Z_STREAM_END || (code == Z_BUF_ERROR && *got == want);
	if (!good)
		error_set(err, ERR_FORMAT, "zlib: %s", z.msg ? z.msg : "the data ends too soon");
	inflateEnd(&z);
	return good;
}

/*
 * Making a context costs as much time as decompressing a chunk, so each thread keeps one, unless a
 * frame made it large. It is freed when its thread ends.
 */
enum { CONTEXT_KEPT_MAX = 1 << 20 };
static pthread_key_t context_key;
static bool has_context_key;
static pthread_once_t context_once = PTHREAD_ONCE_INIT;

static void context_free(void *context)
{
	ZSTD_freeDCtx(context);
}

static void context_key_make(void)
{
	has_context_key = pthread_key_create(&context_key, context_free) == 0;
}

static ZSTD_DCtx *context_take(void)
{
	pthread_once(&context_once, context_key_make);
	ZSTD_DCtx *kept = has_context_key ? pthread_getspecific(context_key) : NULL;

	if (!kept)
		return ZSTD_createDCtx();
	pthread_setspecific(context_key, NULL);
	ZSTD_DCtx_reset(kept, ZSTD_reset_session_only);
	return kept;
}

static void context_give(ZSTD_DCtx *context)
{
	if (!context || !has_context_key || ZSTD_sizeof_DCtx(context) > CONTEXT_KEPT_MAX ||
	    pthread_setspecific(context_key, context) != 0)
		ZSTD_freeDCtx(context);
}

static bool zstd_begin(const uint8_t *bytes, size_t count, uint8_t *out, size_t want, size_t *got,
		       struct error *err)
{
	ZSTD_DCtx *context = context_take();
	ZSTD_inBuffer in = {bytes, count, 0};
	ZSTD_outBuffer to = {out, want, 0};
	size_t code = 1;

	while (context && code && !ZSTD_isError(code) && to.pos < want && in.pos < count)
		code = ZSTD_decompressStream(context, &to, &in);
	context_give(context);
	*got = to.pos;
	if (ZSTD_isError(code))
		return error_set(err, ERR_FORMAT, "zstd: %s", ZSTD_getErrorName(code));
	return true;
}

bool codec_begin(enum codec codec, const uint8_t *bytes, size_t count, uint8_t *out, size_t want,
		 struct error *err)
{
	size_t got = 0;
	bool good = false;

	switch (codec) {
	case CODEC_ZLIB:
		good = zlib_begin(bytes, count, out, want, &got, err);
		break;
	case CODEC_ZSTD:
		good = zstd_begin(bytes, count, out, want, &got, err);
		break;
	case CODEC_NONE:
	case CODEC_UNKNOWN:
		error_set(err, ERR_FORMAT, "%s", NO_CODEC);
		break;
	}
	if (!good)
		return false;
	return got == want ||
	       error_set(err, ERR_FORMAT, "%zu bytes come out where %zu should", got, want);
}

/* Decompresses the whole data, and verifies the checksum. */
static bool zlib_expand(const uint8_t *bytes, size_t count, uint8_t *out, size_t plain,
			struct error *err)
{
	uLongf got = plain;
	int code = uncompress(out, &got, bytes, count);

	if (code != Z_OK)
		return error_set(err, ERR_FORMAT, "zlib: %s", zError(code));
	return got == plain ||
	       error_set(err, ERR_FORMAT, "%lu bytes come out where %zu should", got, plain);
}

static bool zstd_expand(const uint8_t *bytes, size_t count, uint8_t *out, size_t plain,
			struct error *err)
{
	ZSTD_DCtx *context = context_take();

	if (!context)
		return error_set(err, ERR_IO, "zstd: no memory");
	size_t got = ZSTD_decompressDCtx(context, out, plain, bytes, count);
	context_give(context);
	if (ZSTD_isError(got))
		return error_set(err, ERR_FORMAT, "zstd: %s", ZSTD_getErrorName(got));
	return got == plain ||
	       error_set(err, ERR_FORMAT, "%zu bytes come out where %zu should", got, plain);
}

bool codec_expand(enum codec codec, const uint8_t *bytes, size_t count, uint8_t *out, size_t plain,
		  struct error *err)
{
	switch (codec) {
	case CODEC_ZLIB:
		return zlib_expand(bytes, count, out, plain, err);
	case CODEC_ZSTD:
		return zstd_expand(bytes, count, out, plain, err);
	case CODEC_NONE:
	case CODEC_UNKNOWN:
		break;
	}
	return error_set(err, ERR_FORMAT, "%s", NO_CODEC);
}
