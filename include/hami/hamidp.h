/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_HAMIDP_H
#define HAMI_HAMIDP_H

/**
 * DOC: libhamidp
 *
 * Umbrella header; applications include this one. The objects, from facts to commitment:
 *
 *   inventory   what the machine has                 immutable, no I/O
 *   layout      a policy applied to an inventory     immutable, no I/O
 *   occupancy   who holds which slots                a value, no I/O
 *   decision    which slots a request gets           a value, no I/O
 *   node        driver + store of this machine       I/O, one pollable fd
 *   grant       a decision that was committed        immutable picture
 *   edits       what a container must get            a value, no I/O
 *
 * Threads: an object belongs to one thread at a time unless its header says that many may read it.
 * The library starts no thread but a driver's worker where a vendor's calls may block.
 *
 * Errors: functions that can fail return 0 or a negative code listed in <hami/error.h>. On failure
 * no output parameter is written.
 *
 * The library never prints, exits, reads the environment or touches signal handlers.
 */
#include <hami/edits.h>
#include <hami/error.h>
#include <hami/grant.h>
#include <hami/inventory.h>
#include <hami/layout.h>
#include <hami/log.h>
#include <hami/node.h>
#include <hami/occupancy.h>
#include <hami/place.h>
#include <hami/publish.h>
#include <hami/reason.h>
#include <hami/version.h>

#endif
