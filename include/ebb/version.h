/* version.h - the one place that states the version.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_VERSION_H
#define EBB_VERSION_H

#define EBB_VERSION_MAJOR 0
#define EBB_VERSION_MINOR 1
#define EBB_VERSION_PATCH 0
#define EBB_VERSION "0.1.0"

#endif
