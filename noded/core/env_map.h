// Environment variables by name, while they are being put together.
// Invariant: what the batch system sets is set under both prefixes, SLURM_ and GANGWAY_.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "noded/core/facts.h"
#include "wire/node.pb.h"

namespace gw::noded {

using Env = std::map<std::string, std::string, std::less<>>;

inline void put(Env& env, const std::string& name, const std::string& value) {
  env["SLURM_" + name] = value;
  env["GANGWAY_" + name] = value;
}
inline void put(Env& env, const std::string& name, uint64_t value) { put(env, name, std::to_string(value)); }

inline void take_out(Env& env, const std::string& name) {
  env.erase("SLURM_" + name);
  env.erase("GANGWAY_" + name);
}

/// NAME=value, by name.
std::vector<std::string> lines_of(const Env& env);

std::vector<uint32_t> gpus_of(const wire::NodeShare& share);
/// "0,3"
std::string comma_list(const std::vector<uint32_t>& numbers);

/// HOME, USER, LOGNAME, SHELL and PATH, where they are missing.
void fill_in_login(Env& env, const NodeFacts& node, const UserInfo& user);

/// What a job's variables say to whatever runs in it on this node.
void put_job(Env& env, const NodeFacts& node, const wire::Prepare& prepare, const UserInfo& user, base::Time now);

}  // namespace gw::noded
