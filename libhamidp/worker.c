/* SPDX-License-Identifier: Apache-2.0 */

/* Owns threads. Knows nothing of what the jobs do. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>

#include "worker.h"

struct worker_thread {
	struct hdp_worker *worker;
	pthread_t thread;
	struct hdp_job *job; /* what it runs, or NULL */
	bool abandoned;
	bool ended; /* touches nothing but the lock any more */
	struct worker_thread *next;
};

struct hdp_worker {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	int event_fd;
	bool stop;
	bool orphaned; /* the owner left; the last thread cleans up */
	struct worker_thread *current;
	struct worker_thread *threads; /* all that were not joined, the current one included */
	struct hdp_job *done;
	void (*fn)(void *arg);
	void *arg;
};

int hdp_worker_new(struct hdp_worker **ret)
{
	struct hdp_worker *worker = calloc(1, sizeof(*worker));
	pthread_condattr_t attr;

	if (!worker)
		return -ENOMEM;
	worker->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (worker->event_fd < 0) {
		free(worker);
		return -EIO;
	}
	pthread_mutex_init(&worker->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&worker->changed, &attr);
	pthread_condattr_destroy(&attr);
	*ret = worker;
	return 0;
}

int hdp_worker_fd(const struct hdp_worker *worker)
{
	return worker->event_fd;
}

/* No thread is left, and nobody else knows the worker. */
static void worker_destroy(struct hdp_worker *worker)
{
	void (*fn)(void *arg) = worker->fn;
	void *arg = worker->arg;

	while (worker->done) {
		struct hdp_job *job = worker->done;

		worker->done = job->next;
		job->free(job);
	}
	while (worker->threads) {
		struct worker_thread *thread = worker->threads;

		worker->threads = thread->next;
		free(thread);
	}
	close(worker->event_fd);
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
	if (fn)
		fn(arg);
}

static bool all_ended(const struct hdp_worker *worker)
{
	for (const struct worker_thread *t = worker->threads; t; t = t->next)
		if (!t->ended)
			return false;
	return true;
}

static void finish_job(struct worker_thread *self)
{
	struct hdp_worker *worker = self->worker;
	struct hdp_job **tail = &worker->done;
	uint64_t one = 1;
	ssize_t n;

	while (*tail)
		tail = &(*tail)->next;
	self->job->next = NULL;
	*tail = self->job;
	self->job = NULL;
	n = write(worker->event_fd, &one, sizeof(one));
	(void)n; /* it cannot overflow before 2^64 jobs */
	pthread_cond_broadcast(&worker->changed);
}

static void *thread_main(void *arg)
{
	struct worker_thread *self = arg;
	struct hdp_worker *worker = self->worker;
	bool last;

	pthread_mutex_lock(&worker->lock);
	for (;;) {
		while (!self->job && !worker->stop && !self->abandoned)
			pthread_cond_wait(&worker->changed, &worker->lock);
		if (!self->job)
			break;
		pthread_mutex_unlock(&worker->lock);
		self->job->run(self->job);
		pthread_mutex_lock(&worker->lock);
		finish_job(self);
	}
	self->ended = true;
	last = worker->orphaned && all_ended(worker);
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
	if (last)
		worker_destroy(worker);
	return NULL;
}

/* With the lock held. Signals are the program's business: none is delivered to our threads. */
static int thread_start(struct hdp_worker *worker)
{
	struct worker_thread *thread = calloc(1, sizeof(*thread));
	sigset_t all, old;
	int r;

	if (!thread)
		return -ENOMEM;
	thread->worker = worker;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread->thread, NULL, thread_main, thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r) {
		free(thread);
		return r == ENOMEM ? -ENOMEM : -EIO;
	}
	pthread_setname_np(thread->thread, "hamidp-call");
	thread->next = worker->threads;
	worker->threads = thread;
	worker->current = thread;
	return 0;
}

bool hdp_worker_busy(struct hdp_worker *worker)
{
	bool busy;

	pthread_mutex_lock(&worker->lock);
	busy = worker->current && worker->current->job;
	pthread_mutex_unlock(&worker->lock);
	return busy;
}

int hdp_worker_start(struct hdp_worker *worker, struct hdp_job *job)
{
	int r = 0;

	pthread_mutex_lock(&worker->lock);
	if (worker->current && worker->current->job)
		r = -EIO;
	else if (!worker->current)
		r = thread_start(worker);
	if (r == 0) {
		worker->current->job = job;
		pthread_cond_broadcast(&worker->changed);
	}
	pthread_mutex_unlock(&worker->lock);
	return r;
}

static void deadline_after(unsigned timeout_ms, struct timespec *ret)
{
	clock_gettime(CLOCK_MONOTONIC, ret);
	ret->tv_sec += timeout_ms / 1000;
	ret->tv_nsec += (long)(timeout_ms % 1000) * 1000000L;
	if (ret->tv_nsec >= 1000000000L) {
		ret->tv_sec++;
		ret->tv_nsec -= 1000000000L;
	}
}

bool hdp_worker_wait(struct hdp_worker *worker, unsigned timeout_ms)
{
	struct timespec until;
	bool idle;

	deadline_after(timeout_ms, &until);
	pthread_mutex_lock(&worker->lock);
	while (worker->current && worker->current->job)
		if (pthread_cond_timedwait(&worker->changed, &worker->lock, &until))
			break;
	idle = !worker->current || !worker->current->job;
	pthread_mutex_unlock(&worker->lock);
	return idle;
}

/* With the lock held: take ended threads off the list, which the caller then joins. */
static struct worker_thread *collect_ended(struct hdp_worker *worker)
{
	struct worker_thread **at = &worker->threads;
	struct worker_thread *ended = NULL;

	while (*at) {
		struct worker_thread *thread = *at;

		if (!thread->ended) {
			at = &thread->next;
			continue;
		}
		*at = thread->next;
		thread->next = ended;
		ended = thread;
	}
	return ended;
}

static void join_all(struct worker_thread *threads)
{
	while (threads) {
		struct worker_thread *thread = threads;

		threads = thread->next;
		pthread_join(thread->thread, NULL);
		free(thread);
	}
}

struct hdp_job *hdp_worker_take(struct hdp_worker *worker)
{
	struct worker_thread *ended;
	struct hdp_job *job;
	uint64_t count;
	ssize_t n;

	pthread_mutex_lock(&worker->lock);
	job = worker->done;
	if (job)
		worker->done = job->next;
	if (!worker->done) {
		n = read(worker->event_fd, &count, sizeof(count));
		(void)n; /* empty is fine */
	}
	ended = collect_ended(worker);
	pthread_mutex_unlock(&worker->lock);
	join_all(ended);
	if (job)
		job->next = NULL;
	return job;
}

void hdp_worker_abandon(struct hdp_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	if (worker->current) {
		worker->current->abandoned = true;
		worker->current = NULL;
		pthread_cond_broadcast(&worker->changed);
	}
	pthread_mutex_unlock(&worker->lock);
}

bool hdp_worker_close(struct hdp_worker *worker, unsigned timeout_ms, void (*fn)(void *arg),
		      void *arg)
{
	struct worker_thread *ended;
	struct timespec until;
	bool all;

	deadline_after(timeout_ms, &until);
	pthread_mutex_lock(&worker->lock);
	worker->stop = true;
	worker->fn = fn;
	worker->arg = arg;
	pthread_cond_broadcast(&worker->changed);
	while (!all_ended(worker))
		if (pthread_cond_timedwait(&worker->changed, &worker->lock, &until))
			break;
	ended = collect_ended(worker);
	all = !worker->threads;
	worker->orphaned = !all;
	for (struct worker_thread *t = worker->threads; t; t = t->next)
		pthread_detach(t->thread);
	pthread_mutex_unlock(&worker->lock);
	join_all(ended);
	if (all)
		worker_destroy(worker);
	return all;
}
