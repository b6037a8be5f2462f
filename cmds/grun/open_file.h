// Opening a file in the course of a loop that handles signals. A FIFO waits for its other end, and a file server may be
// away: meanwhile the signals do what they do to any program. Invariant: none is lost, also not one that arrived before
// the file was opened and that the loop has not come to.
#pragma once

#include <string>

namespace gw::cmds {

/// Ends the program by SIGINT, SIGQUIT, SIGTERM and SIGHUP that are handled while it waits. As open(2), with mode 0666.
int open_file(const std::string& path, int flags);

/// To be called once the loop watches the signal.
void note_arrivals(int signo);
/// To be called by the loop's function of the signal, before anything else.
void note_handled(int signo);

}  // namespace gw::cmds
