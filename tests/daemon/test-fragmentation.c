/* SPDX-License-Identifier: Apache-2.0 */
/* hami-dp as a process: what the kubelet's list looks like while the cards fill up unevenly. */
#include <stdio.h>
#include <string.h>

#include "daemon-fixture.h"

static struct daemon_fixture fix;

static void setup(void)
{
	daemon_setup(&fix);
	fixture_write_machine(&fix.node, daemon_four_cards, 2);
	fake_up();
}

static void teardown(void)
{
	daemon_teardown(&fix);
}

/* The first @n slots of a card, then the first @m of another, in one request. */
static struct client_call *ask(const char *card, unsigned n, const char *other, unsigned m)
{
	const char *ids[16];
	char texts[16][16];

	for (unsigned i = 0; i < n + m; i++) {
		(void)snprintf(texts[i], sizeof(texts[i]), "%s::%u", i < n ? card : other,
			       i < n ? i : 7 - (i - n));
		ids[i] = texts[i];
	}
	return daemon_allocate(&fix, ids, n + m);
}

static void take(const char *card, unsigned n)
{
	struct client_call *call = ask(card, n, "", 0);

	ck_assert_msg(call->status == RPC_OK, "%s", call->text);
	client_call_free(call);
}

START_TEST(placeable_list_follows_every_grant)
{
	unsigned n_before;

	daemon_start(&fix, &fix.first, "--publish=placeable", NULL);
	daemon_wait_for_list(&fix, 16, 16);
	n_before = fake.watch->n_messages;
	take("GPU-a", 5);
	daemon_wait_for_list(&fix, 16, 13);
	ck_assert_uint_eq(fake.watch->n_messages, n_before + 1);
	daemon_wait_for_words(&fix, "16 slots, 13 healthy, 3 withheld");
	take("GPU-b", 6);
	daemon_wait_for_list(&fix, 16, 14);
	ck_assert_uint_eq(fake.watch->n_messages, n_before + 2);
	/* An equal list is not sent again: the next frame is that of the change after it. */
	take("GPU-b", 6);
	take("GPU-b", 8);
	daemon_wait_for_list(&fix, 16, 16);
	ck_assert_uint_eq(fake.watch->n_messages, n_before + 3);
	/* The last of them took what was withheld, and that is said. */
	daemon_wait_for_words(&fix, "sent as Unhealthy (2 withheld, 0 held down)");
}
END_TEST

START_TEST(a_refusal_holds_slots_down)
{
	struct client_call *call;

	daemon_start(&fix, &fix.first, NULL, NULL);
	daemon_wait_for_list(&fix, 16, 16);
	take("GPU-a", 5);
	take("GPU-b", 5);
	call = ask("GPU-a", 3, "GPU-b", 1);
	ck_assert_int_eq(call->status, RPC_FAILED_PRECONDITION);
	ck_assert_ptr_nonnull(strstr(call->text, "at most 3 in one request"));
	client_call_free(call);
	daemon_wait_for_list(&fix, 16, 13);
	daemon_wait_for_words(&fix, "16 slots, 13 healthy, 3 held down");
	take("GPU-a", 8); /* what was left there: no more than 3 are free now */
	daemon_wait_for_list(&fix, 16, 16);
}
END_TEST

START_TEST(all_slots_stay_while_holders_are_not_known)
{
	char *path = test_path(fix.plugin_dir, "kubelet_internal_checkpoint");
	FILE *out = fopen(path, "we");

	ck_assert_ptr_nonnull(out);
	ck_assert_int_ge(fputs("{\"Data\":{\"PodDeviceEntries\":[{\"ResourceName\":"
			       "\"hami.com/vgpu\"}]}}",
			       out),
			 0);
	ck_assert_int_eq(fclose(out), 0);
	free(path);
	daemon_start(&fix, &fix.first, "--publish=placeable", NULL);
	daemon_wait_for_list(&fix, 16, 16);
	take("GPU-a", 5);
	daemon_wait_for_words(&fix, "grant ");
	ck_assert_ptr_nonnull(strstr(process_output(&fix.first), "which ones is not known"));
	ck_assert_ptr_null(strstr(process_output(&fix.first), "withheld"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fragmentation");
	TCase *tcase = tcase_create("fragmentation");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, placeable_list_follows_every_grant);
	tcase_add_test(tcase, a_refusal_holds_slots_down);
	tcase_add_test(tcase, all_slots_stay_while_holders_are_not_known);
	suite_add_tcase(suite, tcase);
	return test_main(suite);
}
