// What a job's user is written to about it: Slurm's --mail-type and --mail-user. Pure.
// Invariant: an address that passes check_mail_user() is safe as an argument of any mail program: it is no option, no
// file and no command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::model {

/// A set of these, as a sum.
enum MailEvent : uint32_t {
  kMailBegin = 1,
  kMailEnd = 2,   ///< However it ends.
  kMailFail = 4,  ///< It ends otherwise than well.
  kMailRequeue = 8,
  kMailInvalidDependency = 16,  ///< Its dependency can never be met.
  kMailStageOut = 32,           ///< Of burst buffers, which are not there: never sent.
  kMailTimeLimit = 64,
  kMailTimeLimit90 = 128,  ///< 90 % of its time limit have passed.
  kMailTimeLimit80 = 256,
  kMailTimeLimit50 = 512,
  kMailArrayTasks = 1024,  ///< For each task of an array, in place of the array.
};

/// Addresses of one job, at most.
constexpr size_t kMostMailUsers = 10;
/// Bytes of all of them together.
constexpr size_t kMailUserBytes = 512;

/// Reads names with commas between them: "BEGIN,END", ALL, NONE. Errors: a name that is none of them.
base::Result<uint32_t> parse_mail_events(std::string_view text);
/// Reads back as the same set; none: "NONE".
std::string format_mail_events(uint32_t events);

/// The addresses in a list with commas. Errors: none, too many, one that is not of letters, digits and `._%+=@-`, or
/// does not begin with a letter, a digit or an underscore.
base::Result<std::vector<std::string>> parse_mail_users(std::string_view text);

}  // namespace gw::model
