-- rollback
rollback
