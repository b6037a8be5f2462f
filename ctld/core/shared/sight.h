// What one caller may see of others (private: in the configuration), and what is made of texts that tell of them.
// Invariants: administrators see all; everybody sees what is his own, and operators what is at their QOS; a job that is
// in memory no more is somebody else's.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ctld/core/core.h"
#include "model/private_data.h"

namespace gw::ctld {

/// Of one request: the caller must stay.
class Sight {
 public:
  Sight(const Core& core, const Caller& caller);

  bool sees_all() const { return !hidden_.any(); }
  /// What is kept from the caller.
  const model::PrivateData& hidden() const { return hidden_; }
  const SeenJobs& jobs() const { return jobs_; }
  /// Those of his own and of his QOS, whether or not others are hidden.
  const SeenJobs& own_jobs() const { return own_; }
  bool sees(const model::Job& job) const { return jobs_.has(job.spec.uid, job.spec.qos); }
  bool sees_job(uint32_t id) const;
  bool is_self(std::string_view name) const { return name == caller_.user; }
  bool is_self(uint32_t uid) const { return uid == caller_.uid; }
  bool sees_user(std::string_view name) const { return !hidden_.users || is_self(name); }
  bool sees_uid(uint32_t uid) const { return !hidden_.users || is_self(uid); }
  /// May it be known what this QOS holds? Where the caller may submit to it or to one below it. Empty: the root.
  bool sees_use_of(std::string_view qos) const;
  /// Something of the caller's runs there.
  bool sees_node(const std::string& name) const;
  /// The text, without the numbers of jobs that the caller may not see.
  std::string without_jobs(std::string_view text) const;
  /// The same, and without the name behind each "by ".
  std::string without_names(std::string_view text) const;
  /// The text, without names of nodes that the caller may not see.
  std::string without_nodes(std::string_view text) const;

 private:
  const Core& core_;
  const Caller& caller_;
  model::PrivateData hidden_;
  SeenJobs own_, jobs_;
  mutable std::optional<std::set<std::string, std::less<>>> used_;  // QOS whose use is seen, once somebody has asked
};

/// In place of "job N" of somebody else.
inline constexpr std::string_view kHiddenJob = "a job of somebody else";

}  // namespace gw::ctld
