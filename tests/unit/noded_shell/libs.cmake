# Stand-ins for the vendors' libraries (topo/fakes).
set(libs topo_fakes)
