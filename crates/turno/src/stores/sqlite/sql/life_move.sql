-- life_move
-- Never lower.
update number set value = max(value, ?1)
