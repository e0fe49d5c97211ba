/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hami-dp as a kubelet meets it: start-up, calls, and what it costs at rest. One JSON line.
 *
 *     bench-daemon HAMI-DP MACHINE SLOTS [QUOTA-PERMILLE]
 *
 * MACHINE is a bundled one, cut into SLOTS a card. With a quota hami-dp runs in a cgroup of its own
 * that gets so many thousandths of one CPU; where that cannot be had the line says so.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <grpc/grpc.h>

#include "bench.h"
#include "client.h"
#include "deviceplugin.pb-c.h"

#define N_CALLS 2000U
#define IDLE_S 5U
#define CGROUP_V2 "/sys/fs/cgroup/hami-dp-bench"
#define CGROUP_V1 "/sys/fs/cgroup/cpu/hami-dp-bench"

struct percentiles {
	double p50, p99;
};

static struct percentiles percentiles_of(uint64_t *ns, size_t n)
{
	qsort(ns, n, sizeof(*ns), compare_u64);
	return (struct percentiles){ .p50 = (double)ns[n / 2] / 1e6,
				     .p99 = (double)ns[n - 1 - n / 100] / 1e6 };
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* A cgroup with a CPU quota, v2 or v1 as found, or false where the machine does not let. */
static bool quota_enter(unsigned permille)
{
	char max[64], pid[32];

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	(void)snprintf(max, sizeof(max), "%u 100000", permille * 100);
	(void)mkdir(CGROUP_V2, 0755);
	if (write_file(CGROUP_V2 "/cpu.max", max) && write_file(CGROUP_V2 "/cgroup.procs", pid))
		return true;
	(void)snprintf(max, sizeof(max), "%u", permille * 100);
	(void)mkdir(CGROUP_V1, 0755);
	return write_file(CGROUP_V1 "/cpu.cfs_period_us", "100000") &&
	       write_file(CGROUP_V1 "/cpu.cfs_quota_us", max) &&
	       write_file(CGROUP_V1 "/cgroup.procs", pid);
}

/* In the child: report over @fd whether the quota holds, then become hami-dp. */
static void exec_daemon(char **argv, unsigned permille, int fd)
{
	char quota = permille && quota_enter(permille) ? 'y' : 'n';
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (write(fd, &quota, 1) != 1)
		_exit(127);
	if (!getenv("BENCH_VERBOSE"))
		(void)dup2(null, STDERR_FILENO);
	(void)unsetenv("NOTIFY_SOCKET");
	execv(argv[0], argv);
	_exit(127);
}

static pid_t spawn(const char *exe, const char *machine, const char *slots, const char *dir,
		   unsigned permille, bool *ret_quota)
{
	char driver[64], cores[64], plugin_dir[PATH_MAX], state[PATH_MAX], run[PATH_MAX];
	char *argv[] = {
		(char *)exe, driver, cores, plugin_dir, state, run, (char *)"--v=1", NULL
	};
	int fds[2];
	char quota = 'n';
	pid_t pid;

	(void)snprintf(driver, sizeof(driver), "--driver=sim:%s", machine);
	(void)snprintf(cores, sizeof(cores), "--cores-per-device=%s", slots);
	(void)snprintf(plugin_dir, sizeof(plugin_dir), "--device-plugin-dir=%s", dir);
	(void)snprintf(state, sizeof(state), "--state-dir=%s/../state", dir);
	(void)snprintf(run, sizeof(run), "--run-dir=%s/../run", dir);
	if (pipe2(fds, O_CLOEXEC) < 0)
		exit(EXIT_FAILURE);
	pid = fork();
	if (pid == 0)
		exec_daemon(argv, permille, fds[1]);
	close(fds[1]);
	if (pid < 0 || read(fds[0], &quota, 1) != 1)
		exit(EXIT_FAILURE);
	close(fds[0]);
	*ret_quota = quota == 'y';
	return pid;
}

/* The value of "Key:   123" in a /proc file, summed over its lines. */
static uint64_t proc_value(pid_t pid, const char *file, const char *key)
{
	char path[PATH_MAX], line[512];
	uint64_t sum = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			sum += strtoull(line + strlen(key) + 1, NULL, 10);
	if (f)
		(void)fclose(f);
	return sum;
}

/* Times that any thread of @pid was put on a CPU after waiting. */
static uint64_t wakeups(pid_t pid)
{
	char cmd[PATH_MAX], line[64] = "0";
	FILE *f;

	(void)snprintf(cmd, sizeof(cmd),
		       "awk '/^voluntary_ctxt/ {n += $2} END {print n}' /proc/%d/task/*/status",
		       (int)pid);
	f = popen(cmd, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		(void)pclose(f);
	return strtoull(line, NULL, 10);
}

static uint8_t *pack_allocate(char **ids, size_t n, size_t *ret_len)
{
	V1beta1__ContainerAllocateRequest one = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__AllocateRequest req = V1BETA1__ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *list[] = { &one };
	uint8_t *bytes;

	one.n_devices_ids = n;
	one.devices_ids = ids;
	req.n_container_requests = 1;
	req.container_requests = list;
	*ret_len = v1beta1__allocate_request__get_packed_size(&req);
	bytes = malloc(*ret_len);
	if (!bytes)
		exit(EXIT_FAILURE);
	v1beta1__allocate_request__pack(&req, bytes);
	return bytes;
}

static uint8_t *pack_preferred(char **ids, size_t n, int size, size_t *ret_len)
{
	V1beta1__ContainerPreferredAllocationRequest one =
		V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__PreferredAllocationRequest req = V1BETA1__PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__ContainerPreferredAllocationRequest *list[] = { &one };
	uint8_t *bytes;

	one.n_available_deviceids = n;
	one.available_deviceids = ids;
	one.allocation_size = size;
	req.n_container_requests = 1;
	req.container_requests = list;
	*ret_len = v1beta1__preferred_allocation_request__get_packed_size(&req);
	bytes = malloc(*ret_len);
	if (!bytes)
		exit(EXIT_FAILURE);
	v1beta1__preferred_allocation_request__pack(&req, bytes);
	return bytes;
}

/* The kubelet sends ids in a random order; a fixed seed keeps runs comparable. */
static void shuffle(char **ids, size_t n)
{
	unsigned seed = 42;

	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)rand_r(&seed) % i;
		char *t = ids[i - 1];

		ids[i - 1] = ids[j];
		ids[j] = t;
	}
}

static void measure(struct bench_client *c, const char *label, const char *method,
		    const uint8_t *req, size_t len)
{
	static uint64_t ns[N_CALLS];
	struct percentiles seq, par;

	bench_calls(c, method, req, len, N_CALLS / 10, 1, ns, NULL); /* warm-up */
	bench_calls(c, method, req, len, N_CALLS, 1, ns, NULL);
	seq = percentiles_of(ns, N_CALLS);
	bench_calls(c, method, req, len, N_CALLS, 16, ns, NULL);
	par = percentiles_of(ns, N_CALLS);
	(void)printf(",\"%s\":{\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"p50_ms_at_16\":%.3f,"
		     "\"p99_ms_at_16\":%.3f}",
		     label, seq.p50, seq.p99, par.p50, par.p99);
}

static void measure_calls(struct bench_client *c, const uint8_t *frame, size_t frame_len)
{
	V1beta1__ListAndWatchResponse *list =
		v1beta1__list_and_watch_response__unpack(NULL, frame_len, frame);
	size_t n = list ? list->n_devices : 0, len;
	char **ids = calloc(n + 1, sizeof(*ids));
	static const struct {
		const char *allocate, *preferred;
		size_t k;
	} sizes[] = { { "allocate_1", "preferred_1", 1 }, { "allocate_8", "preferred_8", 8 } };

	if (!ids || n < 8)
		exit(EXIT_FAILURE);
	for (size_t i = 0; i < n; i++)
		ids[i] = list->devices[i]->id;
	(void)printf(",\"slots\":%zu,\"frame_bytes\":%zu", n, frame_len);
	measure(c, "echo", "GetDevicePluginOptions", (const uint8_t *)"", 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *req = pack_allocate(ids, sizes[i].k, &len);

		measure(c, sizes[i].allocate, "Allocate", req, len);
		free(req);
	}
	shuffle(ids, n);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *req = pack_preferred(ids, n, (int)sizes[i].k, &len);

		measure(c, sizes[i].preferred, "GetPreferredAllocation", req, len);
		free(req);
	}
	free(ids);
	v1beta1__list_and_watch_response__free_unpacked(list, NULL);
}

static void measure_rest(struct bench_client *c, pid_t pid)
{
	uint64_t before;

	bench_client_rest(c, 1); /* what start-up left to do */
	before = wakeups(pid);
	bench_client_rest(c, IDLE_S);
	(void)printf(",\"idle_wakeups_per_s\":%.1f",
		     (double)(wakeups(pid) - before) / (double)IDLE_S);
	(void)printf(",\"rss_kib\":%" PRIu64 ",\"private_dirty_kib\":%" PRIu64
		     ",\"threads\":%" PRIu64,
		     proc_value(pid, "status", "VmRSS"),
		     proc_value(pid, "smaps_rollup", "Private_Dirty"),
		     proc_value(pid, "status", "Threads"));
}

int main(int argc, char **argv)
{
	char top[] = "/tmp/hami-bench-XXXXXX", dir[64], cmd[64];
	unsigned permille = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
	uint64_t began, registered, framed;
	struct bench_client *client;
	uint8_t *frame;
	size_t len;
	bool quota;
	pid_t pid;
	int fd, status;

	if (argc < 4 || !mkdtemp(top))
		return EXIT_FAILURE;
	/* Not in /tmp itself, where others come and go: hami-dp watches the parent, too. */
	(void)snprintf(dir, sizeof(dir), "%s/device-plugins", top);
	if (mkdir(dir, 0755) < 0)
		return EXIT_FAILURE;
	fd = bench_listen(dir);
	began = bench_now_ns();
	pid = spawn(argv[1], argv[2], argv[3], dir, permille, &quota);
	grpc_init();
	client = bench_accept_plugin(fd, dir, &registered);
	len = bench_first_frame(client, &frame);
	framed = bench_now_ns();
	(void)printf("{\"bench\":\"daemon\",\"machine\":\"%s\",\"slots_per_card\":%s,"
		     "\"cpu_quota\":\"%s\",\"exec_to_register_ms\":%.1f,\"exec_to_frame_ms\":%.1f",
		     argv[2], argv[3],
		     !permille ? "none"
		     : quota   ? argv[4]
			       : "not possible here",
		     (double)(registered - began) / 1e6, (double)(framed - began) / 1e6);
	measure_rest(client, pid);
	measure_calls(client, frame, len);
	(void)printf(",\"rss_after_kib\":%" PRIu64 "}\n", proc_value(pid, "status", "VmRSS"));

	free(frame);
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, &status, 0);
	bench_client_free(client);
	grpc_shutdown();
	(void)rmdir(CGROUP_V2);
	(void)rmdir(CGROUP_V1);
	(void)snprintf(cmd, sizeof(cmd), "rm -rf %s", top);
	return system(cmd) || !WIFEXITED(status) || WEXITSTATUS(status) ? EXIT_FAILURE
									: EXIT_SUCCESS;
}
