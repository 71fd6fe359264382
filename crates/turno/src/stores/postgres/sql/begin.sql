-- begin
-- Said here, because a server may have another default: every later statement must see what the locks waited for.
begin isolation level read committed read write
