// See request_figures.h.
#include "ctld/shell/request_figures.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "wire/request_kinds.h"

namespace gw::ctld {

void RequestFigures::count(wire::ApiRequest::KindCase kind, uint32_t uid, base::Duration took, base::Time at) {
  const bool is_one_more = users_.size() < kMostUsers || users_.contains(uid);
  for (Sum* sum : {&kinds_[kind], &users_[is_one_more ? uid : kOthers]}) {
    ++sum->count;
    sum->took = sum->took + took;
  }
  if (slowest_.size() == kMostSlow && took <= slowest_.back().took) return;
  const auto place = std::find_if(slowest_.begin(), slowest_.end(), [&](const Slow& s) { return s.took < took; });
  slowest_.insert(place, {kind, uid, took, at});
  if (slowest_.size() > kMostSlow) slowest_.pop_back();
}

template <typename Key, typename Fn>
void RequestFigures::put_sums(const std::map<Key, Sum>& sums,
                              google::protobuf::RepeatedPtrField<wire::RequestFigures>& to, const Fn& name) {
  std::vector<std::pair<Key, Sum>> all(sums.begin(), sums.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second.took > b.second.took; });
  for (const auto& [key, sum] : all) {
    wire::RequestFigures& one = *to.Add();
    name(one, key);
    one.set_count(sum.count);
    one.set_took_us(static_cast<uint64_t>(sum.took.us));
  }
}

void RequestFigures::put(const PassReport& passes, wire::ShowFiguresReply& shown) const {
  shown.set_passes(passes.passes - before_.passes);
  shown.set_last_pass_us(static_cast<uint64_t>(passes.last.us));
  shown.set_longest_pass_us(static_cast<uint64_t>(passes.longest.us));
  shown.set_all_passes_us(static_cast<uint64_t>((passes.all - before_.all).us));
  shown.set_last_pass_at_us(passes.last_at.us);
  shown.set_steps(passes.steps - before_.steps);
  shown.set_cut_passes(passes.cut - before_.cut);
  shown.set_backfilled(passes.backfilled - before_.backfilled);
  shown.set_backfilled_ever(passes.backfilled);
  shown.set_job_classes(passes.job_classes);
  for (const Slow& slow : slowest_) {
    wire::SlowRequest& one = *shown.add_slowest();
    one.set_kind(std::string(wire::row_of(slow.kind).name));
    one.set_number(static_cast<uint32_t>(slow.kind));
    one.set_uid(slow.uid);
    one.set_took_us(static_cast<uint64_t>(slow.took.us));
    one.set_at_us(slow.at.us);
  }
  put_sums(kinds_, *shown.mutable_kinds(), [](wire::RequestFigures& one, wire::ApiRequest::KindCase kind) {
    one.set_kind(std::string(wire::row_of(kind).name));
    one.set_number(static_cast<uint32_t>(kind));
  });
  put_sums(users_, *shown.mutable_users(), [](wire::RequestFigures& one, uint32_t uid) { one.set_uid(uid); });
}

void RequestFigures::reset(const PassReport& passes) {
  kinds_.clear();
  users_.clear();
  slowest_.clear();
  before_ = passes;
}

}  // namespace gw::ctld
