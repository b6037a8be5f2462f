// Submissions that the site's own program looks at, through gscriptd, before the controller takes them. Invariants:
// each is answered once, or its asker is gone; nothing but the submission waits for it; what the program makes of a
// submission has passed the same bounds as what a user sends.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "ctld/core/authorize.h"
#include "ctld/shell/scripts/script_queue.h"
#include "wire/api.pb.h"

namespace gw::ctld {

class SubmitHook {
 public:
  static constexpr size_t kMostOfUser = 200;  ///< That wait.
  /// The submission as it is now, or why there is none.
  using Done = std::function<void(base::Result<wire::ApiRequest> request)>;

  SubmitHook(io::Loop& loop, const config::Config& config);

  /// Another configuration holds.
  void set(const config::Config& config);
  /// Is there a program?
  bool is_on() const { return !program_.empty(); }
  /// Answers later, never before it returns. The errors are for the user.
  void ask(const Caller& caller, wire::ApiRequest request, Done done);

 private:
  io::Loop& loop_;
  ScriptQueue queue_;
  std::string program_;
  bool takes_failures_ = false;  ///< What the program cannot look at is taken as it came.

  base::Result<wire::ApiRequest> judge(uint32_t uid, wire::ApiRequest request,
                                       const base::Result<wire::FromScripts>& answer) const;
};

}  // namespace gw::ctld
