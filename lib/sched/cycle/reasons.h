// What waiting jobs are told, and what is remembered of it so that nobody is asked twice for nothing.
#pragma once

#include "sched/cycle/session.h"

namespace gw::sched {

/// The class found no place at all a while ago, planned starts aside. Have so few nodes gained anything since then that
/// it cannot have any now?
bool is_still_blocked(const Session& session, const PendingJob& job, const JobClass& job_class);

/// Limits, or a guarantee, of the quotas keep the served job's class waiting: `binding`, and whatever else does.
void tell_bound(Session& session, const Served& served, const ClassKey& key, JobClass& job_class,
                const Binding& binding);

/// What is left under a limit is kept for a job that was before it.
void tell_kept_limit(Session& session, const LimitPlan& plan, const Served& served, const ClassKey& key,
                     JobClass& job_class);

/// No place: all that blocks the served job's class. `is_known`: is_still_blocked() said so.
void tell_blocked(Session& session, const Served& served, const ClassKey& key, JobClass& job_class, bool is_known);

/// What classes lack was looked at for all of them: from the next pass on it is looked at anew.
void end_round(Session& session);

}  // namespace gw::sched
