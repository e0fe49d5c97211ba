/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A node under a stream of requests: what each placement policy refuses, and what it gives. Every
 * policy meets the same arrivals. One JSON line for each policy and scenario; docs/measurements.md
 * says what is measured and how.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-sim.h"

static const char *const all_mixes[] = { "trace.8",    "trace.10",   "share.10",
					 "multi50.10", "mig.7",	     "pow2.8",
					 "uniform.8",  "article2.8", "fracmulti.8" };

static const char *const all_machines[] = {
	"dgx1-v100",	     "dgx-a100",   "dgx-h100", "mi300x-x8",
	"rtx4090-x8-allsys", "rtx8000-x4", "l40s-x4",  "a100-pcie-x4-bridged",
	"gb200-tray",	     "dgx2-v100",
};

static void print_optional(const char *key, double value, double scale)
{
	if (value < 0)
		printf(",\"%s\":null", key);
	else
		printf(",\"%s\":%.3f", key, value / scale);
}

static void print_summary(const struct scenario *scenario, const struct policy *policy,
			  size_t n_seeds, const struct summary *summary)
{
	const struct tally *mean = &summary->mean;

	printf("{\"bench\":\"node-sim\",\"machine\":\"%s\",\"cards\":%" PRIu32
	       ",\"mix\":\"%s\",\"load\":%.2f,\"publish\":\"%s\",\"policy\":\"%s\",\"seeds\":%zu",
	       scenario->machine->name, scenario->machine->n_cards, scenario->mix->name,
	       scenario->load, scenario->publishes ? "placeable" : "all", policy->name, n_seeds);
	printf(",\"refused_pct\":%.2f,\"effective_refused_pct\":%.2f,\"behind_best_fit\":%.2f"
	       ",\"behind_se\":%.2f,\"straddled\":%" PRIu64 ",\"sent_failed\":%" PRIu64
	       ",\"useful_pct\":%.2f",
	       mean->refused_pct, mean->effective_pct, summary->behind, summary->behind_se,
	       mean->n_straddled, mean->n_sent_failed, mean->useful_pct);
	print_optional("q2", mean->q2, 1);
	print_optional("q4", mean->q4, 1);
	print_optional("numa2", mean->numa2_pct, 100);
	puts("}");
	fflush(stdout);
}

/* Every mix and load on equal cards; publish=placeable besides on 8 of them. */
static int run_plain(const struct options *opts, uint32_t n_cards)
{
	static const uint64_t loads[] = { 70, 90, 110 };
	struct machine machine = { 0 };
	int r = machine_plain(n_cards, &machine);

	for (size_t mix = 0; r == 0 && mix < sizeof(all_mixes) / sizeof(all_mixes[0]); mix++)
		for (size_t load = 0; r == 0 && load < 3; load++) {
			r = compare_policies(opts, &machine, all_mixes[mix], loads[load], false,
					     print_summary);
			if (r == 0 && n_cards == 8)
				r = compare_policies(opts, &machine, all_mixes[mix], loads[load],
						     true, print_summary);
		}
	machine_done(&machine);
	return r;
}

/* The mix with many requests for several cards, where links matter. */
static int run_machine(const struct options *opts, const char *name)
{
	struct machine machine = { 0 };
	int r = machine_open(name, &machine);

	if (r == 0)
		r = compare_policies(opts, &machine, "multi50.10", 90, false, print_summary);
	machine_done(&machine);
	return r;
}

static int run_full(const struct options *opts)
{
	static const uint32_t sizes[] = { 4, 8, 16 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		r = run_plain(opts, sizes[i]);
	for (size_t i = 0; r == 0 && i < sizeof(all_machines) / sizeof(all_machines[0]); i++)
		r = run_machine(opts, all_machines[i]);
	return r;
}

static int run_named(const struct options *opts)
{
	struct machine machine = { 0 };
	int r;

	r = opts->machine ? machine_open(opts->machine, &machine)
			  : machine_plain((uint32_t)opts->n_cards, &machine);
	if (r == 0)
		r = compare_policies(opts, &machine, opts->mix, opts->load_pct, opts->publishes,
				     print_summary);
	machine_done(&machine);
	return r;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: node-sim --mixes=DIR [--full] [--smoke] [--mix=NAME] [--cards=N]\n"
		"                [--machine=NAME] [--load=PERCENT] [--seeds=N] [--arrivals=N]\n"
		"                [--policy=NAME] [--publish=all|placeable]\n"
		"at most 16 cards, 64 seeds, 10000000 arrivals; policies:");
	for (size_t i = 0; i < n_policies; i++)
		fprintf(stderr, " %s", policies[i].name);
	fputs("\n", stderr);
	return -EINVAL;
}

static int parse_number(const char *text, uint64_t max, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return *text >= '1' && *text <= '9' && *end == '\0' && errno == 0 && *ret <= max ? 0
											 : -EINVAL;
}

static int parse_publish(const char *text, bool *ret)
{
	*ret = strcmp(text, "placeable") == 0;
	return *ret || strcmp(text, "all") == 0 ? 0 : -EINVAL;
}

static int parse_option(int c, struct options *opts)
{
	switch (c) {
	case 'd':
		opts->mixes = optarg;
		return 0;
	case 'm':
		opts->mix = optarg;
		return 0;
	case 'M':
		opts->machine = optarg;
		return 0;
	case 'p':
		opts->policy = optarg;
		return 0;
	case 'P':
		return parse_publish(optarg, &opts->publishes);
	case 'f':
		opts->full = true;
		return 0;
	case 's':
		opts->smoke = true;
		return 0;
	case 'c':
		return parse_number(optarg, CARDS_MAX, &opts->n_cards);
	case 'l':
		return parse_number(optarg, 1000, &opts->load_pct);
	case 'n':
		return parse_number(optarg, SEEDS_MAX, &opts->n_seeds);
	case 'a':
		return parse_number(optarg, 10000000, &opts->n_arrivals);
	default:
		return -EINVAL;
	}
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "mixes", required_argument, NULL, 'd' },
		{ "mix", required_argument, NULL, 'm' },
		{ "machine", required_argument, NULL, 'M' },
		{ "policy", required_argument, NULL, 'p' },
		{ "publish", required_argument, NULL, 'P' },
		{ "full", no_argument, NULL, 'f' },
		{ "smoke", no_argument, NULL, 's' },
		{ "cards", required_argument, NULL, 'c' },
		{ "load", required_argument, NULL, 'l' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "arrivals", required_argument, NULL, 'a' },
		{ 0 },
	};
	struct options opts = {
		.mix = "trace.8", .n_cards = 8, .load_pct = 90, .n_seeds = 10, .n_arrivals = 10000
	};
	int c, r = 0;

	while (r == 0 && (c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		r = parse_option(c, &opts);
	if (r < 0 || optind != argc || !opts.mixes)
		r = usage();
	else if (opts.smoke)
		return smoke(&opts) ? EXIT_SUCCESS : EXIT_FAILURE;
	else if (opts.full)
		r = run_full(&opts);
	else
		r = run_named(&opts);
	if (r < 0)
		fprintf(stderr, "node-sim: %s\n", hamidp_strerror(r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
