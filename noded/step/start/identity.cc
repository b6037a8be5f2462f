// Becoming the user of a step, for good.
#include "noded/step/start/identity.h"

#include <grp.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace gw::noded::step {
namespace {

base::Status check_identity(const wire::StepSpec& spec) {
  uid_t real = 0, effective = 0, saved = 0;
  gid_t rgid = 0, egid = 0, sgid = 0;
  if (::getresuid(&real, &effective, &saved) != 0 || ::getresgid(&rgid, &egid, &sgid) != 0)
    return base::fail_errno("reading the process's ids", errno);
  const bool is_user = real == spec.uid() && effective == spec.uid() && saved == spec.uid();
  const bool is_group = rgid == spec.gid() && egid == spec.gid() && sgid == spec.gid();
  if (!is_user || !is_group)
    return base::fail(base::ErrorCode::kInternal, "the process did not become uid " + std::to_string(spec.uid()) +
                                                      ", gid " + std::to_string(spec.gid()));
  if (spec.uid() != 0 && ::setresuid(0, 0, 0) == 0)
    return base::fail(base::ErrorCode::kInternal, "the process could become root again");
  return {};
}

}  // namespace

base::Status may_run_as(const wire::StepSpec& spec) {
  if (spec.uid() == 0 && !spec.allow_root())
    return base::fail(base::ErrorCode::kDenied, "jobs of root (uid 0) are not allowed on this node",
                      "submit as an ordinary user, or set allow_root_jobs");
  if (::geteuid() != 0 && spec.uid() != ::geteuid())
    return base::fail(base::ErrorCode::kDenied,
                      "this node daemon runs as uid " + std::to_string(::geteuid()) + " and cannot start jobs of uid " +
                          std::to_string(spec.uid()),
                      "run gnoded as root to serve several users");
  return {};
}

base::Status become_user(const wire::StepSpec& spec) {
  GW_TRY_STATUS(may_run_as(spec));
  // A session keyring of its own: the daemon's may hold keys (Kerberos, fscrypt) that are not the user's.
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // no_new_privs stays unset on purpose: ping, sudo and mount helpers of the site must work in jobs as they do in
  // logins.
  if (::geteuid() != 0) return check_identity(spec);
  const std::vector<gid_t> groups(spec.groups().begin(), spec.groups().end());
  if (::setgroups(groups.size(), groups.data()) != 0)
    return base::fail_errno("setting " + std::to_string(groups.size()) + " supplementary groups", errno);
  if (::setresgid(spec.gid(), spec.gid(), spec.gid()) != 0)
    return base::fail_errno("becoming gid " + std::to_string(spec.gid()), errno);
  if (::setresuid(spec.uid(), spec.uid(), spec.uid()) != 0)
    return base::fail_errno("becoming uid " + std::to_string(spec.uid()), errno);
  return check_identity(spec);
}

}  // namespace gw::noded::step
