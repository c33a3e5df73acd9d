"""The probability that a chain happens in order and inside its window, from its cells.

Problem: whether the last event is inside the window depends on the first one's instant s; one pass for each s takes as
long as the clock is fine. Idea: starts from which the window reaches the end of the chain need no window, and one
pass. For the others, e_0 N A..A e_l is summed over s, where the product runs over the ticks up to s + span. Time is cut
into *pieces* of starts s = x + u, u < length, for which s stays in one cell P and s + span in one cell Q. There
    A_P^(alpha + length - 1 - u) M A_Q^(beta + u)
remains, and with C(a + u, m) = sum C(a, m - i) C(u, i), sum over u of C(length - 1 - u, i) C(u, k) = C(length, i+k+1):
a bilinear form in the vectors N_P^i and N_Q^k, whose size does not depend on the number of ticks. M, the product of
the cells between, is got for each piece anew, or by a queue of two stacks that slides over the cells (SLIDE: spec of
imprecise time, section 3.1; with cells of one tick it is the same algorithm).
Invariant: additions and products only; powers of N come with the length of the piece, so no number exceeds 1 by far.
"""

from __future__ import annotations

from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.cells import advance, select, weigh

CHEAPEST, EACH, SLIDING = 0, 1, 2  # how the product between the ends of a window is got


@aside
def in_order(work, nodes, states, steps, cells, c, start):
    """The probability that everything happens in order, from tick `start` in cell c on."""
    begin, column = work.cells.begin, work.column
    for s in range(states):
        column[s, 0] = 0.0
    column[0, 0] = 1.0
    while c < cells:
        weigh(work, nodes, c)
        n = select(work, work.forward, steps, 0)
        advance(column, 1, work.active, n, begin[c + 1] - max(begin[c], start), work.spare)
        c += 1
    return column[states - 1, 0]


@leaf
def begun(work, nodes, states, steps, c, length, ticks):
    """Begin in cell c (`length` times the mass of a tick) and go `ticks` ticks on, in work.column; whether it can be.

    Leaves the steps of cell c active that do not begin.
    """
    column, active = work.column, work.active
    weigh(work, nodes, c)
    n = select(work, work.forward, steps, 0)
    for s in range(states):
        column[s, 0] = 0.0
    some = False
    for k in range(n):
        if active.source[k] == 0:
            column[active.target[k], 0] = active.mass[k] * length
            some = True
    if some:
        n = select(work, work.forward, steps, 1)
        advance(column, 1, active, n, ticks, work.spare)
    return some, n


@leaf
def powers(work, matrix, states, n, length):
    """Write column, N column, N^2 column, .. to the columns of the matrix, where N is `length` times the active steps.

    Returns how many are not zero; more than `length` are not asked for.
    """
    active = work.active
    for s in range(states):
        matrix[s, 0] = work.column[s, 0]
    i, some = 1, True
    while some and i < min(states, length):
        some = False
        for s in range(states):
            matrix[s, i] = 0.0
        for k in range(n):
            term = active.mass[k] * length * matrix[active.source[k], i - 1]
            matrix[active.target[k], i] += term
            some |= term > 0.0
        i += some
    return i


@leaf
def opened(work, nodes, states, steps, c, length, ticks):
    """Fill work.opening for starts in cell c, the last of which leaves `ticks` ticks of it; returns its width."""
    some, n = begun(work, nodes, states, steps, c, length, ticks)
    return powers(work, work.opening, states, n, length) if some else 0


@leaf
def closed(work, nodes, states, steps, c, length, ticks):
    """Fill work.closing for ends in cell c, the first of which takes `ticks` ticks of it; returns its width."""
    column = work.column
    for s in range(states):
        column[s, 0] = 0.0
    column[states - 1, 0] = 1.0
    weigh(work, nodes, c)
    n = select(work, work.backward, steps, 1)
    advance(column, 1, work.active, n, ticks, work.spare)
    return powers(work, work.closing, states, n, length)


@leaf
def combined(work, left, wide, right, high, states, length):
    """The sum over i and k of C(length, i+k+1) / length^(i+k+1) (column i of left) . (column k of right)."""
    share = work.share
    share[0] = 1.0
    for m in range(1, wide + high):
        share[m] = share[m - 1] * (length - m) / (length * (m + 1.0)) if m < length else 0.0
    total = 0.0
    for s in range(1, states):
        for i in range(wide):
            if left[s, i] > 0.0:
                inner = 0.0
                for k in range(high):
                    inner += share[i + k] * right[s, k]
                total += left[s, i] * inner
    return total


@leaf
def piece(begin, x, stop, span, p, q):
    """The cells p of start x and q of x + span, at or after the given ones, and the first start of the next piece."""
    while begin[p + 1] <= x:
        p += 1
    while begin[q + 1] <= x + span:
        q += 1
    return p, q, min(begin[p + 1], begin[q + 1] - span, stop)


@aside
def inside_cell(work, nodes, states, steps, c, length, span):
    """The starts whose window ends in their own cell are all alike."""
    begun(work, nodes, states, steps, c, length, span)
    return work.column[states - 1, 0]


@aside
def each_piece(work, nodes, states, steps, stop, span):
    """The probability of everything in order inside the window, with starts before `stop`: one pass for each piece."""
    begin = work.cells.begin
    x, p, q, total = begin[0], 0, 0, 0.0
    while x < stop:
        p, q, following = piece(begin, x, stop, span, p, q)
        length = following - x
        if p == q:
            total += inside_cell(work, nodes, states, steps, p, length, span)
        else:
            wide = opened(work, nodes, states, steps, p, length, begin[p + 1] - following)
            if wide > 0:
                for c in range(p + 1, q):
                    weigh(work, nodes, c)
                    n = select(work, work.forward, steps, 1)
                    advance(work.opening, wide, work.active, n, begin[c + 1] - begin[c], work.spare)
                high = closed(work, nodes, states, steps, q, length, x + span - begin[q] + 1)
                total += combined(work, work.opening, wide, work.closing, high, states, length)
        x = following
    return total


@leaf
def identity(matrix, states):
    for i in range(states):
        for j in range(states):
            matrix[i, j] = 0.0
        matrix[i, i] = 1.0


@aside
def turn_over(work, nodes, states, steps, low, high, last):
    """Multiply the cells low..high-1 from behind; keep of each product the rows that a start before it can need.

    That is every row, but only those of the first node after a cell of one tick; none behind cell last + 1.
    """
    begin, front = work.cells.begin, work.front
    identity(front, states)
    used = 0
    for c in range(high - 1, low - 1, -1):
        weigh(work, nodes, c)
        n = select(work, work.backward, steps, 1)
        advance(front, states, work.active, n, begin[c + 1] - begin[c], work.spare)
        if c <= last + 1:
            work.place[c] = used
            for s in range(1, 1 << work.sizes[0] if begin[c] - begin[c - 1] == 1 else states):
                for j in range(states):
                    work.stack[used] = front[s, j]
                    used += 1


@leaf
def through_front(work, states, c, wide):
    """work.left := work.opening times the product kept for cell c."""
    one = work.cells.begin[c] - work.cells.begin[c - 1] == 1
    for j in range(states):
        for i in range(wide):
            work.left[j, i] = 0.0
    k = work.place[c]
    for s in range(1, 1 << work.sizes[0] if one else states):
        for i in range(wide):
            f = work.opening[s, i]
            if f > 0.0:
                for j in range(s, states):
                    work.left[j, i] += f * work.stack[k + j]
        k += states


@leaf
def through_back(work, states, high):
    """work.right := the product of the back, which is kept transposed, times work.closing."""
    for s in range(1, states):
        for k in range(high):
            work.right[s, k] = 0.0
    for j in range(1, states):
        for k in range(high):
            f = work.closing[j, k]
            if f > 0.0:
                for s in range(1, j + 1):
                    work.right[s, k] += f * work.back[j, s]


@aside
def sliding(work, nodes, states, steps, stop, span):
    """The same as `each_piece`; the product of the cells between the ends slides along.

    It is the product kept for cell p + 1 of the front, which holds the cells before `middle`, times the back, which
    holds the cells middle..pushed-1.
    """
    begin = work.cells.begin
    x, p, q, total = begin[0], 0, 0, 0.0
    last = 0
    while begin[last + 1] < stop:
        last += 1
    middle = pushed = 0
    while x < stop:
        p, q, following = piece(begin, x, stop, span, p, q)
        length = following - x
        if p == q:
            total += inside_cell(work, nodes, states, steps, p, length, span)
            x = following
            continue
        if p + 1 >= middle:
            turn_over(work, nodes, states, steps, p + 1, q, last)
            identity(work.back, states)
            middle = pushed = q
        while pushed < q:
            weigh(work, nodes, pushed)
            n = select(work, work.forward, steps, 1)
            advance(work.back, states, work.active, n, begin[pushed + 1] - begin[pushed], work.spare)
            pushed += 1
        wide = opened(work, nodes, states, steps, p, length, begin[p + 1] - following)
        if wide > 0:
            high = closed(work, nodes, states, steps, q, length, x + span - begin[q] + 1)
            through_back(work, states, high)
            left = work.opening
            if p + 1 < middle:
                through_front(work, states, p + 1, wide)
                left = work.left
            total += combined(work, left, wide, work.right, high, states, length)
        x = following
    return total


@leaf
def slides(begin, states, stop, span, room, method):
    """Whether sliding is cheaper than a pass for each piece (spec of imprecise time, section 3.1, in cells).

    A visit of a cell costs twice the states for finding its steps, and the columns of the matrix that is multiplied.
    Sliding visits each cell twice; it also needs `room` for the products kept.
    """
    x, p, q, pieces, visits = begin[0], 0, 0, 0, 0
    while x < stop:
        p, q, following = piece(begin, x, stop, span, p, q)
        visits += (q - p) * (2 * states + (1 if following - x == 1 else states))
        pieces += 1
        x = following
    if method == EACH or (p + 2) * states * states > room:
        return False
    return method == SLIDING or visits > (2 * q * 3 + pieces) * states


@aside
def in_window(work, nodes, states, steps, cells, span, method):
    """The probability that the nodes, laid out and cut into cells, happen in order inside the window."""
    begin = work.cells.begin
    stop = begin[0] if span < 0 else max(begin[0], begin[cells] - 1 - span)
    c = 0
    while begin[c + 1] <= stop:
        c += 1
    total = in_order(work, nodes, states, steps, cells, c, stop)
    if stop > begin[0]:
        if slides(begin, states, stop, span, work.stack.size, method):
            total += sliding(work, nodes, states, steps, stop, span)
        else:
            total += each_piece(work, nodes, states, steps, stop, span)
    return total
