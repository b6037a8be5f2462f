// The server of libpmix.
#include "noded/pmix/library.h"

#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>

#include "base/check.h"
#include "noded/pmix/info.h"

namespace gw::noded::pmix {

using base::ErrorCode;
using base::Result;
using base::Status;

struct Library::Impl {
  Requests requests;
  std::string job;  // its name; set before its tasks can come
  mutable std::mutex mutex;
  std::set<uint32_t> connected;
  std::set<uint32_t> seen;  // connected, now or before

  bool is_of_job(const pmix_proc_t& proc) const { return job == proc.nspace; }
};

namespace {

/// libpmix calls plain functions.
Library::Impl* the_one = nullptr;

tl::unexpected<base::Error> failed(const std::string& what, pmix_status_t status) {
  return base::fail(ErrorCode::kInternal, what + ": " + PMIx_Error_string(status));
}

void release(void* data) { delete static_cast<std::string*>(data); }

DataFn answer_by(pmix_modex_cbfunc_t fn, void* of) {
  return [fn, of](int status, std::string bytes) {
    if (fn == nullptr) return;
    auto* kept = new std::string(std::move(bytes));
    fn(status, kept->data(), kept->size(), of, release, kept);
  };
}

pmix_status_t on_connected(const pmix_proc_t* proc, void*, pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  if (!the_one->is_of_job(*proc)) return PMIX_ERR_NOT_SUPPORTED;
  {
    const std::lock_guard lock(the_one->mutex);
    the_one->connected.insert(proc->rank);
    the_one->seen.insert(proc->rank);
  }
  the_one->requests.connected();
  return PMIX_OPERATION_SUCCEEDED;
}

// Also called, with nothing to answer, of one whose connection broke.
pmix_status_t on_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t fn, void*) {
  if (fn == nullptr) return PMIX_OPERATION_SUCCEEDED;
  const std::lock_guard lock(the_one->mutex);
  the_one->connected.erase(proc->rank);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char* message, pmix_proc_t*, size_t,
                       pmix_op_cbfunc_t fn, void* of) {
  if (!the_one->is_of_job(*proc)) return PMIX_ERR_NOT_SUPPORTED;
  the_one->requests.abort(proc->rank, status, message != nullptr ? message : "", [fn, of] {
    if (fn != nullptr) fn(PMIX_SUCCESS, of);
  });
  return PMIX_SUCCESS;
}

pmix_status_t on_fence(const pmix_proc_t* procs, size_t count, const pmix_info_t*, size_t, char* data, size_t size,
                       pmix_modex_cbfunc_t fn, void* of) {
  std::vector<uint32_t> ranks;
  bool is_all = false;
  for (size_t i = 0; i < count; ++i) {
    if (!the_one->is_of_job(procs[i])) return PMIX_ERR_NOT_SUPPORTED;
    is_all |= procs[i].rank == PMIX_RANK_WILDCARD;
    ranks.push_back(procs[i].rank);
  }
  if (is_all) ranks.clear();
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string bytes;
  if (data != nullptr) bytes.assign(data, size);
  the_one->requests.fence(std::move(ranks), std::move(bytes), answer_by(fn, of));
  return PMIX_SUCCESS;
}

pmix_status_t on_modex(const pmix_proc_t* proc, const pmix_info_t*, size_t, pmix_modex_cbfunc_t fn, void* of) {
  if (!the_one->is_of_job(*proc)) return PMIX_ERR_NOT_FOUND;
  the_one->requests.modex(proc->rank, answer_by(fn, of));
  return PMIX_SUCCESS;
}

void on_local_modex(pmix_status_t status, char* data, size_t size, void* of) {
  const std::unique_ptr<DataFn> done(static_cast<DataFn*>(of));
  (*done)(status, data != nullptr ? std::string(data, size) : std::string());
}

/// What is not in it is answered as not supported.
pmix_server_module_t* module() {
  static pmix_server_module_t functions;
  functions.client_connected2 = on_connected;
  functions.client_finalized = on_finalized;
  functions.abort = on_abort;
  functions.fence_nb = on_fence;
  functions.direct_modex = on_modex;
  return &functions;
}

/// Takes a text that libpmix has allocated.
std::string take(char* text) {
  const std::string taken = text != nullptr ? text : "";
  std::free(text);
  return taken;
}

void add_task(InfoList& list, const Job& job, uint32_t node, size_t place) {
  InfoList task;
  const uint32_t rank = job.ranks[node][place];
  task.rank(PMIX_RANK, rank);
  task.u32(PMIX_APPNUM, 0);
  task.rank(PMIX_GLOBAL_RANK, rank);
  task.rank(PMIX_APP_RANK, rank);
  task.u16(PMIX_LOCAL_RANK, static_cast<uint16_t>(place));
  task.u16(PMIX_NODE_RANK, static_cast<uint16_t>(place));
  task.u32(PMIX_NODEID, node);
  task.text(PMIX_HOSTNAME, job.nodes[node]);
  list.list(PMIX_PROC_DATA, task);
}

Status add_maps(InfoList& list, const Job& job) {
  std::string nodes, ranks;
  for (size_t node = 0; node < job.nodes.size(); ++node) {
    nodes += (node > 0 ? "," : "") + job.nodes[node];
    ranks += (node > 0 ? ";" : "") + comma_list(job.ranks[node]);
  }
  char* map = nullptr;
  if (const auto status = PMIx_generate_regex(nodes.c_str(), &map); status != PMIX_SUCCESS)
    return failed("the list of nodes", status);
  list.text(PMIX_NODE_MAP, take(map));
  if (const auto status = PMIx_generate_ppn(ranks.c_str(), &map); status != PMIX_SUCCESS)
    return failed("the list of tasks", status);
  list.text(PMIX_PROC_MAP, take(map));
  return {};
}

}  // namespace

Library::Library(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Library>> Library::open(const std::string& server, const std::string& node,
                                               const std::string& folder, Requests requests) {
  GW_CHECK(the_one == nullptr);
  auto impl = std::make_unique<Impl>();
  impl->requests = std::move(requests);
  InfoList list;
  list.text(PMIX_SERVER_NSPACE, server);
  list.rank(PMIX_SERVER_RANK, 0);
  list.text(PMIX_SERVER_TMPDIR, folder);
  list.text(PMIX_SYSTEM_TMPDIR, folder);
  list.text(PMIX_HOSTNAME, node);
  the_one = impl.get();
  const auto status = PMIx_server_init(module(), list.data(), list.size());
  if (status == PMIX_SUCCESS) return std::unique_ptr<Library>(new Library(std::move(impl)));
  the_one = nullptr;
  return failed("starting libpmix", status);
}

Library::~Library() {
  PMIx_server_finalize();
  the_one = nullptr;
}

Result<std::vector<std::string>> Library::environment(const std::string& name, uint32_t rank) const {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, name.c_str(), rank);
  char** lines = nullptr;
  if (const auto status = PMIx_server_setup_fork(&proc, &lines); status != PMIX_SUCCESS)
    return failed("the environment of a task", status);
  std::vector<std::string> environment;
  for (char** line = lines; line != nullptr && *line != nullptr; ++line) environment.push_back(take(*line));
  std::free(lines);
  return environment;
}

Status Library::add_job(const Job& job) {
  impl_->job = job.name;
  InfoList list;
  const auto all = job.size(), own = static_cast<uint32_t>(job.own().size());
  for (const char* key : {PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_MAX_PROCS, PMIX_APP_SIZE}) list.u32(key, all);
  for (const char* key : {PMIX_LOCAL_SIZE, PMIX_NODE_SIZE}) list.u32(key, own);
  list.u32(PMIX_NUM_NODES, static_cast<uint32_t>(job.nodes.size()));
  list.u32(PMIX_NODEID, job.self);
  list.u32(PMIX_JOB_NUM_APPS, 1);
  list.u32(PMIX_APPNUM, 0);
  list.text(PMIX_JOBID, job.name);
  list.text(PMIX_LOCAL_PEERS, comma_list(job.own()));
  list.rank(PMIX_LOCALLDR, job.own().front());
  GW_TRY_STATUS(add_maps(list, job));
  for (uint32_t node = 0; node < job.nodes.size(); ++node)
    for (size_t place = 0; place < job.ranks[node].size(); ++place) add_task(list, job, node, place);
  const auto added =
      PMIx_server_register_nspace(job.name.c_str(), static_cast<int>(own), list.data(), list.size(), nullptr, nullptr);
  if (added != PMIX_SUCCESS && added != PMIX_OPERATION_SUCCEEDED) return failed("registering the step", added);
  for (const uint32_t rank : job.own()) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, job.name.c_str(), rank);
    const auto status = PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, nullptr, nullptr);
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) return failed("registering a task", status);
  }
  return {};
}

void Library::ask_modex(const Job& job, uint32_t rank, DataFn done) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, job.name.c_str(), rank);
  auto* kept = new DataFn(std::move(done));
  if (const auto status = PMIx_server_dmodex_request(&proc, on_local_modex, kept); status != PMIX_SUCCESS) {
    const std::unique_ptr<DataFn> refused(kept);
    (*refused)(status, {});
  }
}

bool Library::is_connected(uint32_t rank) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->connected.contains(rank);
}

bool Library::has_connected(uint32_t rank) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->seen.contains(rank);
}

bool Library::is_in_use() const {
  const std::lock_guard lock(impl_->mutex);
  return !impl_->connected.empty();
}

int Library::lost_status() { return PMIX_ERR_LOST_CONNECTION; }

}  // namespace gw::noded::pmix
