/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The completion queue: one thread waits for gRPC and only forwards finished tags; the thread of
 * the event loop runs them. Also the order of the end, which gRPC punishes by abort().
 */
#include <errno.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "log.h"
#include "macro.h"
#include "rpc-internal.h"

/* Phases of a stop. Calls that end well need milliseconds. */
#define STOP_GRACE_US UINT64_C(1000000)
#define STOP_FLUSH_US UINT64_C(50000)	/* for the last status frames once no call is alive */
#define STOP_CANCEL_US UINT64_C(100000) /* from cancelling the calls to cutting the sockets */
#define STOP_GIVE_UP_US UINT64_C(2500000)

#ifdef __SANITIZE_THREAD__
#define HAVE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAVE_TSAN 1
#endif
#endif

/* gRPC itself is not instrumented: show the sanitizer that a tag goes through it. */
#ifdef HAVE_TSAN
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#define tsan_acquire(p) __tsan_acquire(p)
#define tsan_release(p) __tsan_release(p)
#else
#define tsan_acquire(p) ((void)(p))
#define tsan_release(p) ((void)(p))
#endif

static void tag_list_init(struct rpc_tag_list *list)
{
	list->first = NULL;
	list->last = &list->first;
}

static bool tag_list_append(struct rpc_tag_list *list, struct rpc_tag *tag)
{
	bool was_empty = !list->first;

	tag->next = NULL;
	*list->last = tag;
	list->last = &tag->next;
	return was_empty;
}

void rpc_tag_init(struct rpc_tag *tag, void (*fn)(void *self, bool ok), void *self)
{
	*tag = (struct rpc_tag){ .fn = fn, .self = self };
}

void rpc_tag_give(struct rpc_tag *tag)
{
	tsan_release(tag);
}

uint64_t rpc_now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void wake_main(int event_fd)
{
	static const uint64_t one = 1;

	while (write(event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void *pump_main(void *userdata)
{
	struct rpc *rpc = userdata;

	for (;;) {
		grpc_event ev =
			grpc_completion_queue_next(rpc->cq, gpr_inf_future(GPR_CLOCK_REALTIME),
						   NULL);
		struct rpc_tag *tag = ev.tag;
		bool was_empty;

		if (ev.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		if (ev.type != GRPC_OP_COMPLETE)
			continue;
		tsan_acquire(tag);
		tag->ok = ev.success;
		(void)pthread_mutex_lock(&rpc->lock);
		was_empty = tag_list_append(&rpc->finished, tag);
		(void)pthread_mutex_unlock(&rpc->lock);
		if (was_empty)
			wake_main(rpc->event_fd);
	}
}

/* Take everything that has finished behind what is still to run. */
static void take_finished(struct rpc *rpc)
{
	(void)pthread_mutex_lock(&rpc->lock);
	if (rpc->finished.first) {
		*rpc->ready.last = rpc->finished.first;
		rpc->ready.last = rpc->finished.last;
		tag_list_init(&rpc->finished);
	}
	(void)pthread_mutex_unlock(&rpc->lock);
}

/* A tag's function may stop a server and so come here again: pop before calling. */
static void run_ready(struct rpc *rpc)
{
	struct rpc_tag *tag;

	while ((tag = rpc->ready.first)) {
		rpc->ready.first = tag->next;
		if (!rpc->ready.first)
			tag_list_init(&rpc->ready);
		tag->fn(tag->self, tag->ok);
	}
}

void rpc_run_tags(struct rpc *rpc, int timeout_ms)
{
	struct pollfd pfd = { .fd = rpc->event_fd, .events = POLLIN };
	uint64_t n;

	if (poll(&pfd, 1, timeout_ms) > 0)
		(void)!read(rpc->event_fd, &n, sizeof(n));
	take_finished(rpc);
	run_ready(rpc);
}

static int on_event_fd(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct rpc *rpc = userdata;
	uint64_t n;

	(void)!read(fd, &n, sizeof(n));
	take_finished(rpc);
	run_ready(rpc);
	return 0;
}

/* From any thread of gRPC's. */
static void on_grpc_log(gpr_log_func_args *args)
{
	log_at(args->severity == GPR_LOG_SEVERITY_ERROR ? LOG_WARNING : LOG_DEBUG, "gRPC: %s",
	       args->message);
}

static int start_pump(struct rpc *rpc)
{
	sigset_t all, old;
	int r;

	/* The threads of gRPC and ours inherit the mask: signals are the main thread's. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	gpr_set_log_function(on_grpc_log);
	gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
	grpc_init();
	rpc->cq = grpc_completion_queue_create_for_next(NULL);
	r = pthread_create(&rpc->pump, NULL, pump_main, rpc);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	/* No grpc_shutdown() on failure: it waits for its own threads, which lack as well. */
	return -r;
}

int rpc_new(sd_event *event, struct rpc **ret)
{
	struct rpc *rpc = calloc(1, sizeof(*rpc));
	int r;

	if (!rpc)
		return -ENOMEM;
	(void)pthread_mutex_init(&rpc->lock, NULL);
	tag_list_init(&rpc->finished);
	tag_list_init(&rpc->ready);
	LIST_INIT(&rpc->servers);
	LIST_INIT(&rpc->clients);
	rpc->event = sd_event_ref(event);
	rpc->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = rpc->event_fd < 0 ? -errno : 0;
	if (r >= 0)
		r = sd_event_add_io(event, &rpc->source, rpc->event_fd, EPOLLIN, on_event_fd, rpc);
	if (r >= 0)
		(void)sd_event_source_set_description(rpc->source, "grpc");
	if (r >= 0)
		r = rpc_check_threads();
	if (r >= 0)
		r = start_pump(rpc);
	if (r < 0) {
		sd_event_source_unref(rpc->source);
		sd_event_unref(rpc->event);
		(void)dp_close(rpc->event_fd);
		free(rpc);
		return r;
	}
	*ret = rpc;
	return 0;
}

static bool all_quiet(struct rpc *rpc, struct rpc_server *only)
{
	struct rpc_server *server;

	LIST_FOREACH (server, &rpc->servers, list)
		if ((!only || server == only) && !rpc_server_is_quiet(server))
			return false;
	return only || LIST_EMPTY(&rpc->clients);
}

static bool none_alive(struct rpc *rpc, struct rpc_server *only)
{
	struct rpc_server *server;

	LIST_FOREACH (server, &rpc->servers, list)
		if ((!only || server == only) && server->n_live > server->n_unanswered)
			return false;
	return true;
}

static void cancel_servers(struct rpc *rpc, struct rpc_server *only)
{
	struct rpc_server *server;

	LIST_FOREACH (server, &rpc->servers, list)
		if (!only || server == only)
			rpc_server_stop_cancel(server);
}

/*
 * A peer that does not read holds up gRPC's own shutdown for ever, even after all calls are
 * cancelled: only shutdown(2) on the socket helps.
 */
static void cut_connections(struct rpc *rpc, struct rpc_server *only)
{
	struct rpc_server *server;

	LIST_FOREACH (server, &rpc->servers, list)
		if (!only || server == only)
			rpc_server_drop_connections(server);
	if (!only)
		rpc_clients_stop_force(rpc);
}

int rpc_stop_some(struct rpc *rpc, struct rpc_server *only)
{
	uint64_t start_us = rpc_now_us(), cancel_us = start_us + STOP_GRACE_US, cut_us = 0;
	struct rpc_server *server;

	LIST_FOREACH (server, &rpc->servers, list)
		if (!only || server == only)
			rpc_server_stop_begin(server);
	if (!only)
		rpc_clients_stop_begin(rpc);
	if (rpc->stuck)
		return -ETIMEDOUT;
	while (!all_quiet(rpc, only)) {
		uint64_t now_us = rpc_now_us();

		if (now_us >= start_us + STOP_GIVE_UP_US) {
			rpc->stuck = true;
			return -ETIMEDOUT;
		}
		if (none_alive(rpc, only) && cancel_us > now_us + STOP_FLUSH_US)
			cancel_us = now_us + STOP_FLUSH_US;
		if (cancel_us <= now_us) {
			cancel_servers(rpc, only);
			if (!cut_us)
				cut_us = now_us + STOP_CANCEL_US;
		}
		if (cut_us && cut_us <= now_us)
			cut_connections(rpc, only);
		rpc_run_tags(rpc, 10);
	}
	return 0;
}

int rpc_stop(struct rpc *rpc)
{
	return rpc_stop_some(rpc, NULL);
}

void rpc_set_broken(struct rpc *rpc)
{
	rpc->stuck = true;
}

unsigned rpc_n_unanswered(const struct rpc *rpc)
{
	const struct rpc_server *server;
	unsigned n = 0;

	LIST_FOREACH (server, &rpc->servers, list)
		n += server->n_unanswered;
	return n;
}

struct rpc *rpc_free(struct rpc *rpc)
{
	if (!rpc)
		return NULL;
	(void)rpc_stop(rpc);
	rpc->source = sd_event_source_disable_unref(rpc->source);
	if (rpc->stuck)
		return NULL;
	while (!LIST_EMPTY(&rpc->servers))
		(void)rpc_server_free(LIST_FIRST(&rpc->servers));
	grpc_completion_queue_shutdown(rpc->cq);
	(void)pthread_join(rpc->pump, NULL);
	rpc_run_tags(rpc, 0);
	grpc_completion_queue_destroy(rpc->cq);
	grpc_shutdown();
	sd_event_unref(rpc->event);
	(void)dp_close(rpc->event_fd);
	(void)pthread_mutex_destroy(&rpc->lock);
	free(rpc);
	return NULL;
}
