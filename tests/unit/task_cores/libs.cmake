# The whole way from what a user types to what a task may run on: commands, scheduler, controller, binding.
add_library(task_cores_table INTERFACE)
target_compile_definitions(task_cores_table INTERFACE GW_TABLE="${CMAKE_SOURCE_DIR}/tests/unit/task_cores/table.txt")
set(libs gw_cmds gw_attach gw_ctld_core gw_sched gw_bind gw_topo task_cores_table)
