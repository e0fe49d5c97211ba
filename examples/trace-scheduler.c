/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Replay a trace over a cluster until more has been asked for than there is, and see how much of
 * the GPUs is in use: pods are drawn with replacement until their demand is 130 % of the capacity,
 * none leaves, and one that fits nowhere is lost. One JSON line a run, one for the mean.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace-scheduler.h"

struct options {
	const char *policy; /* NULL: all */
	uint64_t first_seed, last_seed;
	uint64_t arrived_pct;
};

struct result {
	double arrived_pct, gpu_allocated_pct, gpus_whole_free, decisions_per_s;
};

/* CPU time: it is decisions that are measured, not the machine they share. */
static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* splitmix64 */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

static size_t random_below(uint64_t *state, size_t n)
{
	return (size_t)((unsigned __int128)random_next(state) * n >> 64);
}

/* The cheapest node that takes the shape, the first by name of equals; NO_NODE if none does. */
static size_t choose_node(struct cluster *cluster, const struct policy *policy, size_t s)
{
	const struct trace *trace = cluster->trace;
	int64_t best = COST_NO_FIT;
	size_t node = NO_NODE;

	for (size_t i = 0; i < trace->n_nodes; i++) {
		int64_t *cost = &cluster->costs[s * trace->n_nodes + i];

		if (*cost == COST_UNKNOWN)
			*cost = policy->cost(cluster, i, &trace->shapes[s]);
		if (*cost < best) {
			best = *cost;
			node = i;
			if (policy->takes_first)
				break;
		}
	}
	return node;
}

static double whole_free(const struct cluster *cluster)
{
	double n = 0;

	for (size_t i = 0; i < cluster->trace->n_nodes; i++)
		for (uint32_t card = 0; card < cluster->nodes[i].spec->n_gpus; card++)
			n += cluster->nodes[i].free_milli[card] == CARD_MILLI;
	return n;
}

static int replay(struct cluster *cluster, const struct policy *policy, uint64_t seed,
		  uint64_t arrived_pct, struct result *ret)
{
	const struct trace *trace = cluster->trace;
	uint64_t arrived = 0, n_decisions = 0;
	double began = now_s(), capacity = (double)trace->gpu_milli;

	while (arrived * 100 < trace->gpu_milli * arrived_pct) {
		size_t s = trace->pods[random_below(&seed, trace->n_pods)];
		const struct shape *shape = &trace->shapes[s];
		size_t node = choose_node(cluster, policy, s);
		int r;

		arrived += (uint64_t)shape->n_gpus * shape->gpu_milli;
		n_decisions++;
		if (node == NO_NODE)
			continue;
		r = cluster_commit(cluster, node, shape,
				   policy->cards && shape->n_gpus > 0
					   ? policy->cards(cluster, node, shape)
					   : 0);
		if (r < 0)
			return r;
	}
	*ret = (struct result){
		.arrived_pct = (double)arrived * 100 / capacity,
		.gpu_allocated_pct = (double)cluster->allocated_milli * 100 / capacity,
		.gpus_whole_free = whole_free(cluster),
		.decisions_per_s = (double)n_decisions / (now_s() - began),
	};
	return 0;
}

static void print_result(const char *policy, const char *seed, const struct result *result)
{
	printf("{\"policy\":\"%s\",\"seed\":%s,\"arrived_pct\":%.1f,\"gpu_allocated_pct\":%.2f,"
	       "\"gpus_whole_free\":%.1f,\"decisions_per_s\":%.0f}\n",
	       policy, seed, result->arrived_pct, result->gpu_allocated_pct,
	       result->gpus_whole_free, result->decisions_per_s);
	fflush(stdout);
}

static int run(const struct trace *trace, const struct policy *policy, const struct options *opts)
{
	double n = (double)(opts->last_seed - opts->first_seed + 1);
	struct result mean = { 0 };

	for (uint64_t seed = opts->first_seed; seed <= opts->last_seed; seed++) {
		struct cluster *cluster = NULL;
		struct result result = { 0 };
		char text[32];
		int r;

		r = cluster_new(trace, &cluster);
		if (r == 0)
			r = replay(cluster, policy, seed, opts->arrived_pct, &result);
		cluster_free(cluster);
		if (r < 0)
			return r;
		(void)snprintf(text, sizeof(text), "%" PRIu64, seed);
		print_result(policy->name, text, &result);
		mean.arrived_pct += result.arrived_pct / n;
		mean.gpu_allocated_pct += result.gpu_allocated_pct / n;
		mean.gpus_whole_free += result.gpus_whole_free / n;
		mean.decisions_per_s += result.decisions_per_s / n;
	}
	print_result(policy->name, "\"mean\"", &mean);
	return 0;
}

static int parse_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *ret <= 1000000
		       ? 0
		       : -EINVAL;
}

static int usage(void)
{
	fprintf(stderr, "usage: trace-scheduler [--policy=NAME] [--first-seed=N] [--last-seed=N]\n"
			"                       [--arrived-pct=N] NODES.csv PODS.csv\n"
			"numbers are at most 1000000; policies:");
	for (size_t i = 0; i < n_policies; i++)
		fprintf(stderr, " %s", policies[i].name);
	fputs("\n", stderr);
	return -EINVAL;
}

static int parse_options(int argc, char **argv, struct options *opts)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "first-seed", required_argument, NULL, 'f' },
		{ "last-seed", required_argument, NULL, 'l' },
		{ "arrived-pct", required_argument, NULL, 'a' },
		{ 0 },
	};
	int c, r = 0;

	*opts = (struct options){ .first_seed = 42, .last_seed = 51, .arrived_pct = 130 };
	while (r == 0 && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'p')
			opts->policy = optarg;
		else if (c == 'f')
			r = parse_number(optarg, &opts->first_seed);
		else if (c == 'l')
			r = parse_number(optarg, &opts->last_seed);
		else if (c == 'a')
			r = parse_number(optarg, &opts->arrived_pct);
		else
			r = -EINVAL;
	}
	if (r < 0 || argc - optind != 2 || opts->last_seed < opts->first_seed)
		return usage();
	return 0;
}

int main(int argc, char **argv)
{
	struct options opts;
	struct trace trace = { 0 };
	size_t n_run = 0;
	int r;

	if (parse_options(argc, argv, &opts) < 0)
		return EXIT_FAILURE;
	r = trace_read(argv[optind], argv[optind + 1], &trace);
	if (r < 0)
		return EXIT_FAILURE;
	for (size_t i = 0; r == 0 && i < n_policies; i++)
		if (!opts.policy || strcmp(opts.policy, policies[i].name) == 0) {
			r = run(&trace, &policies[i], &opts);
			n_run++;
		}
	trace_done(&trace);
	if (n_run == 0)
		r = usage();
	if (r < 0)
		fprintf(stderr, "trace-scheduler: %s\n", hamidp_strerror(r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
