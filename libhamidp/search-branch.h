/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Between the two files of the search. */

#include "search.h"

/* Weigh a whole set (bits are candidates) and keep it if it is better than the best. */
void hdp_search_offer(struct hdp_search *search, uint64_t set);
/* Try every set, as far as the budget goes. */
void hdp_search_branch(struct hdp_search *search);
