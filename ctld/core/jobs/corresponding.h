// aftercorr: each task of an array waits for the task of the same index of another array. Tasks that have been made
// wait as any job does. What is left of an array does not: a task is made in its turn, and then waits for the other if
// that has not ended. A task whose other has not ended well can never start, so it is put under a part of its own as
// soon as that is known: the other may be forgotten before its turn comes. Invariant: no task that is left, but those
// of such parts, has an other of which it was heard that it ended badly.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Of a part that has just begun to depend: tasks whose others have ended badly already.
void give_up_corresponding(Core& core, model::Job& part);
/// A task, or a part that was ended before its tasks were made, has not ended well.
void give_up_corresponding_to(Core& core, const model::Job& ended);

}  // namespace gw::ctld
