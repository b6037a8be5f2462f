// Mistakes: each is told with its place, what it is and how to mend it, all of a file at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"

namespace gw::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string errors_of(const std::string& text) {
  auto config = parse(text, "f");
  EXPECT_FALSE(config) << text.substr(0, 200);
  return config ? "" : config.error().text();
}

struct Mistake {
  const char* text;  ///< After the line "controller: {user: root}", so its first line is line 2.
  const char* expected;
};

class Mistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreTold) {
  std::string errors = errors_of(std::string("controller: {user: root}\n") + GetParam().text);
  EXPECT_THAT(errors, HasSubstr(GetParam().expected));
  EXPECT_THAT(errors, Not(HasSubstr("\n"))) << "one mistake, one line";
}

INSTANTIATE_TEST_SUITE_P(
    Keys, Mistakes,
    ::testing::Values(
        Mistake{"controler: {}", "f:2:1: unknown key \"controler\" (did you mean \"controller\"?)"},
        Mistake{"port: 1", "f:2:1: unknown key \"port\" (it belongs under controller:)"},
        Mistake{"zzzzzzzz: 1", "known here: nodes, network, partition_defaults, partitions, qos"},
        Mistake{"jobs: {kil_wait: 1s}", "f:2:8: unknown key \"kil_wait\" (did you mean \"kill_wait\"?)"},
        Mistake{"nodes: [{name: n, feature: x}]", "f:2:19: unknown key \"feature\" (did you mean \"features\"?)"},
        Mistake{"jobs: {requeue: true, requeue: false}", "f:2:23: the key requeue stands twice, first in line 2"},
        Mistake{"controller: {}", "f:2:1: the key controller stands twice, first in line 1"},
        Mistake{"{a: b}: 1", "f:2:1: a key that is no plain text"}, Mistake{"jobs: 5", "jobs is a section of keys"},
        Mistake{"jobs: [a]", "jobs is a section of keys"}, Mistake{"nodes: {name: n}", "nodes is a list"},
        Mistake{"qos: normal", "qos is a list"}, Mistake{"cluster: {nam: x}", "did you mean \"name\""}));

INSTANTIATE_TEST_SUITE_P(
    Values, Mistakes,
    ::testing::Values(
        Mistake{"jobs: {requeue: yes}", "f:2:17: jobs.requeue: \"yes\" is not a truth value (write true or false"},
        Mistake{"jobs: {requeue: \"true\"}", "is not a truth value"}, Mistake{"jobs: {requeue: True}", "truth value"},
        Mistake{"jobs: {max_jobs: 1_000}", "not a whole number"}, Mistake{"jobs: {max_jobs: 0}", "out of range"},
        Mistake{"jobs: {max_jobs: 99999999999999999999}", "jobs.max_jobs"},
        Mistake{"jobs: {max_jobs: 1.5}", "jobs.max_jobs"}, Mistake{"jobs: {max_jobs: [1]}", "takes one value"},
        Mistake{"jobs:\n  max_jobs:\n\n", "f:3:3: jobs.max_jobs has no value"},
        Mistake{"jobs: {max_script_bytes: 1G}", "1073741824 is not between 1K and 64M"},
        Mistake{"jobs: {max_script_bytes: 9999999999999G}", "max_script_bytes"},
        Mistake{"jobs: {max_script_bytes: \"\"}", "max_script_bytes"},
        Mistake{"jobs: {kill_wait: 30}", "f:2:19: jobs.kill_wait: 30 has no unit (write 30s or 30m)"},
        Mistake{"jobs: {kill_wait: 2d}", "2d is not between 0s and 1d"},
        Mistake{"jobs: {kill_wait: UNLIMITED}", "is not between"},
        Mistake{"jobs: {kill_wait: soon}", "is not a duration"}, Mistake{"jobs: {default_qos: a/b}", "is not a name"},
        Mistake{"jobs: {default_qos: \"\"}", "must not be empty"},
        Mistake{"cluster: a.b", "f:2:10: \"a.b\" is not a cluster name"}, Mistake{"cluster: \"\"", "must not be empty"},
        Mistake{"cluster: ../x", "is not a name"}, Mistake{"auth: {munge_socket: run/m}", "is not an absolute path"},
        Mistake{"node_daemon: {spool_dir: \"\"}", "must not be empty"},
        Mistake{"node_daemon: {containment: cgroupv2}", "did you mean \"cgroup_v2\"?"},
        Mistake{"links: {heartbeat: 10s, node_timeout: 15s}", "f:2:39: links.node_timeout is less than twice"},
        Mistake{"plugin_dirs: [a]", "is not an absolute path"}, Mistake{"admins: [\"a b\"]", "is not a user or @group"},
        Mistake{"admins: [[a]]", "not a plain value"}, Mistake{"admins: {a: b}", "takes a list, not a map"}));

INSTANTIATE_TEST_SUITE_P(
    Nodes, Mistakes,
    ::testing::Values(Mistake{"nodes: [a, b, a]", "f:2:15: node a is defined twice, first in line 2"},
                      Mistake{"nodes: [\"n[1-\"]", "f:2:9: name: "}, Mistake{"nodes: [\"n[1-999999999]\"]", "200000"},
                      Mistake{"nodes: [\"n[3-1]\"]", "f:2:9: name: "}, Mistake{"nodes: [\"../x\"]", "f:2:9: name: "},
                      Mistake{"nodes: [-x]", "is not a name"}, Mistake{"nodes: [..]", "is not a name"},
                      Mistake{"nodes: [all]", "a node cannot be called ALL"},
                      Mistake{"nodes: [{gpus: 1}]", "has no name"}, Mistake{"nodes: [[a]]", "is a host list or a map"},
                      Mistake{"nodes: [{name: a, gpus: -1}]", "gpus: -1 is out of range"},
                      Mistake{"nodes: [{name: \"n[1-3]\", address: [a, b]}]", "f:2:35: 2 addresses for 3 nodes"},
                      Mistake{"nodes: [{name: n, address: \"a b\"}]", "is not an address"},
                      Mistake{"nodes: [{name: n, features: [a&b]}]", "f:2:30: features: \"a&b\" is not a name"},
                      Mistake{"nodes: [{name: n, features: \"a,,b\"}]", "an empty item"},
                      Mistake{"nodes: [{name: n, reserved_memory: lots}]", "is not a size"},
                      Mistake{"nodes: [{name: n, topology: ./t.xml}]", "is not an absolute path"},
                      Mistake{"nodes: [\"a[1-150000]\", \"b[1-150000]\"]", "f:2:24: more than 200000 nodes"}));

INSTANTIATE_TEST_SUITE_P(
    Partitions, Mistakes,
    ::testing::Values(
        Mistake{"nodes: [n]\npartitions: [{name: p, nodes: n}]", "f:3:14: partition p has no default_time"},
        Mistake{"nodes: [n]\npartitions: [{name: p, unlimited: true}]", "does not say which nodes it has"},
        Mistake{"nodes: [n]\npartitions: [{nodes: n, unlimited: true}]", "has no name"},
        Mistake{"nodes: [\"n[1-9]\"]\npartitions: [{name: p, unlimited: true, nodes: \"n[8-12]\"}]",
                "f:3:48: partition p names nodes that do not exist: n[10-12]"},
        Mistake{"nodes: [gpu1]\npartitions: [{name: p, unlimited: true, nodes: gpu2}]", "did you mean \"gpu1\"?"},
        Mistake{"partitions: [{name: p, unlimited: true, nodes: []}, {name: p, unlimited: true, nodes: []}]",
                "partition p is defined twice, first in line 2"},
        Mistake{
            "partitions: [{name: p, unlimited: true, nodes: [], default: true}, {name: q, unlimited: true, nodes: [], "
            "default: true}]",
            "f:2:115: partitions p and q are both default"},
        Mistake{"partitions: [{name: p, unlimited: true, nodes: [], default_for: aux}, {name: q, unlimited: true, "
                "nodes: [], "
                "default_for: [aux]}]",
                "partitions p and q are both default_for: aux"},
        Mistake{"partitions: [{name: p, unlimited: true, nodes: [], default_for: gpus}]", "neither compute nor aux"},
        Mistake{"partitions: [{name: p, nodes: [], default_time: 2h, max_time: 1h}]", "default_time is above max_time"},
        Mistake{"partitions: [{name: p, nodes: [], default_time: UNLIMITED}]", "has no default_time"},
        Mistake{"partitions: [{name: p, nodes: [], unlimited: true, max_time: 1h}]", "is unlimited and has a max_time"},
        Mistake{"partitions: [{name: p, nodes: [], unlimited: true, lease: 5s}]", "lease is less than twice"},
        Mistake{"partitions: [{name: p, nodes: [], unlimited: true, state: upp}]", "did you mean \"up\"?"},
        Mistake{"partitions: [{name: p, nodes: [], unlimited: true, allow_qos: [nrmal]}]", "did you mean \"normal\"?"},
        Mistake{"partitions: [x]", "an entry of partitions is a map"}));

INSTANTIATE_TEST_SUITE_P(
    Network, Mistakes,
    ::testing::Values(Mistake{"nodes: [n0]\nnetwork:\n- {switch: l0, nodes: n0}\n- {switch: l0, nodes: n0}",
                              "f:5:12: switch l0 is described twice (give each switch one entry)"},
                      Mistake{"nodes: [n0]\nnetwork:\n- {switch: l0, nodes: \"n0,nn0\"}",
                              "f:4:23: switch l0 names the unknown node nn0 (did you mean \"n0\"?)"},
                      Mistake{"network:\n- {switch: l0, nodes: n0}", "switch l0 names the unknown node n0"},
                      Mistake{"nodes: [n0]\nnetwork:\n- {switch: l0, nodes: n0}\n- {switch: b, switches: l1}",
                              "f:5:25: switch b names the unknown switch l1 (did you mean \"l0\"?)"},
                      Mistake{"nodes: [n0]\nnetwork:\n- {switch: a, nodes: n0}\n- {switch: b, nodes: n0}",
                              "f:5:22: node n0 is under two switches: a and b"},
                      Mistake{"nodes: [n0]\nnetwork:\n- {switch: a, switches: b}\n- {switch: b, switches: a}",
                              "f:4:12: the switches form a loop: a under b under a"},
                      Mistake{"nodes: [\"n[0-1]\"]\nnetwork:\n- {switch: a, nodes: n0}\n- {switch: b, switches: a}\n"
                              "- {switch: c, nodes: n1}",
                              "f:6:12: switch c is out of reach"},
                      Mistake{"network:\n- {switch: a}", "f:3:12: switch a is empty"},
                      Mistake{"network:\n- {nodes: n1}",
                              "f:3:3: this entry of network has no name (write `switch: NAME`)"},
                      Mistake{"network: [x]", "f:2:11: an entry of network is a map"},
                      Mistake{"network: {switch: a}", "network is a list"},
                      Mistake{"nodes: [n]\nnetwork: [{swich: a, nodes: n, switch: a}]", "did you mean \"switch\"?"},
                      Mistake{"nodes: [n]\nnetwork: [{switch: a, node: n}]",
                              "f:3:23: unknown key \"node\" (did you mean \"nodes\"?)"}));

INSTANTIATE_TEST_SUITE_P(
    Scheduler, Mistakes,
    ::testing::Values(
        Mistake{"scheduler: {order: multifacter}", "f:2:20: no order \"multifacter\" (did you mean \"multifactor\"?)"},
        Mistake{"scheduler: {order: whatever}",
                "(one of drf, fair_share, fifo, fifo_skip, gittins, las2d, lifo, multifactor, priority, round_robin, "
                "shortest, srsf, "
                "srtf, tetris, themis, time_slice)"},
        Mistake{"scheduler: {order: roundrobin}", "no order \"roundrobin\" (did you mean \"round_robin\"?)"},
        Mistake{"partitions: [{name: a, nodes: ALL, unlimited: true, order: tetriss}]",
                "no order \"tetriss\" (did you mean \"tetris\"?)"},
        Mistake{"partitions: [{name: a, nodes: ALL, unlimited: true, order: themis, order_weights: {lease: 2}}]",
                "no weight \"lease\""},
        Mistake{"partitions: [{name: a, nodes: ALL, unlimited: true, time_slice: 1m, quantum: 2m}]",
                "partition a: quantum is what time_slice says, too (leave one of them out)"},
        Mistake{"partitions: [{name: a, nodes: ALL, unlimited: true, order: time_slice, time_slice: 1m}]",
                "partition a: order is what time_slice says, too"},
        Mistake{"partitions: [{name: a, nodes: ALL, unlimited: true, time_slice: 0s}]",
                "time_slice: 0s is not between 1s and 30d"},
        Mistake{"partition_defaults: {time_slice: 1m}", "time_slice has no place in partition_defaults"},
        Mistake{"partitions: [{name: a, nodes: ALL, unlimited: true, order: las2d, order_weights: {queue1: 2}}]",
                "no weight \"queue1\" (did you mean \"queue_1\"?)"},
        Mistake{"partitions: [{name: a, nodes: ALL, unlimited: true, quantum: 0s}]",
                "quantum: 0s is not between 1s and 30d"},
        Mistake{"partition_defaults: {order: fifo}", "order has no place in partition_defaults"},
        Mistake{"qos: [{name: a, order: srff}]", "f:2:24: no order \"srff\" (did you mean \"srsf\"?)"},
        Mistake{"qos: [{name: a, order_weights: {queue_1: 2}}]", "weights of no order (write `order: NAME`, too)"},
        Mistake{"qos: [{name: a, order: las2d, order_weights: {queue1: 2}}]",
                "no weight \"queue1\" (did you mean \"queue_1\"?)"},
        Mistake{"scheduler: {order: multifactor, order_weights: {fairshare: 1}}",
                "f:2:48: no weight \"fairshare\" (did you mean \"fair_share\"?)"},
        Mistake{"scheduler: {fit: bst}", "f:2:18: scheduler.fit: \"bst\" is none of best, worst, spread"},
        Mistake{"scheduler: {fit: default}", "is none of best, worst, spread"},
        Mistake{"partitions: [{name: p, nodes: [], unlimited: true, filter: gpu_job}]",
                "f:2:60: no filter \"gpu_job\" (did you mean \"gpu_jobs\"?)"},
        Mistake{"partitions: [{name: p, nodes: [], unlimited: true, filter: least_part, filter_weights: {gpu: 1}}]",
                "no weight \"gpu\" (did you mean \"gpus\"?)"},
        Mistake{"partitions: [{name: p, nodes: [], unlimited: true, filter_weights: {gpus: 1}}]",
                "weights of no filter (write `filter: NAME`, too)"},
        Mistake{"partition_defaults: {filter: gpu_jobs}",
                "filter has no place in partition_defaults (write it at each partition)"},
        Mistake{"scheduler: {share: capacty}", "f:2:20: no share policy \"capacty\" (did you mean \"capacity\"?)"},
        Mistake{"scheduler: {share: capacity, share_weights: {deadzone: 0}}",
                "f:2:45: no weight \"deadzone\" (did you mean \"dead_zone\"?)"},
        Mistake{"scheduler: {order_weights: 5}", "takes a map of names and numbers"},
        Mistake{"scheduler: {order_weights: {age: much}}", "f:2:34: scheduler.order_weights: \"much\" is not a number"},
        Mistake{"scheduler: {order_weights: {age: inf}}", "is not a number"},
        Mistake{"scheduler: {order_weights: {age: [1]}}", "is not a number"},
        Mistake{"scheduler: {order_weights: {age: 1e13}}", "is not between"},
        Mistake{"scheduler: {order_weights: {age: 1, age: 2}}", "f:2:37: scheduler.order_weights: age stands twice"},
        Mistake{"scheduler: {order_weights: {a b: 1}}", "is not a name"},
        Mistake{"scheduler: {reservations: -1}", "out of range"},
        Mistake{"scheduler: {usage_half_life: 1s}", "1s is not"},
        Mistake{"scheduler: {fairness_over_time: -0.1}",
                "f:2:33: scheduler.fairness_over_time: -0.1 is not between 0 and 1000"},
        Mistake{"scheduler: {fairness_over_time: much}", "\"much\" is not a number"},
        Mistake{"scheduler: {fairness_over_time: [1]}", "takes one value"},
        Mistake{"reservations: 4", "it belongs under scheduler:"},
        Mistake{"partitions: [{name: p, nodes: [], unlimited: true, fit: tight}]", "default, best, worst, spread"},
        Mistake{"partitions: [{name: p, nodes: [], unlimited: true, cores_per_gpu_kept: -1}]", "out of range"},
        Mistake{"partitions: [{name: p, nodes: [], unlimited: true, allow_shared_gpus: yes}]", "truth value"}));

INSTANTIATE_TEST_SUITE_P(
    Qos, Mistakes,
    ::testing::Values(Mistake{"qos: [{name: a}, {name: a}]", "QOS a is defined twice"},
                      Mistake{"qos: [{name: alpha}, {name: b, parent: alhpa}]", "did you mean \"alpha\"?"},
                      Mistake{"qos: [{name: a, parent: a}]", "f:2:25: QOS a is below itself"},
                      Mistake{"qos: [{name: normal}]\njobs: {default_qos: nomal}",
                              "f:3:21: no QOS \"nomal\" (did you mean"},
                      Mistake{"qos: [{priority: 1}]", "has no name"}, Mistake{"qos: [x]", "an entry of qos is a map"}));

INSTANTIATE_TEST_SUITE_P(Yaml, Mistakes,
                         ::testing::Values(Mistake{"jobs: {", "f:"}, Mistake{"a: b: c", "f:2:5: "},
                                           Mistake{"a: &x 1\nb: *x", "f:3:4: aliases"},
                                           Mistake{"cluster: !!str a", "tags"},
                                           Mistake{"---\na: 1", "a second document"},
                                           Mistake{"jobs:\n\trequeue: true", "indent with blanks, not tabs"},
                                           Mistake{"cluster: a\x04", "byte 0x04 is not text"},
                                           Mistake{"cluster: \xe9", "f:2:10: byte 0xe9 is not text"}));

TEST(Errors, AllOfAFileInItsOrder) {
  std::string errors =
      errors_of("jobs: {requeue: maybe}\nnodes: [a, a]\ncontroller: {user: root, port: 0}\npartitions: [p]\n");
  EXPECT_EQ(errors,
            "f:1:17: jobs.requeue: \"maybe\" is not a truth value (write true or false, without quotes)\n"
            "f:2:12: node a is defined twice, first in line 2 (leave one)\n"
            "f:3:32: controller.port: 0 is out of range (1 to 65535)\n"
            "f:4:14: an entry of partitions is a map (write `- name: NAME`)");
}

TEST(Errors, PortsOfSteps) {
  for (const char* bad : {"any", "70000", "80-90", "7000-6000", "7000-", "7000-7001-7002"})
    EXPECT_THAT(errors_of("node_daemon:\n  step_ports: " + std::string(bad) + "\n"),
                HasSubstr("f:2:15: \"" + std::string(bad) + "\" is not a range of ports (write FIRST-LAST"));
  for (const char* good : {"0", "61000", "61000-64999"})
    EXPECT_TRUE(parse("controller: {user: root}\nnode_daemon: {step_ports: " + std::string(good) + "}", "f")) << good;
}

TEST(Errors, UnknownControllerUser) {
  EXPECT_THAT(errors_of("controller:\n  user: no-such-user-here\n"),
              HasSubstr("f:2:9: controller.user: this host has no user \"no-such-user-here\" (create it"));
  EXPECT_THAT(errors_of("controller: {user: 99999999999}"), HasSubstr("controller.user"));
}

TEST(Errors, ScalarOrListInPlaceOfAFile) {
  EXPECT_THAT(errors_of("hello"), HasSubstr("f:1:1: not a map"));
  EXPECT_THAT(errors_of("- a"), HasSubstr("f:1:1: not a map"));
  EXPECT_THAT(errors_of(std::string("a\0b", 3)), HasSubstr("f:1:2: byte 0x00"));
}

TEST(Errors, ThousandsAreCut) {
  std::string text = "controller: {user: root}\n";
  for (int i = 0; i < 5000; ++i) text += "bad" + std::to_string(i) + ": 1\n";
  std::string errors = errors_of(text);
  EXPECT_THAT(errors, HasSubstr("and 4900 more"));
  EXPECT_LT(errors.size(), 30'000u);
}

std::string repeat(const std::string& part, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += part;
  return all;
}

struct Bomb {
  const char* name;
  std::string (*make)();
  const char* expected;
};

std::string many_names() { return "network:\n" + repeat("- {switch: s, nodes: \"n[1-200000]\"}\n", 50); }
std::string deep_maps() { return "a: " + repeat("{a: ", 100); }
std::string aliases_of_aliases() {
  std::string text = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string self = "a" + std::to_string(i), other = "*a" + std::to_string(i - 1);
    text += self + ": &" + self + " [" + other + ", " + other + "]\n";
  }
  return text;
}
std::string chain_of_qos() {
  std::string text = "qos:\n";
  for (int i = 0; i < 20'000; ++i)
    text += "- {name: q" + std::to_string(i) + ", parent: q" + std::to_string(i + 1) + "}\n";
  return text;
}

constexpr size_t kMany = 1 << 20;
const Bomb kBombs[] = {
    {"Lists", [] { return repeat("[", kMany); }, "brackets"},
    {"Maps", [] { return repeat("{", kMany); }, "brackets"},
    {"Entries", [] { return repeat("- ", kMany); }, "nested deeper"},
    {"Keys", [] { return repeat("? ", kMany); }, "nested deeper"},
    {"MapsInMaps", deep_maps, "nested deeper"},
    {"Aliases", aliases_of_aliases, "aliases"},
    {"Comment", [] { return std::string((16 << 20) + 1, '#'); }, "larger than 16 MiB"},
    {"Values", [] { return "nodes:\n" + repeat("- n\n", 1'000'001); }, "more than 1000000 values"},
    {"ChainOfQos", chain_of_qos, "levels below the root"},
    {"Partitions",
     [] {
       return "nodes: [\"n[1-200000]\"]\npartitions:\n" + repeat("- {name: p, nodes: ALL, unlimited: true}\n", 50);
     },
     "defined twice"},
    {"Switches", many_names, "names in network"},
    {"UnknownSwitches",
     [] {
       return std::string(
           "network:\n- {switch: s, switches: \"l[1-200000]\"}\n- {switch: t, nodes: \"n[1-200000]\"}\n");
     },
     "unknown"},
};

// Each of these takes time or memory without bound in a careless reader: more than a test has.
class Bombs : public ::testing::TestWithParam<Bomb> {};

TEST_P(Bombs, AreRefused) { EXPECT_THAT(errors_of(GetParam().make()), HasSubstr(GetParam().expected)); }

INSTANTIATE_TEST_SUITE_P(Errors, Bombs, ::testing::ValuesIn(kBombs),
                         [](const auto& bomb) { return std::string(bomb.param.name); });

}  // namespace
}  // namespace gw::config
