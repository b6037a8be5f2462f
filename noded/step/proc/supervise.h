// Runs a program of the node's administrator (prolog, epilog) for the node daemon, as a process between the two.
// Invariants: what the program started does not outlive its time limit or the daemon, wherever it hid; what it leaves
// behind when it ends by itself stays, since a prolog may start services.
#pragma once

namespace gw::noded::step::proc {

/// `gstepd --supervise PARENT MICROSECONDS PROGRAM [ARGUMENT...]`: PARENT is the daemon's pid. The program has this
/// process's environment and standard streams.
constexpr char kSupervise[] = "--supervise";
/// When the time is over.
constexpr int kTimeOverCode = 124;

/// The words behind kSupervise. Returns the exit code of the program, 128 + signal of one that was killed, and
/// kTimeOverCode; after a line that says why 125 without the words, 126 where the program cannot be executed.
int supervise(int argc, char** argv);

}  // namespace gw::noded::step::proc
