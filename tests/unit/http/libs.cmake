pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
set(libs gw_io PkgConfig::ZLIB)
