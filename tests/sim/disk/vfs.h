// How SQLite sees a Disk.
#pragma once

#include <sqlite3.h>

namespace gw::sim_cluster {

class Disk;
/// `name` and `disk` must outlive it.
sqlite3_vfs make_vfs(const char* name, Disk* disk);

}  // namespace gw::sim_cluster
