set(libs gw_schema)
