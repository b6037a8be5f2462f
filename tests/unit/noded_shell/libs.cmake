# Stand-ins for the vendors' libraries (topo/libs.cmake).
set(libs topo_fakes)
