// Holds an order against its contract (order.h) on made-up jobs: what it must not do is found before it ranks real
// ones. For tests of orders, and for `gctld --check`. Invariant: the same order, the same answer.
#pragma once

#include <string>
#include <vector>

#include "sched/queue/order.h"

namespace gw::sched {

/// What an order does that it must not, each kind once, with an example: a score or key that is no number, or differs
/// for the same arguments; parts that do not add up; a next change that is not to come; jobs of one class that score
/// the other way round than they are ranked; a rank or a right to a place that changes before the named moment; a job
/// that yields and would be served first again, or would get the place back at once. Empty: nothing was found.
std::vector<std::string> check_order(const Order& order);

}  // namespace gw::sched
