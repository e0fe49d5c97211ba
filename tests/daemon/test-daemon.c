/* SPDX-License-Identifier: Apache-2.0 */
/* hami-dp as a process: a kubelet that has its list, through faults and restarts. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon-fixture.h"
#include "deviceplugin.pb-c.h"
#include "endpoint-call.h"

static struct daemon_fixture fix;

static void setup(void)
{
	daemon_setup(&fix);
}

static void teardown(void)
{
	daemon_teardown(&fix);
}

START_TEST(kubelet_gets_the_list)
{
	fake_up();
	daemon_start(&fix, &fix.first, NULL, NULL);
	daemon_wait_for_list(&fix, 32, 32);
	ck_assert_str_eq(fake.resource_name, "hami.com/vgpu");
	ck_assert_str_eq(fake.endpoint, "hami.com_vgpu.sock");
	ck_assert(fake.preferred);
	ck_assert(!fake.pre_start);
	ck_assert_uint_eq(fake.n_registers, 1);
}
END_TEST

START_TEST(failing_card_is_one_frame)
{
	struct fixture_card cards[4];
	unsigned n_before;

	memcpy(cards, daemon_four_cards, sizeof(cards));
	fake_up();
	daemon_start(&fix, &fix.first, NULL, NULL);
	daemon_wait_for_list(&fix, 32, 32);
	n_before = fake.watch->n_messages;
	cards[1].health = "unhealthy";
	fixture_write_machine(&fix.node, cards, 4);
	daemon_wait_for_list(&fix, 32, 24);
	ck_assert_uint_eq(fake.watch->n_messages, n_before + 1);
	cards[1].health = "healthy";
	fixture_write_machine(&fix.node, cards, 4);
	daemon_wait_for_list(&fix, 32, 32);
	ck_assert_uint_eq(fake.watch->n_messages, n_before + 2);
	ck_assert_uint_eq(fake.n_registers, 1);
}
END_TEST

START_TEST(new_cards_appear)
{
	fixture_write_machine(&fix.node, daemon_four_cards, 2);
	fake_up();
	daemon_start(&fix, &fix.first, NULL, NULL);
	daemon_wait_for_list(&fix, 16, 16);
	fixture_write_machine(&fix.node, daemon_four_cards, 4);
	daemon_wait_for_list(&fix, 32, 32);
	ck_assert_uint_eq(fake.n_registers, 1);
}
END_TEST

START_TEST(kubelet_restart_is_survived)
{
	fake_up();
	daemon_start(&fix, &fix.first, NULL, NULL);
	daemon_wait_for_list(&fix, 32, 32);
	fake_down();
	fake_wipe();
	fake_up();
	daemon_wait_for_list(&fix, 32, 32);
	ck_assert_uint_eq(fake.n_registers, 2);
	ck_assert(!fake.overlapped);
}
END_TEST

static struct client_call *allocate(const char *const *ids, size_t n_ids)
{
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[] = { &container };
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	struct client_call *call;
	uint8_t bytes[512];

	container.devices_ids = (char **)(uintptr_t)ids; /* packed, not written to */
	container.n_devices_ids = n_ids;
	request.container_requests = containers;
	request.n_container_requests = 1;
	ck_assert_uint_le(v1beta1__allocate_request__get_packed_size(&request), sizeof(bytes));
	call = client_call(fake.client, endpoint_methods[ENDPOINT_ALLOCATE], bytes,
			   v1beta1__allocate_request__pack(&request, bytes), 0, false);
	ck_assert(test_run_until(fix.event, client_is_done, call, WAIT_MS));
	return call;
}

START_TEST(container_gets_its_slices)
{
	const char *const ids[] = { "GPU-b::2", "GPU-b::1" };
	V1beta1__AllocateResponse *response;
	struct client_call *call;
	const char *uuid = NULL;

	fake_up();
	daemon_start(&fix, &fix.first, "--v=6", NULL);
	daemon_wait_for_list(&fix, 32, 32);
	call = allocate(ids, 2);
	ck_assert_int_eq(call->status, RPC_OK);
	response = v1beta1__allocate_response__unpack(NULL, call->message_len, call->message);
	ck_assert_ptr_nonnull(response);
	ck_assert_uint_eq(response->n_container_responses, 1);
	for (size_t i = 0; i < response->container_responses[0]->n_envs; i++)
		if (!strcmp(response->container_responses[0]->envs[i]->key, "HAMI_VGPU_UUID"))
			uuid = response->container_responses[0]->envs[i]->value;
	ck_assert_pstr_eq(uuid, "GPU-b::1,GPU-b::2");
	v1beta1__allocate_response__free_unpacked(response, NULL);
	client_call_free(call);
	ck_assert_ptr_nonnull(strstr(process_output(&fix.first), "env HAMI_VGPU_UUID=GPU-b::1,"));
}
END_TEST

START_TEST(refusal_reaches_the_pod)
{
	const char *const ids[] = { "GPU-z::0" };
	struct client_call *call;

	fake_up();
	daemon_start(&fix, &fix.first, NULL, NULL);
	daemon_wait_for_list(&fix, 32, 32);
	call = allocate(ids, 1);
	ck_assert_int_eq(call->status, RPC_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(call->text, "GPU-z::0"));
	client_call_free(call);
}
END_TEST

START_TEST(watcher_announces_itself)
{
	char *registry = test_path(fix.node.dir, "plugins_registry");
	char *paths[2] = { test_path(fix.plugin_dir, "hami.com_vgpu.sock"),
			   test_path(registry, "hami.com_vgpu.sock") };

	ck_assert_int_eq(mkdir(registry, 0700), 0);
	fake_up();
	daemon_start(&fix, &fix.first, "--registration=watcher", NULL);
	daemon_wait_for_files(&fix, paths[0], paths[1]);
	process_signal(&fix.first, SIGTERM);
	daemon_wait_for_end(&fix, &fix.first, 0);
	ck_assert_uint_eq(test_n_entries(registry), 0);
	ck_assert_uint_eq(fake.n_registers, 0); /* never both ways */
	free(paths[0]);
	free(paths[1]);
	free(registry);
}
END_TEST

START_TEST(resources_have_a_socket_each)
{
	char *paths[2] = { test_path(fix.plugin_dir, "hami.com_vgpu.sock"),
			   test_path(fix.plugin_dir, "a.b_whole.sock") };

	fixture_write_config(&fix.node,
			     "version: 1\nresources:\n  - name: hami.com/vgpu\n"
			     "  - {name: a.b/whole, cores_per_device: 1, devices: [{uuid: "
			     "GPU-d}]}\n");
	daemon_start(&fix, &fix.first, NULL, NULL);
	daemon_wait_for_files(&fix, paths[0], paths[1]);
	process_signal(&fix.first, SIGTERM);
	daemon_wait_for_end(&fix, &fix.first, 0);
	ck_assert_uint_eq(test_n_entries(fix.plugin_dir), 0);
	free(paths[0]);
	free(paths[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon");
	TCase *tcase = tcase_create("daemon");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, kubelet_gets_the_list);
	tcase_add_test(tcase, failing_card_is_one_frame);
	tcase_add_test(tcase, new_cards_appear);
	tcase_add_test(tcase, kubelet_restart_is_survived);
	tcase_add_test(tcase, container_gets_its_slices);
	tcase_add_test(tcase, refusal_reaches_the_pod);
	tcase_add_test(tcase, watcher_announces_itself);
	tcase_add_test(tcase, resources_have_a_socket_each);
	suite_add_tcase(suite, tcase);
	return test_main(suite);
}
