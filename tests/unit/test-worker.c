/* SPDX-License-Identifier: Apache-2.0 */

/* The call worker: jobs that return, late or never, and its end. Jobs wait for a semaphore. */

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <string.h>

#include "suite.h"
#include "worker.h"

struct test_job {
	struct hdp_job job;
	sem_t go; /* posted: may return */
	sem_t started;
	int *n_freed;
};

static struct hdp_worker *worker;
static int n_freed;
static sem_t closed;

static void run_job(struct hdp_job *job)
{
	struct test_job *test = (struct test_job *)job;

	sem_post(&test->started);
	while (sem_wait(&test->go) < 0 && errno == EINTR)
		;
}

static void free_job(struct hdp_job *job)
{
	struct test_job *test = (struct test_job *)job;

	__atomic_add_fetch(test->n_freed, 1, __ATOMIC_SEQ_CST);
	sem_destroy(&test->go);
	sem_destroy(&test->started);
	free(test);
}

static struct test_job *new_job(bool returns)
{
	struct test_job *test = calloc(1, sizeof(*test));

	ck_assert_ptr_nonnull(test);
	test->job.run = run_job;
	test->job.free = free_job;
	test->n_freed = &n_freed;
	sem_init(&test->go, 0, returns ? 1 : 0);
	sem_init(&test->started, 0, 0);
	return test;
}

static void tell_closed(void *arg)
{
	sem_post(arg);
}

static void setup(void)
{
	n_freed = 0;
	sem_init(&closed, 0, 0);
	ck_assert_int_eq(hdp_worker_new(&worker), 0);
}

static void teardown(void)
{
	sem_destroy(&closed);
}

static bool is_closed(void)
{
	return sem_trywait(&closed) == 0;
}

static void start(struct test_job *test)
{
	ck_assert_int_eq(hdp_worker_start(worker, &test->job), 0);
}

static struct hdp_job *take_soon(void)
{
	struct pollfd pfd = { .fd = hdp_worker_fd(worker), .events = POLLIN };

	ck_assert_int_eq(poll(&pfd, 1, 10000), 1);
	return hdp_worker_take(worker);
}

START_TEST(worker_that_never_worked_closes)
{
	ck_assert(!hdp_worker_busy(worker));
	ck_assert_ptr_null(hdp_worker_take(worker));
	ck_assert(hdp_worker_wait(worker, 0));
	ck_assert(hdp_worker_close(worker, 0, tell_closed, &closed));
	ck_assert(is_closed());
}
END_TEST

START_TEST(jobs_come_back_over_the_descriptor)
{
	struct pollfd pfd = { .fd = hdp_worker_fd(worker), .events = POLLIN };

	for (int i = 0; i < 100; i++) {
		struct test_job *test = new_job(true);
		struct hdp_job *job;

		start(test);
		job = take_soon();
		ck_assert_ptr_eq(job, &test->job);
		ck_assert(!hdp_worker_busy(worker));
		job->free(job);
		ck_assert_ptr_null(hdp_worker_take(worker));
		ck_assert_int_eq(poll(&pfd, 1, 0), 0);
	}
	ck_assert_int_eq(n_freed, 100);
	ck_assert(hdp_worker_close(worker, 1000, tell_closed, &closed));
	ck_assert(is_closed());
}
END_TEST

START_TEST(one_job_at_a_time)
{
	struct test_job *first = new_job(false);
	struct test_job *second = new_job(true);

	start(first);
	ck_assert(hdp_worker_busy(worker));
	ck_assert(!hdp_worker_wait(worker, 1));
	ck_assert_int_eq(hdp_worker_start(worker, &second->job), -EIO);
	free_job(&second->job);
	sem_post(&first->go);
	ck_assert(hdp_worker_wait(worker, 10000));
	free_job(take_soon());
	ck_assert(hdp_worker_close(worker, 1000, tell_closed, &closed));
}
END_TEST

START_TEST(job_that_hangs_is_left_behind_and_still_comes_back)
{
	struct test_job *hung = new_job(false);
	struct test_job *other = new_job(true);
	struct hdp_job *job;

	start(hung);
	sem_wait(&hung->started);
	hdp_worker_abandon(worker);
	ck_assert(!hdp_worker_busy(worker));
	start(other); /* a fresh thread takes over */
	job = take_soon();
	ck_assert_ptr_eq(job, &other->job);
	free_job(job);
	sem_post(&hung->go);
	job = take_soon();
	ck_assert_ptr_eq(job, &hung->job);
	free_job(job);
	ck_assert(hdp_worker_close(worker, 1000, tell_closed, &closed));
	ck_assert(is_closed());
}
END_TEST

START_TEST(close_does_not_wait_for_ever_and_the_last_thread_cleans_up)
{
	struct test_job *hung[3];

	for (size_t i = 0; i < ARRAY_SIZE(hung); i++) {
		hung[i] = new_job(false);
		start(hung[i]);
		sem_wait(&hung[i]->started);
		if (i + 1 < ARRAY_SIZE(hung))
			hdp_worker_abandon(worker);
	}
	ck_assert(!hdp_worker_close(worker, 10, tell_closed, &closed));
	ck_assert(!is_closed());
	for (size_t i = 0; i < ARRAY_SIZE(hung); i++)
		sem_post(&hung[i]->go);
	sem_wait(&closed); /* from the last thread */
	ck_assert_int_eq(__atomic_load_n(&n_freed, __ATOMIC_SEQ_CST), 3);
}
END_TEST

START_TEST(close_frees_what_nobody_took)
{
	start(new_job(true));
	ck_assert(hdp_worker_wait(worker, 10000));
	ck_assert(hdp_worker_close(worker, 1000, tell_closed, &closed));
	ck_assert_int_eq(n_freed, 1);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		worker_that_never_worked_closes,
		jobs_come_back_over_the_descriptor,
		one_job_at_a_time,
		job_that_hangs_is_left_behind_and_still_comes_back,
		close_does_not_wait_for_ever_and_the_last_thread_cleans_up,
		close_frees_what_nobody_took,
	};
	Suite *s = suite_create("worker");
	TCase *tc = tcase_create("worker");

	tcase_add_checked_fixture(tc, setup, teardown);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
