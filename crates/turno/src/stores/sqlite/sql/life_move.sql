-- life_move
-- Never lowers the sequence.
update number set value = max(value, ?1)
