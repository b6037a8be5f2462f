// The commands of Grid Engine; each takes its words and returns an exit code.
#pragma once

#include "cmds/queue/system.h"

namespace gw::cmds::sge {

int run_qsub(const queue::Caller& caller, Args args);
int run_qstat(const queue::Caller& caller, Args args);
int run_qdel(const queue::Caller& caller, Args args);
/// qhold and qrls.
int run_qhold(const queue::Caller& caller, Args args);
int run_qalter(const queue::Caller& caller, Args args);
/// What became of jobs that have ended.
int run_qacct(const queue::Caller& caller, Args args);
int run_qselect(const queue::Caller& caller, Args args);

}  // namespace gw::cmds::sge
