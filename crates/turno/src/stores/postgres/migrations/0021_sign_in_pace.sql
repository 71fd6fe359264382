-- The pace of sign-in attempts, by a hash of the source, the user, or both. `paid_until` is the count
-- (`turno_core::access::pace`); a row whose instant is in the past has no effect and is removed by later attempts.
create table turno.sign_in_pace (
    key bytea not null primary key,
    paid_until bigint not null
);
create index sign_in_pace_over on turno.sign_in_pace (paid_until);
