/* packet_heads.c - a merge sort that sees what is in order already */
#include "index/packets/packet_heads.h"

#include "engine/base/mem.h"

#include <string.h>

void packet_heads_reverse(struct packet_head *heads, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct packet_head head = heads[i];
		heads[i] = heads[n - 1 - i];
		heads[n - 1 - i] = head;
	}
}

static void merge_halves(struct packet_head *heads, struct packet_head *room, size_t half, size_t n)
{
	size_t a = 0, b = half, out = 0;

	memcpy(room, heads, half * sizeof *heads);
	while (a < half && b < n)
		heads[out++] = heads[b].time < room[a].time ? heads[b++] : room[a++];
	memcpy(heads + out, room + a, (half - a) * sizeof *heads);
}

/* Recursion is as deep as n has bits. */
static void sort(struct packet_head *heads, struct packet_head *room, size_t n)
{
	size_t half = n / 2, ordered = 1;

	while (ordered < n && heads[ordered - 1].time <= heads[ordered].time)
		ordered++;
	if (ordered >= n)
		return;
	sort(heads, room, half);
	sort(heads + half, room, n - half);
	if (heads[half].time < heads[half - 1].time)
		merge_halves(heads, room, half, n);
}

void packet_heads_sort(struct packet_head *heads, size_t n)
{
	struct packet_head *room = mem_resize(NULL, n / 2 + 1, sizeof *room); /* no zeros */

	sort(heads, room, n);
	mem_free(room);
}
