-- hot_request_lock
-- Makes repeats of one claim run one after another, in all processes. Two request ids with the same hash only wait.
select pg_advisory_xact_lock(1953854066, hashtext($1::text))
