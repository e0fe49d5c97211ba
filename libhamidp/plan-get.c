/* SPDX-License-Identifier: Apache-2.0 */

/* Reading a plan. */

#include "plan.h"

HAMIDP_EXPORT size_t hamidp_plan_n_moves(const struct hamidp_plan *plan)
{
	return plan->n_moves;
}

HAMIDP_EXPORT const char *hamidp_plan_move_holder(const struct hamidp_plan *plan, size_t i)
{
	return i < plan->n_moves ? plan->names + plan->moves[i].name : NULL;
}

HAMIDP_EXPORT uint32_t hamidp_plan_move_n_slots(const struct hamidp_plan *plan, size_t i)
{
	return i < plan->n_moves ? plan->moves[i].n_slots : 0;
}

HAMIDP_EXPORT size_t hamidp_plan_move_from(const struct hamidp_plan *plan, size_t i)
{
	return i < plan->n_moves ? plan->moves[i].from : 0;
}

HAMIDP_EXPORT size_t hamidp_plan_move_to(const struct hamidp_plan *plan, size_t i)
{
	return i < plan->n_moves ? plan->moves[i].to : 0;
}

HAMIDP_EXPORT int hamidp_plan_is_minimal(const struct hamidp_plan *plan)
{
	return plan->minimal;
}

HAMIDP_EXPORT size_t hamidp_plan_n_targets(const struct hamidp_plan *plan)
{
	return plan->n_targets;
}

HAMIDP_EXPORT size_t hamidp_plan_target(const struct hamidp_plan *plan, size_t i)
{
	return i < plan->n_targets ? plan->targets[i] : 0;
}

HAMIDP_EXPORT uint32_t hamidp_plan_largest_before(const struct hamidp_plan *plan)
{
	return plan->largest_before;
}

HAMIDP_EXPORT uint32_t hamidp_plan_largest_after(const struct hamidp_plan *plan)
{
	return plan->largest_after;
}

HAMIDP_EXPORT size_t hamidp_plan_n_pinned(const struct hamidp_plan *plan)
{
	return plan->n_pinned;
}

HAMIDP_EXPORT const char *hamidp_plan_pinned_holder(const struct hamidp_plan *plan, size_t i)
{
	return i < plan->n_pinned ? plan->names + plan->pinned[i].name : NULL;
}

HAMIDP_EXPORT enum hamidp_pin hamidp_plan_pinned_why(const struct hamidp_plan *plan, size_t i)
{
	return i < plan->n_pinned ? plan->pinned[i].why : (enum hamidp_pin)0;
}

HAMIDP_EXPORT const char *hamidp_pin_to_string(enum hamidp_pin why)
{
	static const char *const texts[] = {
		[HAMIDP_PIN_SEVERAL_DEVICES] = "it holds slots of several devices",
		[HAMIDP_PIN_ASKED] = "it is pinned",
		[HAMIDP_PIN_NOT_HEALTHY] = "its device is not healthy",
	};

	return (size_t)why < ARRAY_SIZE(texts) && texts[why] ? texts[why] : "unknown";
}
