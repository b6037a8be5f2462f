// Shares and past use as sshare prints them: a row for each QOS (account), and rows of users below it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/show/quota_text.h"
#include "wire/api.pb.h"

namespace gw::cmds {

/// Which rows, and which columns of them.
struct FairShareQuery {
  std::vector<std::string> accounts;  ///< Empty: all.
  std::vector<std::string> users;     ///< Names or numbers; empty: none, unless `all_users`.
  bool all_users = false;
  bool users_alone = false;  ///< No rows of accounts.
  bool is_long = false;
  std::string format;  ///< Empty: the usual columns.
};

/// Errors: unknown columns, with "did you mean".
base::Result<std::string> fair_share_table(const wire::ListQuotasReply& list, const FairShareQuery& query,
                                           client::QuotaTableStyle style);
/// The names of the columns, as `--helpformat` prints them.
std::string fair_share_columns();

}  // namespace gw::cmds
