/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A plan in words, fit for a shell. Only names that Kubernetes would accept become part of a
 * command; everything else stands in comments, free of line breaks.
 */

#include <errno.h>
#include <string.h>

#include "buffer.h"
#include "plan.h"
#include "text.h"

#define LABEL_MAX 317U /* a namespace of 63 bytes, a pod of 253 */

/* What a plan is written with. */
struct writer {
	struct hdp_buffer out;
	const struct hamidp_plan *plan;
	const char *(*label)(const char *holder, void *userdata);
	void *userdata;
};

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Lower-case letters, digits, '-' and (@dots) '.', with a letter or digit at both ends. */
static bool is_kube_name(const char *name, size_t len, size_t max, bool dots)
{
	if (len == 0 || len > max || !is_alnum(name[0]) || !is_alnum(name[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_alnum(name[i]) && name[i] != '-' && !(dots && name[i] == '.'))
			return false;
	return true;
}

/* "namespace/pod", into @ret; false: there is none, or one that must not get near a shell. */
static bool get_pod(const struct writer *w, const char *holder, char ret[LABEL_MAX + 1])
{
	const char *label = w->label ? w->label(holder, w->userdata) : NULL;
	const char *slash = label ? strchr(label, '/') : NULL;
	size_t len = label ? strnlen(label, LABEL_MAX + 1) : 0;

	if (!slash || len > LABEL_MAX)
		return false;
	if (!is_kube_name(label, (size_t)(slash - label), 63, false) ||
	    !is_kube_name(slash + 1, strlen(slash + 1), 253, true))
		return false;
	memcpy(ret, label, len + 1);
	return true;
}

/* Was this pod named by a move before the @n-th? */
static bool is_told(const struct writer *w, const char *pod, size_t n)
{
	char before[LABEL_MAX + 1];

	for (size_t i = 0; i < n; i++)
		if (get_pod(w, hamidp_plan_move_holder(w->plan, i), before) &&
		    strcmp(before, pod) == 0)
			return true;
	return false;
}

static const char *uuid_of(const struct writer *w, size_t pos)
{
	return w->plan->layout->inv->devices[pos].info.uuid;
}

static void put_slots(struct writer *w, uint32_t n)
{
	hdp_buffer_number(&w->out, n);
	hdp_buffer_put(&w->out, n == 1 ? " slot" : " slots");
}

static void put_holder(struct writer *w, const char *holder)
{
	char text[HAMIDP_HOLDER_MAX + 1];

	memcpy(text, holder, strlen(holder) + 1);
	hdp_text_clean(text);
	hdp_buffer_put(&w->out, text);
}

/* "kubectl delete pod -n NAMESPACE POD", or a comment. */
static void put_eviction(struct writer *w, size_t i)
{
	const char *holder = hamidp_plan_move_holder(w->plan, i);
	char pod[LABEL_MAX + 1], *slash;

	if (!get_pod(w, holder, pod)) {
		hdp_buffer_put(&w->out, "# holder ");
		put_holder(w, holder);
		hdp_buffer_put(&w->out, ":");
	} else if (is_told(w, pod, i)) {
		hdp_buffer_put(&w->out, "# with pod ");
		hdp_buffer_put(&w->out, pod);
		hdp_buffer_put(&w->out, ":");
	} else {
		slash = strchr(pod, '/');
		*slash = '\0';
		hdp_buffer_put(&w->out, "kubectl delete pod -n ");
		hdp_buffer_put(&w->out, pod);
		hdp_buffer_put(&w->out, " ");
		hdp_buffer_put(&w->out, slash + 1);
		hdp_buffer_put(&w->out, "   #");
	}
}

static void put_move(struct writer *w, size_t i)
{
	put_eviction(w, i);
	hdp_buffer_put(&w->out, " frees ");
	put_slots(w, hamidp_plan_move_n_slots(w->plan, i));
	hdp_buffer_put(&w->out, " of ");
	hdp_buffer_put(&w->out, uuid_of(w, hamidp_plan_move_from(w->plan, i)));
	hdp_buffer_put(&w->out, "; fits on ");
	hdp_buffer_put(&w->out, uuid_of(w, hamidp_plan_move_to(w->plan, i)));
	hdp_buffer_put(&w->out, " afterwards\n");
}

/* "8 slots of hami.com/vgpu", "2 devices with 4 slots of hami.com/vgpu" */
static void put_request(struct writer *w)
{
	const struct hamidp_plan *plan = w->plan;

	if (plan->n_devices > 0) {
		hdp_buffer_number(&w->out, plan->n_devices);
		hdp_buffer_put(&w->out, plan->n_devices == 1 ? " device with " : " devices with ");
	}
	put_slots(w, plan->units);
	hdp_buffer_put(&w->out, " of ");
	hdp_buffer_put(&w->out, plan->layout->resources[plan->resource].name);
}

static void put_summary(struct writer *w)
{
	const struct hamidp_plan *plan = w->plan;

	hdp_buffer_put(&w->out, "# ");
	put_request(w);
	if (!plan->possible) {
		hdp_buffer_put(&w->out, ": no moves were found that make room");
	} else if (plan->n_moves == 0) {
		hdp_buffer_put(&w->out, ": there is room without a move");
	} else {
		hdp_buffer_put(&w->out, ": ");
		hdp_buffer_number(&w->out, plan->n_moves);
		hdp_buffer_put(&w->out, plan->n_moves == 1 ? " move makes" : " moves make");
		hdp_buffer_put(&w->out, " room, one after the other");
	}
	hdp_buffer_put(&w->out, "; the largest such request has ");
	put_slots(w, plan->largest_before);
	if (plan->n_moves > 0) {
		hdp_buffer_put(&w->out, " now and ");
		hdp_buffer_number(&w->out, plan->largest_after);
		hdp_buffer_put(&w->out, " then");
	}
	hdp_buffer_put(&w->out, "\n");
}

static void put_pinned(struct writer *w, size_t i)
{
	const char *holder = hamidp_plan_pinned_holder(w->plan, i);
	char pod[LABEL_MAX + 1];

	hdp_buffer_put(&w->out, "# stays: ");
	if (get_pod(w, holder, pod)) {
		hdp_buffer_put(&w->out, "pod ");
		hdp_buffer_put(&w->out, pod);
	} else {
		hdp_buffer_put(&w->out, "holder ");
		put_holder(w, holder);
	}
	hdp_buffer_put(&w->out, ", ");
	hdp_buffer_put(&w->out, hamidp_pin_to_string(hamidp_plan_pinned_why(w->plan, i)));
	hdp_buffer_put(&w->out, "\n");
}

HAMIDP_EXPORT int hamidp_plan_to_text(const struct hamidp_plan *plan,
				      const char *(*label)(const char *holder, void *userdata),
				      void *userdata, char **ret_text, size_t *ret_len)
{
	struct writer w = { .plan = plan, .label = label, .userdata = userdata };
	char *text;

	if (!plan->layout)
		return -EINVAL;
	put_summary(&w);
	for (size_t i = 0; i < plan->n_moves; i++)
		put_move(&w, i);
	for (size_t i = 0; i < plan->n_pinned; i++)
		put_pinned(&w, i);
	text = hdp_buffer_take(&w.out, ret_len);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}
