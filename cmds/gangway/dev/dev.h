// A private cluster on this machine: up, down, what runs, and the environment to use it.
// Invariants: a cluster that could not be brought up whole is taken down again; nothing is written to standard output
// here, so that `gangway dev run` shows only what its command prints.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/conn/program.h"
#include "cmds/gangway/dev/dev_config.h"
#include "cmds/gangway/dev/dev_layout.h"

namespace gw::cmds {

/// Asked again and again while waiting: an error ends the wait and is passed on.
using KeepWaiting = std::function<base::Status()>;

/// Starts munged, gctld and the nodes, and waits until all nodes are idle. Errors: a cluster is up there already; a
/// daemon that ended or was not ready in time, with the end of its log.
base::Status dev_bring_up(const DevOptions& options, DevLayout& layout, const KeepWaiting& keep_waiting);

/// Ends the daemons, jobs and shepherds of the cluster and removes the runtime folder; log/ and state/ stay. Returns
/// what could not be ended, for people; empty if all is gone.
std::vector<std::string> dev_take_down(DevLayout& layout);

/// A search path with `folders` in front, each once: doing it again changes nothing.
std::string in_front(const std::vector<std::string>& folders, const std::string& path);

/// NAME=value pairs that make the commands use this cluster.
std::vector<std::pair<std::string, std::string>> dev_environment(const DevLayout& layout);

/// Brings a cluster up, in a temporary folder where options name none, runs the command with it, takes it down; returns
/// the command's exit code. Errors are printed.
int dev_run(const client::Program& program, DevOptions options, const std::vector<std::string>& command);

}  // namespace gw::cmds
