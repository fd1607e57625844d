/* explain.h - labels and reasons, inside the layer.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_GRAPH_EXPLAIN_H
#define EBB_GRAPH_EXPLAIN_H

#include "graph/node.h"

void ebb__graph_labels_free(ebb_graph_space *space);

#endif
