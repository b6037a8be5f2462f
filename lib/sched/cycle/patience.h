// What a job gets that has waited its patience: one that can never be within the fair share of its QOS is served before
// all others that are beyond their guarantee, and then runs as long undisturbed by fair shares; and where no start can
// be foreseen nodes are gathered for it. Rule 12 of docs/quotas.md. Invariant: guarantees come first; none of this
// keeps anything from a job within its own.
#pragma once

#include <functional>
#include <vector>

#include "sched/cycle/session.h"
#include "sched/quota/fair_queue.h"
#include "sched/view/protection.h"

namespace gw::sched {

/// Has the served job waited that long? In turns: for as long as its patience it has, then for as long not, so that one
/// that can never start does not keep nodes from others for ever.
bool has_lost_patience(Session& session, const Served& served);

/// Is the job alone more than one of the QOS above it is due by fair share?
bool exceeds_its_share(const Session& session, uint32_t leaf, const Quantities& amounts);

/// Does a QOS above those jobs hold more than its fair share now, or has it used more than its part where past use
/// counts? Then nobody else of it is served before others for want of patience.
bool has_had_its_part(const Session& session, uint32_t leaf);

/// Takes out of the heads of all classes, of each leaf, the one that has waited longest of those beyond their fair
/// share that have lost their patience: they are served before all who are beyond their guarantee. `served`: a head's
/// job.
std::vector<ClassHead> take_impatient(Session& session, std::vector<ClassHead>& heads,
                                      const std::function<Served(const ClassHead&)>& served);

/// Keeps nodes for the served job from now on, whose start nobody can foresee: those where it would fit if they were
/// empty, the emptiest first. Nobody who runs there is preempted. False: it fits nowhere.
bool gather_nodes(Session& session, const Served& served);

}  // namespace gw::sched
