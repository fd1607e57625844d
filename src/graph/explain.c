/* explain.c - labels and reasons.
 * SPDX-License-Identifier: MIT */
#include "graph/explain.h"

void ebb__graph_labels_free(ebb_graph_space *space)
{
    (void)space;
}
