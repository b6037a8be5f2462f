// A command's connection as the controller's shell keeps it. Server::serve() takes its messages one by one.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "ctld/core/authorize.h"
#include "ctld/shell/held_memory.h"
#include "ctld/shell/record_list.h"
#include "link/secure_link.h"

namespace gw::ctld {

/// A message that was not served yet.
struct Waiting {
  std::string bytes;
  HeldMemory::Charge charge;
};

struct Client {
  /// Above so many messages that wait nothing more is read from the connection.
  static constexpr size_t kMostWaiting = 16;

  std::shared_ptr<link::SecureLink> link;
  Caller caller;
  bool is_known = false;  ///< Names were looked up.
  std::deque<Waiting> inbox;
  bool is_paused = false;           ///< Nothing is read until the inbox is empty.
  std::optional<uint64_t> awaited;  ///< A request for records, until its list is under way or it has been refused.
  size_t reads = 0;                 ///< Answers that are being read from the database; other requests wait for them.
  std::shared_ptr<RecordList> records;  ///< A list of records that is under way.
  uint64_t list = 0;                    ///< The request whose list is under way.
  bool is_piece_on_its_way = false;     ///< A piece of it was sent, and is not written yet.
  bool is_piece_wanted = false;         ///< It was written.
};

}  // namespace gw::ctld
