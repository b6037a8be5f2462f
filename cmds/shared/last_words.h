// What a command says when a signal ends it: what becomes of the job that it waits for.
// Invariants: it dies of the signal, as a shell expects that looks how its child ended; signals that are ignored stay
// so.
#pragma once

#include <string_view>

#include "client/conn/program.h"

namespace gw::cmds {

/// From now on SIGINT, SIGTERM and SIGHUP print "NAME: TEXT" on stderr before they end this program; the last text
/// counts. Cut to 500 bytes.
void say_when_interrupted(const client::Program& program, std::string_view text);

}  // namespace gw::cmds
