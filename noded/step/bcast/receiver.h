// Receives a file on one node of a gbcast, and passes it on to the nodes below: the program `gstepd --receive-file`,
// which a step runs as its user, one task a node.
// Invariants: the file is in its place whole and with the sender's checksum, or not at all; no more than a window of
// frames is in memory, so that the slowest disk sets the pace; it leaves with an error in one line, which names the
// node.
#pragma once

namespace gw::noded::step {

/// `arguments`: PATH NODE NODES WIDTH ADDRESS, the last to listen at. Returns the exit code.
int receive_file(int count, char** arguments);

}  // namespace gw::noded::step
