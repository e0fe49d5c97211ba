/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The form of single values of a machine. Values in, yes or no out. */

#include <stdbool.h>
#include <stdint.h>

#define HDP_PCI_SIZE 17 /* "00000000:00:00.0" with the NUL */

#define HDP_UUID_RULE                                                                  \
	"1 to 127 printable ASCII characters without blanks, ',' or '::', not ending " \
	"in ':'"
#define HDP_PCI_RULE "domain:bus:device.function in hex, as 0000:3b:00.0"

bool hdp_uuid_valid(const char *uuid);

/*
 * Read a PCI address. @ret_text gets it in lower case, its domain in four digits where they
 * suffice; @ret_key grows in the order of domain, bus, device, function.
 */
bool hdp_pci_parse(const char *text, char ret_text[HDP_PCI_SIZE], uint64_t *ret_key);

/* A Linux cpulist such as "0-15,32-47". */
bool hdp_cpulist_valid(const char *text);

/* "8.0": one or two digits on either side. */
bool hdp_capability_valid(const char *text);

/* Peak FP32 in GFLOPS from the number of multiprocessors and their clock, 0 if it cannot be told.
 */
uint64_t hdp_gflops_fp32(const char *capability, uint32_t sms, uint32_t sm_mhz);
