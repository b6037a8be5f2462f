// Which device files a step may not open.
#include "plugins/contain/support/devices.h"

#include <linux/bpf.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "noded/step/proc/owned_fd.h"

namespace gw::contain {
namespace {

// The program of a group gets a pointer to bpf_cgroup_dev_ctx {access_type, major, minor} in r1; the low half of
// access_type is the kind of device.
bpf_insn instruction(uint8_t code, uint8_t dst, uint8_t src, int16_t offset, int32_t immediate) {
  bpf_insn i{};
  i.code = code;
  i.dst_reg = static_cast<uint8_t>(dst & 0xf);
  i.src_reg = static_cast<uint8_t>(src & 0xf);
  i.off = offset;
  i.imm = immediate;
  return i;
}
bpf_insn load_word(uint8_t dst, int16_t offset) { return instruction(BPF_LDX | BPF_MEM | BPF_W, dst, 1, offset, 0); }
bpf_insn skip_unless_equal(uint8_t reg, uint32_t value, int16_t skip) {
  return instruction(BPF_JMP | BPF_JNE | BPF_K, reg, 0, skip, static_cast<int32_t>(value));
}
bpf_insn answer(int32_t value) { return instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, value); }
bpf_insn leave() { return instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

std::vector<bpf_insn> program_for(std::span<const Device> denied) {
  std::vector<bpf_insn> program{load_word(2, 0), instruction(BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, 0xffff),
                                load_word(3, 4), load_word(4, 8)};
  for (const Device& d : denied) {
    const uint32_t kind = d.is_block ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR;
    program.insert(program.end(), {skip_unless_equal(2, kind, 4), skip_unless_equal(3, d.major, 3),
                                   skip_unless_equal(4, d.minor, 2), answer(0), leave()});
  }
  program.insert(program.end(), {answer(1), leave()});
  return program;
}

long bpf(int command, bpf_attr& attr) { return ::syscall(SYS_bpf, command, &attr, sizeof attr); }

}  // namespace

base::Result<std::vector<Device>> denied_devices(const noded::step::ContainSpec& spec) {
  std::vector<Device> denied;
  for (const std::string& path : spec.all_devices) {
    if (std::find(spec.allow_devices.begin(), spec.allow_devices.end(), path) != spec.allow_devices.end()) continue;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      if (errno == ENOENT) continue;
      return base::fail_errno("device " + path, errno);
    }
    if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode)) return base::invalid(path + " is not a device");
    denied.push_back({S_ISBLK(status.st_mode), major(status.st_rdev), minor(status.st_rdev)});
  }
  return denied;
}

base::Status deny_by_program(int group_fd, std::span<const Device> denied) {
  std::vector<bpf_insn> program = program_for(denied);
  const char license[] = "";
  bpf_attr load;
  std::memset(&load, 0, sizeof load);
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.insns = reinterpret_cast<uint64_t>(program.data());
  load.insn_cnt = static_cast<uint32_t>(program.size());
  load.license = reinterpret_cast<uint64_t>(license);
  const noded::step::proc::OwnedFd loaded(static_cast<int>(bpf(BPF_PROG_LOAD, load)));
  if (!loaded) return base::fail_errno("loading the device program", errno);
  bpf_attr attach;
  std::memset(&attach, 0, sizeof attach);
  attach.target_fd = static_cast<uint32_t>(group_fd);
  attach.attach_bpf_fd = static_cast<uint32_t>(loaded.get());
  attach.attach_type = BPF_CGROUP_DEVICE;
  attach.attach_flags = BPF_F_ALLOW_MULTI;
  if (bpf(BPF_PROG_ATTACH, attach) != 0) return base::fail_errno("attaching the device program", errno);
  return {};
}

}  // namespace gw::contain
