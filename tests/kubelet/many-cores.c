/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: a machine of 128 cores, which is what gRPC counts its threads by. */
#include <dlfcn.h>
#include <unistd.h>

#define N_CORES 128

long sysconf(int name)
{
	static long (*real)(int);

	if (name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN)
		return N_CORES;
	if (!real)
		real = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
	return real(name);
}
