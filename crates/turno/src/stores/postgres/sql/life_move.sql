-- life_move
-- A sequence does not follow its transaction: numbers that are taken meanwhile lie before these or behind them. Never lower.
select setval('turno.number', greatest($1::bigint, n.last_value)) from turno.number n
