// What users are written to about their jobs (--mail-type). The core says what is to be sent and to whom; the shell
// hands it on (effects.h). Invariants: nothing is sent without a mail program in the configuration; of a heterogeneous
// job the first component alone is told of, of an array each event once, unless its tasks were asked for; nothing that
// a user said brings a control character into a mail; a user's rate is looked at before a mail is written.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The run has started.
void mail_of_start(Core& core, const model::Job& job);
/// The job is over.
void mail_of_end(Core& core, const model::Job& job);
/// It waits again after a run of this length.
void mail_of_requeue(Core& core, const model::Job& job, base::Duration run);
/// It waits, and its dependency can never be met.
void mail_of_hopeless(Core& core, const model::Job& job);
/// It is ended at its time limit.
void mail_of_time_limit(Core& core, const model::Job& job);
/// A part of its time limit that its user asked for has passed; a timer looks after the next.
void mail_due(Core& core, const model::Job& job);
/// Sets that timer for a run that has started.
void arm_mail(Core& core, const model::Job& job);

}  // namespace gw::ctld
