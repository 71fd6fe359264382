-- effect_undo
-- Also after a statement that failed. The settings are those of before by themselves.
rollback to savepoint turno_effect
