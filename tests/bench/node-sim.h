/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of the node simulator share: one node, requests of n cards x s slots that arrive,
 * stay for a while and leave, and policies that choose cards for them. A card is its position.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hami/hamidp.h>

#define CARDS_MAX 16U
#define CLASSES_MAX 64U
#define SEEDS_MAX 64U

/* splitmix64 */
struct random {
	uint64_t state;
};
uint64_t random_next(struct random *rnd);
uint32_t random_below(struct random *rnd, uint32_t n);
double random_exponential(struct random *rnd, double mean);

/* A mix of requests, from a file "NAME.S" of lines "cards slots weight"; S slots a card. */
struct mix_class {
	uint32_t n_cards;
	uint32_t slots; /* on each card */
	uint32_t weight;
};
struct mix {
	char name[64];
	uint32_t slots; /* of a card */
	struct mix_class classes[CLASSES_MAX];
	size_t n_classes;
};
int mix_read(const char *dir, const char *name, struct mix *ret);
/* Leave out what no node of @n_cards can serve. */
void mix_restrict(struct mix *mix, uint32_t n_cards);
/* Share of requests for @n_cards cards, in ppm. */
uint32_t mix_share_ppm(const struct mix *mix, uint32_t n_cards);

struct arrival {
	double at;
	double leaves_at;
	uint32_t n_cards;
	uint32_t slots; /* on each card */
};
/* The same @seed gives the same arrivals, whatever policy will meet them. */
int arrivals_make(const struct mix *mix, uint32_t n_cards, double load, uint64_t seed, size_t n,
		  struct arrival **ret);

struct machine {
	char name[64];
	struct hamidp_inventory *inv;
	uint32_t n_cards;
	uint32_t best[CARDS_MAX + 1]; /* best sum of weights of a set of so many cards, 2 and 4 */
	uint32_t weight[CARDS_MAX][CARDS_MAX];
	int32_t numa[CARDS_MAX];
};
/* A bundled machine by name, or equal cards that no link is known of. */
int machine_open(const char *name, struct machine *ret);
int machine_plain(uint32_t n_cards, struct machine *ret);
void machine_done(struct machine *machine);
/* Sum of weights over the pairs of a set of cards. */
uint32_t machine_score(const struct machine *machine, uint32_t cards);

struct bound;	/* what the bounds know; node-sim-bound.c */
struct library; /* what a policy of the library needs; node-sim-library.c */

/* What has to be published of each card, largest first; node-sim-publish.c. */
struct publish_row {
	uint32_t parts[CARDS_MAX];
	uint32_t sum;
};

/* A node under one policy. */
struct node {
	const struct machine *machine;
	uint32_t n_cards;
	uint32_t slots; /* of a card */
	uint32_t free[CARDS_MAX];
	/* Free slots that are published. If not all are, a request names a sum of slots. */
	uint32_t visible[CARDS_MAX];
	struct library *library;	   /* NULL: not the library's policy */
	struct publish_row *publish_table; /* by published slots; NULL: everything is */
	struct bound *bound;		   /* NULL: not one of the bounds */
	const struct arrival *arrivals_end;
	struct random rnd;
	uint64_t n_misjudged;
};

struct policy {
	const char *name;
	bool is_library;
	bool is_bound; /* knows what no node does; run only when named */
	enum hamidp_placement placement;
	/*
	 * Choose: how many slots of each card. 0, -ENOSPC or another errno. The library holds what
	 * it chose; the others only choose.
	 */
	int (*choose)(struct node *node, const struct arrival *arrival, uint64_t holder,
		      uint32_t *ret_parts);
};
extern const struct policy policies[];
extern const size_t n_policies;

int library_new(const struct machine *machine, const struct mix *mix, const struct policy *policy,
		struct library **ret);
struct library *library_free(struct library *library);
int library_choose(struct node *node, const struct arrival *arrival, uint64_t holder,
		   uint32_t *ret_parts);
/* What the library publishes under "placeable", slots of each card. */
int library_publish(struct library *library, uint32_t *ret_visible);
int library_release(struct library *library, uint64_t holder);

/* For a node of at most 8 cards, else -EINVAL; free() it. */
int bound_new(const struct node *node, struct bound **ret);
int bound_local_pairs(struct node *node, const struct arrival *arrival, uint64_t holder,
		      uint32_t *ret_parts);
int bound_departures(struct node *node, const struct arrival *arrival, uint64_t holder,
		     uint32_t *ret_parts);
int bound_foresight(struct node *node, const struct arrival *arrival, uint64_t holder,
		    uint32_t *ret_parts);

int publish_table(uint32_t slots, uint32_t n_cards, struct publish_row **ret);
/* Slots that a list under "placeable" shows of each card. */
void publish_placeable(struct node *node);

/* What a request of so many slots takes of each card in the best form, largest first. */
uint32_t normal_form(uint32_t units, uint32_t slots, uint32_t n_cards, uint32_t *ret_parts);

struct tally {
	double refused_pct;   /* of the requests */
	double effective_pct; /* refused, or granted in another spread than asked for */
	double useful_pct;    /* of the slots asked for, those granted as asked */
	uint64_t n_straddled;
	uint64_t n_sent_failed; /* the published sum sufficed, the node refused */
	uint64_t n_misjudged;	/* the library published another number than was counted here */
	double q2, q4;		/* mean score of a grant / best of the empty node; < 0: no grants */
	double numa2_pct;	/* of the grants of two cards, those on one NUMA node */
};

struct scenario {
	const struct machine *machine;
	const struct mix *mix;
	double load;
	bool publishes; /* publish=placeable; else all */
};
/* One policy, one seed. */
int simulate(const struct scenario *scenario, const struct policy *policy, uint64_t seed,
	     const struct arrival *arrivals, size_t n, struct tally *ret);

struct options {
	const char *mixes; /* directory */
	const char *mix;
	const char *machine; /* NULL: plain cards */
	const char *policy;  /* NULL: all */
	uint64_t n_cards, load_pct, n_seeds, n_arrivals;
	bool publishes, full, smoke;
};

/* Mean over the seeds, and how far from the first policy. */
struct summary {
	struct tally mean;
	double behind; /* points of effective refusals behind best-fit */
	double behind_se;
};

/* What becomes of a scenario: one summary for each policy. */
typedef void (*report_fn)(const struct scenario *scenario, const struct policy *policy,
			  size_t n_seeds, const struct summary *summary);
int compare_policies(const struct options *opts, const struct machine *machine,
		     const char *mix_name, uint64_t load_pct, bool publishes, report_fn report);

/* Check what must hold on a few scenarios, in TAP; false if something does not. */
bool smoke(const struct options *opts);
