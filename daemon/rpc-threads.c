/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this process may have the threads that gRPC will start. gRPC does not tell when it may
 * not: it runs, answers nothing, or never comes back from its shutdown.
 */
#include <errno.h>
#include <grpc/grpc.h>
#include <limits.h>
#include <unistd.h>

#include "macro.h"
#include "rpc-internal.h"

/* default-executor, resolver-executor, grpc_global_timer, timer_manager, our pump, one to spare */
#define FIXED_THREADS 6L
#define STACK_SIZE ((size_t)64 * 1024)

static void *wait_for(void *lock)
{
	(void)pthread_mutex_lock(lock);
	(void)pthread_mutex_unlock(lock);
	return NULL;
}

/* The event engine starts one a configured processor, 2 to 32, whatever the affinity. */
static size_t n_needed(void)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	if (n < 2)
		n = 2;
	if (n > 32)
		n = 32;
	return (size_t)(n + FIXED_THREADS);
}

int rpc_check_threads(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	size_t n_want = n_needed(), n = 0;
	pthread_t threads[64];
	pthread_attr_t attr;
	int r = 0;

	if (n_want > ARRAY_SIZE(threads))
		n_want = ARRAY_SIZE(threads);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
	(void)pthread_mutex_lock(&lock);
	while (n < n_want && r == 0) {
		r = pthread_create(&threads[n], &attr, wait_for, &lock);
		n += r == 0;
	}
	(void)pthread_mutex_unlock(&lock);
	while (n > 0)
		(void)pthread_join(threads[--n], NULL);
	(void)pthread_attr_destroy(&attr);
	return -r;
}
