-- Whether the claim of a failed attempt expired. Null in rows of programs up to 0.1.0: those are told apart by their text.
alter table attempt_error add column expired integer;

-- Applications leave something in an intake on PostgreSQL only.
