/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Between slots and numbers: what each card of a resource has free, and which of its slots a part
 * stands for. Where the driver needs neighbours, a slice lies in one hole (a run of free slots).
 */

#include <string.h>

#include "place.h"

struct span { /* [first, end) */
	size_t first;
	size_t end;
};

static struct span device_span(const struct hdp_layout_device *dev)
{
	return (struct span){ dev->first_slot, dev->first_slot + dev->n_slots };
}

static size_t span_len(struct span span)
{
	return span.end - span.first;
}

static uint64_t set_word(const struct hdp_slot_set *set, size_t w)
{
	return w < set->n_words ? set->words[w] : 0;
}

/* Slots required on a device, from the first to the last; empty if none is. */
static struct span required_span(const struct hamidp_request *req, struct span dev)
{
	size_t end = dev.end < req->required.n_words * 64 ? dev.end : req->required.n_words * 64;
	struct span span = { dev.first, dev.first };

	if (end <= dev.first)
		return span;
	for (size_t slot = hdp_bit_next_set(req->required.words, dev.first, end); slot < end;
	     slot = hdp_bit_next_set(req->required.words, slot + 1, end)) {
		if (span_len(span) == 0)
			span.first = slot;
		span.end = slot + 1;
	}
	return span;
}

/* Where free slots are told: words of bits, or of their opposite; past the end there are zeros. */
struct source {
	const uint64_t *words;
	size_t n_words;
	uint64_t flip;
	const struct hdp_slot_set *required;
};

static struct source source_of(const struct hamidp_layout *layout,
			       const struct hamidp_occupancy *occ, const struct hamidp_request *req)
{
	struct source source = { .required = &req->required };

	if (req->has_available) {
		source.words = req->available.words;
		source.n_words = req->available.n_words;
	} else {
		source.words = occ->held;
		source.n_words = occ->held ? hdp_bit_words(layout->n_slots) : 0;
		source.flip = UINT64_MAX;
	}
	return source;
}

/* Set the bits of a device's slots that may be chosen; returns how many. */
static uint32_t collect_free(const struct source *source, struct span dev, bool healthy,
			     uint64_t *free_bits)
{
	size_t w = dev.first / 64, last = (dev.end - 1) / 64;
	uint64_t mask = UINT64_MAX << (dev.first % 64);
	uint32_t n = 0;

	for (; w <= last; w++, mask = UINT64_MAX) {
		uint64_t bits = w < source->n_words ? source->words[w] : 0;

		bits = healthy ? bits ^ source->flip : 0;
		if (source->required->n_words > 0)
			bits |= set_word(source->required, w);
		if (w == last && dev.end % 64 != 0)
			mask &= ~(UINT64_MAX << (dev.end % 64));
		bits &= mask;
		free_bits[w] |= bits;
		n += hdp_popcount(bits);
	}
	return n;
}

/* The hole around the required slots; empty if they do not lie in one. */
static struct span required_hole(const uint64_t *free_bits, struct span dev, struct span required)
{
	struct span hole = required;

	if (hdp_bit_next_clear(free_bits, required.first, required.end) < required.end)
		return (struct span){ dev.first, dev.first };
	while (hole.first > dev.first && hdp_bit_test(free_bits, hole.first - 1))
		hole.first--;
	hole.end = hdp_bit_next_clear(free_bits, required.end, dev.end);
	return hole;
}

static struct span next_hole(const uint64_t *free_bits, size_t from, size_t end)
{
	struct span hole = { .first = hdp_bit_next_set(free_bits, from, end) };

	hole.end = hdp_bit_next_clear(free_bits, hole.first, end);
	return hole;
}

static uint32_t largest_hole(const uint64_t *free_bits, struct span dev)
{
	size_t largest = 0;

	for (struct span hole = next_hole(free_bits, dev.first, dev.end); span_len(hole) > 0;
	     hole = next_hole(free_bits, hole.end, dev.end))
		largest = span_len(hole) > largest ? span_len(hole) : largest;
	return (uint32_t)largest;
}

/* The smallest hole of at least @part slots, the lowest of equals; the caller knows of one. */
static struct span tightest_hole(const uint64_t *free_bits, struct span dev, uint32_t part)
{
	struct span best = { 0, SIZE_MAX };

	for (struct span hole = next_hole(free_bits, dev.first, dev.end); span_len(hole) > 0;
	     hole = next_hole(free_bits, hole.end, dev.end))
		if (span_len(hole) >= part && span_len(hole) < span_len(best))
			best = hole;
	return best;
}

static void measure(const struct hamidp_layout *layout, const struct hamidp_request *req,
		    const uint64_t *free_bits, struct span dev, struct hdp_card *card)
{
	struct span required;

	card->part = 0;
	if (!layout->inv->contiguous && req->required.n_words == 0) {
		card->cap = card->free;
		card->min = 0;
		return;
	}
	required = required_span(req, dev);
	if (!layout->inv->contiguous) {
		card->cap = card->free;
		card->min = span_len(required) == 0 ? 0
						    : hdp_bit_count(req->required.words,
								    required.first, required.end);
	} else if (span_len(required) == 0) {
		card->cap = largest_hole(free_bits, dev);
		card->min = 0;
	} else {
		card->cap = (uint32_t)span_len(required_hole(free_bits, dev, required));
		card->min = (uint32_t)span_len(required);
	}
}

void hdp_cards_collect(const struct hamidp_layout *layout, const struct hamidp_occupancy *occ,
		       const struct hamidp_request *req, const struct hdp_place_rules *rules,
		       struct hamidp_decision *decision, size_t *ret_n)
{
	const struct hdp_topology *topology = layout->inv->topology;
	const struct source source = source_of(layout, occ, req);
	size_t n = 0;

	memset(decision->free, 0, hdp_bit_words(layout->n_slots) * sizeof(*decision->free));
	hdp_spare_init(&decision->spare, topology, hdp_topology_made_tables(topology),
		       &layout->placing, rules->slots, decision->numbers);
	for (size_t pos = 0; pos < layout->inv->n_devices; pos++) {
		const struct hdp_layout_device *dev = &layout->devices[pos];
		const struct hdp_device_info *info = &layout->inv->devices[pos].info;
		bool healthy = info->health == HAMIDP_HEALTH_HEALTHY;
		struct span span = device_span(dev);
		struct hdp_card *card = &decision->cards[n];

		if (dev->resource != req->resource || dev->n_slots == 0)
			continue;
		card->free = collect_free(&source, span, healthy, decision->free);
		if (healthy && card->free == dev->n_slots)
			hdp_spare_add(&decision->spare, (uint32_t)pos);
		if (card->free == 0 || (req->numa_node >= 0 && info->numa_node != req->numa_node))
			continue;
		card->pos = (uint32_t)pos;
		measure(layout, req, decision->free, span, card);
		if (card->cap > rules->per_card)
			card->cap = rules->per_card;
		n++;
	}
	hdp_spare_settle(&decision->spare);
	*ret_n = n;
}

static bool amounts_fit(const struct hamidp_layout *layout, const struct hamidp_request *req,
			uint32_t pos, uint32_t slots)
{
	return hamidp_layout_slice_share_ppm(layout, pos, slots) >= req->share_ppm &&
	       hamidp_layout_slice_memory_mib(layout, pos, slots) >= req->memory_mib;
}

void hdp_cards_need_amounts(const struct hamidp_layout *layout, const struct hamidp_request *req,
			    struct hdp_card *cards, size_t n_cards)
{
	for (size_t i = 0; i < n_cards; i++) {
		uint32_t low = 1, high = layout->devices[cards[i].pos].n_slots + 1;

		/* Both amounts grow with the slots; @high has them, or is one too many. */
		while (low < high) {
			uint32_t mid = (low + high) / 2;

			if (amounts_fit(layout, req, cards[i].pos, mid))
				high = mid;
			else
				low = mid + 1;
		}
		cards[i].need = high;
	}
}

/* Neighbours: in the hole of what is required as low as it can be covered, else in the tightest. */
static void take_neighbours(const struct hamidp_request *req, const uint64_t *free_bits,
			    struct span dev, uint32_t part, uint64_t *chosen)
{
	struct span required = required_span(req, dev), hole;
	size_t first;

	if (span_len(required) > 0) {
		hole = required_hole(free_bits, dev, required);
		first = required.end < hole.first + part ? hole.first : required.end - part;
	} else {
		hole = tightest_hole(free_bits, dev, part);
		first = hole.first;
	}
	for (size_t slot = first; slot < first + part; slot++)
		hdp_bit_set(chosen, slot);
}

/* The lowest @n bits that are set, of at least so many. */
static uint64_t lowest_bits(uint64_t bits, uint32_t n)
{
	uint64_t left = bits;

	if (hdp_popcount(bits) == n)
		return bits;
	for (; n > 0; n--)
		left &= left - 1;
	return bits & ~left;
}

/* What is required, then the lowest free slots. */
static void take_lowest(const struct hamidp_request *req, const uint64_t *free_bits,
			struct span dev, uint32_t part, uint64_t *chosen)
{
	size_t last = (dev.end - 1) / 64;

	for (size_t w = dev.first / 64; req->required.n_words > 0 && w <= last; w++) {
		uint64_t bits = set_word(&req->required, w) & hdp_bit_mask(w, dev.first, dev.end);

		chosen[w] |= bits;
		part -= hdp_popcount(bits);
	}
	for (size_t w = dev.first / 64; part > 0 && w <= last; w++) {
		uint64_t bits = free_bits[w] & ~chosen[w] & hdp_bit_mask(w, dev.first, dev.end);
		uint32_t n = hdp_popcount(bits);

		n = n < part ? n : part;
		chosen[w] |= lowest_bits(bits, n);
		part -= n;
	}
}

void hdp_cards_take(const struct hamidp_layout *layout, const struct hamidp_request *req,
		    struct hamidp_decision *decision, size_t n_cards)
{
	for (size_t i = 0; i < n_cards; i++) {
		const struct hdp_card *card = &decision->cards[i];
		struct span dev = device_span(&layout->devices[card->pos]);

		if (card->part == 0)
			continue;
		if (layout->inv->contiguous)
			take_neighbours(req, decision->free, dev, card->part, decision->chosen);
		else
			take_lowest(req, decision->free, dev, card->part, decision->chosen);
	}
}
