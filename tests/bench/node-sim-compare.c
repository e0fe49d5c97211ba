/* SPDX-License-Identifier: Apache-2.0 */

/* Many seeds, and every policy on the same arrivals: means, and how far from best-fit. */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node-sim.h"

static double mean_of(const double *values, size_t n, double *ret_se)
{
	double sum = 0, squares = 0, mean;

	for (size_t i = 0; i < n; i++)
		sum += values[i];
	mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	*ret_se = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : 0;
	return mean;
}

/* A mean of what some seeds may not have; they have -1. */
static void add_known(double *sum, double *n, double value)
{
	if (value < 0)
		return;
	*sum += value;
	*n += 1;
}

static void summarise(const struct tally *tallies, const struct tally *reference, size_t n,
		      struct summary *ret)
{
	double behind[SEEDS_MAX], n_q2 = 0, n_q4 = 0, n_numa = 0;
	struct tally *mean = &ret->mean;

	*ret = (struct summary){ 0 };
	for (size_t i = 0; i < n; i++) {
		mean->refused_pct += tallies[i].refused_pct / (double)n;
		mean->effective_pct += tallies[i].effective_pct / (double)n;
		mean->useful_pct += tallies[i].useful_pct / (double)n;
		mean->n_straddled += tallies[i].n_straddled;
		mean->n_sent_failed += tallies[i].n_sent_failed;
		mean->n_misjudged += tallies[i].n_misjudged;
		add_known(&mean->q2, &n_q2, tallies[i].q2);
		add_known(&mean->q4, &n_q4, tallies[i].q4);
		add_known(&mean->numa2_pct, &n_numa, tallies[i].numa2_pct);
		behind[i] = tallies[i].effective_pct - reference[i].effective_pct;
	}
	mean->q2 = n_q2 > 0 ? mean->q2 / n_q2 : -1;
	mean->q4 = n_q4 > 0 ? mean->q4 / n_q4 : -1;
	mean->numa2_pct = n_numa > 0 ? mean->numa2_pct / n_numa : -1;
	ret->behind = mean_of(behind, n, &ret->behind_se);
}

static bool is_wanted(const struct options *opts, const struct policy *policy)
{
	if (!opts->policy)
		return !policy->is_bound;
	return strcmp(opts->policy, policy->name) == 0;
}

/* All policies on the arrivals of all seeds. */
static int compare(const struct scenario *scenario, const struct options *opts, report_fn report)
{
	static struct tally tallies[16][SEEDS_MAX];
	int r = 0;

	for (size_t seed = 0; r == 0 && seed < opts->n_seeds; seed++) {
		struct arrival *arrivals = NULL;

		r = arrivals_make(scenario->mix, scenario->machine->n_cards, scenario->load,
				  seed + 1, opts->n_arrivals, &arrivals);
		for (size_t p = 0; r == 0 && p < n_policies; p++)
			if (p == 0 || is_wanted(opts, &policies[p]))
				r = simulate(scenario, &policies[p], seed + 1, arrivals,
					     opts->n_arrivals, &tallies[p][seed]);
		free(arrivals);
	}
	for (size_t p = 0; r == 0 && p < n_policies; p++) {
		struct summary summary;

		if (!is_wanted(opts, &policies[p]))
			continue;
		summarise(tallies[p], tallies[0], opts->n_seeds, &summary);
		report(scenario, &policies[p], opts->n_seeds, &summary);
	}
	return r;
}

int compare_policies(const struct options *opts, const struct machine *machine,
		     const char *mix_name, uint64_t load_pct, bool publishes, report_fn report)
{
	struct mix mix;
	struct scenario scenario = { .machine = machine,
				     .mix = &mix,
				     .load = (double)load_pct / 100,
				     .publishes = publishes };
	int r = mix_read(opts->mixes, mix_name, &mix);

	if (r < 0)
		return r;
	mix_restrict(&mix, machine->n_cards);
	return mix.n_classes ? compare(&scenario, opts, report) : 0;
}
