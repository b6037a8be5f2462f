// The frames by which a file is sent to many nodes, and the tree along which it goes.
// Invariant: nodes are numbered from 0; the command feeds the first `width` of them, each of those up to `width`
// others, and so on; every node but those has one parent, of a lower number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gw::wire {

/// First byte of a frame; what follows is the rest.
enum class BcastKind : char {
  kHeader = 'H',  ///< BcastHeader.
  kData = 'D',    ///< The next bytes of the file.
  kEnd = 'E',     ///< BLAKE2b-256 of all of them.
  kAbort = 'X',   ///< There will be no more: say nothing, leave nothing.
  kTaken = 'A',   ///< To the parent: a kData frame was written, here and by all below.
  kDone = 'F',    ///< To the parent: the file is in its place, here and on all below.
};
/// Longest frame, in bytes.
constexpr size_t kMaxBcastFrame = size_t{8} << 20;
/// Frames of kData that a parent sends before the first of them was taken.
constexpr size_t kBcastWindow = 8;

/// The environment variable with the secret of the links between nodes, as 64 hexadecimal digits.
constexpr char kBcastSecret[] = "GANGWAY_BCAST_SECRET";
/// What Program.own is called.
constexpr char kReceiveFile[] = "receive-file";

constexpr bool is_fed_by_command(uint32_t node, uint32_t width) { return node < width; }
/// Of a node that is not fed by the command.
constexpr uint32_t bcast_parent(uint32_t node, uint32_t width) { return node / width - 1; }
/// The children of a node are those from this one on, `width` of them, as far as there are so many nodes.
constexpr uint64_t first_bcast_child(uint32_t node, uint32_t width) { return (uint64_t{node} + 1) * width; }

}  // namespace gw::wire
