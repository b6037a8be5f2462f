// Starting the served job now: all of its components, in one partition after the other, within its quotas.
#pragma once

#include "sched/cycle/session.h"

namespace gw::sched {

/// What users hold by the decisions of the group, for orders that go by it.
void count_exchange(Session& session, const Group& group);

/// Places a part of the served job, or all of it, in the trial, and adds its Start to the group. False: no place for
/// it.
bool place_part(Session& session, Served& served, const Component& part, const std::string& partition, Duration length,
                Group& group);
/// The parts of a job in the orders in which they are tried, since what one takes another may need: as they are listed,
/// the job's own first; then those first that need most of a node; then the last first.
std::vector<std::vector<Component>> placing_orders(const PendingJob& job);
/// Places the served job, with its first component in `partition` and the others where they may be. False: some of it
/// has no place in any of the orders, or its quotas refuse what it would really get; then whoever calls rolls back.
bool place_gang(Session& session, Served& served, const std::string& partition, Duration length, Group& group);
/// The group is decided, and a gang starts by it.
void decide_start(Session& session, Group group);

/// Starts the served job if there is a place for it.
bool start_now(Session& session, Served& served);
/// With --time-min a job may run shorter than asked, up to the next planned start on its nodes.
bool start_shortened(Session& session, Served& served);

/// Jobs for whom others had to leave start in the place that was made for them, or it is kept for them. The first made
/// goes first: what becomes free, or what a limit lets in, as the victims of one leave is not for one whose own are
/// still there.
void start_nominated(Session& session);

/// What is kept for a nominated job, or for one that moves: nobody else takes it.
void keep_place(Session& session, const PendingJob& job, const Nomination& nomination);

/// Why the job can no longer end by its deadline; nullopt: it can, or has none.
std::optional<std::string> missed_deadline(Session& session, const PendingJob& job);

}  // namespace gw::sched
