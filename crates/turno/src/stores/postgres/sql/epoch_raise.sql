-- epoch_raise
-- Under the lock of the audit's head, so two changes never raise it to the same number; near the end of the
-- transaction, because everybody's mark is in this row.
update turno.mark set epoch = epoch + 1
