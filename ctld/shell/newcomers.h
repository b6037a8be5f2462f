// Nodes that are on their way in: connected, but not yet read what they are called. A node must not be given up for
// being away while it may be among them. Invariant: whoever says nothing delays that by a bounded time.
#pragma once

#include <algorithm>
#include <map>
#include <memory>

#include "ctld/core/effects.h"
#include "link/link_server.h"

namespace gw::ctld {

class Newcomers {
 public:
  void came(LinkId id, const std::shared_ptr<link::SecureLink>& link) { links_[id] = {link, io::Loop::monotonic()}; }
  /// It has said who it is, or has gone.
  void heard(LinkId id) { links_.erase(id); }
  /// What `server` knows of those without a link, and of these. Times by io::Loop::monotonic().
  link::LinkServer::Arrivals arrivals(const link::LinkServer& server) const {
    constexpr base::Duration kPatience = base::seconds(10);
    link::LinkServer::Arrivals all = server.arrivals();
    for (const auto& [id, one] : links_)
      if (one.link->has_unread() || io::Loop::monotonic() - one.since < kPatience)
        all.heard_until = std::min(all.heard_until, one.link->came_after());
    return all;
  }

 private:
  struct Newcomer {
    std::shared_ptr<link::SecureLink> link;
    base::Duration since;
  };
  std::map<LinkId, Newcomer> links_;
};

}  // namespace gw::ctld
