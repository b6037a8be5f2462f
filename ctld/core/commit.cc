// See commit.h.
#include "ctld/core/commit.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ctld/core/api/await_change.h"

namespace gw::ctld {

namespace {

/// Nodes are told how far the state has come, and which ids were given, with what they get. Beats do not wait for the
/// disk: they cannot say the first, and say the second, since an id that was never given in the end does no harm.
void mark_messages(Core& core) {
  if (core.out.has_writes()) core.stored.lineage.next_commit();
  for (Outgoing& out : core.out.messages())
    if (ToNode* message = std::get_if<ToNode>(&out); message != nullptr) {
      if (!message->at_once) message->message.set_commit(core.stored.lineage.commit());
      message->message.set_next_job(core.jobs.next().value);
    }
}

}  // namespace

Effects take_effects_early(Core& core) {
  for (store::Op& row : core.usage.take_rows()) core.out.write(std::move(row));
  for (store::Op& row : core.gpu_budgets.take_rows()) core.out.write(std::move(row));
  for (store::Op& row : core.jobs.take_rows()) core.out.write(std::move(row));
  for (store::Op& row : core.nodes.take_rows()) core.out.write(std::move(row));
  for (store::Op& row : core.rows.take(core.jobs.all(), core.steps.all())) core.out.write(std::move(row));
  const bool has_coalesced = core.rows.take_newly_coalesced();
  const bool has_forecasts = core.planning.forecasts.take_news();
  if (core.out.has_writes() || has_coalesced || has_forecasts) core.clients.changes.changed();
  look_for_changes(core);
  for (store::Op& row : core.stored.lineage.unsaved()) core.out.write(std::move(row));
  mark_messages(core);
  return core.out.take(core.feed.take());
}

Effects take_effects(Core& core) {
  Effects out = take_effects_early(core);
  store::Batch late = take_coalesced_rows(core);
  std::move(late.begin(), late.end(), std::back_inserter(out.writes));
  return out;
}

store::Batch take_coalesced_rows(Core& core) {
  store::Batch out;
  if (std::exchange(core.stored.commit_saved, core.stored.lineage.commit()) != core.stored.lineage.commit())
    out.push_back(core.stored.lineage.commit_row());
  for (store::Op& row : core.rows.take_coalesced(core.jobs.all(), core.steps.all())) out.push_back(std::move(row));
  return out;
}

}  // namespace gw::ctld
