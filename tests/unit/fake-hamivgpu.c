/* SPDX-License-Identifier: Apache-2.0 */

/* A shared library that opens and offers nothing that the library looks for. */

int fake_hamivgpu_version(void);

int fake_hamivgpu_version(void)
{
	return 1;
}
