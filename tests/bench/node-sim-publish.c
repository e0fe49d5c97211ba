/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a node shows under publish=placeable, in numbers: as many free slots as can be, such that
 * every request up to their sum has its best form within them.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node-sim.h"

/* Cards with the most free first, the first of equals. */
static void sort_cards(const struct node *node, uint32_t *order)
{
	for (uint32_t i = 0; i < node->n_cards; i++) {
		uint32_t j = i;

		for (; j > 0 && node->free[order[j - 1]] < node->free[i]; j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
}

/* Row n: the least of each card, largest first, that serves every request up to n slots. */
int publish_table(uint32_t slots, uint32_t n_cards, struct publish_row **ret)
{
	size_t n = (size_t)slots * n_cards;
	struct publish_row *table = calloc(n + 1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (uint32_t units = 1; units <= n; units++) {
		struct publish_row *row = &table[units];
		uint32_t form[CARDS_MAX] = { 0 };

		(void)normal_form(units, slots, n_cards, form);
		for (uint32_t i = 0; i < n_cards; i++) {
			row->parts[i] = table[units - 1].parts[i];
			if (form[i] > row->parts[i])
				row->parts[i] = form[i];
			row->sum += row->parts[i];
		}
	}
	*ret = table;
	return 0;
}

static bool publishable(const struct node *node, const uint32_t *order, uint32_t n_published)
{
	const struct publish_row *row = &node->publish_table[n_published];

	if (row->sum > n_published)
		return false;
	for (uint32_t i = 0; i < node->n_cards; i++)
		if (row->parts[i] > node->free[order[i]])
			return false;
	return true;
}

void publish_placeable(struct node *node)
{
	const struct publish_row *row;
	uint32_t order[CARDS_MAX], n = 0, sum = 0;

	sort_cards(node, order);
	for (uint32_t card = 0; card < node->n_cards; card++)
		n += node->free[card];
	while (n > 0 && !publishable(node, order, n))
		n--;
	row = &node->publish_table[n];
	memset(node->visible, 0, sizeof(node->visible));
	for (uint32_t i = 0; i < node->n_cards; i++) {
		node->visible[order[i]] = row->parts[i];
		sum += row->parts[i];
	}
	/* what the sum allows beyond the least, from the fullest cards on */
	for (uint32_t card = 0; card < node->n_cards; card++)
		for (; sum < n && node->visible[card] < node->free[card]; sum++)
			node->visible[card]++;
}
