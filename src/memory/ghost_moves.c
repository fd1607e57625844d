/* ghost_moves.c - the address model of a simulated run.
 *
 * Gap i lies before block i, gap n at the end. A window is the blocks between two gaps; sliding
 * them down joins its gaps into the last one.
 * SPDX-License-Identifier: MIT */
#include "memory/ghost_moves.h"

#include "base/check.h"

#include <string.h>

void ebb__moves_sync(ebb__moves *m, bool (*is_there)(const void *user, uint32_t val),
                     const void *user)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->n; i++)
        if (is_there(user, m->blocks[i].val)) m->blocks[kept++] = m->blocks[i];
    m->n = kept;
}

static uint64_t gap_start(const ebb__moves *m, uint32_t i)
{
    return i ? m->blocks[i - 1].at + m->blocks[i - 1].bytes : 0;
}

static uint64_t gap_bytes(const ebb__moves *m, uint32_t i)
{
    return (i < m->n ? m->blocks[i].at : m->size) - gap_start(m, i);
}

static uint32_t best_gap(const ebb__moves *m, uint64_t bytes)
{
    uint32_t best = UINT32_MAX;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i <= m->n; i++) {
        uint64_t gap = gap_bytes(m, i);
        if (gap < bytes || gap >= least) continue;
        best = i;
        least = gap;
    }
    return best;
}

/* Of the windows whose gaps suffice, the one with the fewest bytes to move; returns the gap at
 * its end, which is large enough afterwards. */
static uint32_t make_gap(ebb__moves *m, uint64_t bytes)
{
    uint64_t least = UINT64_MAX, free_bytes = 0, live = 0;
    uint32_t from = 0, best_from = 0, best_to = m->n;
    for (uint32_t to = 0; to <= m->n; to++) {
        if (to) live += m->blocks[to - 1].bytes;
        free_bytes += gap_bytes(m, to);
        while (free_bytes - gap_bytes(m, from) >= bytes) {
            free_bytes -= gap_bytes(m, from);
            live -= m->blocks[from++].bytes;
        }
        if (free_bytes < bytes || live >= least) continue;
        least = live;
        best_from = from;
        best_to = to;
    }
    for (uint32_t i = best_from; i < best_to; i++) {
        uint64_t to = gap_start(m, i);
        if (m->blocks[i].at == to) continue;
        m->blocks[i].at = to;
        m->moved_bytes += m->blocks[i].bytes;
        m->n_moves++;
    }
    return best_to;
}

void ebb__moves_place(ebb__moves *m, uint32_t val, uint64_t bytes)
{
    uint32_t i = best_gap(m, bytes);
    if (i == UINT32_MAX) i = make_gap(m, bytes);
    EBB_ASSERT(gap_bytes(m, i) >= bytes && m->n < m->max);
    uint64_t at = gap_start(m, i);
    memmove(m->blocks + i + 1, m->blocks + i, (m->n - i) * sizeof *m->blocks);
    m->blocks[i] = (ebb__moves_block){at, bytes, val};
    m->n++;
}
