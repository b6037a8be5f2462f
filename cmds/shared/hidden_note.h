// What a list has left out since it is private (private: in the configuration), said beside it.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <string_view>

#include "client/conn/program.h"

namespace gw::cmds {

/// "3 jobs of others are private, and not shown" on standard error, unless there are none or Slurm's name was called:
/// its commands say nothing of it. `one`, `many`: of what.
void note_hidden(const client::Program& program, uint64_t count, std::string_view one, std::string_view many);
/// Each piece of a list tells its own.
inline uint64_t sum_of(const google::protobuf::RepeatedField<uint32_t>& counts) {
  uint64_t sum = 0;
  for (const uint32_t count : counts) sum += count;
  return sum;
}

}  // namespace gw::cmds
