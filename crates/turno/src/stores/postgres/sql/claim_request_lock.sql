-- claim_request_lock
-- Repeats of one claim come one after another, whichever process they reach. Two ids that share a number only wait.
select pg_advisory_xact_lock(1953854066, hashtext($1::text))
