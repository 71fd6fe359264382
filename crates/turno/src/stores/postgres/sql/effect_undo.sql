-- name: effect_undo
-- Also works after a failed statement. Rolling back to the savepoint restores the settings, too.
rollback to savepoint turno_effect
