// Whose commands: PBS Pro, Torque and Grid Engine have some of the same names, which mean different things.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/conn/program.h"
#include "client/options/pbs.h"
#include "cmds/shared/commands.h"

namespace gw::cmds::queue {

enum class System : uint8_t { kPbsPro, kTorque, kSge };

/// The folders that the commands are in: "pbs", "torque", "sge".
std::string_view folder_of(System system);
/// By the folder that `path`, or what it is a link to, is in; nothing: another.
std::optional<System> system_of(const std::string& path);
/// Of the running program: by the path that it was started from, which the kernel keeps.
std::optional<System> system_of_program();

/// Letters of qsub that count.
client::PbsKind pbs_kind(System system);

/// Who asks.
struct Caller {
  client::Program program;
  System system = System::kPbsPro;

  bool is_torque() const { return system == System::kTorque; }
};

/// "NAME: TEXT" on stderr; returns `code`.
int say(const Caller& caller, std::string_view text, int code);

}  // namespace gw::cmds::queue
