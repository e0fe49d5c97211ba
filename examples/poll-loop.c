/* SPDX-License-Identifier: Apache-2.0 */

/* Drive a node from an own poll() loop and print what happens, for some milliseconds or for ever.
 */

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <hami/hamidp.h>

static uint64_t now_us(void *userdata)
{
	struct timespec now;

	(void)userdata;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Milliseconds until the earlier of two times, rounded up; -1 is for ever. */
static int timeout_ms(uint64_t deadline_us, uint64_t end_us)
{
	uint64_t until_us = deadline_us < end_us ? deadline_us : end_us;
	uint64_t now = now_us(NULL);

	if (until_us == HAMIDP_NO_DEADLINE)
		return -1;
	if (until_us <= now)
		return 0;
	return until_us - now > 60000000 ? 60000 : (int)((until_us - now + 999) / 1000);
}

static int loop(struct hamidp_node *node, uint64_t end_us)
{
	struct pollfd pfd = { .fd = hamidp_node_fd(node), .events = POLLIN };

	while (now_us(NULL) < end_us) {
		struct hamidp_event *event = NULL;
		int r;

		(void)poll(&pfd, 1, timeout_ms(hamidp_node_deadline_us(node), end_us));
		r = hamidp_node_dispatch(node);
		if (r < 0)
			fprintf(stderr, "%s, trying again\n", hamidp_strerror(r));
		while (hamidp_node_next_event(node, &event) == 0) {
			printf("%-10s %s\n", hamidp_event_type_to_string(hamidp_event_type(event)),
			       hamidp_event_text(event));
			event = hamidp_event_free(event);
		}
		fflush(stdout);
	}
	return 0;
}

static int run(const char *driver, uint64_t end_us, struct hamidp_reason *reason)
{
	struct hamidp_node_options opts = { .size = sizeof(opts), .driver = driver };
	struct hamidp_policy *policy = NULL;
	struct hamidp_node *node = NULL;
	int r;

	opts.now_fn = now_us;
	r = hamidp_policy_new(&policy);
	if (r == 0)
		r = hamidp_policy_add_resource(policy, "hami.com/vgpu", NULL, NULL, reason);
	opts.policy = policy;
	if (r == 0)
		r = hamidp_node_open(&opts, &node, reason);
	if (r == 0 && hamidp_node_state(node, reason) < 0)
		printf("%-10s %s\n", "driver", hamidp_reason_text(reason));
	if (r == 0)
		r = loop(node, end_us);
	hamidp_node_close(node);
	hamidp_policy_free(policy);
	return r;
}

int main(int argc, char **argv)
{
	uint64_t end_us = argc > 2 ? now_us(NULL) + strtoull(argv[2], NULL, 10) * 1000 : UINT64_MAX;
	struct hamidp_reason *reason = NULL;
	int r = hamidp_reason_new(&reason);

	if (r == 0)
		r = run(argc > 1 ? argv[1] : "sim:article", end_us, reason);
	if (r < 0)
		fprintf(stderr, "%s\n", reason ? hamidp_reason_text(reason) : hamidp_strerror(r));
	hamidp_reason_free(reason);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
