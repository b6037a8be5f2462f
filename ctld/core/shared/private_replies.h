// The last look at what leaves the controller for a client: what the caller may not see of others is taken out of it
// (private: in the configuration), and counted. Handlers leave most of it out before, for speed and for true counts;
// here nothing gets past, and a kind of reply that nobody has thought of does not compile.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

class Privacy {
 public:
  explicit Privacy(const Core& core) : core_(core) {}
  /// Is anything private to this caller? A reply that is bytes already need not be read if not.
  bool hides_anything(const Caller& caller) const;
  /// Takes out of the reply what the caller may not see.
  void keep(const Caller& caller, wire::ApiReply& reply) const;

 private:
  const Core& core_;
};

}  // namespace gw::ctld
