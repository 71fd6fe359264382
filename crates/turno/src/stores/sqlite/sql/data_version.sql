-- data_version
-- Changes only if another connection has written. That is how writes of another process are noticed.
pragma data_version
