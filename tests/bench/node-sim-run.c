/* SPDX-License-Identifier: Apache-2.0 */

/* One policy meets one stream of arrivals: who is refused, and what those admitted got. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node-sim.h"

/* A grant that is held, in a heap with the first to leave on top. */
struct grant {
	double leaves_at;
	uint64_t holder;
	uint32_t parts[CARDS_MAX];
};

struct heap {
	struct grant *grants;
	size_t n;
};

static void swap(struct grant *a, struct grant *b)
{
	struct grant t = *a;

	*a = *b;
	*b = t;
}

/* There is room: no more are held than there are slots. */
static void push(struct heap *heap, const struct grant *grant)
{
	size_t i = heap->n++;

	heap->grants[i] = *grant;
	for (; i > 0 && heap->grants[i].leaves_at < heap->grants[(i - 1) / 2].leaves_at;
	     i = (i - 1) / 2)
		swap(&heap->grants[i], &heap->grants[(i - 1) / 2]);
}

static void pop(struct heap *heap)
{
	size_t i = 0, child;

	heap->grants[0] = heap->grants[--heap->n];
	while ((child = 2 * i + 1) < heap->n) {
		if (child + 1 < heap->n &&
		    heap->grants[child + 1].leaves_at < heap->grants[child].leaves_at)
			child++;
		if (heap->grants[i].leaves_at <= heap->grants[child].leaves_at)
			break;
		swap(&heap->grants[i], &heap->grants[child]);
		i = child;
	}
}

/* Sums, before they become shares. */
struct sums {
	uint64_t n, n_refused, n_straddled, n_failed;
	uint64_t units, units_useful;
	uint64_t n_pairs, n_pairs_local, n_fours;
	double q2, q4;
};

static uint32_t n_visible(const struct node *node)
{
	uint32_t n = 0;

	for (uint32_t card = 0; card < node->n_cards; card++)
		n += node->visible[card];
	return n;
}

/* The library publishes for its own policies; the number is compared with the one counted here. */
static int publish(struct node *node)
{
	uint32_t counted;
	int r;

	if (!node->publish_table) {
		memcpy(node->visible, node->free, sizeof(node->visible));
		return 0;
	}
	publish_placeable(node);
	if (!node->library)
		return 0;
	counted = n_visible(node);
	r = library_publish(node->library, node->visible);
	node->n_misjudged += counted != n_visible(node);
	return r;
}

static int leave(struct node *node, const struct grant *grant)
{
	for (uint32_t card = 0; card < node->n_cards; card++)
		node->free[card] += grant->parts[card];
	return node->library ? library_release(node->library, grant->holder) : 0;
}

static int leave_until(struct node *node, struct heap *heap, double at)
{
	bool changed = false;
	int r = 0;

	for (; r == 0 && heap->n > 0 && heap->grants[0].leaves_at <= at; pop(heap)) {
		r = leave(node, &heap->grants[0]);
		changed = true;
	}
	return r == 0 && changed ? publish(node) : r;
}

static int compare_down(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x < y) - (x > y);
}

/* Another spread than was asked for? */
static bool is_straddled(const struct node *node, const struct arrival *arrival,
			 const uint32_t *parts)
{
	uint32_t got[CARDS_MAX], form[CARDS_MAX] = { 0 };

	for (uint32_t i = 0; i < arrival->n_cards; i++)
		form[i] = arrival->slots;
	if (node->publish_table) {
		memset(form, 0, sizeof(form));
		(void)normal_form(arrival->n_cards * arrival->slots, node->slots, node->n_cards,
				  form);
	}
	memcpy(got, parts, sizeof(got));
	qsort(got, CARDS_MAX, sizeof(*got), compare_down);
	return memcmp(got, form, sizeof(got)) != 0;
}

static void count_quality(struct sums *sums, const struct machine *machine, const uint32_t *parts)
{
	uint32_t cards = 0, n = 0;
	int32_t numa = -1;
	bool local = true;

	for (uint32_t card = 0; card < machine->n_cards; card++) {
		if (parts[card] == 0)
			continue;
		local = local && machine->numa[card] >= 0 &&
			(n == 0 || machine->numa[card] == numa);
		numa = machine->numa[card];
		cards |= 1U << card;
		n++;
	}
	if (n == 2) {
		sums->n_pairs++;
		sums->n_pairs_local += local;
		if (machine->best[2] > 0)
			sums->q2 += (double)machine_score(machine, cards) / machine->best[2];
	} else if (n == 4) {
		sums->n_fours++;
		if (machine->best[4] > 0)
			sums->q4 += (double)machine_score(machine, cards) / machine->best[4];
	}
}

static void count(struct sums *sums, const struct node *node, const struct arrival *arrival,
		  bool fits_sum, int result, const uint32_t *parts)
{
	uint32_t units = arrival->n_cards * arrival->slots;

	sums->n++;
	sums->units += units;
	if (result < 0) {
		sums->n_refused++;
		sums->n_failed += fits_sum;
	} else if (is_straddled(node, arrival, parts)) {
		sums->n_straddled++;
	} else {
		sums->units_useful += units;
		count_quality(sums, node->machine, parts);
	}
}

/* The scheduler adds up what is published, and sends the pod if that suffices. */
static int arrive(struct node *node, const struct policy *policy, struct heap *heap,
		  const struct arrival *arrival, uint64_t holder, struct sums *sums)
{
	struct grant grant = { .leaves_at = arrival->leaves_at, .holder = holder };
	bool fits_sum = n_visible(node) >= arrival->n_cards * arrival->slots;
	int r = -ENOSPC;

	if (fits_sum)
		r = policy->choose(node, arrival, holder, grant.parts);
	if (r < 0 && r != -ENOSPC)
		return r;
	if (sums)
		count(sums, node, arrival, fits_sum, r, grant.parts);
	if (r < 0)
		return 0;
	for (uint32_t card = 0; card < node->n_cards; card++)
		node->free[card] -= grant.parts[card];
	push(heap, &grant);
	return publish(node);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? (double)part * 100 / (double)whole : 0;
}

static void settle(const struct sums *sums, const struct machine *machine, struct tally *ret)
{
	*ret = (struct tally){
		.refused_pct = percent(sums->n_refused, sums->n),
		.effective_pct = percent(sums->n_refused + sums->n_straddled, sums->n),
		.useful_pct = percent(sums->units_useful, sums->units),
		.n_straddled = sums->n_straddled,
		.n_sent_failed = sums->n_failed,
		.q2 = sums->n_pairs && machine->best[2] ? sums->q2 / (double)sums->n_pairs : -1,
		.q4 = sums->n_fours && machine->best[4] ? sums->q4 / (double)sums->n_fours : -1,
		.numa2_pct = sums->n_pairs ? percent(sums->n_pairs_local, sums->n_pairs) : -1,
	};
}

static int run(struct node *node, const struct policy *policy, struct heap *heap,
	       const struct arrival *arrivals, size_t n, struct sums *sums)
{
	int r = publish(node);

	for (size_t i = 0; r == 0 && i < n; i++) {
		r = leave_until(node, heap, arrivals[i].at);
		/* the first tenth fills the node and is not counted */
		if (r == 0)
			r = arrive(node, policy, heap, &arrivals[i], i, i < n / 10 ? NULL : sums);
	}
	return r;
}

int simulate(const struct scenario *scenario, const struct policy *policy, uint64_t seed,
	     const struct arrival *arrivals, size_t n, struct tally *ret)
{
	const struct machine *machine = scenario->machine;
	struct node node = { .machine = machine,
			     .n_cards = machine->n_cards,
			     .slots = scenario->mix->slots,
			     .arrivals_end = arrivals + n,
			     .rnd = { .state = ~seed } };
	struct heap heap = { .grants = calloc((size_t)node.n_cards * node.slots,
					      sizeof(*heap.grants)) };
	struct sums sums = { 0 };
	int r = heap.grants ? 0 : -ENOMEM;

	for (uint32_t card = 0; card < node.n_cards; card++)
		node.free[card] = node.slots;
	if (r == 0 && policy->is_library)
		r = library_new(machine, scenario->mix, policy, &node.library);
	if (r == 0 && policy->is_bound)
		r = scenario->publishes ? -EINVAL : bound_new(&node, &node.bound);
	if (r == 0 && scenario->publishes)
		r = publish_table(node.slots, node.n_cards, &node.publish_table);
	if (r == 0)
		r = run(&node, policy, &heap, arrivals, n, &sums);
	if (r == 0) {
		settle(&sums, machine, ret);
		ret->n_misjudged = node.n_misjudged;
	}
	library_free(node.library);
	free(node.bound);
	free(node.publish_table);
	free(heap.grants);
	return r;
}
