// See core.h.
#include "ctld/core/core.h"

namespace gw::ctld {

Core::Core(Settings s, Time boot)
    : settings(std::move(s)),
      usage(settings.usage_half_life),
      clients({settings.per_user.kept_replies, settings.per_user.kept_reply_bytes}, boot) {
  watch.boot = counts.since = boot;
  begin(boot);
}

}  // namespace gw::ctld
