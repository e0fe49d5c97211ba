/* SPDX-License-Identifier: Apache-2.0 */

/* The requests: a mix from a file, and a stream of arrivals drawn from it. */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-sim.h"

uint64_t random_next(struct random *rnd)
{
	uint64_t z = rnd->state += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

uint32_t random_below(struct random *rnd, uint32_t n)
{
	return (uint32_t)((random_next(rnd) >> 32) * n >> 32);
}

double random_exponential(struct random *rnd, double mean)
{
	/* (0, 1]: the logarithm is finite */
	double u = ((double)(random_next(rnd) >> 11) + 1) / 9007199254740992.0;

	return -mean * log(u);
}

static int complain(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s\n", path, what);
	return -EINVAL;
}

/* "cards slots weight", each at least 1. */
static bool parse_line(const char *line, struct mix_class *ret)
{
	uint32_t *const values[] = { &ret->n_cards, &ret->slots, &ret->weight };

	for (size_t i = 0; i < 3; i++) {
		char *end;
		unsigned long value = strtoul(line, &end, 10);

		if (end == line || value == 0 || value > 1000000)
			return false;
		*values[i] = (uint32_t)value;
		line = end;
	}
	return line[strspn(line, " \t\r\n")] == '\0';
}

static int read_classes(FILE *file, const char *path, struct mix *mix)
{
	char line[128];

	while (fgets(line, sizeof(line), file)) {
		struct mix_class *class = &mix->classes[mix->n_classes];

		if (mix->n_classes == CLASSES_MAX)
			return complain(path, "more than 64 lines");
		if (!parse_line(line, class) || class->slots > mix->slots)
			return complain(path, "a line that is not \"cards slots weight\"");
		mix->n_classes++;
	}
	return mix->n_classes ? 0 : complain(path, "no lines");
}

int mix_read(const char *dir, const char *name, struct mix *ret)
{
	struct mix mix = { 0 };
	const char *dot = strrchr(name, '.');
	char path[4096];
	FILE *file;
	int r;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path) ||
	    (size_t)snprintf(mix.name, sizeof(mix.name), "%s", name) >= sizeof(mix.name) || !dot)
		return complain(name, "not a mix: a name that ends in .SLOTS");
	mix.slots = (uint32_t)strtoul(dot + 1, NULL, 10);
	if (mix.slots == 0 || mix.slots > HAMIDP_SLOTS_MAX)
		return complain(name, "not a mix: a name that ends in .SLOTS");

	file = fopen(path, "re");
	if (!file)
		return complain(path, strerror(errno));
	r = read_classes(file, path, &mix);
	fclose(file);
	if (r == 0)
		*ret = mix;
	return r;
}

void mix_restrict(struct mix *mix, uint32_t n_cards)
{
	size_t n = 0;

	for (size_t i = 0; i < mix->n_classes; i++)
		if (mix->classes[i].n_cards <= n_cards)
			mix->classes[n++] = mix->classes[i];
	mix->n_classes = n;
}

static uint32_t total_weight(const struct mix *mix)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < mix->n_classes; i++)
		sum += mix->classes[i].weight;
	return sum;
}

uint32_t mix_share_ppm(const struct mix *mix, uint32_t n_cards)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < mix->n_classes; i++)
		if (mix->classes[i].n_cards == n_cards)
			sum += mix->classes[i].weight;
	return (uint32_t)(sum * HAMIDP_PPM / total_weight(mix));
}

/* Mean slots of a request. */
static double mean_units(const struct mix *mix)
{
	double sum = 0;

	for (size_t i = 0; i < mix->n_classes; i++)
		sum += (double)mix->classes[i].weight * mix->classes[i].n_cards *
		       mix->classes[i].slots;
	return sum / total_weight(mix);
}

int arrivals_make(const struct mix *mix, uint32_t n_cards, double load, uint64_t seed, size_t n,
		  struct arrival **ret)
{
	struct random rnd = { .state = seed };
	struct arrival *arrivals = calloc(n, sizeof(*arrivals));
	/* lifetimes have a mean of 1 */
	double gap = mean_units(mix) / (load * n_cards * mix->slots);
	uint32_t total = total_weight(mix);
	double at = 0;

	if (!arrivals)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct mix_class *class = mix->classes;
		uint32_t pick;

		at += random_exponential(&rnd, gap);
		for (pick = random_below(&rnd, total); pick >= class->weight; class ++)
			pick -= class->weight;
		arrivals[i] = (struct arrival){ .at = at,
						.leaves_at = at + random_exponential(&rnd, 1),
						.n_cards = class->n_cards,
						.slots = class->slots };
	}
	*ret = arrivals;
	return 0;
}
