/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Explanations: a placement is made as ever, and then each device that was not chosen takes the
 * place of each one that was, to see what that would have cost.
 */

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include <hami/explain.h>

#include "place.h"
#include "reason.h"

struct row {
	size_t pos, instead_of;
	enum hamidp_verdict verdict;
	uint32_t n_free, n_slots;
	int64_t load, room, quality;
};

struct hamidp_explanation {
	struct hamidp_layout *layout; /* NULL: empty */
	enum hamidp_placement placement;
	struct row *rows;
	size_t n, cap;
};

HAMIDP_EXPORT int hamidp_explanation_new(struct hamidp_explanation **ret)
{
	struct hamidp_explanation *explanation = calloc(1, sizeof(*explanation));

	if (!explanation)
		return -ENOMEM;
	*ret = explanation;
	return 0;
}

HAMIDP_EXPORT struct hamidp_explanation *hamidp_explanation_free(
	struct hamidp_explanation *explanation)
{
	if (!explanation)
		return NULL;
	hamidp_layout_unref(explanation->layout);
	free(explanation->rows);
	free(explanation);
	return NULL;
}

static int reserve(struct hamidp_explanation *explanation, size_t n)
{
	struct row *rows;

	if (n <= explanation->cap)
		return 0;
	rows = reallocarray(explanation->rows, n, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	explanation->rows = rows;
	explanation->cap = n;
	return 0;
}

static void set_terms(const struct hdp_place_call *call, const struct hdp_terms *terms,
		      struct row *row)
{
	row->load = terms->load / (int64_t)call->rules.slots;
	row->room = terms->room / (int64_t)call->rules.slots;
	row->quality = terms->quality / (int64_t)call->rules.slots;
}

static struct hdp_cost cost_of(const struct hdp_place_call *call, const struct hdp_terms *terms)
{
	struct hdp_cost cost = { .cost = terms->load + terms->room + terms->quality };

	if (call->goal.placement == HAMIDP_PLACEMENT_TOPOLOGY)
		cost.first = terms->quality;
	return cost;
}

/* Give card @i the part of each chosen card in turn, and remember where that costs least. */
static void try_instead(const struct hdp_place_call *call, size_t i, struct row *row)
{
	struct hdp_card *cards = call->decision->cards;
	uint32_t *set = call->decision->numbers + HDP_SPARE_ARRAYS * call->layout->inv->n_devices;
	struct hdp_cost least = { 0 };
	bool required = false;

	for (size_t k = 0; k < call->n_cards; k++) {
		uint32_t part = cards[k].part, own = call->req->by_amount ? cards[i].need : part;
		struct hdp_terms terms;

		required = required || cards[k].min > 0;
		if (part == 0 || cards[k].min > 0 || cards[i].cap < own)
			continue;
		cards[k].part = 0;
		cards[i].part = own;
		terms = hdp_goal_weigh(&call->goal, cards, call->n_cards, set);
		cards[i].part = 0;
		cards[k].part = part;
		if (row->instead_of != HAMIDP_NO_DEVICE &&
		    !hdp_cost_less(cost_of(call, &terms), least))
			continue;
		least = cost_of(call, &terms);
		row->instead_of = cards[k].pos;
		row->n_slots = own;
		set_terms(call, &terms, row);
	}
	if (row->instead_of == HAMIDP_NO_DEVICE)
		row->verdict = required ? HAMIDP_VERDICT_NOT_REQUIRED : HAMIDP_VERDICT_NO_ROOM;
	else
		row->verdict = hdp_cost_less(cost_of(call, &call->terms), least)
				       ? HAMIDP_VERDICT_COSTS_MORE
				       : HAMIDP_VERDICT_EQUAL;
}

/* A device that was counted, whether chosen or not. */
static void explain_card(const struct hdp_place_call *call, size_t i, bool placed, struct row *row)
{
	const struct hdp_card *card = &call->decision->cards[i];

	row->n_free = card->free;
	if (placed && card->part > 0) {
		row->verdict = HAMIDP_VERDICT_CHOSEN;
		row->n_slots = card->part;
		set_terms(call, &call->terms, row);
	} else if (placed) {
		try_instead(call, i, row);
	} else {
		row->verdict =
			card->cap < card->need ? HAMIDP_VERDICT_NO_ROOM : HAMIDP_VERDICT_NO_FORM;
	}
}

static void explain_device(const struct hdp_place_call *call, size_t pos, bool placed,
			   struct row *row)
{
	const struct hdp_device_info *info = &call->layout->inv->devices[pos].info;

	*row = (struct row){ .pos = pos, .instead_of = HAMIDP_NO_DEVICE };
	for (size_t i = 0; i < call->n_cards; i++)
		if (call->decision->cards[i].pos == pos) {
			explain_card(call, i, placed, row);
			return;
		}
	if (info->health != HAMIDP_HEALTH_HEALTHY)
		row->verdict = HAMIDP_VERDICT_NOT_HEALTHY;
	else if (call->req->numa_node >= 0 && info->numa_node != call->req->numa_node)
		row->verdict = HAMIDP_VERDICT_OTHER_NUMA;
	else
		row->verdict = HAMIDP_VERDICT_NO_ROOM;
}

static void clear(struct hamidp_explanation *explanation)
{
	explanation->layout = hamidp_layout_unref(explanation->layout);
	explanation->n = 0;
}

HAMIDP_EXPORT int hamidp_explain(const struct hamidp_layout *layout,
				 const struct hamidp_occupancy *occ,
				 const struct hamidp_request *req, struct hamidp_decision *decision,
				 struct hamidp_explanation *explanation,
				 struct hamidp_reason *reason)
{
	struct hdp_place_call call = { .layout = layout, .req = req, .decision = decision };
	int r;

	clear(explanation);
	if (reserve(explanation, layout->inv->n_devices) < 0)
		return hdp_oom(reason);
	r = hdp_place(&call, occ, reason);
	if (r < 0 && r != -ENOSPC)
		return r;
	for (size_t pos = 0; pos < layout->inv->n_devices; pos++)
		if (layout->devices[pos].resource == req->resource)
			explain_device(&call, pos, r == 0, &explanation->rows[explanation->n++]);
	/* Only its count of references changes. */
	explanation->layout = hamidp_layout_ref((struct hamidp_layout *)layout);
	explanation->placement = call.rules.placement;
	return r;
}

HAMIDP_EXPORT size_t hamidp_explanation_n_candidates(const struct hamidp_explanation *explanation)
{
	return explanation->n;
}

static const struct row *row_at(const struct hamidp_explanation *explanation, size_t i)
{
	static const struct row none = { .pos = HAMIDP_NO_DEVICE, .instead_of = HAMIDP_NO_DEVICE };

	return i < explanation->n ? &explanation->rows[i] : &none;
}

#define ROW_GETTER(type, name, value)                                                              \
	HAMIDP_EXPORT type hamidp_explanation_##name(const struct hamidp_explanation *explanation, \
						     size_t i)                                     \
	{                                                                                          \
		const struct row *row = row_at(explanation, i);                                    \
                                                                                                   \
		return value;                                                                      \
	}
ROW_GETTER(size_t, device, row->pos)
ROW_GETTER(enum hamidp_verdict, verdict, row->verdict)
ROW_GETTER(uint32_t, n_free, row->n_free)
ROW_GETTER(uint32_t, n_slots, row->n_slots)
ROW_GETTER(size_t, instead_of, row->instead_of)
ROW_GETTER(int64_t, load, row->load)
ROW_GETTER(int64_t, room, row->room)
ROW_GETTER(int64_t, quality, row->quality)
ROW_GETTER(int64_t, cost, row->load + row->room + row->quality)

HAMIDP_EXPORT const char *hamidp_verdict_to_string(enum hamidp_verdict verdict)
{
	static const char *const names[] = {
		[HAMIDP_VERDICT_CHOSEN] = "chosen",
		[HAMIDP_VERDICT_COSTS_MORE] = "costs-more",
		[HAMIDP_VERDICT_EQUAL] = "equal",
		[HAMIDP_VERDICT_NO_ROOM] = "no-room",
		[HAMIDP_VERDICT_NOT_HEALTHY] = "not-healthy",
		[HAMIDP_VERDICT_OTHER_NUMA] = "other-numa",
		[HAMIDP_VERDICT_NOT_REQUIRED] = "not-required",
		[HAMIDP_VERDICT_NO_FORM] = "no-form",
	};

	return (size_t)verdict < ARRAY_SIZE(names) && names[verdict] ? names[verdict] : "unknown";
}

/* A cost in millionths of a slot. */
static json_int_t millionths(int64_t cost)
{
	return (json_int_t)((__int128)cost * 1000000 / HAMIDP_COST_ONE);
}

static json_t *row_to_json(const struct hamidp_explanation *explanation, const struct row *row)
{
	const struct hamidp_device *devices = explanation->layout->inv->devices;
	json_t *json =
		json_pack("{s:s, s:s, s:I}", "device", devices[row->pos].info.uuid, "verdict",
			  hamidp_verdict_to_string(row->verdict), "free", (json_int_t)row->n_free);

	if (!json || row->n_slots == 0)
		return json;
	if (row->instead_of != HAMIDP_NO_DEVICE &&
	    json_object_set_new(json, "instead_of",
				json_string(devices[row->instead_of].info.uuid)) < 0) {
		json_decref(json);
		return NULL;
	}
	if (json_object_set_new(json, "slots", json_integer(row->n_slots)) < 0 ||
	    json_object_set_new(json, "load", json_integer(millionths(row->load))) < 0 ||
	    json_object_set_new(json, "room", json_integer(millionths(row->room))) < 0 ||
	    json_object_set_new(json, "quality", json_integer(millionths(row->quality))) < 0 ||
	    json_object_set_new(json, "cost",
				json_integer(millionths(row->load + row->room + row->quality))) <
		    0) {
		json_decref(json);
		return NULL;
	}
	return json;
}

/* Not json_dumps(): where its buffer cannot grow, it may leave out a key and say nothing. */
static char *dump(const json_t *json)
{
	size_t len = json_dumpb(json, NULL, 0, JSON_COMPACT);
	char *text = len > 0 ? malloc(len + 1) : NULL;

	if (text && json_dumpb(json, text, len, JSON_COMPACT) != len) {
		free(text);
		return NULL;
	}
	if (text)
		text[len] = '\0';
	return text;
}

HAMIDP_EXPORT int hamidp_explanation_to_json(const struct hamidp_explanation *explanation,
					     char **ret_text)
{
	json_t *list = json_array(), *json;
	char *text = NULL;

	for (size_t i = 0; list && i < explanation->n; i++)
		if (json_array_append_new(list, row_to_json(explanation, &explanation->rows[i])) <
		    0) {
			json_decref(list);
			list = NULL;
		}
	json = list ? json_pack("{s:s, s:s, s:o}", "schema", "hami.explanation/1", "placement",
				hamidp_placement_to_string(explanation->placement), "candidates",
				list)
		    : NULL;
	if (json)
		text = dump(json);
	json_decref(json);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}
