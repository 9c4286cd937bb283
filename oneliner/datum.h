/* datum.h - the values of one-liners: numbers of 64 bits and texts */
#ifndef ONELINER_DATUM_H
#define ONELINER_DATUM_H

#include <stdbool.h>
#include <stdint.h>

enum datum_kind {
	DATUM_UNKNOWN, /* the recording does not tell it; what needs it is left out */
	DATUM_NUMBER,
	DATUM_TEXT
};

struct datum {
	uint8_t kind;
	bool is_large; /* NUMBER: `u`, over INT64_MAX; else `s` */
	uint32_t len;  /* TEXT: bytes */
	union {
		int64_t s;
		uint64_t u;
		const char *text; /* not ended by zero; owner depends on where the value stands */
	};
};

static inline struct datum datum_signed(int64_t number)
{
	return (struct datum){.kind = DATUM_NUMBER, .s = number};
}

static inline struct datum datum_unsigned(uint64_t number)
{
	return (struct datum){.kind = DATUM_NUMBER, .is_large = number > INT64_MAX, .u = number};
}

static inline struct datum datum_text(const void *text, uint32_t len)
{
	return (struct datum){.kind = DATUM_TEXT, .len = len, .text = text};
}

static inline __int128 datum_number(const struct datum *datum)
{
	return datum->is_large ? (__int128)datum->u : datum->s;
}

/* Numbers that do not fit 64 bits wrap, as in C. */
static inline struct datum datum_of(__int128 number)
{
	return number > INT64_MAX ? datum_unsigned((uint64_t)number)
				  : datum_signed((int64_t)(uint64_t)number);
}

/* Numbers before texts, each in their order. */
int datum_compare(const struct datum *a, const struct datum *b);
/* Neither 0 nor "". */
static inline bool datum_holds(const struct datum *datum)
{
	return datum->kind == DATUM_TEXT ? datum->len != 0 : datum->u != 0;
}

#endif
