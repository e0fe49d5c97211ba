/* SPDX-License-Identifier: Apache-2.0 */

/* A node under planning: grants are taken off cards and put on others, and counts follow. */

#include "plan.h"

struct run { /* of free slots: [first, end) */
	size_t first, end;
};

static const struct hdp_layout_device *device_of(const struct hdp_plan_state *s,
						 const struct hdp_plan_card *card)
{
	return &s->occ->layout->devices[card->pos];
}

static struct run next_run(const struct hdp_plan_state *s, size_t from, size_t end)
{
	struct run run = { .first = hdp_bit_next_set(s->free_bits, from, end) };

	run.end = hdp_bit_next_clear(s->free_bits, run.first, end);
	return run;
}

static uint32_t largest_run(const struct hdp_plan_state *s, const struct hdp_plan_card *card)
{
	const struct hdp_layout_device *dev = device_of(s, card);
	size_t end = dev->first_slot + dev->n_slots, largest = 0;

	for (struct run run = next_run(s, dev->first_slot, end); run.first < end;
	     run = next_run(s, run.end, end))
		largest = run.end - run.first > largest ? run.end - run.first : largest;
	return (uint32_t)largest;
}

/* The smallest that takes @size, the lowest of equals, as placement would; the card has one. */
static struct run tightest_run(const struct hdp_plan_state *s, const struct hdp_plan_card *card,
			       uint32_t size)
{
	const struct hdp_layout_device *dev = device_of(s, card);
	size_t end = dev->first_slot + dev->n_slots;
	struct run best = { 0, SIZE_MAX };

	for (struct run run = next_run(s, dev->first_slot, end); run.first < end;
	     run = next_run(s, run.end, end))
		if (run.end - run.first >= size && run.end - run.first < best.end - best.first)
			best = run;
	return best;
}

/* Count a card in (+1) or out (-1). */
static void count(struct hdp_plan_state *s, const struct hdp_plan_card *card, int by)
{
	if (!card->counts)
		return;
	if (card->cap >= s->form.base)
		s->n_base += (uint32_t)by;
	if (card->cap > s->form.base)
		s->n_more += (uint32_t)by;
}

void hdp_plan_measure(struct hdp_plan_state *s, struct hdp_plan_card *card)
{
	card->cap = s->free_bits ? largest_run(s, card) : card->free;
	count(s, card, 1);
}

void hdp_plan_set_form(struct hdp_plan_state *s, struct hdp_form form)
{
	s->form = form;
	s->n_base = s->n_more = 0;
	for (uint32_t i = 0; i < s->n_cards; i++)
		count(s, &s->cards[i], 1);
}

/* The slots of a grant on its first card. */
static void mark_grant(struct hdp_plan_state *s, const struct hdp_plan_grant *grant, bool is_free)
{
	const struct hdp_layout_device *dev = device_of(s, &s->cards[grant->card]);

	for (size_t i = dev->first_slot; i < dev->first_slot + dev->n_slots; i++) {
		if (s->occ->slot_holder[i] != grant->holder + 1)
			continue;
		if (is_free)
			hdp_bit_set(s->free_bits, i);
		else
			hdp_bit_clear(s->free_bits, i);
	}
}

void hdp_plan_take(struct hdp_plan_state *s, uint32_t grant)
{
	struct hdp_plan_grant *it = &s->grants[grant];
	struct hdp_plan_card *card = &s->cards[it->card];

	count(s, card, -1);
	if (s->free_bits)
		mark_grant(s, it, true);
	it->moved = true;
	card->free += it->size;
	hdp_plan_measure(s, card);
}

void hdp_plan_untake(struct hdp_plan_state *s, uint32_t grant)
{
	struct hdp_plan_grant *it = &s->grants[grant];
	struct hdp_plan_card *card = &s->cards[it->card];

	count(s, card, -1);
	if (s->free_bits)
		mark_grant(s, it, false);
	it->moved = false;
	card->free -= it->size;
	hdp_plan_measure(s, card);
}

uint32_t hdp_plan_cap_of_holes(const struct hdp_plan_state *s, const struct hdp_plan_card *card,
			       uint32_t size)
{
	const struct hdp_layout_device *dev = device_of(s, card);
	size_t end = dev->first_slot + dev->n_slots, largest = 0;
	struct run used;

	used = tightest_run(s, card, size);
	for (struct run run = next_run(s, dev->first_slot, end); run.first < end;
	     run = next_run(s, run.end, end)) {
		size_t left = run.end - run.first - (run.first == used.first ? size : 0);

		largest = left > largest ? left : largest;
	}
	return (uint32_t)largest;
}

void hdp_plan_put(struct hdp_plan_state *s, struct hdp_plan_move *move)
{
	struct hdp_plan_card *card = &s->cards[move->to];
	uint32_t size = s->grants[move->grant].size;

	count(s, card, -1);
	if (s->free_bits) {
		move->first = (uint32_t)tightest_run(s, card, size).first;
		for (uint32_t i = 0; i < size; i++)
			hdp_bit_clear(s->free_bits, move->first + i);
	}
	card->free -= size;
	hdp_plan_measure(s, card);
}

void hdp_plan_unput(struct hdp_plan_state *s, const struct hdp_plan_move *move)
{
	struct hdp_plan_card *card = &s->cards[move->to];
	uint32_t size = s->grants[move->grant].size;

	count(s, card, -1);
	for (uint32_t i = 0; s->free_bits && i < size; i++)
		hdp_bit_set(s->free_bits, move->first + i);
	card->free += size;
	hdp_plan_measure(s, card);
}
