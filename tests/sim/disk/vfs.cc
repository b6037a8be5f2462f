// The functions of the VFS. Invariant: what was opened before the power went last gets errors only.
#include "tests/sim/disk/vfs.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "tests/sim/disk/disk.h"

namespace gw::sim_cluster {
namespace {

/// What SQLite calls an open file.
struct Handle {
  sqlite3_file base;  // first, as SQLite wants it
  Disk* disk;
  uint64_t power_cycle;
  std::shared_ptr<Disk::File>* file;
};

Handle& handle(sqlite3_file* raw) { return *reinterpret_cast<Handle*>(raw); }
bool is_dead(const Handle& h) { return h.power_cycle != h.disk->power_cycle() || !h.disk->has_power(); }
Disk& disk_of(sqlite3_vfs* vfs) { return *static_cast<Disk*>(vfs->pAppData); }

int close_file(sqlite3_file* raw) {
  delete handle(raw).file;
  return SQLITE_OK;
}

int read_file(sqlite3_file* raw, void* to, int amount, sqlite3_int64 at) {
  const Handle& h = handle(raw);
  if (is_dead(h)) return SQLITE_IOERR_READ;
  const std::string& bytes = (*h.file)->now;
  const auto size = static_cast<size_t>(amount), from = std::min(static_cast<size_t>(at), bytes.size());
  const size_t got = std::min(size, bytes.size() - from);
  std::memcpy(to, bytes.data() + from, got);
  std::memset(static_cast<char*>(to) + got, 0, size - got);
  return got == size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* raw, const void* from, int amount, sqlite3_int64 at) {
  const Handle& h = handle(raw);
  if (is_dead(h)) return SQLITE_IOERR_WRITE;
  std::string bytes(static_cast<const char*>(from), static_cast<size_t>(amount));
  return h.disk->write(**h.file, {false, static_cast<uint64_t>(at), std::move(bytes)});
}

int truncate_file(sqlite3_file* raw, sqlite3_int64 size) {
  const Handle& h = handle(raw);
  if (is_dead(h)) return SQLITE_IOERR_TRUNCATE;
  return h.disk->write(**h.file, {true, static_cast<uint64_t>(size), {}});
}

int sync_file(sqlite3_file* raw, int) {
  const Handle& h = handle(raw);
  return is_dead(h) ? SQLITE_IOERR_FSYNC : h.disk->sync(**h.file);
}

int file_size(sqlite3_file* raw, sqlite3_int64* size) {
  const Handle& h = handle(raw);
  if (is_dead(h)) return SQLITE_IOERR_FSTAT;
  *size = static_cast<sqlite3_int64>((*h.file)->now.size());
  return SQLITE_OK;
}

int lock_file(sqlite3_file*, int) { return SQLITE_OK; }
int check_reserved(sqlite3_file*, int* is_locked) {
  *is_locked = 0;
  return SQLITE_OK;
}
int file_control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return 4096; }
/// As the system's files have it: a write harms nothing beside it.
int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

int map_shared(sqlite3_file* raw, int piece, int size, int extends, void volatile** out) {
  const Handle& h = handle(raw);
  *out = nullptr;
  if (is_dead(h)) return SQLITE_IOERR_SHMMAP;
  auto& shared = (*h.file)->shared;
  while (extends != 0 && shared.size() <= static_cast<size_t>(piece))
    shared.push_back(std::make_unique<std::string>(static_cast<size_t>(size), '\0'));
  if (static_cast<size_t>(piece) < shared.size()) *out = shared[static_cast<size_t>(piece)]->data();
  return SQLITE_OK;
}
int lock_shared(sqlite3_file*, int, int, int) { return SQLITE_OK; }
void barrier(sqlite3_file*) {}
/// There is one connection: the index goes with it, as it does where the last one closes.
int unmap_shared(sqlite3_file* raw, int) {
  (*handle(raw).file)->shared.clear();
  return SQLITE_OK;
}

constexpr sqlite3_io_methods kMethods = {
    2,           close_file, read_file,      write_file,   truncate_file, sync_file,       file_size,
    lock_file,   lock_file,  check_reserved, file_control, sector_size,   characteristics, map_shared,
    lock_shared, barrier,    unmap_shared,   nullptr,      nullptr};

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* raw, int flags, int* out_flags) {
  Disk& disk = disk_of(vfs);
  Handle& h = handle(raw);
  h.base.pMethods = nullptr;
  const std::string name = path == nullptr ? "temporary" : path;
  std::shared_ptr<Disk::File> file = disk.find(name);
  if (!disk.has_power() || (!file && (flags & SQLITE_OPEN_CREATE) == 0)) return SQLITE_CANTOPEN;
  if (!file) file = disk.make(name);
  h.disk = &disk;
  h.power_cycle = disk.power_cycle();
  h.file = new std::shared_ptr<Disk::File>(std::move(file));
  h.base.pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* path, int) {
  Disk& disk = disk_of(vfs);
  if (!disk.has_power()) return SQLITE_IOERR_DELETE;
  if (!disk.find(path)) return SQLITE_IOERR_DELETE_NOENT;
  disk.remove(path);
  return SQLITE_OK;
}

int access_file(sqlite3_vfs* vfs, const char* path, int, int* is_there) {
  *is_there = disk_of(vfs).find(path) ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* path, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", path);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs* vfs, int size, char* out) {
  for (int i = 0; i < size; ++i) out[i] = static_cast<char>(disk_of(vfs).random()(256));
  return size;
}
int pass_time(sqlite3_vfs*, int us) { return us; }
int last_error(sqlite3_vfs*, int, char*) { return 0; }
int clock_in_days(sqlite3_vfs*, double* out) {
  *out = 2460000.5;
  return SQLITE_OK;
}

}  // namespace

sqlite3_vfs make_vfs(const char* name, Disk* disk) {
  sqlite3_vfs vfs{};
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(Handle);
  vfs.mxPathname = 512;
  vfs.zName = name;
  vfs.pAppData = disk;
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = access_file;
  vfs.xFullPathname = full_path;
  vfs.xRandomness = randomness;
  vfs.xSleep = pass_time;
  vfs.xCurrentTime = clock_in_days;
  vfs.xGetLastError = last_error;
  return vfs;
}

}  // namespace gw::sim_cluster
